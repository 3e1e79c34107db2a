package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
)

func newSpill(t testing.TB) *Spill {
	t.Helper()
	spill, err := OpenSpill(filepath.Join(t.TempDir(), "spill"))
	if err != nil {
		t.Fatal(err)
	}
	return spill
}

func (s *Spill) read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, strings.TrimPrefix(path, "/spill/")))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestStreamThatFitsIsShownWhole(t *testing.T) {
	spill := newSpill(t)
	s := Bounds{Limits: Limits{Stream: 10}, Spill: spill}.Stream("c", "stdout", nil)
	io.WriteString(s, "0123")
	io.WriteString(s, "456789")
	if got := s.Excerpt(); got != "0123456789" || s.Path() != "" || s.Size() != 10 {
		t.Errorf("excerpt %q, path %q, size %d", got, s.Path(), s.Size())
	}
	if files, _ := os.ReadDir(spill.dir); len(files) != 0 {
		t.Errorf("spilled %v", files)
	}
}

func TestLongStreamKeepsHeadTailAndSpillsAll(t *testing.T) {
	for _, chunk := range []int{1, 7, 100, 5000} {
		spill := newSpill(t)
		s := Bounds{Limits: Limits{Stream: 200}, Spill: spill}.Stream("c_1", "stdout", nil)
		var whole strings.Builder
		for i := range 500 {
			fmt.Fprintf(&whole, "line %d\n", i)
		}
		for p := []byte(whole.String()); len(p) > 0; {
			n := min(chunk, len(p))
			s.Write(p[:n])
			p = p[n:]
		}
		got := s.Excerpt()
		if !strings.HasPrefix(got, "line 0\nline 1\n") || !strings.HasSuffix(got, "line 499\n") {
			t.Errorf("chunk %d: excerpt %q", chunk, got)
		}
		if !strings.Contains(got, "left out; read_file /spill/c_1/stdout.txt has all 500 lines]") || len(got) > 400 {
			t.Errorf("chunk %d: excerpt does not say where the rest is: %q", chunk, got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if all := spill.read(t, s.Path()); all != whole.String() {
			t.Errorf("chunk %d: spilled %d bytes of %d", chunk, len(all), whole.Len())
		}
	}
}

func TestLostOutputIsSaid(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789\n"), 100)
	none := Bounds{Limits: Limits{Stream: 50}}.Stream("c", "stdout", nil)
	none.Write(long)
	if got := none.Excerpt(); !strings.Contains(got, "it was not kept") {
		t.Errorf("without a spill: %q", got)
	}
	limited := Bounds{Limits: Limits{Stream: 50, Spill: 300}, Spill: newSpill(t)}.Stream("c", "stdout", nil)
	limited.Write(long)
	if got := limited.Excerpt(); !strings.Contains(got, "has the first 300 bytes (the file is limited to 300 bytes)") {
		t.Errorf("limited spill: %q", got)
	}
	gone := newSpill(t)
	os.RemoveAll(gone.dir)
	os.WriteFile(gone.dir, nil, 0o600) // a file where the directory should be
	failed := Bounds{Limits: Limits{Stream: 50}, Spill: gone}.Stream("c", "stdout", nil)
	if n, err := failed.Write(long); n != len(long) || err != nil {
		t.Errorf("a write failed with the spill: %d, %v", n, err)
	}
	if got := failed.Excerpt(); !strings.Contains(got, "it could not be kept:") {
		t.Errorf("failing spill: %q", got)
	}
}

// A gigabyte passes through without being held: the heap must not grow by more than a few megabytes.
func TestStreamOfAnySizeCostsNoMemory(t *testing.T) {
	s := Bounds{Limits: Limits{Spill: 1 << 20}, Spill: newSpill(t)}.Stream("c", "stdout", nil)
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	s.Write(chunk)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 1 << 10 {
		s.Write(chunk)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("1 GiB allocated %d bytes", grown)
	}
	if s.Size() != 1<<30+1<<20 {
		t.Errorf("size %d", s.Size())
	}
}

func TestChunksAreWholeRunes(t *testing.T) {
	text := strings.Repeat("äöü€𝄞x", 50)
	for size := 1; size < 9; size++ {
		var got strings.Builder
		s := Bounds{}.Stream("c", "stdout", func(chunk string) {
			if !utf8.ValidString(chunk) || strings.ContainsRune(chunk, utf8.RuneError) {
				t.Errorf("chunk size %d: %q", size, chunk)
			}
			got.WriteString(chunk)
		})
		for p := []byte(text); len(p) > 0; {
			n := min(size, len(p))
			s.Write(p[:n])
			p = p[n:]
		}
		if got.String() != text {
			t.Errorf("chunk size %d: got %d bytes of %d", size, got.Len(), len(text))
		}
	}
}

func TestStreamConcurrentWriters(t *testing.T) {
	spill := newSpill(t)
	s := Bounds{Limits: Limits{Stream: 1000}, Spill: spill}.Stream("c", "stdout", func(string) {})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				io.WriteString(s, "one whole line of text\n")
				s.Excerpt()
			}
		})
	}
	wg.Wait()
	s.Close()
	if lines := strings.Split(strings.TrimSpace(spill.read(t, s.Path())), "\n"); len(lines) != 1600 {
		t.Errorf("%d lines", len(lines))
	}
}

func TestClean(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "a\tb\nc\n", "a\tb\nc\n"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"title", "\x1b]0;evil\x07text", "text"},
		{"title by ST", "\x1b]8;;http://x\x1b\\link", "link"},
		{"charset", "\x1b(Btext", "text"},
		{"progress", "10%\r50%\r100%\ndone", "100%\ndone"},
		{"windows lines", "a\r\nb\r\n", "a\nb\n"},
		{"bells and backspaces", "a\x07b\x08c\x7f", "abc"},
		{"invalid", "a\xffb", "a\uFFFDb"},
		{"binary", "\x7fELF\x00\x01", "[binary output, 6 bytes]"},
		{"unfinished escape", "a\x1b", "a"},
	} {
		if got := Clean([]byte(tc.in)); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestFitBoundsEveryPart(t *testing.T) {
	spill := newSpill(t)
	b := Bounds{Limits: Limits{Content: 1000, Value: 100, Attachment: 10}, Spill: spill}
	long := strings.Repeat("a line of text\n", 1000)
	r := &tongs.Result{
		Content: long, Display: long, Value: []byte(`"` + strings.Repeat("v", 200) + `"`),
		Attachments: []tongs.Attachment{{Name: "big", Data: make([]byte, 11)}, {Name: "small", Data: make([]byte, 10)}},
	}
	b.Fit("c", r)
	if len(r.Content) > 1200 || !strings.Contains(r.Content, "left out; read_file /spill/c/content.txt has all of it]") {
		t.Errorf("content %d bytes: %q", len(r.Content), r.Content)
	}
	if spill.read(t, "/spill/c/content.txt") != long {
		t.Error("the content was not kept whole")
	}
	if r.Value != nil || !strings.Contains(fmt.Sprint(r.Metadata["valueLeftOut"]), "/spill/c/value.txt") {
		t.Errorf("value %d bytes, metadata %v", len(r.Value), r.Metadata)
	}
	if a := r.Attachments[0]; a.Data != nil || a.Path == "" || a.Size != 11 {
		t.Errorf("attachment %+v", a)
	}
	if r.Attachments[1].Data == nil {
		t.Error("the small attachment is gone")
	}
}

func TestSpillNamesCannotLeaveTheDirectory(t *testing.T) {
	spill := newSpill(t)
	for _, name := range []string{"../../etc/x", "a/b", "", "\x00", strings.Repeat("n", 500), "."} {
		where, err := spill.Save(name, name, []byte("x"))
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if got := spill.read(t, where); got != "x" {
			t.Errorf("%q: %q", name, got)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(spill.dir)); len(entries) != 1 {
		t.Errorf("something was written beside the directory: %v", entries)
	}
}

func TestPruneRemovesOldCalls(t *testing.T) {
	spill := newSpill(t)
	spill.Save("old", "stdout", make([]byte, 100))
	spill.Save("new", "stdout", make([]byte, 100))
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(spill.dir, "old"), past, past); err != nil {
		t.Fatal(err)
	}
	freed, err := spill.Prune(time.Now().Add(-time.Minute))
	if freed != 100 || err != nil {
		t.Errorf("freed %d, %v", freed, err)
	}
	if _, err := os.Stat(filepath.Join(spill.dir, "old")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the old call is still there")
	}
	if _, err := os.Stat(filepath.Join(spill.dir, "new")); err != nil {
		t.Error(err)
	}
}

func BenchmarkStream(b *testing.B) {
	s := Bounds{Limits: Limits{Spill: 1}}.Stream("c", "stdout", nil)
	chunk := bytes.Repeat([]byte("a line of output from a program\n"), 1024)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		s.Write(chunk)
	}
}

func BenchmarkStreamWithUpdates(b *testing.B) {
	s := Bounds{Limits: Limits{Spill: 1}}.Stream("c", "stdout", func(string) {})
	chunk := bytes.Repeat([]byte("a line of output from a program\n"), 1024)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		s.Write(chunk)
	}
}
