package module_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/module"
	"github.com/tongs-ai/tongs/internal/workbench"
	"github.com/tongs-ai/tongs/internal/workbench/base"
	"github.com/tongs-ai/tongs/sandbox"
)

// buildCache is shared by the tests: it takes long to compile what Go programs need.
var buildCache string

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "module-test-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		if buildCache, err = filepath.EvalSymlinks(dir); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

type args = workbench.Args

// bench is a workspace with modules in it, called through a real engine and a real sandbox.
type bench struct {
	*workbench.Bench
	state string
	opt   module.Options
	set   *module.Set
	mods  []module.Config
}

// newBench makes a bench; files are pairs of a name and a content.
func newBench(t testing.TB, o workbench.Options, files ...string) *bench {
	t.Helper()
	b := &bench{state: workbench.RealDir(t)}
	programs := filepath.Join(b.state, "programs")
	o.Programs, o.Caches = programs, sandbox.CachesIn(buildCache)
	var opt engine.Options
	b.Bench, opt = workbench.New(t, o)
	for i := 0; i < len(files); i += 2 {
		b.Put(files[i], files[i+1], 0o644)
	}
	b.opt = module.Options{
		State: filepath.Join(b.state, "records"), Programs: programs, Workspace: b.Dir, Commands: func(p *tongs.Permit) tongs.Commands { return b.Confiner.Commands(p) }, Zones: []tongs.Zone{{Path: tongs.Path{Rel: "."}}}, OnChange: b.swap,
	}
	b.open()
	opt.Providers = map[tongs.SourceKind]engine.Provider{tongs.SourceModule: &base.Current{Of: func() engine.Provider { return b.set }}}
	var err error
	b.Engine, err = engine.New(opt)
	b.Must(err)
	return b
}

// open makes the set, as another process would find it.
func (b *bench) open() {
	b.Helper()
	if b.set != nil {
		b.set.Close()
	}
	var err error
	b.opt.Modules = b.mods
	b.set, err = module.New(b.opt)
	b.Must(err)
	b.Cleanup(func() { _ = b.set.Close() })
	b.swap()
}

func (b *bench) swap() {
	if b.Engine != nil {
		b.Must(b.Engine.Refresh(context.Background()))
	}
}

// zod makes zod 4 importable in the workspace.
func (b *bench) zod() {
	b.Helper()
	from, err := filepath.Abs("../../bin/npm/node_modules/zod")
	b.Must(err)
	if _, err := os.Stat(filepath.Join(from, "package.json")); err != nil {
		b.Fatalf("these tests need zod: run test/scripts/needs (%v)", err)
	}
	b.Must(os.MkdirAll(filepath.Join(b.Dir, "node_modules"), 0o755))
	b.Must(os.Symlink(from, filepath.Join(b.Dir, "node_modules/zod")))
}

// use configures a module of the workspace.
func (b *bench) use(file string, tools ...string) {
	b.Helper()
	b.mods = append(b.mods, module.Config{Module: filepath.Join(b.Dir, file), Tools: tools, Origin: "config.yaml:3"})
	b.open()
}

// approve approves a module as it is, and learns what its tools are.
func (b *bench) approve(name string) string {
	b.Helper()
	v, err := b.set.Look(context.Background(), name)
	b.Must(err)
	b.Must(b.set.Approve(context.Background(), v, "test"))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	text, err := b.set.Learn(ctx, name)
	b.Must(err)
	return text
}

// ready is use and approve.
func (b *bench) ready(file string, tools ...string) {
	b.Helper()
	b.use(file, tools...)
	b.approve(file)
}

// value calls a tool, which must succeed, and returns its value.
func (b *bench) value(tool string, list ...args) string {
	b.Helper()
	return string(b.OK(tool, list...).Value)
}

func (b *bench) spec(name string) *tongs.Spec {
	b.Helper()
	entry, ok := b.Engine.Set().Lookup(name)
	if !ok {
		b.Fatalf("there is no tool %s", name)
	}
	return entry.Tool.Spec()
}

func schemaOf(t testing.TB, spec *tongs.Spec) string {
	t.Helper()
	data, err := json.Marshal(spec.Input)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func contains(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%.2000q does not say %q", text, w)
		}
	}
}
