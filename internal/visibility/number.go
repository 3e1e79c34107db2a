package visibility

import (
	"math"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/css"
)

// unit is what a number counts.
type unit int8

const (
	plain unit = iota
	pixels
	degrees
	percent
	seconds
)

// The screen that a reader is taken to have.
const (
	screenWidth  = 1366.0
	screenHeight = 768.0
)

// scale is what lengths depend on: the size of the font, what a percentage is of (0: not known), and the font of the page (0: 16).
type scale struct{ font, whole, root float64 }

// amount is a number with its unit.
type amount struct {
	n    float64
	unit unit
}

// amountOf reads a value that is one number, or a calculation.
func amountOf(value []token, at scale) (amount, bool) {
	c := calculator{list: trim(value), at: at}
	a, ok := c.primary()
	return a, ok && len(trim(c.list)) == 0 && !math.IsNaN(a.n)
}

// lengthOf reads a length in pixels. A bare number is one: zero needs no unit, and others count as what hides most.
func lengthOf(value []token, at scale) (float64, bool) {
	a, ok := amountOf(value, at)
	if !ok || a.unit == degrees || a.unit == seconds {
		return 0, false
	}
	if a.unit == percent {
		if a.n == 0 {
			return 0, true
		}
		return a.n / 100 * at.whole, at.whole != 0
	}
	return a.n, true
}

// ratioOf reads a number or a percentage as a part of one.
func ratioOf(value []token) (float64, bool) {
	a, ok := amountOf(value, scale{font: 16})
	if a.unit == percent {
		a.n /= 100
	}
	return a.n, ok && a.unit != pixels && a.unit != degrees
}

// calculator evaluates calc() and its like.
type calculator struct {
	list  []token
	at    scale
	depth int
}

func (c *calculator) space() {
	c.list = trimLeft(c.list)
}

func trimLeft(list []token) []token {
	for len(list) > 0 && list[0].kind == css.WhitespaceToken {
		list = list[1:]
	}
	return list
}

func (c *calculator) sum() (amount, bool) {
	total, ok := c.product()
	for ok {
		c.space()
		if len(c.list) == 0 {
			break
		}
		t := c.list[0]
		sign := 1.0
		switch {
		case t.delim("+"):
			c.list = c.list[1:]
		case t.delim("-"):
			sign, c.list = -1, c.list[1:]
		case strings.HasPrefix(t.text, "+") || strings.HasPrefix(t.text, "-"): // "1 -1": the sign belongs to the number
		default:
			return total, true
		}
		var next amount
		if next, ok = c.product(); !ok {
			return total, false
		}
		total, ok = join(total, next, c.at, func(a, b float64) float64 { return a + sign*b })
	}
	return total, ok
}

func (c *calculator) product() (amount, bool) {
	total, ok := c.primary()
	for ok {
		c.space()
		if len(c.list) == 0 || !c.list[0].delim("*") && !c.list[0].delim("/") {
			break
		}
		divide := c.list[0].delim("/")
		c.list = c.list[1:]
		var next amount
		if next, ok = c.primary(); !ok {
			return total, false
		}
		if divide {
			total.n /= next.n
			continue
		}
		total = amount{total.n * next.n, max(total.unit, next.unit)}
	}
	return total, ok
}

// join combines two amounts of one kind. Percentages become lengths where it is known of what.
func join(a, b amount, at scale, by func(a, b float64) float64) (amount, bool) {
	if a.unit != b.unit && (a.unit == percent || b.unit == percent) {
		if at.whole == 0 {
			return a, false
		}
		for _, x := range []*amount{&a, &b} {
			if x.unit == percent {
				*x = amount{x.n / 100 * at.whole, pixels}
			}
		}
	}
	if a.unit != b.unit && a.n != 0 && b.n != 0 {
		return a, false
	}
	return amount{by(a.n, b.n), max(a.unit, b.unit)}, true
}

// maxCalc bounds calculations in calculations.
const maxCalc = 20

func (c *calculator) primary() (amount, bool) {
	c.space()
	if len(c.list) == 0 {
		return amount{}, false
	}
	t := c.list[0]
	switch t.kind {
	case css.NumberToken, css.PercentageToken, css.DimensionToken:
		c.list = c.list[1:]
		return c.number(t)
	case css.LeftParenthesisToken, css.FunctionToken:
		end := matching(c.list, 0)
		inside := c.list[1:min(end, len(c.list))]
		c.list = c.list[min(end+1, len(c.list)):]
		if c.depth >= maxCalc {
			return amount{}, false
		}
		return c.function(t.word, inside)
	}
	if t.kind == css.IdentToken {
		if n, ok := map[string]float64{"pi": math.Pi, "e": math.E, "infinity": math.Inf(1), "-infinity": math.Inf(-1)}[t.word]; ok {
			c.list = c.list[1:]
			return amount{n: n}, true
		}
	}
	return amount{}, false
}

func (c *calculator) function(name string, inside []token) (amount, bool) {
	var args []amount
	for _, part := range split(inside, css.CommaToken) {
		inner := calculator{list: trim(part), at: c.at, depth: c.depth + 1}
		if name == "clamp" && len(solid(part)) == 1 && solid(part)[0].is("none") {
			args = append(args, amount{n: math.Inf(1 - 2*(len(args)&1^1))})
			continue
		}
		a, ok := inner.sum()
		if !ok || len(trim(inner.list)) > 0 {
			return a, false
		}
		args = append(args, a)
	}
	fold := func(by func(a, b float64) float64) (amount, bool) {
		total, ok := args[0], true
		for _, a := range args[1:] {
			if total, ok = join(total, a, c.at, by); !ok {
				return total, false
			}
		}
		return total, true
	}
	switch name {
	case "", "calc", "-webkit-calc":
		return args[0], len(args) == 1
	case "min":
		return fold(math.Min)
	case "max":
		return fold(math.Max)
	case "clamp":
		if len(args) == 3 {
			return amount{max(args[0].n, min(args[1].n, args[2].n)), args[1].unit}, true
		}
	case "abs":
		return amount{math.Abs(args[0].n), args[0].unit}, len(args) == 1
	}
	return amount{}, false
}

// number reads a number with its unit.
func (c *calculator) number(t token) (amount, bool) {
	end := 0
	for end < len(t.text) && (strings.IndexByte("+-.0123456789", t.text[end]) >= 0 || exponent(t.text, end)) {
		end++
	}
	n, err := strconv.ParseFloat(t.text[:end], 64)
	if err != nil {
		return amount{}, false
	}
	if n == 0 && t.kind != css.PercentageToken {
		return amount{}, true
	}
	return c.inPixels(n, strings.ToLower(unescape(t.text[end:])))
}

// exponent reports whether the e of 1e3 is at i.
func exponent(s string, i int) bool {
	if s[i] != 'e' && s[i] != 'E' || i+1 >= len(s) {
		return false
	}
	next := strings.TrimLeft(s[i+1:i+2], "+-")
	if next == "" && i+2 < len(s) {
		next = s[i+2 : i+3]
	}
	return next != "" && next[0] >= '0' && next[0] <= '9'
}

func (c *calculator) inPixels(n float64, name string) (amount, bool) {
	switch name {
	case "":
		return amount{n, plain}, true
	case "%":
		return amount{n, percent}, true
	case "deg":
		return amount{n, degrees}, true
	case "turn":
		return amount{n * 360, degrees}, true
	case "rad":
		return amount{n * 180 / math.Pi, degrees}, true
	case "grad":
		return amount{n * 0.9, degrees}, true
	case "s":
		return amount{n, seconds}, true
	case "ms":
		return amount{n / 1000, seconds}, true
	}
	sizes := map[string]float64{
		"px": 1, "pt": 4.0 / 3, "pc": 16, "in": 96, "cm": 37.8, "mm": 3.78, "q": 0.945,
		"em": c.at.font, "ic": c.at.font, "ex": c.at.font / 2, "ch": c.at.font / 2, "cap": c.at.font * 0.7, "lh": c.at.font * 1.2,
	}
	root := c.at.root
	if root == 0 {
		root = 16
	}
	if rest, ok := strings.CutPrefix(name, "r"); ok && name != "rad" {
		if size, ok := map[string]float64{"em": 1, "ic": 1, "ex": 0.5, "ch": 0.5, "cap": 0.7, "lh": 1.2}[rest]; ok {
			return amount{n * size * root, pixels}, true
		}
	}
	if size, ok := sizes[name]; ok {
		return amount{n * size, pixels}, true
	}
	for _, prefix := range []string{"s", "l", "d", "cq"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && (strings.HasPrefix(rest, "v") || prefix == "cq") {
			name = "v" + strings.TrimPrefix(rest, "v")
		}
	}
	switch name {
	case "vw", "vi", "vmax":
		return amount{n * screenWidth / 100, pixels}, true
	case "vh", "vb", "vmin":
		return amount{n * screenHeight / 100, pixels}, true
	}
	return amount{}, false
}
