package programoutput

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/tongs-ai/tongs/internal/cleantext"
)

// screenHead and screenTail are how much of the output a person is shown with its colours, in bytes.
const (
	screenHead = 32 << 10
	screenTail = 64 << 10
)

// Screen keeps what a program wrote as a person would have seen it: both streams in the order in which they came, its
// beginning and its end where it is long. Its zero value is ready, and it is safe for concurrent use.
type Screen struct {
	mu   sync.Mutex
	head []byte
	tail []byte
	size int64
	// streams is how many of the writers wrote something.
	streams int
}

// Tee returns a writer that writes to w and to the screen.
func (s *Screen) Tee(w io.Writer) io.Writer { return &tee{screen: s, w: w} }

type tee struct {
	screen *Screen
	wrote  bool
	w      io.Writer
}

func (t *tee) Write(p []byte) (int, error) {
	t.screen.keep(p, !t.wrote && len(p) > 0)
	t.wrote = t.wrote || len(p) > 0
	return t.w.Write(p)
}

func (s *Screen) keep(p []byte, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first {
		s.streams++
	}
	s.size += int64(len(p))
	n := min(len(p), screenHead-len(s.head))
	s.head = append(s.head, p[:n]...)
	p = p[n:]
	if len(p) > screenTail {
		p, s.tail = p[len(p)-screenTail:], s.tail[:0]
	}
	s.tail = append(s.tail, p...)
	if len(s.tail) > 2*screenTail {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-screenTail:]...)
	}
}

// Text returns what was written, with colours and without any other power over a terminal. It is empty where the
// output is not text, and where one stream has no colours: then there is nothing to show beyond what a model sees.
func (s *Screen) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	tail := s.tail[max(0, len(s.tail)-screenTail):]
	text := string(s.head)
	if left := s.size - int64(len(s.head)) - int64(len(tail)); left > 0 {
		text += fmt.Sprintf("\n[%d bytes left out]\n", left)
	}
	text += string(tail)
	if strings.IndexByte(text, 0) >= 0 || s.streams < 2 && !colour.MatchString(text) {
		return ""
	}
	return Colours(text)
}

var (
	// escape is any sequence for a terminal: CSI, OSC and other strings with their ends, and the short ones.
	escape = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])?")
	// colour is a sequence that sets colours and weight, and nothing else.
	colour = regexp.MustCompile("\x1b\\[[0-9;:]*m")
)

// Colours returns text in which no sequence for a terminal is left except those that set colours. Titles, clipboards,
// cursor movements and answers to queries would be the program's hands in the terminal of the person who looks.
func Colours(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = escape.ReplaceAllStringFunc(text, func(seq string) string {
		if colour.FindString(seq) == seq {
			return seq
		}
		return ""
	})
	text = strings.ReplaceAll(text, "\r\n", "\n")
	coloured := false
	text = strings.Map(func(r rune) rune {
		switch {
		case r == 0x1b:
			coloured = true
			return r
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
	if coloured && !strings.HasSuffix(text, "\x1b[0m") {
		text += "\x1b[0m"
	}
	return text
}

// Plain returns text of one line as a person can trust it: what does not print, or changes the direction of reading,
// is spelled out.
func Plain(text string) string {
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hidden(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }

// Shown is text for a person's terminal: its colours stay, and what else a terminal would act on becomes visible.
func Shown(text string) string {
	text = Colours(text)
	var b strings.Builder
	from := 0
	for _, at := range colour.FindAllStringIndex(text, -1) {
		b.WriteString(cleantext.Lines(text[from:at[0]]) + text[at[0]:at[1]])
		from = at[1]
	}
	b.WriteString(cleantext.Lines(text[from:]))
	return b.String()
}

// Uncoloured is text without colours.
func Uncoloured(text string) string { return colour.ReplaceAllString(text, "") }
