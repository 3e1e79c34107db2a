package walk

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/tongs-ai/tongs/internal/search/ignore"
)

// TestMillion walks directories of very many entries in little memory. It makes a million files, so it runs only where
// TONGS_MILLION is set.
func TestMillion(t *testing.T) {
	if os.Getenv("TONGS_MILLION") == "" {
		return
	}
	dir, err := os.MkdirTemp("/dev/shm", "million")
	must(t, err)
	defer os.RemoveAll(dir)
	const files, dirs = 1_000_000, 100_000
	for i := range files {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("file-number-%07d", i)))
		must(t, err)
		must(t, f.Close())
	}
	for i := range dirs {
		must(t, os.Mkdir(filepath.Join(dir, fmt.Sprintf("directory-%06d", i)), 0o777))
	}
	for _, opt := range []Options{{Workers: 1}, {Workers: 8}, {Sorted: true}} {
		opt.Root, opt.Ignore = dir, &ignore.Reader{}
		runtime.GC()
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		var n, peak atomic.Int64
		must(t, Walk(t.Context(), opt, func(e *Entry) error {
			if n.Add(1)%50_000 == 0 {
				runtime.GC()
				runtime.ReadMemStats(&now)
				peak.Store(max(peak.Load(), int64(now.HeapAlloc)-int64(before.HeapAlloc)))
			}
			return nil
		}))
		t.Logf("%d workers, sorted %v: %d files, at most %d KB live", opt.Workers, opt.Sorted, n.Load(), peak.Load()>>10)
		if n.Load() != files || !opt.Sorted && peak.Load() > 16<<20 {
			t.Errorf("%d files, %d bytes live", n.Load(), peak.Load())
		}
	}
}
