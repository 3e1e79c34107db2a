package visibility

import (
	"strings"

	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// rule is a style rule of the page.
type rule struct {
	selector     selector
	declarations []declaration
	// holds is for which viewers it counts. Unsure is set where that cannot be told.
	holds  uint8
	unsure bool
	// layer is the number of its layer, from 1; 0 is outside of all.
	layer, order int
}

// sheet is all the rules of a page, found by the names that an element must have.
type sheet struct {
	byID, byClass, byTag map[string][]*rule
	rest                 []*rule
	count, bytes         int
	layers               map[string]int
	frames               map[string]*frames
	initial              map[string][]token
	// flat are the fonts whose letters have no size.
	flat map[string]bool
	// covers are the rules of ::before and ::after that draw something over an element.
	covers []*rule
	// split is set where some rules hold for some viewers only; elsewhere where there are sheets that are not in the page;
	// beyond where the page has more than is read.
	split, elsewhere, beyond bool
}

const (
	// maxBytes and maxRules bound what is read of the styles of a page. A page with more is marked as a whole.
	maxBytes = 4 << 20
	maxRules = 60_000
	// maxImports bounds sheets in sheets.
	maxImports = 5
	// maxCovers bounds the rules of what is drawn over elements, each of which is held against each element.
	maxCovers = 200
)

// place is where a rule stands.
type place struct {
	parents []selector
	nested  bool
	// scoped are the roots of the scope around.
	scoped  []selector
	holds   uint8
	unsure  bool
	layer   string
	imports int
	// top is set at the start of a sheet, where alone it may import others.
	top bool
}

func newSheet() *sheet {
	return &sheet{
		byID: map[string][]*rule{}, byClass: map[string][]*rule{}, byTag: map[string][]*rule{}, layers: map[string]int{},
		frames: map[string]*frames{}, initial: map[string][]token{}, flat: map[string]bool{},
	}
}

// readSheet reads the style elements and the sheets that are in addresses of a document.
func readSheet(doc *html.Node) *sheet {
	s := newSheet()
	s.collect(doc)
	s.markUncertain()
	return s
}

func (s *sheet) collect(n *html.Node) {
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode {
			continue
		}
		holds, unsure := uint8(0), false
		if c.Data == "style" || c.Data == "link" {
			holds, unsure = media(tokens(Attr(c, "media")))
		}
		applies := holds != 0 || unsure
		kind := strings.ToLower(strings.TrimSpace(Attr(c, "type")))
		applies = applies && (kind == "" || kind == "text/css")
		at := place{holds: holds, unsure: unsure || Has(c, "title"), top: true} // of sheets with titles, one is chosen
		switch c.Data {
		case "template", "noscript":
			continue // they do not apply
		case "style":
			if applies {
				s.read(text(c), at)
			}
			continue
		case "link":
			rel := " " + strings.Join(strings.Fields(strings.ToLower(Attr(c, "rel"))), " ") + " "
			if !applies || !strings.Contains(rel, " stylesheet ") || strings.Contains(rel, " alternate ") || Has(c, "disabled") {
				continue
			}
			s.linked(Attr(c, "href"), at)
			continue
		}
		s.collect(c)
	}
}

func text(n *html.Node) string {
	var b strings.Builder
	for c := range n.ChildNodes() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// linked reads a sheet that is in its address, and notes one that is not.
func (s *sheet) linked(address string, at place) {
	source, typed, ok := dataSheet(address)
	at.unsure, at.top = at.unsure || !typed, true
	if !ok {
		s.elsewhere = s.elsewhere || strings.TrimSpace(address) != ""
		return
	}
	if at.imports++; at.imports > maxImports {
		s.beyond = true
		return
	}
	s.read(source, at)
}

func (s *sheet) read(source string, at place) {
	if s.bytes += len(source); s.bytes > maxBytes {
		s.beyond = true
		return
	}
	r := &reader{}
	b := r.block(tokens(source), 0)
	s.beyond = s.beyond || r.deep
	s.add(b, at)
}

// add takes the rules of a block. Declarations that stand in it are those of the rule around.
func (s *sheet) add(b *block, at place) {
	if (at.nested || at.scoped != nil) && len(b.declarations) > 0 {
		for _, parent := range at.parents {
			s.rule(parent, b.declarations, at)
		}
	}
	for _, st := range b.rules {
		switch {
		case st.loose:
			s.add(&block{declarations: st.body.declarations}, at)
		case st.at != "":
			s.atRule(st, at)
			at.top = at.top && (st.at == "@import" || st.at == "@charset" || st.at == "@layer" && st.body == nil)
		case st.body != nil:
			s.style(st, at)
			at.top = false
		}
	}
}

// style takes a rule with selectors, and the rules in it.
func (s *sheet) style(st statement, at place) {
	p := &parser{parents: at.parents}
	var list []selector
	for _, part := range split(st.prelude, css.CommaToken) {
		part = trim(part)
		if at.nested && !mentions(part, "&") {
			part = append([]token{{kind: css.DelimToken, text: "&"}, {kind: css.WhitespaceToken, text: " "}}, part...)
		}
		one, ok := p.selector(part, false)
		if !ok {
			p.doubt = true
			continue
		}
		list = append(list, s.within(one, at)...)
	}
	if len(list) == 0 {
		return
	}
	inner := at
	inner.parents, inner.nested, inner.scoped, inner.top = list, true, nil, false
	inner.unsure = at.unsure || p.doubt || at.scoped != nil
	s.add(st.body, inner)
}

// within narrows a selector to the scope around it: to what is below a root of it, and to the root itself.
func (s *sheet) within(one selector, at place) []selector {
	if at.scoped == nil {
		return []selector{one}
	}
	roots := at.scoped
	last := len(one.compounds) - 1
	narrowed := one
	narrowed.compounds = append([]compound(nil), one.compounds...)
	narrowed.compounds[last].tests = append([]test{func(m *matcher, n *html.Node) truth {
		for ; n != nil && n.Type == html.ElementNode; n = n.Parent {
			if t := m.any(roots, n); t != no {
				return t
			}
		}
		return no
	}}, one.compounds[last].tests...)
	return []selector{narrowed}
}

func mentions(list []token, delim string) bool {
	for _, t := range list {
		if t.delim(delim) {
			return true
		}
	}
	return false
}

func (s *sheet) atRule(st statement, at place) {
	inner := at
	inner.top = false
	switch strings.TrimPrefix(st.at, "@") {
	case "import":
		s.imported(st.prelude, at)
		return
	case "media":
		holds, unsure := media(st.prelude)
		inner.holds, inner.unsure = at.holds&holds, at.unsure || unsure
	case "supports":
		inner.unsure = at.unsure || supportsUnsure(st.prelude)
	case "container", "-moz-document", "when", "else":
		inner.unsure = true
	case "scope":
		s.scope(st, &inner)
	case "layer":
		if st.body == nil {
			for _, part := range split(st.prelude, css.CommaToken) {
				s.layer(at.layer, part)
			}
			return
		}
		inner.layer = s.layer(at.layer, st.prelude)
	case "keyframes", "-webkit-keyframes", "-moz-keyframes":
		s.keyframes(st)
		return
	case "font-face":
		s.fontFace(st)
		return
	case "property":
		s.property(st)
		return
	case "charset", "namespace", "page", "counter-style", "font-feature-values", "font-palette-values", "starting-style", "view-transition",
		"position-try", "color-profile", "viewport", "-ms-viewport", "function", "custom-media", "tailwind", "apply":
		return
	default:
		inner.unsure = true
	}
	if st.body != nil && (inner.holds != 0 || inner.unsure) {
		s.add(st.body, inner)
	}
}

// supportsUnsure reports whether a condition about the browser is one that browsers may not meet.
func supportsUnsure(list []token) bool {
	for _, t := range list {
		if t.is("not") || t.is("or") {
			return true
		}
	}
	return false
}

func (s *sheet) scope(st statement, inner *place) {
	list := trim(st.prelude)
	if len(list) == 0 || list[0].kind != css.LeftParenthesisToken {
		inner.unsure = true
		return
	}
	end := min(matching(list, 0), len(list)-1)
	inner.scoped = (&parser{parents: inner.parents}).list(list[1:end], false)
	inner.parents, inner.nested = inner.scoped, false
	inner.unsure = inner.unsure || len(trim(list[end+1:])) > 0 || len(inner.scoped) == 0
}

// layer returns the full name of a layer, which is numbered by where it is named first.
func (s *sheet) layer(around string, name []token) string {
	var b strings.Builder
	for _, t := range solid(name) {
		b.WriteString(strings.ReplaceAll(t.text, ".", "/"))
	}
	full := around + "/" + b.String()
	if b.Len() == 0 {
		full = around + "/" + strings.Repeat("*", len(s.layers)+1) // one of its own
	}
	if _, ok := s.layers[full]; !ok {
		s.layers[full] = len(s.layers) + 1
	}
	return full
}

func (s *sheet) imported(prelude []token, at place) {
	if len(prelude) == 0 {
		return
	}
	at.unsure = at.unsure || !at.top
	where := address(prelude[0], prelude[1:])
	rest := prelude[1:]
	if prelude[0].kind == css.FunctionToken {
		rest = prelude[min(matching(prelude, 0)+1, len(prelude)):]
	}
	var query []token
	for _, word := range words(rest) {
		switch {
		case word[0].word == "layer":
			at.layer = s.layer(at.layer, word[1:])
		case word[0].kind == css.FunctionToken:
			at.unsure = true
		default:
			query = append(append(query, token{kind: css.WhitespaceToken, text: " "}), word...)
		}
	}
	holds, unsure := media(query)
	at.holds, at.unsure = at.holds&holds, at.unsure || unsure
	if at.holds != 0 || at.unsure {
		s.linked(where, at)
	}
}

// fontFace notes a font whose letters are made so small that nobody reads them.
func (s *sheet) fontFace(st statement) {
	if st.body == nil {
		return
	}
	name, flat := "", false
	for _, d := range st.body.declarations {
		switch d.name {
		case "font-family":
			name = familyName(d.value)
		case "size-adjust":
			part, ok := ratioOf(d.value)
			flat = ok && part < 0.25
		}
	}
	if flat {
		s.flat[name] = true
	}
}

func familyName(value []token) string {
	var b strings.Builder
	for _, t := range solid(value) {
		b.WriteString(strings.ToLower(unquote(t.text)))
	}
	return b.String()
}

func (s *sheet) property(st statement) {
	if st.body == nil || len(st.prelude) == 0 {
		return
	}
	for _, d := range st.body.declarations {
		if d.name == "initial-value" {
			s.initial[unescape(st.prelude[0].text)] = d.value
		}
	}
}

// rule keeps a rule, where it says something of how text is seen.
func (s *sheet) rule(one selector, declarations []declaration, at place) {
	var kept []declaration
	for _, d := range declarations {
		if relevant[d.name] || strings.HasPrefix(d.name, "--") {
			kept = append(kept, d)
		}
	}
	if len(kept) == 0 || one.other && !one.drawn {
		return
	}
	if s.count++; s.count > maxRules {
		s.beyond = true
		return
	}
	r := &rule{
		selector: one, declarations: kept, holds: at.holds, unsure: at.unsure || one.line, layer: s.layers[at.layer], order: s.count,
	}
	if one.drawn {
		if len(s.covers) < maxCovers && draws(kept) {
			s.covers = append(s.covers, r)
		}
		return
	}
	s.split = s.split || at.holds != everybody
	switch last := one.compounds[len(one.compounds)-1]; {
	case last.id != "":
		s.byID[last.id] = append(s.byID[last.id], r)
	case last.class != "":
		s.byClass[last.class] = append(s.byClass[last.class], r)
	case last.tag != "":
		s.byTag[last.tag] = append(s.byTag[last.tag], r)
	default:
		s.rest = append(s.rest, r)
	}
}

// draws reports whether declarations place something with a background over others.
func draws(list []declaration) bool {
	placed, painted := false, false
	for _, d := range list {
		placed = placed || d.name == "position"
		painted = painted || strings.HasPrefix(d.name, "background")
	}
	return placed && painted
}

// markUncertain makes rules in layers unsure where there are several: which one wins is not followed.
func (s *sheet) markUncertain() {
	if len(s.layers) < 2 {
		return
	}
	for _, rules := range []map[string][]*rule{s.byID, s.byClass, s.byTag, {"": s.rest}} {
		for _, list := range rules {
			for _, r := range list {
				r.unsure = r.unsure || r.layer != 0
			}
		}
	}
}
