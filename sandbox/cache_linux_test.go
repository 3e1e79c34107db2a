package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/hostpath"
)

// cacheBench is a state directory with caches, and a workspace.
type cacheBench struct {
	*testing.T
	r      *Runner
	ws     string
	caches Caches
}

func newCacheBench(t *testing.T, opt Options) *cacheBench {
	t.Helper()
	r, err := New(opt)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return &cacheBench{T: t, r: r, ws: place(t), caches: CachesIn(filepath.Join(place(t), "cache"))}
}

// owners are one cache of each owner, and a second one of those that there are several of.
func (b *cacheBench) owners() map[string]Cache {
	return map[string]Cache{
		"builder": b.caches.Builder(), "direct": b.caches.Direct(b.ws), "direct of another workspace": b.caches.Direct("/other"),
		"copy": b.caches.Copy(b.ws, "s1"), "copy of another session": b.caches.Copy(b.ws, "s2"), "copy in another workspace": b.caches.Copy("/other", "s1"),
		"server": b.caches.Server(b.ws, "a"), "another server": b.caches.Server(b.ws, "b"), "server in another workspace": b.caches.Server("/other", "a"),
	}
}

// sh runs a script with a cache, in which it finds itself.
func (b *cacheBench) sh(c Cache, script string) string {
	b.Helper()
	pol := Default(b.ws, PresetOptions{Cache: c, Presets: []string{}})
	pol.Dir, pol.Require = "/", Properties()
	var out lockedBuffer
	res, err := b.r.Run(b.Context(), &Cmd{Argv: []string{"/bin/bash", "-c", "cd " + c.Seen() + " || exit 1\n" + script}, Policy: pol, Stdout: &out, Stderr: &out})
	if err != nil {
		b.Fatalf("%v\n%s", err, out.String())
	}
	if len(res.Report.Overlays) != 0 || res.Overlay != nil || len(res.Report.Planted) != 0 {
		b.Errorf("the cache is among the changes: %+v, planted %q", res.Report.Overlays, res.Report.Planted)
	}
	return strings.TrimSpace(out.String())
}

func (b *cacheBench) expect(c Cache, script, want string) {
	b.Helper()
	if got := b.sh(c, script); got != want {
		b.Errorf("%s cache: %s: %q, not %q", c.Owner(), script, got, want)
	}
}

// What one owner writes no other sees, except that a copy sees what was written directly in its workspace.
func TestCachesOfOwnersAreApart(t *testing.T) {
	for name, opt := range map[string]Options{"overlay": {Tiers: []string{TierA}}, "no overlay": {Tiers: []string{TierA}, NoOverlay: true}} {
		t.Run(name, func(t *testing.T) {
			b := newCacheBench(t, opt)
			owners := b.owners()
			dirs := map[string]string{}
			for who, c := range owners {
				if other, taken := dirs[c.Dir()]; taken || c.Owner() == "" {
					t.Errorf("%s has the directory of %s", who, other)
				}
				dirs[c.Dir()] = who
				b.expect(c, "echo "+c.Dir()+" > mark; cat mark", c.Dir())
			}
			for who, c := range owners {
				want := "mark"
				b.expect(c, "ls", want)
				b.expect(c, "cat mark", c.Dir())
				for other := range dirs {
					if other != c.Dir() && other != c.Seen() {
						b.expect(c, "ls "+other+" 2>/dev/null; (echo evil > "+other+"/evil) 2>/dev/null; true", "")
					}
				}
				_ = who
			}
			shown := map[bool]string{true: "", false: "shown"}[opt.NoOverlay]
			b.expect(b.caches.Direct(b.ws), "echo shown > later; mkdir -p d; echo old > d/f", "")
			b.expect(b.caches.Copy(b.ws, "s1"), "cat later 2>/dev/null; true", shown)
			b.expect(b.caches.Copy(b.ws, "s1"), "mkdir -p d; echo evil > later; echo evil > d/f; rm -rf mark; ls", "d\nlater")
			b.expect(b.caches.Direct(b.ws), "cat later d/f; ls", "shown\nold\nd\nlater\nmark")
			b.expect(b.caches.Copy(b.ws, "s1"), "cat later d/f; ls", "evil\nevil\nd\nlater")
			b.expect(b.caches.Copy(b.ws, "s2"), "cat later 2>/dev/null; true", shown)
		})
	}
}

func TestCachesOfOwnersAreApartAsUser(t *testing.T) { asUser(t, "TestCachesOfOwnersAreApart") }

// Attacks of a program on a copy on what others read.
func TestAttackTheDirectCacheFromACopy(t *testing.T) {
	b := newCacheBench(t, Options{Tiers: []string{TierA}})
	direct, copied := b.caches.Direct(b.ws), b.caches.Copy(b.ws, "s")
	b.expect(direct, "mkdir -p cargo gradle/init.d bin; echo clean > archive; echo clean > cargo/config.toml; echo clean > gradle/init.d/a.gradle; ln -s archive link; ln archive hard; echo '#!/bin/sh' > bin/pnpm; chmod 755 bin/pnpm", "")
	state := func() string {
		return b.sh(direct, "cat archive cargo/config.toml gradle/init.d/* link hard bin/pnpm; find . | sort; stat -c '%n %a %Y %s' *")
	}
	before := state()
	for _, attack := range []string{
		"echo evil > archive", "echo evil >> archive", "truncate -s 0 archive", "dd if=/dev/zero of=archive conv=notrunc bs=1 count=3 2>/dev/null",
		"rm archive; ln -s /etc/passwd archive", "rm -f link; ln -s bin/pnpm link; echo evil > link", "ln -f archive hard2; echo evil > hard2", "echo evil > hard",
		"mv archive gone; mv cargo archive", "rm -rf cargo; mkdir cargo; echo evil > cargo/config.toml", "echo evil > cargo/config", "echo evil > gradle/init.d/evil.gradle",
		"rm -rf *", "rm -rf bin; ln -s /tmp bin", "chmod 777 archive bin; touch -d 2001-01-01 archive", "setfattr -n user.overlay.opaque -v y bin; true",
		"setfattr -n trusted.overlay.redirect -v /cargo bin; true", "exec 3<>archive; echo evil >&3", "python3 -c 'import mmap;f=open(\"archive\",\"r+b\");m=mmap.mmap(f.fileno(),0);m[0:4]=b\"evil\";m.flush()'",
		"cd ..; mv " + filepath.Base(copied.Seen()) + " x; ln -s /tmp " + filepath.Base(copied.Seen()) + "; true", "umount . ; mount --bind /tmp .; true",
		"find / -name upper -o -name work -prune 2>/dev/null | grep -q /copy/ && echo found; true",
		"ls -d " + copied.Dir() + " 2>/dev/null && echo found; true",
		"ln archive " + b.ws + "/x; cp --reflink=auto archive /tmp/a; true", "mkfifo p; rm archive; mv p archive",
		"(while :; do echo evil > archive; done) & sleep 0.01; true",
	} {
		if out := b.sh(copied, "("+attack+") 2>/dev/null"); strings.Contains(out, "found") {
			t.Errorf("%s: %s", attack, out)
		}
		if after := state(); after != before {
			t.Errorf("after %q the direct cache has changed:\n%s\nbefore:\n%s", attack, after, before)
		}
		must(t, copied.Remove())
	}
}

func TestAttackTheDirectCacheFromACopyAsUser(t *testing.T) {
	asUser(t, "TestAttackTheDirectCacheFromACopy")
}

// A session's cache is a plain directory until the direct one has something to show. Marks of overlays that a program forged
// there show it nothing that it does not see anyway.
func TestAttackByForgedMarksOfOverlays(t *testing.T) {
	b := newCacheBench(t, Options{Tiers: []string{TierA}})
	direct, copied := b.caches.Direct(b.ws), b.caches.Copy(b.ws, "s")
	b.expect(b.caches.Builder(), "echo SECRET > secret", "")
	b.expect(copied, `mkdir -p opaque redirect; echo x > meta; python3 - <<'END'
import os
for at, mark, value in [("opaque", "opaque", b"y"), ("redirect", "redirect", b"/../../builder"), ("meta", "metacopy", b""), ("meta", "redirect", b"/../../builder/secret"), ("opaque", "origin", b"\x00\xfb\x1d\x00"), (".", "opaque", b"y")]:
    try: os.setxattr(at, "user.overlay." + mark, value)
    except OSError: pass
END
true`, "")
	b.expect(direct, "mkdir -p opaque redirect; echo clean > opaque/f; echo clean > redirect/f; echo clean > meta; echo clean > new", "")
	if out := b.sh(copied, "cat secret */secret meta redirect/* opaque/* 2>/dev/null; ls -R 2>/dev/null; echo evil > new; true"); strings.Contains(out, "SECRET") || strings.Contains(out, "secret") {
		t.Errorf("it sees %q", out)
	}
	b.expect(direct, "cat meta opaque/f redirect/f new; ls", "clean\nclean\nclean\nclean\nmeta\nnew\nopaque\nredirect")
}

// Without a cache, tools find one that they can write to and that is gone with the run, in every tier.
func TestNoCacheIsAnEmptyOne(t *testing.T) {
	for _, tier := range []string{TierA, TierB} {
		b := newCacheBench(t, Options{Tiers: []string{tier}})
		for range 2 {
			pol := Default(b.ws, PresetOptions{})
			pol.Require, pol.ReadOnly = nil, []string{b.ws}
			res, out := bash(t, b.r, pol, `ls "$npm_config_cache" 2>/dev/null; mkdir -p "$npm_config_cache" && echo x > "$npm_config_cache/x" && cat "$npm_config_cache/x"`)
			if out != "x\n" {
				t.Errorf("tier %s: %q, %v", tier, out, res)
			}
		}
	}
}

// A decided program swaps what a copy reads, and the other way round: neither fails, and a builder sees nothing of it.
func TestACacheThatChangesWhileOthersRead(t *testing.T) {
	b := newCacheBench(t, Options{Tiers: []string{TierA}})
	b.expect(b.caches.Direct(b.ws), "echo one > archive", "")
	b.expect(b.caches.Builder(), "echo mine > archive", "")
	gate := filepath.Join(b.ws, "go")
	var wg sync.WaitGroup
	for name, c := range map[string]Cache{"builder": b.caches.Builder(), "copy": b.caches.Copy(b.ws, "s")} {
		wg.Go(func() {
			want := map[string]string{"builder": "mine\nmine", "copy": "own\nown"}[name]
			pol := Default(b.ws, PresetOptions{Cache: c, Presets: []string{}})
			pol.Dir, pol.Readable = "/", append(pol.Readable, b.ws)
			var out lockedBuffer
			own := map[string]string{"builder": "cat archive", "copy": "echo own > archive; cat archive"}[name]
			_, err := b.r.Run(t.Context(), &Cmd{Argv: []string{"/bin/bash", "-c", "cd " + c.Seen() + "; " + own + "; until [ -e " + gate + " ]; do :; done; cat archive"}, Policy: pol, Stdout: &out, Stderr: &out})
			if err != nil || strings.TrimSpace(out.String()) != want {
				t.Errorf("%s: %q, %v", name, out.String(), err)
			}
		})
	}
	b.expect(b.caches.Direct(b.ws), "for i in 1 2 3; do echo evil$i > new; mv new archive; done; echo evil > archive", "")
	must(t, os.WriteFile(gate, nil, 0o644))
	wg.Wait()
}

// Programs of a session that run at once have parts of its cache for themselves; one after another they share one.
func TestACopysCacheIsUsedByManyAtOnce(t *testing.T) {
	b := newCacheBench(t, Options{Tiers: []string{TierA}})
	copied := b.caches.Copy(b.ws, "s")
	b.expect(b.caches.Direct(b.ws), "echo shown > shown", "")
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			b.expect(copied, "cat shown; for i in $(seq 200); do echo x > f$i || echo failed; done; ls | wc -l", "shown\n201")
		})
	}
	wg.Wait()
	for range 3 {
		b.expect(copied, "ls | wc -l", "201")
	}
	if n := len(readDir(copied.Dir())); n < 1 || n > 6 {
		t.Errorf("%d parts", n)
	}
}

// What a session kept goes with it, or when nobody used it for long; what is in use stays, whatever a program made of it.
func TestRemovingCachesOfCopies(t *testing.T) {
	b := newCacheBench(t, Options{Tiers: []string{TierA}})
	direct, one, two := b.caches.Direct(b.ws), b.caches.Copy(b.ws, "one"), b.caches.Copy(b.ws, "two")
	outside := filepath.Join(b.ws, "outside")
	must(t, os.WriteFile(outside, nil, 0o644))
	b.expect(direct, "echo direct > direct", "")
	for _, c := range []Cache{one, two} {
		b.expect(c, "mkdir -p a/b; ln -s "+b.ws+" link; echo x > a/b/c; chmod 0 a/b a; rm direct", "")
	}
	must(t, one.Remove())
	if exists(one.Dir()) || !exists(two.Dir()) {
		t.Errorf("one is there: %t, two: %t", exists(one.Dir()), exists(two.Dir()))
	}
	if n, err := b.caches.Prune(time.Now().Add(-time.Hour)); n != 0 || err != nil || !exists(two.Dir()) {
		t.Errorf("%d sessions, %v", n, err)
	}
	lock, err := lockDir(filepath.Join(two.Dir(), "0"))
	must(t, err)
	if n, err := b.caches.Prune(time.Now().Add(time.Hour)); n != 0 || err != nil || !exists(two.Dir()) {
		t.Errorf("in use: %d sessions, %v", n, err)
	}
	must(t, lock.Close())
	if n, err := b.caches.Prune(time.Now().Add(time.Hour)); n != 1 || err != nil || exists(two.Dir()) {
		t.Errorf("%d sessions, %v", n, err)
	}
	b.expect(direct, "cat direct", "direct")
	if !exists(outside) {
		t.Error("what a link leads to is gone")
	}
	if direct.Remove() == nil || b.caches.Builder().Remove() == nil || !exists(direct.Dir()) {
		t.Error("a cache that is no session's was removed")
	}
}

// A slot that grew too large, or hides how large it is, is emptied before it is used again.
func TestACopysCacheIsBounded(t *testing.T) {
	dir := place(t)
	if tooLarge(dir) || tooLarge(filepath.Join(dir, "absent")) {
		t.Error("an empty cache is too large")
	}
	f, err := os.Create(filepath.Join(dir, "sparse"))
	must(t, err)
	must(t, f.Truncate(maxCacheBytes*2))
	must(t, f.Close())
	if tooLarge(dir) {
		t.Error("holes count")
	}
	deep := dir
	for range 40 {
		deep = filepath.Join(deep, strings.Repeat("d", 90))
		must(t, os.Mkdir(deep, 0o700))
	}
	b := newCacheBench(t, Options{Tiers: []string{TierA}})
	copied := b.caches.Copy(b.ws, "s")
	b.expect(copied, "for i in $(seq 60); do mkdir "+strings.Repeat("d", 90)+"; cd "+strings.Repeat("d", 90)+"; done; echo x > hidden", "")
	b.r.caches.next = nil
	b.expect(copied, "ls", "")
}

// A cache is no part of the roots, and a copy's takes the full sandbox.
func TestCachesThatAreRefused(t *testing.T) {
	b := newCacheBench(t, Options{Tiers: []string{TierA}})
	for name, c := range map[string]Cache{
		"inside": CachesIn(filepath.Join(b.ws, "cache")).Direct(b.ws), "of a copy, inside": CachesIn(b.ws).Copy(b.ws, "s"),
	} {
		pol := Default(b.ws, PresetOptions{Cache: c})
		pol.Writable = []Mount{Decided(b.ws)}
		if _, err := b.r.Run(t.Context(), &Cmd{Argv: []string{"/bin/true"}, Policy: pol}); err == nil || !strings.Contains(err.Error(), "inside or around") {
			t.Errorf("%s: %v", name, err)
		}
	}
	pol := Default(b.ws, PresetOptions{Cache: b.caches.Copy(b.ws, "s")})
	pol.Require, pol.ReadOnly = nil, []string{b.ws}
	if _, err := runner(t, TierB).Run(t.Context(), &Cmd{Argv: []string{"/bin/true"}, Policy: pol}); err == nil || !strings.Contains(err.Error(), "tier A") {
		t.Errorf("tier B: %v", err)
	}
	for _, name := range []string{"../../direct", "/", "..", "", "s1/../s2"} {
		if c := b.caches.Copy(b.ws, name); !strings.HasPrefix(c.Dir(), b.caches.Copy(b.ws, "x").Dir()[:len(c.Dir())-24]) || strings.Contains(c.Dir(), "..") {
			t.Errorf("session %q: %s", name, c.Dir())
		}
	}
}

// Every variable by which a preset names a cache leads into the one cache of the run, for every owner, or to what is gone
// with the run.
func TestEveryCacheOfEveryPresetHasAnOwner(t *testing.T) {
	b := newCacheBench(t, Options{})
	bin := place(t)
	for _, name := range []string{"go", "gofmt", "node", "npm", "python3", "pip", "cargo", "rustc", "java", "mvn", "gradle", "git"} {
		must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755))
	}
	owners := b.owners()
	owners["none"] = Cache{}
	var names []string
	for who, c := range owners {
		opt := PresetOptions{Cache: c, Environ: []string{"PATH=" + bin + ":/usr/bin:/bin"}, Home: place(t)}
		with := Default(b.ws, opt)
		if len(with.Writable) != 0 {
			t.Errorf("%s: %s is writable", who, with.Writable)
		}
		if with.Cache != c {
			t.Errorf("%s has the cache %+v", who, with.Cache)
		}
		seen := c.Seen()
		if seen == "" {
			seen = noCache
		}
		found := 0
		for _, e := range with.Env {
			name, value, _ := strings.Cut(e, "=")
			at := strings.IndexByte(value, '/')
			if at < 0 || slices.Contains([]string{"HOME", "TMPDIR", "GOPATH", "PATH", "SHELL", "GOPROXY"}, name) { // no caches, and nothing kept
				continue
			}
			if !hostpath.Within(seen, value[at:]) {
				t.Errorf("%s: %s is not in its cache %s", who, e, seen)
			}
			found++
			if who == "builder" {
				names = append(names, name)
			}
		}
		if found < 15 {
			t.Errorf("%s: only %d caches: %q", who, found, names)
		}
	}
}
