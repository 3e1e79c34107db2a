package visibility

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// truth is whether a selector matches: what cannot be told is maybe.
type truth int8

const (
	no truth = iota
	maybe
	yes
)

func not(t truth) truth { return yes - t }

// test is one condition about an element.
type test func(m *matcher, n *html.Node) truth

// compound are the conditions between two combinators. Combinator is the one before it: ' ', '>', '+', '~', or 0 at the start.
type compound struct {
	combinator byte
	tests      []test
	// tag, id and class are names that an element must have to match, where there are such: rules are found by them.
	tag, id, class string
}

// selector is one complex selector, its compounds from left to right.
type selector struct {
	compounds []compound
	weight    weight
	// line is set for ::first-line and ::first-letter, other for the other pseudo-elements.
	line, other bool
	// drawn is set for ::before and ::after, which may lie over the element.
	drawn bool
	// relative is set where it begins with a combinator.
	relative bool
}

// weight is the specificity: ids, classes, types.
type weight [3]int

func (w weight) add(o weight) weight { return weight{w[0] + o[0], w[1] + o[1], w[2] + o[2]} }

func heaviest(list []selector) (most weight) {
	for _, s := range list {
		if slices.Compare(s.weight[:], most[:]) > 0 {
			most = s.weight
		}
	}
	return most
}

// parser reads selectors. Parents are those of the rule around, which & stands for.
type parser struct {
	parents []selector
	// doubt is set where browsers may drop the whole rule: something in it is not known here.
	doubt bool
}

// list reads selectors between commas. Those that are none are left out, as :is() does: what hides most counts.
func (p *parser) list(toks []token, relative bool) (out []selector) {
	for _, part := range split(toks, css.CommaToken) {
		s, ok := p.selector(trim(part), relative)
		if ok {
			out = append(out, s)
		}
		p.doubt = p.doubt || !ok
	}
	return out
}

func combinatorOf(t token) byte {
	if t.kind == css.DelimToken && len(t.text) == 1 && strings.Contains(">+~", t.text) {
		return t.text[0]
	}
	return 0
}

func (p *parser) selector(toks []token, relative bool) (s selector, ok bool) {
	if len(toks) == 0 {
		return s, false
	}
	next, open := byte(0), false
	for i := 0; i < len(toks); {
		t := toks[i]
		if c := combinatorOf(t); c != 0 || t.kind == css.WhitespaceToken {
			if c == 0 && next == 0 {
				next = ' '
			} else if c != 0 {
				next = c
			}
			if len(s.compounds) == 0 {
				s.relative = true
			}
			open, i = false, i+1
			continue
		}
		if !open {
			s.compounds, open = append(s.compounds, compound{combinator: next}), true
			next = 0
		}
		used, fine := p.simple(&s, &s.compounds[len(s.compounds)-1], toks[i:])
		if !fine {
			return s, false
		}
		i += used
	}
	if len(s.compounds) == 0 || s.relative && !relative {
		return s, false
	}
	return s, true
}

// simple reads one simple selector, and returns how many tokens it took.
func (p *parser) simple(s *selector, c *compound, toks []token) (used int, ok bool) {
	t := toks[0]
	add := func(one test, w weight) { c.tests, s.weight = append(c.tests, one), s.weight.add(w) }
	switch {
	case t.kind == css.IdentToken:
		if len(toks) > 1 && toks[1].delim("|") { // a namespace: elements of any count
			p.doubt = true
			return 2, true
		}
		c.tag = t.word
		add(func(_ *matcher, n *html.Node) truth { return truthOf(strings.EqualFold(n.Data, t.word)) }, weight{0, 0, 1})
	case t.delim("*"), t.delim("|"):
	case t.delim("&"):
		parents := p.parents
		if parents == nil {
			add(isRoot, weight{0, 1, 0})
			break
		}
		add(func(m *matcher, n *html.Node) truth { return m.any(parents, n) }, heaviest(parents))
	case t.kind == css.HashToken:
		id := strings.TrimPrefix(t.word, "#")
		c.id = id
		exact := unescape(strings.TrimPrefix(t.text, "#"))
		add(func(_ *matcher, n *html.Node) truth { return named(Attr(n, "id"), exact, id) }, weight{1, 0, 0})
	case t.delim(".") && len(toks) > 1 && toks[1].kind == css.IdentToken:
		class := toks[1].word
		c.class = class
		exact := unescape(toks[1].text)
		add(func(m *matcher, n *html.Node) truth { return m.hasClass(n, exact, class) }, weight{0, 1, 0})
		return 2, true
	case t.kind == css.LeftBracketToken:
		end := matching(toks, 0)
		one, ok := attribute(solid(toks[1:min(end, len(toks))]))
		if !ok {
			return 0, false
		}
		add(one, weight{0, 1, 0})
		return min(end+1, len(toks)), true
	case t.kind == css.ColonToken:
		return p.pseudo(s, c, toks)
	default:
		return 0, false
	}
	return 1, true
}

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// named compares names. Pages without a doctype do not tell capitals apart, others do.
func named(have, exact, lower string) truth {
	switch {
	case have == exact:
		return yes
	case strings.ToLower(have) == lower:
		return maybe
	}
	return no
}

// attribute reads what stands in brackets. A value that is the same but for capitals may match: it depends on the attribute.
func attribute(toks []token) (test, bool) {
	if len(toks) > 1 && (toks[0].delim("*") || toks[0].kind == css.IdentToken && len(toks) > 2 && toks[2].kind == css.IdentToken) && toks[1].delim("|") {
		toks = toks[2:]
	} else if len(toks) > 1 && toks[0].delim("|") {
		toks = toks[1:]
	}
	if len(toks) == 0 || toks[0].kind != css.IdentToken {
		return nil, false
	}
	name := toks[0].word
	if len(toks) == 1 {
		return func(_ *matcher, n *html.Node) truth { return truthOf(Has(n, name)) }, true
	}
	if len(toks) < 3 {
		return nil, false
	}
	want := unquote(toks[2].text)
	op := toks[1].text
	folded := len(toks) > 3 && toks[3].is("i")
	return func(_ *matcher, n *html.Node) truth {
		if !Has(n, name) {
			return no
		}
		switch have := Attr(n, name); {
		case compare(have, op, want):
			return yes
		case !compare(strings.ToLower(have), op, strings.ToLower(want)):
			return no
		case folded:
			return yes
		}
		return maybe
	}, true
}

func compare(have, op, want string) bool {
	switch op {
	case "=":
		return have == want
	case "~=":
		return slices.Contains(strings.Fields(have), want)
	case "|=":
		return have == want || strings.HasPrefix(have, want+"-")
	case "^=":
		return want != "" && strings.HasPrefix(have, want)
	case "$=":
		return want != "" && strings.HasSuffix(have, want)
	case "*=":
		return want != "" && strings.Contains(have, want)
	}
	return false
}

// atRest are the pseudo-classes that are false of a page that nobody touched yet, and whether they are of no element at all.
var atRest = map[string]bool{
	"hover": true, "active": true, "focus": true, "focus-within": true, "focus-visible": true, "visited": true, "target": true, "target-within": true,
	"fullscreen": true, "modal": true, "popover-open": true, "picture-in-picture": true, "autofill": true, "-webkit-autofill": true, "user-invalid": true,
	"user-valid": true, "current": true, "past": true, "future": true, "playing": true, "seeking": true, "buffering": true, "stalled": true,
	"muted": true, "volume-locked": true, "host": true, "host-context": true, "state": true, "xr-overlay": true, "active-view-transition": true,
}

var plainClasses = map[string]test{
	"root":             isRoot,
	"scope":            isRoot,
	"link":             isLink,
	"any-link":         isLink,
	"-webkit-any-link": isLink,
	"defined":          func(_ *matcher, n *html.Node) truth { return truthOf(!strings.Contains(n.Data, "-")) },
	"empty":            func(_ *matcher, n *html.Node) truth { return truthOf(n.FirstChild == nil) },
	"first-child":      func(_ *matcher, n *html.Node) truth { return truthOf(sibling(n, -1, false) == nil) },
	"last-child":       func(_ *matcher, n *html.Node) truth { return truthOf(sibling(n, 1, false) == nil) },
	"first-of-type":    func(_ *matcher, n *html.Node) truth { return truthOf(sibling(n, -1, true) == nil) },
	"last-of-type":     func(_ *matcher, n *html.Node) truth { return truthOf(sibling(n, 1, true) == nil) },
	"only-child": func(_ *matcher, n *html.Node) truth {
		return truthOf(sibling(n, -1, false) == nil && sibling(n, 1, false) == nil)
	},
	"only-of-type": func(_ *matcher, n *html.Node) truth {
		return truthOf(sibling(n, -1, true) == nil && sibling(n, 1, true) == nil)
	},
	"checked": func(_ *matcher, n *html.Node) truth { return truthOf(Has(n, "checked") || Has(n, "selected")) },
	"open":    func(_ *matcher, n *html.Node) truth { return truthOf(Has(n, "open")) },
}

func isRoot(_ *matcher, n *html.Node) truth {
	return truthOf(n.Parent == nil || n.Parent.Type == html.DocumentNode)
}

func isLink(_ *matcher, n *html.Node) truth {
	return truthOf((n.Data == "a" || n.Data == "area") && Has(n, "href"))
}

// pseudo reads a pseudo-class or pseudo-element.
func (p *parser) pseudo(s *selector, c *compound, toks []token) (used int, ok bool) {
	if len(toks) < 2 {
		return 0, false
	}
	element := toks[1].kind == css.ColonToken
	at := 1
	if element {
		at = 2
	}
	if len(toks) <= at || toks[at].kind != css.IdentToken && toks[at].kind != css.FunctionToken {
		return 0, false
	}
	name, end, inside := toks[at].word, at, []token(nil)
	if toks[at].kind == css.FunctionToken {
		end = min(matching(toks, at), len(toks)-1)
		inside = toks[at+1 : max(end, at+1)]
	}
	switch name {
	case "first-line", "first-letter":
		s.line = true
		return end + 1, true
	case "before", "after":
		s.other, s.drawn = true, true
		return end + 1, true
	}
	if element {
		s.other, p.doubt = true, true
		return end + 1, true
	}
	one, w := p.class(name, toks[at].kind == css.FunctionToken, inside)
	c.tests, s.weight = append(c.tests, one), s.weight.add(w)
	return end + 1, true
}

// class is the condition of a pseudo-class. One that is not known may match.
func (p *parser) class(name string, function bool, inside []token) (test, weight) {
	usual := weight{0, 1, 0}
	if parents := p.parents; name == "scope" && parents != nil {
		return func(m *matcher, n *html.Node) truth { return max(isRoot(m, n), m.any(parents, n)) }, usual
	}
	if one, ok := plainClasses[name]; ok && !function {
		return one, usual
	}
	if atRest[name] {
		return func(*matcher, *html.Node) truth { return no }, usual
	}
	if !function {
		p.doubt = true
		return func(*matcher, *html.Node) truth { return maybe }, usual
	}
	switch name {
	case "is", "where", "matches", "-webkit-any", "-moz-any":
		list := p.list(inside, false)
		w := heaviest(list)
		if name == "where" {
			w = weight{}
		}
		return func(m *matcher, n *html.Node) truth { return m.any(list, n) }, w
	case "not":
		list := p.list(inside, false)
		return func(m *matcher, n *html.Node) truth { return not(m.any(list, n)) }, heaviest(list)
	case "has":
		list := p.list(inside, true)
		return func(m *matcher, n *html.Node) truth { return m.has(list, n) }, heaviest(list)
	case "nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type":
		one, of := p.nth(name, inside)
		return one, usual.add(of)
	case "lang":
		return langTest(inside), usual
	case "dir":
		want := ""
		if list := solid(inside); len(list) > 0 {
			want = list[0].word
		}
		return func(_ *matcher, n *html.Node) truth { return truthOf(want == directionOf(n)) }, usual
	}
	p.doubt = true
	return func(*matcher, *html.Node) truth { return maybe }, usual
}

func langTest(inside []token) test {
	var wanted []string
	for _, t := range solid(inside) {
		if t.kind == css.IdentToken || t.kind == css.StringToken {
			wanted = append(wanted, strings.ToLower(unquote(t.text)))
		}
	}
	return func(_ *matcher, n *html.Node) truth {
		for ; n != nil; n = n.Parent {
			if lang := strings.ToLower(Attr(n, "lang")); lang != "" {
				return truthOf(slices.ContainsFunc(wanted, func(want string) bool { return compare(lang, "|=", want) }))
			}
		}
		return no
	}
}

func directionOf(n *html.Node) string {
	for ; n != nil; n = n.Parent {
		if dir := strings.ToLower(Attr(n, "dir")); dir == "rtl" || dir == "ltr" {
			return dir
		}
	}
	return "ltr"
}

// nth reads an+b, with "of" a selector, and returns what that one weighs.
func (p *parser) nth(name string, inside []token) (test, weight) {
	formula, of := inside, []selector(nil)
	for i, t := range inside {
		if t.is("of") {
			formula, of = inside[:i], p.list(inside[i+1:], false)
			break
		}
	}
	var text strings.Builder
	for _, t := range solid(formula) {
		text.WriteString(strings.ToLower(t.text))
	}
	a, b, ok := anPlusB(text.String())
	step, typed := -1, strings.HasSuffix(name, "type")
	if strings.Contains(name, "last") {
		step = 1
	}
	return func(m *matcher, n *html.Node) truth {
		if !ok {
			return maybe
		}
		if of != nil && m.any(of, n) == no {
			return no
		}
		at := 1
		for s := sibling(n, step, typed); s != nil; s = sibling(s, step, typed) {
			m.spend(1)
			if of == nil || m.any(of, s) != no {
				at++
			}
		}
		if a == 0 {
			return truthOf(at == b)
		}
		return truthOf((at-b)%a == 0 && (at-b)/a >= 0)
	}, heaviest(of)
}

func anPlusB(s string) (a, b int, ok bool) {
	switch s {
	case "odd":
		return 2, 1, true
	case "even":
		return 2, 0, true
	}
	before, after, found := strings.Cut(s, "n")
	if !found {
		b, err := strconv.Atoi(s)
		return 0, b, err == nil
	}
	switch before {
	case "", "+":
		a = 1
	case "-":
		a = -1
	default:
		n, err := strconv.Atoi(before)
		if err != nil {
			return 0, 0, false
		}
		a = n
	}
	if after == "" {
		return a, 0, true
	}
	b, err := strconv.Atoi(after)
	return a, b, err == nil
}

// sibling is the next element before (-1) or after (1) n, of its own type where typed.
func sibling(n *html.Node, step int, typed bool) *html.Node {
	for s := n; ; {
		if step < 0 {
			s = s.PrevSibling
		} else {
			s = s.NextSibling
		}
		if s == nil || s.Type == html.ElementNode && (!typed || s.Data == n.Data) {
			return s
		}
	}
}
