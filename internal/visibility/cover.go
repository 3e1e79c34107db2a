package visibility

import (
	"strings"

	"golang.org/x/net/html"
)

// over notes where something opaque lies over other elements: an element without text, what is drawn before or after one, or
// a column that is not shown.
func (l *looker) over(n *html.Node, list []candidate, vars *scope, at []context) {
	for _, r := range l.sheet.covers {
		if l.match.match(&r.selector, n) == no {
			continue
		}
		var drawn []candidate
		for _, d := range r.declarations {
			drawn = append(drawn, candidate{declaration: d, holds: r.holds, unsure: r.unsure})
		}
		if covers(l.valuesFor(drawn, vars, n, worst), &at[worst]) {
			at[worst].odd = true
		}
	}
	around := n.Parent
	switch {
	case (n.Data == "col" || n.Data == "colgroup") && (at[worst].invisible || at[worst].gone):
	case len(list) == 0 || strings.TrimSpace(textOf(n)) != "" || at[0].gone || at[0].opacity <= faint || at[0].invisible:
		return
	case !covers(l.valuesFor(list, vars, n, worst), &at[worst]):
		return
	}
	if l.covered == nil {
		l.covered = map[*html.Node]*html.Node{}
	}
	if n.Data == "col" || n.Data == "colgroup" {
		for around.Data != "table" && around.Parent != nil {
			around = around.Parent
		}
	}
	l.covered[around] = n
}

// covers reports whether a box lies over all of the one that it is placed in, and nothing is seen through it.
func covers(v values, c *context) bool {
	if !v.any("position", "absolute", "fixed") || v.any("display", "none") {
		return false
	}
	paper, stops, picture := c.parseBackground(v, c.dark)
	opaque := picture || paper != nil && paper.alpha >= 0.9
	for _, stop := range stops {
		opaque = opaque || stop.alpha >= 0.9
	}
	if part, ok := v.ratio("opacity"); ok && part < 0.9 {
		opaque = false
	}
	if !opaque {
		return false
	}
	wide := v.wide("width", "left", "right", screenWidth)
	return wide && v.wide("height", "top", "bottom", screenHeight)
}

// wide reports whether a box reaches over most of another in one direction: by its size, or from side to side.
func (v values) wide(size, from, to string, whole float64) bool {
	at := scale{16, whole, 16}
	if n, ok := v.most(size, at); ok {
		return n >= whole/4
	}
	first, ok := v.least(from, at)
	last, fine := v.least(to, at)
	return ok && fine && first <= 10 && last <= 10
}

// cover makes what lies under something Unknown.
func (l *looker) cover() {
	for around, over := range l.covered {
		for d := range around.Descendants() {
			if d.Type != html.TextNode && d.Type != html.ElementNode || d == over || l.view.nodes[d] == Hidden {
				continue
			}
			l.view.nodes[d] = max(l.view.nodes[d], Unknown)
		}
	}
}
