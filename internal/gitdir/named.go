package gitdir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// Name is a path that the configuration of git names, and that git runs or obeys.
type Name struct {
	Path string
	// Tree means everything at and below the path. Otherwise it means a file: a directory there is nothing that git runs.
	Tree bool
	// Why completes "git ".
	Why string
}

// hookNames are the programs that git runs from a directory of hooks.
var hookNames = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg",
	"post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update", "proc-receive",
	"post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite",
	"sendemail-validate", "fsmonitor-watchman", "query-watchman", "p4-changelist", "p4-prepare-changelist", "p4-post-changelist",
	"p4-pre-submit", "post-index-change",
}

// Repository is a git directory, and the directory in which git runs programs for it where that is known.
type Repository struct{ Dir, Top string }

// Named returns the paths below the roots that git would run or obey because the configuration of one of the repositories
// names them, or the user's does. Roots have no links in them. Files are those that decided it.
func (h Host) Named(roots []string, repositories []Repository) (names []Name, files []string, err error) {
	n := naming{host: h, roots: roots, seen: map[Name]bool{}, links: map[string]string{}}
	list, files, err := h.settings()
	users := map[string]bool{} // where the user's settings were looked at
	for _, root := range roots {
		n.settings(list, root)
		users[root] = true
	}
	for _, r := range repositories {
		own, looked, failed := h.local(r.Dir)
		if files = append(files, looked...); failed != nil {
			err = failed
		}
		tops := Tops(r.Dir)
		if r.Top != "" && !slices.Contains(tops, r.Top) {
			tops = append(tops, r.Top)
		}
		for _, top := range tops {
			if top = real(top); !users[top] {
				users[top] = true
				n.settings(list, top)
			}
			n.settings(own, top)
		}
		files = append(files, n.linked(r)...)
	}
	slices.Sort(files)
	return n.names, slices.Compact(files), errors.Join(err, n.err)
}

// maxWords is how many paths the words of one command may mean. More are an error.
const maxWords = 20_000

// naming collects names.
type naming struct {
	host  Host
	roots []string
	names []Name
	seen  map[Name]bool
	// links are the places that were looked at, with where the links among them lead.
	links map[string]string
	err   error
}

// linked takes what the links in a repository lead to, in the place of the parts that git executes or obeys, and returns the
// directories that decide it.
func (n *naming) linked(r Repository) (dirs []string) {
	for _, dir := range slices.Compact([]string{r.Dir, Common(r.Dir)}) {
		for _, part := range parts {
			at := filepath.Join(dir, filepath.FromSlash(part.Name))
			if links, _ := follow(at, n.link); len(links) > 0 {
				n.add(at, part.Name == "hooks", part.Why)
			}
		}
		hooks := filepath.Join(dir, "hooks")
		n.hooks(hooks, "runs the programs in "+hooks)
		dirs = append(dirs, hooks)
	}
	if git := filepath.Join(r.Top, ".git"); r.Top != "" {
		if to, ok := Gitfile(git); ok {
			n.add(git, true, "takes the repository that it names")
			links, _ := follow(to, n.link)
			for _, link := range links {
				n.keep(Name{link, true, "finds the repository through it"})
			}
		}
	}
	return dirs
}

// hooks takes what the links in a directory of hooks lead to.
func (n *naming) hooks(dir, why string) {
	entries, _ := os.ReadDir(dir) // none where git cannot read it either
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			n.add(filepath.Join(dir, e.Name()), false, why)
		}
	}
}

// link returns where the link at a path leads, "" where there is none.
func (n *naming) link(path string) string {
	to, ok := n.links[path]
	if !ok {
		to = readLink(path)
		n.links[path] = to
	}
	return to
}

// settings takes what settings name for git that runs in the directory top.
func (n *naming) settings(list []Setting, top string) {
	for _, s := range list {
		class, _ := ClassOf(s)
		key := s.Key()
		switch class {
		case Hooks, Template:
			for _, path := range n.host.expand(s.Value, top) {
				n.directory(path, top, class, key)
			}
		case Obeys, Include:
			base := top
			if class == Include {
				base = filepath.Dir(s.File)
			}
			for _, path := range n.host.expand(s.Value, base) {
				n.add(path, true, "obeys what "+key+" names")
			}
		case Place:
			for _, place := range []string{s.Value, s.Sub} {
				if _, command, ok := strings.Cut(place, "::"); ok {
					n.command(command, top, s)
				}
			}
		case Runs:
			n.command(s.Value, top, s)
		}
	}
}

// directory takes a directory from which git runs or copies programs. Of one that has a whole root or work tree in it, only
// those names count that git uses.
func (n *naming) directory(path, top string, class Class, key string) {
	at, why := real(path), "runs what is in the directory that "+key+" names"
	if class == Hooks {
		n.hooks(at, why)
	} else {
		n.hooks(filepath.Join(at, "hooks"), why)
	}
	whole := hostpath.Within(at, top)
	for _, root := range n.roots {
		whole = whole || hostpath.Within(at, root)
	}
	if !whole {
		n.add(path, true, why)
		return
	}
	parts := hookNames
	if class == Template {
		parts = []string{"hooks", "config", "info/attributes"}
	}
	for _, name := range parts {
		n.add(path+"/"+name, class == Template, why)
	}
}

// command takes the files that the words of a command may name, and perhaps more.
func (n *naming) command(value, top string, from Setting) {
	words, dirs := split(value)
	bases := []string{top}
	for _, dir := range dirs {
		bases = append(bases, n.host.expand(dir, top)...)
	}
	if len(words)*len(bases) > maxWords {
		n.err = fmt.Errorf("the command of %s in %s is too long to tell what it runs: put it into a script", from.Key(), cmp.Or(from.File, "the environment"))
		return
	}
	for _, word := range words {
		for _, base := range bases {
			paths := n.host.expand(word, base)
			if rest, ok := strings.CutPrefix(word, "/"); ok { // what was left of $HOME/x, or of $(git rev-parse --show-toplevel)/x
				for _, dir := range append(slices.Clone(n.host.Homes), base) {
					paths = append(paths, filepath.Join(dir, rest))
				}
			}
			for _, path := range paths {
				n.add(path, false, "runs what "+from.Key()+" names")
			}
		}
	}
}

// add takes a path, the links on the way to it, and what they lead to, as far as they are below a root.
func (n *naming) add(path string, tree bool, why string) {
	links, at := follow(path, n.link)
	for _, link := range links {
		n.keep(Name{link, true, why})
	}
	n.keep(Name{at, tree, why})
}

func (n *naming) keep(name Name) {
	below := slices.ContainsFunc(n.roots, func(root string) bool { return name.Path != root && hostpath.Within(root, name.Path) })
	if below && !n.seen[name] {
		n.seen[name] = true
		n.names = append(n.names, name)
	}
}

func real(path string) string {
	_, at := follow(path, readLink)
	return at
}

// readLink returns where the link at a path leads, "" where there is none.
func readLink(path string) string {
	to, _ := hostpath.ReadLink(path)
	return to
}

// follow returns the links on the way to an absolute path, and where it leads. What is not there leads to itself.
func follow(path string, link func(path string) string) (links []string, at string) {
	at, followed, _ := hostpath.Follow(path, func(path string) (string, error) { return link(path), nil })
	for _, l := range followed {
		links = append(links, l.At)
	}
	return links, at
}
