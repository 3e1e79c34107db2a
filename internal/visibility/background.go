package visibility

import (
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// background takes in what is behind the letters.
func (c *context) background(v values, around *context, n *html.Node) {
	if len(v.list["background"])+len(v.list["background-color"])+len(v.list["all"]) > 0 { // instead of what the browser gives
		c.behind, c.picture, c.elsewhere = around.behind, around.picture, around.elsewhere
	}
	clip := v.any("background-clip", "text") || v.any("background", "text")
	if clip || v.any("display", "contents") || c.invisible {
		return // it is not drawn, or not as a box
	}
	paper, stops, picture := c.parseBackground(v, c.dark)
	if paper == nil && len(stops) == 0 && !picture {
		return
	}
	if n.Data != "html" && n.Data != "body" {
		c.past = append(slices.Clip(c.past), c.behind...)
		c.past = c.past[max(0, len(c.past)-maxPast):]
		c.spans = !blocks[n.Data]
	}
	c.shaky = unsteadyBox(v, c)
	if paper != nil {
		if paper.alpha >= 0.95 {
			c.picture, c.elsewhere = false, false
		}
		covered := make([]colour, len(c.behind))
		for i, behind := range c.behind {
			covered[i] = paper.over(behind)
		}
		c.behind = covered
	}
	if len(stops) > 0 {
		base := c.behind[0]
		c.past = append(slices.Clip(c.past), base)
		c.behind = nil
		for _, stop := range stops {
			c.behind = append(c.behind, stop.over(base))
		}
	}
	c.picture = c.picture || picture
}

// maxPast is how many backgrounds are remembered.
const maxPast = 16

// blocks are the elements that are as wide as what they are in, of which alone a background is around all that is in them.
var blocks = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields(`html body div p section article main header footer nav aside h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table thead tbody
		tfoot tr td th caption blockquote pre figure figcaption form fieldset details summary address center button mark marquee`) {
		m[name] = true
	}
	return m
}()

// mayMove reports whether an element may be elsewhere than in the box of the one around it.
func mayMove(v values) bool {
	if v.any("float", "left", "right", "inline-start", "inline-end") || v.any("position", "absolute", "fixed", "relative", "sticky") {
		return true
	}
	for _, name := range []string{"transform", "translate", "rotate", "scale"} {
		for _, value := range v.list[name] {
			if len(value) > 0 && !value[0].is("none") {
				return true
			}
		}
	}
	for _, name := range []string{"margin-left", "margin-right", "margin-top", "margin-bottom"} {
		if n, ok := v.least(name, scale{16, screenWidth, 16}); ok && n < 0 {
			return true
		}
	}
	return false
}

// unsteadyBox reports whether a box with a background may be smaller than what is in it.
func unsteadyBox(v values, c *context) bool {
	for _, name := range []string{"height", "max-height", "width", "max-width", "line-height"} {
		for _, value := range v.list[name] {
			a, ok := amountOf(value, scale{font: c.font, root: c.root})
			if ok && (a.unit == pixels && a.n < 2*c.font || a.n == 0 || a.unit == plain && a.n < 0.8 || a.unit == percent && a.n < 50) {
				return true
			}
		}
	}
	for _, name := range []string{"background-size", "background-repeat", "background-position"} {
		if len(v.list[name]) > 0 && len(v.list["background-image"])+len(v.list["background"]) > 0 {
			return true
		}
	}
	for _, value := range v.list["background"] {
		for _, t := range value {
			if t.delim("/") || t.is("no-repeat") || t.is("repeat-x") || t.is("repeat-y") || t.is("content-box") {
				return true
			}
		}
	}
	return v.any("background-clip", "content-box") || v.any("display", "inline", "table-column", "table-column-group")
}

// parseBackground reads a background: its colour, the colours of its gradients, and whether there is something that is not known.
func (c *context) parseBackground(v values, dark bool) (paper *colour, stops []colour, picture bool) {
	for _, name := range []string{"background", "background-image", "background-color"} {
		for _, value := range v.list[name] {
			for _, word := range words(value) {
				got, kind := colourOf(word, dark)
				switch {
				case kind == aColour:
					paper = &got
				case kind == sameColour && word[0].is("currentcolor"):
					ink := c.text
					paper = &ink
				case kind == strange && !strings.HasSuffix(word[0].word, "gradient"):
					picture = true
				}
			}
			found, image := images(value, dark)
			stops, picture = append(stops, found...), picture || image
		}
	}
	return paper, stops, picture
}

// clippedToText is a background that is seen through the letters only: it is their colour, where they have none.
func (c *context) clippedToText(v values, dark bool) {
	if !v.any("background-clip", "text") && !v.any("background", "text") {
		return
	}
	ink := c.text
	if c.filled {
		ink = c.fill
	}
	if ink.alpha > faint {
		return
	}
	paper, stops, picture := c.parseBackground(v, dark)
	if paper != nil {
		stops = append(stops, *paper)
	}
	c.filled = true
	for _, stop := range stops {
		if c.fill = stop; !c.hides(stop) {
			return
		}
	}
	c.outlined = c.outlined || picture
}

// images reads the gradients and pictures of a background.
func images(value []token, dark bool) (stops []colour, picture bool) {
	for i, t := range value {
		if t.kind == css.URLToken {
			return stops, true
		}
		if t.kind != css.FunctionToken {
			continue
		}
		switch {
		case strings.HasSuffix(t.word, "gradient"):
			inside := value[i+1 : min(matching(value, i), len(value))]
			for _, part := range split(inside, css.CommaToken) {
				for _, word := range words(part) {
					if got, kind := colourOf(word, dark); kind == aColour {
						stops = append(stops, got)
					}
				}
			}
		case t.word == "url", t.word == "image-set", t.word == "-webkit-image-set", t.word == "cross-fade", t.word == "element", t.word == "paint", t.word == "image":
			return stops, true
		}
	}
	return stops, false
}
