package workspace

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitdir"
	"github.com/tongs-ai/tongs/internal/hostpath"
)

// others are directories of other people's packages, in which neither repositories nor links are looked for.
var others = []string{"node_modules", "site-packages", "__pycache__", ".venv"}

// toChange and toRead are for how many times as long as the last look at the roots took nothing is looked at again, for
// changes and for reading: a call that asks about thousands of paths looks once in a while, and looking never takes more than
// a small part of the time. What this process changes, and a link that a path leads through, counts at once.
const toChange, toRead = 10, 100

// survey knows where in the writable roots the links and the repositories are. A directory that did not change since it was
// read is not read again, so that every answer is about what is there now. It is safe for concurrent use.
type survey struct {
	mu   sync.Mutex
	dirs map[string]*surveyed // by the directory of the root
	// looked is when the roots were looked at, and took how long that took.
	looked time.Time
	took   time.Duration
	found  map[string]sights // by the directory of the root
	// edition changes with what was found.
	edition int
	// named are those of the links that were found whose own path has a protected name.
	named []string
	// homes are the directories of the user in which links are looked for, by their path.
	homes map[string]*surveyed
	// followed are links that a path led through. They count wherever they are.
	followed map[string]bool

	aliases *aliases
	// stale says that the links were looked at since the aliases were found.
	stale bool
}

// sights are the paths on this machine of links, of entries called .git, and of directories that git takes for a repository.
type sights struct{ links, gits, bare []string }

func (s sights) equal(o sights) bool {
	return slices.Equal(s.links, o.links) && slices.Equal(s.gits, o.gits) && slices.Equal(s.bare, o.bare)
}

// surveyed is a directory as it was when it was read.
type surveyed struct {
	name        string
	stamp       stamp
	links, gits []string
	bare        bool
	subs        []*surveyed
}

// stamp tells whether a directory is still the same. The zero one never is.
type stamp struct {
	device, inode uint64
	changed       int64 // in nanoseconds
}

// forget has the roots looked at again: something in them was changed.
func (s *survey) forget() {
	s.mu.Lock()
	s.looked = time.Time{}
	s.mu.Unlock()
}

// follow takes a link that a path led through.
func (s *survey) follow(link string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.followed == nil {
		s.followed = map[string]bool{}
	}
	s.followed[link], s.stale = true, true
}

// sights returns what is in each of the roots now, and the edition of that.
func (w *Workspace) sights() (map[string]sights, int) {
	w.survey.mu.Lock()
	defer w.survey.mu.Unlock()
	w.survey.look(w, toChange)
	return w.survey.found, w.survey.edition
}

// look looks at the roots, where that was not just done. The caller holds the lock.
func (s *survey) look(w *Workspace, rest time.Duration) {
	start := time.Now()
	if start.Sub(s.looked) < rest*s.took {
		if s.stale {
			s.aliases, s.stale = w.aliasesOf(s, nil), false
		}
		return
	}
	dirs, found := map[string]*surveyed{}, map[string]sights{}
	same := true
	for _, r := range w.Present() {
		if !r.Writable {
			continue
		}
		d := s.dirs[r.Dir]
		if d == nil {
			d = &surveyed{}
		}
		var seen sights
		if r.Name == tongs.RepositoryRoot {
			seen.bare = []string{r.Dir}
		} else {
			d.visit(r.Dir, false, &seen)
		}
		dirs[r.Dir], found[r.Dir] = d, seen
		same = same && seen.equal(s.found[r.Dir])
	}
	s.dirs = dirs
	s.lookHome()
	if !same || len(found) != len(s.found) {
		s.edition++
		s.found, s.named = found, w.namedLinks(found)
	}
	s.aliases, s.stale = w.aliasesOf(s, nil), false
	s.looked = time.Now()
	s.took = s.looked.Sub(start)
}

// inHome are the directories of a home whose links count: people keep their configuration in a repository, and have links to it.
var inHome = []string{".", ".config", ".ssh"}

// lookHome looks at the homes of the user, not at what is deep in them.
func (s *survey) lookHome() {
	homes := map[string]*surveyed{}
	for _, home := range gitdir.ThisHost().Homes {
		for _, name := range inHome {
			dir := filepath.Join(home, name)
			d := s.homes[dir]
			if d == nil {
				d = &surveyed{}
			}
			real := dir
			if to, err := filepath.EvalSymlinks(dir); err == nil { // people have links to them, too
				real = to
			}
			d.refresh(real)
			homes[dir] = d
		}
	}
	s.homes = homes
}

// homeLinks are the links in the homes, with their paths below them.
func (s *survey) homeLinks() map[string]string {
	links := map[string]string{}
	for _, home := range gitdir.ThisHost().Homes {
		for _, name := range inHome {
			d := s.homes[filepath.Join(home, name)]
			if d == nil {
				continue
			}
			for _, link := range d.links {
				links[filepath.Join(home, name, link)] = path.Join(name, link)
			}
		}
	}
	return links
}

// refresh reads the directory where it changed since it was read.
func (d *surveyed) refresh(path string) {
	now := stampOf(path)
	if now != (stamp{}) && d.stamp == now {
		return
	}
	d.read(path)
	if d.stamp = now; time.Since(time.Unix(0, now.changed)) < settled {
		d.stamp = stamp{}
	}
}

// visit adds what is in the directory and below it. Modules says that it is in what a repository has of its submodules and
// worktrees, whose names may be any.
func (d *surveyed) visit(path string, modules bool, seen *sights) {
	d.refresh(path)
	if d.bare {
		seen.bare = append(seen.bare, path)
	}
	for _, name := range d.links {
		seen.links = append(seen.links, filepath.Join(path, name))
	}
	for _, name := range d.gits {
		seen.gits = append(seen.gits, filepath.Join(path, name))
	}
	for _, sub := range d.subs {
		inside := modules || d.bare && (sub.name == "modules" || sub.name == "worktrees")
		if inside || !slices.Contains(others, sub.name) {
			sub.visit(path+string(filepath.Separator)+sub.name, inside, seen)
		}
	}
}

// read fills d from the directory. Of subdirectories that it had before, it keeps what is known. What cannot be read has
// nothing.
func (d *surveyed) read(path string) {
	had := make(map[string]*surveyed, len(d.subs))
	for _, sub := range d.subs {
		had[sub.name] = sub
	}
	entries := entriesOf(path)
	*d = surveyed{name: d.name}
	d.bare = gitdir.Is(func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	})
	for _, e := range entries {
		name := e.Name()
		if e.Type()&fs.ModeSymlink != 0 {
			d.links = append(d.links, name)
		}
		switch {
		case strings.EqualFold(name, ".git"):
			d.gits = append(d.gits, name)
		case e.IsDir():
			sub := had[name]
			if sub == nil {
				sub = &surveyed{name: name}
			}
			d.subs = append(d.subs, sub)
		}
	}
}

// entriesOf returns the entries of a directory in no order, as far as it can be read.
func entriesOf(path string) []fs.DirEntry {
	f, err := hostpath.OpenDir(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1)
	return entries
}
