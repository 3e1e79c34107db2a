package policy

import (
	"errors"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/tongs-ai/tongs"
)

// Match reports whether the effect is of the kind and its target is one that the pattern names, read the way a
// preApproved rule or a grant is read: a pattern covers what it says and nothing beside. An unknown effect is matched by
// no pattern, nor is anything by a malformed one.
//
// An ask or blocked rule is read more widely, so that another spelling does not evade it: a command's pattern also
// holds for the program given by a path ("rm" for /bin/rm), a host without a port for every port of it, and a pattern
// of paths for the delete of a directory above them.
func Match(kind tongs.EffectKind, pattern string, effect tongs.Effect) bool {
	return known(kind) && effect.Kind == kind && !opaque(&effect) && leniently(pattern, &effect) == yes
}

// MatchWidely is Match with the pattern read the way an ask or blocked rule is read. A malformed pattern matches everything.
func MatchWidely(kind tongs.EffectKind, pattern string, effect tongs.Effect) bool {
	return known(kind) && effect.Kind == kind && !opaque(&effect) && strictly(pattern, &effect) != no
}

// meeting is whether an effect is one that a rule is about.
type meeting uint8

const (
	no meeting = iota
	maybe
	yes
)

func met(ok bool) meeting {
	if ok {
		return yes
	}
	return no
}

// opaque reports whether the target of the effect cannot be told.
func opaque(e *tongs.Effect) bool {
	switch {
	case e.Unknown:
		return true
	case e.Kind.OnPath():
		return e.Path.Rel == ""
	case e.Kind == tongs.EffectExecute:
		return len(e.Argv) == 0 || e.Argv[0] == ""
	default:
		return e.Host == ""
	}
}

// leniently matches the pattern of a preApproved rule or a grant.
func leniently(pattern string, e *tongs.Effect) meeting {
	var ok bool
	var err error
	switch {
	case e.Kind.OnPath():
		ok, err = matchPath(pattern, e.Path)
	case e.Kind == tongs.EffectExecute:
		ok, err = commandOf(e, false).matches(pattern)
	case e.Private && strings.Contains(pattern, "*"):
		// whoever wrote it did not mean an address of this machine or network
	default:
		ok, err = matchHost(pattern, e.Host, false)
	}
	return met(ok && err == nil)
}

// strictly matches the pattern of an ask or blocked rule. A malformed pattern may be met by everything.
func strictly(pattern string, e *tongs.Effect) meeting {
	var ok bool
	var err error
	switch {
	case e.Kind.OnPath():
		ok, err = matchPath(pattern, e.Path)
		if err == nil && !ok && e.Kind == tongs.EffectDelete {
			return below(pattern, e.Path)
		}
	case e.Kind == tongs.EffectExecute:
		ok, err = commandOf(e, true).matches(pattern)
	default:
		ok, err = matchHost(pattern, e.Host, true)
	}
	if err != nil {
		return maybe
	}
	return met(ok)
}

// globMeta are the characters that make a path a pattern.
const globMeta = `*?[{\`

// cleanGlob takes off what does not matter: a leading "./" and a trailing slash, which it reports.
func cleanGlob(pattern string) (clean string, dir bool) {
	clean = strings.TrimPrefix(pattern, "./")
	if len(clean) > 1 && strings.HasSuffix(clean, "/") && !strings.HasSuffix(clean, `\/`) {
		return strings.TrimRight(clean, "/"), true
	}
	return clean, false
}

// matchPath matches a glob. One that begins with a slash is about zones, any other about the workspace. A pattern
// without wildcards, or with a slash at its end, covers what is below it.
func matchPath(pattern string, p tongs.Path) (bool, error) {
	p = p.Judged()
	if strings.HasPrefix(pattern, "/") != (p.Root != tongs.WorkspaceRoot) {
		return false, nil
	}
	name := p.String()
	glob, dir := cleanGlob(pattern)
	if glob == "." || glob == "" {
		return true, nil
	}
	if !strings.ContainsAny(glob, globMeta) {
		return inside(name, glob), nil
	}
	if costly(glob) {
		return false, errCostly
	}
	ok, err := doublestar.Match(glob, name)
	if err == nil && !ok && dir {
		ok, err = doublestar.Match(glob+"/**", name)
	}
	return ok, err
}

var errCostly = errors.New("it has more than 4 groups of braces or 32 commas; make several rules of it")

// costly reports whether matching a glob could take long: each group of braces multiplies the ways to try, and a rule
// may come from a file that nobody trusts.
func costly(glob string) bool {
	if strings.IndexByte(glob, '{') < 0 {
		return false
	}
	groups, commas := 0, 0
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '\\':
			i++
		case '{':
			groups++
		case ',':
			commas++
		}
	}
	return groups > 4 || groups > 0 && commas > 32
}

// below decides whether deleting p would delete something that the pattern names. Where the pattern's fixed part is p
// or below it, it would; where p is inside a pattern that goes on, that depends on whether p is a directory.
func below(pattern string, p tongs.Path) meeting {
	p = p.Judged()
	if strings.HasPrefix(pattern, "/") != (p.Root != tongs.WorkspaceRoot) {
		return no
	}
	glob, _ := cleanGlob(pattern)
	name := p.String()
	fixed, rest := glob, ""
	if strings.ContainsAny(glob, globMeta) {
		fixed, rest = doublestar.SplitPattern(glob)
	}
	switch {
	case name == "." || inside(fixed, name):
		return yes
	case rest == "" || fixed != "." && !inside(name, fixed):
		return no
	case strings.Contains(rest, "**") || strings.ContainsRune(rest, '{'):
		return maybe
	}
	// Without ** each segment of the pattern is one of the path: a shorter path may be a directory above a match.
	segments, depth := strings.Split(glob, "/"), strings.Count(name, "/")+1
	if depth >= len(segments) {
		return no
	}
	ok, err := doublestar.Match(strings.Join(segments[:depth], "/"), name)
	if err != nil || ok {
		return maybe
	}
	return no
}

// inside reports whether name is dir or below it.
func inside(name, dir string) bool {
	return strings.HasPrefix(name, dir) && (len(name) == len(dir) || name[len(dir)] == '/')
}

// starMatch matches s against a pattern in which * stands for any characters. Everything else is literal.
func starMatch(pattern, s string) bool {
	star := strings.IndexByte(pattern, '*')
	if star < 0 {
		return pattern == s
	}
	if !strings.HasPrefix(s, pattern[:star]) {
		return false
	}
	s, pattern = s[star:], pattern[star+1:]
	for {
		star = strings.IndexByte(pattern, '*')
		if star < 0 {
			return strings.HasSuffix(s, pattern)
		}
		at := strings.Index(s, pattern[:star])
		if at < 0 {
			return false
		}
		s, pattern = s[at+star:], pattern[star+1:]
	}
}
