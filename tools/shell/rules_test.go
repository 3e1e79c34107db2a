package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/workbench"
)

// rules makes rules of the user's of patterns of commands.
func rules(decision tongs.Decision, patterns ...string) (list []tongs.Rule) {
	for _, pattern := range patterns {
		list = append(list, tongs.Rule{
			Layer: tongs.LayerUser, Toolset: Toolset, Effects: tongs.Kinds(tongs.EffectExecute), Pattern: pattern, Decision: decision,
		})
	}
	return list
}

func TestRulesDecideWhatRuns(t *testing.T) {
	b := newBench(t, setup{rules: append(
		rules(tongs.PreApproved, "git ", "head", "cat", "echo", "env", "sh", "bash", "xargs", "timeout"),
		rules(tongs.Blocked, "rm", "curl")...,
	)})
	b.Put("script.sh", "echo hi\n", 0o755)
	b.Put(".env", "SECRET=1\n", 0o600)
	outside := filepath.Join(workbench.RealDir(t), "secret")
	b.Must(os.WriteFile(outside, []byte("x"), 0o600))
	b.Must(os.Symlink(outside, filepath.Join(b.Dir, "link")))
	for command, want := range map[string]tongs.Decision{
		"git log | head -3":                 tongs.PreApproved,
		"git log -1 && echo done":           tongs.PreApproved,
		"cat script.sh | head -1":           tongs.PreApproved,
		"(cd . && git status)":              tongs.PreApproved,
		"echo a > /dev/null":                tongs.PreApproved,
		"cat /etc/passwd":                   tongs.Ask,
		"cat < /etc/passwd":                 tongs.Ask,
		"cat ../x":                          tongs.Ask,
		"cat link":                          tongs.Ask,
		"cat .env":                          tongs.Ask,
		"echo x > new.txt":                  tongs.PreApproved,
		"echo x > script.sh":                tongs.Ask,
		"echo x > .git/hooks/pre-commit":    tongs.Ask,
		"gitk":                              tongs.Ask,
		"./script.sh":                       tongs.Ask,
		"git -c core.pager=./script.sh log": tongs.Ask,
		"PATH=.:$PATH git log":              tongs.Ask,
		"$(echo git) log":                   tongs.Ask,
		"git log | wc -l":                   tongs.Ask,
		"rm x":                              tongs.Blocked,
		"git log; rm x":                     tongs.Blocked,
		"env rm x":                          tongs.Blocked,
		"timeout 5 env -i rm x":             tongs.Blocked,
		"sh -c 'echo a; bash -c \"rm x\"'":  tongs.Blocked,
		"echo x | xargs rm":                 tongs.Blocked,
		"echo $(rm x)":                      tongs.Blocked,
		"f() { rm x; }; f":                  tongs.Blocked,
		"/bin/rm x":                         tongs.Blocked,
		"find . -exec rm {} +":              tongs.Blocked,
		"if true; then ( echo; { /usr/bin/rm x; } & ) fi": tongs.Blocked,
	} {
		if e := b.Explain("shell", args{"command": command}); e.Decision != want {
			t.Errorf("%s: %s by %s, want %s; effects %v", command, e.Decision, e.Rule, want, e.Effects)
		}
	}
	b.sh("cat script.sh | head -1")
	b.Equal("questions about what rules free", len(b.Questions()), 0)
	b.fails(tongs.CodeBlocked, "", "shell", args{"command": "env rm -rf sub"})
	b.fails(tongs.CodeBlocked, "", "shell", args{"command": "bash", "stdin": "rm -rf sub\n"})
	b.Equal("questions about what is blocked", len(b.Questions()), 0)
	b.Equal("the script", b.Exists("script.sh"), true)
}

func TestStdinOfAShellIsACommand(t *testing.T) {
	b := newBench(t, setup{rules: rules(tongs.PreApproved, "bash", "echo", "cat", "head")})
	for stdin, want := range map[string]tongs.Decision{
		"echo hi\n":      tongs.PreApproved,
		"touch made\n":   tongs.Ask,
		"$(echo touch)x": tongs.Ask,
	} {
		if e := b.Explain("shell", args{"command": "bash", "stdin": stdin}); e.Decision != want {
			t.Errorf("%q: %s, effects %v", stdin, e.Decision, e.Effects)
		}
	}
	// What another program takes off the beginning changes what the shell reads.
	if e := b.Explain("shell", args{"command": "head -c 1 >/dev/null; bash", "stdin": "#touch made\n"}); e.Decision != tongs.Ask {
		t.Errorf("a shell that is not the first reader: %s, effects %v", e.Decision, e.Effects)
	}
	b.Equal("input for a program that only reads", b.Explain("shell", args{"command": "cat", "stdin": "touch x"}).Decision, tongs.PreApproved)
}

func TestReadersCanBeFree(t *testing.T) {
	full := func(context.Context) bool { return true }
	free := newBench(t, setup{Options: Options{FreeReads: true, Full: full}})
	for command, want := range map[string]tongs.Decision{
		"ls -la | head": tongs.PreApproved, "cat a; grep -r x .": tongs.PreApproved, "cat /etc/passwd": tongs.Ask, "touch a": tongs.Ask, "make": tongs.Ask,
	} {
		if e := free.Explain("shell", args{"command": command}); e.Decision != want {
			t.Errorf("%s: %s by %s; effects %v", command, e.Decision, e.Rule, e.Effects)
		}
	}
	shown := func() []string { return []string{"/usr"} }
	for command, want := range map[string]tongs.Decision{
		`cat "$x"`: tongs.PreApproved, "find . | xargs wc": tongs.PreApproved, "ls /usr/lib": tongs.PreApproved, "sort a > /tmp/x; cat /tmp/x": tongs.PreApproved,
		"ls /usrx": tongs.Ask, "cat /usr/../etc/shadow": tongs.Ask, `rm "$x"`: tongs.Ask, "ls /root": tongs.Ask, `cat "/root/$x"`: tongs.Ask, "cat ~/x": tongs.Ask,
		"echo x > /tmp/home/.bashrc": tongs.Ask, "cat /tmp/../root/x": tongs.Ask,
	} {
		opt := Options{FreeReads: true, Full: full, Home: "/tmp/home", Scratch: []string{"/tmp"}, Shown: shown, Background: true}
		b := newBench(t, setup{Options: opt})
		b.Equal(command, b.Explain("shell", args{"command": command}).Decision, want)
		opt.Full = nil
		strict := newBench(t, setup{Options: opt})
		strict.Equal(command+" where the sandbox is not full", strict.Explain("shell", args{"command": command}).Decision, tongs.Ask)
		b.Equal(command+" in the background", b.Explain("shell", args{"command": command, "background": true}).Decision, tongs.Ask)
	}
	for what, opt := range map[string]Options{"without the option": {Full: full}, "in a sandbox that is not full": {FreeReads: true}} {
		strict := newBench(t, setup{Options: opt})
		strict.Equal(what, strict.Explain("shell", args{"command": "ls"}).Decision, tongs.Ask)
	}
	free.Put(".env", "TOKEN=secret\n", 0o600)
	free.Put("a", "TOKEN=none\n", 0o600)
	free.Equal("a secret that a free command comes across", free.sh("grep -rs TOKEN . || true").Stdout, "./a:TOKEN=none\n")
	free.Equal("questions", len(free.Questions()), 0)
}

// A grant for a script of the workspace is one for what is in it.
func TestGrantForAScriptLapsesWithItsContent(t *testing.T) {
	b := newBench(t, setup{answer: func(approval.Question) approval.Answer {
		return approval.Answer{Approved: true, Scope: approval.Session}
	}})
	b.Put("script.sh", "#!/bin/sh\necho one\n", 0o755)
	b.Equal("first", b.sh("./script.sh").Stdout, "one\n")
	b.Equal("questions", len(b.Questions()), 1)
	b.Equal("again", b.sh("./script.sh").Stdout, "one\n")
	b.Equal("questions while it is the same", len(b.Questions()), 0)
	b.Put("script.sh", "#!/bin/sh\necho two\n", 0o755)
	b.Equal("changed", b.sh("./script.sh").Stdout, "two\n")
	b.Equal("questions once it changed", len(b.Questions()), 1)
}

// While a person looks at the question, the script changes: what they approved is not what would run.
func TestScriptThatChangesWhileAPersonIsAsked(t *testing.T) {
	var b *bench
	n := 0
	b = newBench(t, setup{answer: func(approval.Question) approval.Answer {
		if n++; n == 1 {
			b.Put("script.sh", "#!/bin/sh\necho evil\n", 0o755)
		}
		return approval.Answer{Approved: n == 1}
	}})
	b.Put("script.sh", "#!/bin/sh\necho good\n", 0o755)
	res := b.fails(tongs.CodeDenied, "", "shell", args{"command": "./script.sh"})
	if strings.Contains(res.Content, "evil") {
		t.Errorf("it ran: %s", res.Content)
	}
	b.Equal("questions", len(b.Questions()), 2)
}

// The same with a link that leads elsewhere by then.
func TestLinkThatMovesWhileAPersonIsAsked(t *testing.T) {
	var b *bench
	n := 0
	b = newBench(t, setup{answer: func(approval.Question) approval.Answer {
		if n++; n == 1 {
			link := filepath.Join(b.Dir, "link")
			b.Must(os.Remove(link))
			b.Must(os.Symlink(".envrc", link))
		}
		return approval.Answer{Approved: n == 1}
	}})
	b.Must(os.Symlink("harmless", filepath.Join(b.Dir, "link")))
	b.fails(tongs.CodeDenied, "", "shell", args{"command": "echo evil > link"})
	b.Equal("written", b.Exists(".envrc"), false)
	asked := b.Questions()
	if len(asked) != 2 {
		t.Fatalf("%d questions", len(asked))
	}
	b.Contains("the second question", fmt.Sprint(asked[1].Effects), "write .envrc")
}

// A new file is free with the command that makes it; somebody else makes it between the decision and the run.
func TestFileThatAppearsBeforeTheCommandRuns(t *testing.T) {
	no := setup{rules: rules(tongs.PreApproved, "echo"), answer: func(approval.Question) approval.Answer { return approval.Answer{} }}
	b := newBench(t, no)
	opt := b.Open(no.bench())
	inner := opt.Commands
	opt.Commands = func(p *tongs.Permit) engine.Programs {
		b.Put("new", "precious", 0o644)
		return inner(p)
	}
	b.rebuild(opt)
	b.fails(tongs.CodeDenied, "", "shell", args{"command": "echo x > new"})
	b.Equal("the file", b.Get("new"), "precious")
	b.Equal("questions", len(b.Questions()), 1)
}

func TestQuestionShowsWhatWasFound(t *testing.T) {
	b := newBench(t, setup{rules: rules(tongs.PreApproved, "cat")})
	b.sh("cd . && cat a.txt | tee copy.txt; cat /etc/hostname; \\\necho \u202egnp.exe")
	asked := b.Questions()
	if len(asked) != 1 {
		t.Fatalf("%d questions", len(asked))
	}
	q := asked[0]
	b.Equal("message", q.Message, "Run: cd . && cat a.txt | tee copy.txt; cat /etc/hostname; \\ ...")
	b.Equal("kind", q.Kind, tongs.KindExecute)
	for _, want := range []string{"$ cd . && cat a.txt", "> echo \\u202egnp.exe", "write copy.txt", "  risk: reads /etc/hostname", "tee copy.txt"} {
		b.Contains("preview", q.Preview, want)
	}
	if strings.ContainsRune(q.Preview, '\u202e') {
		t.Error("the preview lets a direction mark through")
	}
	b.sh("uname")
	b.Equal("preview of a plain command", b.Questions()[0].Preview, "$ uname")
}

func TestZoneNamesAreNotPathsOfTheMachine(t *testing.T) {
	// /spill is a zone to read_file; to a program it is a directory of the machine.
	b := newBench(t, setup{rules: rules(tongs.PreApproved, "cat")})
	b.Equal("decision", b.Explain("shell", args{"command": "cat /spill/x"}).Decision, tongs.Ask)
}
