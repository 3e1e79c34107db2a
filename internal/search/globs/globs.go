// Package globs matches many slash-separated paths with one pattern. A pattern is compiled once; matching allocates
// nothing.
//
//   - any characters but a slash
//     ?        one character but a slash
//     **       as an element by itself: any number of directories, also none; at the end, whatever is below
//     [a-z]    one of these characters; [!a-z] and [^a-z] any other; [[:alpha:]] by name; never a slash
//     {a,b}    either; alternatives can have slashes, wildcards and further braces, and may be empty
//     \x       the character x itself
//
// So **/*.go matches main.go, a/**/b matches a/b, and a/** matches what is in a but not a. A name that begins with a dot is
// a name like any other.
package globs

import (
	"errors"
	"fmt"
	"strings"
)

// Glob is a compiled pattern. It does not change and is safe for concurrent use.
type Glob struct {
	ways []way
}

// way is a pattern without braces: its elements, one for each of the path's, where any stands for any number of them.
type way []element

// Compile compiles a pattern that must match the whole path. A leading "./" does not count.
func Compile(pattern string) (*Glob, error) {
	g := &Glob{}
	spread, err := expand(strings.TrimPrefix(pattern, "./"))
	if err != nil {
		return nil, fmt.Errorf("glob %q: %w", pattern, err)
	}
	for _, p := range spread {
		w, err := parse(p)
		if errors.Is(err, errEmpty) && len(spread) > 1 {
			continue // an empty alternative of several: no path is like that
		}
		if err != nil {
			return nil, fmt.Errorf("glob %q: %w", pattern, err)
		}
		g.ways = append(g.ways, w)
	}
	if len(g.ways) == 0 {
		return nil, fmt.Errorf("glob %q: %w", pattern, errEmpty)
	}
	return g, nil
}

// Match reports whether the pattern matches the path, which is clean and relative.
func (g *Glob) Match(path string) bool {
	for _, w := range g.ways {
		if w.match(path) {
			return true
		}
	}
	return false
}

// Below reports whether something below the directory could match, so that there is a point in looking there.
func (g *Glob) Below(dir string) bool {
	for _, w := range g.ways {
		if w.below(dir) {
			return true
		}
	}
	return false
}

// Base returns the directory that everything which matches is in, as far as the pattern fixes it: "src/lib" for
// "src/lib/**/*.go", "." where that can be anywhere.
func (g *Glob) Base() string {
	base := g.base()
	if len(base) == 0 {
		return "."
	}
	return strings.Join(base, "/")
}

// InBase returns the glob for paths relative to its base.
func (g *Glob) InBase() *Glob {
	cut := len(g.base())
	rest := &Glob{ways: make([]way, len(g.ways))}
	for i, w := range g.ways {
		rest.ways[i] = w[cut:]
	}
	return rest
}

// base returns the elements that every way begins with, without wildcards and without the last element of any.
func (g *Glob) base() (base []string) {
	for i, w := range g.ways {
		var fixed []string
		for _, e := range w[:len(w)-1] {
			if e.form != formLiteral || e.any {
				break
			}
			fixed = append(fixed, e.text)
		}
		if i == 0 {
			base = fixed
			continue
		}
		n := 0
		for n < min(len(base), len(fixed)) && base[n] == fixed[n] {
			n++
		}
		base = base[:n]
	}
	return base
}

// Literal reports whether the pattern names one path, without wildcards, and which.
func (g *Glob) Literal() (string, bool) {
	if len(g.ways) != 1 {
		return "", false
	}
	names := make([]string, len(g.ways[0]))
	for i, e := range g.ways[0] {
		if e.any || e.form != formLiteral {
			return "", false
		}
		names[i] = e.text
	}
	return strings.Join(names, "/"), true
}

// next cuts the first element off a path. rest is "" and more false where it was the last one.
func next(path string) (name, rest string, more bool) {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:], true
	}
	return path, "", false
}

// match tries the elements one by one. Only the last ** is tried again: an earlier one that took more would leave
// nothing that the last one cannot leave too.
func (w way) match(path string) bool {
	i, more := 0, true
	again, from := -1, ""
	for {
		if i < len(w) && w[i].any {
			if i+1 == len(w) {
				return more
			}
			i++
			if again, from = i, path; !more {
				return false
			}
			if i+1 == len(w) { // the usual **/*.go: only the last element matters
				return w[i].match(path[strings.LastIndexByte(path, '/')+1:])
			}
			continue
		}
		if i < len(w) && more {
			name, rest, left := next(path)
			if w[i].match(name) {
				i, path, more = i+1, rest, left
				continue
			}
		} else if i == len(w) && !more {
			return true
		}
		if again < 0 {
			return false
		}
		var left bool
		if _, from, left = next(from); !left {
			return false
		}
		i, path, more = again, from, true
	}
}

// below is match for the beginning of a path.
func (w way) below(dir string) bool {
	if dir == "." || dir == "" {
		return true
	}
	for i := range w {
		if w[i].any {
			return true
		}
		name, rest, more := next(dir)
		if !w[i].match(name) {
			return false
		}
		if !more {
			return i+1 < len(w)
		}
		dir = rest
	}
	return false
}
