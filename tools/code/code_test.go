package code

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/schema"
	"github.com/tongs-ai/tongs/tools/tooltest"
)

func TestLanguages(t *testing.T) {
	b := newBench(t, setup{})
	b.Put("data.txt", "from the workspace\n", 0o644)
	for language, code := range map[string]string{
		"python": "import os, sys\nprint(open(os.environ['WORKSPACE'] + '/data.txt').read(), end='')\n" +
			"print(sys.argv[1:], os.environ['GIVEN'], repr(sys.stdin.read()))\nprint('err', file=sys.stderr)\nsys.exit(3)\n",
		"bash": "cat \"$WORKSPACE/data.txt\"\nprintf \"['%s', '%s'] %s ''\\n\" \"$1\" \"$2\" \"$GIVEN\"; cat\necho err >&2\nexit 3\n",
		"javascript": "const fs = require('fs')\nprocess.stdout.write(fs.readFileSync(process.env.WORKSPACE + '/data.txt', 'utf8'))\n" +
			"const a = process.argv.slice(2)\nconsole.log(`['${a[0]}', '${a[1]}'] ${process.env.GIVEN} '${fs.readFileSync(0, 'utf8')}'`)\n" +
			"console.error('err')\nprocess.exit(3)\n",
	} {
		res, out := b.ok(language, code, args{"args": []string{"a b", "$c"}, "env": map[string]string{"GIVEN": "x y"}})
		b.Equal(language+": stdout", out.Stdout, "from the workspace\n['a b', '$c'] x y ''\n")
		b.Equal(language+": stderr", out.Stderr, "err\n")
		b.Equal(language+": exit code", out.ExitCode, 3)
		b.Contains(language+": content", res.Content, "(exit code 3)")
		if out.Files == nil || len(out.Files) != 0 {
			t.Errorf("%s: files %v", language, out.Files)
		}
	}
	b.Equal("questions", len(b.Questions()), 0)
}

func TestGo(t *testing.T) {
	t.Parallel()
	b := newBench(t, setup{})
	_, out := b.ok("go", "package main\n\nimport \"os\"\n\nfunc main() {\n\tprintln(os.Args[1])\n\tos.Stdout.WriteString(\"out\\n\")\n}\n",
		args{"args": []string{"given"}, "timeout": 300})
	b.Equal("stdout", out.Stdout, "out\n")
	b.Equal("stderr", out.Stderr, "given\n")
	_, out = b.ok("go", "package main\n\nfunc main() { undefined() }\n", args{"timeout": 300})
	b.Contains("stderr", out.Stderr, "undefined: undefined")
}

func TestModulesOfJavaScript(t *testing.T) {
	b := newBench(t, setup{})
	_, out := b.ok("javascript", "import os from 'node:os'\nconst x = await Promise.resolve(os.EOL)\nconsole.log(JSON.stringify(x))\n")
	b.Equal("stdout", out.Stdout, "\"\\n\"\n")
}

// png is an image of one pixel.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestFilesComeBack(t *testing.T) {
	b := newBench(t, setup{})
	res, out := b.ok("python", `
import base64, os
os.mkdir("sub")
open("sub/table.csv", "w").write("a,b\n")
open("plot.png", "wb").write(base64.b64decode("`+png+`"))
os.symlink("/etc/passwd", "link")
print(os.getcwd() != os.environ["WORKSPACE"])
`)
	b.Equal("stdout", out.Stdout, "True\n")
	if len(out.Files) != 2 || out.Files[0].Name != "plot.png" || out.Files[1].Name != "sub/table.csv" {
		t.Fatalf("files %+v", out.Files)
	}
	b.Equal("type", out.Files[0].MIME, "image/png")
	b.Contains("content", res.Content, "made sub/table.csv, 4 bytes; read_file /spill/")
	if len(res.Attachments) != 1 || !bytes.HasPrefix(res.Attachments[0].Data, []byte("\x89PNG")) {
		t.Errorf("attachments %+v", res.Attachments)
	}
	b.Equal("the workspace", len(names(t, b.Dir)), 0)
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestWorkspaceIsReadOnlyUnlessAskedFor(t *testing.T) {
	b := newBench(t, setup{})
	write := "import os\nopen(os.environ['WORKSPACE'] + '/made', 'w').write('x')\n"
	_, out := b.ok("python", write)
	b.Contains("stderr", out.Stderr, "Read-only file system")
	b.Equal("made", b.Exists("made"), false)
	b.Equal("questions", len(b.Questions()), 0)
	_, out = b.ok("python", write, args{"write": true})
	b.Equal("exit code", out.ExitCode, 0)
	b.Equal("made", b.Exists("made"), true)
	b.Equal("questions about writing", len(b.Questions()), 1)
}

func TestSecretsAreAskedForByName(t *testing.T) {
	allow := false
	b := newBench(t, setup{answer: func(approval.Question) approval.Answer { return approval.Answer{Approved: allow} }})
	b.Put(".env", "TOKEN=secret", 0o644)
	res := b.call("bash", "cat $WORKSPACE/.env")
	if raw, _ := json.Marshal(res); strings.Contains(string(raw), "secret") {
		t.Errorf("a secret was read: %s", raw)
	}
	_, out := b.ok("bash", "cat $WORKSPACE/.env || true")
	b.Equal("of a program that goes on", out.Stdout, "")
	allow = true
	_, out = b.ok("bash", "cat $WORKSPACE/.env")
	b.Equal("approved", out.Stdout, "TOKEN=secret")
}

func TestWhatIsFree(t *testing.T) {
	full, partial := newBench(t, setup{}), newBench(t, setup{partial: true})
	for _, tc := range []struct {
		b    *bench
		more args
		want tongs.Decision
	}{
		{full, nil, tongs.PreApproved},
		{full, args{"write": true}, tongs.Ask},
		{full, args{"network": true}, tongs.Ask},
		{partial, nil, tongs.Ask},
	} {
		e := tc.b.explain("python", "print(1)", tc.more)
		tc.b.Equal(fmt.Sprint(tc.more), e.Decision, tc.want)
		for _, effect := range e.Effects {
			if effect.Kind == tongs.EffectExecute && (effect.Unknown || effect.Version == "" || effect.Argv[0] != "python3") {
				t.Errorf("effect %+v", effect)
			}
		}
	}
	_, out := partial.ok("python", "print(1)")
	partial.Equal("stdout", out.Stdout, "1\n")
	partial.Equal("questions", len(partial.Questions()), 1)
}

func TestRulesHold(t *testing.T) {
	rule := func(pattern string, d tongs.Decision) tongs.Rule {
		return tongs.Rule{Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectExecute), Pattern: pattern, Decision: d}
	}
	b := newBench(t, setup{rules: []tongs.Rule{rule("node", tongs.Blocked), rule("rm", tongs.Blocked), rule("git push", tongs.Ask)}})
	b.Fails(tongs.CodeBlocked, "", b.call("javascript", "console.log(1)"))
	b.Fails(tongs.CodeBlocked, "", b.call("bash", "echo a; env rm x"))
	b.Equal("asked for in a script", b.explain("bash", "if true; then git push; fi").Decision, tongs.Ask)
	b.Equal("another script", b.explain("bash", "echo $(git log)").Decision, tongs.PreApproved)
}

// A grant is one for the program that was shown.
func TestGrantIsForTheProgramShown(t *testing.T) {
	b := newBench(t, setup{partial: true, answer: func(approval.Question) approval.Answer {
		return approval.Answer{Approved: true, Scope: approval.Session}
	}})
	for i, tc := range []struct {
		code string
		more args
		want int
	}{
		{"print(1)", nil, 1},
		{"print(1)", nil, 0},
		{"print(2)", nil, 1},
		{"print(1)", args{"env": map[string]string{"A": "b"}}, 1},
		{"print(1)", args{"network": true}, 1},
		{"print(1)", nil, 0},
	} {
		b.ok("python", tc.code, tc.more)
		b.Equal(fmt.Sprintf("questions of call %d", i), len(b.Questions()), tc.want)
	}
}

func TestPreviewShowsTheProgram(t *testing.T) {
	b := newBench(t, setup{partial: true})
	b.ok("python", "if 1:\n\tprint('a')  # \u202e evil\n", args{"args": []string{"x"}, "env": map[string]string{"A": "1"}})
	q := b.Questions()[0]
	b.Equal("preview", q.Preview, "A=1\narguments: [\"x\"]\nif 1:\n    print('a')  # \\u202e evil")
	b.Contains("message", q.Message, "in a sandbox that is not full")
}

func TestTimeoutKeepsOutputAndFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, setup{})
	var res *tongs.Result
	var out Output
	for timeout := 1; timeout < 100 && out.Stdout == ""; timeout *= 4 { // until it had the time to say something
		res = b.call("python", "import time\nopen('made', 'w').close()\nprint('partial')\ntime.sleep(1000)", args{"timeout": timeout})
		b.Fails(tongs.CodeTimeout, fmt.Sprintf("killed after %ds", timeout), res)
		out = b.value(res)
	}
	b.Equal("stdout", out.Stdout, "partial\n")
	b.Equal("timed out", out.TimedOut, true)
	b.Equal("files", len(out.Files), 1)
	var v schema.Validator
	b.Must(v.CheckOutput(b.tool.Spec(), res.Value))
}

func TestCancel(t *testing.T) {
	b := newBench(t, setup{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	res := b.Engine.Call(ctx, &tongs.Call{Tool: "run_code", Args: b.JSON(given("bash", "echo started; sleep 100", nil)...), Sink: func(u tongs.Update) {
		if strings.Contains(u.Text, "started") {
			cancel()
		}
	}})
	b.Fails(tongs.CodeCancelled, "", res)
	b.Contains("content", res.Content, "started")
}

// host is a name that means the machine itself, for the guard of the tests.
const host = "service.test"

// server answers on the loopback address of the machine, which a program reaches only through the guard.
func server(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "answer") }))
	t.Cleanup(s.Close)
	return fmt.Sprintf("http://%s:%d/", host, s.Listener.Addr().(*net.TCPAddr).Port)
}

const fetch = `
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1]).read().decode())
`

func TestNetworkIsAskedForByHost(t *testing.T) {
	url := server(t)
	b := newBench(t, setup{private: host})
	_, out := b.ok("python", fetch, args{"args": []string{url}, "network": true})
	b.Equal("stdout", out.Stdout, "answer\n")
	b.Equal("stderr of the run that failed", out.Stderr, "")
	asked := b.Questions()
	if len(asked) != 2 {
		t.Fatalf("%d questions", len(asked))
	}
	found := false
	for _, e := range asked[1].Effects {
		found = found || e.Kind == tongs.EffectNetwork && strings.HasPrefix(e.Host, host)
	}
	if !found {
		t.Errorf("the second question is about %v", asked[1].Effects)
	}
}

func TestNoNetworkUnlessAskedFor(t *testing.T) {
	url := server(t)
	b := newBench(t, setup{private: host})
	res, out := b.ok("python", fetch, args{"args": []string{url}})
	if out.ExitCode == 0 || strings.Contains(out.Stdout, "answer") {
		t.Errorf("it was reached: %q", out.Stdout)
	}
	b.Contains("content", res.Content, "there is no network without network: true")
	b.Equal("questions", len(b.Questions()), 0)
}

func TestWrongUse(t *testing.T) {
	b := newBench(t, setup{})
	b.Fails(tongs.CodeInvalidArgs, "language", b.call("cobol", "x"))
	b.Fails(tongs.CodeInvalidArgs, "code", b.call("python", ""))
	b.Fails(tongs.CodeInvalidArgs, "WORKSPACE", b.call("python", "x", args{"env": map[string]string{"WORKSPACE": "/"}}))
	b.Fails(tongs.CodeInvalidArgs, "A B", b.call("python", "x", args{"env": map[string]string{"A B": "/"}}))
	b.Fails(tongs.CodeInvalidArgs, "NUL", b.call("python", "x", args{"env": map[string]string{"A": "\x00"}}))
	b.Fails(tongs.CodeInvalidArgs, "timeout", b.call("python", "x", args{"timeout": 601}))
}

func TestMissingInterpreter(t *testing.T) {
	only := func(names ...string) tongs.Tool {
		tool, err := New(Options{LookPath: func(name string) (string, bool) {
			return "/bin/" + name, strings.Contains(strings.Join(names, " ")+" ", name+" ")
		}})
		if err != nil {
			t.Fatal(err)
		}
		return tool
	}
	b := newBench(t, setup{tool: only("bash")})
	b.Fails(tongs.CodeConfigError, "node or nodejs is not installed here; install Node.js", b.call("javascript", "x"))
	b.Fails(tongs.CodeConfigError, "or use what is there: bash", b.call("python", "x"))
	b = newBench(t, setup{tool: only("ruby")})
	b.Fails(tongs.CodeConfigError, "none of the other languages", b.call("go", "x"))
	b.Equal("questions", len(b.Questions()), 0)
}

func TestLongAndStrangeCode(t *testing.T) {
	b := newBench(t, setup{})
	long := strings.Repeat("# a comment that makes the program longer than an argument may be\n", 10_000) + "print('end')\n"
	_, out := b.ok("python", long)
	b.Equal("long", out.Stdout, "end\n")
	_, out = b.ok("python", "print('ä', \"$HOME `id` '\")")
	b.Equal("quotes", out.Stdout, "ä $HOME `id` '\n")
	_, out = b.ok("bash", "read x; echo \"<$x>\"\necho next")
	b.Equal("a script that reads", out.Stdout, "<>\nnext\n")
	_, out = b.ok("python", "import sys\nsys.stdout.buffer.write(b'a\\xff\\x1b[31mb\\n')")
	b.Equal("bytes", out.Stdout, "a\uFFFDb\n")
}

func TestConformance(t *testing.T) {
	b := newBench(t, setup{})
	tooltest.Run(t, b.tool, tooltest.Options{
		Caller: func(_ tooltest.TB, tool tongs.Tool, dir string) tongs.Caller {
			return newBench(t, setup{tool: tool, dir: dir}).Engine
		},
		Files: map[string]string{"a.txt": "one\n"},
		Valid: []string{
			`{"language":"bash","code":"cat $WORKSPACE/a.txt; echo x > made"}`,
			`{"language":"python","code":"print(1)","args":["a"],"env":{"A":"b"},"timeout":30}`,
			`{"language":"bash","code":"echo x > $WORKSPACE/made","write":true}`,
			`{"language":"bash","code":"exit 3","network":true}`,
		},
		Blocking: []string{`{"language":"bash","code":"echo started; sleep 1000","timeout":600}`},
	})
	tooltest.Snapshot(t, "testdata/specs", b.tool)
}

func TestAProgramWithoutFilesLeavesNothing(t *testing.T) {
	b := newBench(t, setup{})
	b.ok("bash", "true")
	left, err := filepath.Glob(filepath.Join(b.Spill.Dir(), "*", "*"))
	b.Must(err)
	b.Equal("left in the spill", len(left), 0)
	b.ok("bash", "echo x > made")
	left, err = filepath.Glob(filepath.Join(b.Spill.Dir(), "*", "*", "made"))
	b.Must(err)
	b.Equal("files in the spill", len(left), 1)
}
