package confine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/workspace"
)

// A caller that was narrowed to a part of the workspace runs programs that see no more of it.
func TestProgramsSeeTheZonesOfTheirCaller(t *testing.T) {
	b := setup(t, confine.Options{})
	b.write(t, "open/a.txt", "open")
	b.write(t, "shown/b.txt", "shown")
	b.write(t, "closed/c.txt", "CLOSED")
	zone := func(rel string, writable bool) tongs.Zone {
		return tongs.Zone{Path: tongs.Path{Rel: rel}, Writable: writable}
	}
	wide := b.Within(tongs.Scope{Zones: []tongs.Zone{zone("open", true), zone("shown", true)}})
	narrow := wide.Within(tongs.Scope{Zones: []tongs.Zone{zone(".", false), zone("open", true)}})
	script := `cat a.txt ../shown/b.txt ../closed/c.txt; ls ..; echo x > made; echo x > ../shown/b.txt; echo x > ../beside; true`
	for _, c := range []struct {
		name   string
		caller tongs.Caller
		left   string // of shown/b.txt
	}{{"wide", wide, "x\n"}, {"narrow", narrow, "shown"}} {
		b.write(t, "shown/b.txt", "shown")
		os.Remove(filepath.Join(b.dir, "open/made"))
		res := c.caller.Call(t.Context(), &tongs.Call{Tool: "run", Dir: "open", Args: []byte(`{"script":"` + script + `"}`)})
		out, err := tongs.ValueOf[runOut](res)
		if err != nil {
			t.Fatalf("%v: %s", err, res.Content)
		}
		if !strings.HasPrefix(out.Out, "openshown") || strings.Contains(out.Out, "CLOSED") || strings.Contains(out.Out, "closed\n") {
			t.Errorf("%s: %q", c.name, out.Out)
		}
		for name, want := range map[string]string{"open/made": "x\n", "shown/b.txt": c.left} {
			if data, _ := os.ReadFile(filepath.Join(b.dir, name)); string(data) != want {
				t.Errorf("%s: %s is %q", c.name, name, data)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(b.dir, "beside")); err == nil {
		t.Error("a file was made outside the zones")
	}
	res := wide.Call(t.Context(), &tongs.Call{Tool: "run", Args: []byte(`{"script":"pwd"}`)})
	if res.Error == nil || res.Error.Code != tongs.CodePermissionDenied || !strings.Contains(res.Content, "open, shown") {
		t.Errorf("a working directory outside the zones: %s", res.Content)
	}
}

// A program changes a sealed root only where it starts in it, or on a copy.
func TestSealedRootsAreWrittenOnPurpose(t *testing.T) {
	tools, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(tools, "made")
	ws, err := workspace.Open(workspace.Options{
		Dir: t.TempDir(), LockDir: filepath.Join(t.TempDir(), "locks"), Roots: []workspace.Root{{Name: "tools", Dir: tools, Writable: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	b := setup(t, confine.Options{Workspace: ws, Sealed: []string{"tools"}})
	for dir, may := range map[string]bool{"": false, "/tools": true} {
		_ = os.Remove(made)
		res := b.Call(t.Context(), &tongs.Call{Tool: "run", Dir: dir, Args: []byte(`{"script":"ls ` + tools + `; echo x > ` + made + `; true"}`)})
		if _, err := os.Stat(made); (err == nil) != may || res.Error != nil {
			t.Errorf("from %q it wrote: %t; %s", dir, err == nil, res.Content)
		}
	}
}
