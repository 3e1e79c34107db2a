package web

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/tongs-ai/tongs/internal/visibility"
)

// plainText renders a part of a page without marks: paragraphs apart, rows of tables on a line, code as it is.
func plainText(n *html.Node) string {
	w := &textWriter{}
	w.node(n, false)
	return tidyText(w.String())
}

type textWriter struct {
	strings.Builder
	// space is set where a space is due before the next word.
	space bool
}

// line ends the line, where one is begun.
func (w *textWriter) line(n int) {
	w.space = false
	if w.Len() == 0 {
		return
	}
	have := 0
	for s := w.String(); have < n && have < len(s) && s[len(s)-1-have] == '\n'; have++ {
	}
	for ; have < n; have++ {
		w.WriteByte('\n')
	}
}

func (w *textWriter) node(n *html.Node, pre bool) {
	switch n.Type {
	case html.TextNode:
		if pre {
			w.WriteString(n.Data)
			return
		}
		w.words(n.Data)
		return
	case html.ElementNode, html.DocumentNode:
	default:
		return
	}
	if dropped[n.Data] {
		return
	}
	before, after := spacing(n.DataAtom)
	if before > 0 {
		w.line(before)
	}
	switch n.DataAtom {
	case atom.Br:
		w.line(1)
	case atom.Li:
		w.WriteString("- ")
	case atom.Hr:
		w.WriteString("---")
	case atom.Img:
		if alt := oneLine(visibility.Attr(n, "alt")); alt != "" {
			w.words("[" + alt + "]")
		}
	case atom.Pre:
		pre = true
	case atom.Td, atom.Th:
		if n.PrevSibling != nil && w.Len() > 0 && !strings.HasSuffix(w.String(), "\n") {
			w.WriteByte('\t')
			w.space = false
		}
	}
	for c := range n.ChildNodes() {
		w.node(c, pre)
	}
	if after > 0 {
		w.line(after)
	}
}

func (w *textWriter) words(text string) {
	if text == "" {
		return
	}
	for i, word := range strings.Fields(text) {
		if i > 0 || w.space || startsSpace(text) {
			if s := w.String(); len(s) > 0 && s[len(s)-1] != '\n' && s[len(s)-1] != ' ' && s[len(s)-1] != '\t' {
				w.WriteByte(' ')
			}
		}
		w.space = false
		w.WriteString(word)
	}
	last := text[len(text)-1]
	w.space = w.space || last == ' ' || last == '\n' || last == '\t' || last == '\r'
}

func startsSpace(text string) bool {
	return text[0] == ' ' || text[0] == '\n' || text[0] == '\t' || text[0] == '\r'
}

// spacing is how many line ends stand before and after an element.
func spacing(a atom.Atom) (before, after int) {
	switch a {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Pre, atom.Blockquote, atom.Table, atom.Ul, atom.Ol, atom.Dl, atom.Figure, atom.Hr:
		return 2, 2
	case atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Nav, atom.Aside, atom.Li, atom.Tr, atom.Dt, atom.Dd,
		atom.Figcaption, atom.Caption, atom.Details, atom.Summary, atom.Address, atom.Fieldset, atom.Form, atom.Body, atom.Option:
		return 1, 1
	}
	return 0, 0
}

// tidyText takes away empty lines beyond one and spaces at the ends of lines.
func tidyText(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	empty := 0
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line = strings.TrimRight(line, " \t\r"); line == "" {
			if empty++; empty > 1 {
				continue
			}
		} else {
			empty = 0
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}
