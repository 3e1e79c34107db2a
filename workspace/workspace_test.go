package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
)

// grant is what was decided for a call, and the host of its permits. Rules are effects that must be decided by name.
type grant struct {
	effects []tongs.Effect
	rules   []string
	// files are those of the call, and end ends it.
	files *files
	end   context.CancelFunc

	mu   sync.Mutex
	sent []string
}

func (g *grant) permit() *tongs.Permit {
	ctx, cancel := context.WithCancel(context.Background())
	g.end = cancel
	return tongs.NewPermit(ctx, &tongs.Call{}, g.effects, nil, g)
}

// of returns the files of a call in the workspace.
func (g *grant) of(w *Workspace) tongs.Files {
	g.files = w.Files(in("."), g.permit()).(*files)
	return g.files
}

// set has other effects decided for the same files. None end the call.
func (g *grant) set(effects ...tongs.Effect) {
	if len(effects) == 0 {
		g.end()
		return
	}
	g.effects = effects
	g.files.permit = g.permit()
}

func (g *grant) Decide(context.Context, tongs.More) ([]tongs.Effect, error) {
	return nil, errors.New("not in this test")
}

func (g *grant) Ruled(kind tongs.EffectKind, _ *tongs.Path) (named func(tongs.Path) bool, any bool) {
	return func(p tongs.Path) bool {
		return slices.Contains(g.rules, tongs.Effect{Kind: kind, Path: p}.String())
	}, len(g.rules) > 0
}

func (g *grant) Note(kind tongs.NoteKind, what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if kind == tongs.NoteSent {
		g.sent = append(g.sent, what)
	}
}

func in(rel string) tongs.Path { return tongs.Path{Rel: rel} }

func reading(p tongs.Path) tongs.Effect  { return tongs.Effect{Kind: tongs.EffectRead, Path: p} }
func writing(p tongs.Path) tongs.Effect  { return tongs.Effect{Kind: tongs.EffectWrite, Path: p} }
func deleting(p tongs.Path) tongs.Effect { return tongs.Effect{Kind: tongs.EffectDelete, Path: p} }

// newWorkspace opens a workspace of the given files: "dir/" is a directory, "a -> b" a link, other keys files.
func newWorkspace(t testing.TB, files map[string]string) *Workspace {
	t.Helper()
	return openOn(t, Options{Dir: tree(t, files)}, openHandle)
}

func openOn(t testing.TB, opt Options, backend func(string) (handle, error)) *Workspace {
	t.Helper()
	if opt.LockDir == "" {
		opt.LockDir = t.TempDir()
	}
	w, err := open(opt, backend)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		host := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(host, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(host), 0o755))
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			must(t, os.Symlink(target, host))
			continue
		}
		must(t, os.WriteFile(host, []byte(content), 0o644))
	}
	return dir
}

// decide returns Files for effects as the engine would: after Check.
func decide(t testing.TB, w *Workspace, effects ...tongs.Effect) (tongs.Files, *grant) {
	t.Helper()
	checked, err := w.Check(effects)
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	g := &grant{effects: checked}
	return g.of(w), g
}

func content(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readHost(t testing.TB, w *Workspace, rel string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(w.Dir(), filepath.FromSlash(rel)))
	must(t, err)
	return string(b)
}

// wantCode checks the code, and that there is a sentence with it that holds each of the words.
func wantCode(t testing.TB, err error, code tongs.Code, words ...string) {
	t.Helper()
	if got := tongs.CodeOf(err); got != code {
		t.Fatalf("got code %q (%v), want %s", got, err, code)
	}
	e, _ := errors.AsType[*tongs.Error](err)
	if len(e.Message) < 20 {
		t.Errorf("the message %q is not a sentence", e.Message)
	}
	for _, word := range words {
		if !strings.Contains(e.Message, word) {
			t.Errorf("message %q does not say %q", e.Message, word)
		}
	}
}

func wantNeed(t testing.TB, err error, words ...string) *tongs.Need {
	t.Helper()
	need, ok := errors.AsType[*tongs.Need](err)
	if !ok {
		t.Fatalf("got %v, want a Need", err)
	}
	for _, word := range words {
		if !strings.Contains(need.Reason, word) {
			t.Errorf("reason %q does not say %q", need.Reason, word)
		}
	}
	return need
}

// noLitter checks that neither the tree nor the list of temporary files holds anything of ours.
func noLitter(t testing.TB, w *Workspace) {
	t.Helper()
	for _, r := range w.Roots() {
		must(t, filepath.WalkDir(r.Dir, func(p string, _ os.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(filepath.Base(p), tempPrefix) {
				t.Errorf("left behind: %s", p)
			}
			return err
		}))
	}
	list, err := os.ReadDir(w.litter.dir)
	must(t, err)
	if len(list) > 0 {
		t.Errorf("%d entries left in the list of temporary files", len(list))
	}
}

func TestOpenRefuses(t *testing.T) {
	base := tree(t, map[string]string{"ws/a": "", "ws/state/": "", "zone/": "", "private/spill/": "", "file": ""})
	at := func(rel string) string { return filepath.Join(base, rel) }
	tests := map[string]struct {
		opt  Options
		word string
	}{
		"no directory":          {Options{}, "not a path"},
		"missing":               {Options{Dir: at("none")}, "create it"},
		"a file":                {Options{Dir: at("file")}, "directory"},
		"outside the cap":       {Options{Dir: at("ws"), Cap: at("zone")}, "AGENT_WORKSPACE_ROOT"},
		"missing cap":           {Options{Dir: at("ws"), Cap: at("none")}, "cap"},
		"private in workspace":  {Options{Dir: at("ws"), Private: []string{at("ws/state")}}, "move it out"},
		"future private":        {Options{Dir: at("ws"), Private: []string{at("ws/x/y")}}, "move it out"},
		"workspace in private":  {Options{Dir: at("private/spill"), Private: []string{at("private")}}, "no tool may reach"},
		"private is workspace":  {Options{Dir: at("ws"), Private: []string{at("ws")}}, "move it out"},
		"zone in private":       {Options{Dir: at("ws"), Roots: []Root{{Name: "s", Dir: at("private/spill")}}, Private: []string{at("private")}}, "no tool"},
		"zone around private":   {Options{Dir: at("ws"), Roots: []Root{{Name: "s", Dir: at("private"), Inside: true}}, Private: []string{at("private/spill")}}, "move it out"},
		"locks in workspace":    {Options{Dir: at("ws"), LockDir: at("ws/locks")}, "move it out"},
		"bad name":              {Options{Dir: at("ws"), Roots: []Root{{Name: "A/b", Dir: at("zone")}}}, "lower-case"},
		"empty name":            {Options{Dir: at("ws"), Roots: []Root{{Name: "", Dir: at("zone")}}}, "lower-case"},
		"name twice":            {Options{Dir: at("ws"), Roots: []Root{{Name: "z", Dir: at("zone")}, {Name: "z", Dir: at("private")}}}, "twice"},
		"directory twice":       {Options{Dir: at("ws"), Roots: []Root{{Name: "z", Dir: at("ws")}}}, "one root only"},
		"directory with a NUL":  {Options{Dir: at("ws") + "\x00"}, "not a path"},
		"directory of the zone": {Options{Dir: at("ws"), Roots: []Root{{Name: "z", Dir: at("file")}}}, "directory"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.opt.LockDir == "" {
				tt.opt.LockDir = t.TempDir()
			}
			_, err := Open(tt.opt)
			wantCode(t, err, tongs.CodeConfigError, tt.word)
		})
	}
	w, err := Open(Options{
		Dir: at("ws/../ws"), Cap: base, Private: []string{at("private")}, LockDir: t.TempDir(),
		Roots: []Root{{Name: "spill", Dir: at("private/spill"), Inside: true}},
	})
	must(t, err)
	must(t, w.Close())
	_, err = w.View(in(".")).Stat(in("a"))
	wantCode(t, err, tongs.CodeExecutionError, "closed")
}

// Another directory that took the path is another workspace, and the same one that came back is the same.
func TestDigestKnowsTheDirectoryNotOnlyItsPath(t *testing.T) {
	base := tree(t, map[string]string{"ws/": "", "zone/": ""})
	at := func(rel string) string { return filepath.Join(base, rel) }
	digest := func() string {
		return openOn(t, Options{Dir: at("ws"), Roots: []Root{{Name: "zone", Dir: at("zone")}}}, openHandle).Digest()
	}
	first := digest()
	must(t, os.WriteFile(at("ws/new"), nil, 0o600))
	must(t, os.Chmod(at("ws"), 0o700))
	must(t, os.Chtimes(at("ws"), time.Unix(1, 0), time.Unix(1, 0)))
	if digest() != first {
		t.Error("a change in the directory made it another one")
	}
	must(t, os.Rename(at("ws"), at("aside")))
	for range 50 { // the number of the inode is given away again
		must(t, os.Mkdir(at("ws"), 0o755))
		if digest() == first {
			t.Fatal("another directory at the same path is the same workspace")
		}
		must(t, os.Remove(at("ws")))
	}
	must(t, os.Rename(at("aside"), at("ws")))
	if digest() != first {
		t.Error("the directory that came back is not the same workspace")
	}
	must(t, os.RemoveAll(at("ws")))
	for range 50 {
		must(t, os.Mkdir(at("ws"), 0o755))
		if digest() == first {
			t.Fatal("a new directory at the same path is the same workspace")
		}
		must(t, os.Remove(at("ws")))
	}
	must(t, os.Mkdir(at("ws"), 0o755))
	second := digest()
	must(t, os.Remove(at("zone")))
	must(t, os.Mkdir(at("zone"), 0o755))
	if digest() == second {
		t.Error("another zone at the same path is the same")
	}
}

func TestDigest(t *testing.T) {
	base := tree(t, map[string]string{"ws/": "", "a/": "", "b/": ""})
	at := func(rel string) string { return filepath.Join(base, rel) }
	digest := func(dir string, roots ...Root) string {
		return openOn(t, Options{Dir: dir, Roots: roots}, openHandle).Digest()
	}
	a, b := Root{Name: "a", Dir: at("a")}, Root{Name: "b", Dir: at("b")}
	same := digest(at("ws"), a, b)
	if got := digest(at("a/../ws"), b, a); got != same {
		t.Error("the order of the zones or the spelling of the workspace changed the digest")
	}
	writable, moved, renamed := a, a, a
	writable.Writable = true
	moved.Dir = t.TempDir()
	renamed.Name = "c"
	for name, other := range map[string]string{
		"fewer": digest(at("ws"), a), "writable": digest(at("ws"), writable, b), "moved": digest(at("ws"), moved, b),
		"renamed": digest(at("ws"), renamed, b), "workspace": digest(t.TempDir(), a, b),
		"swapped": digest(at("ws"), Root{Name: "a", Dir: at("b")}, Root{Name: "b", Dir: at("a")}),
	} {
		if other == same {
			t.Errorf("%s: the digest did not change", name)
		}
	}
}
