package shell

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/approval"
)

var persist = args{"persist": true}

func TestDirectoryAndVariablesStick(t *testing.T) {
	b := newBench(t, setup{})
	b.put("sub/deep/file", "found\n", 0o644)
	out := b.sh("cd sub; export NAME='a b\nc' EMPTY=; LOCAL=1; echo moved", persist)
	b.equal("stdout", out.Stdout, "moved\n")
	b.equal("workdir", out.Workdir, "sub")
	b.equal("sticks", b.sh(`cat deep/file; echo "$NAME/$LOCAL/${EMPTY-unset}"`, persist).Stdout, "found\na b\nc//\n")
	b.equal("a fresh one", b.sh(`pwd; echo "$NAME"`).Stdout, b.dir+"\n\n")
	out = b.sh("cd deep && unset NAME && exit 4", persist)
	b.equal("exit code", out.ExitCode, 4)
	b.equal("after exit", b.sh(`cat file; echo "${NAME-unset}"`, persist).Stdout, "found\nunset\n")
	b.equal("workdir counts", b.sh("pwd", args{"persist": true, "workdir": "."}).Stdout, b.dir+"\n")
	other := b.callAs(context.Background(), "other", "shell", args{"command": "pwd", "persist": true}, nil)
	b.equal("another session", other.Content, b.dir+"\n")
}

func TestWhatDoesNotStick(t *testing.T) {
	b := newBench(t, setup{})
	b.put("sub/x", "", 0o644)
	res := b.shell("cd sub; export PATH=/evil:$PATH LD_PRELOAD=/evil.so GIT_DIR=x FINE=1; f() { :; }; export -f f", persist)
	b.contains("content", res.Content, "not kept, because they change what runs or are too long: BASH_FUNC_f%%, GIT_DIR, LD_PRELOAD, PATH")
	out := b.sh(`echo "$FINE ${GIT_DIR-unset}"; case $PATH in *evil*) echo evil;; esac`, persist)
	b.equal("stdout", out.Stdout, "1 unset\n")
	b.contains("outside", b.shell("cd /usr", persist).Content, "the session stays in sub: /usr is not a directory of the workspace")
	b.equal("stays", b.sh("pwd", persist).Stdout, b.dir+"/sub\n")
	b.contains("exec", b.shell("cd /; exec true", persist).Content, "as before")
	b.contains("killed", b.shell("cd /; kill -9 $$", persist).Content, "as before")
	b.equal("stays still", b.sh("pwd", persist).Stdout, b.dir+"/sub\n")
	b.contains("too long", b.shell("export BIG=$(head -c 100000 /dev/zero | tr '\\0' x)", persist).Content, "BIG")
	b.sh("rm -r ../sub", persist)
	b.equal("a directory that is gone", b.sh("pwd", persist).Stdout, b.dir+"\n")
}

// The session's directory is part of what is decided: relative paths mean what they will mean.
func TestEffectsAreThoseOfTheSessionsDirectory(t *testing.T) {
	b := newBench(t, setup{})
	b.put("sub/.vscode/x", "", 0o644)
	b.sh("cd sub; export OUT=.vscode/tasks.json", persist)
	e := b.explain("shell", args{"command": "echo x > $OUT", "persist": true})
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
			res := b.engine.Call(context.Background(), &tongs.Call{Tool: "shell", Session: "s", Args: []byte(`{"command":"cd b","persist":true}`)})
			if !res.OK() {
				t.Error(res.Error)
			}
		}
		return approval.Answer{Approved: n == 1}
	}})
	b.put("b/file", "precious", 0o644)
	b.fails(tongs.CodeDenied, "", "shell", args{"command": "echo x > file", "persist": true})
	b.equal("the file there", b.get("b/file"), "precious")
	b.equal("the file here", b.exists("file"), false)
	b.equal("times asked", n, 2)
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
	b.put("sub/x", "", 0o644)
	b.sh("cd sub; export A=1", persist)
	b.equal("stdout", strings.TrimPrefix(b.sh("pwd; echo $A", persist).Stdout, b.dir), "/sub\n1\n")
}
