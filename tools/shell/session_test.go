package shell

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

var persist = args{"persist": true}

func TestDirectoryAndVariablesStick(t *testing.T) {
	b := newBench(t, setup{})
	b.Put("sub/deep/file", "found\n", 0o644)
	out := b.sh("cd sub; export NAME='a b\nc' EMPTY=; LOCAL=1; echo moved", persist)
	b.Equal("stdout", out.Stdout, "moved\n")
	b.Equal("workdir", out.Workdir, "sub")
	b.Equal("sticks", b.sh(`cat deep/file; echo "$NAME/$LOCAL/${EMPTY-unset}"`, persist).Stdout, "found\na b\nc//\n")
	b.Equal("a fresh one", b.sh(`pwd; echo "$NAME"`).Stdout, b.Dir+"\n\n")
	out = b.sh("cd deep && unset NAME && exit 4", persist)
	b.Equal("exit code", out.ExitCode, 4)
	b.Equal("after exit", b.sh(`cat file; echo "${NAME-unset}"`, persist).Stdout, "found\nunset\n")
	b.Equal("workdir counts", b.sh("pwd", args{"persist": true, "workdir": "."}).Stdout, b.Dir+"\n")
	other := b.callAs(context.Background(), "other", "shell", args{"command": "pwd", "persist": true}, nil)
	b.Equal("another session", other.Content, b.Dir+"\n")
}

func TestWhatDoesNotStick(t *testing.T) {
	b := newBench(t, setup{})
	b.Put("sub/x", "", 0o644)
	res := b.shell("cd sub; export PATH=/evil:$PATH LD_PRELOAD=/evil.so GIT_DIR=x FINE=1; f() { :; }; export -f f", persist)
	b.Contains("content", res.Content, "not kept, because they change what runs or are too long: BASH_FUNC_f%%, GIT_DIR, LD_PRELOAD, PATH")
	out := b.sh(`echo "$FINE ${GIT_DIR-unset}"; case $PATH in *evil*) echo evil;; esac`, persist)
	b.Equal("stdout", out.Stdout, "1 unset\n")
	b.Contains("outside", b.shell("cd /usr", persist).Content, "the session stays in sub: /usr is not a directory of the workspace")
	b.Equal("stays", b.sh("pwd", persist).Stdout, b.Dir+"/sub\n")
	b.Contains("exec", b.shell("cd /; exec true", persist).Content, "as before")
	b.Contains("killed", b.shell("cd /; kill -9 $$", persist).Content, "as before")
	b.Equal("stays still", b.sh("pwd", persist).Stdout, b.Dir+"/sub\n")
	b.Contains("too long", b.shell("export BIG=$(head -c 100000 /dev/zero | tr '\\0' x)", persist).Content, "BIG")
	b.sh("rm -r ../sub", persist)
	b.Equal("a directory that is gone", b.sh("pwd", persist).Stdout, b.Dir+"\n")
}

// The session's directory is part of what is decided: relative paths mean what they will mean.
func TestEffectsAreThoseOfTheSessionsDirectory(t *testing.T) {
	b := newBench(t, setup{})
	b.Put("sub/.vscode/x", "", 0o644)
	b.sh("cd sub; export OUT=.vscode/tasks.json", persist)
	e := b.Explain("shell", args{"command": "echo x > $OUT", "persist": true})
	found := false
	for _, effect := range e.Effects {
		found = found || effect.Kind == tongs.EffectWrite && effect.Path.Rel == "sub/.vscode/tasks.json" && effect.MustAsk
	}
	if !found {
		t.Errorf("effects %v", e.Effects)
	}
}

// Another call of the session moves it while a person is asked.
func TestSessionThatMovesWhileAPersonIsAsked(t *testing.T) {
	var b *bench
	n := 0
	b = newBench(t, setup{rules: rules(tongs.PreApproved, "cd"), answer: func(approval.Question) approval.Answer {
		if n++; n == 1 {
			res := b.Engine.Call(context.Background(), &tongs.Call{Tool: "shell", Session: "s", Args: []byte(`{"command":"cd b","persist":true}`)})
			if !res.OK() {
				t.Error(res.Error)
			}
		}
		return approval.Answer{Approved: n == 1}
	}})
	b.Put("b/file", "precious", 0o644)
	b.fails(tongs.CodeDenied, "", "shell", args{"command": "echo x > file", "persist": true})
	b.Equal("the file there", b.Get("b/file"), "precious")
	b.Equal("the file here", b.Exists("file"), false)
	b.Equal("times asked", n, 2)
}

func TestKeeperFindsItsMarkInAnyPieces(t *testing.T) {
	for _, size := range []int{1, 2, 7, 1000} {
		var out bytes.Buffer
		k := newKeeper(&out, false)
		mark := string(k.mark)
		text := mark + "/a\nA=1\x00" + mark + "he\x00llo " + mark[:5] + " x" + mark + "/b\nA=2\x00B=\x00" + mark + "after" + mark[:9]
		for p := []byte(text); len(p) > 0; {
			n := min(size, len(p))
			if _, err := k.Write(p[:n]); err != nil {
				t.Fatal(err)
			}
			p = p[n:]
		}
		began, ended, ok := k.finish()
		if !ok || began.dir != "/a" || ended.dir != "/b" || fmt.Sprint(ended.vars) != "map[A:2 B:]" {
			t.Errorf("size %d: %v %v %v", size, began, ended, ok)
		}
		if want := "he\x00llo " + mark[:5] + " xafter" + mark[:9]; out.String() != want {
			t.Errorf("size %d: output %q, want %q", size, out.String(), want)
		}
	}
}

func TestPersistWithPOSIXShell(t *testing.T) {
	b := newBench(t, setup{Options: Options{Shell: "/bin/sh"}})
	b.Put("sub/x", "", 0o644)
	b.sh("cd sub; export A=1", persist)
	b.Equal("stdout", strings.TrimPrefix(b.sh("pwd; echo $A", persist).Stdout, b.Dir), "/sub\n1\n")
}
