package walk_test

import (
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/search/walk"
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

// BenchmarkListing lists real trees, in turns with rg --files and fd, and reports how long it took in proportion.
func BenchmarkListing(b *testing.B) {
	for name, dir := range corpora(b) {
		b.Run(name, func(b *testing.B) {
			others := []struct {
				name string
				argv []string
				took time.Duration
			}{
				{name: "rg", argv: []string{"rg", "--files", "--no-require-git", "--no-messages"}},
				{name: "fd", argv: []string{"fdfind", "--type", "f", "--show-errors=false", "."}},
			}
			others[1].argv = []string{"fdfind", "--type", "f", "."}
			var own time.Duration
			var files atomic.Int64
			for b.Loop() {
				files.Store(0)
				began := time.Now()
				err := walk.Walk(b.Context(), walk.Options{Root: dir}, func(e *walk.Entry) error {
					if e.Type == walk.File {
						files.Add(1)
					}
					return nil
				})
				own += time.Since(began)
				if err != nil {
					b.Fatal(err)
				}
				for i := range others {
					o := &others[i]
					cmd := exec.Command(o.argv[0], o.argv[1:]...)
					cmd.Dir = dir
					began := time.Now()
					if err := cmd.Run(); err != nil {
						b.Logf("%s: %v", o.name, err)
					}
					o.took += time.Since(began)
				}
			}
			b.ReportMetric(float64(files.Load()), "files")
			b.ReportMetric(float64(own.Milliseconds())/float64(b.N), "own-ms")
			for _, o := range others {
				b.ReportMetric(float64(own)/float64(o.took), "x-"+o.name)
			}
		})
	}
}
