package web

import (
	"fmt"
	"iter"
	"maps"
	"strconv"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// number reads a number and the unit after it.
func number(s string) (n float64, unit string, ok bool) {
	s = strings.TrimSpace(s)
	end := 0
	for end < len(s) && strings.IndexByte("+-.0123456789", s[end]) >= 0 {
		end++
	}
	n, err := strconv.ParseFloat(s[:end], 64)
	return n, strings.TrimSpace(s[end:]), err == nil
}

// length reads a length in pixels. Lengths that depend on others are taken at their usual size.
func length(s string) (pixels float64, ok bool) {
	n, unit, ok := number(s)
	if !ok {
		return 0, false
	}
	if n == 0 {
		return 0, true
	}
	switch unit {
	case "", "px":
	case "pt":
		n *= 4.0 / 3
	case "em", "rem", "ic":
		n *= 16
	case "ex", "ch":
		n *= 8
	case "vw", "vh", "vmin", "vmax":
		n *= 10
	case "%":
		n *= 10
		if n > 0 {
			return 0, false // of something that is not known
		}
	case "in":
		n *= 96
	case "cm":
		n *= 38
	case "mm":
		n *= 3.8
	default:
		return 0, false
	}
	return n, true
}

const transparent = "transparent"

var colourNames = map[string]string{
	"white": "#ffffff", "black": "#000000", "red": "#ff0000", "blue": "#0000ff", "green": "#008000", "yellow": "#ffff00",
	"gray": "#808080", "grey": "#808080", "silver": "#c0c0c0", "snow": "#fffafa", "ivory": "#fffff0",
}

// colour gives a colour one spelling, empty where it has none that is known.
func colour(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	if s == transparent {
		return transparent
	}
	if named, ok := colourNames[strings.Fields(s)[0]]; ok {
		return named
	}
	if hex, ok := strings.CutPrefix(strings.Fields(s)[0], "#"); ok {
		return hexColour(hex)
	}
	inside, ok := strings.CutPrefix(s, "rgb")
	if !ok {
		return ""
	}
	parts := strings.FieldsFunc(strings.Trim(strings.TrimPrefix(inside, "a"), "() "), func(r rune) bool { return r == ',' || r == ' ' || r == '/' })
	if len(parts) < 3 {
		return ""
	}
	if len(parts) > 3 {
		alpha, unit, ok := number(parts[3])
		if unit == "%" {
			alpha /= 100
		}
		if ok && alpha <= 0.05 {
			return transparent
		}
	}
	var c [3]int
	for i := range c {
		n, _, _ := number(parts[i])
		c[i] = int(n)
	}
	return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2])
}

func hexColour(hex string) string {
	switch len(hex) {
	case 3, 4:
		if len(hex) == 4 && hex[3] == '0' {
			return transparent
		}
		return "#" + strings.Repeat(hex[:1], 2) + strings.Repeat(hex[1:2], 2) + strings.Repeat(hex[2:3], 2)
	case 6:
		return "#" + hex
	case 8:
		if hex[6:] == "00" {
			return transparent
		}
		return "#" + hex[:6]
	}
	return ""
}

// sheet is the rules of a page's own style elements that hide something.
type sheet struct {
	marked map[*html.Node]bool
}

func (s *sheet) hides(n *html.Node) bool { return s.marked[n] }

const (
	maxSheet = 256 << 10
	maxRules = 200
	// maxLooks bounds how many elements are looked at, over all rules.
	maxLooks = 2_000_000
)

// readSheet finds the elements that the style elements of a page hide. A rule that would hide most of what the page says is
// one that scripts are meant to undo, and does not count.
func readSheet(doc *html.Node) *sheet {
	s := &sheet{marked: map[*html.Node]bool{}}
	text := styleText(doc)
	if text == "" {
		return s
	}
	sizes := map[*html.Node]int{}
	all, rules := measure(doc, sizes), 0
	seen := map[string]bool{}
	for selector := range hidingRules(text) {
		if seen[selector] {
			continue
		}
		seen[selector] = true
		if rules++; rules > maxRules || rules*len(sizes) > maxLooks {
			break
		}
		compiled, err := cascadia.ParseGroup(selector)
		if err != nil {
			continue
		}
		found := map[*html.Node]bool{}
		for _, n := range cascadia.QueryAll(doc, compiled) {
			found[n] = true
		}
		size := 0
		for n := range found {
			if !within(n.Parent, found) {
				size += sizes[n]
			}
		}
		if size*10 <= all*9 {
			maps.Copy(s.marked, found)
		}
	}
	return s
}

// measure notes how much text each element holds.
func measure(n *html.Node, sizes map[*html.Node]int) (size int) {
	if n.Type == html.TextNode {
		return len(strings.TrimSpace(n.Data))
	}
	if n.Type == html.ElementNode && dropped[n.Data] {
		return 0
	}
	for c := range n.ChildNodes() {
		size += measure(c, sizes)
	}
	sizes[n] = size
	return size
}

func within(n *html.Node, set map[*html.Node]bool) bool {
	for ; n != nil; n = n.Parent {
		if set[n] {
			return true
		}
	}
	return false
}

func styleText(doc *html.Node) string {
	var b strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "style" && n.FirstChild != nil && b.Len() < maxSheet {
			b.WriteString(n.FirstChild.Data)
			b.WriteByte('\n')
		}
	}
	text := b.String()
	return stripCSSComments(text[:min(len(text), maxSheet)])
}

// hidingRules yields the rules of a sheet that may hide something, those for certain media left out.
func hidingRules(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			open := strings.IndexByte(text, '{')
			if open < 0 {
				return
			}
			selector := strings.TrimSpace(text[:open])
			if i := strings.LastIndexAny(selector, ";}"); i >= 0 {
				selector = strings.TrimSpace(selector[i+1:])
			}
			rest := text[open+1:]
			if strings.HasPrefix(selector, "@") {
				text = rest[skipBlock(rest):]
				continue
			}
			end := strings.IndexByte(rest, '}')
			if end < 0 {
				end = len(rest)
			}
			body := rest[:end]
			text = rest[min(end+1, len(rest)):]
			if selector == "" || strings.Contains(selector, ":") { // states, and what takes long to find
				continue
			}
			if parseStyle(body).hides("") && !yield(selector) {
				return
			}
		}
	}
}

// skipBlock returns where the block ends in which text is.
func skipBlock(text string) int {
	depth := 1
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
