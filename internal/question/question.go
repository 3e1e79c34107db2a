// Package question makes the parts of a question that a person is shown: a headline, what would happen, and the choices. Terminal,
// console and MCP forms draw these parts and add none, so that a question reads the same everywhere and says nothing twice.
//
// All texts of the parts are clean: characters that a screen would act on, or that hide others, are visible in them.
package question

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Parts are what a person is shown of a question.
type Parts struct {
	Headline Headline `json:"headline"`
	// Warnings are what a person must know before anything else: why the gravest effect is special, other grave effects, notes.
	Warnings []string `json:"warnings,omitempty"`
	// Command is the command line that runs, or that ran on a copy.
	Command string `json:"command,omitempty"`
	// Changes are what a command did to a copy, one on each line, the gravest first. They are in the order of the question's.
	Changes []string `json:"changes,omitempty"`
	// Diff are the rows of a difference; Text is what else there is to show, where there is no difference and no command.
	Diff []Row  `json:"diff,omitempty"`
	Text string `json:"text,omitempty"`
	// Partial says that there is more to see than Diff or Text.
	Partial bool     `json:"partial,omitempty"`
	Choices []Choice `json:"choices"`
	// Offer is a command that would make a rule of what a person approved several times; empty where there is none.
	Offer string `json:"offer,omitempty"`
}

// Headline is the first line of a question.
type Headline struct {
	// Tool is its name; Source is where it comes from, empty for a built-in one.
	Tool   string `json:"tool"`
	Source string `json:"source,omitempty"`
	// Target is the gravest thing that the call would do, and how much else. It is empty where Command says all of it.
	Target string `json:"target,omitempty"`
	// Grave says that the target deserves a second look.
	Grave bool `json:"grave,omitempty"`
	// Size is how much changes: "+1 −1".
	Size string `json:"size,omitempty"`
	// Asker is who asks; Workspace is where, with the home directory as ~.
	Asker     string `json:"asker,omitempty"`
	Workspace string `json:"workspace,omitempty"`
}

// What joins tool, target and size.
func (h Headline) What() string { return join("  ", h.Tool, h.Source, h.Target, h.Size) }

// Where joins who asks and where.
func (h Headline) Where() string { return join(" · ", h.Asker, h.Workspace) }

func join(sep string, parts ...string) string {
	var list []string
	for _, part := range parts {
		if part != "" {
			list = append(list, part)
		}
	}
	return strings.Join(list, sep)
}

// Of returns the parts of a question.
func Of(q *approval.Question) *Parts {
	p := &Parts{Command: command(q), Offer: cleantext.Line(q.Offer)}
	p.Headline = Headline{
		Tool: cleantext.Line(q.Tool), Asker: cleantext.Line(strings.Join(q.Agents, " > ")), Workspace: cleantext.Line(atHome(q.Workspace)),
	}
	if !q.Source.BuiltIn() {
		p.Headline.Source = "(" + cleantext.Line(strings.TrimSpace(string(q.Source.Kind)+" "+q.Source.Name)) + ")"
	}
	if q.ChangeCount > 0 {
		p.ran(q)
	} else {
		p.would(q)
	}
	for _, note := range q.Notes {
		p.Warnings = append(p.Warnings, cleantext.Line(note))
	}
	p.body(q)
	p.Choices = choices(q)
	return p
}

// Summary is a question in one line: the gravest thing it is about comes before everything else.
func Summary(q *approval.Question) string {
	p := Of(q)
	if p.Headline.Target == "" {
		p.Headline.Target = cut(oneLine(p.Command), 80)
	}
	return join(" · ", p.Headline.What(), p.Headline.Where())
}

// What is Summary without who asks, and where.
func What(q *approval.Question) string {
	p := Of(q)
	if p.Headline.Target == "" {
		p.Headline.Target = cut(oneLine(p.Command), 80)
	}
	return p.Headline.What()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// would fills in what a call would do.
func (p *Parts) would(q *approval.Question) {
	effects := approval.ByGravity(q.Effects)
	if len(effects) == 0 {
		return
	}
	first := &effects[0]
	p.Headline.Grave = Grave(first)
	if said := p.Command != "" && len(others(effects)) == 0 && first.Kind == tongs.EffectExecute && !first.Unknown; !said {
		p.Headline.Target = target(q.Tool, first, others(effects))
	}
	if first.Why != "" && !first.Unknown {
		p.Warnings = append(p.Warnings, cleantext.Line(first.Why))
	}
	const most = 4
	left := 0
	for _, e := range others(effects) {
		switch {
		case !Grave(&e):
		case len(p.Warnings) < most:
			p.Warnings = append(p.Warnings, "also: "+cut(Words(&e), maxTarget)+why(&e))
		default:
			left++
		}
	}
	if left > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("and has %s like these", plural(left, "more effect")))
	}
}

// ran fills in what a call did to a copy.
func (p *Parts) ran(q *approval.Question) {
	p.Changes = ChangeLines(q.Changes)
	if len(q.Changes) == 0 {
		p.Headline.Target = "ran on a copy"
		return
	}
	first := &q.Changes[0]
	p.Headline.Grave = first.Protected != "" || first.Kind == tongs.Deleted || first.Loses
	p.Headline.Target = cut(changeWords(first), maxTarget)
	if q.ChangeCount > 1 {
		p.Headline.Target += fmt.Sprintf(" and %s", plural(q.ChangeCount-1, "more change"))
	}
	p.Headline.Target += ", on a copy"
}

// body fills in what else there is to look at, and how much changes.
func (p *Parts) body(q *approval.Question) {
	rows, ok := diff(q.Preview)
	p.Partial = q.PreviewBytes > 0
	switch {
	case ok:
		p.Diff = rows
		p.Headline.Size = size(rows, p.Partial)
	case q.ChangeCount > 0 || p.Command != "":
	case q.Preview != "":
		p.Text = cleantext.Lines(strings.TrimRight(q.Preview, "\n"))
	default:
		p.Text = arguments(q)
	}
}

// arguments are those of a call that has nothing else to show. What the headline says is left out.
func arguments(q *approval.Question) string {
	var args map[string]json.RawMessage
	if json.Unmarshal(q.Args, &args) != nil {
		return cleantext.Lines(string(q.Args))
	}
	for name, value := range args {
		if q.Source.BuiltIn() && (idle[string(value)] || saysTarget(q, value)) {
			delete(args, name)
		}
	}
	if len(args) == 0 {
		return ""
	}
	pretty, err := json.MarshalIndent(args, "", "  ")
	if err != nil {
		return cleantext.Lines(string(q.Args))
	}
	return cleantext.Lines(string(pretty))
}

// idle are values of arguments of built-in tools that ask for nothing.
var idle = map[string]bool{"false": true, "null": true, `""`: true}

// saysTarget reports whether an argument is the path that the headline names.
func saysTarget(q *approval.Question, value json.RawMessage) bool {
	var text string
	return len(q.Effects) > 0 && json.Unmarshal(value, &text) == nil && text == q.Effects[0].Path.String()
}

// command is the command line of a call that runs one.
func command(q *approval.Question) string {
	executes := q.ChangeCount > 0
	for _, e := range q.Effects {
		executes = executes || e.Kind == tongs.EffectExecute
	}
	var in struct {
		Command string `json:"command"`
		Workdir string `json:"workdir"`
	}
	if !executes || json.Unmarshal(q.Args, &in) != nil {
		return ""
	}
	line := cleantext.Lines(strings.TrimRight(in.Command, "\n"))
	if in.Workdir != "" && line != "" {
		line = "cd " + cleantext.Line(in.Workdir) + " &&\n" + line
	}
	return line
}

// atHome writes the home directory as ~.
func atHome(dir string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == "" || home == string(filepath.Separator) {
		return dir
	}
	if rest, ok := strings.CutPrefix(dir, home); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return "~" + rest
	}
	return dir
}
