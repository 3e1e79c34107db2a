package visibility

import (
	"math"
	"strings"

	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// box takes in what hides an element with all that is in it.
func (c *context) box(v values, n *html.Node) {
	gone := v.any("display", "none") || v.any("content-visibility", "hidden")
	gone = gone || c.collapsed(v) || clipped(v, c) || c.offScreen(v) || c.filtered(v) || c.transformed(v)
	for _, value := range v.list["content"] { // a picture takes the place of what is in it
		_, picture := images(value, false)
		gone = gone || picture
	}
	c.gone = c.gone || gone
	c.odd = c.odd || c.overfull(v, n) || cannotJudge(v) || c.unresolved(v)
	for _, name := range []string{"display", "visibility", "content-visibility", "position", "overflow-x", "overflow-y"} {
		for _, value := range v.list[name] {
			c.odd = c.odd || len(value) > 0 && value[0].kind == css.FunctionToken // one that is not known
		}
	}
}

// unresolved reports whether a place or a size is one that a function gives which is not known.
func (c *context) unresolved(v values) bool {
	for _, name := range []string{"left", "top", "right", "bottom", "margin-left", "margin-top", "text-indent", "letter-spacing"} {
		for _, value := range v.list[name] {
			if _, ok := lengthOf(value, c.at(screenWidth)); !ok && len(value) > 0 && value[0].kind == css.FunctionToken {
				return true
			}
		}
	}
	for _, name := range []string{"width", "height", "max-width", "max-height"} {
		for _, value := range v.list[name] {
			if len(value) == 0 || value[0].kind != css.FunctionToken {
				continue
			}
			switch value[0].word {
			case "calc", "min", "max", "clamp", "fit-content", "minmax", "-webkit-calc":
			default:
				return true
			}
		}
	}
	return false
}

// cannotJudge reports what nobody can judge without drawing it.
func cannotJudge(v values) bool {
	for _, name := range []string{"mask-image", "mix-blend-mode", "offset-path"} {
		for _, value := range v.list[name] {
			if len(value) > 0 && !value[0].is("none") && !value[0].is("normal") && !value[0].is("initial") {
				return true
			}
		}
	}
	if v.any("contain", "size", "strict") { // it takes no room, whatever is in it
		return true
	}
	for _, value := range v.list["transform-origin"] { // turned around a point far away
		for _, word := range words(value) {
			if n, ok := lengthOf(word, scale{font: 16}); ok && math.Abs(n) >= -farLeft && len(v.list["transform"])+len(v.list["rotate"]) > 0 {
				return true
			}
		}
	}
	for _, value := range v.list["z-index"] {
		if a, ok := amountOf(value, scale{font: 16}); ok && a.n < 0 {
			return true
		}
	}
	return false
}

// cuts reports whether what does not fit into the box is not shown.
func cuts(v values) bool {
	for _, name := range []string{"overflow-x", "overflow-y"} {
		if v.any(name, "hidden", "clip", "auto", "scroll", "-moz-hidden-unscrollable") {
			return true
		}
	}
	return v.any("contain", "paint", "strict", "content") || v.any("position", "absolute", "fixed")
}

// narrow is the size of a box in pixels that has no room for a letter.
const narrow = 4.0

// collapsed reports whether the box has no room for a letter, and what does not fit is not shown.
func (c *context) collapsed(v values) bool {
	if !cuts(v) {
		return false
	}
	at := c.at(0)
	for _, name := range []string{"width", "height", "max-width", "max-height"} {
		for _, at := range []scale{at, c.at(screenWidth)} { // without and with percentages
			if n, ok := v.least(name, at); ok && n <= narrow {
				return true
			}
		}
	}
	if n, ok := v.least("line-height", at); ok && n <= 0 && c.font > 0 {
		return true
	}
	for _, name := range []string{"padding-top", "padding-left"} {
		if n, ok := v.most(name, c.at(screenWidth)); ok && n >= screenWidth {
			return true
		}
	}
	if flexedAway(v) {
		return true
	}
	for _, name := range []string{"grid-template-rows", "grid-template-columns"} {
		for _, value := range v.list[name] {
			if noTracks(value) {
				return true
			}
		}
	}
	return false
}

// flexedAway reports whether an element of a row has no width, and takes none.
func flexedAway(v values) bool {
	for _, value := range v.list["flex"] {
		list := words(value)
		if len(list) != 3 {
			continue
		}
		grow, ok := ratioOf(list[0])
		basis, fine := lengthOf(list[2], scale{font: 16})
		if ok && fine && grow == 0 && basis <= narrow {
			return true
		}
	}
	return false
}

// noTracks reports whether all tracks of a grid are nothing.
func noTracks(value []token) bool {
	list := words(value)
	for _, word := range list {
		if len(word) != 1 || strings.Trim(word[0].text, "0.") != "" && strings.Trim(strings.ToLower(word[0].text), "0.frpx") != "" {
			return false
		}
	}
	return len(list) > 0
}

// overfull reports whether an element has far more text than fits into a box of a fixed size that cuts off the rest.
func (c *context) overfull(v values, n *html.Node) bool {
	if !v.any("overflow-y", "hidden", "clip") && !v.any("overflow-x", "hidden", "clip") {
		return false
	}
	width, fine := v.least("width", c.at(0))
	if most, ok := v.least("max-width", c.at(0)); ok {
		width, fine = min(width, most), true
	}
	if !fine || width <= 0 {
		width = screenWidth
	}
	row := width/(max(c.font, 1)*0.45) + 1
	size := float64(len(textOf(n)))
	if v.any("white-space", "nowrap", "pre") || v.any("text-wrap", "nowrap") {
		return size > 1.5*row
	}
	for _, name := range []string{"-webkit-line-clamp", "line-clamp"} {
		if lines, ok := v.ratio(name); ok && size > 1.5*row*(lines+1) {
			return true
		}
	}
	height, ok := v.least("height", c.at(0))
	if most, fine := v.least("max-height", c.at(0)); fine {
		height, ok = min(height, most), true
	}
	if !ok || c.font <= 0 {
		return false
	}
	return size > 1.5*row*(height/(c.font*1.1)+1)
}

// positions reports whether others are placed in this element.
func (c *context) positions(v values) bool {
	return v.any("position", "absolute", "fixed", "relative", "sticky") || len(v.list["transform"]) > 0
}

// offScreen reports whether an element is moved to where no screen reaches.
func (c *context) offScreen(v values) bool {
	if v.any("position", "absolute", "fixed", "relative", "sticky") && c.placedAway(v) {
		return true
	}
	wide, high := c.at(screenWidth), c.at(screenHeight)
	for _, name := range []string{"text-indent", "margin-left", "margin-right"} {
		if n, ok := v.least(name, c.at(0)); ok && n <= farLeft {
			return true
		}
		if n, ok := v.least(name, wide); ok && n <= farLeft { // of a width that is not known
			c.odd = true
		}
		if n, ok := v.most(name, wide); ok && name != "margin-right" && n >= screenWidth {
			if n >= farRight || cuts(v) {
				return true
			}
			c.odd = true
		}
	}
	if n, ok := v.least("margin-top", high); ok && n <= farLeft {
		return true
	}
	if n, ok := v.most("margin-top", high); ok && n >= farDown {
		c.odd = true
	}
	return false
}

func (c *context) placedAway(v values) bool {
	free := !c.placed && v.any("position", "absolute", "fixed") || v.any("position", "fixed")
	for _, name := range []string{"left", "top", "right", "bottom"} {
		whole := screenWidth
		if name == "top" || name == "bottom" {
			whole = screenHeight
		}
		at := c.at(whole)
		if n, ok := v.least(name, at); ok {
			switch {
			case n <= farLeft, n <= -whole:
				return true
			case n <= -150, n <= -16 && free:
				c.odd = true
			}
		}
		n, ok := v.most(name, at)
		switch {
		case !ok:
		case whole == screenWidth && n >= farRight:
			return true
		case whole == screenWidth && n >= whole && free, n >= farDown, name == "bottom" && n >= whole && free, v.any("position", "fixed") && n >= whole:
			c.odd = true
		}
	}
	return false
}

// filtered reports whether filters leave nothing to read.
func (c *context) filtered(v values) bool {
	for _, value := range v.list["filter"] {
		for i, t := range value {
			if t.kind != css.FunctionToken {
				continue
			}
			inside := trim(value[i+1 : min(matching(value, i), len(value))])
			part, ok := ratioOf(inside)
			switch t.word {
			case "opacity":
				if c.opacity *= max(part, 0); ok && part <= faint {
					return true
				}
			case "blur":
				if n, fine := lengthOf(inside, c.at(0)); fine && n >= 3 {
					return true
				}
			case "contrast":
				if ok && part <= faint {
					return true
				}
			case "brightness", "invert":
				c.odd = c.odd || ok && (part >= 3 || part <= faint && t.word == "brightness" || part >= 0.4 && part <= 0.6)
			case "url":
				c.odd = true
			}
		}
		for _, t := range value {
			c.odd = c.odd || t.kind == css.URLToken
		}
	}
	return false
}

// transformed takes in transforms: letters that are made small, turned to their edge, or moved away.
func (c *context) transformed(v values) (gone bool) {
	for _, value := range v.list["transform"] {
		for i, t := range value {
			if t.kind != css.FunctionToken {
				continue
			}
			var args []amount
			bad := false
			for _, part := range split(value[i+1:min(matching(value, i), len(value))], css.CommaToken) {
				a, ok := amountOf(part, c.at(0))
				args, bad = append(args, a), bad || !ok
			}
			if bad {
				c.odd = true
				continue
			}
			gone = c.transform(t.word, args, v) || gone
		}
	}
	one := func(property, function string) {
		for _, value := range v.list[property] {
			var args []amount
			for _, word := range words(value) {
				if a, ok := amountOf(word, c.at(0)); ok {
					args = append(args, a)
				} else if property == "rotate" && len(word) == 1 && (word[0].is("x") || word[0].is("y")) {
					function = "rotate" + word[0].word
				}
			}
			if len(args) > 0 {
				gone = c.transform(function, args, v) || gone
			}
		}
	}
	one("translate", "translate")
	one("scale", "scale")
	one("rotate", "rotate")
	return gone
}

// transform takes in one transform function.
func (c *context) transform(name string, args []amount, v values) bool {
	at := func(i int) float64 {
		if i >= len(args) {
			return args[0].n
		}
		if args[i].unit == percent {
			return args[i].n / 100
		}
		return args[i].n
	}
	shrink := func(by ...float64) {
		for _, f := range by {
			if f = math.Abs(f); f < 1 {
				c.size *= f
				return
			}
		}
	}
	switch name {
	case "perspective": // what is behind the viewer is not drawn
		c.odd = true
	case "scale", "scale3d":
		shrink(min(math.Abs(at(0)), math.Abs(at(min(1, len(args)-1)))))
	case "scalex", "scaley":
		shrink(at(0))
	case "matrix":
		if len(args) == 6 {
			shrink(min(math.Hypot(at(0), at(1)), math.Hypot(at(2), at(3))))
			return at(4) <= farLeft || at(5) <= farLeft || at(4) >= farRight
		}
	case "matrix3d":
		c.odd = true
	case "rotatex", "rotatey", "rotate3d":
		angle := args[len(args)-1].n
		shrink(math.Cos(angle * math.Pi / 180))
		return math.Cos(angle*math.Pi/180) < 0 && v.any("backface-visibility", "hidden")
	case "skew", "skewx", "skewy":
		shrink(math.Cos(at(0) * math.Pi / 180))
	case "translatez":
		c.odd = c.odd || math.Abs(at(0)) >= -farLeft
	case "translate", "translatex", "translatey", "translate3d":
		c.odd = c.odd || name == "translate3d" && len(args) == 3 && math.Abs(at(2)) >= -farLeft
		for i, a := range args[:min(2, len(args))] {
			n := a.n
			if a.unit == percent { // of the element itself, which may be as wide as the screen
				if n /= 100; n <= -1 || n >= 1 {
					c.odd = true
				}
				if n <= -2 || n >= 5 {
					return true
				}
				continue
			}
			whole := screenWidth
			if name == "translatey" || i == 1 {
				whole = screenHeight
			}
			if n <= farLeft || n >= farRight {
				return true
			}
			c.odd = c.odd || n >= whole || n <= -150
		}
	}
	return false
}
