package confine_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

type runIn struct {
	Script   string `json:"script" jsonschema:"what to run"`
	ReadOnly bool   `json:"readOnly,omitempty" jsonschema:"keep it from writing"`
	Scratch  bool   `json:"scratch,omitempty" jsonschema:"run it elsewhere"`
	Copy     bool   `json:"copy,omitempty" jsonschema:"run it on a copy"`
	Build    bool   `json:"build,omitempty" jsonschema:"say that it is a build"`
	Server   string `json:"server,omitempty" jsonschema:"say that it is a server"`
	Plain    bool   `json:"plain,omitempty" jsonschema:"run the shell of the system, also for a build"`
}

type runOut struct {
	Out   string   `json:"out"`
	Code  int      `json:"code"`
	Files []string `json:"files"`
	// Held are the protected names that were taken away, Approved those that a person approved, each with where it is.
	Held     []string `json:"held"`
	Approved []string `json:"approved"`
	Outside  []string `json:"outside"`
	// Refused are the changes on a copy that cannot be kept.
	Refused []string `json:"refused"`
}

// bench is an engine with one tool that runs a script, in the real sandbox.
type bench struct {
	*engine.Engine
	dir   string
	asked []approval.Question
	say   bool
	// answer, where it is set, answers instead of say.
	answer   func(approval.Question) approval.Answer
	log      audit.Log
	desk     *approval.Desk
	confiner *confine.Confiner
	// builder is a shell among the programs that Tongs keeps.
	builder string
	// meanwhile happens while a person is asked.
	meanwhile func()
	// instead, where it is set, is what the tool does.
	instead func(context.Context, *tongs.Env) error
	// observe, where it is set, is told of every event.
	observe func(engine.Event)
	// intended happens when a decision was logged, and before anything comes of it.
	intended func(*audit.Intent)
}

// intents is a log that has the bench's intended happen.
type intents struct {
	audit.Log
	b *bench
}

func (l intents) Intent(ctx context.Context, call string, in *audit.Intent) error {
	err := l.Log.Intent(ctx, call, in)
	if l.b.intended != nil {
		l.b.intended(in)
	}
	return err
}

func setup(t *testing.T, opt confine.Options, more ...tongs.Rule) *bench {
	t.Helper()
	return setupIn(t, t.TempDir(), opt, more...)
}

// setupIn is setup with a directory that is there already.
func setupIn(t *testing.T, dir string, opt confine.Options, more ...tongs.Rule) *bench {
	t.Helper()
	b := &bench{dir: dir, say: true, log: audit.NewMemory(), meanwhile: func() {}}
	b.log = intents{b.log, b}
	ws, err := opt.Workspace, error(nil)
	if ws == nil {
		ws, err = workspace.Open(workspace.Options{Dir: b.dir, LockDir: filepath.Join(t.TempDir(), "locks")})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.dir = ws.Dir()
	runner, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { runner.Close() })
	opt.Runner, opt.Workspace = runner, ws
	if opt.Scratch == "" {
		opt.Scratch = t.TempDir()
	}
	tool, err := tongs.New(tongs.Def[runIn, runOut]{
		Spec: tongs.Spec{
			Name: "run", Description: "Runs a script.", Needs: tongs.Execute, Optional: tongs.Read | tongs.Write | tongs.Network, Default: tongs.PreApproved,
		},
		Plan: func(_ context.Context, _ *tongs.View, in runIn) (*tongs.Plan, error) {
			effects := []tongs.Effect{{Kind: tongs.EffectExecute, Argv: []string{"sh", "-c", in.Script}}}
			return &tongs.Plan{Effects: effects, Contained: in.Copy}, nil
		},
		Run: func(ctx context.Context, env *tongs.Env, in runIn) (runOut, error) {
			if b.instead != nil {
				return runOut{}, b.instead(ctx, env)
			}
			var out bytes.Buffer
			argv := []string{"sh", "-c", in.Script}
			if in.Build && !in.Plain {
				argv[0] = b.builder
			}
			exit, err := env.Commands.Run(ctx, &tongs.Command{
				Argv: argv, Dir: env.Dir, Stdout: &out, Stderr: &out, ReadOnly: in.ReadOnly, Scratch: in.Scratch, OnCopy: in.Copy, Build: in.Build, Server: in.Server,
			})
			if err != nil {
				return runOut{}, err
			}
			res := runOut{Out: out.String(), Code: exit.Code}
			res.Outside = exit.Report.Outside
			for _, f := range exit.Files {
				res.Files = append(res.Files, f.Name+" "+f.Path)
			}
			return res, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	person := approval.Callback(func(_ context.Context, q approval.Question) (approval.Answer, error) {
		b.asked = append(b.asked, q)
		b.meanwhile()
		if b.answer != nil {
			return b.answer(q), nil
		}
		return approval.Answer{Approved: b.say}, nil
	})
	b.desk = &approval.Desk{Store: approval.NewMemory(approval.Options{}), Channels: []approval.Channel{person}}
	confiner := confine.New(opt)
	b.confiner = confiner
	b.Engine, err = engine.New(engine.Options{
		Tools: []tongs.Tool{tool}, Workspace: ws, Audit: b.log, Commands: confiner.Commands, Outcomes: confiner.Outcomes,
		Approval: b.desk,
		Observe: func(e engine.Event) {
			if b.observe != nil {
				b.observe(e)
			}
		},
		Rules: func() []tongs.Rule {
			return append(more, tongs.Rule{Effects: tongs.Kinds(tongs.EffectNetwork), Decision: tongs.Ask, Layer: tongs.LayerUser})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) run(t *testing.T, args string) (runOut, *tongs.Result) {
	t.Helper()
	res := b.Call(t.Context(), &tongs.Call{Tool: "run", Args: []byte(args)})
	if res.Error != nil {
		return runOut{}, res
	}
	out, err := tongs.ValueOf[runOut](res)
	if err != nil {
		t.Fatal(err)
	}
	out.settle(res)
	return out, res
}

// settle takes up what became of what the program did.
func (r *runOut) settle(res *tongs.Result) {
	settled, ok := res.Metadata["settled"].(*tongs.Settled)
	if !ok {
		return
	}
	if settled.Changes != nil {
		r.Refused = settled.Changes.Refused
	}
	for _, h := range settled.Held {
		r.Held = append(r.Held, h.Path+" "+h.Host)
	}
	for _, h := range settled.Approved {
		r.Approved = append(r.Approved, h.Path)
	}
}

func (b *bench) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestProgramsSeeTheWorkspaceAndNoMore(t *testing.T) {
	b := setup(t, confine.Options{})
	b.write(t, "a.txt", "content\n")
	b.write(t, ".env", "SECRET=1\n")
	b.write(t, ".git/hooks/pre-commit", "as it was\n")
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("private"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, res := b.run(t, `{"script":"cat a.txt; echo made > b.txt; cat b.txt"}`)
	if out.Out != "content\nmade\n" || out.Code != 0 {
		t.Errorf("%+v: %s", out, res.Content)
	}
	for _, script := range []string{"cat .env", "cat " + outside, "echo evil > .git/hooks/pre-commit", "echo x > /etc/evil"} {
		out, res := b.run(t, `{"script":"`+script+` 2>/dev/null && echo GOT-THROUGH; true"}`)
		if res.Error != nil || strings.Contains(out.Out, "GOT-THROUGH") || strings.Contains(out.Out, "SECRET") {
			t.Errorf("%s: %+v %s", script, out, res.Content)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(b.dir, ".git/hooks/pre-commit")); string(data) != "as it was\n" {
		t.Errorf("the hook is %q", data)
	}
}

func TestReadOnlyCommandsCannotWrite(t *testing.T) {
	b := setup(t, confine.Options{})
	b.write(t, "a.txt", "content\n")
	b.write(t, ".env", "SECRET=1\n")
	out, _ := b.run(t, `{"script":"cat a.txt; cat .env; (echo x > b.txt) 2>/dev/null && echo WROTE; true","readOnly":true}`)
	if !strings.HasPrefix(out.Out, "content\n") || strings.Contains(out.Out, "WROTE") || strings.Contains(out.Out, "SECRET") {
		t.Errorf("%+v", out)
	}
}

func TestScratchDirectoryIsKeptBesideTheOutput(t *testing.T) {
	b := setup(t, confine.Options{})
	b.write(t, "a.txt", "content\n")
	out, res := b.run(t, `{"script":"cat $WORKSPACE/a.txt; echo made > b.txt; ln -s /etc/passwd link; (echo x > $WORKSPACE/c) 2>/dev/null || echo no","readOnly":true,"scratch":true}`)
	if out.Out != "content\nno\n" || len(out.Files) != 1 || !strings.HasPrefix(out.Files[0], "b.txt /spill/") {
		t.Errorf("%+v: %s", out, res.Content)
	}
}

// A host that nobody decided is refused exactly, asked for by name, and reached on the second run.
func TestDeniedHostBecomesANeed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "from the server") }))
	defer server.Close()
	guard := &network.Guard{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
		},
	}
	const host = "files.test"
	b := setup(t, confine.Options{Guard: guard, Private: func(name string) bool { return name == host }})
	fetch := `{"script":"python3 -c 'import urllib.request as u; print(u.urlopen(\"http://` + host + `/\").read().decode())'","readOnly":true}`
	b.say = false
	if _, res := b.run(t, fetch); res.Error == nil || res.Error.Code != tongs.CodeDenied || len(b.asked) != 1 {
		t.Fatalf("asked %d times: %s", len(b.asked), res.Content)
	}
	if q := b.asked[0]; !strings.Contains(strings.Join(q.Notes, " "), host) {
		t.Errorf("the question does not name the host: %+v", q)
	}
	b.say = true
	out, res := b.run(t, fetch)
	if !strings.Contains(out.Out, "from the server") {
		t.Errorf("%+v: %s", out, res.Content)
	}
}

// What package managers unpack into their caches is obeyed by nobody, so nobody is asked about it.
func TestNamesInCachesAreLeftAlone(t *testing.T) {
	b := setup(t, confine.Options{Caches: sandbox.CachesIn(t.TempDir())})
	out, res := b.run(t, `{"script":"mkdir -p $GOMODCACHE/x/.github/workflows .vscode; touch $GOMODCACHE/x/.github/workflows/ci.yml .vscode/tasks.json; ls -A"}`)
	if res.Error != nil || out.Code != 0 {
		t.Fatalf("%+v: %s", out, res.Content)
	}
	if len(out.Approved) != 1 || out.Approved[0] != ".vscode" || len(out.Held) != 0 {
		t.Errorf("approved %q, held %q", out.Approved, out.Held)
	}
}

// A path that a rule names is kept from programs, which need not say what they open; one that was decided is not.
func TestRulesAboutPathsHoldForPrograms(t *testing.T) {
	all := []tongs.Rule{
		{Effects: tongs.Kinds(tongs.EffectRead), Pattern: "private/**", Decision: tongs.Blocked},
		{Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "**/*.lock", Decision: tongs.Blocked},
	}
	b := setup(t, confine.Options{Rules: func() []tongs.Rule { return all }}, all...)
	b.write(t, "private/plan.txt", "PLAN")
	b.write(t, "sub/a.lock", "as it was")
	b.write(t, "sub/a.txt", "open")
	out, res := b.run(t, `{"script":"cat sub/a.txt; cat $(echo priv)ate/plan.txt; for f in sub/*; do echo x > $f; done; true"}`)
	if res.Error != nil || !strings.HasPrefix(out.Out, "open") || strings.Contains(out.Out, "PLAN") {
		t.Errorf("%+v: %s", out, res.Content)
	}
	if data, _ := os.ReadFile(filepath.Join(b.dir, "sub/a.lock")); string(data) != "as it was" {
		t.Errorf("a.lock is %q", data)
	}
	if data, _ := os.ReadFile(filepath.Join(b.dir, "sub/a.txt")); string(data) != "x\n" {
		t.Errorf("a.txt is %q", data)
	}
}

// Every connection of a program, made or refused, is in the row of its call.
func TestConnectionsAreInTheRow(t *testing.T) {
	b := setup(t, confine.Options{})
	b.say = false
	b.run(t, `{"script":"python3 -c 'import urllib.request as u; u.urlopen(\"http://nowhere.test/\")' 2>/dev/null","readOnly":true}`)
	rows, err := b.log.Rows(t.Context(), audit.Filter{})
	if err != nil || len(rows) != 1 || rows[0].Close == nil {
		t.Fatalf("%+v, %v", rows, err)
	}
	if got := rows[0].Close.Connections; len(got) != 1 || !strings.HasPrefix(got[0], "nowhere.test:80 refused") {
		t.Errorf("connections %q", got)
	}
}
