package visibility

import (
	"math"
	"strconv"
	"strings"

	"github.com/lucasb-eyer/go-colorful"
	"github.com/tdewolff/parse/v2/css"
)

// colour is a colour with its opacity.
type colour struct {
	colorful.Color
	alpha float64
}

var (
	white = colour{colorful.Color{R: 1, G: 1, B: 1}, 1}
	black = colour{alpha: 1}
	// linkBlue is the colour of links that nobody gave another.
	linkBlue = colour{colorful.Color{B: 238.0 / 255}, 1}
)

// over is the colour that is seen where c lies over another.
func (c colour) over(behind colour) colour {
	return colour{behind.BlendRgb(c.Color, min(max(c.alpha, 0), 1)).Clamped(), 1}
}

// near is the distance of two colours in Oklab that nobody tells apart as text: #e5e5e5 on white is nearer, #ddd is not.
const near = 0.1

// unreadableOn reports whether text of one colour cannot be read on another.
func (c colour) unreadableOn(behind colour) bool {
	seen := c.over(behind)
	l1, a1, b1 := seen.OkLab()
	l2, a2, b2 := behind.OkLab()
	return math.Sqrt((l1-l2)*(l1-l2)+(a1-a2)*(a1-a2)+(b1-b2)*(b1-b2)) < near
}

// paint is what a colour value says.
type paint int8

const (
	// noColour is no valid value: the declaration does not count.
	noColour paint = iota
	aColour
	// sameColour is that of the element around, or currentcolor.
	sameColour
	// strange is a colour that cannot be told.
	strange
)

// colourOf reads a colour. Dark is for light-dark().
func colourOf(value []token, dark bool) (colour, paint) {
	value = trim(value)
	if len(value) == 0 {
		return colour{}, noColour
	}
	t := value[0]
	switch {
	case t.kind == css.HashToken && len(value) == 1:
		return hexColour(strings.TrimPrefix(t.word, "#"))
	case t.kind == css.IdentToken && len(value) == 1:
		return namedColour(t.word, dark)
	case t.kind == css.FunctionToken && matching(value, 0) >= len(value)-1:
		return colourFunction(t.word, value[1:min(matching(value, 0), len(value))], dark)
	}
	return colour{}, noColour
}

func hexColour(digits string) (colour, paint) {
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return colour{}, noColour
	}
	part := func(shift, bits int) float64 {
		v := float64(n >> shift & (1<<bits - 1))
		return v / float64(int(1)<<bits-1)
	}
	switch len(digits) {
	case 3:
		return colour{colorful.Color{R: part(8, 4), G: part(4, 4), B: part(0, 4)}, 1}, aColour
	case 4:
		return colour{colorful.Color{R: part(12, 4), G: part(8, 4), B: part(4, 4)}, part(0, 4)}, aColour
	case 6:
		return colour{colorful.Color{R: part(16, 8), G: part(8, 8), B: part(0, 8)}, 1}, aColour
	case 8:
		return colour{colorful.Color{R: part(24, 8), G: part(16, 8), B: part(8, 8)}, part(0, 8)}, aColour
	}
	return colour{}, noColour
}

func namedColour(name string, dark bool) (colour, paint) {
	switch name {
	case "transparent":
		return colour{}, aColour
	case "currentcolor", "inherit", "unset", "revert", "revert-layer":
		return colour{}, sameColour
	case "initial":
		return black, aColour
	case "canvas", "field", "window", "-webkit-control-background":
		if dark {
			return colour{colorful.Color{R: 0.07, G: 0.07, B: 0.07}, 1}, aColour
		}
		return white, aColour
	case "canvastext", "fieldtext", "windowtext", "buttontext":
		if dark {
			return white, aColour
		}
		return black, aColour
	case "linktext", "visitedtext", "activetext", "buttonface", "highlight", "highlighttext", "selecteditem", "graytext", "mark", "marktext",
		"buttonborder", "accentcolor", "accentcolortext":
		return colour{}, strange
	}
	if hex, ok := colourNames()[name]; ok {
		return hexColour(hex)
	}
	return colour{}, noColour
}

// channels reads the arguments of a colour function. Whole is what 100% of each is.
func channels(args []token, whole [3]float64) (c [3]float64, alpha float64, ok bool) {
	alpha = 1
	var parts [][]token
	for _, part := range split(args, css.CommaToken) {
		for _, word := range words(part) {
			var rest []token
			for _, t := range word { // "1/50%" may have no spaces
				if t.delim("/") {
					parts, rest = append(parts, rest), nil
					continue
				}
				rest = append(rest, t)
			}
			parts = append(parts, rest)
		}
	}
	at := 0
	for _, part := range parts {
		if len(part) == 0 {
			continue
		}
		a, fine := amountOf(part, scale{font: 16})
		if part[0].is("none") {
			a, fine = amount{}, true
		}
		switch {
		case !fine || at > 3:
			return c, alpha, false
		case at == 3 && a.unit == percent:
			alpha = a.n / 100
		case at == 3:
			alpha = a.n
		case a.unit == percent:
			c[at] = a.n / 100 * whole[at]
		default:
			c[at] = a.n
		}
		at++
	}
	return c, alpha, at >= 3
}

func colourFunction(name string, args []token, dark bool) (colour, paint) {
	if list := words(args); len(list) > 0 && list[0][0].is("from") {
		return colour{}, strange
	}
	read := func(whole [3]float64, make func(c [3]float64) colorful.Color) (colour, paint) {
		c, alpha, ok := channels(args, whole)
		if !ok {
			return colour{}, strange
		}
		return colour{make(c).Clamped(), min(max(alpha, 0), 1)}, aColour
	}
	radians := math.Pi / 180
	switch name {
	case "rgb", "rgba":
		return read([3]float64{255, 255, 255}, func(c [3]float64) colorful.Color {
			return colorful.Color{R: c[0] / 255, G: c[1] / 255, B: c[2] / 255}
		})
	case "hsl", "hsla":
		return read([3]float64{360, 100, 100}, func(c [3]float64) colorful.Color { return colorful.Hsl(turn(c[0]), c[1]/100, c[2]/100) })
	case "hwb":
		return read([3]float64{360, 100, 100}, hwb)
	case "lab":
		return read([3]float64{100, 125, 125}, func(c [3]float64) colorful.Color {
			return colorful.LabWhiteRef(c[0]/100, c[1]/100, c[2]/100, colorful.D65)
		})
	case "lch":
		return read([3]float64{100, 150, 360}, func(c [3]float64) colorful.Color {
			return colorful.LabWhiteRef(c[0]/100, c[1]/100*math.Cos(c[2]*radians), c[1]/100*math.Sin(c[2]*radians), colorful.D65)
		})
	case "oklab":
		return read([3]float64{1, 0.4, 0.4}, func(c [3]float64) colorful.Color { return colorful.OkLab(c[0], c[1], c[2]) })
	case "oklch":
		return read([3]float64{1, 0.4, 360}, func(c [3]float64) colorful.Color { return colorful.OkLch(c[0], c[1], c[2]) })
	case "color":
		return spaceColour(args)
	case "color-mix":
		return mixed(args, dark)
	case "light-dark":
		parts := split(args, css.CommaToken)
		if len(parts) != 2 {
			return colour{}, noColour
		}
		if dark {
			return colourOf(parts[1], dark)
		}
		return colourOf(parts[0], dark)
	case "rgb-from", "contrast-color", "device-cmyk", "color-contrast", "alpha", "if", "palette-mix", "random", "ictcp", "jzazbz", "jzczhz":
		return colour{}, strange
	}
	return colour{}, noColour
}

func turn(h float64) float64 { return math.Mod(math.Mod(h, 360)+360, 360) }

func hwb(c [3]float64) colorful.Color {
	w, b := c[1]/100, c[2]/100
	if w+b >= 1 {
		grey := w / (w + b)
		return colorful.Color{R: grey, G: grey, B: grey}
	}
	pure := colorful.Hsl(turn(c[0]), 1, 0.5)
	at := func(v float64) float64 { return v*(1-w-b) + w }
	return colorful.Color{R: at(pure.R), G: at(pure.G), B: at(pure.B)}
}

// spaceColour reads color(space ...). Wide gamuts are taken as sRGB, which is near enough to tell text from its background.
func spaceColour(args []token) (colour, paint) {
	list := words(args)
	if len(list) < 4 || len(list[0]) != 1 {
		return colour{}, strange
	}
	c, alpha, ok := channels(args[len(list[0]):], [3]float64{1, 1, 1})
	if rest := trimLeft(args); len(rest) > 0 {
		c, alpha, ok = channels(rest[1:], [3]float64{1, 1, 1})
	}
	if !ok {
		return colour{}, strange
	}
	made := colorful.Color{R: c[0], G: c[1], B: c[2]}
	switch list[0][0].word {
	case "srgb", "display-p3", "a98-rgb", "prophoto-rgb", "rec2020":
	case "srgb-linear":
		made = colorful.LinearRgb(c[0], c[1], c[2])
	case "xyz", "xyz-d65", "xyz-d50":
		made = colorful.Xyz(c[0], c[1], c[2])
	default:
		return colour{}, strange
	}
	return colour{made.Clamped(), min(max(alpha, 0), 1)}, aColour
}

// mixed reads color-mix(). The space in which colours are mixed makes a difference that does not matter here.
func mixed(args []token, dark bool) (colour, paint) {
	parts := split(args, css.CommaToken)
	if len(parts) != 3 {
		return colour{}, strange
	}
	var c [2]colour
	share := [2]float64{-1, -1}
	for i, part := range parts[1:] {
		var rest []token
		for _, word := range words(part) {
			if a, ok := amountOf(word, scale{font: 16}); ok && a.unit == percent {
				share[i] = a.n / 100
				continue
			}
			rest = append(rest, word...)
		}
		var kind paint
		if c[i], kind = colourOf(rest, dark); kind != aColour {
			return colour{}, strange
		}
	}
	switch {
	case share[0] < 0 && share[1] < 0:
		share = [2]float64{0.5, 0.5}
	case share[0] < 0:
		share[0] = 1 - share[1]
	case share[1] < 0:
		share[1] = 1 - share[0]
	}
	sum := share[0] + share[1]
	if sum <= 0 {
		return colour{}, strange
	}
	t := share[1] / sum
	alpha := (c[0].alpha*(1-t) + c[1].alpha*t) * min(sum, 1)
	switch { // a colour that cannot be seen lends no hue
	case c[0].alpha == 0:
		t = 1
	case c[1].alpha == 0:
		t = 0
	}
	return colour{c[0].BlendRgb(c[1].Color, t), alpha}, aColour
}

// legacyColour reads the colour attributes of old HTML, where everything is some colour.
func legacyColour(text string) (colour, paint) {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" || text == "transparent" {
		return colour{}, noColour
	}
	if hex, ok := colourNames()[text]; ok {
		return hexColour(hex)
	}
	if len(text) == 4 && text[0] == '#' {
		if c, kind := hexColour(text[1:]); kind == aColour {
			return c, kind
		}
	}
	text = strings.TrimPrefix(text, "#")
	text = strings.Map(func(r rune) rune {
		if r < 128 && strings.ContainsRune("0123456789abcdef", r) {
			return r
		}
		return '0'
	}, text[:min(len(text), 128)])
	for len(text) == 0 || len(text)%3 != 0 {
		text += "0"
	}
	size := len(text) / 3
	parts := []string{text[:size], text[size : 2*size], text[2*size:]}
	for i := range parts {
		parts[i] = parts[i][max(0, len(parts[i])-8):]
	}
	for len(parts[0]) > 2 && parts[0][0] == '0' && parts[1][0] == '0' && parts[2][0] == '0' {
		for i := range parts {
			parts[i] = parts[i][1:]
		}
	}
	var hex string
	for _, part := range parts {
		hex += ("0" + part[:min(2, len(part))])[max(0, min(2, len(part))-1):]
	}
	return hexColour(hex)
}
