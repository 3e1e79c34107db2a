package search

import (
	"fmt"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/search/grep"
)

// GrepOutput is the value of grep.
type GrepOutput struct {
	Matches []GrepMatch `json:"matches" jsonschema:"Matching lines in path order; empty in the modes files and count."`
	Files   []GrepFile  `json:"files" jsonschema:"Files with matches: newest first in mode files, else in path order."`
	// Total is known where all files were searched.
	Total         int  `json:"total" jsonschema:"How many matches there are, or files in mode files; what was found so far where truncated in mode content."`
	Truncated     bool `json:"truncated" jsonschema:"Whether there is more than was returned."`
	NextOffset    int  `json:"nextOffset,omitempty" jsonschema:"The offset of the next page."`
	FilesSearched int  `json:"filesSearched"`
	FilesLeft     int  `json:"filesLeft" jsonschema:"How many files were not searched because there was enough."`

	title, shown string
	metadata     map[string]any
}

// GrepMatch is a matching line; in a multiline search the lines that a match touches.
type GrepMatch struct {
	Path   string   `json:"path"`
	Line   int      `json:"line" min:"1"`
	Column int      `json:"column" min:"1" jsonschema:"The character at which the match begins."`
	Text   string   `json:"text" jsonschema:"The line, cut around the match where it is long."`
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

// GrepFile is a file with matches.
type GrepFile struct {
	Path     string     `json:"path"`
	Count    int        `json:"count,omitempty" jsonschema:"How many of its lines match, in the modes content and count."`
	Modified *time.Time `json:"modified,omitempty"`
	Binary   bool       `json:"binary,omitempty" jsonschema:"It is binary: it has a match, which is not shown."`
}

// Present writes one match a line.
func (o GrepOutput) Present(r *tongs.Result) {
	r.Title, r.Content, r.Metadata = o.title, o.shown, o.metadata
}

// output writes what was found.
func (s *grepping) output() GrepOutput {
	r := s.res
	out := GrepOutput{
		Matches: []GrepMatch{}, Files: []GrepFile{}, Total: r.Matches, Truncated: r.More, FilesSearched: r.Examined, FilesLeft: r.Unexamined,
		title: s.in.Pattern, metadata: map[string]any{},
	}
	var b strings.Builder
	shown := 0
	for _, f := range r.Files {
		file := GrepFile{Path: s.spell(f.Path), Count: f.Count, Binary: f.Binary}
		switch {
		case s.in.OutputMode == "files":
			modified := f.Modified.UTC()
			file.Count, file.Modified = 0, &modified
			fmt.Fprintf(&b, "%s\n", show(file.Path))
			shown++
		case s.in.OutputMode == "count":
			fmt.Fprintf(&b, "%s: %d\n", show(file.Path), f.Count)
			shown++
		case f.Binary:
			fmt.Fprintf(&b, "%s: binary file matches\n", show(file.Path))
			shown++
		default:
			out.Matches = append(out.Matches, matches(file.Path, f.Lines)...)
			s.lines(&b, file.Path, f.Lines)
			shown += f.Count
		}
		out.Files = append(out.Files, file)
	}
	switch s.in.OutputMode {
	case "files":
		out.Total = r.TotalFiles
	case "count":
		out.Total = r.TotalMatches
	}
	if r.More {
		out.NextOffset = s.in.Offset + shown
	}
	s.remarks(&b, &out, shown)
	out.shown = strings.TrimSuffix(b.String(), "\n")
	return out
}

// matches returns the matching lines of a file, each with the lines around it. A line that stands between two matches is
// after the first one if it follows it without a gap.
func matches(path string, lines []grep.Line) (list []GrepMatch) {
	var before []string
	last := 0 // the number of the last line that belongs to a match, 0 where there is none
	for _, l := range lines {
		switch {
		case l.Match:
			list = append(list, GrepMatch{Path: path, Line: l.Number, Column: l.Column, Text: l.Text, Before: before})
			before, last = nil, l.Number+strings.Count(l.Text, "\n")
		case len(list) > 0 && l.Number == last+1:
			m := &list[len(list)-1]
			m.After = append(m.After, l.Text)
			last = l.Number
		default:
			before, last = append(before, l.Text), 0
		}
	}
	return list
}

// lines writes the lines of a file: a colon behind the number of a match, a dash behind that of a line around it, and
// "--" where lines were left out between.
func (s *grepping) lines(b *strings.Builder, path string, lines []grep.Line) {
	path = show(path)
	if s.in.Context > 0 && b.Len() > 0 {
		b.WriteString("--\n")
	}
	last := 0
	for _, l := range lines {
		if s.in.Context > 0 && last > 0 && l.Number > last+1 {
			b.WriteString("--\n")
		}
		mark := "-"
		if l.Match {
			mark = ":"
		}
		last = l.Number - 1
		for text := range strings.SplitSeq(l.Text, "\n") {
			last++
			fmt.Fprintf(b, "%s%s%d%s %s\n", path, mark, last, mark, text)
		}
	}
}

// remarks says what is not there and why.
func (s *grepping) remarks(b *strings.Builder, out *GrepOutput, shown int) {
	r := s.res
	say := func(format string, args ...any) { fmt.Fprintf(b, "["+format+"]\n", args...) }
	switch {
	case shown == 0 && s.in.Offset > 0:
		say("nothing beyond offset %d", s.in.Offset)
	case shown == 0:
		say("no match for %s in %s%s", show(s.in.Pattern), show(s.path.String()), s.searched())
	case out.Truncated && s.in.OutputMode == "files":
		say("%d of %d files shown, newest first; offset %d shows more", shown, r.TotalFiles, out.NextOffset)
	case out.Truncated && s.in.OutputMode == "count":
		say("%d of %d files shown, %d matches in all; offset %d shows more", shown, r.TotalFiles, r.TotalMatches, out.NextOffset)
	case out.Truncated:
		say("%s shown, there are more, %s; offset %d shows more, or narrow the pattern, path or glob",
			count(shown, "match", "matches"), s.unexamined(), out.NextOffset)
	case s.in.OutputMode == "count":
		say("%s in %s", count(r.TotalMatches, "match", "matches"), count(r.TotalFiles, "file", "files"))
	}
	for _, note := range s.notes {
		say("%s", note)
	}
	if left := leftOut(s.withheld.Load(), s.closed.Load()); left != "" {
		out.metadata["withheld"] = left
		say("left out: %s, as secrets, other roots or what a rule covers; name one to ask for it", left)
	}
	if r.SkippedCount > 0 {
		var paths []string
		for _, skip := range r.Skipped {
			paths = append(paths, s.spell(skip.Path))
		}
		out.metadata["unreadable"] = paths
		say("%d could not be searched, such as %s: %v", r.SkippedCount, show(paths[0]), r.Skipped[0].Err)
	}
	if r.Binary > 0 {
		out.metadata["binary"] = r.Binary
	}
	if r.Pieces > 0 {
		say("%s longer than 4 MiB, looked at in pieces", count(r.Pieces, "line is", "lines are"))
	}
}

// searched says what a search that found nothing looked at.
func (s *grepping) searched() string {
	if s.single {
		return ""
	}
	text := fmt.Sprintf(" (%s searched", count(s.res.Examined-s.res.Binary, "file", "files"))
	if s.res.Binary > 0 {
		text += fmt.Sprintf(", %s passed over", count(s.res.Binary, "binary one", "binary ones"))
	}
	return text + ")"
}

func (s *grepping) unexamined() string {
	if s.res.Unexamined == 0 {
		return "all files were examined"
	}
	return count(s.res.Unexamined, "file was", "files were") + " not examined"
}
