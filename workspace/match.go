package workspace

import (
	"strings"
	"sync"
	"unicode"
)

// nameIndex is the list of protected names, prepared for matching.
type nameIndex struct {
	// exact holds the patterns that are one plain name, by their folded form; globs those of one name with *; rows
	// those of several names.
	exact map[string]*Name
	globs []namePattern
	rows  []namePattern
}

type namePattern struct {
	*Name
	elems []string
}

var nameList = sync.OnceValue(func() *nameIndex {
	l := &nameIndex{exact: map[string]*Name{}}
	for i := range names {
		n := &names[i]
		elems := strings.Split(n.Pattern, "/")
		for i, e := range elems {
			elems[i] = fold(e)
		}
		switch {
		case len(elems) > 1:
			l.rows = append(l.rows, namePattern{n, elems})
		case strings.Contains(n.Pattern, "*"):
			l.globs = append(l.globs, namePattern{n, elems})
		default:
			l.exact[elems[0]] = n
		}
	}
	return l
})

// find returns an entry of the list that a path falls under, given as the forms of its names; of several, one that is not
// about instructions. A path that is the beginning of a longer pattern (.github) falls under it for writing: what is moved
// there could have the rest. What is below a name for instructions is no file of instructions.
func (l *nameIndex) find(forms []form, secret bool) (found *Name) {
	found = l.under(forms, secret)
	if secret || found != nil && found.Kind != KindInstructions {
		return found
	}
	for _, row := range l.begun(forms) {
		if row.Kind != KindInstructions {
			return row.Name
		}
	}
	return found
}

// under is find for a path that falls under an entry as a whole.
func (l *nameIndex) under(forms []form, secret bool) (found *Name) {
	for i := range forms {
		for _, n := range []*Name{l.single(forms[i], secret), l.endingAt(forms[:i+1], secret)} {
			switch {
			case n == nil:
			case n.Kind != KindInstructions:
				return n
			case i < len(forms)-1:
				found = &Name{n.Pattern, KindObeyed, n.Why}
			default:
				found = n
			}
		}
	}
	return found
}

// begun returns the patterns of several names that a path is the beginning of, each with the names that are to follow.
func (l *nameIndex) begun(forms []form) (list []namePattern) {
	for _, row := range l.rows {
		for want := 1; want < len(row.elems) && want <= len(forms); want++ {
			if matchAll(forms[len(forms)-want:], row.elems[:want]) {
				list = append(list, namePattern{row.Name, row.elems[want:]})
			}
		}
	}
	return list
}

// last is find for a path whose directory is known not to fall under an entry.
func (l *nameIndex) last(forms []form) *Name {
	if n := l.single(forms[len(forms)-1], false); n != nil {
		return n
	}
	return l.endingAt(forms, false)
}

func (l *nameIndex) single(f form, secret bool) *Name {
	if n := l.exact[f.folded]; n != nil && (n.Kind == KindSecret || !secret) {
		return n
	}
	for _, g := range l.globs {
		if (g.Kind == KindSecret || !secret) && f.match(g.elems[0]) {
			return g.Name
		}
	}
	if f.short == "" {
		return nil
	}
	for pattern, n := range l.exact {
		if (n.Kind == KindSecret || !secret) && f.match(pattern) {
			return n
		}
	}
	return nil
}

// endingAt returns a pattern of several names that the last of the forms completes.
func (l *nameIndex) endingAt(forms []form, secret bool) *Name {
	for _, row := range l.rows {
		at := len(forms) - len(row.elems)
		if at >= 0 && (row.Kind == KindSecret || !secret) && matchAll(forms[at:], row.elems) {
			return row.Name
		}
	}
	return nil
}

func matchAll(forms []form, pattern []string) bool {
	for i, f := range forms {
		if !f.match(pattern[i]) {
			return false
		}
	}
	return true
}

// form is a name as the most careless file system would take it.
type form struct {
	folded string
	// public is set where the name is one of the exceptions.
	public bool
	// short and hashed are the beginnings of the long name, where this could be a short name of NTFS.
	short, hashed, ext string
}

func formsOf(rel string) []form {
	var forms []form
	for name := range strings.SplitSeq(rel, "/") {
		forms = append(forms, formOf(name))
	}
	return forms
}

func formOf(name string) form {
	f := form{folded: fold(name)}
	for _, p := range public {
		f.public = f.public || glob(p, f.folded)
	}
	base, ext, _ := strings.Cut(f.folded, ".")
	stem, number, ok := strings.Cut(base, "~")
	if !ok || stem == "" || number == "" || strings.Trim(number, "0123456789") != "" {
		return f
	}
	f.short, f.ext = stem, ext
	if len(stem) == 6 && strings.Trim(stem[2:], "0123456789abcdef") == "" {
		f.hashed = stem[:2]
	}
	return f
}

// glob matches a name with a pattern that has at most one *.
func glob(pattern, name string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

func (f form) match(pattern string) bool {
	if glob(pattern, f.folded) {
		return !f.public
	}
	if f.short == "" {
		return false
	}
	if ext, ok := strings.CutPrefix(pattern, "*."); ok {
		return f.ext != "" && f.ext == ext[:min(len(ext), 3)]
	}
	// The short name has the first letters without dots, and the first three of the extension.
	long := strings.TrimLeft(pattern, ".")
	ext := ""
	if i := strings.LastIndexByte(long, '.'); i >= 0 {
		long, ext = long[:i], long[i+1:]
	}
	long = strings.Map(func(r rune) rune {
		if r == '.' || r == ' ' || r == '*' {
			return -1
		}
		return r
	}, long)
	if f.ext != ext[:min(len(ext), 3)] && !strings.Contains(ext, "*") {
		return false
	}
	return f.short == long[:min(len(long), 6)] || (f.hashed != "" && strings.HasPrefix(long, f.hashed))
}

// fold makes names equal that some file system takes for equal: it drops characters that are ignored, an alternate
// stream, and dots and spaces at the end, takes full-width letters for plain ones, and ignores case.
func fold(name string) string {
	if i := strings.IndexByte(name, ':'); i > 0 {
		name = name[:i]
	}
	plain := true
	for i := range len(name) {
		if c := name[i]; c >= 0x80 || ('A' <= c && c <= 'Z') || c == ' ' || c == '.' && i == len(name)-1 {
			plain = false
			break
		}
	}
	if plain {
		return name
	}
	name = strings.Map(foldRune, name)
	return strings.TrimRight(name, ". ")
}

func foldRune(r rune) rune {
	switch {
	case r < 0x80:
		return unicode.ToLower(r)
	case ignorable(r):
		return -1
	case r >= 0xFF01 && r <= 0xFF5E:
		return unicode.ToLower(r - 0xFEE0)
	case r == 0x3000 || unicode.IsSpace(r):
		return ' '
	case r == 0x2024 || r == 0xFE52:
		return '.'
	}
	// The smallest of the letters that fold to each other: K for the Kelvin sign, s for the long s.
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return unicode.ToLower(least)
}

// ignorable reports whether a file system may ignore the character, or a person not see it.
func ignorable(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
		unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Cc, r)
}
