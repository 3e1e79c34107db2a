package files

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
)

// replacement is one edit as it is asked for. Line ends in it are LF.
type replacement struct {
	old, new string
	all      bool
}

// How a replacement was found.
const (
	byText    = "exact"
	byLines   = "lines"           // whole lines, ignoring indentation
	byNumbers = "without-numbers" // after the line numbers of read_file were taken off
)

// span is a part of a text, in bytes, and what takes its place.
type span struct {
	start, end int
	new        string
}

// found is where a replacement applies.
type found struct {
	spans []span
	how   string
}

// find looks for what r replaces in s, whose line ends are LF: as it stands, then by whole lines, then without line
// numbers. The error is NO_MATCH or AMBIGUOUS_MATCH.
func find(s string, r replacement) (found, error) {
	if spans := exact(s, r); len(spans) > 0 {
		return found{spans, byText}, unique(s, spans, r.all)
	}
	lines := splitLines(s)
	if spans := wholeLines(s, lines, r); len(spans) > 0 {
		return found{spans, byLines}, unique(s, spans, r.all)
	}
	bare, numbered := withoutNumbers(r)
	if numbered {
		spans := exact(s, bare)
		if len(spans) == 0 {
			spans = wholeLines(s, lines, bare)
		}
		if len(spans) == 1 || len(spans) > 1 && r.all {
			return found{spans, byNumbers}, nil
		}
		r = bare
	}
	return found{}, noMatch(lines, r.old, numbered)
}

// maxPlaces bounds how many matches an ambiguous one lists.
const maxPlaces = 10

// exact returns where the old text stands. Without all, two are enough to tell that it is ambiguous, so that it
// stops at one more than an error lists; those may overlap.
func exact(s string, r replacement) (spans []span) {
	for at := 0; r.old != "" && at <= len(s); {
		i := strings.Index(s[at:], r.old)
		if i < 0 {
			break
		}
		start := at + i
		spans = append(spans, span{start, start + len(r.old), r.new})
		at = start + len(r.old)
		if !r.all {
			at = start + 1
			if len(spans) > maxPlaces {
				break
			}
		}
	}
	return spans
}

// unique refuses more than one place, unless all are meant.
func unique(s string, spans []span, all bool) error {
	if len(spans) == 1 || all {
		return nil
	}
	var places []int
	for _, sp := range spans[:min(len(spans), maxPlaces)] {
		places = append(places, lineAt(s, sp.start))
	}
	more := ""
	if len(spans) > maxPlaces {
		more = " and more"
	}
	return tongs.Errorf(tongs.CodeAmbiguousMatch,
		"oldString is found at more than one place (lines %s%s); add lines around it until it is found once, or set replaceAll",
		joinInts(places), more).With("lines", places)
}

// lineAt returns the 1-based number of the line that offset is in.
func lineAt(s string, offset int) int { return 1 + strings.Count(s[:offset], "\n") }

func joinInts(list []int) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ", ")
}

// fileLine is a line of a text: where it is, without its end.
type fileLine struct {
	start int
	text  string
}

// splitLines returns the lines of s; what follows the last line end is a line only if it is not empty.
func splitLines(s string) []fileLine {
	lines := make([]fileLine, 0, strings.Count(s, "\n")+1)
	for at := 0; at < len(s); {
		end := strings.IndexByte(s[at:], '\n')
		if end < 0 {
			end = len(s) - at
		}
		lines = append(lines, fileLine{at, s[at : at+end]})
		at += end + 1
	}
	return lines
}

const blanks = " \t"

func trim(s string) string { return strings.Trim(s, blanks) }

// wholeLines returns where the lines of the old text stand, ignoring white space at their start and end, with the new
// text indented as those are. It runs in time linear in the text.
func wholeLines(s string, lines []fileLine, r replacement) (spans []span) {
	want := strings.Split(strings.TrimSuffix(r.old, "\n"), "\n")
	if len(want) > len(lines) || strings.Trim(r.old, blanks+"\n") == "" {
		return nil
	}
	ids := map[string]int{}
	pattern := make([]int, len(want))
	for i, line := range want {
		key := trim(line)
		if _, ok := ids[key]; !ok {
			ids[key] = len(ids) + 1
		}
		pattern[i] = ids[key]
	}
	for _, first := range occurrences(lines, ids, pattern, r.all) {
		part := lines[first : first+len(want)]
		spans = append(spans, lineSpan(s, part, want, r))
		if !r.all && len(spans) > maxPlaces {
			break
		}
	}
	return spans
}

// lineSpan is the replacement of whole lines. The end of the last one stays, unless old and new say that the lines
// go altogether.
func lineSpan(s string, part []fileLine, want []string, r replacement) span {
	last := part[len(part)-1]
	sp := span{start: part[0].start, end: last.start + len(last.text)}
	if r.new == "" && strings.HasSuffix(r.old, "\n") {
		if sp.end < len(s) {
			sp.end++
		}
		return sp
	}
	sp.new = indentLike(part, want, strings.TrimSuffix(r.new, "\n"))
	if strings.HasSuffix(r.new, "\n") && !strings.HasSuffix(r.old, "\n") {
		sp.new += "\n"
	}
	return sp
}

// occurrences finds pattern among the lines (Knuth, Morris, Pratt). With all they do not overlap.
func occurrences(lines []fileLine, ids map[string]int, pattern []int, all bool) (starts []int) {
	fail := make([]int, len(pattern))
	for i, k := 1, 0; i < len(pattern); i++ {
		for k > 0 && pattern[i] != pattern[k] {
			k = fail[k-1]
		}
		if pattern[i] == pattern[k] {
			k++
		}
		fail[i] = k
	}
	k := 0
	for i, line := range lines {
		id := ids[trim(line.text)]
		for k > 0 && id != pattern[k] {
			k = fail[k-1]
		}
		if id == pattern[k] {
			k++
		}
		if k == len(pattern) {
			starts = append(starts, i+1-k)
			if k = fail[k-1]; all {
				k = 0
			}
			if !all && len(starts) > maxPlaces {
				break
			}
		}
	}
	return starts
}

var numberPrefix = regexp.MustCompile(`^ {0,5}(\d{1,9})\t`)

// withoutNumbers takes the line numbers of read_file off, if every line of the old text has one and they count up.
func withoutNumbers(r replacement) (replacement, bool) {
	last := 0
	old, ok := mapLines(r.old, func(line string) (string, bool) {
		m := numberPrefix.FindStringSubmatch(line)
		if m == nil {
			return "", false
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || last != 0 && n != last+1 {
			return "", false
		}
		last = n
		return line[len(m[0]):], true
	})
	if !ok || strings.Trim(old, blanks+"\n") == "" {
		return r, false
	}
	r.old = old
	r.new, _ = mapLines(r.new, func(line string) (string, bool) { return numberPrefix.ReplaceAllLiteralString(line, ""), true })
	return r, true
}

// mapLines applies f to each line of s, until it refuses one.
func mapLines(s string, f func(string) (string, bool)) (string, bool) {
	body, ended := strings.CutSuffix(s, "\n")
	lines := strings.Split(body, "\n")
	for i, line := range lines {
		mapped, ok := f(line)
		if !ok {
			return "", false
		}
		lines[i] = mapped
	}
	out := strings.Join(lines, "\n")
	if ended {
		out += "\n"
	}
	return out, true
}

// outcome is what edits make of a text.
type outcome struct {
	text         string
	replacements int
	how          []string // how each edit was found
}

// applyEdits makes the edits one after the other, each on the result of the former. The line ends of s are kept; new
// lines end like those around them. An error names the edit.
func applyEdits(s string, ending text.Ending, edits []replacement) (outcome, error) {
	out := outcome{text: s}
	for i, r := range edits {
		body := lineEnds(out.text, ending)
		hit, err := find(body.lf, r)
		if err != nil {
			return outcome{}, inEdit(err, i, len(edits))
		}
		out.text = body.replace(hit.spans)
		out.replacements += len(hit.spans)
		out.how = append(out.how, hit.how)
	}
	return out, nil
}

func inEdit(err error, i, n int) error {
	if e, ok := err.(*tongs.Error); ok && n > 1 {
		e.Message = fmt.Sprintf("edits[%d]: %s; nothing was changed", i, e.Message)
		return e.With("edit", i)
	}
	return err
}

// ended is a text whose lines end in LF, and where the text it stands for has CRLF.
type ended struct {
	orig, lf string
	crs      []int // positions in lf of the line ends that are CRLF in orig
	ending   text.Ending
}

func lineEnds(s string, ending text.Ending) ended {
	b := ended{orig: s, lf: s, ending: ending}
	if !strings.Contains(s, "\r\n") {
		return b
	}
	b.lf = text.ToLF(s)
	for at := 0; ; {
		i := strings.Index(s[at:], "\r\n")
		if i < 0 {
			return b
		}
		at += i
		b.crs = append(b.crs, at-len(b.crs))
		at += 2
	}
}

// at returns the position in orig of a position in lf.
func (b ended) at(pos int) int { return pos + sort.SearchInts(b.crs, pos) }

// newline returns how new lines at a position in lf end: like the file, or where that is mixed, like the next line.
func (b ended) newline(pos int) string {
	switch b.ending {
	case text.CRLF:
		return "\r\n"
	case text.Mixed:
		next := strings.IndexByte(b.lf[pos:], '\n')
		if next < 0 {
			next, pos = strings.LastIndexByte(b.lf, '\n'), 0
		}
		if _, crlf := slices.BinarySearch(b.crs, pos+next); crlf {
			return "\r\n"
		}
	}
	return "\n"
}

func (b ended) replace(spans []span) string {
	var out strings.Builder
	last := 0
	for _, sp := range spans {
		out.WriteString(b.orig[last:b.at(sp.start)])
		if nl := b.newline(sp.start); nl == "\n" {
			out.WriteString(sp.new)
		} else {
			out.WriteString(strings.ReplaceAll(sp.new, "\n", nl))
		}
		last = b.at(sp.end)
	}
	out.WriteString(b.orig[last:])
	return out.String()
}
