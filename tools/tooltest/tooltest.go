// Package tooltest is the test suite that every tool must pass. A test of a tool is three lines:
//
//	func TestReadFile(t *testing.T) {
//		tooltest.Run(t, tool, tooltest.Options{Valid: []string{`{"path":"a.txt"}`}, Files: map[string]string{"a.txt": "x"}})
//	}
//
// It checks that the spec is valid and portable, that unknown and wrong arguments are refused, that cancellation is
// honoured, that values match the output schema, that planning has no side effects, and that calls in parallel do not
// disturb each other (most telling with -race).
package tooltest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/workspace"
)

// TB is what the suite needs of a test. *testing.T, *testing.B and *testing.F have it.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	TempDir() string
	Cleanup(func())
	Context() context.Context
}

// Options say how a tool is tested. Valid needs at least one example; everything else may be left out.
type Options struct {
	// Valid are arguments that succeed, each as a JSON object. Each one is called in a fresh directory.
	Valid []string
	// Files are put into the directory before a call: contents by slash-separated names.
	Files map[string]string
	// Setup prepares the directory further.
	Setup func(t TB, dir string)
	// Blocking are arguments of calls that go on until they are cancelled.
	Blocking []string
	// AnyValue names properties that take every JSON value, and so cannot be given a wrong one.
	AnyValue []string
	// Open says that the tool takes properties that its schema does not name.
	Open bool
	// Engine changes the options of the engine that calls the tool, for one that needs commands or HTTP.
	Engine func(opt *engine.Options)
	// Caller makes what calls the tool, with dir as its workspace. Nil is an engine where a person says yes to all.
	Caller func(t TB, tool tongs.Tool, dir string) tongs.Caller

	// patience is how long a cancelled tool may take; zero means 10 s. It ends tests that would hang.
	patience time.Duration
}

// Run runs the suite on a tool. With a *testing.T each property is a subtest.
func Run(t TB, tool tongs.Tool, opt Options) {
	t.Helper()
	if len(opt.Valid) == 0 {
		t.Fatalf("give at least one example of valid arguments")
	}
	if opt.patience == 0 {
		opt.patience = 10 * time.Second
	}
	if lazy, ok := tool.(tongs.Initializer); ok {
		dir := t.TempDir()
		made, err := lazy.Init(t.Context(), tongs.InitContext{Workspace: dir, Dir: dir})
		if err != nil {
			t.Fatalf("the tool cannot be initialised: %v", err)
		}
		tool = made
	}
	for _, check := range []struct {
		name string
		run  func(*suite)
	}{
		{"spec", (*suite).spec},
		{"portable", (*suite).portable},
		{"arguments", (*suite).arguments},
		{"planning", (*suite).planning},
		{"output", (*suite).output},
		{"cancellation", (*suite).cancellation},
		{"parallel", (*suite).parallel},
	} {
		if tt, ok := t.(*testing.T); ok {
			tt.Run(check.name, func(tt *testing.T) { check.run(&suite{tt, tool, opt}) })
			continue
		}
		check.run(&suite{t, tool, opt})
	}
}

// suite checks one tool.
type suite struct {
	TB
	tool tongs.Tool
	opt  Options
}

// place makes a fresh directory with the files.
func (s *suite) place() string {
	s.Helper()
	dir, err := filepath.EvalSymlinks(s.TempDir())
	if err != nil {
		s.Fatalf("%v", err)
	}
	for name, content := range s.opt.Files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			s.Fatalf("%v", err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			s.Fatalf("%v", err)
		}
	}
	if s.opt.Setup != nil {
		s.opt.Setup(s.TB, dir)
	}
	return dir
}

// caller makes a caller of tool, which may be a wrapper of the one that is tested.
func (s *suite) caller(tool tongs.Tool, dir string) tongs.Caller {
	s.Helper()
	if s.opt.Caller != nil {
		return s.opt.Caller(s.TB, tool, dir)
	}
	return s.engine(tool, dir)
}

func (s *suite) engine(tool tongs.Tool, dir string) tongs.Caller {
	s.Helper()
	ws, err := workspace.Open(workspace.Options{Dir: dir, LockDir: filepath.Join(s.TempDir(), "locks")})
	if err != nil {
		s.Fatalf("%v", err)
	}
	yes := approval.Callback(func(context.Context, approval.Question) (approval.Answer, error) {
		return approval.Answer{Approved: true, Scope: approval.Once}, nil
	})
	opt := engine.Options{
		Tools: []tongs.Tool{tool}, Workspace: ws,
		Approval: &approval.Desk{Store: approval.NewMemory(approval.Options{}), Channels: []approval.Channel{yes}},
	}
	if s.opt.Engine != nil {
		s.opt.Engine(&opt)
	}
	made, err := engine.New(opt)
	if err != nil {
		s.Fatalf("%v", err)
	}
	return made
}

func (s *suite) call(ctx context.Context, c tongs.Caller, session, args string) *tongs.Result {
	s.Helper()
	call := &tongs.Call{Tool: s.tool.Spec().Name, Args: json.RawMessage(args), Session: session}
	res := c.Call(ctx, call)
	if res == nil {
		s.Fatalf("%s: the caller returned no result", args)
	}
	return res
}
