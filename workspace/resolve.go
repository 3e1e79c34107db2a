package workspace

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/hostpath"
)

const (
	// maxSpelling is the longest path that is taken, in bytes; maxName the longest name in it.
	maxSpelling = 4096
	maxName     = 255
	// maxLinks is how many links one path may lead through.
	maxLinks = 40
)

// Resolve turns a spelling into a path, following every link. The spelling is relative to dir, a zone path such as
// /cache/a, or a host path inside a root; where a host path and a zone path read the same, the host path is meant.
// What does not exist resolves as far as it does. A spelling that leads outside the roots, by whatever way and even
// if it would come back, is INVALID_PATH.
func (w *Workspace) Resolve(dir tongs.Path, spelling string) (tongs.Path, error) {
	return w.resolve(dir, spelling, true)
}

// ResolveEntry is Resolve, but does not follow a link that is the last element: the name itself is meant.
func (w *Workspace) ResolveEntry(dir tongs.Path, spelling string) (tongs.Path, error) {
	return w.resolve(dir, spelling, false)
}

func (w *Workspace) resolve(dir tongs.Path, spelling string, follow bool) (tongs.Path, error) {
	if err := checkSpelling(spelling); err != nil {
		return tongs.Path{}, err
	}
	k := &walker{w: w, spelling: spelling, follow: follow}
	if err := k.start(dir); err != nil {
		return tongs.Path{}, err
	}
	for len(k.rest) > 0 {
		if err := k.step(); err != nil {
			return tongs.Path{}, err
		}
	}
	if err := w.canonical(k.cur); err != nil {
		return tongs.Path{}, err
	}
	return k.cur, nil
}

func checkSpelling(s string) error {
	switch {
	case s == "":
		return badPath(`the path is empty; use "." for the directory itself`)
	case len(s) > maxSpelling:
		return badPath("the path is %d bytes long, more than %d: %q...; use a shorter one", len(s), maxSpelling, s[:40])
	case strings.ContainsRune(s, 0):
		return badPath("path %q holds a NUL byte, which no file name can", s)
	case !utf8.ValidString(s):
		return badPath("path %q is not valid UTF-8; files with such names cannot be named here", s)
	case runtime.GOOS == "windows" && strings.HasPrefix(toSlash(s), "//"):
		return badPath("path %q names a share or a device; use a path relative to the workspace", s)
	}
	return nil
}

// walker goes down a path as the kernel would, one element at a time, and knows at each step where it really is.
type walker struct {
	w        *Workspace
	spelling string
	follow   bool
	// cur is real: every element of it was looked at and is no link. rest is still to go.
	cur  tongs.Path
	rest []string
	// absent is set once cur does not exist.
	absent bool
	// wantDir is set by a slash at the end.
	wantDir bool
	links   int
	// via names the link that was followed last.
	via string
}

func (k *walker) start(dir tongs.Path) error {
	s := toSlash(k.spelling)
	for len(s) > 1 && strings.HasSuffix(s, "/") {
		s, k.wantDir = s[:len(s)-1], true
	}
	if k.respelled(s) {
		return nil
	}
	if s == "~" || strings.HasPrefix(s, "~/") {
		return badPath("path %q: ~ is not expanded; use a path relative to the workspace, or ./~ for a file of that name", k.spelling)
	}
	if abs := absolute(s); abs {
		elems := split(s)
		if k.jump(elems) {
			return nil
		}
		if len(elems) > 0 && elems[0] != tongs.WorkspaceRoot && elems[0] != tongs.RepositoryRoot && k.w.byName[elems[0]] != nil {
			k.cur, k.rest = tongs.Path{Root: elems[0], Rel: "."}, elems[1:]
			return nil
		}
		return badPath("path %q is outside the workspace %s%s; use a path relative to the workspace",
			k.spelling, k.w.Dir(), k.w.zones())
	}
	if dir.Rel == "" {
		dir.Rel = "."
	}
	if err := k.w.canonical(dir); err != nil {
		return err
	}
	k.cur, k.rest = tongs.Path{Root: dir.Root, Rel: "."}, append(split(dir.Rel), strings.Split(s, "/")...)
	return nil
}

// respelled goes to a path that begins with a further spelling of a root, and reports whether it does.
func (k *walker) respelled(s string) bool {
	for _, r := range k.w.roots {
		for _, prefix := range r.Spellings {
			if s == prefix || strings.HasPrefix(s, prefix+"/") {
				k.cur, k.rest = tongs.Path{Root: r.Name, Rel: "."}, split(s[len(prefix):])
				return true
			}
		}
	}
	return false
}

// jump goes to an absolute host path, given as its elements, and reports whether that is in a root that calls can name.
func (k *walker) jump(elems []string) bool {
	best := -1
	for _, r := range k.w.roots {
		if r.Name == tongs.RepositoryRoot {
			continue
		}
		for _, dir := range []string{r.Dir, k.w.byName[r.Name].spelled} {
			prefix := split(toSlash(dir))
			if len(prefix) > best && hasPrefix(elems, prefix) {
				best = len(prefix)
				k.cur = tongs.Path{Root: r.Name, Rel: "."}
			}
		}
	}
	if best < 0 {
		return false
	}
	k.rest = append(elems[best:len(elems):len(elems)], k.rest...)
	return true
}

func (k *walker) step() error {
	name := k.rest[0]
	k.rest = k.rest[1:]
	last := len(k.rest) == 0
	switch {
	case name == "" || name == ".":
		return nil
	case name == ".." && k.absent:
		return tongs.Errorf(tongs.CodeFileNotFound, "path %q: %q does not exist, so .. leads nowhere from it",
			k.spelling, k.cur.String())
	case name == "..":
		if k.cur.Rel == "." {
			return k.outside(`goes up by ".." beyond ` + k.w.label(k.cur.Root))
		}
		k.cur = k.cur.Dir()
		return nil
	case len(name) > maxName:
		return badPath("path %q: the name %q... is %d bytes long, more than %d", k.spelling, name[:40], len(name), maxName)
	}
	if runtime.GOOS == "windows" {
		if why := windowsName(name); why != "" {
			return badPath("path %q: the name %q %s; use another name", k.spelling, name, why)
		}
	}
	if k.absent {
		k.cur = k.w.owned(k.cur.Join(name))
		return nil
	}
	return k.descend(name, last)
}

// descend enters the entry name of the real directory cur.
func (k *walker) descend(name string, last bool) error {
	next := k.cur.Join(name)
	host := k.w.Host(next)
	fi, err := os.Lstat(host)
	switch {
	case missing(err):
		k.absent = true
		k.cur = k.w.owned(next)
		return nil
	case err != nil:
		return fail("resolve", next, err)
	case fi.Mode()&fs.ModeSymlink != 0 && (!last || k.follow):
		return k.followLink(next, host)
	case fi.Mode()&fs.ModeSymlink == 0 && !fi.IsDir() && (!last || k.wantDir):
		return badPath("path %q: %q is a file, not a directory%w", k.spelling, next.String(), causeOf{syscall.ENOTDIR})
	}
	k.cur = k.w.owned(k.cur.Join(diskName(k.w.Host(k.cur), name)))
	return nil
}

func (k *walker) followLink(link tongs.Path, host string) error {
	target, err := os.Readlink(host)
	if err != nil {
		return fail("follow", link, err)
	}
	k.via = link.String() + " → " + target
	if n := nameList().find(formsOf(link.Judged().Rel), false); n != nil {
		k.w.survey.follow(host)
	}
	if k.links++; k.links > maxLinks {
		return badPath("path %q leads through more than %d symbolic links, the last one %s; they seem to form a loop%w",
			k.spelling, maxLinks, k.via, causeOf{syscall.ELOOP})
	}
	if target == "" || len(target) > maxSpelling || !utf8.ValidString(target) {
		return badPath("path %q: the link %q points to %q, which is not a path that can be used here",
			k.spelling, link.String(), target)
	}
	target = toSlash(target)
	elems := split(target)
	if absolute(target) {
		if !k.jump(elems) {
			return k.outside("leads outside")
		}
		return nil
	}
	// The steps up at its start are taken here: a link, unlike a spelling, may go to another root beside this one.
	for len(elems) > 0 && elems[0] == ".." {
		if k.cur.Rel == "." {
			up := k.w.Host(k.cur)
			for len(elems) > 0 && elems[0] == ".." {
				up, elems = filepath.Dir(up), elems[1:]
			}
			if !k.jump(append(split(toSlash(up)), elems...)) {
				return k.outside("leads outside")
			}
			return nil
		}
		k.cur, elems = k.cur.Dir(), elems[1:]
	}
	k.rest = append(elems, k.rest...)
	return nil
}

func (k *walker) outside(how string) error {
	if k.via != "" {
		return badPath("path %q %s by the link %s; a link must stay inside the workspace%s",
			k.spelling, how, k.via, k.w.zones())
	}
	return badPath("path %q %s; use a path inside the workspace%s", k.spelling, how, k.w.zones())
}

// zones lists the other roots for a message: " and its zones /cache, /spill".
func (w *Workspace) zones() string {
	var names []string
	for _, r := range w.roots[1:] {
		if r.Name != tongs.RepositoryRoot {
			names = append(names, "/"+r.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " and its zones " + strings.Join(names, ", ")
}

func (w *Workspace) label(root string) string {
	switch root {
	case tongs.WorkspaceRoot:
		return "the workspace"
	case tongs.RepositoryRoot:
		return "the repository of the workspace"
	}
	return "the zone /" + root
}

// owned gives a path the name that it has in the most specific root that holds it.
func (w *Workspace) owned(p tongs.Path) tongs.Path {
	if len(w.roots) == 1 {
		return p
	}
	host, best := w.Host(p), w.byName[p.Root].Dir
	for _, r := range w.roots {
		if len(r.Dir) > len(best) && hostpath.Within(r.Dir, host) {
			rel, err := filepath.Rel(r.Dir, host)
			if err == nil {
				best, p = r.Dir, tongs.Path{Root: r.Name, Rel: filepath.ToSlash(rel)}
			}
		}
	}
	return p
}

// holdsRoot returns the name of a root that lies at p or below it.
func (w *Workspace) holdsRoot(p tongs.Path) (string, bool) {
	host := w.Host(p)
	for _, r := range w.roots {
		if hostpath.Within(host, r.Dir) {
			return r.Name, true
		}
	}
	return "", false
}

// canonical fails where p does not have the one form of a path. It looks at the words only; that there is no link on
// the way is found by opening.
func (w *Workspace) canonical(p tongs.Path) error {
	if w.byName[p.Root] == nil {
		return badPath("path %q is in the root %q, which does not exist%s", p.String(), p.Root, w.zones())
	}
	rel := p.Rel
	switch {
	case rel == "" || rel == ".." || strings.HasPrefix(rel, "../") || path.IsAbs(rel) || path.Clean(rel) != rel:
		return badPath("path %q in %s is not a clean path below it", rel, w.label(p.Root))
	case len(rel) > maxSpelling:
		return badPath("path %q... is %d bytes long, more than %d", rel[:40], len(rel), maxSpelling)
	case strings.ContainsRune(rel, 0) || !utf8.ValidString(rel):
		return badPath("path %q holds a NUL byte or is not valid UTF-8", rel)
	}
	if runtime.GOOS == "windows" && rel != "." {
		for name := range strings.SplitSeq(rel, "/") {
			if why := windowsName(name); why != "" {
				return badPath("path %q: the name %q %s", rel, name, why)
			}
		}
	}
	if own := w.owned(p); own != p {
		return badPath("path %q belongs to another root; its name is %q", p.String(), own.String())
	}
	return nil
}

func toSlash(s string) string {
	if runtime.GOOS == "windows" {
		return strings.ReplaceAll(s, `\`, "/")
	}
	return s
}

func absolute(s string) bool {
	return strings.HasPrefix(s, "/") || (runtime.GOOS == "windows" && len(s) > 1 && s[1] == ':')
}

// split returns the elements of a path without empty ones and ".".
func split(s string) []string {
	var elems []string
	for name := range strings.SplitSeq(s, "/") {
		if name != "" && name != "." {
			elems = append(elems, name)
		}
	}
	return elems
}

func hasPrefix(elems, prefix []string) bool {
	if len(elems) < len(prefix) {
		return false
	}
	for i, name := range prefix {
		if elems[i] != name {
			return false
		}
	}
	return true
}
