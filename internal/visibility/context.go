package visibility

import (
	"math"
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

const (
	// faint is the opacity, and unreadable the size of letters in pixels, that nobody reads.
	faint      = 0.1
	unreadable = 5.0
	// farLeft and farRight are places that no screen reaches, farDown one that few scroll to.
	farLeft, farRight, farDown = -500.0, 3000.0, 10_000.0
)

// context is how text at some place looks to one viewer.
type context struct {
	// font is the size of letters in pixels, size by how much they are scaled.
	font, size, opacity float64
	// root is the size of the font of the page.
	root float64
	// text is the colour of letters, fill what overrides it.
	text, fill      colour
	filled, unknown bool
	// behind are the colours that text is on, one but for gradients; picture is set where it is on something that is not known.
	behind  []colour
	picture bool
	// past are the colours behind those; shaky is set where it is not sure that the text is on behind and not on one of them.
	past         []colour
	shaky, spans bool
	// outlined is set where letters are seen by their edges or shadows, whatever their colour.
	outlined bool
	// invisible is visibility: hidden; blank is a font, or letters, that show nothing.
	invisible, blank bool
	// placed is set inside of an element that others are placed in.
	placed bool
	// dark is set where the page says that it is.
	dark, elsewhere bool

	// gone is set where an element is not shown at all, odd where that cannot be told.
	gone, odd bool
}

// unread is whether text with this look is read.
func (c *context) unread() State {
	if c.invisible || c.blank || c.opacity <= faint || c.font*c.size < unreadable {
		return Hidden
	}
	if c.unknown || c.picture {
		return Unknown
	}
	ink := c.text
	if c.filled {
		ink = c.fill
	}
	ink.alpha *= c.opacity
	for _, behind := range c.behind {
		if !ink.unreadableOn(behind) {
			if c.shaky && slices.ContainsFunc(c.past, ink.unreadableOn) {
				return Unknown
			}
			return Seen
		}
	}
	if c.outlined || c.elsewhere && ink.alpha > faint {
		return Unknown
	}
	return Hidden
}

// enter takes in what is declared of an element.
func (c *context) enter(l *looker, n *html.Node, v values, who int) {
	c.gone, c.odd = false, v.strange
	around := *c
	c.hints(n)
	c.fontSize(v)
	if n.Data == "html" {
		c.root = c.font
	}
	c.shaky = c.shaky || c.spans && blocks[n.Data] || mayMove(v)
	if len(v.list) > 0 {
		c.letters(l, v)
		c.scheme(v.any("color-scheme", "dark"), v.any("color-scheme", "light"), n.Data == "html", who)
		c.colours(v, &around, n)
		c.box(v, n)
		c.animated(l, v)
		if c.positions(v) {
			c.placed = true
		}
	}
	if shadowed(n) == Unknown {
		c.unknown = true
	}
}

// at is what lengths depend on here, where a percentage is of whole.
func (c *context) at(whole float64) scale { return scale{c.font, whole, c.root} }

// any reports whether a value of a property is one of these words.
func (v values) any(name string, wanted ...string) bool {
	for _, value := range v.list[name] {
		for _, t := range value {
			for _, w := range wanted {
				if t.is(w) {
					return true
				}
			}
		}
	}
	return false
}

// least is the smallest length of a property; ok is false where none is known.
func (v values) least(name string, at scale) (n float64, ok bool) {
	n = math.Inf(1)
	for _, value := range v.list[name] {
		if l, fine := lengthOf(value, at); fine {
			n, ok = min(n, l), true
		}
	}
	return n, ok
}

func (v values) most(name string, at scale) (n float64, ok bool) {
	n = math.Inf(-1)
	for _, value := range v.list[name] {
		if l, fine := lengthOf(value, at); fine {
			n, ok = max(n, l), true
		}
	}
	return n, ok
}

// fontSize takes in the size of letters. Percentages and em are of the size around.
func (c *context) fontSize(v values) {
	around := c.font
	smallest, set := math.Inf(1), false
	for _, value := range v.list["font-size"] {
		size, ok := lengthOf(value, scale{around, around, c.root})
		if len(value) == 1 && value[0].kind == css.IdentToken {
			switch value[0].word {
			case "smaller":
				size, ok = around*0.83, true
			case "larger":
				size, ok = around*1.2, true
			case "inherit", "unset":
				size, ok = around, true
			default: // medium, x-small and their like can be read
				size, ok = 16, true
			}
		}
		if !ok {
			c.odd = true
			continue
		}
		smallest, set = min(smallest, max(size, 0)), true
	}
	if set {
		c.font = smallest
	}
	if zoom, ok := v.ratio("zoom"); ok && zoom > 0 {
		c.size *= zoom
	}
	if part, ok := v.ratio("opacity"); ok {
		c.opacity *= min(max(part, 0), 1)
	} else if len(v.list["opacity"]) > 0 && !v.any("opacity", "initial", "unset", "revert") && !(v.any("opacity", "inherit") && c.opacity == 1) {
		c.odd = true
	}
}

// ratio is the smallest value of a property that is a number or a percentage.
func (v values) ratio(name string) (n float64, ok bool) {
	n = math.Inf(1)
	for _, value := range v.list[name] {
		if part, fine := ratioOf(value); fine {
			n, ok = min(n, part), true
		}
	}
	return n, ok
}

// letters takes in what makes letters blank.
func (c *context) letters(l *looker, v values) {
	switch {
	case v.any("visibility", "hidden", "collapse"):
		c.invisible = true
	case v.any("visibility", "visible", "initial"):
		c.invisible = false
	}
	if list, ok := v.list["font-family"]; ok {
		c.blank = false
		for _, value := range list {
			family := split(value, css.CommaToken)
			c.blank = c.blank || l.sheet.flat[familyName(family[0])]
		}
	}
	if adjust, ok := v.ratio("font-size-adjust"); ok && adjust < 0.1 {
		c.blank = true
	}
	if v.any("-webkit-text-security", "disc", "circle", "square") {
		c.blank = true
	}
	if spacing, ok := v.least("letter-spacing", c.at(0)); ok && spacing < -0.4*c.font {
		c.blank = true
	}
	if v.any("unicode-bidi", "bidi-override", "isolate-override") && v.any("direction", "rtl") {
		c.unknown = true
	}
	for _, value := range v.list["text-shadow"] {
		c.outlined = len(value) > 0 && !value[0].is("none")
	}
	for _, value := range v.list["-webkit-text-stroke"] {
		for _, word := range words(value) {
			if n, ok := lengthOf(word, c.at(0)); ok {
				c.outlined = n > 0
				c.unknown = c.unknown || n > c.font/4 // it may be drawn over the letters
			}
		}
	}
}

// scheme takes in color-scheme: where the page follows the viewer's, the colours that it leaves open are other ones.
func (c *context) scheme(dark, light, root bool, who int) {
	if c.dark || !dark || light && !(who < len(viewers) && viewers[who].dark) {
		return
	}
	c.dark = true
	if root && len(c.behind) == 1 && c.behind[0] == white && c.text == black {
		canvas, _ := namedColour("canvas", true)
		c.behind, c.text = []colour{canvas}, white
	}
}

// hints takes in the colours that attributes of old HTML and the browser itself give.
func (c *context) hints(n *html.Node) {
	set := func(name string) {
		if ink, kind := legacyColour(Attr(n, name)); kind == aColour {
			c.text = ink
		}
	}
	if n.Namespace == "math" {
		set("mathcolor")
		c.odd = c.odd || Has(n, "mathsize") || Has(n, "mathbackground")
	}
	switch n.Data {
	case "font", "basefont":
		set("color")
	case "body":
		set("text")
	case "a":
		if Has(n, "href") {
			c.text = linkBlue
			for p := n.Parent; p != nil; p = p.Parent {
				if p.Data == "body" && Has(p, "link") {
					if ink, kind := legacyColour(Attr(p, "link")); kind == aColour {
						c.text = ink
					}
				}
			}
		}
	case "mark":
		c.text, c.behind = black, []colour{{Color: colourMark.Color, alpha: 1}}
	case "button":
		c.text, c.behind, c.picture = black, []colour{colourButton}, false
	}
	switch n.Data {
	case "body", "table", "thead", "tbody", "tfoot", "tr", "td", "th", "marquee", "col", "colgroup":
		if paper, kind := legacyColour(Attr(n, "bgcolor")); kind == aColour {
			c.behind, c.picture, c.elsewhere = []colour{paper}, false, false
		}
		if strings.TrimSpace(Attr(n, "background")) != "" {
			c.picture = true
		}
	}
}

var (
	colourMark, _   = hexColour("ffff00")
	colourButton, _ = hexColour("efefef")
)

// colours takes in the colour of letters and of what is behind them. Around is how it looks outside of the element.
func (c *context) colours(v values, around *context, n *html.Node) {
	own, unknown, dark := c.text, c.unknown, c.dark
	c.text, _ = c.leastVisible(v.list["color"], own, around.text, unknown, dark) // for currentcolor
	c.background(v, around, n)
	c.text, c.unknown = c.leastVisible(v.list["color"], own, around.text, unknown, dark)
	if fills := v.list["-webkit-text-fill-color"]; v.any("-webkit-text-fill-color", "currentcolor", "initial") {
		c.filled = false
	} else if len(fills) > 0 {
		fill := c.text
		if c.filled {
			fill = c.fill
		}
		c.fill, c.unknown = c.leastVisible(fills, fill, fill, c.unknown, dark)
		c.filled = true
	}
	c.clippedToText(v, dark)
}

// leastVisible chooses among colours of letters. Where there are several, the one that is seen least is taken.
func (c *context) leastVisible(list [][]token, own, around colour, unknown bool, dark bool) (colour, bool) {
	chosen, set := own, false
	for _, value := range list {
		got, kind := colourOf(value, dark)
		switch kind {
		case noColour:
			continue
		case sameColour:
			if got = around; value[0].is("revert") || value[0].is("revert-layer") {
				got = own
				unknown = unknown || value[0].is("revert-layer")
			}
		case strange:
			unknown = true
			continue
		}
		if !set || c.hides(got) {
			chosen, set, unknown = got, true, unknown && c.unknown
		}
	}
	return chosen, unknown
}

func (c *context) hides(ink colour) bool {
	for _, behind := range c.behind {
		if !ink.unreadableOn(behind) {
			return false
		}
	}
	return true
}
