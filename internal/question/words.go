package question

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

// maxTarget is how much of a target a headline shows, in characters.
const maxTarget = 100

// Grave reports whether an effect deserves a second look.
func Grave(e *tongs.Effect) bool {
	return e.Unknown || e.MustAsk || e.Steers || e.Sends || e.Kind == tongs.EffectDelete
}

// Words say what an effect does, as what a call does: "deletes old.txt".
func Words(e *tongs.Effect) string {
	verb := map[tongs.EffectKind]string{
		tongs.EffectRead: "reads ", tongs.EffectWrite: "writes ", tongs.EffectDelete: "deletes ",
		tongs.EffectExecute: "runs ", tongs.EffectNetwork: "connects to ",
	}[e.Kind]
	switch {
	case e.Unknown && e.Sends && e.Why != "":
		return "sends data (" + cleantext.Line(e.Why) + ")"
	case e.Unknown && e.Why != "":
		return cleantext.Line(e.Why)
	case e.Unknown && e.Kind.OnPath():
		return verb + "files that cannot be told beforehand"
	case e.Unknown && e.Sends:
		return "sends data to hosts that cannot be told beforehand"
	case e.Unknown && e.Kind == tongs.EffectNetwork:
		return verb + "hosts that cannot be told beforehand"
	case e.Unknown:
		return verb + "something that cannot be told beforehand"
	case e.Kind == tongs.EffectWrite && e.Version == tongs.Absent:
		verb = "creates "
	case e.Sends:
		verb = "sends data to "
	}
	return verb + cleantext.Line(e.Target())
}

// why is what is special about an effect, in brackets, where Words do not say it.
func why(e *tongs.Effect) string {
	if e.Why == "" || e.Unknown {
		return ""
	}
	return " (" + cleantext.Line(e.Why) + ")"
}

// implied are tools whose name says what they do to their target.
var implied = map[string]tongs.EffectKind{
	"edit": tongs.EffectWrite, "write_file": tongs.EffectWrite, "delete_file": tongs.EffectDelete, "read_file": tongs.EffectRead,
	"list_directory": tongs.EffectRead,
}

// target is the gravest effect of a call, and how much else it does.
func target(tool string, first *tongs.Effect, rest []tongs.Effect) string {
	text := Words(first)
	if implied[tool] == first.Kind && !first.Unknown && !first.Sends {
		text = cleantext.Line(first.Target())
	}
	text = cut(text, maxTarget)
	if len(rest) > 0 {
		text += " and " + plural(len(rest), "more effect")
	}
	return text
}

// others are the effects after the gravest that a person would call something else: not the reading of what is changed, nor the
// same again.
func others(effects []tongs.Effect) (list []tongs.Effect) {
	seen := map[string]bool{Words(&effects[0]): true}
	changed := map[tongs.Path]bool{}
	for _, e := range effects {
		if e.Kind.OnPath() && e.Kind != tongs.EffectRead {
			changed[e.Path] = true
		}
	}
	for _, e := range effects[1:] {
		if words := Words(&e); !seen[words] && (e.Kind != tongs.EffectRead || Grave(&e) || !changed[e.Path]) {
			seen[words] = true
			list = append(list, e)
		}
	}
	return list
}

// changeWords say what a command did: "deleted old.txt".
func changeWords(c *tongs.Change) string {
	if c.Repository {
		return gitWords(c)
	}
	text := string(c.Kind) + " " + cleantext.Line(c.Path.String())
	if kind, _, _ := strings.Cut(c.Protected, ":"); kind != "" { // the list of changes says why
		text += " (" + cleantext.Line(kind) + ")"
	}
	return text
}

// gitWords say what git recorded: "commit 2 files to main: a message".
func gitWords(c *tongs.Change) string {
	text := cleantext.Line(strings.Join(c.Does, "; "))
	if at := c.Path.Judged().Rel; at != tongs.RepositoryRoot {
		text = cleantext.Line(c.Path.Dir().String()) + ": " + text
	}
	return text
}

// ChangeLines describe changes in plain words, one on each line, in columns.
func ChangeLines(changes []tongs.Change) []string {
	names, wide := make([]string, len(changes)), 0
	for i, c := range changes {
		if c.Repository {
			continue
		}
		names[i] = cleantext.Line(c.Path.String())
		if c.From != nil {
			names[i] = cleantext.Line(c.From.String()) + " → " + names[i]
		}
		if w := ansi.StringWidth(names[i]); w <= 48 {
			wide = max(wide, w)
		}
	}
	for i, c := range changes {
		if c.Repository {
			names[i] = fmt.Sprintf("%-8s  %s", "git", gitWords(&c))
			continue
		}
		pad := strings.Repeat(" ", max(0, wide-ansi.StringWidth(names[i])))
		names[i] = fmt.Sprintf("%-8s  %s%s  %s", c.Kind, names[i], pad, changeSize(c))
		if c.Protected != "" {
			names[i] += "  (" + cleantext.Line(c.Protected) + ")"
		}
	}
	return names
}

// changeSize says how large what changed is.
func changeSize(c tongs.Change) string {
	switch {
	case c.Type == tongs.FileDirectory && c.Kind == tongs.Deleted && c.Before > 0:
		return "directory with " + output.Bytes(c.Before)
	case c.Type == tongs.FileDirectory && c.Below > 0:
		return fmt.Sprintf("directory with %s, %s", plural(c.Below, "path"), output.Bytes(c.After))
	case c.Type == tongs.FileDirectory:
		return "directory"
	case c.Type == tongs.FileSymlink:
		return "link"
	case c.Kind == tongs.Deleted:
		return output.Bytes(c.Before)
	case c.Kind == tongs.Modified:
		return output.Bytes(c.Before) + " → " + output.Bytes(c.After)
	default:
		return output.Bytes(c.After)
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// cut leaves the beginning and the end of a text that is longer than n characters: what matters may stand at either.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	head, tail := n*2/3, n/3
	return fmt.Sprintf("%s … (%d more) … %s", string(r[:head]), len(r)-head-tail, string(r[len(r)-tail:]))
}
