package confine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/sandbox"
)

// kinds are the kinds of runs, each with the owner of its cache; "" keeps nothing.
var kinds = []struct {
	name  string
	in    runIn
	owner sandbox.CacheOwner
}{
	{"a decided program", runIn{}, sandbox.CacheDirect},
	{"a decided program in a scratch directory", runIn{Scratch: true}, sandbox.CacheDirect},
	{"a program on a copy", runIn{Copy: true}, sandbox.CacheCopy},
	{"code on a copy, in a scratch directory", runIn{Copy: true, Scratch: true}, sandbox.CacheCopy},
	{"a program that only reads", runIn{ReadOnly: true}, ""},
	{"a program that only reads, said to be on a copy", runIn{ReadOnly: true, Copy: true}, ""},
	{"code that only reads", runIn{ReadOnly: true, Scratch: true}, ""},
	{"a build", runIn{ReadOnly: true, Build: true}, sandbox.CacheBuilder},
	{"a build in a scratch directory", runIn{ReadOnly: true, Scratch: true, Build: true}, sandbox.CacheBuilder},
	{"a server", runIn{Server: "a"}, sandbox.CacheServer},
	{"a server that only reads", runIn{ReadOnly: true, Server: "a"}, sandbox.CacheServer},
}

// cacheBench is a bench whose programs have caches, with a program that Tongs keeps.
func cacheBench(t *testing.T) (*bench, sandbox.Caches) {
	t.Helper()
	opt := withCopies(t)
	opt.Caches, opt.Programs = sandbox.CachesIn(filepath.Join(t.TempDir(), "cache")), t.TempDir()
	dir := filepath.Join(opt.Programs, "builder")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sh"), []byte("#!/bin/sh\nexec sh \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := setup(t, opt)
	b.builder = filepath.Join(dir, "sh")
	return b, opt.Caches
}

func (b *bench) as(t *testing.T, in runIn, script string) string {
	t.Helper()
	in.Script = script
	args, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out, res := b.run(t, string(args))
	if res.Error != nil {
		t.Fatalf("%+v: %s", in, res.Content)
	}
	return strings.TrimSpace(out.Out)
}

// Whatever runs has the cache of exactly one owner: each variable of each preset names a place in it, and a mark that one kind
// of run leaves in any of them is seen by runs of the same owner only, and by copies where it was left directly.
func TestEveryRunHasTheCacheOfOneOwner(t *testing.T) {
	b, caches := cacheBench(t)
	places := map[sandbox.CacheOwner]string{
		sandbox.CacheBuilder: caches.Builder().Dir(), sandbox.CacheDirect: caches.Direct(b.dir).Dir(),
		sandbox.CacheCopy: caches.Direct(b.dir).Dir(), sandbox.CacheServer: caches.Server(b.dir, "a").Dir(), "": "/tmp/cache",
	}
	const each = `for d in $GOCACHE $GOMODCACHE $npm_config_cache $YARN_CACHE_FOLDER $PNPM_HOME $COREPACK_HOME $DENO_DIR $BUN_INSTALL_CACHE_DIR $PIP_CACHE_DIR $UV_CACHE_DIR $POETRY_CACHE_DIR $MPLCONFIGDIR $CARGO_HOME $GRADLE_USER_HOME ${MAVEN_OPTS##*=}; do `
	for i, k := range kinds {
		mark := string(rune('a' + i))
		got := strings.Fields(b.as(t, k.in, each+"mkdir -p $d; echo x > $d/mark-"+mark+"; echo $d; done"))
		if len(got) < 5 {
			t.Fatalf("%s: only the caches %q", k.name, got)
		}
		for _, dir := range got {
			if !strings.HasPrefix(dir, places[k.owner]+"/") {
				t.Errorf("%s has the cache %s, which is not the %q one", k.name, dir, k.owner)
			}
		}
	}
	for _, k := range kinds {
		for i, other := range kinds {
			mark := string(rune('a' + i))
			want := k.owner != "" && (k.owner == other.owner || k.owner == sandbox.CacheCopy && other.owner == sandbox.CacheDirect)
			out := b.as(t, k.in, each+"if [ -e $d/mark-"+mark+" ]; then echo yes; else echo no; fi; done")
			if got := strings.Contains(out, "yes"); got != want || want && strings.Contains(out, "no") {
				t.Errorf("%s sees what %s left: %q", k.name, other.name, strings.Fields(out))
			}
		}
	}
	if len(b.asked) != 0 {
		t.Errorf("asked %d times", len(b.asked))
	}
}

// Only a program that Tongs keeps, and that reads only, has the builder's cache: no other can say that it is a build.
func TestAttackTheBuildersCacheByClaimingIt(t *testing.T) {
	b, caches := cacheBench(t)
	claims := map[string]runIn{
		"a program of the system": {Build: true, ReadOnly: true, Script: "true", Plain: true}, "one that writes": {Build: true, Script: "true"},
		"one on a copy": {Build: true, Copy: true, Script: "true"}, "a server": {Build: true, ReadOnly: true, Server: "a", Script: "true"},
	}
	for name, in := range claims {
		args, _ := json.Marshal(in)
		if _, res := b.run(t, string(args)); res.Error == nil || res.Error.Code != tongs.CodeInternal {
			t.Errorf("%s: %s", name, res.Content)
		}
	}
	if left, _ := os.ReadDir(caches.Builder().Dir()); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// What a session's programs keep on copies goes when the session ends; other sessions never see it.
func TestACopysCacheIsOfOneSession(t *testing.T) {
	b, caches := cacheBench(t)
	call := func(session, script string) string {
		args, _ := json.Marshal(runIn{Copy: true, Script: script})
		res := b.Call(t.Context(), &tongs.Call{Tool: "run", Args: args, Session: session})
		var out runOut
		if err := json.Unmarshal(res.Value, &out); err != nil {
			t.Fatalf("%v: %s", err, res.Content)
		}
		return strings.TrimSpace(out.Out)
	}
	call("one", "echo x > $GOCACHE/mark")
	if got := call("one", "ls $GOCACHE"); got != "mark" {
		t.Errorf("the session sees %q of what it kept", got)
	}
	for _, other := range []string{"two", "../one", "one/", "ONE", "copy"} {
		if got := call(other, "ls $GOCACHE"); got != "" {
			t.Errorf("session %q sees %q", other, got)
		}
	}
	b.confiner.Ended("one")
	if got := call("one", "ls $GOCACHE"); got != "" {
		t.Errorf("after its end the session sees %q", got)
	}
	b.as(t, runIn{}, "echo x > $GOCACHE/direct")
	b.confiner.Ended("one")
	if got := b.as(t, runIn{}, "ls $GOCACHE"); got != "direct" {
		t.Errorf("the direct cache has %q", got)
	}
	if dir := caches.Copy(b.dir, "one").Dir(); !strings.Contains(dir, string(filepath.Separator)+"copy"+string(filepath.Separator)) {
		t.Error(dir)
	}
}

// A link that a decided program planted in its cache leads nobody out of the sandbox: neither the programs of others nor
// Tongs itself, which makes the directories.
func TestAttackByALinkInTheCache(t *testing.T) {
	b, caches := cacheBench(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.as(t, runIn{}, `cd $GOCACHE/.. && for d in *; do rm -rf $d; ln -s `+outside+` $d; done; ln -s `+filepath.Join(outside, "made")+` pip; true`)
	for _, k := range kinds {
		if out := b.as(t, k.in, "cat $GOCACHE/secret $PIP_CACHE_DIR/secret 2>/dev/null; (echo evil > $GOCACHE/evil) 2>/dev/null; mkdir -p $PIP_CACHE_DIR 2>/dev/null; true"); strings.Contains(out, "SECRET") {
			t.Errorf("%s reads %q", k.name, out)
		}
	}
	left, err := os.ReadDir(outside)
	if err != nil || len(left) != 1 {
		t.Errorf("outside: %v, %v", left, err)
	}
	if n, err := caches.Prune(time.Now().Add(time.Hour)); n == 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if left, _ = os.ReadDir(outside); len(left) != 1 {
		t.Errorf("outside, after tidying: %v", left)
	}
}

// What is in the workspace cannot be linked into a cache, nor the other way round: to a program they are different disks.
func TestAttackByAHardLinkIntoTheCache(t *testing.T) {
	b, _ := cacheBench(t)
	b.write(t, "a.txt", "a")
	for _, k := range kinds {
		b.as(t, k.in, `mkdir -p $GOCACHE; echo x > $GOCACHE/mine; (ln a.txt $GOCACHE/a && echo evil > $GOCACHE/a) 2>/dev/null; (ln $WORKSPACE/a.txt $GOCACHE/b && echo evil > $GOCACHE/b) 2>/dev/null; (ln $GOCACHE/mine linked) 2>/dev/null; true`)
	}
	if got := b.content(t, "a.txt"); got != "a" {
		t.Errorf("a.txt is %q", got)
	}
	if got := b.content(t, "linked"); !strings.Contains(got, "not there") {
		t.Errorf("a file of a cache is in the workspace: %q", got)
	}
}
