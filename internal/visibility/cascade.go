package visibility

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// candidate is a declaration that is about an element. The later ones in a list win.
type candidate struct {
	declaration
	holds  uint8
	unsure bool
	// layer, weight and order say which one wins; inline is the style attribute.
	layer  int
	weight weight
	order  int
	inline bool
}

// declarationsFor returns the declarations that are about an element, the winning ones last.
func (l *looker) declarationsFor(n *html.Node) []candidate {
	var list []candidate
	take := func(rules []*rule) {
		for _, r := range rules {
			t := l.match.match(&r.selector, n)
			if t == no {
				continue
			}
			for _, d := range r.declarations {
				list = append(list, candidate{d, r.holds, r.unsure || t == maybe, r.layer, r.selector.weight, r.order, false})
			}
		}
	}
	s := l.sheet
	if id := strings.ToLower(Attr(n, "id")); id != "" && len(s.byID) > 0 {
		take(s.byID[id])
	}
	if len(s.byClass) > 0 {
		for _, class := range l.match.classes(n) {
			take(s.byClass[class])
		}
	}
	take(s.byTag[strings.ToLower(n.Data)])
	take(s.rest)
	for i, d := range styleAttribute(Attr(n, "style")) {
		list = append(list, candidate{declaration: d, holds: everybody, order: i, inline: true})
	}
	slices.SortStableFunc(list, precedence)
	return list
}

// precedence orders declarations as the cascade does.
func precedence(a, b candidate) int {
	if a.important != b.important {
		return boolean(a.important) - boolean(b.important)
	}
	if a.inline != b.inline {
		return boolean(a.inline) - boolean(b.inline)
	}
	if a.layer != b.layer {
		first, second := a.layer, b.layer
		if first == 0 { // outside of all layers wins
			first = 1 << 30
		}
		if second == 0 {
			second = 1 << 30
		}
		if a.important { // among important ones, the other way round
			first, second = second, first
		}
		return cmp.Compare(first, second)
	}
	return cmp.Or(slices.Compare(a.weight[:], b.weight[:]), cmp.Compare(a.order, b.order))
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// scope are the custom properties that an element has.
type scope struct {
	above *scope
	own   []candidate
}

// find returns the value of a custom property for a viewer.
func (s *scope) find(name string, who int) ([]token, bool) {
	for ; s != nil; s = s.above {
		for _, c := range slices.Backward(s.own) {
			if c.name == name && counts(c, who) {
				return c.value, true
			}
		}
	}
	return nil, false
}

// counts reports whether a declaration counts for a viewer. For the worst, all do.
func counts(c candidate, who int) bool {
	return who == worst || !c.unsure && c.holds&(1<<who) != 0
}

// maxTokens bounds a value with its variables.
const maxTokens = 2000

// values are the properties of an element for a viewer: one value each, and for the worst all of them.
type values struct {
	list map[string][][]token
	// strange is set where a value could not be resolved.
	strange bool
}

// valuesFor resolves what is declared of an element for one viewer.
func (l *looker) valuesFor(list []candidate, vars *scope, n *html.Node, who int) values {
	v := values{}
	for _, c := range list {
		if strings.HasPrefix(c.name, "--") || !relevant[c.name] || !counts(c, who) {
			continue
		}
		left := maxTokens
		resolved, ok := l.substitute(c.value, vars, n, who, &left)
		if left <= 0 {
			v.strange = true
		}
		if !ok { // browsers take it for unset
			if inherited[c.name] {
				resolved = []token{{kind: css.IdentToken, text: "inherit", word: "inherit"}}
			} else {
				resolved = []token{{kind: css.IdentToken, text: "initial", word: "initial"}}
			}
		}
		for _, d := range expand(declaration{name: c.name, value: trim(resolved)}) {
			if !valid(d) {
				continue
			}
			if v.list == nil {
				v.list = map[string][][]token{}
			}
			switch {
			case who != worst, painted[d.name] && !c.unsure && c.holds&1 != 0:
				v.list[d.name] = [][]token{d.value}
			case !painted[d.name] || c.unsure:
				v.list[d.name] = append(v.list[d.name], d.value)
			}
		}
	}
	return v
}

// substitute puts in the values of var(), env() and attr(). It is false where one has none.
func (l *looker) substitute(value []token, vars *scope, n *html.Node, who int, left *int) ([]token, bool) {
	if *left -= len(value); *left <= 0 {
		return nil, false
	}
	simple := !slices.ContainsFunc(value, func(t token) bool {
		return t.kind == css.FunctionToken && (t.word == "var" || t.word == "env" || t.word == "attr")
	})
	if simple {
		return value, true
	}
	var out []token
	for i := 0; i < len(value); i++ {
		t := value[i]
		if t.kind != css.FunctionToken || t.word != "var" && t.word != "env" && t.word != "attr" {
			out = append(out, t)
			continue
		}
		end := min(matching(value, i), len(value))
		inside := value[i+1 : end]
		i = end
		name, fallback, given := trim(inside), []token(nil), false
		if parts := split(inside, css.CommaToken); len(parts) > 1 {
			name, fallback, given = trim(parts[0]), inside[len(parts[0])+1:], true
		}
		found, ok := l.named(t.word, name, vars, n, who)
		if !ok {
			if !given {
				return nil, false
			}
			found = fallback
		}
		resolved, ok := l.substitute(found, vars, n, who, left)
		if !ok {
			return nil, false
		}
		out = append(out, resolved...)
	}
	return out, true
}

// named is what a variable or an attribute stands for.
func (l *looker) named(function string, name []token, vars *scope, n *html.Node, who int) ([]token, bool) {
	if len(name) == 0 {
		return nil, false
	}
	switch function {
	case "attr":
		if !Has(n, name[0].word) {
			return nil, false
		}
		return tokens(Attr(n, name[0].word)), true
	case "var":
		key := unescape(name[0].text)
		if found, ok := vars.find(key, who); ok {
			return found, true
		}
		found, ok := l.sheet.initial[key]
		return found, ok
	}
	return nil, false
}

// relevant are the properties that say how text is seen.
var relevant = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields(`all display visibility content-visibility opacity filter backdrop-filter font font-size font-size-adjust font-family
		overflow overflow-x overflow-y overflow-block overflow-inline width height max-width max-height block-size inline-size max-block-size max-inline-size
		line-height clip clip-path position left top right bottom inset inset-inline inset-block inset-inline-start inset-inline-end inset-block-start inset-block-end
		text-indent margin margin-left margin-right margin-top margin-bottom margin-inline margin-inline-start margin-inline-end margin-block margin-block-start
		padding padding-left padding-top padding-inline padding-inline-start padding-block padding-block-start letter-spacing word-spacing
		transform translate scale rotate zoom perspective backface-visibility z-index color -webkit-text-fill-color -webkit-text-stroke
		-webkit-text-stroke-width text-shadow background background-color background-image background-clip -webkit-background-clip
		background-size background-repeat background-position float flex flex-basis white-space text-wrap -webkit-line-clamp line-clamp transform-origin
		-webkit-text-security content contain mask mask-image -webkit-mask -webkit-mask-image mix-blend-mode animation animation-name
		-webkit-animation -webkit-animation-name unicode-bidi direction grid-template grid-template-rows grid-template-columns color-scheme offset-path`) {
		m[name] = true
	}
	return m
}()

// inherited are those of them that an element has from the one around it.
var inherited = map[string]bool{
	"visibility": true, "font": true, "font-size": true, "font-family": true, "color": true, "-webkit-text-fill-color": true, "text-indent": true,
	"letter-spacing": true, "line-height": true, "direction": true, "-webkit-text-security": true, "font-size-adjust": true,
}

// painted are the properties of colour. A colour hides only together with another, so that one that lost against a rule which
// surely wins, or that is for other viewers, says nothing about the worst of cases.
var painted = map[string]bool{
	"color": true, "-webkit-text-fill-color": true, "background": true, "background-color": true, "background-image": true, "color-scheme": true,
}

// valid reports whether a declaration of a colour is one that browsers take: one that they drop must not win.
func valid(d declaration) bool {
	switch d.name {
	case "color", "-webkit-text-fill-color", "background-color":
		_, kind := colourOf(d.value, false)
		return kind != noColour
	case "background":
		return validBackground(d.value)
	case "color-scheme":
		for _, t := range solid(d.value) {
			if t.kind != css.IdentToken || t.is("normal") {
				return false
			}
		}
	}
	return true
}

// validBackground reads a background shorthand: known words, and at most one colour, in the last layer.
func validBackground(value []token) bool {
	layers := split(value, css.CommaToken)
	for i, layer := range layers {
		colours := 0
		for _, word := range words(layer) {
			for _, part := range cutSlash(word) {
				if _, kind := colourOf(part, false); kind != noColour {
					colours++
					continue
				}
				_, numeric := amountOf(part, scale{font: 16, root: 16})
				if !numeric && part[0].kind != css.URLToken && part[0].kind != css.FunctionToken && !backgroundWords[part[0].word] {
					return false
				}
			}
		}
		if colours > 1 || colours == 1 && i < len(layers)-1 {
			return false
		}
	}
	return true
}

// cutSlash cuts "center/cover" in two.
func cutSlash(word []token) (parts [][]token) {
	from := 0
	for i, t := range word {
		if t.delim("/") {
			if i > from {
				parts = append(parts, word[from:i])
			}
			from = i + 1
		}
	}
	if from < len(word) {
		parts = append(parts, word[from:])
	}
	return parts
}

var backgroundWords = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields(`none repeat repeat-x repeat-y no-repeat space round fixed scroll local top left right bottom center border-box
		padding-box content-box text cover contain auto inherit initial unset revert revert-layer border-area`) {
		m[name] = true
	}
	return m
}()

// sides are the four values of a shorthand such as margin.
func sides(value []token) (top, right, bottom, left []token) {
	w := words(value)
	switch len(w) {
	case 1:
		return w[0], w[0], w[0], w[0]
	case 2:
		return w[0], w[1], w[0], w[1]
	case 3:
		return w[0], w[1], w[2], w[1]
	case 4:
		return w[0], w[1], w[2], w[3]
	}
	return nil, nil, nil, nil
}

// logical are properties by the side that they are about where one reads from left to right.
var logical = map[string]string{
	"inset-inline-start": "left", "inset-inline-end": "right", "inset-block-start": "top", "inset-block-end": "bottom",
	"margin-inline-start": "margin-left", "margin-inline-end": "margin-right", "margin-block-start": "margin-top",
	"padding-inline-start": "padding-left", "padding-block-start": "padding-top", "block-size": "height", "inline-size": "width",
	"max-block-size": "max-height", "max-inline-size": "max-width", "overflow-block": "overflow-y", "overflow-inline": "overflow-x",
	"-webkit-background-clip": "background-clip", "-webkit-mask": "mask-image", "mask": "mask-image", "-webkit-mask-image": "mask-image",
	"-webkit-animation": "animation", "-webkit-animation-name": "animation-name", "-webkit-text-stroke-width": "-webkit-text-stroke",
	"grid-template": "grid-template-rows",
}

// expand takes a shorthand apart.
func expand(d declaration) []declaration {
	four := func(prefix, suffix string) []declaration {
		top, right, bottom, left := sides(d.value)
		var out []declaration
		for side, v := range map[string][]token{"top": top, "right": right, "bottom": bottom, "left": left} {
			if v != nil {
				out = append(out, declaration{name: prefix + side + suffix, value: v})
			}
		}
		return out
	}
	pair := func(first, second string) []declaration {
		w := words(d.value)
		if len(w) == 0 {
			return nil
		}
		return []declaration{{name: first, value: w[0]}, {name: second, value: w[len(w)-1]}}
	}
	switch d.name {
	case "inset":
		return four("", "")
	case "margin", "padding":
		return four(d.name+"-", "")
	case "inset-inline":
		return pair("left", "right")
	case "inset-block":
		return pair("top", "bottom")
	case "margin-inline":
		return pair("margin-left", "margin-right")
	case "margin-block":
		return pair("margin-top", "margin-bottom")
	case "padding-inline":
		return pair("padding-left", "padding-right")
	case "padding-block":
		return pair("padding-top", "padding-bottom")
	case "overflow":
		return pair("overflow-x", "overflow-y")
	case "font":
		return expandFont(d.value)
	}
	if name, ok := logical[d.name]; ok {
		d.name = name
	}
	return []declaration{d}
}

// expandFont takes the size and the family of a font shorthand.
func expandFont(value []token) []declaration {
	list := split(value, css.WhitespaceToken)
	for i, word := range list {
		if len(word) == 0 {
			continue
		}
		size := word
		for j, t := range word {
			if t.delim("/") {
				size = word[:j]
				break
			}
		}
		a, ok := amountOf(size, scale{font: 16})
		if !ok || a.unit == plain && a.n != 0 || a.unit == degrees {
			continue // a weight or a style
		}
		out := []declaration{{name: "font-size", value: size}}
		var family []token
		for _, rest := range list[i+1:] {
			family = append(append(family, token{kind: css.WhitespaceToken, text: " "}), rest...)
		}
		return append(out, declaration{name: "font-family", value: trim(family)})
	}
	return nil
}
