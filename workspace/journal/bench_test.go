package journal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/workspace"
)

// BenchmarkReplace is what a write costs with and without a journal.
func BenchmarkReplace(b *testing.B) {
	for _, size := range []int{1 << 10, 100 << 10, 5 << 20} {
		for _, kept := range []bool{false, true} {
			b.Run(fmt.Sprintf("size=%d/journal=%t", size, kept), func(b *testing.B) {
				opt := workspace.Options{Dir: b.TempDir(), LockDir: filepath.Join(b.TempDir(), "locks")}
				if kept {
					j, err := Open(Options{Dir: filepath.Join(b.TempDir(), "journal")})
					must(b, err)
					defer j.Close()
					opt.Journal = j
				}
				w, err := workspace.Open(opt)
				must(b, err)
				defer w.Close()
				f := w.Files(in_("."), everything("c_2"))
				line := []byte("a line of source code, or something like it, number 0000000\n")
				for i := range b.N {
					body := bytes.Repeat(line, size/len(line)+1)
					copy(body, fmt.Sprint(i))
					_, err := f.Replace(context.Background(), in_("f"), tongs.Replacing{}, writing(string(body)))
					must(b, err)
				}
			})
		}
	}
}

// BenchmarkTransaction makes and undoes a tree of files, and tells what the journal takes for each byte that it keeps.
func BenchmarkTransaction(b *testing.B) {
	for _, files := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			s := newSite(b, nil)
			changed := 0
			for b.Loop() {
				x := s.begin()
				must(b, x.Dir(in_("d"), State{Mode: 0o755}))
				for i := range files {
					body := strings.Repeat(fmt.Sprintf("%d: a line of source code, or something like it\n", i), 80)
					changed += len(body)
					must(b, x.File(in_(fmt.Sprintf("d/%d", i)), State{Mode: 0o644}, strings.NewReader(body)))
				}
				s.undo(*s.commit(x))
			}
			var size int64
			must(b, filepath.Walk(s.j.Dir(), func(_ string, fi os.FileInfo, err error) error {
				if err == nil && !fi.IsDir() {
					size += fi.Size()
				}
				return err
			}))
			b.ReportMetric(float64(size)/float64(changed), "journal-B/changed-B")
		})
	}
}
