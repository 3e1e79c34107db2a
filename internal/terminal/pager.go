package terminal

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/question"
)

// untrusted is text of any size that a person pages through. Only what is on the screen is in memory.
type untrusted struct {
	io.ReaderAt
	size int64
	// style is how a line looks that begins like this.
	style func(line string) lipgloss.Style
}

// spot is where a screen begins: an offset, and how the line begins that it is in.
type spot struct {
	at   int64
	head string
}

// rows returns the rows of a screen, and where the next one begins. Lines are wrapped, and what a terminal would act on is made
// visible, whatever their length.
func (u *untrusted) rows(from spot, count, width int) (rows []string, next spot, err error) {
	bar := newPalette().faint.Render("│") + " "
	width = max(20, width-2)
	var row strings.Builder
	used := 0
	end := func() {
		rows = append(rows, bar+u.style(from.head).Render(row.String()))
		row.Reset()
		used = 0
	}
	buf := make([]byte, 32<<10)
	for len(rows) < count && from.at < u.size {
		n, err := u.ReadAt(buf[:min(int64(len(buf)), u.size-from.at)], from.at)
		if n == 0 {
			return rows, from, err
		}
		last := from.at+int64(n) >= u.size || err != nil // it may be shorter than it was
		for i := 0; i < n && len(rows) < count; {
			if !last && n-i < 2*utf8.UTFMax { // the rest of a character may come
				break
			}
			r, size := utf8.DecodeRune(buf[i:n])
			crlf := r == '\r' && i+1 < n && buf[i+1] == '\n'
			shown := shownRune(buf[i:i+size], r)
			wide := ansi.StringWidth(shown)
			if r != '\n' && !crlf && used+wide > width {
				end()
				if len(rows) == count {
					break
				}
			}
			i, from.at = i+size, from.at+int64(size)
			switch {
			case crlf:
			case r == '\n':
				end()
				from.head = ""
			default:
				row.WriteString(shown)
				used += wide
				if len(from.head) < 4 {
					from.head += shown
				}
			}
		}
	}
	if used > 0 && len(rows) < count {
		end()
	}
	return rows, from, nil
}

// shownRune is how one character of untrusted text is shown.
func shownRune(raw []byte, r rune) string {
	switch r {
	case '\t':
		return "    "
	case '\n':
		return ""
	}
	return Clean(string(raw))
}

// last is where the last screen begins, or a little before it.
func (u *untrusted) last(count, width int) (spot, error) {
	from := spot{at: max(0, u.size-int64(count*width))}
	for from.at > 0 { // at the start of a character
		var b [1]byte
		if _, err := u.ReadAt(b[:], from.at); err != nil {
			return spot{}, err
		}
		if utf8.RuneStart(b[0]) {
			break
		}
		from.at--
	}
	for {
		rows, next, err := u.rows(from, 1, width)
		if err != nil || len(rows) == 0 {
			return from, err
		}
		rest, _, err := u.rows(next, count, width)
		if err != nil || len(rest) < count {
			return from, err
		}
		from = next
	}
}

// maxBack is how many screens one can go back through.
const maxBack = 10_000

// view pages through a text: all of it, wherever the keys lead. A text that fits is only printed.
func (t *Terminal) view(ctx context.Context, u *untrusted) error {
	var before []spot
	for at := (spot{}); ; {
		count, width := max(4, t.height()-1), t.width()
		rows, next, err := u.rows(at, count, width)
		if err != nil {
			return err
		}
		for _, row := range rows {
			fmt.Fprintln(t.w, row)
		}
		if next.at >= u.size && len(before) == 0 {
			return nil
		}
		key, err := t.Key(ctx, fmt.Sprintf("(%d%% of %s: Space goes on, b back, g start, G end, q ends) ", next.at*100/max(u.size, 1), output.Bytes(u.size)),
			" \r\nfbgGq\x1b")
		if err != nil {
			return err
		}
		fmt.Fprint(t.w, "\r"+strings.Repeat(" ", min(76, width-1))+"\r")
		switch key {
		case 'q', 0x1b:
			return nil
		case 'b':
			if n := len(before); n > 0 {
				at, before = before[n-1], before[:n-1]
			}
		case 'g':
			at, before = spot{}, nil
		case 'G':
			if before = append(before, at); len(before) > maxBack {
				before = before[1:]
			}
			if at, err = u.last(count, width); err != nil {
				return err
			}
		default:
			if next.at >= u.size {
				return nil
			}
			if before = append(before, at); len(before) > maxBack {
				before = before[1:]
			}
			at = next
		}
	}
}

// joined is a text before another one.
type joined struct {
	head string
	rest io.ReaderAt
}

func (j joined) ReadAt(p []byte, off int64) (n int, err error) {
	if size := int64(len(j.head)); off < size {
		n = copy(p, j.head[off:])
		if n == len(p) {
			return n, nil
		}
		off = size
	}
	m, err := j.rest.ReadAt(p[n:], off-int64(len(j.head)))
	return n + m, err
}

// pageAll pages through everything that is known about a question, its arguments and its whole preview included.
func (p *prompt) pageAll(ctx context.Context) error {
	head := question.Lines(question.Facts(&p.q), p.width()-2) + "\nArguments:\n" + question.Indented(p.q.Args) + "\n\n"
	u := &untrusted{style: diffStyle(p.palette), size: int64(len(head) + len(p.q.Preview))}
	u.ReaderAt = strings.NewReader(head + p.q.Preview)
	if p.q.PreviewBytes > 0 {
		f, err := p.Previews.Open(p.q.ID)
		if err == nil {
			defer f.Close()
			u.ReaderAt, u.size = joined{head, f}, int64(len(head))+p.q.PreviewBytes
		} else {
			fmt.Fprintln(p.w, p.warn.Render("The whole difference cannot be read, only its beginning: "+Clean(err.Error())))
		}
	}
	return p.view(ctx, u)
}
