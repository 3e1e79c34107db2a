package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// complaints are how programs say that they did not get something. What the sandbox hides looks absent to them.
type complaints struct {
	refused, path *regexp.Regexp
	hosts         []*regexp.Regexp
}

// complaintsOnce compiles them when they are first needed: a helper process never does.
var complaintsOnce = sync.OnceValue(func() complaints {
	c := complaints{
		refused: regexp.MustCompile(`(?i)permission denied|operation not permitted|read-only file system|no such file or directory|device or resource busy|EACCES|EPERM|EROFS|ENOENT|EBUSY`),
		path:    regexp.MustCompile("(?:^|[\\s'\"`‘(=:\\[])((?:/|\\./|\\.\\./)?[\\pL\\pN._@+~-]+(?:/[\\pL\\pN._@+~-]+)*)"),
	}
	for _, h := range []string{
		`(?i)could not resolve host:?\s+([a-z0-9.-]+)`,
		`(?i)getaddrinfo (?:ENOTFOUND|EAI_AGAIN) ([a-z0-9.-]+)`,
		`(?i)dial \w+: lookup ([a-z0-9.-]+)`,
		`(?i)failed to resolve '([a-z0-9.-]+)'`,
		`(?i)unable to resolve host address ['‘]([a-z0-9.-]+)`,
	} {
		c.hosts = append(c.hosts, regexp.MustCompile(h))
	}
	return c
})

const maxDenied = 20

// findDenied finds, in what a command wrote, paths that it wanted and that are there but not for it, and hosts.
func findDenied(text, dir string, res *resolved, mode NetworkMode) (list []Denial) {
	said := complaintsOnce()
	add := func(d Denial) {
		if len(list) < maxDenied && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 2000 {
			continue
		}
		if mode != NetworkOpen && mentions(line, "resolve", "getaddrinfo", "lookup") {
			for _, re := range said.hosts {
				if m := re.FindStringSubmatch(line); m != nil && m[1] != "localhost" {
					add(Denial{Kind: "network", Host: strings.TrimSuffix(strings.ToLower(m[1]), ".")})
				}
			}
		}
		if !mentions(line, "denied", "permitted", "Read-only", "read-only", "No such", "no such", "busy", "EACCES", "EPERM", "EROFS", "ENOENT", "EBUSY") ||
			!said.refused.MatchString(line) {
			continue
		}
		readOnly := mentions(line, "ead-only file system", "EROFS")
		for _, m := range said.path.FindAllStringSubmatch(line, 8) {
			if kind := deniedPath(m[1], dir, readOnly, res); kind != nil {
				add(*kind)
			}
		}
	}
	return list
}

// mentions reports whether a line holds one of the words: a quick look before the slow ones.
func mentions(line string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(line, w) {
			return true
		}
	}
	return false
}

// deniedPath says what of a path on the host the sandbox kept from the command, or nil. A path that does not exist was
// not kept from anybody, unless it would have been made where nothing can be: readOnly says that the command was told so.
func deniedPath(path, dir string, readOnly bool, res *resolved) *Denial {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	for _, own := range []string{"/proc", "/dev", "/sys"} {
		if hostpath.Within(own, path) && res.treeOf(path) == nil {
			return nil
		}
	}
	_, err := os.Lstat(path)
	exists := err == nil
	if real, _, err := resolve(path); err == nil && (within(res.hidden, real) || within(res.protected, real)) {
		path = real
	}
	t := res.treeOf(path)
	switch {
	case t == nil && exists && path != "/":
		return &Denial{Kind: "read", Path: path}
	case t == nil:
		return nil
	case exists && within(res.hidden, path):
		return &Denial{Kind: "read", Path: path}
	case exists && within(res.protected, path), t.writable() && exists && slices.Contains(res.absent, path):
		return &Denial{Kind: "write", Path: path}
	case readOnly && t.writable() && within(res.protected, filepath.Dir(path)):
		return &Denial{Kind: "write", Path: path}
	case !t.writable() && strings.Contains(path, "/") && filepath.IsAbs(path):
		if _, err := os.Lstat(filepath.Dir(path)); err == nil && !exists {
			return &Denial{Kind: "write", Path: path}
		}
	}
	return nil
}

func within(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return hostpath.Within(d, path) })
}

// denied looks through what the command wrote last.
func (s *streams) denied(dir string, res *resolved, mode NetworkMode) []Denial {
	return findDenied(s.tails[0].text()+"\n"+s.tails[1].text(), dir, res, mode)
}
