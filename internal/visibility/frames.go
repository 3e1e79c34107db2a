package visibility

import (
	"slices"

	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// frames is what an animation does to what is animated.
type frames struct {
	// begins and ends are set where the first frame hides, and any later one; shows where the last one says that it is seen.
	begins, ends, shows bool
}

// keyframes reads an animation.
func (s *sheet) keyframes(st statement) {
	list := solid(st.prelude)
	if st.body == nil || len(list) == 0 {
		return
	}
	f := &frames{}
	for _, frame := range st.body.rules {
		if frame.body == nil || frame.loose {
			continue
		}
		hides := frameHides(frame.body.declarations)
		first := true
		for _, t := range solid(frame.prelude) {
			if t.kind != css.CommaToken && !t.is("from") && t.text != "0%" {
				first = false
			}
			if (t.is("to") || t.text == "100%") && frameShows(frame.body.declarations) {
				f.shows = true
			}
		}
		if first {
			f.begins = f.begins || hides
		} else {
			f.ends = f.ends || hides
		}
	}
	name := unquote(list[0].text)
	if before := s.frames[name]; before != nil {
		f.begins, f.ends, f.shows = f.begins || before.begins, f.ends || before.ends, f.shows && before.shows
	}
	s.frames[name] = f
}

// frameHides reports whether a frame hides what has it.
func frameHides(list []declaration) bool {
	v := values{list: map[string][][]token{}}
	for _, d := range list {
		for _, one := range expand(d) {
			v.list[one.name] = append(v.list[one.name], one.value)
		}
	}
	c := context{font: 16, root: 16, size: 1, opacity: 1, text: black, behind: []colour{white}}
	c.fontSize(v)
	c.letters(&looker{sheet: newSheet()}, v)
	c.colours(v, &context{text: black, behind: []colour{white}}, &html.Node{Data: "div"})
	return c.unread() == Hidden || v.any("display", "none") || clipped(v, &c) || c.transformed(v) || c.offScreen(v) || c.font*c.size < unreadable
}

// frameShows reports whether a frame says that what has it is seen.
func frameShows(list []declaration) bool {
	return slices.ContainsFunc(list, func(d declaration) bool {
		return relevant[d.name]
	}) && !frameHides(list)
}

// slow is the time in seconds after which nobody waits for an animation to show something.
const slow = 10.0

// animated takes in the animations of an element.
func (c *context) animated(l *looker, v values) {
	for _, name := range []string{"animation", "animation-name"} {
		for _, value := range v.list[name] {
			waits := false
			for _, t := range value {
				if a, ok := amountOf([]token{t}, scale{font: 16}); ok && a.unit == seconds && a.n >= slow {
					waits = true
				}
				waits = waits || t.is("paused") || t.is("reverse") || t.is("alternate-reverse") || t.is("alternate")
			}
			for _, t := range value {
				f := l.sheet.frames[unquote(t.text)]
				switch {
				case t.kind != css.IdentToken && t.kind != css.StringToken || f == nil:
				case f.ends || f.begins && waits:
					c.odd = true
				case f.shows && (c.gone || c.invisible || c.opacity <= faint):
					c.gone, c.invisible, c.opacity, c.odd = false, false, 1, true
				}
			}
		}
	}
}
