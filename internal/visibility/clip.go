package visibility

import (
	"math"

	"github.com/tdewolff/parse/v2/css"
)

// clipped reports whether nothing of an element is left by clip or clip-path. What cannot be told is odd.
func clipped(v values, c *context) bool {
	for _, value := range v.list["clip"] {
		if len(value) > 0 && value[0].kind == css.FunctionToken && v.any("position", "absolute", "fixed") && emptyRect(value, c) {
			return true
		}
	}
	for _, value := range v.list["clip-path"] {
		if shape(value, c) {
			return true
		}
	}
	return false
}

// arguments are those of the function that a value begins with, at commas and spaces.
func arguments(value []token) (list [][]token) {
	for _, part := range split(value[1:min(matching(value, 0), len(value))], css.CommaToken) {
		list = append(list, words(part)...)
	}
	return list
}

// emptyRect reports whether clip: rect(top, right, bottom, left) leaves no room for a letter.
func emptyRect(value []token, c *context) bool {
	var n [4]float64
	args := arguments(value)
	if len(args) != 4 {
		return false
	}
	for i, arg := range args {
		length, ok := lengthOf(arg, c.at(0))
		if !ok { // auto
			length = []float64{0, math.Inf(1), math.Inf(1), 0}[i]
		}
		n[i] = length
	}
	return n[2]-n[0] <= narrow || n[1]-n[3] <= narrow
}

// shape reports whether a clip-path leaves nothing.
func shape(value []token, c *context) bool {
	if len(value) == 0 {
		return false
	}
	if value[0].kind == css.URLToken {
		c.odd = true
		return false
	}
	if value[0].kind != css.FunctionToken {
		return false
	}
	args := arguments(value)
	switch value[0].word {
	case "inset":
		return noInset(args, c)
	case "circle", "ellipse":
		return noRound(args, c)
	case "polygon":
		return noPolygon(args, c)
	}
	c.odd = true // path(), shape(), rect(), xywh(), url()
	return false
}

// sized reads a length of a box that is taken to be this wide.
func sized(arg []token, c *context) (float64, bool) {
	return lengthOf(arg, c.at(screenWidth))
}

func noInset(args [][]token, c *context) bool {
	var n []float64
	for _, arg := range args {
		length, ok := sized(arg, c)
		if !ok {
			break // round
		}
		n = append(n, length)
	}
	var top, right, bottom, left float64
	switch len(n) {
	case 0:
		c.odd = true
		return false
	case 1:
		top, right, bottom, left = n[0], n[0], n[0], n[0]
	case 2:
		top, right, bottom, left = n[0], n[1], n[0], n[1]
	case 3:
		top, right, bottom, left = n[0], n[1], n[2], n[1]
	default:
		top, right, bottom, left = n[0], n[1], n[2], n[3]
	}
	if top+bottom >= screenWidth || left+right >= screenWidth {
		return true
	}
	c.odd = c.odd || top+bottom > 16 || left+right > screenWidth/2 || top < 0 && bottom > 0 || bottom < 0 && top > 0
	return false
}

func noRound(args [][]token, c *context) bool {
	for i, arg := range args {
		if len(arg) == 1 && arg[0].is("at") {
			for _, at := range args[i+1:] {
				if n, ok := sized(at, c); ok && (n < -16 || n > screenWidth*1.2) {
					return true
				}
			}
			break
		}
		if n, ok := sized(arg, c); ok && n <= narrow {
			return true
		} else if ok && n < 200 {
			c.odd = true
		}
	}
	return false
}

// noPolygon reports whether a polygon has no area, or none in view.
func noPolygon(args [][]token, c *context) bool {
	var points []float64
	for _, arg := range args {
		if len(arg) == 1 && (arg[0].is("evenodd") || arg[0].is("nonzero")) {
			continue
		}
		n, ok := sized(arg, c)
		if !ok {
			c.odd = true
			return false
		}
		points = append(points, n)
	}
	if len(points) < 6 || len(points)%2 != 0 {
		return true
	}
	area, maxX, maxY := 0.0, math.Inf(-1), math.Inf(-1)
	for i := 0; i < len(points); i += 2 {
		j := (i + 2) % len(points)
		area += points[i]*points[j+1] - points[j]*points[i+1]
		maxX, maxY = max(maxX, points[i]), max(maxY, points[i+1])
	}
	if math.Abs(area)/2 < 100 || maxX <= narrow || maxY <= narrow {
		return true
	}
	c.odd = c.odd || math.Abs(area)/2 < 10_000
	return false
}
