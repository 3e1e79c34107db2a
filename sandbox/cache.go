package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/hostpath"
)

// CacheOwner says whose a build cache is. There are five owners, and none reads what another wrote, except that a copy reads
// through to the direct one, and both to that of the toolchain.
type CacheOwner string

// The owners.
const (
	// CacheBuilder: builds of our own, which run compilers and no code of what they compile.
	CacheBuilder CacheOwner = "builder"
	// CacheDirect: programs that were decided before they ran and write to the workspace itself.
	CacheDirect CacheOwner = "direct"
	// CacheCopy: programs of one session that run on a copy of the workspace.
	CacheCopy CacheOwner = "copy"
	// CacheServer: one tool server, which runs for as long as its client wants.
	CacheServer CacheOwner = "server"
	// CacheToolchain: Tongs itself, which compiles the standard library of a toolchain and nothing else.
	CacheToolchain CacheOwner = "toolchain"
)

// UnusedCache is how long what a copy's cache holds is kept without being used, where nobody said that the session is over.
const UnusedCache = 24 * time.Hour

// Caches is a private directory in which build caches are kept, each in a place that its owner decides. The zero Caches
// keeps nothing.
type Caches struct{ dir string }

// CachesIn keeps caches below a directory, which is made when it is needed and is in no place that a program can write to.
func CachesIn(dir string) Caches { return Caches{dir} }

// Cache is what package managers and compilers of one owner keep between runs. Only the methods of Caches make one. The zero
// Cache keeps nothing: programs have an empty one, which is gone with the run.
type Cache struct {
	owner CacheOwner
	// dir holds what the owner wrote, and seen is what the program sees it as: for a copy the direct cache, which shows
	// through.
	dir, seen string
	// base is that of a toolchain, which shows through below seen; "" for none.
	base string
}

// Owner is whose it is, "" for one that keeps nothing.
func (c Cache) Owner() CacheOwner { return c.owner }

// Dir is where what the owner writes is kept, "" for one that keeps nothing.
func (c Cache) Dir() string { return c.dir }

// Seen is where the program sees the cache, "" for one that keeps nothing.
func (c Cache) Seen() string { return c.seen }

// Builder is the cache of builds of our own.
func (c Caches) Builder() Cache { return c.own(CacheBuilder) }

// Direct is the cache of programs that were decided and write to the workspace itself.
func (c Caches) Direct(workspace string) Cache { return c.own(CacheDirect, workspace) }

// Server is the cache of one tool server in a workspace. The name is whatever tells it from others.
func (c Caches) Server(workspace, name string) Cache { return c.own(CacheServer, workspace, name) }

// Copy is the cache of programs that run on a copy of the workspace, for a session. What it lacks is read from the direct
// one. It takes tier A.
func (c Caches) Copy(workspace, session string) Cache {
	cache := c.own(CacheCopy, workspace, session)
	cache.seen = c.Direct(workspace).dir
	return cache
}

// own derives the place of an owner's cache. Names become hashes: none of them leads elsewhere, and none is another's.
func (c Caches) own(owner CacheOwner, names ...string) Cache {
	if c.dir == "" {
		return Cache{}
	}
	dir := filepath.Join(c.dir, string(owner))
	for _, name := range names {
		sum := sha256.Sum256([]byte(name))
		dir = filepath.Join(dir, hex.EncodeToString(sum[:12]))
	}
	return Cache{owner: owner, dir: dir, seen: dir}
}

// kind says what becomes of what is written to the cache.
func (c Cache) kind() MountKind {
	if c.owner == CacheDirect {
		return MountDecided // by whoever decided the program
	}
	return MountPrivate
}

// make makes what the program sees of the cache, with the directories of the tools in it.
func (c Cache) make(names ...string) error {
	for _, name := range append(names, "") {
		if err := os.MkdirAll(filepath.Join(c.seen, name), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes what a copy's cache kept, once its session is over. What a program still uses stays; Prune removes it later.
func (c Cache) Remove() error {
	if c.owner != CacheCopy {
		return tongs.Errorf(tongs.CodeInternal, "the %s cache is no session's", c.owner)
	}
	return pruneSession(c.dir, time.Time{})
}

// Prune removes what copies' caches kept of sessions that were last used before a time, and returns how many sessions
// those were. What a program uses stays.
func (c Caches) Prune(before time.Time) (sessions int, err error) {
	if c.dir == "" {
		return 0, nil
	}
	top := c.own(CacheCopy).dir
	for _, workspace := range readDir(top) {
		for _, session := range readDir(filepath.Join(top, workspace.Name())) {
			dir := filepath.Join(top, workspace.Name(), session.Name())
			if err := pruneSession(dir, before); err != nil {
				return sessions, err
			}
			if !exists(dir) {
				sessions++
			}
		}
		_ = os.Remove(filepath.Join(top, workspace.Name())) // where nothing is in it any more
	}
	return sessions, nil
}

// UnusedWorkspace is how long the caches of a workspace and of its servers are kept without being used.
const UnusedWorkspace = 30 * 24 * time.Hour

// PruneUnused removes caches of toolchains, workspaces and servers that nobody used for long, and returns how many. Those that are
// removed are made again when they are needed.
func (c Caches) PruneUnused(now time.Time) (n int, err error) {
	if c.dir == "" {
		return 0, nil
	}
	for owner, unused := range map[CacheOwner]time.Duration{
		CacheToolchain: UnusedToolchain, CacheDirect: UnusedWorkspace, CacheServer: UnusedWorkspace,
	} {
		for _, dir := range c.each(owner) {
			if lastUsed(dir).After(now.Add(-unused)) {
				continue
			}
			_ = os.Remove(mark(dir))
			if err := removeLayers(dir); err != nil {
				return n, err
			}
			n++
			_ = os.Remove(filepath.Dir(dir)) // where nothing is in it any more
		}
	}
	return n, nil
}

// lastUsed is when a cache was last used: a toolchain's is stamped by its mark.
func lastUsed(dir string) (at time.Time) {
	for _, path := range []string{dir, mark(dir)} {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}

// each are the directories of an owner's caches.
func (c Caches) each(owner CacheOwner) (dirs []string) {
	depth := map[CacheOwner]int{CacheBuilder: 0, CacheDirect: 1, CacheToolchain: 1, CacheCopy: 2, CacheServer: 2}[owner]
	dirs = []string{c.own(owner).dir}
	for range depth {
		var below []string
		for _, dir := range dirs {
			for _, e := range readDir(dir) {
				if e.IsDir() {
					below = append(below, filepath.Join(dir, e.Name()))
				}
			}
		}
		dirs = below
	}
	return dirs
}

// CacheUsage is what the caches of one owner take.
type CacheUsage struct {
	Owner  CacheOwner `json:"owner"`
	Caches int        `json:"caches"`
	Bytes  int64      `json:"bytes"`
}

// Usage is what is kept, by owner. Owners that keep nothing are left out.
func (c Caches) Usage() (list []CacheUsage) {
	if c.dir == "" {
		return nil
	}
	for _, owner := range []CacheOwner{CacheCopy, CacheDirect, CacheServer, CacheBuilder, CacheToolchain} {
		u := CacheUsage{Owner: owner}
		for _, dir := range c.each(owner) {
			if size := treeSize(dir); size > 0 {
				u.Caches, u.Bytes = u.Caches+1, u.Bytes+size
			}
		}
		if u.Caches > 0 {
			list = append(list, u)
		}
	}
	return list
}

// treeSize is the size of all files below a directory, as far as they can be read.
func treeSize(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// addCache adds the cache of a policy to its trees. It is apart from everything else that the program can write to.
func (r *resolved) addCache(c Cache) error {
	if c.owner == "" {
		return nil
	}
	if err := c.make(); err != nil {
		return tongs.Errorf(tongs.CodeExecutionError, "the build cache cannot be made: %w", err)
	}
	c.seed()
	now := time.Now()
	_ = os.Chtimes(c.seen, now, now) // it is in use
	real, links, err := resolve(c.seen)
	if err != nil {
		return tongs.Errorf(tongs.CodeInvalidPath, "the build cache %q: %w", c.seen, err)
	}
	for _, t := range r.trees {
		if t.writable() && (hostpath.Within(t.path, real) || hostpath.Within(real, t.path)) {
			return tongs.Errorf(tongs.CodeConfigError, "the build cache %q is inside or around %q, which the program can write to; choose another state directory", real, t.path)
		}
	}
	r.cache, r.links = real, append(r.links, links...)
	r.trees = append(r.trees, tree{real, c.kind()})
	return nil
}

// withoutCache are paths that are not in the cache: nobody obeys the names in it.
func (r *resolved) withoutCache(paths []string) (rest []string) {
	for _, p := range paths {
		if r.cache == "" || !hostpath.Within(r.cache, p) {
			rest = append(rest, p)
		}
	}
	return rest
}

// cacheEnv moves caches that are not kept to another directory for what is gone with the run.
func cacheEnv(env []string, scratch string) {
	for i, e := range env {
		env[i] = strings.ReplaceAll(e, noCache+"/", filepath.Join(scratch, "cache")+"/")
	}
}

// noCache is where programs see a cache that is not kept.
const noCache = "/tmp/cache"
