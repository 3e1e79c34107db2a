package terminal

import (
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// markdown styles an answer line by line while it arrives: headings, lists, quotes, emphasis, code and its fences. It is
// given text that is clean, and knows no more of Markdown than a terminal can show.
type markdown struct {
	palette
	code  lipgloss.Style
	fence bool
}

func newMarkdown() *markdown {
	return &markdown{palette: newPalette(), code: lipgloss.NewStyle().Foreground(lipgloss.Color("6"))}
}

var (
	heading = regexp.MustCompile(`^#{1,6}\s+(.*)$`)
	bullet  = regexp.MustCompile(`^(\s*)[-*+]\s+(.*)$`)
	ordinal = regexp.MustCompile(`^(\s*)(\d{1,4}[.)])\s+(.*)$`)
	quoting = regexp.MustCompile(`^\s*>\s?(.*)$`)
	ruler   = regexp.MustCompile(`^\s*([-*_])(\s*[-*_]){2,}\s*$`)
	inline  = regexp.MustCompile("`[^`]+`|\\*\\*[^*]+\\*\\*|__[^_]+__|\\*[^*\\s][^*]*\\*")
)

// line returns a whole line of the answer, styled and wrapped to the width.
func (m *markdown) line(text string, width int) []string {
	text = strings.ReplaceAll(text, "\t", "    ")
	if strings.HasPrefix(strings.TrimSpace(text), "```") {
		m.fence = !m.fence
		return wrapped(m.faint.Render(text), width, "")
	}
	if m.fence {
		return split(ansi.Hardwrap(m.code.Render(text), width, true))
	}
	return m.styled(text, width)
}

// partial returns a line that is not whole yet, without taking note of it.
func (m *markdown) partial(text string, width int) []string {
	own := *m
	return own.line(text, width)
}

func (m *markdown) styled(text string, width int) []string {
	if found := heading.FindStringSubmatch(text); found != nil {
		return wrapped(m.title.Render(found[1]), width, "")
	}
	if ruler.MatchString(text) {
		return []string{m.faint.Render(strings.Repeat("─", min(width, 40)))}
	}
	if found := bullet.FindStringSubmatch(text); found != nil {
		return wrapped(found[1]+"• "+m.spans(found[2]), width, found[1]+"  ")
	}
	if found := ordinal.FindStringSubmatch(text); found != nil {
		return wrapped(found[1]+found[2]+" "+m.spans(found[3]), width, found[1]+strings.Repeat(" ", len(found[2])+1))
	}
	if found := quoting.FindStringSubmatch(text); found != nil {
		return wrapped(m.faint.Render("│ ")+m.faint.Render(found[1]), width, "│ ")
	}
	return wrapped(m.spans(text), width, "")
}

// spans styles what is emphasised in a line.
func (m *markdown) spans(text string) string {
	return inline.ReplaceAllStringFunc(text, func(s string) string {
		switch {
		case s[0] == '`':
			return m.code.Render(strings.Trim(s, "`"))
		case strings.HasPrefix(s, "**"), strings.HasPrefix(s, "__"):
			return m.title.Render(s[2 : len(s)-2])
		default:
			return lipgloss.NewStyle().Italic(true).Render(s[1 : len(s)-1])
		}
	})
}

// wrapped breaks a styled line at words; further lines begin with the indent.
func wrapped(text string, width int, indent string) []string {
	if width < 8 || ansi.StringWidth(indent) > width/2 {
		indent = ""
	}
	lines := split(ansi.Wrap(text, max(1, width-ansi.StringWidth(indent)), " -/"))
	for i := range lines[1:] {
		lines[i+1] = indent + lines[i+1]
	}
	return lines
}

func split(text string) []string { return strings.Split(text, "\n") }
