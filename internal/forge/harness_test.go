package forge_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/forge"
	"github.com/tongs-ai/tongs/internal/workbench"
	"github.com/tongs-ai/tongs/internal/workbench/base"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/tools/files"
	"github.com/tongs-ai/tongs/workspace"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "custom-test-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		buildCaches = sandbox.CachesIn(dir)
		return m.Run()
	}())
}

// buildCaches are shared by the tests: it takes long to compile what Go programs need.
var buildCaches sandbox.Caches

type args = workbench.Args

// bench is a workspace with a forge beside it, called through a real engine and a real sandbox.
type bench struct {
	*workbench.Bench
	forge, state string
	set          *forge.Set
}

func newBench(t testing.TB, o workbench.Options, change ...func(*forge.Options)) *bench {
	t.Helper()
	b := &bench{forge: workbench.RealDir(t), state: workbench.RealDir(t)}
	var opt engine.Options
	b.Bench, opt = workbench.New(t, b.with(o))
	settings := forge.Options{Dir: b.forge, State: b.state}
	for _, c := range change {
		c(&settings)
	}
	var err error
	b.set, err = forge.New(settings)
	b.Must(err)
	list, err := files.Tools(files.Options{})
	b.Must(err)
	own, err := b.set.Builtins()
	b.Must(err)
	opt.Tools = append(list, own...)
	opt.Providers = map[tongs.SourceKind]engine.Provider{tongs.SourceForge: &base.Current{Of: func() engine.Provider { return b.set }}}
	opt.OnResult = func(*tongs.Call, *tongs.Result) { b.refresh() }
	b.Engine, err = engine.New(opt)
	b.Must(err)
	return b
}

// get finds a tool.
func (b *bench) get(name string) (tongs.Tool, bool) {
	entry, ok := b.Engine.Set().Lookup(name)
	return entry.Tool, ok
}

// with adds the forge to what a bench is like.
func (b *bench) with(o workbench.Options) workbench.Options {
	o.Roots = []workspace.Root{{Name: forge.Root, Dir: b.forge, Writable: true}}
	o.Sealed = []string{forge.Root}
	o.Programs, o.Caches = filepath.Join(b.state, "programs"), buildCaches
	o.Rules = append(forge.Rules(), o.Rules...)
	return o
}

func (b *bench) refresh() {
	_, err := b.set.Scan()
	b.Must(err)
	if b.Engine != nil {
		b.Must(b.Engine.Refresh(context.Background()))
	}
}

// tool writes a tool by hand. Files are pairs of a name and a content; one that begins with #! can be run.
func (b *bench) tool(name string, pairs ...string) {
	b.Helper()
	dir := filepath.Join(b.forge, name)
	b.Must(os.MkdirAll(dir, 0o755))
	for i := 0; i < len(pairs); i += 2 {
		mode := os.FileMode(0o644)
		if len(pairs[i+1]) > 1 && pairs[i+1][:2] == "#!" {
			mode = 0o755
		}
		b.Must(os.MkdirAll(filepath.Dir(filepath.Join(dir, pairs[i])), 0o755))
		b.Must(os.WriteFile(filepath.Join(dir, pairs[i]), []byte(pairs[i+1]), mode))
		b.Must(os.Chmod(filepath.Join(dir, pairs[i]), mode))
	}
	b.refresh()
}

// script writes a tool that is a shell script, and approves it.
func (b *bench) script(name, yaml, body string) {
	b.Helper()
	b.tool(name, "tool.yaml", "name: "+name+"\ndescription: A test.\nentrypoint: run\n"+yaml, "run", "#!/bin/sh\n"+body+"\n")
	b.approve(name)
}

// outOfTime calls a script that says "early" and does not end by itself. Where the machine is too busy for it to say so in a
// second, it is given more.
func (b *bench) outOfTime(name, body string) *tongs.Result {
	b.Helper()
	for limit := time.Second; ; limit *= 4 {
		b.script(name, fmt.Sprintf("timeout: %d\n", int(limit.Seconds())), body)
		res := b.Call(name)
		b.Fails(tongs.CodeTimeout, fmt.Sprintf("killed after %s", limit), res)
		if strings.Contains(res.Content, "early") {
			return res
		}
		if limit > time.Minute {
			b.Fatalf("%s said nothing in %s: %s", name, limit, res.Content)
		}
	}
}

func (b *bench) approve(name string) {
	b.Helper()
	v, err := b.set.Look(context.Background(), name)
	b.Must(err)
	b.Must(b.set.Approve(context.Background(), v, "test"))
}

func (b *bench) status(name string) tongs.SourceState {
	b.Helper()
	_, err := b.set.Scan()
	b.Must(err)
	for _, s := range b.set.States() {
		if s.Name == name {
			return s
		}
	}
	return tongs.SourceState{}
}

// deny answers every question with no.
func deny(approval.Question) approval.Answer { return approval.Answer{Reason: "no"} }

// age makes the files of a forge look old, so that their times tell changes apart.
func (b *bench) age() {
	b.Helper()
	past := time.Now().Add(-time.Hour)
	b.Must(filepath.WalkDir(b.forge, func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(name, past, past)
	}))
}

// putFile writes one more file of a tool, at any depth.
func (b *bench) putFile(tool, name, content string) {
	b.Helper()
	host := filepath.Join(b.forge, tool, name)
	b.Must(os.MkdirAll(filepath.Dir(host), 0o755))
	b.Must(os.WriteFile(host, []byte(content), 0o644))
	b.refresh()
}
