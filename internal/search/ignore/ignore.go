// Package ignore decides which files git would leave alone, as gitignore(5) says it and as git does it: nested
// files, negation, anchoring, **, escapes, character classes, directories only, .git/info/exclude and
// core.excludesFile. Two further names, .ignore and .tongsignore, hold patterns of the same form for tools that search.
//
// A [List] is the compiled patterns of one file, and knows nothing of where that file lies. [Rules] are the lists that
// bear on the entries of one directory, in order of precedence; each directory's rules derive from those of the
// directory above. What lies in an excluded directory is never asked about: whoever walks does not go there, which is
// why nothing below it can be included again.
//
// Precedence, strongest first, and in each row the file nearest to the entry before those above it:
//
//  1. .tongsignore
//  2. .ignore
//  3. .gitignore, up to the root of the repository
//  4. .git/info/exclude of the repository
//  5. core.excludesFile of the user, or ~/.config/git/ignore
//
// In a file the last pattern that matches wins. Everything in this package is safe for concurrent use.
package ignore

import (
	"bytes"
	"slices"
	"strings"
)

// Verdict is what patterns say about a path.
type Verdict int8

// The verdicts. Silent means that no pattern matched.
const (
	Silent   Verdict = 0
	Excluded Verdict = 1
	Included Verdict = -1
)

// List is the compiled patterns of one file. It does not change.
type List struct {
	fold bool
	// included has a bit for each pattern that begins with "!".
	included []bool
	// names and paths find patterns without wildcards: by the last element, or by the whole path below the file.
	names, paths map[string]place
	// ends finds patterns of the form *.ext by ".ext", where that has no other dot.
	ends map[string]place
	// rest are all other patterns, the last one first.
	rest []pattern
	// deep is set where a pattern needs the whole path, not the last element alone.
	deep bool
}

// place is where in its file a pattern stands, counted from 1, and 0 where there is none: of those for everything, and
// of those for directories only. Of several equal patterns the last one counts.
type place struct{ any, dir int32 }

func (p place) at(dir bool) int32 {
	if dir {
		return max(p.any, p.dir)
	}
	return p.any
}

// Parse compiles the content of an ignore file. Nothing in it is an error: git takes a pattern that it cannot read for
// one that matches nothing, and so does this. With fold, ASCII letters match whatever their case is (core.ignoreCase).
// Parse returns nil where there is no pattern at all; a nil List is silent.
func Parse(content []byte, fold bool) *List {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	l := &List{fold: fold}
	for len(content) > 0 {
		var line []byte
		line, content, _ = bytes.Cut(content, []byte{'\n'})
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		line = bytes.TrimSuffix(line, []byte{'\r'})
		line, _, _ = bytes.Cut(line, []byte{0})
		l.add(trimSpaces(string(line)))
	}
	if len(l.included) == 0 {
		return nil
	}
	slices.Reverse(l.rest)
	return l
}

// trimSpaces takes off the spaces at the end that no backslash protects.
func trimSpaces(line string) string {
	end := len(strings.TrimRight(line, " "))
	if end == len(line) {
		return line
	}
	slashes := end - len(strings.TrimRight(line[:end], `\`))
	if slashes%2 == 1 {
		end++
	}
	return line[:end]
}

// add compiles one line.
func (l *List) add(line string) {
	p, ok := compile(line, l.fold)
	if !ok {
		return
	}
	l.included = append(l.included, p.include)
	p.at = int32(len(l.included))
	switch {
	case p.form == formLiteral && p.deep:
		l.deep = true
		put(&l.paths, p.text, p)
	case p.form == formLiteral:
		put(&l.names, p.text, p)
	case p.form == formEnd && strings.LastIndexByte(p.text, '.') == 0:
		put(&l.ends, p.text, p)
	default:
		l.deep = l.deep || p.deep
		l.rest = append(l.rest, p)
	}
}

func put(m *map[string]place, key string, p pattern) {
	if *m == nil {
		*m = map[string]place{}
	}
	at := (*m)[key]
	if p.dirOnly {
		at.dir = p.at
	} else {
		at.any = p.at
	}
	(*m)[key] = at
}

// Match decides about a path relative to the directory of the ignore file, without a slash at either end.
func (l *List) Match(rel string, dir bool) Verdict {
	if l == nil {
		return Silent
	}
	return l.match(rel, rel[strings.LastIndexByte(rel, '/')+1:], dir)
}

// match is Match for a path whose last element is known.
func (l *List) match(rel, name string, dir bool) Verdict {
	if l.fold {
		if l.deep {
			rel = lower(rel)
		}
		name = lower(name)
	}
	best := int32(0)
	if l.names != nil {
		best = l.names[name].at(dir)
	}
	if l.ends != nil {
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
			best = max(best, l.ends[name[dot:]].at(dir))
		}
	}
	if l.paths != nil {
		best = max(best, l.paths[rel].at(dir))
	}
	for i := range l.rest {
		p := &l.rest[i]
		if p.at < best {
			break
		}
		if (dir || !p.dirOnly) && p.match(rel, name) {
			best = p.at
			break
		}
	}
	switch {
	case best == 0:
		return Silent
	case l.included[best-1]:
		return Included
	default:
		return Excluded
	}
}

// lower folds ASCII letters, as git does.
func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				b[i] = lowerByte(b[i])
			}
			return string(b)
		}
	}
	return s
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
