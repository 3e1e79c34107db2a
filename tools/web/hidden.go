package web

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/tongs-ai/tongs/internal/visibility"
)

// dropped are elements that no reader sees as text, with all that is in them.
var dropped = map[string]bool{
	"script": true, "style": true, "template": true, "noscript": true, "iframe": true, "frame": true, "object": true,
	"embed": true, "applet": true, "svg": true, "canvas": true, "audio": true, "video": true, "map": true, "datalist": true,
	"link": true, "meta": true, "noframes": true, "noembed": true, "input": true, "select": true, "textarea": true, "param": true,
	"source": true, "track": true, "portal": true, "slot": true, "xmp": true, "plaintext": true,
}

// The marks around text of which it cannot be told whether a reader sees it. Text in them has no such brackets of its own.
const (
	unknownBegins = "⟦visibility unknown: "
	unknownEnds   = "⟧"
)

// wholeUnknown stands before a page whose styles show nothing of it.
const wholeUnknown = "⟦visibility unknown⟧ The styles of this page hide all of its text until scripts run, or are too many to read.\n\n"

// strip takes out of a document what a person who looks at it would not see, and the characters that nobody sees. Text of which
// that cannot be told is marked. Whole reports that it cannot be told of any.
func strip(doc *html.Node) (whole bool) {
	view := visibility.Look(doc, func(n *html.Node) bool { return dropped[n.Data] })
	m := marker{view: view}
	m.node(doc)
	m.end()
	return view.Whole
}

// marker cleans a document. First and last are the texts of the run that is being marked.
type marker struct {
	view        *visibility.View
	first, last *html.Node
}

func (m *marker) node(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch c.Type {
		case html.CommentNode, html.RawNode:
			n.RemoveChild(c)
		case html.TextNode:
			m.text(c)
		case html.ElementNode:
			state := m.view.Of(c)
			if dropped[c.Data] || state == visibility.Hidden {
				n.RemoveChild(c)
				break
			}
			if c.DataAtom == atom.Br || block(c.DataAtom) {
				m.end()
			}
			cleanAttributes(c, state == visibility.Unknown)
			m.node(c)
			if block(c.DataAtom) {
				m.end()
			}
		}
		c = next
	}
}

// text cleans a text, and takes it to the run that is being marked if it is to be.
func (m *marker) text(n *html.Node) {
	n.Data = clean(n.Data)
	switch state := m.view.Of(n); {
	case state == visibility.Hidden:
		n.Data = spaceOf(n.Data)
	case strings.TrimSpace(n.Data) == "":
	case state == visibility.Unknown:
		n.Data = withoutMarks(n.Data)
		if m.first == nil {
			m.first = n
		}
		m.last = n
	default:
		m.end()
	}
}

// spaceOf is what is left of a text that is hidden: the space that it keeps words apart with.
func spaceOf(text string) string {
	if strings.TrimSpace(text) != text {
		return " "
	}
	return ""
}

// end marks the run that was begun.
func (m *marker) end() {
	if m.first == nil {
		return
	}
	lead := len(m.first.Data) - len(strings.TrimLeft(m.first.Data, " \t\r\n"))
	m.first.Data = m.first.Data[:lead] + unknownBegins + m.first.Data[lead:]
	tail := len(strings.TrimRight(m.last.Data, " \t\r\n"))
	m.last.Data = m.last.Data[:tail] + unknownEnds + m.last.Data[tail:]
	m.first, m.last = nil, nil
}

// withoutMarks keeps a text from ending its own mark.
func withoutMarks(text string) string {
	return strings.NewReplacer("⟦", "[", "⟧", "]").Replace(text)
}

// reopened begins a part of a text with the mark that it was cut out of.
func reopened(before, part string) string {
	if strings.LastIndex(before, unknownBegins) > strings.LastIndex(before, unknownEnds) {
		return unknownBegins + part
	}
	return part
}

// keptAttributes are those that mean something to a reader.
var keptAttributes = []string{
	"href", "src", "alt", "colspan", "rowspan", "start", "lang", "dir", "class", "id", "role", "datetime", "scope", "type", "reversed", "value", "cite",
	"data-src", "open", "width", "height", "itemprop", "rel",
}

func cleanAttributes(n *html.Node, unknown bool) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return !slices.Contains(keptAttributes, a.Key) })
	for i := range n.Attr {
		a := &n.Attr[i]
		if a.Val = clean(a.Val); !unknown {
			continue
		}
		if a.Val = withoutMarks(a.Val); a.Key == "alt" && strings.TrimSpace(a.Val) != "" {
			a.Val = unknownBegins + a.Val + unknownEnds
		}
	}
}

// measure notes how much text each element holds.
func measure(n *html.Node, sizes map[*html.Node]int) (size int) {
	if n.Type == html.TextNode {
		return len(strings.TrimSpace(n.Data))
	}
	if n.Type == html.ElementNode && dropped[n.Data] {
		return 0
	}
	for c := range n.ChildNodes() {
		size += measure(c, sizes)
	}
	sizes[n] = size
	return size
}

func within(n *html.Node, set map[*html.Node]bool) bool {
	for ; n != nil; n = n.Parent {
		if set[n] {
			return true
		}
	}
	return false
}
