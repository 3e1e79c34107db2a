package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// A second program goes on where the first one ended, over the same layer, and what is hidden stays so.
func TestOverlayIsUsedAgain(t *testing.T) {
	ws, layers := place(t), place(t)
	write(t, ws, map[string]string{"a": "old\n", "conf/.env": "SECRET\n", "gone/x": "x"})
	before := picture(t, ws)
	hidden := func(p *Policy) { p.HiddenNames = []string{".env"} }
	r := runner(t, TierA)
	first, _ := held(t, r, ws, layers, `set -e; echo one > a; rm -r gone; mkdir new; echo n > new/f; mv conf conf2 2>/dev/null || true; ln conf/.env x 2>/dev/null || true`, hidden)
	for i := range 3 {
		again := func(p *Policy) { p.Overlay.Reuse = first.Overlay }
		res, out := held(t, r, ws, layers, `cat a new/f; test ! -e gone; cat conf/.env conf2/.env x 2>/dev/null; echo more >> a; touch again`, hidden, again)
		if !strings.HasPrefix(out, "one\n"+strings.Repeat("more\n", i)+"n\n") || strings.Contains(out, "SECRET") || res.ExitCode != 0 {
			t.Errorf("run %d: exit code %d, %q", i, res.ExitCode, out)
		}
		if res.Overlay != first.Overlay || len(res.Overlay.List) != 1 {
			t.Fatalf("run %d has other layers: %+v", i, res.Overlay)
		}
	}
	if got, _ := os.ReadFile(filepath.Join(first.Overlay.List[0].Upper, "a")); string(got) != "one\nmore\nmore\nmore\n" {
		t.Errorf("the layer has %q", got)
	}
	if after := picture(t, ws); after != before {
		t.Errorf("the tree changed:\n%s\n---\n%s", before, after)
	}
	asUser(t, t.Name())
}

// Protected names that the first program made are told of after the second, too.
func TestPlantedNamesInAnOverlayThatIsUsedAgain(t *testing.T) {
	ws, layers := place(t), place(t)
	names := func(p *Policy) { p.ProtectedNames = []string{".envrc"} }
	r := runner(t, TierA)
	first, _ := held(t, r, ws, layers, `mkdir d; echo 1 > d/.envrc`, names)
	second, _ := held(t, r, ws, layers, `true`, names, func(p *Policy) { p.Overlay.Reuse = first.Overlay })
	if len(second.Report.Planted) != 1 || !strings.HasSuffix(second.Report.Planted[0], "d/.envrc") {
		t.Errorf("planted %q", second.Report.Planted)
	}
}

// A program that cannot be started leaves layers that it was to use again, and layers for other places are refused, as are
// copies: a secret may have been moved in one.
func TestOverlaysThatCannotBeUsedAgain(t *testing.T) {
	ws, other, layers := place(t), place(t), place(t)
	write(t, ws, map[string]string{"a": "old\n"})
	r := runner(t, TierA)
	first, _ := held(t, r, ws, layers, `echo one > a`)
	run := func(r *Runner, reuse *Layers, argv string, writable ...Mount) error {
		_, err := r.Run(t.Context(), &Cmd{Argv: []string{argv}, Policy: Policy{
			Readable: existing("/usr", "/bin", "/lib", "/lib64"), Writable: writable, Dir: ws, Overlay: &Overlay{Dir: layers, Reuse: reuse},
		}})
		return err
	}
	if err := run(r, first.Overlay, "/usr/bin/no-such-program", Layered(ws)); err == nil {
		t.Error("it was started")
	}
	if got, err := os.ReadFile(filepath.Join(first.Overlay.List[0].Upper, "a")); err != nil || string(got) != "one\n" {
		t.Errorf("the layer has %q, %v", got, err)
	}
	if err := run(r, first.Overlay, "/bin/true", Layered(ws), Layered(other)); tongs.CodeOf(err) != tongs.CodeSandboxUnavailable {
		t.Errorf("more places: %v", err)
	}
	if err := run(r, first.Overlay, "/bin/true", Layered(other)); tongs.CodeOf(err) != tongs.CodeSandboxUnavailable {
		t.Errorf("another place: %v", err)
	}
	copies, err := New(Options{Tiers: []string{TierA}, NoOverlay: true})
	if err != nil {
		t.Fatal(err)
	}
	defer copies.Close()
	copied, _ := held(t, copies, ws, layers, `echo one > a`)
	if err := run(copies, copied.Overlay, "/bin/true", Layered(ws)); tongs.CodeOf(err) != tongs.CodeSandboxUnavailable {
		t.Errorf("a copy: %v", err)
	}
}
