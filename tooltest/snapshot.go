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
	"github.com/tongs-ai/tongs/registry"
)

// update is a flag of every test that imports this package, so that one command accepts all changes.
var update = flag.Bool("update", false, "accept the current specs as snapshots")

// snapshot is a spec as it is kept: what clients see of it, and what decides about it.
type snapshot struct {
	Tool        any               `json:"tool"`
	Aliases     []string          `json:"aliases,omitempty"`
	ArgAliases  map[string]string `json:"argAliases,omitempty"`
	Toolset     string            `json:"toolset,omitempty"`
	Needs       tongs.Permissions `json:"needs"`
	Optional    tongs.Permissions `json:"optional"`
	Default     tongs.Decision    `json:"default"`
	Control     bool              `json:"control,omitempty"`
	OutputValue any               `json:"output,omitempty"`
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
	formatted, err := registry.Format("mcp", []*tongs.Spec{spec})
	if err != nil {
		return nil, err
	}
	list, _ := formatted.([]any)
	aliases := slices.Sorted(slices.Values(spec.Aliases))
	snap := snapshot{
		Tool: list[0], Aliases: aliases, ArgAliases: spec.ArgAliases, Toolset: spec.Toolset,
		Needs: spec.Needs, Optional: spec.Optional, Default: spec.Default, Control: spec.Control,
	}
	if spec.Output != nil && spec.Output.Type != "object" {
		snap.OutputValue = spec.Output
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(snap); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSpace(buf.String()) + "\n"), nil
}
