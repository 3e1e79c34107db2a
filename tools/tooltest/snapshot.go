package tooltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/specs"
)

// update is a flag of every test that imports this package, so that one command accepts all changes.
var update = flag.Bool("update", false, "accept the current specs as snapshots")

// snapshot is a spec as it is kept: what MCP clients are served of it, and all that it says, which decides about it.
type snapshot struct {
	Served *specs.Tool       `json:"served"`
	Spec   *specs.Definition `json:"spec"`
}

// Snapshot compares the specs of the tools with the files in dir, one for each tool: read_file.json. A spec that
// differs fails the test, and so does one without a file, or a file without a tool; go test -update accepts what is.
// The directory holds the snapshots of one call only.
func Snapshot(t TB, dir string, tools ...tongs.Tool) {
	t.Helper()
	compare(t, dir, *update, tools)
}

func compare(t TB, dir string, accept bool, tools []tongs.Tool) {
	t.Helper()
	files := map[string][]byte{}
	for _, tool := range tools {
		text, err := render(tool.Spec())
		if err != nil {
			t.Fatalf("snapshot of %s: %v", tool.Spec().Name, err)
		}
		files[tool.Spec().Name+".json"] = text
	}
	if accept {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatalf("%v", err)
		}
	}
	for _, name := range sortedKeys(files) {
		file := filepath.Join(dir, name)
		kept, err := os.ReadFile(file)
		switch {
		case err == nil && bytes.Equal(bytes.ReplaceAll(kept, []byte("\r\n"), []byte("\n")), files[name]):
		case accept:
			if err := os.WriteFile(file, files[name], 0o644); err != nil {
				t.Fatalf("%v", err)
			}
		case errors.Is(err, fs.ErrNotExist):
			t.Errorf("%s is missing; run go test -update to accept the spec:\n%s", file, files[name])
		case err != nil:
			t.Fatalf("%v", err)
		default:
			t.Errorf("the spec differs from %s; run go test -update to accept it:\n%s", file, files[name])
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, file := range left {
		if files[filepath.Base(file)] != nil {
			continue
		}
		if !accept {
			t.Errorf("%s is left over: there is no such tool; run go test -update to remove it", file)
		} else if err := os.Remove(file); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

func render(spec *tongs.Spec) ([]byte, error) {
	snap := snapshot{Served: specs.Compact(spec), Spec: specs.Full(spec)}
	snap.Spec.Aliases = slices.Sorted(slices.Values(spec.Aliases))
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(snap); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSpace(buf.String()) + "\n"), nil
}
