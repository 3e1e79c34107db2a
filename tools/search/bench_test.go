package search_test

import (
	"go/build"
	"os/exec"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/workbench/base"
)

// BenchmarkGlob finds files of Go's own source by whole calls, in turns with fd, and reports the time in proportion.
func BenchmarkGlob(b *testing.B) {
	t := newBench(b, nil, func(o *base.Options) { o.Dir = build.Default.GOROOT })
	for name, pattern := range map[string]string{"many": "**/*.go", "few": "**/walk*.go", "one directory": "src/net/http/*.go"} {
		b.Run(name, func(b *testing.B) {
			var own, fd time.Duration
			for b.Loop() {
				began := time.Now()
				if out, res := t.glob(args{"pattern": pattern}); out.Total == 0 {
					b.Fatal(res.Content)
				}
				own += time.Since(began)
				cmd := exec.Command("fdfind", "--type", "f", "--full-path", "--glob", build.Default.GOROOT+"/"+pattern)
				cmd.Dir = build.Default.GOROOT
				began = time.Now()
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				fd += time.Since(began)
			}
			b.ReportMetric(float64(own)/float64(fd), "x-fd")
			b.ReportMetric(float64(own.Microseconds())/float64(b.N), "own-µs")
		})
	}
}
