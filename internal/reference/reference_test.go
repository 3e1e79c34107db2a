package reference_test

import (
	"context"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/reference"
	"github.com/tongs-ai/tongs/internal/specs"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/tools/manual"
)

//go:generate go test . -run TestPageIsCurrent -update

var update = flag.Bool("update", false, "write docs/tools.md")

const page = "../../docs/tools.md"

// open wires a system without any configuration, so that its tools are the built-in ones.
func open(t *testing.T) (*wire.System, []*tongs.Spec) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"w", "c", "s", "f"} {
		if err := os.Mkdir(dir+"/"+name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	host := wire.Host{Workspace: dir + "/w", ConfigDir: dir + "/c", StateDir: dir + "/s", ForgeDir: dir + "/f", Managed: dir + "/none", Attended: true}
	sys, err := host.Open(context.Background(), wire.Options{Lives: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sys.Close() })
	specs, broken := sys.Engine.Tools(t.Context())
	if len(broken) > 0 {
		t.Fatalf("broken: %v", broken)
	}
	return sys, specs
}

func TestPageIsCurrent(t *testing.T) {
	_, list := open(t)
	text, err := reference.Page(list)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil || string(have) != text {
		t.Errorf("docs/tools.md does not have the tools as they are (%v); run: go generate ./internal/reference", err)
	}
}

func TestExamplesAreValid(t *testing.T) {
	sys, list := open(t)
	for _, spec := range list {
		example, ok := manual.Examples()[spec.Name]
		if !ok {
			continue
		}
		_, err := sys.Engine.Validate(t.Context(), spec.Name, json.RawMessage(example))
		if spec.Name == "run_custom_tool" && tongs.CodeOf(err) == tongs.CodeUnknownTool {
			err = nil // the example's tool was not made
		}
		if err != nil {
			t.Errorf("%s %s: %v", spec.Name, example, err)
		}
	}
}

func TestTextsAreOfTools(t *testing.T) {
	_, list := open(t)
	known := map[string]bool{}
	for _, spec := range list {
		known[spec.Name] = true
	}
	names, err := fs.Glob(manual.Texts(), "*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !known[strings.TrimSuffix(name, ".txt")] {
			t.Errorf("tools/manual/texts/%s describes no tool", name)
		}
	}
}

var relative = regexp.MustCompile("workspace|working directory|repository")

// A text that says no more than the name of its parameter costs a reader time and tells nothing.
func TestParametersAreDescribed(t *testing.T) {
	_, list := open(t)
	for _, spec := range list {
		for name, p := range spec.Input.Properties {
			if specs.Repeats(p.Description, name) {
				t.Errorf("%s.%s: %q says no more than its name", spec.Name, name, p.Description)
			}
			if (name == "path" || name == "workdir") && !relative.MatchString(p.Description) {
				t.Errorf("%s.%s: %q does not say what the path is relative to", spec.Name, name, p.Description)
			}
			if name == "timeout" && !strings.Contains(p.Description, "econds") {
				t.Errorf("%s.%s: %q names no unit", spec.Name, name, p.Description)
			}
		}
	}
}

func TestEveryCodeIsExplained(t *testing.T) {
	text, err := reference.Page(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range tongs.Codes() {
		if !strings.Contains(text, "| `"+string(code)+"` | ") || strings.Contains(text, "| `"+string(code)+"` |  |") {
			t.Errorf("%s is not explained", code)
		}
	}
}
