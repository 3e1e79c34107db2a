package ignore

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Repository is what git knows of ignored files besides .gitignore, for one working tree. It does not change.
type Repository struct {
	top             string
	exclude, global *List
	fold            bool
}

// Top returns the root of the working tree.
func (r *Repository) Top() string { return r.top }

// Reader reads what bears on ignoring. Its zero value reads no user's configuration and remembers nothing.
type Reader struct {
	// User is whose configuration counts; see [CurrentUser].
	User User
	// Cache may be shared; nil remembers nothing.
	Cache *Cache
}

// Repository returns the repository whose working tree has its root at the host directory top, nil where there is none.
func (rd *Reader) Repository(top string) *Repository {
	dir := gitDir(top)
	if dir == "" {
		return nil
	}
	settings := rd.User.settings(filepath.Join(dir, "config"))
	repo := &Repository{top: top, fold: settings.fold}
	if content, ok := readFollowing(filepath.Join(dir, "info", "exclude")); ok {
		repo.exclude = rd.Cache.Parse(content, repo.fold)
	}
	if global := rd.User.excludes(settings, top); global != "" {
		if content, ok := readFollowing(global); ok {
			repo.global = rd.Cache.Parse(content, repo.fold)
		}
	}
	return repo
}

// Above returns the rules that the directories above dir give for what is in it, before its own files are read, and the
// way from their common top to dir, which ends in a slash or is empty: paths for Match begin with it. The common top is
// the root of the repository that dir is in or the directory top, whichever is higher. Both are absolute; top may be empty,
// and counts only where it is above dir.
func (rd *Reader) Above(dir, top string) (*Rules, string) {
	start := rd.start(dir, top)
	way, ok := pathDown(start, dir)
	if !ok {
		return nil, ""
	}
	var rules *Rules
	for at := 0; ; {
		rules = rd.enter(rules, filepath.Join(start, filepath.FromSlash(way[:at])), at)
		next := strings.IndexByte(way[at:], '/') + 1
		if at+next == len(way) {
			return rules, way
		}
		at += next
	}
}

// pathDown returns the way down from one directory to another, with a slash at its end; false where there is none.
func pathDown(from, to string) (string, bool) {
	if from == "" {
		return "", false
	}
	rel, err := filepath.Rel(from, to)
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel) + "/", true
}

// start returns the highest directory whose files bear on dir.
func (rd *Reader) start(dir, top string) string {
	start := dir
	if _, ok := pathDown(top, dir); ok {
		start = top
	}
	for at := dir; ; {
		if gitDir(at) != "" {
			if len(at) < len(start) {
				start = at
			}
			return start
		}
		up := filepath.Dir(at)
		if up == at {
			return start
		}
		at = up
	}
}

// enter returns the rules for the entries of a host directory.
func (rd *Reader) enter(r *Rules, host string, base int) *Rules {
	repo := rd.Repository(host)
	fold := r.Fold()
	if repo != nil {
		fold = repo.fold
	}
	var files Files
	for k := range kinds {
		if content, ok := readRegular(filepath.Join(host, k.String())); ok {
			files[k] = rd.Cache.Parse(content, fold)
		}
	}
	return r.Enter(base, files, repo)
}

// gitDir returns the directory that holds what the working trees of a repository share, for the one with its root at
// top; "" where there is none. Like git it goes by what is in the directory, not by its name alone.
func gitDir(top string) string {
	dir := filepath.Join(top, ".git")
	fi, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	if !fi.IsDir() {
		content, _ := readFollowing(dir)
		to, ok := strings.CutPrefix(string(content), "gitdir: ")
		if !ok {
			return ""
		}
		dir = against(top, strings.TrimRight(to, "\r\n"))
	}
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return ""
	}
	if content, ok := readFollowing(filepath.Join(dir, "commondir")); ok {
		dir = against(dir, strings.TrimRight(string(content), "\r\n"))
	}
	return dir
}

// against returns the path that name means in dir.
func against(dir, name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// readRegular returns the content of a file that is not a link; git does not follow links in a working tree either.
func readRegular(name string) ([]byte, bool) {
	if fi, err := os.Lstat(name); err != nil || !fi.Mode().IsRegular() {
		return nil, false
	}
	return readFollowing(name)
}

// readFollowing returns the content of a regular file, and never waits for a FIFO or a device.
func readFollowing(name string) ([]byte, bool) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() || fi.Size() > MaxFile {
		return nil, false
	}
	content, err := io.ReadAll(io.LimitReader(f, MaxFile))
	return content, err == nil
}
