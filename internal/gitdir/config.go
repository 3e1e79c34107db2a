package gitdir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	// maxConfig is how large a file of git's is read. A larger one is an error.
	maxConfig = 4 << 20
	// maxFiles is how many files a configuration may include. More are an error.
	maxFiles = 1000
)

// Host is whose git is meant.
type Host struct {
	// Homes are the directories that ~ may stand for.
	Homes []string
	// Getenv looks up the environment that git is run in.
	Getenv func(name string) string
	// System are the files of the machine's configuration. Those that are absent do not count.
	System []string
}

// ThisHost is the user and the machine of this process.
func ThisHost() Host {
	h := Host{Getenv: os.Getenv, System: systemFiles()}
	if home, err := os.UserHomeDir(); err == nil {
		h.Homes = append(h.Homes, home)
	}
	if home := passwdHome(); home != "" && !slices.Contains(h.Homes, home) {
		h.Homes = append(h.Homes, home)
	}
	return h
}

var passwdHome = sync.OnceValue(func() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.HomeDir
})

// systemFiles are where a git may have the machine's configuration.
var systemFiles = sync.OnceValue(func() []string {
	files := []string{"/etc/gitconfig"}
	if git, err := exec.LookPath("git"); err == nil {
		if git, err = filepath.EvalSymlinks(git); err == nil {
			prefix := filepath.Dir(filepath.Dir(git))
			files = append(files, filepath.Join(prefix, "etc", "gitconfig"), filepath.Join(prefix, "share", "git-core", "gitconfig"))
		}
	}
	return files
})

// settings returns the settings of the machine, the user and the environment that may count, with all files that they include,
// whatever the condition. Files are those that were looked for, whether they are there or not.
func (h Host) settings() (list []Setting, files []string, err error) {
	r := reader{host: h, seen: map[string]bool{}}
	r.environment()
	for _, file := range append(slices.Clone(h.System), h.user()...) {
		r.file(file)
	}
	return r.list, r.files, r.err
}

// local is settings for those of a git directory.
func (h Host) local(dir string) (list []Setting, files []string, err error) {
	r := reader{host: h, seen: map[string]bool{}}
	for _, at := range []string{dir, Common(dir)} {
		r.file(filepath.Join(at, "config"))
		r.file(filepath.Join(at, "config.worktree"))
	}
	return r.list, r.files, r.err
}

// user are the files of the user's configuration.
func (h Host) user() (files []string) {
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		if file := h.Getenv(name); file != "" {
			files = append(files, file)
		}
	}
	if xdg := h.Getenv("XDG_CONFIG_HOME"); xdg != "" {
		files = append(files, filepath.Join(xdg, "git", "config"))
	}
	for _, home := range h.Homes {
		files = append(files, filepath.Join(home, ".config", "git", "config"), filepath.Join(home, ".gitconfig"))
	}
	return files
}

// expand returns the paths that a value may mean, which may be relative to a directory.
func (h Host) expand(value, dir string) (paths []string) {
	value = strings.TrimPrefix(value, ":(optional)")
	switch rest, tilde := strings.CutPrefix(value, "~"); {
	case value == "" || strings.HasPrefix(value, "%(prefix)"):
		return nil
	case tilde && (rest == "" || rest[0] == '/'):
		for _, home := range h.Homes {
			paths = append(paths, filepath.Join(home, rest))
		}
		return paths
	case tilde:
		name, below, _ := strings.Cut(rest, "/")
		if u, err := user.Lookup(name); err == nil {
			paths = append(paths, filepath.Join(u.HomeDir, below))
		}
		return append(paths, filepath.Join(dir, value))
	case filepath.IsAbs(value):
		return []string{value}
	}
	return []string{dir + string(filepath.Separator) + value} // not cleaned: what ".." means depends on links
}

// reader collects settings.
type reader struct {
	host  Host
	list  []Setting
	files []string
	seen  map[string]bool
	err   error
}

// programs are variables of the environment that name what git runs, and trees those that name where it is from.
var programs, trees = []string{
	"GIT_SSH_COMMAND", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "VISUAL", "EDITOR",
	"GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND", "GIT_CONFIG_PARAMETERS",
}, []string{"GIT_TEMPLATE_DIR", "GIT_EXEC_PATH"}

// environment reads the settings of the environment.
func (r *reader) environment() {
	count, _ := strconv.Atoi(r.host.Getenv("GIT_CONFIG_COUNT"))
	for i := range min(max(count, 0), 10_000) {
		n := strconv.Itoa(i)
		key := r.host.Getenv("GIT_CONFIG_KEY_" + n)
		first, last := strings.Index(key, "."), strings.LastIndex(key, ".")
		if first < 0 {
			continue
		}
		s := Setting{Section: strings.ToLower(key[:first]), Name: strings.ToLower(key[last+1:]), Value: r.host.Getenv("GIT_CONFIG_VALUE_" + n)}
		if first < last {
			s.Sub = key[first+1 : last]
		}
		r.add(s)
	}
	for _, name := range programs {
		if v := r.host.Getenv(name); v != "" {
			r.add(Setting{Section: "environment", Name: name, Value: v})
		}
	}
	for _, name := range trees {
		if v := r.host.Getenv(name); v != "" {
			r.add(Setting{Section: "init", Name: "templatedir", Value: v})
		}
	}
}

// add takes a setting, and reads what it includes.
func (r *reader) add(s Setting) {
	r.list = append(r.list, s)
	if class, _ := ClassOf(s); class == Include {
		for _, path := range r.host.expand(s.Value, filepath.Dir(s.File)) {
			r.file(path)
		}
	}
}

// file reads a file of settings, once, however it is spelled. One that git cannot read either has none.
func (r *reader) file(path string) {
	if !filepath.IsAbs(path) {
		return
	}
	dir, name := filepath.Split(path)
	path = filepath.Join(real(dir), name)
	if r.seen[path] {
		return
	}
	if len(r.seen) > maxFiles {
		r.err = fmt.Errorf("the git configuration includes more than %d files, %s among them: make them fewer", maxFiles, path)
		return
	}
	r.seen[path] = true
	r.files = append(r.files, path)
	text, err := readFile(path)
	if err != nil {
		r.err = errors.Join(r.err, err)
		return
	}
	list, _ := Parse(text)
	for _, s := range list {
		s.File = path
		r.add(s)
	}
}

// readFile reads a file of git's: "" for what is not there, cannot be read, or is no regular file.
func readFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil || len(text) > maxConfig {
		return "", fmt.Errorf("the git configuration %s cannot be read, or is larger than %d MiB: make it smaller", path, maxConfig>>20)
	}
	return string(text), nil
}

// Common returns where a git directory keeps its hooks and configuration: itself, or for a linked worktree the repository.
func Common(dir string) string {
	if to, ok := pointer(filepath.Join(dir, "commondir"), "", os.Stat); ok {
		return to
	}
	return dir
}

// Gitfile returns the git directory that a file called .git leads to, or a link to such a file.
func Gitfile(path string) (dir string, ok bool) { return pointer(path, "gitdir: ", os.Stat) }

// pointer reads a file of git's that has a path, which may be relative to it. Look is os.Lstat where a link does not count.
func pointer(file, prefix string, look func(string) (os.FileInfo, error)) (string, bool) {
	info, err := look(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return "", false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	path, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), prefix)
	if !ok || path == "" {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	return filepath.Clean(path), true
}

// Tops returns the directories in which git runs programs for a git directory: the tops of its work tree as far as they can
// be told, and where there is none, itself.
func Tops(dir string) (tops []string) {
	if filepath.Base(dir) == ".git" {
		tops = append(tops, filepath.Dir(dir))
	}
	if file, ok := pointer(filepath.Join(dir, "gitdir"), "", os.Stat); ok {
		tops = append(tops, filepath.Dir(file))
	}
	for _, name := range []string{"config", "config.worktree"} {
		text, _ := readFile(filepath.Join(dir, name))
		list, _ := Parse(text)
		for _, s := range list {
			if s.Key() != "core.worktree" || s.Value == "" {
				continue
			}
			top := s.Value
			if !filepath.IsAbs(top) {
				top = filepath.Join(dir, top)
			}
			tops = append(tops, filepath.Clean(top))
		}
	}
	if len(tops) == 0 {
		tops = append(tops, dir)
	}
	return tops
}

// Above returns the repositories that the directory dir is in, the innermost first.
func Above(dir string) (list []Repository) {
	for ; ; dir = filepath.Dir(dir) {
		if r, ok := At(dir, ".git"); ok {
			list = append(list, r)
		}
		if dir == filepath.Dir(dir) {
			return list
		}
	}
}

// At returns the repository of the directory dir, whose entry called name is the git directory or leads to it.
func At(dir, name string) (Repository, bool) {
	git := filepath.Join(dir, name)
	if to, ok := Gitfile(git); ok {
		return Repository{real(to), dir}, true
	}
	info, err := os.Stat(git)
	return Repository{real(git), dir}, err == nil && info.IsDir()
}
