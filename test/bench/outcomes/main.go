// Command outcomes measures what it costs to hold back what a command writes and to commit it, beside a sandboxed command
// that writes directly, for commands that change nothing and for ones that change many files; and how large the journal
// becomes. Both are run in turns, so that what else the machine does hits both alike.
//
//	go run ./test/bench/outcomes [-n 40] [-files 0,10,1000,30000] [-launcher PATH] [-tree 2000] [-sync]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/changeset"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace/journal"
)

func main() {
	sandbox.Main()
	if len(os.Args) == 3 && os.Args[1] == "change" {
		if err := change(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "test/bench/outcomes:", err)
		os.Exit(1)
	}
}

// change makes so many files, in the working directory, of about 2 kB each; half of the first ones are there already.
func change(count string) error {
	n, err := strconv.Atoi(count)
	for i := 0; i < n && err == nil; i++ {
		dir := "d" + strconv.Itoa(i/100)
		if i%100 == 0 {
			err = os.MkdirAll(dir, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "f"+strconv.Itoa(i)), []byte(strings.Repeat("line of file "+strconv.Itoa(i)+"\n", 100)), 0o644)
		}
	}
	return err
}

type bench struct {
	runner   *sandbox.Runner
	journal  *journal.Journal
	self     string
	top      string
	tree     int
	launcher string
}

// times are the durations of the parts of runs, by name.
type times map[string][]time.Duration

func run() error {
	n := flag.Int("n", 40, "runs of each with few files; those with many are run less often")
	files := flag.String("files", "0,10,1000,30000", "how many files commands change")
	launcher := flag.String("launcher", "", "a tongs-launch program; built when empty")
	tree := flag.Int("tree", 2000, "files that are in the workspace before")
	sync := flag.Bool("sync", false, "make the journal durable, as it is by default")
	flag.Parse()
	top, err := os.MkdirTemp("", "tongs-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(top)
	b := &bench{top: top, tree: *tree, launcher: *launcher}
	if err := b.prepare(*sync); err != nil {
		return err
	}
	defer b.runner.Close()
	defer b.journal.Close()
	fmt.Printf("%-8s %10s %10s %10s %10s %10s %10s %12s %12s\n", "files", "direct", "held back", "difference", "read", "commit", "drop", "changed", "journal")
	for field := range strings.SplitSeq(*files, ",") {
		count, err := strconv.Atoi(field)
		if err != nil {
			return err
		}
		if err := b.measure(count, max(2, min(*n, 40_000/max(count, 1)))); err != nil {
			return err
		}
	}
	return nil
}

// prepare builds the launcher, and a copy of this program that sandboxes can read.
func (b *bench) prepare(sync bool) (err error) {
	if b.launcher == "" {
		b.launcher = filepath.Join(b.top, "bin", "tongs-launch")
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.launcher, "github.com/tongs-ai/tongs/sandbox/cmd/tongs-launch")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building the launcher: %w\n%s", err, out)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(self)
	b.self = filepath.Join(b.top, "program", "change")
	err = errors.Join(err, os.MkdirAll(filepath.Dir(b.self), 0o755), os.WriteFile(b.self, data, 0o755))
	if err != nil {
		return err
	}
	if b.runner, err = sandbox.New(sandbox.Options{Launcher: b.launcher, Tiers: []string{sandbox.TierA}}); err != nil {
		return err
	}
	b.journal, err = journal.Open(journal.Options{Dir: filepath.Join(b.top, "journal"), NoSync: !sync})
	return err
}

// workspace makes a new workspace, with files that a command of so many changes will overwrite half of.
func (b *bench) workspace(count int) (string, error) {
	ws, err := os.MkdirTemp(b.top, "ws-")
	if err != nil {
		return "", err
	}
	for i := range max(b.tree, count/2) {
		dir := filepath.Join(ws, "d"+strconv.Itoa(i/100))
		if i%100 == 0 {
			err = os.MkdirAll(dir, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "f"+strconv.Itoa(i)), []byte("was "+strconv.Itoa(i)+"\n"), 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	return filepath.EvalSymlinks(ws)
}

func (b *bench) command(ws string, count int, held bool) *sandbox.Cmd {
	pol := sandbox.Policy{
		Readable: []string{filepath.Dir(b.self), "/usr", "/lib", "/lib64"}, Writable: []sandbox.Mount{sandbox.Decided(ws)}, Dir: ws, Env: []string{"GOMAXPROCS=2"}, Require: sandbox.Properties(),
		ProtectedNames: []string{".git", ".envrc"}, HiddenNames: []string{".env"},
	}
	if held {
		pol.Writable = []sandbox.Mount{sandbox.Layered(ws)}
		pol.Overlay = &sandbox.Overlay{Dir: filepath.Join(b.top, "layers")}
	}
	return &sandbox.Cmd{Argv: []string{b.self, "change", strconv.Itoa(count)}, Policy: pol, Stderr: os.Stderr}
}

func (b *bench) measure(count, n int) error {
	t := times{}
	before := size(b.journal.Dir())
	var changed int64
	warm := 3
	if count >= 1000 {
		warm = 1
	}
	for i := range n + warm {
		if i == warm {
			t, changed, before = times{}, 0, size(b.journal.Dir())
		}
		c, err := b.once(count, t)
		if err != nil {
			return err
		}
		changed += c
	}
	grown := size(b.journal.Dir()) - before
	held, direct := median(t["held"]), median(t["direct"])
	fmt.Printf("%-8d %10s %10s %10s %10s %10s %10s %10dkB %10dkB\n", count, show(direct), show(held), show(held-direct), show(median(t["read"])),
		show(median(t["commit"])), show(median(t["drop"])), changed/int64(n)>>10, grown/int64(n)>>10)
	return nil
}

// once runs a command directly and held back, each in a workspace of its own, and commits the latter.
func (b *bench) once(count int, t times) (changed int64, err error) {
	ctx := context.Background()
	timed := func(name string, f func() error) {
		if err == nil {
			begun := time.Now()
			err = f()
			t[name] = append(t[name], time.Since(begun))
		}
	}
	var spaces [2]string
	for i := range spaces {
		if spaces[i], err = b.workspace(count); err != nil {
			return 0, err
		}
		defer os.RemoveAll(spaces[i])
	}
	timed("direct", func() error {
		_, err := b.runner.Run(ctx, b.command(spaces[0], count, false))
		return err
	})
	var res *sandbox.Result
	timed("held", func() (err error) {
		res, err = b.runner.Run(ctx, b.command(spaces[1], count, true))
		return err
	})
	if err != nil {
		return 0, err
	}
	defer res.Overlay.Close()
	var set *changeset.Set
	timed("read", func() (err error) {
		l := res.Overlay.List[0]
		set, err = changeset.Read(ctx, changeset.Options{Drop: res.Overlay.Close, Layers: []changeset.Layer{{Layer: l, At: tongs.Path{Rel: "."}}}})
		return err
	})
	timed("commit", func() error {
		_, err := set.Commit(ctx, b.journal, journal.Entry{Tool: "bench", Roots: map[string]string{"": spaces[1]}}, nil)
		return err
	})
	timed("drop", func() error { return set.Drop() })
	if err != nil {
		return 0, err
	}
	return set.Counts().Written, nil
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

func show(d time.Duration) string { return fmt.Sprintf("%.2fms", float64(d.Microseconds())/1000) }

func size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
