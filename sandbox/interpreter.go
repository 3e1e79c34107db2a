package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// interpreter makes programs usable that are not where the system has its own, and reports whether any was found. Each
// is looked up as the user's shell would; a shim of a version manager is resolved to the version it would choose, and
// the directory that holds that version becomes readable.
func (b *builder) interpreter(names ...string) (found bool) {
	for _, name := range names {
		file := b.lookPath(name)
		if file == "" {
			continue
		}
		found = true
		if !b.isSystem(file) {
			b.show(name, file)
		}
	}
	return found
}

// lookPath finds a program in the user's PATH, or among the system's.
func (b *builder) lookPath(name string) string {
	for _, dir := range append(filepath.SplitList(b.env["PATH"]), b.path...) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// show makes the directory of a program readable and puts it into PATH.
func (b *builder) show(name, file string) {
	if real := b.unshim(name, file); real != "" {
		file = real
	}
	bin := filepath.Dir(file)
	prefix := bin
	if filepath.Base(bin) == "bin" {
		prefix = filepath.Dir(bin)
	}
	if !b.mayShow(prefix) {
		// Not a prefix of its own, such as ~/.local: only the directory of programs, or nothing.
		if prefix = bin; !b.mayShow(prefix) {
			return
		}
	}
	b.readable(b.parts(prefix)...)
	if !slices.Contains(b.path, bin) {
		b.path = slices.Insert(b.path, 0, bin)
	}
	// What the program really is may be elsewhere again.
	if real, err := filepath.EvalSymlinks(file); err == nil && !hostpath.Within(prefix, real) && !b.isSystem(real) {
		outer := filepath.Dir(real)
		if filepath.Base(outer) == "bin" {
			outer = filepath.Dir(outer)
		}
		if b.mayShow(outer) {
			b.readable(b.parts(outer)...)
		}
	}
}

// parts are what is shown of a directory of programs: the whole, or the directories in it where it is a hidden one of the home,
// since the files beside them are settings, and may hold a password.
func (b *builder) parts(prefix string) (dirs []string) {
	if filepath.Dir(prefix) != filepath.Clean(b.home) || !strings.HasPrefix(filepath.Base(prefix), ".") {
		return []string{prefix}
	}
	entries, _ := os.ReadDir(prefix)
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(prefix, e.Name()))
		}
	}
	return dirs
}

// unshim returns the program that a shim stands for, or "". It knows the layout of pyenv and its relatives
// (ROOT/shims, ROOT/versions/V/bin) and of asdf and mise (ROOT/shims, ROOT/installs/TOOL/V/bin).
func (b *builder) unshim(name, file string) string {
	dir := filepath.Dir(file)
	if filepath.Base(dir) != "shims" {
		return ""
	}
	root := filepath.Dir(dir)
	for _, version := range b.chosen(root) {
		if real := filepath.Join(root, "versions", version, "bin", name); exists(real) {
			return real
		}
	}
	installs, _ := filepath.Glob(filepath.Join(root, "installs", "*", "*", "bin", name))
	versions, _ := filepath.Glob(filepath.Join(root, "versions", "*", "bin", name))
	if all := append(installs, versions...); len(all) > 0 {
		slices.Sort(all)
		return all[len(all)-1]
	}
	return ""
}

// chosen returns the versions that a version manager would choose, best first: by variable, workspace, user.
func (b *builder) chosen(root string) (versions []string) {
	manager := strings.TrimPrefix(filepath.Base(root), ".")
	add := func(text string) {
		for _, v := range strings.Fields(strings.ReplaceAll(text, ":", " ")) {
			if v != "." && v != ".." && !strings.ContainsAny(v, "/\\") {
				versions = append(versions, v)
			}
		}
	}
	add(b.env[strings.ToUpper(manager)+"_VERSION"])
	language := map[string]string{"pyenv": "python", "rbenv": "ruby", "nodenv": "node", "goenv": "go"}[manager]
	for _, file := range []string{filepath.Join(b.pol.Dir, "."+language+"-version"), filepath.Join(root, "version")} {
		if text, err := os.ReadFile(file); err == nil && len(text) < 4096 {
			add(string(text))
		}
	}
	return versions
}
