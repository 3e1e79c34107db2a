package gitdir

import (
	"errors"
	"fmt"
	"strings"
)

// Setting is one line of a configuration.
type Setting struct {
	// Section and Name are in lower case: what comes before the first dot and after the last. Sub is the part between them, as
	// it is written; it may be empty.
	Section, Sub, Name string
	Value              string
	// File is where it stands, "" for the environment.
	File string
}

// Key spells the setting as git does: "filter.lfs.clean".
func (s Setting) Key() string {
	if s.Sub == "" {
		return s.Section + "." + s.Name
	}
	return s.Section + "." + s.Sub + "." + s.Name
}

var errSyntax = errors.New("git does not read it either")

// Parse reads a configuration as git does. Where git would give up, it returns the settings before that, and an error.
func Parse(text string) ([]Setting, error) {
	p := parser{text: strings.TrimPrefix(text, "\ufeff"), line: 1}
	var list []Setting
	var at Setting
	for {
		switch c := p.next(); {
		case c == eof:
			return list, nil
		case c == '\n' || space(c):
		case c == '#' || c == ';':
			p.comment()
		case c == '[':
			section, sub, ok := p.header()
			if !ok {
				return list, p.fail()
			}
			at = Setting{Section: section, Sub: sub}
		default:
			if !letter(c) {
				return list, p.fail()
			}
			s, ok := p.setting(c, at)
			if !ok {
				return list, p.fail()
			}
			list = append(list, s)
		}
	}
}

const eof = -1

type parser struct {
	text     string
	at, line int
}

func (p *parser) fail() error { return fmt.Errorf("line %d: %w", p.line, errSyntax) }

// next returns the next byte. A carriage return before a new line is dropped.
func (p *parser) next() int {
	if p.at >= len(p.text) {
		p.at++
		return eof
	}
	c := p.text[p.at]
	if c == '\r' && strings.HasPrefix(p.text[p.at:], "\r\n") {
		p.at++
		c = '\n'
	}
	p.at++
	if c == '\n' {
		p.line++
	}
	return int(c)
}

func (p *parser) comment() {
	for c := p.next(); c != '\n' && c != eof; c = p.next() {
	}
}

func space(c int) bool { return c == ' ' || c == '\t' || c == '\r' }

func letter(c int) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func nameByte(c int) bool { return letter(c) || c >= '0' && c <= '9' || c == '-' }

// header reads a section's name up to its bracket.
func (p *parser) header() (section, sub string, ok bool) {
	var b strings.Builder
	for {
		c := p.next()
		switch {
		case c == ']':
			section, sub, _ = strings.Cut(strings.ToLower(b.String()), ".")
			return section, sub, b.Len() > 0
		case c == eof || c == '\n':
			return "", "", false
		case space(c):
			quoted, ok := p.quoted()
			section, sub, _ = strings.Cut(strings.ToLower(b.String())+"."+quoted, ".")
			return section, sub, ok
		case !nameByte(c) && c != '.':
			return "", "", false
		}
		b.WriteByte(byte(c))
	}
}

// quoted reads the subsection after the space: "name"].
func (p *parser) quoted() (string, bool) {
	c := p.next()
	for space(c) {
		c = p.next()
	}
	if c != '"' {
		return "", false
	}
	var b strings.Builder
	for {
		switch c = p.next(); c {
		case eof, '\n':
			return "", false
		case '"':
			return b.String(), p.next() == ']'
		case '\\':
			if c = p.next(); c == eof || c == '\n' {
				return "", false
			}
		}
		b.WriteByte(byte(c))
	}
}

// setting reads a name, of which the first byte is known, and its value.
func (p *parser) setting(first int, at Setting) (Setting, bool) {
	name := []byte{byte(first)}
	c := p.next()
	for ; nameByte(c); c = p.next() {
		name = append(name, byte(c))
	}
	at.Name = strings.ToLower(string(name))
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	switch c {
	case '\n', eof:
		return at, true
	case '=':
		var ok bool
		at.Value, ok = p.value()
		return at, ok
	}
	return at, false
}

// value reads up to the end of the line, or of the last one that goes on.
func (p *parser) value() (string, bool) {
	var b strings.Builder
	quote, spaces := false, 0 // spaces that count if something comes after them
	for {
		c := p.next()
		switch {
		case c == '\n' || c == eof:
			return b.String(), !quote
		case space(c) && !quote:
			if b.Len() > 0 {
				spaces++
			}
			continue
		case (c == '#' || c == ';') && !quote:
			p.comment()
			return b.String(), true
		}
		b.WriteString(strings.Repeat(" ", spaces))
		spaces = 0
		switch c {
		case '"':
			quote = !quote
			continue
		case '\\':
			escaped, ok := p.escape()
			if !ok {
				return "", false
			}
			if escaped == 0 {
				continue // the line goes on
			}
			c = escaped
		}
		b.WriteByte(byte(c))
	}
}

func (p *parser) escape() (int, bool) {
	switch c := p.next(); c {
	case '\n', eof:
		return 0, true
	case 't':
		return '\t', true
	case 'b':
		return '\b', true
	case 'n':
		return '\n', true
	case '\\', '"':
		return c, true
	}
	return 0, false
}
