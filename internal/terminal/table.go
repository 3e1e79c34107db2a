package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

// WriteTable prints columns, each as wide as its widest cell. The last one is not padded.
func WriteTable(w io.Writer, head []string, rows [][]string) error {
	widths := make([]int, len(head))
	all := append([][]string{head}, rows...)
	for _, row := range all {
		for i := range row {
			row[i] = Clean(row[i])
			widths[i] = max(widths[i], len([]rune(row[i])))
		}
	}
	var b strings.Builder
	for _, row := range all {
		var line strings.Builder
		for i, cell := range row {
			if i == len(row)-1 {
				line.WriteString(cell)
				break
			}
			line.WriteString(cell + strings.Repeat(" ", widths[i]-len([]rune(cell))+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := fmt.Fprint(w, b.String())
	return err
}

// WriteJSON writes v as one line. What a terminal would act on is escaped by JSON itself, except for a few characters that
// are escaped here where the output is one.
func WriteJSON(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	line := buf.Bytes()
	if IsTerminal(w) {
		line = escapeJSON(line)
	}
	_, err := w.Write(line)
	return err
}

// escapeJSON spells the unprintable characters of JSON text as escapes. They occur in its strings only.
func escapeJSON(line []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(line) {
		if r == '\n' || r != 0x7f && (r < 0x80 || unicode.IsPrint(r) && !cleantext.Invisible(r)) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}
