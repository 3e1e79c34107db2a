package shellsyntax

import (
	"strings"
)

// unresolved stands in an argument of an execute effect where it is not known how it goes on.
const unresolved = "\x00"

// form is how much is known of a word.
type form uint8

const (
	formExact  form = iota // the text is the word
	formOpaque             // the text is what the word surely begins with
)

// arg is what is known of a word of a command after its expansion.
type arg struct {
	text string
	form form
	// many is set where it may become several words, or none.
	many bool
	// below is set where it is a path that stays in dir.
	below bool
	dir   string
	// solid is set where it surely is no option.
	solid bool
	// glob is set where the shell replaces it by the names that it matches.
	glob bool
	// num is set where it is a number.
	num bool
	// fd is set where it is the name of a pipe that the shell makes.
	fd bool
	// soft is set where what is known of it is not sure enough to say what runs.
	soft bool
	// src is its source.
	src string
}

func exactly(text string) arg { return arg{text: text, src: text} }

func (a arg) exact() bool { return a.form == formExact }

// is reports whether the word is exactly text.
func (a arg) is(text string) bool { return a.form == formExact && a.text == text }

// number reports whether the word is a number.
func (a arg) number() bool {
	if a.form != formExact {
		return a.num
	}
	digits := strings.TrimPrefix(a.text, "-")
	if digits == "" || len(digits) > 18 {
		return false
	}
	return strings.Trim(digits, "0123456789") == ""
}

// here reports whether the word is the name of a file where the shell is. As an option it could have no value with a
// slash, and so name no other place.
func (a arg) here() bool { return a.glob && a.below && a.dir == "." && a.text == "" }

// element returns the word as an argument of an execute effect.
func (a arg) element() string {
	if a.form == formExact {
		return a.text
	}
	return a.text + unresolved + a.src
}

// mayBeOption reports whether a program may take the word for an option.
func (a arg) mayBeOption() bool {
	return strings.HasPrefix(a.text, "-") && !a.is("-") || a.text == "" && !a.exact() && !a.fd && !a.solid
}

// Shown returns the words of an execute effect as a person should see them: a word that is not known is shown by its
// source.
func Shown(argv []string) []string {
	out := make([]string, len(argv))
	for i, word := range argv {
		if at := strings.Index(word, unresolved); at >= 0 {
			word = word[at+len(unresolved):]
		}
		out[i] = word
	}
	return out
}

func elements(words []arg) []string {
	argv := make([]string, len(words))
	for i, w := range words {
		argv[i] = w.element()
	}
	return argv
}

// source joins the sources of words.
func source(words []arg) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.src
	}
	return strings.Join(parts, " ")
}

// field is a word while it is put together.
type field struct {
	text strings.Builder
	// globAt, bracketAt and opaqueAt are where the text stops being literal, -1 where it does not; a bracket does only
	// where it is closed.
	globAt, bracketAt, opaqueAt int
	many, started, soft         bool
	// piece is what is known of a part that is not literal, where it is the first.
	piece *arg
}

func newField() *field { return &field{globAt: -1, bracketAt: -1, opaqueAt: -1} }

// literal adds text; wildcards in it count unless it is quoted.
func (f *field) literal(s string, quoted bool) {
	f.started = f.started || quoted || s != ""
	if !quoted {
		if i := strings.IndexAny(s, "*?"); i >= 0 && f.globAt < 0 {
			f.globAt = f.text.Len() + i
		}
		if i := strings.IndexByte(s, '['); i >= 0 && f.bracketAt < 0 {
			f.bracketAt = f.text.Len() + i
		}
	}
	f.text.WriteString(s)
}

// opaque adds a part that is not known; split is set where it may be split into words.
func (f *field) opaque(piece arg, split bool) {
	f.started = true
	if f.opaqueAt < 0 {
		f.opaqueAt = f.text.Len()
		if f.opaqueAt == 0 && f.globAt < 0 {
			f.piece = &piece
		}
		f.text.WriteString(piece.text)
		if piece.text != "" {
			f.opaqueAt = f.text.Len()
		}
	}
	f.many = f.many || split
}

// finish returns the word.
func (f *field) finish(src string) arg {
	a := f.word(src)
	a.soft = f.soft
	return a
}

func (f *field) word(src string) arg {
	text := f.text.String()
	if f.bracketAt >= 0 && (f.globAt < 0 || f.bracketAt < f.globAt) &&
		(f.opaqueAt >= 0 || strings.IndexByte(text[f.bracketAt:], ']') >= 0) {
		f.globAt = f.bracketAt
	}
	switch {
	case f.opaqueAt < 0 && f.globAt < 0:
		return arg{text: text, src: src}
	case f.opaqueAt >= 0:
		a := arg{text: text[:f.opaqueAt], form: formOpaque, many: f.many, src: src}
		if f.globAt >= 0 {
			a.many = true
			a.text = text[:min(f.globAt, f.opaqueAt)]
		}
		if p := f.piece; p != nil && !f.many && f.globAt < 0 {
			rest := text[f.opaqueAt:]
			a.num, a.fd = p.num && rest == "", p.fd && rest == ""
			if p.below && !strings.Contains(rest, "/") {
				a.below, a.dir, a.glob = true, p.dir, p.glob
			}
		}
		return a
	}
	a := arg{text: text[:f.globAt], form: formOpaque, many: true, glob: true, src: src}
	slash := strings.LastIndexByte(a.text, '/')
	if rest := text[slash+1:]; !hasDotDot(rest) {
		a.below = true
		switch {
		case slash > 0:
			a.dir = a.text[:slash]
		case slash == 0:
			a.dir = "/"
		default:
			a.dir = "."
		}
	}
	return a
}

// hasDotDot reports whether a path, or a pattern of one, may have a step up in it.
func hasDotDot(p string) bool {
	for elem := range strings.SplitSeq(p, "/") {
		if elem == ".." || strings.HasPrefix(elem, ".") && strings.ContainsAny(elem, "*?[") {
			return true
		}
	}
	return false
}
