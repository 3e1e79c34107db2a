package wire

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// system opens a system that looks at tools, with a configuration and a forge of its own.
func system(t *testing.T, configuration string, forge map[string]string) *System {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("TONGS_CONFIG_DIR", filepath.Join(home, "config"))
	t.Setenv("TONGS_STATE_DIR", filepath.Join(home, "state"))
	t.Setenv(EnvForge, filepath.Join(home, "forge"))
	work := filepath.Join(home, "ws")
	write := func(name, text string, mode os.FileMode) {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("ws/tools.py", "def add(a: int, b: int) -> int:\n    \"\"\"Adds.\"\"\"\n    return a + b\n", 0o600)
	write("config/config.yaml", strings.ReplaceAll(configuration, "WS", work), 0o600)
	for name, text := range forge {
		write(filepath.Join("forge", name), text, 0o700)
	}
	sys, err := Host{Workspace: work, Home: home, Attended: true}.Open(t.Context(), Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sys.Close() })
	return sys
}

const addModule = "toolsets: {custom: {module: WS/tools.py, tools: [add]}}\n"

// The console shows the tools of every provider that people review, those of modules too.
func TestConsoleShowsModules(t *testing.T) {
	sys := system(t, addModule, map[string]string{
		"say/tool.yaml": "name: say\ndescription: Says.\nentrypoint: say.sh\n", "say/say.sh": "#!/bin/sh\necho said\n",
	})
	seen := map[string]bool{}
	for _, st := range sys.toolStates(t.Context()) {
		seen[st.Name] = true
		want := map[string]string{"add": "tongs module review", "say": "tongs forge approve"}[st.Name]
		if st.Status != string(tongs.StatusUnapproved) || !strings.HasPrefix(st.Next, want) || st.Diff == "" {
			t.Errorf("%+v", st)
		}
	}
	if !seen["add"] || !seen["say"] {
		t.Errorf("the console shows %v", seen)
	}
}

// An agent that writes a custom tool does not get the name of a module that a person configured.
func TestCustomToolDoesNotTakeTheNameOfAModule(t *testing.T) {
	sys := system(t, addModule, map[string]string{
		"add/tool.yaml": "name: add\ndescription: Says.\nentrypoint: add.sh\n", "add/add.sh": "#!/bin/sh\necho mine\n",
	})
	if spec := sys.Spec("add"); spec == nil || spec.Source.Kind != tongs.SourceModule {
		t.Errorf("add is %+v", spec)
	}
	st := sys.StatesOf(tongs.SourceForge)
	if len(st) != 1 || st[0].Status != tongs.StatusBroken || !strings.Contains(st[0].Detail, "taken by the module tool add") {
		t.Errorf("%+v", st)
	}
	if w := strings.Join(sys.Warnings(), "\n"); strings.Count(w, "the custom tool add cannot be used") != 1 {
		t.Errorf("warnings: %s", w)
	}
}

// A custom tool has the name of a built-in one once a person approved it. Until then it is there to be approved.
func TestCustomToolTakesTheNameOfABuiltInOnceItIsApproved(t *testing.T) {
	sys := system(t, "", map[string]string{
		"edit/tool.yaml": "name: edit\ndescription: Edits.\nentrypoint: edit.sh\n", "edit/edit.sh": "#!/bin/sh\necho mine\n",
	})
	if spec := sys.Spec("edit"); !spec.Source.BuiltIn() {
		t.Errorf("edit is %+v", spec.Source)
	}
	st := sys.StatesOf(tongs.SourceForge)
	if len(st) != 1 || st[0].Status != tongs.StatusUnapproved || st[0].Next == "" || !strings.Contains(st[0].Tools[0].Detail, "edit means the built-in tool") {
		t.Fatalf("%+v", st)
	}
	if w := strings.Join(sys.Warnings(), "\n"); !strings.Contains(w, "the forge tool edit is not offered") {
		t.Errorf("warnings: %s", w)
	}
	v, err := sys.Forge.Look(t.Context(), "edit")
	if err != nil {
		t.Fatal(err)
	}
	if err := sys.Forge.Approve(t.Context(), v, "ada"); err != nil {
		t.Fatal(err)
	}
	sys.refresh()
	if spec := sys.Spec("edit"); spec.Source.Kind != tongs.SourceForge {
		t.Errorf("once it is approved, edit is %+v", spec.Source)
	}
	if st := sys.StatesOf(tongs.SourceForge); len(st) != 1 || st[0].Status != tongs.StatusReady {
		t.Errorf("%+v", st)
	}
}
