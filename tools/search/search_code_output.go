package search

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/search/rank"
)

// CodeOutput is the value of search_code.
type CodeOutput struct {
	Definitions []CodeDefinition `json:"definitions" jsonschema:"Best first."`
	Lines       []CodeLine       `json:"lines" jsonschema:"Lines that have to do with the query and define nothing, best first."`
	More        int              `json:"more" jsonschema:"How many further places were found in the best files."`
	Files       int              `json:"files" jsonschema:"How many files have to do with the query at all."`
	Searched    int              `json:"searched" jsonschema:"How many files were looked at."`
	Complete    bool             `json:"complete" jsonschema:"Whether all files were looked at."`

	title, shown string
	metadata     map[string]any
}

// CodeDefinition is something that is defined.
type CodeDefinition struct {
	Path      string `json:"path"`
	Line      int    `json:"line" min:"1"`
	End       int    `json:"end" min:"1" jsonschema:"Its last line."`
	Kind      string `json:"kind" jsonschema:"Such as function, method, class, struct, const."`
	Name      string `json:"name"`
	Container string `json:"container,omitempty" jsonschema:"The name of what it is part of."`
	Text      string `json:"text" jsonschema:"The line, cut where it is long."`
}

// CodeLine is a line.
type CodeLine struct {
	Path   string   `json:"path"`
	Line   int      `json:"line" min:"1"`
	Text   string   `json:"text" jsonschema:"The line, cut where it is long."`
	Within string   `json:"within,omitempty" jsonschema:"The definition that it is in."`
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

// Present writes one place a line.
func (o CodeOutput) Present(r *tongs.Result) {
	r.Title, r.Content, r.Metadata = o.title, o.shown, o.metadata
}

// maxCodeChars is how many characters of a line are shown.
const maxCodeChars = 200

func cutLine(text string) string {
	if utf8.RuneCountInString(text) <= maxCodeChars {
		return text
	}
	runes := []rune(text[:min(len(text), 4*maxCodeChars)])
	return string(runes[:min(len(runes), maxCodeChars)]) + " …"
}

// output writes what was found.
func (s *coding) output(r *rank.Ranking) CodeOutput {
	defs, lines, more := s.choose()
	out := CodeOutput{
		Definitions: []CodeDefinition{}, Lines: []CodeLine{}, More: more, Files: r.Total, Searched: s.looked, Complete: s.left == 0,
		title: s.in.Query, metadata: map[string]any{},
	}
	var b strings.Builder
	for _, p := range defs {
		d := p.Definition
		def := CodeDefinition{
			Path: p.path, Line: p.Line, End: d.End, Kind: string(d.Kind), Name: d.Name, Container: d.Container, Text: cutLine(strings.TrimSpace(p.text)),
		}
		out.Definitions = append(out.Definitions, def)
		fmt.Fprintf(&b, "%s:%d: %s %s  %s\n", show(def.Path), def.Line, def.Kind, show(qualified(d.Container, d.Name)), def.Text)
	}
	for _, p := range lines {
		line := CodeLine{Path: p.path, Line: p.Line, Text: cutLine(p.text), Before: cutLines(p.before), After: cutLines(p.after)}
		if p.Within != nil {
			line.Within = qualified(p.Within.Container, p.Within.Name)
		}
		out.Lines = append(out.Lines, line)
		s.line(&b, line)
	}
	s.codeRemarks(&b, &out)
	out.shown = strings.TrimSuffix(b.String(), "\n")
	return out
}

func cutLines(list []string) (cut []string) {
	for _, l := range list {
		cut = append(cut, cutLine(l))
	}
	return cut
}

func qualified(container, name string) string {
	if container == "" {
		return name
	}
	return container + "." + name
}

// line writes a line and those beside it, as grep does.
func (s *coding) line(b *strings.Builder, l CodeLine) {
	if b.Len() > 0 {
		b.WriteString("--\n")
	}
	path := show(l.Path)
	for i, text := range l.Before {
		fmt.Fprintf(b, "%s-%d- %s\n", path, l.Line-len(l.Before)+i, text)
	}
	within := ""
	if l.Within != "" {
		within = "  [in " + show(l.Within) + "]"
	}
	fmt.Fprintf(b, "%s:%d: %s%s\n", path, l.Line, l.Text, within)
	for i, text := range l.After {
		fmt.Fprintf(b, "%s-%d- %s\n", path, l.Line+1+i, text)
	}
}

// codeRemarks says what is not there and why.
func (s *coding) codeRemarks(b *strings.Builder, out *CodeOutput) {
	say := func(format string, args ...any) { fmt.Fprintf(b, "["+format+"]\n", args...) }
	shown := len(out.Definitions) + len(out.Lines)
	switch {
	case shown == 0:
		say("nothing has to do with %s in %s (%s looked at); try other words, or grep for exact text",
			strings.Join(s.query.Words(), ", "), show(s.path.String()), count(s.looked, "file", "files"))
	case out.More > 0:
		advice := "name a path or use more words to narrow it"
		if s.limit < s.opt.Max {
			advice = fmt.Sprintf("set limit (%d at most), or name a path or use more words to narrow it", s.opt.Max)
		}
		say("%s shown, %d more in the best files; %s; %s", count(shown, "place", "places"), out.More,
			count(out.Files, "file has to do with it", "files have to do with it"), advice)
	}
	if s.left > 0 {
		out.metadata["left"] = s.left
		say("%s not looked at within the limits of time and memory; the same call goes on from there, or name a path", count(s.left, "file was", "files were"))
	}
	if s.large > 0 {
		out.metadata["large"] = s.large
		say("%s too large to be looked at; grep searches them", count(s.large, "file is", "files are"))
	}
	if left := leftOut(s.withheld.Load(), s.closed.Load()); left != "" {
		out.metadata["withheld"] = left
		say("left out: %s, as secrets, other roots or what a rule covers; name one to ask for it", left)
	}
	if s.unread > 0 {
		out.metadata["unreadable"] = s.unread
		say("%d could not be read", s.unread)
	}
}
