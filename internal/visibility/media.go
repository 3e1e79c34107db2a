package visibility

import (
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2/css"
)

// viewer is somebody who looks at a page.
type viewer struct {
	width, height float64
	dark          bool
}

// viewers are those that a page is judged for. What the first one does not see is hidden; what only another one does not see
// is of unknown visibility. Telephones and printers are not among them: a page that leaves something out there shows it here.
var viewers = []viewer{
	{screenWidth, screenHeight, false}, {1920, 1080, false}, {2560, 1440, false}, {screenWidth, screenHeight, true},
}

// worst is the viewer for whom everything holds that holds for anybody, and all that cannot be told.
var worst = len(viewers)

// everybody is the set of all viewers.
const everybody = 1<<4 - 1

// media evaluates a list of media queries for each viewer: for whom it holds, and whether that cannot be told.
func media(list []token) (holds uint8, unsure bool) {
	if len(trim(list)) == 0 {
		return everybody, false
	}
	for i, v := range viewers {
		best := no
		for _, query := range split(list, css.CommaToken) {
			best = max(best, v.query(trim(query)))
		}
		switch best {
		case yes:
			holds |= 1 << i
		case maybe:
			unsure = true
		}
	}
	return holds, unsure
}

// query evaluates one media query.
func (v viewer) query(list []token) truth {
	list = trim(list)
	if len(list) == 0 {
		return yes
	}
	if list[0].is("only") {
		return v.query(list[1:])
	}
	if rest := trim(list[1:]); list[0].is("not") && len(rest) > 0 && rest[0].kind == css.IdentToken {
		return not(v.query(rest))
	}
	return v.condition(list, 0)
}

// condition evaluates terms that are joined by and, or.
func (v viewer) condition(list []token, level int) truth {
	total, by := yes, "and"
	for first := true; ; first = false {
		list = trimLeft(list)
		negate := false
		for len(list) > 0 && list[0].is("not") {
			negate, list = !negate, trimLeft(list[1:])
		}
		if len(list) == 0 || level > maxNesting {
			return maybe
		}
		var one truth
		switch list[0].kind {
		case css.IdentToken:
			one, list = mediaType(list[0].word), list[1:]
		case css.LeftParenthesisToken, css.FunctionToken:
			end := min(matching(list, 0), len(list)-1)
			one = maybe
			if list[0].kind == css.LeftParenthesisToken {
				one = v.parenthesis(list[1:end], level)
			}
			list = list[end+1:]
		default:
			return maybe
		}
		if negate {
			one = not(one)
		}
		switch {
		case first:
			total = one
		case by == "or":
			total = max(total, one)
		default:
			total = min(total, one)
		}
		if list = trimLeft(list); len(list) == 0 {
			return total
		}
		by, list = list[0].word, list[1:]
	}
}

func mediaType(name string) truth {
	switch name {
	case "all", "screen":
		return yes
	case "print", "speech", "aural", "braille", "embossed", "handheld", "projection", "tty", "tv":
		return no
	}
	return no // browsers take an unknown type for none
}

func (v viewer) parenthesis(list []token, level int) truth {
	list = trim(list)
	if len(list) > 0 && (list[0].kind == css.LeftParenthesisToken || list[0].is("not")) {
		return v.condition(list, level+1)
	}
	if parts := split(list, css.ColonToken); len(parts) == 2 {
		name := trim(parts[0])
		if len(name) != 1 {
			return maybe
		}
		return v.feature(name[0].word, trim(parts[1]))
	}
	return v.ranged(list)
}

// ranged evaluates "width > 10px", "10px < width <= 20px" and "hover".
func (v viewer) ranged(list []token) truth {
	var parts [][]token
	var ops []string
	from := 0
	for i, t := range list {
		if t.delim("<") || t.delim(">") || t.delim("=") {
			if i > 0 && t.delim("=") && len(ops) > 0 && from == i { // the second half of <=
				ops[len(ops)-1] += "="
				from = i + 1
				continue
			}
			parts, ops, from = append(parts, trim(list[from:i])), append(ops, t.text), i+1
		}
	}
	parts = append(parts, trim(list[from:]))
	if len(ops) == 0 {
		if len(list) == 1 {
			return v.bare(list[0].word)
		}
		return maybe
	}
	result := yes
	for i, op := range ops {
		a, okA := v.side(parts[i])
		b, okB := v.side(parts[i+1])
		if !okA || !okB {
			return maybe
		}
		holds := map[string]bool{"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "=": a == b}[op]
		result = min(result, truthOf(holds))
	}
	return result
}

func (v viewer) side(list []token) (float64, bool) {
	if len(list) == 1 && list[0].kind == css.IdentToken {
		return v.size(list[0].word)
	}
	return lengthOf(list, scale{font: 16})
}

func (v viewer) size(name string) (float64, bool) {
	switch name {
	case "width", "device-width", "inline-size":
		return v.width, true
	case "height", "device-height", "block-size":
		return v.height, true
	}
	return 0, false
}

func (v viewer) bare(name string) truth {
	switch name {
	case "monochrome", "grid", "color-index", "inverted-colors", "forced-colors", "prefers-reduced-motion", "prefers-contrast", "prefers-reduced-data":
		return no
	case "width", "height", "color", "hover", "pointer", "any-hover", "any-pointer", "scripting", "update", "resolution":
		return yes
	}
	return maybe
}

// features are the answers of a usual screen, where a feature has words for values.
var features = map[string][]string{
	"orientation": {"landscape"}, "hover": {"hover"}, "any-hover": {"hover"}, "pointer": {"fine"}, "any-pointer": {"fine"}, "scripting": {"enabled"},
	"prefers-reduced-motion": {"no-preference"}, "prefers-contrast": {"no-preference"}, "forced-colors": {"none"}, "inverted-colors": {"none"},
	"display-mode": {"browser"}, "update": {"fast"}, "color-gamut": {"srgb"}, "prefers-reduced-transparency": {"no-preference"},
	"prefers-reduced-data": {"no-preference"}, "overflow-block": {"scroll"}, "overflow-inline": {"scroll"}, "scan": {"progressive"},
}

func (v viewer) feature(name string, value []token) truth {
	if name == "prefers-color-scheme" && len(value) == 1 {
		return truthOf(value[0].is("dark") == v.dark && (value[0].is("dark") || value[0].is("light")))
	}
	if answers, ok := features[name]; ok && len(value) == 1 {
		return truthOf(slices.Contains(answers, value[0].word))
	}
	bound, least := strings.CutPrefix(name, "min-")
	if !least {
		bound, _ = strings.CutPrefix(name, "max-")
	}
	size, ok := v.size(bound)
	want, fine := lengthOf(value, scale{font: 16})
	switch {
	case !ok || !fine:
		return maybe
	case least:
		return truthOf(size >= want)
	case bound != name:
		return truthOf(size <= want)
	}
	return truthOf(size == want)
}
