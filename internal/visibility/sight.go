// Package visibility tells what text of an HTML document a person sees who looks at it in a browser.
//
// It is no browser: it lays nothing out, runs no scripts and fetches nothing. It reads the styles that are in the page, puts
// together what they say about each element, and judges that. Where something hides text that something else shows, or it cannot
// be told, the text is Unknown: it errs to the side of what hides. Sheets that are in files of their own count as saying nothing.
package visibility

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// State is whether a person sees something.
type State int8

// The states, the most visible one first.
const (
	Seen State = iota
	// Unknown is what some do not see, or what cannot be told.
	Unknown
	Hidden
)

// View is what is known of a document. It is not for concurrent use.
type View struct {
	nodes map[*html.Node]State
	// Whole is set where nothing of the page can be told to be seen: its styles hide all of it until scripts run, or there is
	// more of them than is read.
	Whole bool
}

// Of returns the state of an element or a text.
func (v *View) Of(n *html.Node) State { return v.nodes[n] }

// Look judges a document. Skip reports elements that do not count, whatever they hold.
func Look(doc *html.Node, skip func(n *html.Node) bool) *View {
	l := &looker{sheet: readSheet(doc), match: newMatcher(), skip: skip, view: &View{nodes: map[*html.Node]State{}}, who: []int{0}}
	if l.sheet.split {
		for i := range viewers[1:] {
			l.who = append(l.who, i+1)
		}
	}
	l.who = append(l.who, worst)
	start := make([]context, len(viewers)+1)
	for i := range start {
		start[i] = context{font: 16, root: 16, size: 1, opacity: 1, text: black, behind: []colour{white}, elsewhere: l.sheet.elsewhere}
	}
	dark, light := metaScheme(doc)
	for i := range start {
		start[i].scheme(dark, light, true, i)
	}
	l.walk(doc, start, nil, Seen)
	l.cover()
	l.view.Whole = l.view.Whole || l.sheet.beyond || l.match.overBudget() || forbidden(doc) && (l.sheet.count > 0 || l.styled)
	l.mostly(doc)
	return l.view
}

// metaScheme is what a page says of the colours that it leaves open.
func metaScheme(doc *html.Node) (dark, light bool) {
	for n := range doc.Descendants() {
		if n.Data == "meta" && strings.EqualFold(Attr(n, "name"), "color-scheme") {
			said := strings.Fields(strings.ToLower(Attr(n, "content")))
			return slices.Contains(said, "dark"), slices.Contains(said, "light")
		}
	}
	return false, false
}

// looker goes through a document.
type looker struct {
	sheet *sheet
	match *matcher
	skip  func(n *html.Node) bool
	view  *View
	// who are the viewers that are judged for.
	who []int
	// byStyle are the elements that styles hide.
	byStyle []*html.Node
	// covered are the elements of which others lie over all that is not in those.
	covered map[*html.Node]*html.Node
	// styled is set where an element has a style of its own.
	styled bool
}

// walk judges what is below n, where base is the state of all of it.
func (l *looker) walk(n *html.Node, at []context, vars *scope, base State) {
	for c := range n.ChildNodes() {
		switch c.Type {
		case html.TextNode:
			l.view.nodes[c] = max(base, l.textState(at), closedDetails(n, c))
		case html.ElementNode:
			if l.skip(c) {
				continue
			}
			own := byAttribute(c)
			if own == Hidden && isPage(c) {
				l.view.Whole, own = true, Seen
			}
			l.element(c, at, vars, max(base, own, closedDetails(n, c)))
		default:
			l.walk(c, at, vars, base)
		}
	}
}

func (l *looker) element(n *html.Node, above []context, vars *scope, base State) {
	if base == Hidden {
		l.view.nodes[n] = Hidden
		return
	}
	list := l.declarationsFor(n)
	l.styled = l.styled || Has(n, "style")
	own := &scope{above: vars}
	for _, c := range list {
		if strings.HasPrefix(c.name, "--") {
			own.own = append(own.own, c)
		}
	}
	if own.own == nil {
		own = vars
	}
	at := make([]context, len(above))
	for _, who := range l.who {
		at[who] = above[who]
		at[who].enter(l, n, l.valuesFor(list, own, n, who), who)
	}
	l.over(n, list, own, at)
	state := l.boxState(at)
	if isPage(n) {
		if state == Hidden || at[0].invisible || at[0].opacity <= faint { // pages hide themselves until their scripts ran
			l.view.Whole = true
		}
		for i := range at {
			at[i].gone, at[i].odd, at[i].invisible, at[i].opacity = false, false, false, 1
		}
		state = Seen
	}
	if state == Hidden {
		l.byStyle = append(l.byStyle, n)
		l.view.nodes[n] = Hidden
		return
	}
	if state = max(base, state); state != Seen {
		l.view.nodes[n] = state
	}
	for i := range at { // what is below is judged by state
		at[i].gone, at[i].odd = false, false
	}
	l.walk(n, at, own, state)
}

func isPage(n *html.Node) bool { return n.Data == "html" || n.Data == "body" || n.Data == "frameset" }

// forbidden reports whether the page asks browsers to leave out styles that are in it.
func forbidden(doc *html.Node) bool {
	for n := range doc.Descendants() {
		if n.Data != "meta" || !strings.EqualFold(strings.TrimSpace(Attr(n, "http-equiv")), "content-security-policy") {
			continue
		}
		policy := strings.ToLower(Attr(n, "content"))
		if (strings.Contains(policy, "style-src") || strings.Contains(policy, "default-src")) && !strings.Contains(policy, "'unsafe-inline'") {
			return true
		}
	}
	return false
}

// boxState is the state of an element with all that is in it.
func (l *looker) boxState(at []context) (s State) {
	for _, who := range l.who {
		switch {
		case at[who].gone && who == 0:
			return Hidden
		case at[who].gone || at[who].odd:
			s = Unknown
		}
	}
	return s
}

// textState is the state of text that stands right here.
func (l *looker) textState(at []context) (s State) {
	for _, who := range l.who {
		switch t := at[who].unread(); {
		case t == Hidden && who == 0:
			return Hidden
		case t != Seen:
			s = Unknown
		}
	}
	return s
}

// mostly turns what styles hide into Unknown, where one element or one style sheet hides nearly all of the text: then scripts are
// meant to show it.
func (l *looker) mostly(doc *html.Node) {
	if len(l.byStyle) == 0 {
		return
	}
	all, bySheets, one := l.size(doc), 0, 0
	for _, n := range l.byStyle {
		size := l.size(n)
		one = max(one, size)
		if !Has(n, "style") {
			bySheets += size
		}
	}
	if max(one, bySheets)*10 <= all*9 {
		return
	}
	for _, n := range l.byStyle {
		l.uncertain(n)
	}
}

// size is how much text there is in an element that no attribute hides.
func (l *looker) size(n *html.Node) (size int) {
	for c := range n.ChildNodes() {
		switch {
		case c.Type == html.TextNode:
			size += len(strings.TrimSpace(c.Data))
		case c.Type == html.ElementNode && !l.skip(c) && byAttribute(c) != Hidden:
			size += l.size(c)
		}
	}
	return size
}

// uncertain makes an element that styles hide, and what is in it, Unknown.
func (l *looker) uncertain(n *html.Node) {
	l.view.nodes[n] = Unknown
	for c := range n.ChildNodes() {
		switch {
		case c.Type == html.TextNode:
			l.view.nodes[c] = Unknown
		case c.Type == html.ElementNode && byAttribute(c) == Hidden:
			l.view.nodes[c] = Hidden
		case c.Type == html.ElementNode:
			l.uncertain(c)
		}
	}
}

// byAttribute is what an element's name and attributes say.
func byAttribute(n *html.Node) State {
	switch n.Data {
	case "dialog":
		if !Has(n, "open") {
			return Hidden
		}
	case "progress", "meter", "annotation", "annotation-xml", "datalist", "mphantom", "mspace", "base", "basefont", "area":
		return Hidden
	case "title":
		if n.Parent == nil || n.Parent.Data != "head" {
			return Hidden
		}
	case "marquee", "maction":
		return Unknown
	case "rp":
		if len(strings.TrimSpace(textOf(n))) > 4 { // more than a parenthesis
			return Hidden
		}
	case "bdo":
		if !rightToLeft(textOf(n)) && strings.EqualFold(Attr(n, "dir"), "rtl") {
			return Unknown
		}
	}
	if Has(n, "hidden") || Has(n, "popover") || Has(n, "inert") || strings.EqualFold(strings.TrimSpace(Attr(n, "aria-hidden")), "true") {
		return Hidden
	}
	return insideShadowHost(n)
}

// insideShadowHost tells of an element that is inside one with a shadow root: only what has a slot there is shown.
func insideShadowHost(n *html.Node) State {
	if n.Parent == nil || n.Parent.Type != html.ElementNode {
		return Seen
	}
	return shadowed(n.Parent)
}

func shadowed(host *html.Node) State {
	for c := range host.ChildNodes() {
		if c.Data == "template" && (Has(c, "shadowrootmode") || Has(c, "shadowroot")) {
			return Unknown
		}
		if c.Type == html.ElementNode && c.Data != "template" {
			break
		}
	}
	return Seen
}

// closedDetails tells of what a reader opens first.
func closedDetails(parent, n *html.Node) State {
	if parent.Data != "details" || Has(parent, "open") || n.Data == "summary" && firstSummary(parent) == n {
		return Seen
	}
	return Unknown
}

func firstSummary(n *html.Node) *html.Node {
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode && c.Data == "summary" {
			return c
		}
	}
	return nil
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// rightToLeft reports whether a text is of a script that is written so.
func rightToLeft(s string) bool {
	for _, r := range s {
		if r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff {
			return true
		}
	}
	return false
}
