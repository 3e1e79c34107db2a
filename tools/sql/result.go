package sql

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Output is the value of sql_query.
type Output struct {
	Columns []Column `json:"columns"`
	Rows    [][]any  `json:"rows" jsonschema:"Values in the order of the columns: null, booleans, numbers and strings."`
	// More says that there were more rows than are returned.
	More     bool  `json:"more,omitempty" jsonschema:"There are more rows."`
	Changed  int64 `json:"changed,omitempty" jsonschema:"Rows that were inserted, updated or deleted."`
	Duration int64 `json:"duration" jsonschema:"Milliseconds."`

	title   string
	remarks []string
}

// Column is one of a result.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// maxCell is how many bytes of one value are returned.
const maxCell = 4000

// rows collects the rows of a result, as far as they fit.
type rows struct {
	out         *Output
	limit, left int
}

// add adds a row, or reports that there is no room for it.
func (r *rows) add(row []any) bool {
	data, err := json.Marshal(row)
	if len(r.out.Rows) >= r.limit || err != nil || len(data) > r.left {
		r.out.More = true
		return false
	}
	r.left -= len(data)
	r.out.Rows = append(r.out.Rows, row)
	return true
}

// cell makes a text fit.
func cell(s string) string {
	if len(s) <= maxCell {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:maxCell], "") + fmt.Sprintf("... (%d bytes)", len(s))
}

// blob spells bytes.
func blob(data []byte) string {
	if len(data) > maxCell/2 {
		return fmt.Sprintf("x'%X...' (%d bytes)", data[:maxCell/2], len(data))
	}
	return fmt.Sprintf("x'%X'", data)
}

// Present shows rows as lines of JSON to the model, and as a table to a person.
func (o *Output) Present(r *tongs.Result) {
	r.Title = o.title
	remarks := o.notes()
	var b strings.Builder
	if len(o.Columns) > 0 {
		names := make([]string, len(o.Columns))
		for i, c := range o.Columns {
			names[i] = c.Name
		}
		writeLine(&b, names)
		for _, row := range o.Rows {
			writeLine(&b, row)
		}
	}
	r.Content = strings.TrimRight(b.String()+remarks, "\n")
	r.Display = strings.TrimRight(o.table()+remarks, "\n")
	r.SetMeta("rows", len(o.Rows))
}

func writeLine(b *strings.Builder, v any) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // of strings and numbers; a builder takes everything
}

// notes say what the rows do not.
func (o *Output) notes() string {
	var list []string
	if len(o.Columns) > 0 {
		said := plural(len(o.Rows), "row")
		if o.More {
			said += ", and more: narrow the statement, or page with LIMIT and OFFSET"
		}
		list = append(list, said)
	}
	if o.Changed > 0 || len(o.Columns) == 0 {
		list = append(list, plural(int(o.Changed), "row")+" changed")
	}
	list = append(list, o.remarks...)
	var b strings.Builder
	for _, remark := range list {
		b.WriteString("[" + remark + "]\n")
	}
	return b.String()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// maxWidth is how wide a column is shown to a person.
const maxWidth = 60

// table shows the rows to a person.
func (o *Output) table() string {
	if len(o.Columns) == 0 {
		return ""
	}
	lines := make([][]string, 0, len(o.Rows)+1)
	head := make([]string, len(o.Columns))
	for i, c := range o.Columns {
		head[i] = shown(c.Name)
	}
	lines = append(lines, head)
	for _, row := range o.Rows {
		line := make([]string, len(o.Columns))
		for i := range line {
			line[i] = shown(row[i])
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(o.Columns))
	for _, line := range lines {
		for i, text := range line {
			widths[i] = max(widths[i], ansi.StringWidth(text))
		}
	}
	var b strings.Builder
	for n, line := range lines {
		writeRow(&b, line, widths, " ")
		if n == 0 {
			writeRow(&b, make([]string, len(line)), widths, "─")
		}
	}
	return b.String()
}

func writeRow(b *strings.Builder, line []string, widths []int, fill string) {
	var row strings.Builder
	for i, text := range line {
		if i > 0 {
			row.WriteString(map[string]string{" ": " │ ", "─": "─┼─"}[fill])
		}
		row.WriteString(text + strings.Repeat(fill, widths[i]-ansi.StringWidth(text)))
	}
	b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
}

// shown spells a value on one line, without characters that a terminal acts upon.
func shown(v any) string {
	if v == nil {
		return "NULL"
	}
	text := cleantext.Line(fmt.Sprint(v))
	if utf8.RuneCountInString(text) > maxWidth {
		text = ansi.Truncate(text, maxWidth, "…")
	}
	return text
}
