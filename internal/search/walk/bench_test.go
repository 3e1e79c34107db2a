//go:build unix

package walk_test

import (
	"context"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/search/walk"
)

// corpora are real trees of this machine: Go's own source and the module cache.
func corpora(b *testing.B) map[string]string {
	trees := map[string]string{"goroot": build.Default.GOROOT}
	if out, err := exec.Command("go", "env", "GOMODCACHE").Output(); err == nil {
		trees["modules"] = strings.TrimSpace(string(out))
	}
	for name, dir := range trees {
		if _, err := os.Stat(dir); err != nil {
			delete(trees, name)
		} else if trees[name], err = filepath.EvalSymlinks(dir); err != nil {
			b.Fatal(err)
		}
	}
	return trees
}

// spent is how much time something took, by the clock and of the processors.
type spent struct{ wall, cpu time.Duration }

func (s *spent) add(o spent) { s.wall, s.cpu = s.wall+o.wall, s.cpu+o.cpu }

func own(b *testing.B, dir string, opt walk.Options) (spent, int64) {
	var files atomic.Int64
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began, before := time.Now(), cpu()
	opt.Root = dir
	err := walk.Walk(b.Context(), opt, func(e *walk.Entry) error {
		if e.Type == walk.File {
			files.Add(1)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return spent{time.Since(began), cpu() - before}, files.Load()
}

func program(b *testing.B, dir string, argv ...string) spent {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	began := time.Now()
	if err := cmd.Run(); err != nil {
		b.Logf("%s: %v", argv[0], err)
	}
	return spent{time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// BenchmarkListing lists real trees, in turns with rg --files and fd, and reports what it took in proportion: by the
// clock, and of the processors, which other load disturbs less.
func BenchmarkListing(b *testing.B) {
	for name, dir := range corpora(b) {
		b.Run(name, func(b *testing.B) {
			var ours, rg, fd, sorted spent
			var files int64
			for b.Loop() {
				s, n := own(b, dir, walk.Options{})
				ours.add(s)
				files = n
				rg.add(program(b, dir, "rg", "--files", "--no-require-git", "--no-messages"))
				fd.add(program(b, dir, "fdfind", "--type", "f", "."))
				s, _ = own(b, dir, walk.Options{Sorted: true})
				sorted.add(s)
			}
			b.ReportMetric(float64(files), "files")
			b.ReportMetric(float64(ours.wall.Microseconds())/1000/float64(b.N), "own-ms")
			b.ReportMetric(float64(ours.wall)/float64(rg.wall), "x-rg")
			b.ReportMetric(float64(ours.wall)/float64(fd.wall), "x-fd")
			b.ReportMetric(float64(ours.cpu)/float64(rg.cpu), "cpu-x-rg")
			b.ReportMetric(float64(ours.cpu)/float64(fd.cpu), "cpu-x-fd")
			b.ReportMetric(float64(sorted.wall)/float64(rg.wall), "sorted-x-rg")
		})
	}
}

func BenchmarkWalk(b *testing.B) {
	for name, dir := range corpora(b) {
		for kind, sorted := range map[string]bool{"parallel": false, "sorted": true} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					own(b, dir, walk.Options{Sorted: sorted})
				}
			})
		}
	}
}

// BenchmarkCancel reports how long a walk goes on after it was cancelled.
func BenchmarkCancel(b *testing.B) {
	dir := build.Default.GOROOT
	var took time.Duration
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		var visits atomic.Int64
		var began time.Time
		err := walk.Walk(ctx, walk.Options{Root: dir}, func(*walk.Entry) error {
			if visits.Add(1) == 1000 {
				began = time.Now()
				cancel()
			}
			return nil
		})
		took += time.Since(began)
		if err == nil {
			b.Fatal("the walk was not cancelled")
		}
	}
	b.ReportMetric(float64(took.Microseconds())/float64(b.N), "µs-after-cancel")
}
