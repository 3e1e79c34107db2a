package rank

import (
	"cmp"
	"context"
	"fmt"
	"go/build"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs/internal/search/ignore"
	"github.com/tongs-ai/tongs/internal/search/symbols"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// tree reads the files below a directory into an index.
func tree(t testing.TB, x *Index, root string, dirs ...string) {
	t.Helper()
	var mu sync.Mutex
	for _, dir := range dirs {
		opt := walk.Options{Root: filepath.Join(root, dir), Ignore: &ignore.Reader{Cache: &ignore.Cache{}}}
		err := walk.Walk(context.Background(), opt, func(e *walk.Entry) error {
			if e.Type != walk.File {
				return nil
			}
			h, err := e.Open()
			if err != nil {
				return nil
			}
			defer h.Close()
			text, err := io.ReadAll(io.LimitReader(h, 1<<20))
			if err != nil || slices.Contains(text[:min(len(text), 1024)], 0) {
				return nil
			}
			name := filepath.ToSlash(filepath.Join(dir, e.Rel))
			d := Read(name, text, symbols.In(name, text))
			mu.Lock()
			defer mu.Unlock()
			x.Add(d)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ask returns the files of the best places for a question, each once: definitions first, then lines.
func ask(t testing.TB, x *Index, root, question string) []string {
	t.Helper()
	r := x.Search(Parse(question), Scope{})
	var all []Place
	for _, f := range r.Files {
		text, err := os.ReadFile(filepath.Join(root, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Places(f, text, symbols.In(f.Path, text))...)
	}
	slices.SortStableFunc(all, func(a, b Place) int {
		if (a.Definition != nil) != (b.Definition != nil) {
			if a.Definition != nil {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Score, a.Score)
	})
	var files []string
	for _, p := range all {
		if !slices.Contains(files, p.Path) {
			files = append(files, p.Path)
		}
		if testing.Verbose() && len(files) <= 5 && p.Definition != nil {
			t.Logf("   %6.2f %s:%d %s %s", p.Score, p.Path, p.Line, p.Definition.Kind, p.Definition.Name)
		}
	}
	return files
}

type question struct{ text, want string } // want: files, any of which answers, separated by spaces

func measure(t *testing.T, x *Index, root string, questions []question) (mrr, top5 float64) {
	t.Helper()
	var lines []string
	for _, q := range questions {
		files := ask(t, x, root, q.text)
		at := slices.IndexFunc(files, func(f string) bool { return slices.Contains(strings.Fields(q.want), f) })
		if at >= 0 {
			mrr += 1 / float64(at+1)
		}
		if at >= 0 && at < 5 {
			top5++
		}
		lines = append(lines, fmt.Sprintf("%2d  %-50s %v", at+1, q.text, files[:min(len(files), 3)]))
	}
	n := float64(len(questions))
	t.Logf("%d questions, MRR %.2f, in the first five %.0f%%\n%s", len(questions), mrr/n, 100*top5/n, strings.Join(lines, "\n"))
	return mrr / n, top5 / n
}

// The questions are about this repository. The threshold leaves room for code to move; what is asked stays.
func TestQualityOverThisRepository(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	x := New()
	tree(t, x, root, ".")
	x.Remove("internal/search/rank/quality_test.go") // it holds the questions
	x.Remove("docs/search-code.md")
	mrr, top5 := measure(t, x, root, []question{
		{"where is the approval digest computed", "engine/approval/digest.go"},
		{"resolve symlink path", "workspace/resolve.go"},
		{"gitignore pattern parsing", "internal/search/ignore/pattern.go internal/search/ignore/rules.go internal/search/ignore/ignore.go"},
		{"lazy DFA for regular expressions", "internal/search/regex/dfa.go"},
		{"tool schema inference from struct tags", "infer_tags.go infer.go"},
		{"where are secrets hidden from searches", "workspace/tree.go workspace/names.go"},
		{"list_directory", "tools/files/list.go"},
		{"edit closest match suggestion", "tools/files/closest.go tools/files/match.go"},
		{"parse shell command into effects", "internal/shellsyntax/command.go internal/shellsyntax/analyser.go"},
		{"sandbox seccomp filter", "sandbox/filter.go"},
		{"Tree.Skip", "tree.go"},
		{"policy grant lapses when rules change", "engine/policy/grant.go"},
		{"file lock across processes", "workspace/lock.go"},
		{"validate arguments against schema", "schema/schema.go engine/walk.go"},
		{"unified diff preview", "tools/files/diff.go"},
		{"registry lookup of a tool by alias", "engine/registry/registry.go engine/registry/set.go"},
		{"audit log row open and close", "engine/audit/audit.go internal/state/audit.go engine/call.go"},
		{"proxy for allowed hosts", "network/proxy.go"},
		{"count lines of a huge file", "tools/files/read.go internal/text/lines.go"},
		{"ErrLoop", "internal/search/walk/walk.go"},
	})
	if mrr < 0.5 || top5 < 0.7 {
		t.Errorf("MRR %.2f, in the first five %.2f", mrr, top5)
	}
}

// TONGS_QUALITY=all asks over the whole of Go's source instead of a part.
func TestQualityOverGo(t *testing.T) {
	dirs := []string{"src/net/http", "src/os", "src/path", "src/encoding/json", "src/sync", "src/context", "src/database", "src/io", "src/bufio", "src/time", "src/go/parser", "src/go/format", "src/text", "src/archive/zip"}
	if os.Getenv("TONGS_QUALITY") == "all" {
		dirs = []string{"src"}
	}
	root := build.Default.GOROOT
	x := New()
	tree(t, x, root, dirs...)
	t.Logf("%d files, %d KB of memory", x.Len(), x.Size()>>10)
	mrr, top5 := measure(t, x, root, []question{
		{"http server shutdown", "src/net/http/server.go"},
		{"resolve symlink path", "src/path/filepath/symlink.go src/path/filepath/path.go"},
		{"where is the request body limited in size", "src/net/http/request.go"},
		{"parse cookies from header", "src/net/http/cookie.go"},
		{"decode json string escape unquote", "src/encoding/json/decode.go src/encoding/json/jsontext/quote.go src/encoding/json/internal/jsonwire/decode.go src/encoding/json/jsontext/decode.go"},
		{"waitgroup", "src/sync/waitgroup.go"},
		{"context cancellation propagation to children", "src/context/context.go"},
		{"database connection pool max open connections", "src/database/sql/sql.go"},
		{"create temporary file", "src/os/tempfile.go"},
		{"remove directory recursively", "src/os/removeall_noat.go src/os/removeall_at.go src/os/path.go"},
		{"parse duration string", "src/time/format.go"},
		{"where are template functions executed", "src/text/template/exec.go src/text/template/funcs.go"},
		{"ReadFrom buffered writer", "src/bufio/bufio.go"},
		{"json.Unmarshal", "src/encoding/json/decode.go src/encoding/json/v2_decode.go"},
		{"scan lines split function", "src/bufio/scan.go"},
		{"multi reader", "src/io/multi.go"},
		{"time zone loading", "src/time/zoneinfo_read.go src/time/zoneinfo.go src/time/zoneinfo_unix.go"},
		{"zip central directory end", "src/archive/zip/reader.go src/archive/zip/struct.go src/archive/zip/writer.go"},
		{"http2 transport round trip", "src/net/http/h2_bundle.go src/net/http/transport.go src/net/http/internal/http2/transport.go"},
		{"glob pattern match", "src/path/match.go src/path/filepath/match.go"},
		{"serveFile", "src/net/http/fs.go"},
		{"once do", "src/sync/once.go"},
	})
	if mrr < 0.6 || top5 < 0.8 {
		t.Errorf("MRR %.2f, in the first five %.2f", mrr, top5)
	}
}
