package confine

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

// maxGitFile is the size up to which a file of git's is looked into.
const maxGitFile = 64 << 10

// harmless reports whether a planted name is one that nothing obeys: what git itself puts into a new repository or
// worktree, as long as nothing in it names a program, and an empty directory. Everything else is for a person.
func harmless(host string) bool {
	info, err := os.Lstat(host)
	if err != nil {
		return false
	}
	dir, name := filepath.Dir(host), strings.ToLower(filepath.Base(host))
	_, err = os.Lstat(filepath.Join(dir, "HEAD"))
	repository := err == nil
	switch {
	case info.IsDir():
		return empty(host) || repository && name == "hooks" && samples(host)
	case !info.Mode().IsRegular() || linked(info):
		return false
	case repository && (name == "config" || name == "config.worktree"):
		text, ok := gitFile(host)
		return ok && plainGitConfig(text)
	case name == ".git":
		to, ok := gitdir.Gitfile(host)
		return ok && linkedWorktree(to)
	case repository && (name == "commondir" || name == "gitdir"):
		return linkedWorktree(dir)
	case gitdir.Changes(host):
		text, ok := gitFile(host)
		return ok && gitdir.PlainState(path.Join(filepath.Base(dir), name), text)
	}
	return false
}

// empty reports whether there are only directories below a directory.
func empty(dir string) bool {
	found := false
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			found = true
			return filepath.SkipAll
		}
		return nil
	})
	return err == nil && !found
}

// samples reports whether a directory of hooks holds git's examples only, which do not run.
func samples(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".sample")
	})
}

func gitFile(host string) (string, bool) {
	data, ok := readRegular(host, maxGitFile)
	return string(data), ok && !slices.Contains(data, 0)
}

// plainKeys are the keys of a repository's configuration that neither name a program nor lead to one. Those whose value
// is true are places to fetch from, which are looked at as well.
var plainKeys = map[string]bool{
	"core.repositoryformatversion": false, "core.filemode": false, "core.bare": false, "core.logallrefupdates": false,
	"core.ignorecase": false, "core.precomposeunicode": false, "core.symlinks": false, "core.autocrlf": false, "core.eol": false,
	"extensions.objectformat": false, "extensions.refstorage": false, "init.defaultbranch": false,
	"user.name": false, "user.email": false,
	"remote.*.url": true, "remote.*.pushurl": true, "remote.*.fetch": false, "remote.*.tagopt": false, "remote.*.prune": false,
	"branch.*.remote": true, "branch.*.merge": false, "branch.*.rebase": false,
	"submodule.*.url": true, "submodule.*.active": false, "submodule.active": false,
}

var (
	gitSection = regexp.MustCompile(`^\[([A-Za-z0-9-]+)(?: ("(?:[^"\\]|\\["\\])*"))?\]$`)
	gitSetting = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)(?:\s*=\s*(.*))?$`)
)

// plainGitConfig reports whether a configuration has plain keys only. It reads less than git does: what it cannot read
// is not plain.
func plainGitConfig(text string) bool {
	section := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasSuffix(line, `\`):
			return false // goes on in the next line
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		}
		if m := gitSection.FindStringSubmatch(line); m != nil {
			if section = strings.ToLower(m[1]); m[2] != "" {
				section += ".*"
			}
			continue
		}
		m := gitSetting.FindStringSubmatch(line)
		if m == nil {
			return false
		}
		place, known := plainKeys[section+"."+strings.ToLower(m[1])]
		if !known || place && !plainPlace(m[2]) {
			return false
		}
	}
	return true
}

// plainPlace reports whether git fetches from a place itself, rather than by a program that the place names.
func plainPlace(value string) bool {
	value = strings.Trim(value, `"`)
	return value != "" && value[0] != '-' && !strings.Contains(value, "::") && !strings.Contains(value, `\`)
}

// linkedWorktree reports whether a git directory is where git keeps a worktree: below worktrees in a repository, whose own
// parts are looked at like any others, and with nothing of its own that git obeys.
func linkedWorktree(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	common := filepath.Dir(filepath.Dir(dir))
	if err != nil || real != dir || filepath.Base(filepath.Dir(dir)) != "worktrees" || gitdir.Common(dir) != common {
		return false
	}
	if !gitdir.Is(func(name string) bool { _, err := os.Lstat(filepath.Join(common, name)); return err == nil }) {
		return false
	}
	for _, name := range []string{"commondir", "gitdir"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			return false // what a link leads to can be changed later
		}
	}
	for _, top := range gitdir.Tops(dir) {
		if to, ok := gitdir.Gitfile(filepath.Join(top, ".git")); !ok || to != dir {
			return false
		}
	}
	_, err = os.Lstat(filepath.Join(dir, "config.worktree"))
	return os.IsNotExist(err)
}
