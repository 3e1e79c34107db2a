package terminal

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
)

// helpWidth is how wide help is at most, whatever the terminal: it is read in narrow ones, and pasted.
const helpWidth = 80

// RunsAlone is the annotation of a command that has commands below it and does something without them.
const RunsAlone = "tongs.runsAlone"

// Help is the help of a command: what it does, how it is used, examples, the commands below it by their groups, and its
// flags. No line of it is wider than 80 columns, except a word or an example that is.
func Help(cmd *cobra.Command) string {
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	b.WriteString(paragraphs(about) + "\n")
	use := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		use = strings.Replace(use, " [flags]", "", 1)
		if cmd.Annotations[RunsAlone] != "" {
			use += " [COMMAND] [flags]"
		} else {
			use += " COMMAND [flags]"
		}
	}
	section(&b, "Usage", hanging("", use, 0))
	if cmd.HasExample() {
		section(&b, "Examples", strings.TrimRight(cmd.Example, "\n"))
	}
	commands(&b, cmd)
	section(&b, "Flags", cmd.LocalFlags().FlagUsagesWrapped(helpWidth))
	section(&b, "Flags of every command", cmd.InheritedFlags().FlagUsagesWrapped(helpWidth))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nMore about a command: %s COMMAND --help\n", cmd.CommandPath())
	}
	return b.String()
}

func section(b *strings.Builder, title, text string) {
	if text = strings.TrimRight(text, "\n "); text != "" {
		fmt.Fprintf(b, "\n%s:\n%s\n", title, text)
	}
}

// commands lists the commands below a command, by their groups in the order of these.
func commands(b *strings.Builder, cmd *cobra.Command) {
	wide := 0
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			wide = max(wide, len(sub.Name()))
		}
	}
	list := func(group string) string {
		var lines strings.Builder
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() && sub.GroupID == group {
				lines.WriteString(hanging(sub.Name(), sub.Short, wide+2) + "\n")
			}
		}
		return lines.String()
	}
	for _, g := range cmd.Groups() {
		section(b, g.Title, list(g.ID))
	}
	section(b, "Commands", list(""))
}

// paragraphs wraps text anew.
func paragraphs(text string) string {
	var out []string
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		out = append(out, strings.Join(wrapWords(part, helpWidth), "\n"))
	}
	return strings.Join(out, "\n\n")
}

// hanging sets text behind a head, two columns in; further lines begin below the text, hang columns further in.
func hanging(head, text string, hang int) string {
	lines := wrapWords(text, helpWidth-2-hang)
	return "  " + fmt.Sprintf("%-*s", hang, head) + strings.Join(lines, "\n"+strings.Repeat(" ", 2+hang))
}

// wrapWords breaks text at its blanks only, so that a flag or a command stays whole.
func wrapWords(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case ansi.StringWidth(line)+1+ansi.StringWidth(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
