package shell

import (
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

const (
	previewBytes    = 16 << 10
	previewCommands = 100
)

// preview shows a person the command and what was found in it: each simple command on a line of its own, indented by
// how deep it is nested, and under it what it would do to files and what is risky about it.
func preview(in Input, dir tongs.Path, a *shellsyntax.Analysis) string {
	var b strings.Builder
	if dir.Rel != "." || dir.Root != tongs.WorkspaceRoot {
		fmt.Fprintf(&b, "in %s\n", programoutput.Plain(dir.String()))
	}
	for i, line := range strings.Split(strings.TrimRight(in.Command, "\n"), "\n") {
		mark := "$ "
		if i > 0 {
			mark = "> "
		}
		b.WriteString(mark + programoutput.Plain(line) + "\n")
		if b.Len() > previewBytes {
			fmt.Fprintf(&b, "... (%d bytes in all)\n", len(in.Command))
			break
		}
	}
	if in.Stdin != "" {
		fmt.Fprintf(&b, "< %s\n", programoutput.Short(in.Stdin, 200))
	}
	tree(&b, a)
	for _, told := range a.Tells {
		b.WriteString("git would " + programoutput.Plain(told) + "\n")
	}
	for _, note := range a.Notes {
		b.WriteString("note: " + programoutput.Plain(note) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// tree writes the simple commands, where they say more than the command itself.
func tree(b *strings.Builder, a *shellsyntax.Analysis) {
	if len(a.Commands) == 1 && a.Commands[0].Risk == "" && a.Commands[0].Depth == 0 && len(a.Commands[0].Effects) <= 1 {
		return
	}
	b.WriteString("\n")
	for i, c := range a.Commands {
		if i == previewCommands {
			fmt.Fprintf(b, "... and %d more commands\n", len(a.Commands)-i)
			return
		}
		indent := strings.Repeat("  ", 1+min(c.Depth, 10))
		b.WriteString(indent + programoutput.Short(c.Text, 200))
		if c.Within != "" {
			b.WriteString("   in " + programoutput.Plain(c.Within))
		}
		if len(c.Wrappers) > 0 {
			b.WriteString("   by " + programoutput.Plain(strings.Join(c.Wrappers, ", ")))
		}
		b.WriteString("\n")
		for _, e := range effectsOf(a, c) {
			if e.Kind != tongs.EffectExecute && !e.Unknown {
				b.WriteString(indent + "  " + programoutput.Plain(e.String()) + "\n")
			}
		}
		if c.Risk != "" {
			b.WriteString(indent + "  risk: " + programoutput.Plain(c.Risk) + "\n")
		}
	}
}

func effectsOf(a *shellsyntax.Analysis, c shellsyntax.Simple) (list []tongs.Effect) {
	for _, i := range c.Effects {
		if i >= 0 && i < len(a.Effects) {
			list = append(list, a.Effects[i])
		}
	}
	return list
}
