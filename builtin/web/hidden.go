package web

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// dropped are elements that no reader sees as text, with all that is in them.
var dropped = map[string]bool{
	"script": true, "style": true, "template": true, "noscript": true, "iframe": true, "frame": true, "object": true,
	"embed": true, "applet": true, "svg": true, "canvas": true, "audio": true, "video": true, "map": true, "datalist": true,
	"link": true, "meta": true, "noframes": true, "noembed": true, "input": true, "select": true, "textarea": true, "param": true,
	"source": true, "track": true, "portal": true, "slot": true, "xmp": true, "plaintext": true,
}

// strip takes out of a document what a person who looks at it would not see, and the characters that nobody sees.
func strip(doc *html.Node) {
	sheet := readSheet(doc)
	stripNode(doc, sheet, "")
}

// stripNode cleans the children of n. Background is the colour behind them where an inline style says.
func stripNode(n *html.Node, sheet *sheet, background string) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch c.Type {
		case html.CommentNode, html.RawNode:
			n.RemoveChild(c)
		case html.TextNode:
			c.Data = clean(c.Data)
		case html.ElementNode:
			declared := parseStyle(attr(c, "style"))
			behind := background
			if colour := declared.background(); colour != "" {
				behind = colour
			}
			if hidden(c, declared, behind, sheet) {
				n.RemoveChild(c)
				break
			}
			cleanAttributes(c)
			stripNode(c, sheet, behind)
		}
		c = next
	}
}

// keptAttributes are those that mean something to a reader.
var keptAttributes = []string{
	"href", "src", "alt", "colspan", "rowspan", "start", "lang", "dir", "class", "id", "role", "datetime", "scope", "type", "reversed", "value", "cite",
	"data-src", "open", "width", "height", "itemprop", "rel",
}

func cleanAttributes(n *html.Node) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return !slices.Contains(keptAttributes, a.Key) })
	for i := range n.Attr {
		n.Attr[i].Val = clean(n.Attr[i].Val)
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

// hidden reports whether an element is not shown.
func hidden(n *html.Node, s style, background string, sheet *sheet) bool {
	switch {
	case n.DataAtom == atom.Html || n.DataAtom == atom.Body || n.DataAtom == atom.Head:
		return false // pages hide themselves until their scripts ran
	case dropped[n.Data]:
		return true
	case has(n, "hidden"):
		return attr(n, "hidden") != "until-found"
	case strings.EqualFold(strings.TrimSpace(attr(n, "aria-hidden")), "true"):
		return true
	case n.DataAtom == atom.Dialog && !has(n, "open"):
		return true
	case has(n, "inert"):
		return true
	}
	return s.hides(background) || sheet.hides(n)
}

// style is what a style attribute declares, in lower case.
type style map[string]string

func parseStyle(text string) style {
	if text == "" {
		return nil
	}
	s := style{}
	for declaration := range strings.SplitSeq(stripCSSComments(text), ";") {
		name, value, ok := strings.Cut(declaration, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(strings.ReplaceAll(strings.ToLower(unescapeCSS(value)), "!important", ""))
		s[strings.TrimSpace(strings.ToLower(unescapeCSS(name)))] = strings.TrimSpace(value)
	}
	return s
}

// stripCSSComments takes /* comments */ out, which may stand inside of words.
func stripCSSComments(text string) string {
	for {
		start := strings.Index(text, "/*")
		if start < 0 {
			return text
		}
		end := strings.Index(text[start+2:], "*/")
		if end < 0 {
			return text[:start]
		}
		text = text[:start] + text[start+2+end+2:]
	}
}

// unescapeCSS undoes escapes such as \64 isplay.
func unescapeCSS(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		end := i + 1
		for end < len(s) && end < i+7 && strings.IndexByte("0123456789abcdefABCDEF", s[end]) >= 0 {
			end++
		}
		if n, err := strconv.ParseInt(s[i+1:end], 16, 32); err == nil {
			b.WriteRune(rune(n))
			if end < len(s) && s[end] == ' ' {
				end++
			}
		}
		i = end - 1
	}
	return b.String()
}

// tiny is the size in pixels, and farAway the distance, that nobody reads.
const (
	tiny    = 2.0
	farAway = -500.0
)

// hides reports whether the declarations make what they are about invisible.
func (s style) hides(background string) bool {
	if len(s) == 0 {
		return false
	}
	switch {
	case s["display"] == "none", s["visibility"] == "hidden", s["visibility"] == "collapse", s["content-visibility"] == "hidden":
		return true
	case has0(s, "opacity", 0.05), s.filtered(), s.sized("font-size", tiny), s.fontShorthand():
		return true
	case s.collapsed(), s.clipped(), s.awayFromView(), s.scaledAway():
		return true
	}
	return s.sameColour(background)
}

func has0(s style, name string, most float64) bool {
	value, ok := s[name]
	if !ok {
		return false
	}
	n, unit, ok := number(value)
	if unit == "%" {
		n /= 100
	}
	return ok && n <= most
}

func (s style) filtered() bool {
	inside, ok := strings.CutPrefix(strings.ReplaceAll(s["filter"], " ", ""), "opacity(")
	if !ok {
		return false
	}
	n, unit, ok := number(strings.TrimSuffix(inside, ")"))
	if unit == "%" {
		n /= 100
	}
	return ok && n <= 0.05
}

// sized reports whether a size is declared that is at most so many pixels.
func (s style) sized(name string, most float64) bool {
	value, ok := s[name]
	if !ok {
		return false
	}
	pixels, ok := length(value)
	return ok && pixels <= most
}

func (s style) fontShorthand() bool {
	for word := range strings.FieldsSeq(s["font"]) {
		size, _, _ := strings.Cut(word, "/")
		if strings.HasSuffix(size, "px") || strings.HasSuffix(size, "pt") || strings.HasSuffix(size, "em") || size == "0" {
			pixels, ok := length(size)
			return ok && pixels <= tiny
		}
	}
	return false
}

// collapsed reports whether the box has no room for a character and what does not fit is not shown.
func (s style) collapsed() bool {
	cut := s["overflow"] == "hidden" || s["overflow"] == "clip" || s["overflow-x"] == "hidden" || s["overflow-y"] == "hidden"
	for _, name := range []string{"width", "height", "max-width", "max-height", "block-size", "inline-size"} {
		if s.sized(name, 1) && (cut || s["position"] == "absolute") {
			return true
		}
	}
	return s.sized("line-height", 0) && cut
}

func (s style) clipped() bool {
	clip := strings.ReplaceAll(s["clip"], " ", "")
	if strings.HasPrefix(clip, "rect(") {
		area := strings.FieldsFunc(strings.TrimSuffix(strings.TrimPrefix(s["clip"], "rect("), ")"), func(r rune) bool { return r == ',' || r == ' ' })
		small := len(area) == 4
		for _, side := range area {
			n, ok := length(side)
			small = small && ok && n <= 1
		}
		if small {
			return true
		}
	}
	path := strings.ReplaceAll(s["clip-path"], " ", "")
	if inside, ok := strings.CutPrefix(path, "inset("); ok {
		n, unit, ok := number(strings.TrimSuffix(inside, ")"))
		return ok && unit == "%" && n >= 50
	}
	return strings.HasPrefix(path, "circle(0") || strings.HasPrefix(path, "polygon(00") || strings.HasPrefix(path, "polygon(0px0px,0px0px")
}

// awayFromView reports whether it is moved to where no screen reaches.
func (s style) awayFromView() bool {
	placed := s["position"] == "absolute" || s["position"] == "fixed" || s["position"] == "relative"
	for _, name := range []string{"left", "top", "right", "bottom", "inset", "inset-inline-start"} {
		if first, _, _ := strings.Cut(s[name], " "); placed && first != "" {
			if pixels, ok := length(first); ok && pixels <= farAway {
				return true
			}
		}
	}
	for _, name := range []string{"text-indent", "margin-left", "margin-top", "margin-right"} {
		if pixels, ok := length(s[name]); ok && pixels <= farAway {
			return true
		}
	}
	return false
}

func (s style) scaledAway() bool {
	transform := strings.ReplaceAll(s["transform"], " ", "")
	if strings.HasPrefix(transform, "scale(0)") || strings.HasPrefix(transform, "scale(0,") || strings.HasPrefix(transform, "scale3d(0,") || s["scale"] == "0" {
		return true
	}
	for _, move := range []string{"translate(", "translatex(", "translatey(", "translate3d("} {
		if _, rest, ok := strings.Cut(transform, move); ok {
			first, _, _ := strings.Cut(strings.TrimSuffix(rest, ")"), ",")
			if pixels, ok := length(first); ok && pixels <= farAway {
				return true
			}
		}
	}
	return false
}

func (s style) background() string {
	for _, name := range []string{"background-color", "background"} {
		if c := colour(s[name]); c != "" {
			return c
		}
	}
	return ""
}

// sameColour reports whether the text has the colour of what is behind it, or none.
func (s style) sameColour(background string) bool {
	c := colour(s["color"])
	if fill := colour(s["-webkit-text-fill-color"]); fill != "" {
		c = fill
	}
	return c == transparent || c != "" && c == background
}
