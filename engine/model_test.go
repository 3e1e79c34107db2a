package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/state"
	"github.com/tongs-ai/tongs/tools/files"
	"github.com/tongs-ai/tongs/workspace"
)

// These tests are a hostile model: it has the file tools, on a real workspace with everything kept in SQLite.

// whole is an engine with the file tools and durable forms of everything.
type whole struct {
	*bench
	db    *state.DB
	spill string
	// outside holds a secret that no call may reach.
	outside string
}

func setupWhole(t testing.TB, change ...func(*engine.Options)) *whole {
	t.Helper()
	tools, err := files.Tools(files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := state.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &whole{db: db, spill: t.TempDir(), outside: t.TempDir()}
	spill, err := output.OpenSpill(w.spill)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.outside, "secret"), []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.bench = setup(t, tools, append([]func(*engine.Options){func(o *engine.Options) {
		ws, err := workspace.Open(workspace.Options{
			Dir: o.Workspace.Dir(), LockDir: filepath.Join(t.TempDir(), "locks"),
			Roots: []workspace.Root{{Name: "spill", Dir: w.spill}, {Name: "cache", Dir: t.TempDir(), Writable: true}},
		})
		if err != nil {
			t.Fatal(err)
		}
		o.Workspace, o.Audit, o.Grants, o.State = ws, db.Audit(), db.Grants(), db.State
		o.Output = output.Bounds{Spill: spill}
		o.Approval.Store = db.Questions(approval.Options{})
	}}, change...)...)
	w.log = db.Audit()
	return w
}

type args map[string]any

// model calls a tool as a model does, in the session s.
func (w *whole) model(tool string, a args) *tongs.Result {
	data, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return w.call(tool, string(data))
}

func (w *whole) put(t testing.TB, name, content string) {
	t.Helper()
	host := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(host), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(host, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func pathRule(d tongs.Decision, pattern string, kinds ...tongs.EffectKind) tongs.Rule {
	return tongs.Rule{Layer: tongs.LayerUser, Effects: tongs.Kinds(kinds...), Pattern: pattern, Decision: d}
}

// What a rule blocks stays blocked when a call is about a directory above it, whoever approves that call.
func TestRulesHoldBelowDirectories(t *testing.T) {
	block := rules(
		pathRule(tongs.Blocked, "private/**", tongs.EffectRead),
		pathRule(tongs.Blocked, "**/*.keep", tongs.EffectDelete),
		pathRule(tongs.Blocked, "src/gen/**", tongs.EffectWrite),
	)
	for _, m := range []tongs.Mode{tongs.ModeSafe, tongs.ModeAll} {
		w := setupWhole(t, block, mode(m))
		w.person.answer = yes
		for _, name := range []string{"private/deep/hidden", "old/a/b.keep", "new/gen/x", "fine/a/b"} {
			w.put(t, name, "content of "+name)
		}
		res := w.model("list_directory", args{"path": ".", "recursive": true, "format": "flat"})
		must(t, res, "")
		if strings.Contains(res.Content, "hidden") || !strings.Contains(res.Content, "fine/a/b") {
			t.Errorf("mode %s: listed %s", m, res.Content)
		}
		for _, call := range []struct {
			tool string
			args args
		}{
			{"read_file", args{"path": "private/deep/hidden"}},
			{"list_directory", args{"path": "private"}},
			{"move_file", args{"from": "private/deep/hidden", "to": "seen"}},
			{"move_file", args{"from": "private/deep", "to": "seen"}},
			{"move_file", args{"from": "private", "to": "seen"}},
			{"delete_file", args{"path": "old", "recursive": true}},
			{"move_file", args{"from": "old", "to": "older"}},
			{"move_file", args{"from": "new", "to": "src"}},
		} {
			res := w.model(call.tool, call.args)
			if tongs.CodeOf(res.Error) != tongs.CodeBlocked {
				t.Errorf("mode %s: %s %v: %s", m, call.tool, call.args, res.Content)
			}
		}
		for _, name := range []string{"private/deep/hidden", "old/a/b.keep", "new/gen/x"} {
			if w.read(t, name) == "" {
				t.Errorf("mode %s: %s is gone", m, name)
			}
		}
		must(t, w.model("move_file", args{"from": "fine", "to": "src"}), "")
	}
}

// What a rule asks for below a directory is asked for by name, and then it is done.
func TestRulesAskBelowDirectories(t *testing.T) {
	w := setupWhole(t, rules(pathRule(tongs.Ask, "**/*.keep", tongs.EffectDelete)))
	w.put(t, "old/a.keep", "x")
	w.put(t, "old/b", "x")
	w.person.answer = yes
	must(t, w.model("move_file", args{"from": "old", "to": "older"}), "")
	if q := w.person.last(); !slices.ContainsFunc(q.Effects, func(e tongs.Effect) bool { return e.String() == "delete old/a.keep" }) {
		t.Errorf("asked about %v", q.Effects)
	}
	if w.read(t, "older/a.keep") != "x" {
		t.Error("it was not moved")
	}
	w.person.answer = no
	must(t, w.model("delete_file", args{"path": "older", "recursive": true}), tongs.CodeDenied)
}

// everyTool are calls of each file tool about one path, for attacks on paths.
func everyTool(name string) map[string]args {
	return map[string]args{
		"read_file":      {"path": name},
		"list_directory": {"path": name},
		"file_info":      {"path": name},
		"file_exists":    {"path": name},
		"write_file":     {"path": name, "content": "pwned"},
		"edit":           {"path": name, "oldString": "outside", "newString": "pwned"},
		"delete_file":    {"path": name, "recursive": true},
		"move_file":      {"from": name, "to": "taken"},
	}
}

func TestPathAttacksWithEveryTool(t *testing.T) {
	w := setupWhole(t, mode(tongs.ModeAll))
	w.person.answer = yes
	link := func(target, name string) {
		t.Helper()
		err := os.Symlink(target, filepath.Join(w.dir, name))
		if err != nil && runtime.GOOS == "windows" {
			t.Skip("Windows lets only some users make symbolic links")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	link(w.outside, "dir")
	link(filepath.Join(w.outside, "secret"), "file")
	link(filepath.Join(w.outside, "nothing"), "dangling")
	link("chain2", "chain1")
	link("dir", "chain2")
	link("loop2", "loop1")
	link("loop1", "loop2")
	up := "../" + filepath.Base(w.outside) + "/secret"
	attacks := []string{
		up, "./" + up, "a/../" + up, strings.Repeat("../", 40) + w.outside[1:] + "/secret", filepath.Join(w.outside, "secret"),
		"/etc/passwd", "/proc/self/environ", "/dev/zero", "//etc/passwd", "/spill/../../etc/passwd", "/cache/../" + up,
		w.dir + "/../" + filepath.Base(w.outside) + "/secret", "~/.ssh/id_rsa", "~",
		"dir/secret", "chain1/secret", "dir/../" + up, "loop1/x", "nul\x00byte",
		strings.Repeat("a/", 3000), strings.Repeat("n", 300), "..", "../..", "/", "",
	}
	// The name of a link itself may be described, deleted and moved, but not what it leads to.
	links := []string{"dir", "file", "dangling", "chain1", "loop1"}
	follows := []string{"read_file", "list_directory", "write_file", "edit"}
	for _, name := range append(attacks, links...) {
		for tool, a := range everyTool(name) {
			if slices.Contains(links, name) && !slices.Contains(follows, tool) {
				continue
			}
			res := w.model(tool, a)
			if tool == "list_directory" && name == "" || tool == "file_exists" && res.OK() {
				continue // the default is the workspace; that something does not exist is an answer
			}
			if res.OK() || res.Error.Code == tongs.CodeInternal || len(res.Content) > 15_000 || strings.Contains(res.Content, "outside") && !strings.Contains(res.Content, "outside the workspace") && !strings.Contains(res.Content, "leads outside") {
				t.Errorf("%s %.60q: %.300s", tool, name, res.Content)
			}
		}
	}
	if data, err := os.ReadFile(filepath.Join(w.outside, "secret")); err != nil || string(data) != "outside" {
		t.Errorf("the file outside holds %q, %v", data, err)
	}
	if list, _ := os.ReadDir(w.outside); len(list) != 1 {
		t.Errorf("outside there is now %v", list)
	}
	for _, a := range []args{{"from": "f", "to": up}, {"from": "f", "to": "dir/x"}, {"from": "f", "to": w.outside + "/x"}, {"from": "f", "to": "/spill/x"}} {
		w.put(t, "f", "mine")
		if res := w.model("move_file", a); res.OK() {
			t.Errorf("move_file %v: %s", a, res.Content)
		}
	}
}

// A call's working directory is a spelling like any other.
func TestDirAttacks(t *testing.T) {
	w := setupWhole(t)
	for _, dir := range []string{"..", w.outside, "/etc", "nul\x00", strings.Repeat("x", 5000), "~"} {
		res := w.Call(t.Context(), &tongs.Call{Tool: "list_directory", Dir: dir, Args: []byte(`{}`)})
		must(t, res, tongs.CodeInvalidPath)
	}
}

// Names that a caller gives to calls and sessions name no files of ours.
func TestCallIDsAndSessionsAreNoPaths(t *testing.T) {
	w := setupWhole(t, func(o *engine.Options) { o.Output.Limits.Content = 100 })
	w.put(t, "long", strings.Repeat("line\n", 200))
	for i, name := range []string{"../../escape", "..", ".", "a/../../b", "/abs", "nul\x00", "new\nline", "\xff", "C:\\x", "q_;DROP TABLE state", strings.Repeat("x", 250)} {
		res := w.Call(t.Context(), &tongs.Call{ID: name, Session: name, Tool: "read_file", Args: []byte(`{"path":"long"}`)})
		must(t, res, "")
		if !strings.Contains(res.Content, "/spill/") {
			t.Errorf("%d: %s", i, res.Content)
		}
	}
	list, err := os.ReadDir(w.spill)
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, dir := range []string{filepath.Dir(w.spill), filepath.Dir(w.dir)} {
		if found, _ := filepath.Glob(filepath.Join(dir, "*escape*")); len(found) > 0 {
			t.Errorf("made %v", found)
		}
	}
	chain, err := w.log.Verify(t.Context(), "")
	if err != nil || !chain.OK() {
		t.Errorf("%+v, %v", chain, err)
	}
}

// Two calls of one ID at the same time are a fault of the caller; one after the other has a row each.
func TestDuplicateCallIDs(t *testing.T) {
	w := setupWhole(t)
	w.put(t, "f", "x")
	call := func() *tongs.Result {
		return w.Call(t.Context(), &tongs.Call{ID: "same", Tool: "write_file", Args: []byte(`{"path":"f","content":"y"}`)})
	}
	w.person.answer = func(approval.Question) approval.Answer {
		must(t, call(), tongs.CodeInternal)
		return approval.Answer{Approved: true}
	}
	must(t, call(), "")
	w.person.answer = no
	call()
	if rows := w.rows(t); len(rows) != 2 || rows[0].Close == nil || rows[1].Close == nil {
		t.Errorf("%d rows: %+v", len(rows), rows)
	}
}

func TestHugeAndOddArguments(t *testing.T) {
	w := setupWhole(t)
	content := strings.Repeat("0123456789abcdef\n", 12<<20/17)
	must(t, w.model("write_file", args{"path": "huge", "content": content}), "")
	if w.read(t, "huge") != content {
		t.Error("the content is not what was written")
	}
	row, err := json.Marshal(w.rows(t)[0])
	if err != nil || len(row) > 10_000 {
		t.Errorf("row of %d bytes, %v", len(row), err)
	}
	for name, raw := range map[string]string{
		"deep":            `{"path":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
		"deep objects":    strings.Repeat(`{"path":`, 100_000) + "1" + strings.Repeat("}", 100_000),
		"duplicate keys":  `{"path":"a","path":"../b"}`,
		"escaped twice":   `{"path":"a","p\u0061th":"../b"}`,
		"two values":      `{"path":"a"}{"path":"b"}`,
		"not JSON":        `{"path":`,
		"a number":        `1e999999999`,
		"not UTF-8":       "{\"path\":\"\xff\"}",
		"too many fields": `{` + strings.Repeat(`"x":1,`, 10) + `"y":` + strings.Repeat("9", 100_000) + `}`,
	} {
		res := w.call("read_file", raw)
		if tongs.CodeOf(res.Error) != tongs.CodeInvalidArgs || len(res.Content) > 2000 {
			t.Errorf("%s: %.300s", name, res.Content)
		}
	}
	many := map[string]any{"path": "f"}
	for i := range 20_000 {
		many[fmt.Sprint("x", i)] = i
	}
	if res := w.model("read_file", many); tongs.CodeOf(res.Error) != tongs.CodeInvalidArgs || len(res.Content) > 20_000 {
		t.Errorf("%d bytes: %.300s", len(res.Content), res.Content)
	}
}
