package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitdir"
	"github.com/tongs-ai/tongs/internal/hostpath"
)

// foundFor is how long the repositories inside of git directories are known before they are looked for again. Those in the
// roots, and one that a path is in, are always found.
const foundFor = 30 * time.Second

// gitNames knows the paths in the roots that git runs or obeys because its configuration names them. It is safe for
// concurrent use.
type gitNames struct {
	mu           sync.Mutex
	repositories []gitdir.Repository
	known        map[string]bool // by git directory
	found        time.Time
	edition      int // of the survey that they were found in
	names        []configured
	err          error
	// looked is what was looked at to find the names, as it was then.
	looked map[string]look
}

// configured is a name with its path as the most careless file system would take it.
type configured struct {
	gitdir.Name
	folded string
}

// look is what tells whether a file or directory is still the same. The zero one is that of what is not there.
type look struct {
	info fs.FileInfo
	at   time.Time
}

func lookAt(path string) look {
	info, err := os.Lstat(path)
	if err != nil {
		return look{at: time.Now()}
	}
	return look{info, time.Now()}
}

// settled is how long ago something must have changed for its times to tell that it did not since.
const settled = 2 * time.Second

// same reports whether now is the same, and was the same all the time.
func (l look) same(now look) bool {
	if l.info == nil || now.info == nil {
		return l.info == nil && now.info == nil
	}
	return os.SameFile(l.info, now.info) && l.info.ModTime().Equal(now.info.ModTime()) && l.info.Size() == now.info.Size() &&
		l.info.Mode() == now.info.Mode() && l.at.Sub(l.info.ModTime()) > settled
}

// gitNamed returns the paths that git's configuration names, for a change at the host path.
func (w *Workspace) gitNamed(host string) ([]configured, error) {
	g := &w.git
	g.mu.Lock()
	defer g.mu.Unlock()
	roots := w.writable()
	found, edition := w.sights()
	if g.edition != edition || time.Since(g.found) > foundFor {
		g.found, g.edition, g.repositories, g.known, g.looked = time.Now(), edition, nil, map[string]bool{}, nil
		for _, root := range roots {
			g.add(gitdir.Found(root, found[root].gits, found[root].bare))
		}
	}
	g.add(gitdir.Above(filepath.Dir(host)))
	if !g.current() {
		g.read(roots)
	}
	return g.names, g.err
}

// writable are the directories of the roots that can be written to.
func (w *Workspace) writable() (dirs []string) {
	for _, r := range w.Present() {
		if r.Writable {
			dirs = append(dirs, r.Dir)
		}
	}
	return dirs
}

// add takes repositories that are new.
func (g *gitNames) add(list []gitdir.Repository) {
	for _, r := range list {
		if key := r.Dir + "\x00" + r.Top; !g.known[key] {
			g.known[key] = true
			g.repositories, g.looked = append(g.repositories, r), nil
		}
	}
}

// current reports whether nothing changed since the names were found.
func (g *gitNames) current() bool {
	for path, was := range g.looked {
		if !was.same(lookAt(path)) {
			return false
		}
	}
	return g.looked != nil
}

// read finds the names.
func (g *gitNames) read(roots []string) {
	looked := map[string]look{}
	names, files, err := gitdir.ThisHost().Named(roots, g.repositories)
	for _, n := range names {
		files = append(files, n.Path, filepath.Dir(n.Path))
	}
	for _, r := range g.repositories {
		files = append(files, filepath.Join(r.Dir, "commondir"), filepath.Join(r.Dir, "gitdir"))
	}
	for _, f := range files {
		looked[f] = lookAt(f)
	}
	g.names, g.err, g.looked = nil, err, looked
	for _, n := range names {
		g.names = append(g.names, configured{n, foldPath(n.Path)})
	}
}

func foldPath(path string) string {
	elems := strings.Split(filepath.ToSlash(path), "/")
	for i, e := range elems {
		elems[i] = fold(e)
	}
	return strings.Join(elems, "/")
}

// configured reports whether p is a path that git's configuration names, is in such a directory, or is one on the way there:
// what is moved there could have the rest.
func (w *Workspace) configured(p tongs.Path) (why string, ok bool) {
	if p.Rel == "." {
		return "", false
	}
	host := w.Host(p)
	names, err := w.gitNamed(host)
	if err != nil {
		return "protected: git may run it, its configuration cannot be read: " + err.Error(), true
	}
	if len(names) == 0 {
		return "", false
	}
	at := foldPath(host)
	for _, n := range names {
		if at == n.folded || n.Tree && hostpath.Within(n.folded, at) || hostpath.Within(at, n.folded) {
			return "protected: git " + n.Why, true
		}
	}
	return "", false
}

// configuredBelow says which path in the directory p git's configuration names.
func (w *Workspace) configuredBelow(p tongs.Path) (why string, ok bool) {
	host := w.Host(p)
	names, err := w.gitNamed(filepath.Join(host, "x"))
	if err != nil {
		return "cannot be checked for what git runs: " + err.Error(), true
	}
	at := foldPath(host)
	for _, n := range names {
		info, err := os.Lstat(n.Path)
		if err == nil && (n.Tree || !info.IsDir()) && hostpath.Within(at, n.folded) {
			return "contains " + n.Path + ", and git " + n.Why, true
		}
	}
	return "", false
}
