package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// UnusedToolchain is how long the cache of a toolchain is kept without being used.
const UnusedToolchain = 30 * 24 * time.Hour

// goCache is the directory of Go's build cache.
const goCache = "go-build"

// mark is the file beside a toolchain's cache that says that it is complete. Its stamp is that of the last use.
func mark(dir string) string { return dir + ".complete" }

// Toolchain is the cache of the Go toolchain that programs find: the standard library, as Tongs itself compiled it, with code of
// nobody else in it. It is there for every workspace to read. The zero Cache is returned where there is no such toolchain, or
// where it is in one of the directories that programs can change.
func (c Caches) Toolchain(writable ...string) Cache {
	root, version := goToolchain()
	if c.dir == "" || root == "" || slices.ContainsFunc(writable, func(dir string) bool { return hostpath.Within(dir, root) || hostpath.Within(root, dir) }) {
		return Cache{}
	}
	names := []string{root, version}
	for _, name := range []string{"GOFLAGS", "GOEXPERIMENT", "CGO_ENABLED"} { // that programs get, and that say how it is compiled
		names = append(names, name+"="+os.Getenv(name))
	}
	return c.own(CacheToolchain, strings.Join(names, "\x00"))
}

// goToolchain finds the toolchain that programs find, with what it says of its version.
func goToolchain() (root, version string) {
	b := &builder{env: map[string]string{"PATH": os.Getenv("PATH")}}
	b.home, _ = os.UserHomeDir()
	file := b.lookPath("go")
	if real := b.unshim("go", file); file != "" && real != "" {
		file = real
	}
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return "", ""
	}
	root = filepath.Dir(filepath.Dir(file))
	text, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil || len(text) > 4<<10 {
		return "", ""
	}
	return root, string(text)
}

// Ready reports whether a toolchain's cache is complete.
func (c Cache) Ready() bool {
	return c.owner == CacheToolchain && exists(mark(c.dir))
}

// Over is a cache that reads what it lacks from that of a toolchain, once that is complete: a copy's below the direct one, and an
// empty direct one gets a copy of it. Others are as they were.
func (c Cache) Over(toolchain Cache) Cache {
	if (c.owner == CacheCopy || c.owner == CacheDirect) && toolchain.Ready() {
		toolchain.refresh()
		c.base = toolchain.dir
	}
	return c
}

// refreshed is how old the stamps of a toolchain's cache may get. Go removes what nobody used for some days, and stamps what it
// uses once an hour, which in a layer would copy it.
const refreshed = 30 * time.Minute

// refresh stamps what is in a toolchain's cache, so that Go takes it for used just now.
func (c Cache) refresh() {
	now := time.Now()
	if info, err := os.Stat(mark(c.dir)); err != nil || now.Sub(info.ModTime()) < refreshed {
		return
	}
	_ = os.Chtimes(mark(c.dir), now, now)
	_ = os.WriteFile(filepath.Join(c.dir, goCache, "trim.txt"), []byte(strconv.FormatInt(now.Unix(), 10)), 0o600)
	_ = filepath.WalkDir(filepath.Join(c.dir, goCache), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			_ = os.Chtimes(path, now, now)
		}
		return nil
	})
}

// seed fills an empty direct cache with a copy of a toolchain's. It is not linked to it: whoever writes to one must not reach the
// other.
func (c Cache) seed() {
	to := filepath.Join(c.dir, goCache)
	if c.owner != CacheDirect || c.base == "" || len(readDir(to)) > 0 {
		return
	}
	part, err := os.MkdirTemp(c.dir, ".part-")
	if err != nil {
		return
	}
	defer os.RemoveAll(part)
	if os.CopyFS(part, os.DirFS(filepath.Join(c.base, goCache))) == nil {
		_ = os.Remove(to)
		_ = os.Rename(part, to) // fails where another process was faster
	}
}
