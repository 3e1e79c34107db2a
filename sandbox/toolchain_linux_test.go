package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// warmed is the cache of a toolchain with something in it.
func (b *cacheBench) warmed() Cache {
	b.Helper()
	c := b.caches.Toolchain(b.ws)
	if c.Owner() != CacheToolchain {
		b.Fatal("there is no toolchain of Go in PATH, with its VERSION beside it")
	}
	must(b.T, os.MkdirAll(filepath.Join(c.dir, goCache), 0o700))
	must(b.T, os.WriteFile(filepath.Join(c.dir, goCache, "std"), []byte("compiled"), 0o600))
	must(b.T, os.WriteFile(mark(c.dir), nil, 0o600))
	return c
}

// Programs read what Tongs compiled, and none of them changes it: neither for itself in another session, nor for others.
func TestToolchainCacheIsReadByAllAndChangedByNone(t *testing.T) {
	b := newCacheBench(t, Options{Tiers: []string{TierA}})
	base := b.warmed()
	first, second := b.caches.Copy(b.ws, "s1").Over(base), b.caches.Copy(b.ws, "s2").Over(base)
	b.expect(first, "cat go-build/std", "compiled")
	b.expect(first, "echo poison > go-build/std; echo own > go-build/own; cat go-build/std", "poison")
	b.expect(first, "cat go-build/std go-build/own", "poison\nown")
	b.expect(second, "ls go-build; cat go-build/std; rm -r go-build; ls", "std\ncompiled")
	direct := b.caches.Direct(b.ws).Over(base)
	must(t, direct.make(goCache))
	b.expect(direct, "cat go-build/std; echo direct > go-build/std; echo more > go-build/more", "compiled")
	b.expect(b.caches.Copy(b.ws, "s3").Over(base), "cat go-build/std go-build/more", "direct\nmore")
	b.expect(b.caches.Direct("/other").Over(base), "cat go-build/std", "compiled")
	b.expect(b.caches.Server(b.ws, "a").Over(base), "ls", "")
	if data, err := os.ReadFile(filepath.Join(base.dir, goCache, "std")); err != nil || string(data) != "compiled" {
		t.Errorf("the toolchain's cache has %q, %v", data, err)
	}
	if c := b.caches.Copy(b.ws, "s1").Over(b.caches.Direct("/other")); c.base != "" {
		t.Error("another workspace's cache shows through")
	}
}

// A toolchain in a place that programs can change is none whose work others read.
func TestToolchainThatProgramsCanChange(t *testing.T) {
	caches := CachesIn(place(t))
	root, _ := goToolchain()
	for _, dir := range []string{root, filepath.Dir(root), filepath.Join(root, "src")} {
		if c := caches.Toolchain(dir); c.Owner() != "" {
			t.Errorf("with %s writable the cache is %s", dir, c.Dir())
		}
	}
	if c := caches.Toolchain(place(t)); c.Ready() {
		t.Error("it is ready before anything was compiled")
	}
}

func TestUnusedCachesAreRemoved(t *testing.T) {
	b := newCacheBench(t, Options{Tiers: []string{TierA}})
	b.warmed()
	b.sh(b.caches.Direct(b.ws), "echo x > x")
	b.sh(b.caches.Server(b.ws, "a"), "echo yy > x")
	usage := map[CacheOwner]int64{}
	for _, u := range b.caches.Usage() {
		usage[u.Owner] = u.Bytes
	}
	if len(usage) != 3 || usage[CacheDirect] != 2 || usage[CacheServer] != 3 || usage[CacheToolchain] != int64(len("compiled")) {
		t.Errorf("usage %v", usage)
	}
	if n, err := b.caches.PruneUnused(time.Now()); n != 0 || err != nil {
		t.Errorf("removed %d that are in use, %v", n, err)
	}
	if n, err := b.caches.PruneUnused(time.Now().Add(UnusedWorkspace + time.Hour)); n != 3 || err != nil || len(b.caches.Usage()) != 0 {
		t.Errorf("removed %d, %v, left %v", n, err, b.caches.Usage())
	}
}

// With the standard library compiled beforehand, a test in a new module compiles none of it, on a copy and directly.
func TestWarmToolchain(t *testing.T) {
	b := newCacheBench(t, Options{Tiers: []string{TierA}})
	base := b.caches.Toolchain(b.ws)
	must(t, b.r.warm(t.Context(), base, "encoding/json"))
	if !base.Ready() {
		t.Fatal("it is not ready")
	}
	const script = `mkdir /tmp/m && cd /tmp/m && printf 'module m\n\ngo 1.21\n' > go.mod &&
printf 'package m\n\nimport (\n\t"encoding/json"\n\t"testing"\n)\n\nfunc Test(*testing.T) { json.Valid(nil) }\n' > m_test.go &&
go test -x ./... 2>&1 | grep -c -- '/compile .*-p [a-z]'`
	for _, c := range []Cache{b.caches.Direct(b.ws), b.caches.Copy("/other", "s1")} {
		pol := Default(b.ws, PresetOptions{Cache: c.Over(base), Presets: []string{"go"}})
		pol.Dir, pol.Require = "/tmp", Properties()
		var out lockedBuffer
		if _, err := b.r.Run(t.Context(), &Cmd{Argv: []string{"/bin/bash", "-c", script}, Policy: pol, Stdout: &out, Stderr: &out}); err != nil {
			t.Fatal(err)
		}
		// the package with its test, and the program that runs it
		if got := strings.TrimSpace(out.String()); got != "2" {
			t.Errorf("%s cache: %s packages were compiled", c.Owner(), got)
		}
	}
}
