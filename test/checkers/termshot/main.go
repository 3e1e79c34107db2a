// Command termshot turns what a terminal shows, read from standard input with its colour sequences, into an SVG
// picture on standard output:
//
//	tmux capture-pane -e -p | termshot > picture.svg
package main

import (
	"bufio"
	"fmt"
	"html"
	"log"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	charWidth  = 8.4
	lineHeight = 19
	margin     = 16
	background = "#1e1e2e"
	foreground = "#cdd6f4"
)

var palette = [16]string{
	"#45475a", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#f5c2e7", "#94e2d5", "#bac2de",
	"#585b70", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#f5c2e7", "#94e2d5", "#a6adc8",
}

// style is the state that SGR sequences change.
type style struct {
	colour    string
	bold, dim bool
}

func main() {
	var lines []string
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		lines = append(lines, strings.TrimRight(in.Text(), " "))
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var body strings.Builder
	columns, now := 60, style{}
	for i, line := range lines {
		width := writeLine(&body, line, margin+(i+1)*lineHeight, &now)
		columns = max(columns, width)
	}
	width, height := float64(columns)*charWidth+2*margin, (len(lines)+1)*lineHeight+margin
	_, err := fmt.Printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" font-family="ui-monospace, 'DejaVu Sans Mono', monospace" font-size="14">
<rect width="100%%" height="100%%" rx="8" fill="%s"/>
%s</svg>
`, width, height, background, body.String())
	if err != nil {
		log.Fatal(err)
	}
}

// writeLine writes one line as spans of equal style and returns its width in columns.
func writeLine(out *strings.Builder, line string, y int, now *style) (columns int) {
	fmt.Fprintf(out, `<text y="%d" xml:space="preserve">`, y)
	for line != "" {
		escape := strings.Index(line, "\x1b[")
		text := line
		if escape >= 0 {
			text = line[:escape]
		}
		if text != "" {
			writeSpan(out, text, columns, *now)
			columns += utf8.RuneCountInString(text)
		}
		if escape < 0 {
			break
		}
		line = line[escape+2:]
		end := strings.IndexFunc(line, func(r rune) bool { return r >= '@' && r <= '~' })
		if end < 0 {
			break
		}
		if line[end] == 'm' {
			now.apply(line[:end])
		}
		line = line[end+1:]
	}
	out.WriteString("</text>\n")
	return columns
}

func writeSpan(out *strings.Builder, text string, column int, s style) {
	colour := s.colour
	if colour == "" {
		colour = foreground
	}
	fmt.Fprintf(out, `<tspan x="%.1f" fill="%s"`, margin+float64(column)*charWidth, colour)
	if s.bold {
		out.WriteString(` font-weight="bold"`)
	}
	if s.dim {
		out.WriteString(` opacity="0.6"`)
	}
	fmt.Fprintf(out, ">%s</tspan>", html.EscapeString(text))
}

// apply takes up the parameters of an SGR sequence.
func (s *style) apply(params string) {
	codes := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(codes) == 0 {
		*s = style{}
	}
	for i := 0; i < len(codes); i++ {
		code, _ := strconv.Atoi(codes[i])
		switch {
		case code == 0:
			*s = style{}
		case code == 1:
			s.bold = true
		case code == 2:
			s.dim = true
		case code == 22:
			s.bold, s.dim = false, false
		case code >= 30 && code <= 37:
			s.colour = palette[code-30]
		case code >= 90 && code <= 97:
			s.colour = palette[code-90+8]
		case code == 39:
			s.colour = ""
		case code == 38 && i+2 < len(codes) && codes[i+1] == "5":
			n, _ := strconv.Atoi(codes[i+2])
			s.colour = indexed(n)
			i += 2
		case code == 38 && i+4 < len(codes) && codes[i+1] == "2":
			s.colour = fmt.Sprintf("rgb(%s,%s,%s)", codes[i+2], codes[i+3], codes[i+4])
			i += 4
		}
	}
}

// indexed is a colour of the 256 that terminals number.
func indexed(n int) string {
	switch {
	case n < 16:
		return palette[max(n, 0)]
	case n < 232:
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		n -= 16
		return fmt.Sprintf("rgb(%d,%d,%d)", level(n/36), level(n/6%6), level(n%6))
	default:
		grey := 8 + 10*(n-232)
		return fmt.Sprintf("rgb(%d,%d,%d)", grey, grey, grey)
	}
}
