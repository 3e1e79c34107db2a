package question

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Row is a line of a difference.
type Row struct {
	// Op is "-", "+", " ", "…" where lines are left out, "f" for the name of a file, "n" for a remark.
	Op string `json:"op"`
	// Line is its number: in the old file, and for an added line in the new one.
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

var hunk = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// diff reads a unified diff; false means that the text is none. What is inside of a hunk is told by the hunk's counts alone, so
// that the lines of a file cannot pass for the diff's own.
func diff(text string) (rows []Row, ok bool) {
	var oldLine, newLine, oldLeft, newLeft int
	add := func(op string, line int, text string) {
		rows = append(rows, Row{op, line, cleantext.Lines(strings.TrimRight(text, "\r"))})
	}
	from := ""
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		inside := oldLeft > 0 || newLeft > 0
		switch {
		case inside && strings.HasPrefix(line, "-"):
			add("-", oldLine, line[1:])
			oldLine, oldLeft = oldLine+1, oldLeft-1
		case inside && strings.HasPrefix(line, "+"):
			add("+", newLine, line[1:])
			newLine, newLeft = newLine+1, newLeft-1
		case inside && (line == "" || line[0] == ' '):
			add(" ", oldLine, strings.TrimPrefix(line, " "))
			oldLine, newLine, oldLeft, newLeft = oldLine+1, newLine+1, oldLeft-1, newLeft-1
		case !inside && hunk.MatchString(line):
			if ok && len(rows) > 0 && rows[len(rows)-1].Op != "f" {
				add("…", 0, "")
			}
			ok = true
			found := hunk.FindStringSubmatch(line)
			oldLine, oldLeft = number(found[1], 0), number(found[2], 1)
			newLine, newLeft = number(found[3], 0), number(found[4], 1)
		case !inside && strings.HasPrefix(line, "--- "):
			from = line[4:]
		case !inside && strings.HasPrefix(line, "+++ ") && from != "":
			add("f", 0, fileName(from, line[4:]))
			from = ""
		case strings.HasPrefix(line, `\ `):
			add("n", 0, line[2:])
		default:
			add("n", 0, line)
		}
	}
	return rows, ok
}

func number(digits string, otherwise int) int {
	if n, err := strconv.Atoi(digits); err == nil {
		return n
	}
	return otherwise
}

// fileName is what a diff calls a file, and whether it is new or goes.
func fileName(from, to string) string {
	const none = "/dev/null"
	switch {
	case from == none:
		return strings.TrimPrefix(to, "b/") + " (new)"
	case to == none:
		return strings.TrimPrefix(from, "a/") + " (deleted)"
	default:
		return strings.TrimPrefix(to, "b/")
	}
}

// size counts the lines of a difference: "+1 −1".
func size(rows []Row, partial bool) string {
	added, removed := 0, 0
	for _, r := range rows {
		switch r.Op {
		case "+":
			added++
		case "-":
			removed++
		}
	}
	text := fmt.Sprintf("+%d −%d", added, removed)
	if partial {
		text += " and more"
	}
	return text
}

// Compact returns the rows with at most so many unchanged lines around a change, and without the name of the file where there
// is only one: the headline has it.
func Compact(rows []Row, context int) (list []Row) {
	files := 0
	near := make([]bool, len(rows))
	for i, r := range rows {
		if r.Op == "f" {
			files++
		}
		if r.Op == "-" || r.Op == "+" {
			for j := max(0, i-context); j <= min(len(rows)-1, i+context); j++ {
				near[j] = true
			}
		}
	}
	named := files == 0
	for i, r := range rows {
		named = named || r.Op == "f"
		switch {
		case !named: // what a preview says before the first file, the list of changes says
		case r.Op == "f" && files < 2 && !strings.HasSuffix(r.Text, ")"):
		case r.Op == " " && !near[i]:
			if n := len(list); n > 0 && list[n-1].Op != "…" && list[n-1].Op != "f" {
				list = append(list, Row{Op: "…"})
			}
		case r.Op == "…" && (len(list) == 0 || list[len(list)-1].Op == "…"):
		default:
			list = append(list, r)
		}
	}
	for len(list) > 0 && list[len(list)-1].Op == "…" {
		list = list[:len(list)-1]
	}
	return list
}

// Gutter is the number of a row as it stands before it: of a line that replaces others there is none, as it has theirs.
func Gutter(rows []Row, i, width int) string {
	r := rows[i]
	if r.Line == 0 || r.Op == "+" && i > 0 && (rows[i-1].Op == "-" || rows[i-1].Op == "+") {
		return strings.Repeat(" ", width)
	}
	return fmt.Sprintf("%*d", width, r.Line)
}

// GutterWidth is how wide the numbers of rows are.
func GutterWidth(rows []Row) int {
	most := 0
	for _, r := range rows {
		most = max(most, r.Line)
	}
	return len(strconv.Itoa(most))
}
