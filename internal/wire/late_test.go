package wire

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// site is a workspace with a state directory, which systems and commands are opened over one after another.
type site struct {
	*testing.T
	dir string
}

func newSite(t *testing.T) *site {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("programs run on copies on Linux only")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t, dir}
	t.Setenv("HOME", s.at("home"))
	t.Setenv("TONGS_CONFIG_DIR", s.at("home", "config"))
	t.Setenv("TONGS_STATE_DIR", s.at("home", "state"))
	for _, d := range []string{"ws", "home"} {
		s.ok(os.MkdirAll(s.at(d), 0o755))
	}
	return s
}

func (s *site) at(names ...string) string { return filepath.Join(append([]string{s.dir}, names...)...) }

func (s *site) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *site) write(name, text string) {
	s.Helper()
	s.ok(os.MkdirAll(filepath.Dir(s.at("ws", name)), 0o755))
	s.ok(os.WriteFile(s.at("ws", name), []byte(text), 0o644))
}

func (s *site) read(name string) string {
	data, err := os.ReadFile(s.at("ws", name))
	if err != nil {
		return "(none)"
	}
	return string(data)
}

// call makes a call in a system of its own, as a server that is started for it.
func (s *site) call(tool string, args map[string]any) *tongs.Result {
	s.Helper()
	raw, err := json.Marshal(args)
	s.ok(err)
	sys, err := Host{Workspace: s.at("ws"), Attended: true}.Open(s.Context(), Options{})
	s.ok(err)
	defer sys.Close()
	return sys.Engine.Call(s.Context(), &tongs.Call{Tool: tool, Args: raw, Session: "s1", Agents: []string{"ada"}})
}

func (s *site) shell(command string) *tongs.Result {
	s.Helper()
	return s.call("shell", map[string]any{"command": command})
}

// asks wants a call to wait for an answer, and returns the question.
func (s *site) asks(res *tongs.Result) string {
	s.Helper()
	if res.Error == nil || res.Error.Code != tongs.CodeApprovalRequired {
		s.Fatalf("it does not ask: %v\n%s", res.Error, res.Content)
	}
	q, _ := res.Error.Details["question"].(string)
	if q == "" {
		s.Fatalf("no question: %v", res.Error)
	}
	return q
}

// state runs f with the state alone, as a command does.
func (s *site) state(f func(st *State)) {
	s.Helper()
	st, err := Host{Attended: true}.OpenState()
	s.ok(err)
	defer st.Close()
	f(st)
}

func (s *site) answer(q string, a approval.Answer) (err error) {
	s.Helper()
	a.Channel, a.By = "terminal", "ada"
	s.state(func(st *State) { err = st.Questions.Answer(s.Context(), q, a) })
	return err
}

func (s *site) journal(f func(j *journal.Journal)) {
	s.Helper()
	j, err := OpenJournal(s.at("home", "state"), nil)
	s.ok(err)
	defer j.Close()
	f(j)
}

func (s *site) run(argv ...string) string {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = s.at("ws"), append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

var yesLate = approval.Answer{Approved: true}

// A late yes makes what was shown, from another process than the one that asked, without another run: what is not the same in
// two runs is kept as the first one made it. The identical call then returns the recorded result, once.
func TestALateYesAppliesWhatWasShown(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		setup   func(s *site)
		made    func(s *site) bool
	}{
		"date": {"date +%s%N > f", func(s *site) { s.write("f", "old\n") }, func(s *site) bool { return len(s.read("f")) > 18 }},
		"git commit": {"git commit -q -m 'the second'", func(s *site) {
			s.run("git", "init", "-q", "-b", "main")
			s.run("git", "config", "user.name", "Ada")
			s.run("git", "config", "user.email", "ada@example.com")
			s.write("a.txt", "one\n")
			s.run("git", "add", "-A")
			s.run("git", "commit", "-q", "-m", "the first")
			s.write("a.txt", "two\n")
			s.run("git", "add", "-A")
		}, func(s *site) bool {
			s.run("git", "fsck", "--strict")
			return s.run("git", "log", "--format=%s") == "the second\nthe first" && s.run("git", "status", "--short") == ""
		}},
		"npm version": {"npm version patch --no-git-tag-version", func(s *site) {
			s.write("package.json", "{\n  \"name\": \"shop\",\n  \"version\": \"1.2.3\"\n}\n")
		}, func(s *site) bool { return strings.Contains(s.read("package.json"), `"1.2.4"`) }},
		"tree": {"sh ./t.sh", func(s *site) {
			s.write("t.sh", "rm -r old && mkdir -p new/deep && ln -s ../a new/l && mv a new/a && chmod 755 x && date +%N > new/deep/f\n")
			s.write("old/sub/f", "gone\n")
			s.write("a", "a\n")
			s.write("x", "x\n")
		}, func(s *site) bool {
			info, err := os.Stat(s.at("ws", "x"))
			return err == nil && info.Mode().Perm() == 0o755 && s.read("old/sub/f") == "(none)" && s.read("new/a") == "a\n" && s.read("a") == "(none)"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			c.setup(s)
			res := s.shell(c.command)
			q := s.asks(res)
			if !strings.Contains(res.Error.Message, "Its changes wait") || c.made(s) {
				t.Fatalf("not parked: %s", res.Content)
			}
			if again := s.asks(s.shell(c.command)); again != q {
				t.Errorf("the identical call asks %s, not %s", again, q)
			}
			s.ok(s.answer(q, yesLate))
			if !c.made(s) {
				t.Fatal("the changes were not made")
			}
			if err := s.answer(q, yesLate); !errors.Is(err, approval.ErrAnswered) {
				t.Errorf("a second yes: %v", err)
			}
			rows := s.rows()
			if rows["ok"] != 1 || rows["refused"] != 2 {
				t.Errorf("rows %v", rows)
			}
			res = s.shell(c.command)
			if res.Error != nil || res.Metadata["recorded"] == nil || !strings.Contains(res.Content, "(changed: ") {
				t.Errorf("the identical call: %v\n%s", res.Error, res.Content)
			}
			s.undone(c.made)
			if name == "date" {
				if next := s.asks(s.shell(c.command)); next == q {
					t.Error("the recorded result is returned twice")
				}
			}
		})
	}
}

// rows counts the rows of the log by outcome, and checks what an applied one says.
func (s *site) rows() map[string]int {
	s.Helper()
	count := map[string]int{}
	s.state(func(st *State) {
		rows, err := st.Audit.Rows(s.Context(), audit.Filter{})
		s.ok(err)
		for _, r := range rows {
			if count[r.Outcome()]++; r.Outcome() == "ok" && (r.Session != "s1" || r.Intent == nil || r.Intent.Answered != "terminal:ada" || r.Intent.Question == "") {
				s.Errorf("row %+v, intent %+v", r, r.Intent)
			}
		}
	})
	return count
}

// undone undoes the session and checks that nothing is left.
func (s *site) undone(made func(*site) bool) {
	s.Helper()
	s.journal(func(j *journal.Journal) {
		list, err := j.List(journal.Filter{Session: "s1"})
		if err != nil || len(list) != 1 {
			s.Fatalf("entries %+v, %v", list, err)
		}
		u, err := j.Undo(s.Context(), journal.Entry{Call: "c", Roots: list[0].Roots}, list, nil)
		s.ok(err)
		if len(u.Conflicts) > 0 {
			s.Fatalf("conflicts %+v", u.Conflicts)
		}
		defer u.Close()
		_, err = u.Commit(s.Context())
		s.ok(err)
	})
	if made(s) {
		s.Error("undo left it")
	}
}

// Where what would be replaced changed meanwhile, nothing is made; the person and the agent are told why, and the call
// asks anew.
func TestALateYesAfterAChange(t *testing.T) {
	for name, meanwhile := range map[string]func(s *site){
		"changed":    func(s *site) { s.write("f", "somebody else\n") },
		"gone":       func(s *site) { s.ok(os.Remove(s.at("ws", "f"))) },
		"a link":     func(s *site) { s.ok(os.Remove(s.at("ws", "f"))); s.ok(os.Symlink("/etc/passwd", s.at("ws", "f"))) },
		"a mode":     func(s *site) { s.ok(os.Chmod(s.at("ws", "f"), 0o600)) },
		"a new file": func(s *site) { s.write("new", "mine\n") },
		"in a directory": func(s *site) {
			s.write("old/kept", "written after it was asked\n")
		},
		"a directory by a link": func(s *site) {
			s.ok(os.Rename(s.at("ws", "sub"), s.at("elsewhere")))
			s.ok(os.Symlink(s.at("elsewhere"), s.at("ws", "sub")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.write("f", "old\n")
			s.write("old/a", "a\n")
			s.write("sub/g", "g\n")
			const command = "date > f; date > new; rm -r old; date > sub/g"
			q := s.asks(s.shell(command))
			meanwhile(s)
			before := s.snapshot()
			err := s.answer(q, yesLate)
			if !errors.Is(err, approval.ErrNotMade) || !strings.Contains(err.Error(), "asks anew") {
				t.Fatalf("answered: %v", err)
			}
			if now := s.snapshot(); now != before {
				t.Errorf("something was made:\n%s\nbefore:\n%s", now, before)
			}
			if name == "a directory by a link" {
				return // where no program can write on a copy
			}
			res := s.shell(command)
			if next := s.asks(res); next == q || !strings.Contains(res.Content, "were not made") {
				t.Errorf("question %s after %s: %s", next, q, res.Content)
			}
			s.state(func(st *State) {
				asked, err := st.Questions.Get(t.Context(), s.asks(s.shell(command)))
				if err != nil || !strings.Contains(strings.Join(asked.Notes, " "), "were not made") {
					t.Errorf("notes %q, %v", asked.Notes, err)
				}
			})
		})
	}
}

// snapshot lists the workspace with contents.
func (s *site) snapshot() string {
	s.Helper()
	return s.run("sh", "-c", "find . ! -name . -printf '%p %y %m %l\\n' -type f -exec cat {} \\; | sort")
}

// A late no is told once; what was parked is gone.
func TestALateNo(t *testing.T) {
	s := newSite(t)
	s.write("f", "old\n")
	q := s.asks(s.shell("date > f"))
	s.ok(s.answer(q, approval.Answer{Reason: "use UTC"}))
	res := s.shell("date > f")
	if res.Error == nil || res.Error.Code != tongs.CodeDenied || !strings.Contains(res.Error.Message, "use UTC") {
		t.Fatalf("%v", res.Error)
	}
	if next := s.asks(s.shell("date > f")); next == q || s.read("f") != "old\n" {
		t.Errorf("question %s, f %q", next, s.read("f"))
	}
	s.parked(1)
}

// parked wants so many to wait in the journal.
func (s *site) parked(want int) {
	s.Helper()
	list, err := os.ReadDir(s.at("home", "state", "journal", "parked"))
	if err != nil || len(list) != want {
		s.Errorf("%d wait, want %d: %v", len(list), want, err)
	}
}

// A person can keep some of the changes late, too.
func TestALateYesKeepsSome(t *testing.T) {
	s := newSite(t)
	s.write("f", "old\n")
	q := s.asks(s.shell("date > f; mkdir d; date > d/a; date > d/b"))
	s.ok(s.answer(q, approval.Answer{Approved: true, Keep: []string{"d/a"}}))
	if s.read("f") != "old\n" || s.read("d/a") == "(none)" || s.read("d/b") != "(none)" {
		t.Errorf("f %q, d/a %q, d/b %q", s.read("f"), s.read("d/a"), s.read("d/b"))
	}
	s.parked(0)
}

// Another session, agent or directory is another call: it runs, and gets nobody's result.
func TestALateResultIsForTheSameCall(t *testing.T) {
	s := newSite(t)
	s.write("f", "old\n")
	s.write("d/f", "old\n")
	q := s.asks(s.shell("date +%N > f; echo the secret of s1"))
	s.ok(s.answer(q, yesLate))
	sys, err := Host{Workspace: s.at("ws"), Attended: true}.Open(t.Context(), Options{})
	s.ok(err)
	defer sys.Close()
	args := json.RawMessage(`{"command":"date +%N > f; echo the secret of s1"}`)
	for name, call := range map[string]*tongs.Call{
		"session": {Session: "s2", Agents: []string{"ada"}},
		"agents":  {Session: "s1", Agents: []string{"ada", "bob"}},
		"dir":     {Session: "s1", Agents: []string{"ada"}, Dir: "d"},
	} {
		call.Tool, call.Args = "shell", args
		if res := sys.Engine.Call(context.Background(), call); res.Metadata["recorded"] != nil || res.Error == nil {
			t.Errorf("%s: %v %s", name, res.Error, res.Content)
		}
	}
	if res := s.shell("date +%N > f; echo the secret of s1"); res.Metadata["recorded"] == nil || !strings.Contains(res.Content, "the secret of s1\n") {
		t.Errorf("the same call: %s", res.Content)
	}
}

// A person changes the arguments in a late answer, to those for another file: the call runs with them, and says so to the agent
// and in the log.
func TestALateEdit(t *testing.T) {
	s := newSite(t)
	s.write("a.txt", "one\n")
	s.write("b.txt", "one\n")
	args := map[string]any{"path": "a.txt", "oldString": "one", "newString": "two"}
	q := s.asks(s.call("edit", args))
	s.state(func(st *State) {
		asked, err := st.Questions.Get(t.Context(), q)
		if err != nil || asked.Expires.Sub(asked.Created) < time.Hour {
			t.Errorf("it expires %s after %s, %v", asked.Expires, asked.Created, err)
		}
	})
	s.ok(s.answer(q, approval.Answer{Approved: true, Args: json.RawMessage(`{"path":"b.txt","oldString":"one","newString":"three"}`)}))
	res := s.call("edit", args)
	if res.Error != nil || s.read("a.txt") != "one\n" || s.read("b.txt") != "three\n" {
		t.Fatalf("%v; a.txt %q, b.txt %q", res.Error, s.read("a.txt"), s.read("b.txt"))
	}
	if !strings.Contains(res.Content, `(a person changed newString from "two" to "three"; path from "a.txt" to "b.txt")`) || res.Metadata["edited"] == nil {
		t.Errorf("the agent is told %q, %v", res.Content, res.Metadata)
	}
	s.state(func(st *State) {
		rows, err := st.Audit.Rows(t.Context(), audit.Filter{Limit: 1})
		if err != nil || !strings.Contains(string(rows[0].Args), "a.txt") || !strings.Contains(string(rows[0].Intent.Args), "b.txt") {
			t.Errorf("row %s, intent %+v, %v", rows[0].Args, rows[0].Intent, err)
		}
	})
	if again := s.asks(s.call("edit", args)); again == q {
		t.Error("the answer served twice")
	}
}

// Arguments that a person wrote late do not approve what must be asked, and was not shown: that is a question of its own, which
// the changed call finds.
func TestALateEditOfWhatMustBeAsked(t *testing.T) {
	s := newSite(t)
	s.write("a.txt", "one\n")
	q := s.asks(s.call("write_file", map[string]any{"path": "a.txt", "content": "two\n"}))
	s.ok(s.answer(q, approval.Answer{Approved: true, Args: json.RawMessage(`{"path":".envrc","content":"two\n"}`)}))
	res := s.call("write_file", map[string]any{"path": "a.txt", "content": "two\n"})
	next := s.asks(res)
	if next == q || !strings.Contains(res.Error.Message, `"path":".envrc"`) || s.read(".envrc") != "(none)" {
		t.Fatalf("%s: %v", next, res.Error)
	}
	s.ok(s.answer(next, yesLate))
	if res := s.call("write_file", map[string]any{"path": ".envrc", "content": "two\n"}); res.Error != nil || s.read(".envrc") != "two\n" {
		t.Errorf("%v", res.Error)
	}
}

// A late yes to a call that did not run yet is for the state that was shown: it asks again where the file changed, and says why.
func TestALateYesToAnEditAfterAChange(t *testing.T) {
	s := newSite(t)
	s.write("a.txt", "one\n")
	args := map[string]any{"path": "a.txt", "oldString": "one", "newString": "two"}
	q := s.asks(s.call("edit", args))
	s.write("a.txt", "one\nmore\n")
	s.ok(s.answer(q, yesLate))
	res := s.call("edit", args)
	next := s.asks(res)
	if next == q || !strings.Contains(res.Content, "a.txt changed since") || s.read("a.txt") != "one\nmore\n" {
		t.Fatalf("%s: %s", next, res.Content)
	}
	s.state(func(st *State) {
		asked, err := st.Questions.Get(t.Context(), next)
		if err != nil || !strings.Contains(strings.Join(asked.Notes, " "), "a.txt changed since") {
			t.Errorf("notes %q, %v", asked.Notes, err)
		}
	})
	s.ok(s.answer(next, yesLate))
	if res := s.call("edit", args); res.Error != nil || s.read("a.txt") != "two\nmore\n" {
		t.Errorf("%v; a.txt %q", res.Error, s.read("a.txt"))
	}
}

// repository makes the workspace a repository with a commit.
func (s *site) repository() {
	s.Helper()
	s.write("f", "one\n")
	cmd := exec.Command("sh", "-c", `git init -q -b main && git config user.name A && git config user.email a@example.org && git add f && git commit -qm one`)
	cmd.Dir = s.at("ws")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("%v: %s", err, out)
	}
}

// A late yes for the session is remembered like one that is given in time: the next commit of the session does not ask. It covers what
// git records and nothing else, and no other session.
func TestALateYesForTheSession(t *testing.T) {
	s := newSite(t)
	s.repository()
	commit := func(text string) *tongs.Result {
		return s.shell("printf '" + text + "\\n' > new-" + text + " && git add . && git commit -qm " + text)
	}
	q := s.asks(commit("two"))
	s.ok(s.answer(q, approval.Answer{Approved: true, Scope: approval.Session}))
	if res := commit("three"); res.Error != nil {
		t.Errorf("it asks again: %v", res.Error)
	}
	s.asks(s.shell("echo changed > f"))
	once := newSite(t)
	once.repository()
	s = once
	s.ok(s.answer(s.asks(commit("two")), approval.Answer{Approved: true}))
	s.asks(commit("three"))
}

// Whoever keeps some of the changes cannot have anything remembered: what was dropped would be allowed the next time.
func TestKeepingSomeIsRememberedForNothing(t *testing.T) {
	s := newSite(t)
	s.repository()
	q := s.asks(s.shell("echo x > new && git add . && git commit -qm two"))
	if err := s.answer(q, approval.Answer{Approved: true, Scope: approval.Session, Keep: []string{"new"}}); !errors.Is(err, approval.ErrInvalid) {
		t.Errorf("it is taken: %v", err)
	}
}

// A late yes tells what git recorded as an early one does, and not the files that git has for it.
func TestALateYesTellsOfACommit(t *testing.T) {
	s := newSite(t)
	s.repository()
	const command = "echo x > new && git add new && git commit -qm two"
	s.ok(s.answer(s.asks(s.shell(command)), approval.Answer{Approved: true}))
	res := s.shell(command)
	if res.Error != nil || !strings.Contains(res.Content, "commit 1 file to main: two") || strings.Contains(res.Content, ".git/") || !strings.Contains(res.Content, "added new") {
		t.Errorf("%v\n%s", res.Error, res.Content)
	}
	const planted = "python3 -c 'open(\".git/config\",\"a\").write(\"[alias]\\nx = !evil\\n\")' && echo y > new && git add new && git commit -qm three"
	s.ok(s.answer(s.asks(s.shell(planted)), approval.Answer{Approved: true}))
	if res := s.shell(planted); res.Error != nil || !strings.Contains(res.Content, "modified .git/config") {
		t.Errorf("more than git's records: %v\n%s", res.Error, res.Content)
	}
}
