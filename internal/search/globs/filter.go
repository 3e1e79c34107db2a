package globs

import "strings"

// Filter is a list of patterns that pick files by their path, as a search takes them: a pattern without a slash is about
// the name, at any depth; one with a slash about the whole path; one that begins with "!" leaves out what it matches,
// and one that ends in a slash is about everything in the directory. The last pattern that matches decides. A path that
// none matches is picked only where every pattern begins with "!". A nil filter picks everything.
type Filter struct {
	rules []rule
	// other is whether a path is picked that no pattern matches.
	other bool
}

type rule struct {
	glob *Glob
	out  bool
}

// NewFilter compiles the patterns. Without any it returns nil.
func NewFilter(patterns ...string) (*Filter, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	f := &Filter{other: true}
	for _, p := range patterns {
		p, out := strings.CutPrefix(p, "!")
		g, err := Compile(loose(p))
		if err != nil {
			return nil, err
		}
		f.other = f.other && out
		f.rules = append(f.rules, rule{g, out})
	}
	return f, nil
}

// loose turns a pattern of a filter into one for whole paths.
func loose(p string) string {
	p = strings.TrimPrefix(p, "./")
	body, dir := strings.CutSuffix(p, "/")
	if trimmed, ok := strings.CutPrefix(body, "/"); ok {
		body = trimmed
	} else if !strings.Contains(body, "/") {
		body = "**/" + body
	}
	if dir {
		body += "/**"
	}
	return body
}

// Match reports whether the filter picks the path.
func (f *Filter) Match(path string) bool {
	if f == nil {
		return true
	}
	for i := len(f.rules) - 1; i >= 0; i-- {
		if f.rules[i].glob.Match(path) {
			return !f.rules[i].out
		}
	}
	return f.other
}

// Below reports whether the filter could pick something below the directory.
func (f *Filter) Below(dir string) bool {
	if f == nil || f.other {
		return true
	}
	for _, r := range f.rules {
		if !r.out && r.glob.Below(dir) {
			return true
		}
	}
	return false
}
