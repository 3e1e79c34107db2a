package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tongs-ai/tongs"
)

// held runs a shell script in an overlay of ws and returns the result, whose layers are closed with the test.
func held(t *testing.T, r *Runner, ws, layers, script string, change ...func(*Policy)) (*Result, string) {
	t.Helper()
	var out bytes.Buffer
	pol := Policy{
		Readable: existing("/usr", "/bin", "/lib", "/lib64"), Writable: []Mount{Layered(ws)}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin"},
		Overlay: &Overlay{Dir: layers}, Require: Properties(),
	}
	for _, f := range change {
		f(&pol)
	}
	res, err := r.Run(context.Background(), &Cmd{Argv: []string{"sh", "-c", script}, Policy: pol, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	t.Cleanup(func() { res.Overlay.Close() })
	return res, out.String()
}

func existing(paths ...string) []string {
	return slices.DeleteFunc(paths, func(p string) bool {
		_, err := os.Stat(p)
		return err != nil
	})
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// picture is everything about a tree that nothing may change, as one line for each entry.
func picture(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		content := ""
		if e.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(b)
			content = hex.EncodeToString(sum[:8])
		}
		lines = append(lines, fmt.Sprintf("%s %o %d %d %d %d %s", path, st.Mode, st.Uid, st.Ino, st.Mtim.Nano(), st.Ctim.Nano(), content))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func TestOverlayHoldsBackWhatIsWritten(t *testing.T) {
	ws, layers := place(t), place(t)
	write(t, ws, map[string]string{"a": "old\n", "dir/b": "b\n", "dir/c": "c\n", "gone/x": "x", "secret": "s", "keep/me": "kept"})
	before := picture(t, ws)
	script := `set -e
echo new > a; echo more >> dir/b; rm dir/c; rm -r gone; mkdir -p n/m; echo n > n/m/f; ln -s a link; chmod 755 a; mv keep/me me
cat a dir/b me n/m/f
test ! -e gone; test ! -e dir/c; ls /; mount 2>/dev/null || cat /proc/self/mountinfo`
	r := runner(t, TierA)
	res, out := held(t, r, ws, layers, script)
	if res.ExitCode != 0 {
		t.Fatalf("exit %d\n%s", res.ExitCode, out)
	}
	if after := picture(t, ws); after != before {
		t.Errorf("the tree changed:\n%s\nwas\n%s", after, before)
	}
	if !strings.Contains(out, "new\nb\nmore\nkeptn\n") || strings.Contains(out, ".layers\n") {
		t.Errorf("the program saw:\n%s", out)
	}
	if len(res.Report.Overlays) != 1 || res.Report.Overlays[0].Copied {
		t.Fatalf("overlays: %+v", res.Report.Overlays)
	}
	if !res.Report.Full {
		t.Errorf("not full: %+v", res.Report)
	}
	up := res.Report.Overlays[0].Upper
	if b, err := os.ReadFile(filepath.Join(up, "n/m/f")); err != nil || string(b) != "n\n" {
		t.Errorf("the layer holds %q, %v", b, err)
	}
	if !whiteout(filepath.Join(up, "gone")) {
		t.Error("the layer does not say that gone is gone")
	}
	if err := res.Overlay.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(layers); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	asUser(t, t.Name())
}

func TestOverlayKeepsProtectionAndLimits(t *testing.T) {
	ws, layers := place(t), place(t)
	write(t, ws, map[string]string{".git/config": "[core]\n", ".git/HEAD": "ref: x\n", ".git/hooks/h": "h", "a": "a", ".env": "KEY=1", "ro/f": "f", "cache/c": "c", "bare/HEAD": "", "bare/objects/x": "", "bare/config": "", "old/sub/.envrc": "x", "old/sub/HEAD": ""})
	names := func(p *Policy) {
		p.ProtectedNames, p.HiddenNames = []string{".git", ".envrc"}, []string{".env"}
		p.ReadOnly = []string{filepath.Join(ws, "ro")}
		p.Writable = append(p.Writable, Decided(filepath.Join(ws, "cache")))
	}
	r := runner(t, TierA)
	res, out := held(t, r, ws, layers, `
cat .env && echo READ
echo x > .git/config && echo CONFIG
echo x > .git/hooks/new && echo HOOK
mv .git moved && echo MOVED
echo x > ro/f && echo RO
echo y > cache/d || echo NOCACHE
echo x > sub.txt; echo e > .envrc
mkdir bare/refs
rm -r old; mkdir -p old/sub; echo x > old/sub/f
true`, names)
	for _, bad := range []string{"READ", "CONFIG", "HOOK", "MOVED", "RO\n", "NOCACHE", "KEY"} {
		if strings.Contains(out, bad) {
			t.Errorf("%s:\n%s", bad, out)
		}
	}
	if b, _ := os.ReadFile(filepath.Join(ws, "cache/d")); string(b) != "y\n" {
		t.Errorf("what is let through was held back: %q", b)
	}
	if _, err := os.Lstat(filepath.Join(ws, "sub.txt")); err == nil {
		t.Error("sub.txt reached the tree")
	}
	want := []string{filepath.Join(ws, ".envrc"), filepath.Join(ws, "bare/config")}
	if !slices.Equal(res.Report.Planted, want) {
		t.Errorf("planted %v, want %v", res.Report.Planted, want)
	}
	if th := res.Report.Overlays[0].Through; !slices.Equal(th, []string{"cache", "ro"}) {
		t.Errorf("through %v", th)
	}
	res, _ = held(t, r, ws, layers, `dd if=/dev/zero of=big bs=1M count=200 2>/dev/null; sleep 5`, func(p *Policy) { p.Limits.Disk = 20 << 20 })
	if !slices.Contains(res.Report.LimitsHit, LimitDisk) {
		t.Errorf("growth of the layer is not limited: %+v", res.Report.LimitsHit)
	}
	asUser(t, t.Name())
}

func TestOverlayOfACopyWhereTheKernelRefuses(t *testing.T) {
	ws, layers := place(t), place(t)
	write(t, ws, map[string]string{"a": "old\n", "dir/b": "b\n", "cache/c": "c"})
	if err := os.Symlink("a", filepath.Join(ws, "l")); err != nil {
		t.Fatal(err)
	}
	before := picture(t, filepath.Join(ws, "dir"))
	r := runner(t, TierA)
	r.over.refuse([]string{deviceKey(layers, ws)}, "for this test")
	through := func(p *Policy) { p.Writable = append(p.Writable, Decided(filepath.Join(ws, "cache"))) }
	res, out := held(t, r, ws, layers, `cat l cache/c; rm dir/b; echo new > a; echo c2 > cache/c2`, through)
	if res.ExitCode != 0 || out != "old\nc" {
		t.Errorf("exit %d: %q", res.ExitCode, out)
	}
	if l := res.Report.Overlays[0]; !l.Copied || l.Ready == 0 {
		t.Errorf("layer %+v", l)
	}
	if picture(t, filepath.Join(ws, "dir")) != before {
		t.Error("the tree changed")
	}
	if _, err := os.Lstat(filepath.Join(ws, "cache/c2")); err != nil {
		t.Error(err)
	}
	_, err := r.Run(context.Background(), &Cmd{Argv: []string{"true"}, Policy: Policy{
		Readable: existing("/usr", "/bin", "/lib", "/lib64"), Writable: []Mount{Layered(ws)}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin"},
		Overlay: &Overlay{Dir: layers, CopyFiles: 2},
	}})
	var te *tongs.Error
	if !errors.As(err, &te) || te.Code != tongs.CodeSandboxUnavailable || !strings.Contains(te.Message, "too large") {
		t.Errorf("a tree over the bound: %v", err)
	}
	asUser(t, t.Name())
}

func TestOverlayRefusesWhatItCannotShow(t *testing.T) {
	ws, layers := place(t), place(t)
	write(t, ws, map[string]string{"a": "a", "file": "f"})
	r := runner(t, TierA)
	run := func(pol Policy) error {
		pol.Readable, pol.Env = existing("/usr", "/bin", "/lib", "/lib64"), []string{"PATH=/usr/bin:/bin"}
		pol.Dir = "/"
		res, err := r.Run(context.Background(), &Cmd{Argv: []string{"true"}, Policy: pol})
		if res != nil {
			res.Overlay.Close()
		}
		return err
	}
	for _, test := range []struct {
		name, want string
		pol        Policy
	}{
		{"layers inside", "which the program sees", Policy{Writable: []Mount{Layered(ws)}, Overlay: &Overlay{Dir: filepath.Join(ws, "layers")}}},
		{"no directory", "not an absolute path", Policy{Writable: []Mount{Layered(ws)}, Overlay: &Overlay{}}},
		{"a file", "not a directory", Policy{Writable: []Mount{Layered(filepath.Join(ws, "file"))}, Overlay: &Overlay{Dir: layers}}},
		{"absent root", "does not exist", Policy{Writable: []Mount{Layered(ws + "/none")}, Overlay: &Overlay{Dir: layers}}},
	} {
		if err := run(test.pol); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	b := runner(t, TierB)
	_, err := b.Run(context.Background(), &Cmd{Argv: []string{"true"}, Policy: Policy{
		Readable: existing("/usr", "/bin", "/lib", "/lib64"), Writable: []Mount{Layered(ws)}, Dir: ws, Env: []string{"PATH=/usr/bin:/bin"}, Overlay: &Overlay{Dir: layers},
	}})
	if err == nil || !strings.Contains(err.Error(), "holding back what is written") {
		t.Errorf("tier B: %v", err)
	}
	if left, _ := os.ReadDir(layers); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if st := r.ProbeOverlay(context.Background(), ws, layers); !st.OK {
		t.Errorf("probe: %+v", st)
	}
	if st := r.ProbeOverlay(context.Background(), ws, filepath.Join(ws, "in")); st.OK || st.Reason == "" {
		t.Errorf("probe with layers inside: %+v", st)
	}
	if left, _ := os.ReadDir(layers); len(left) > 0 {
		t.Errorf("left behind by the probe: %v", left)
	}
}

// What a process that was killed left is removed by the next one; what another one uses is not.
func TestOverlaySweepsWhatWasAbandoned(t *testing.T) {
	ws, layers := place(t), place(t)
	write(t, ws, map[string]string{"a": "a"})
	first, _ := held(t, runner(t, TierA), ws, layers, "echo x > a")
	abandoned := filepath.Join(layers, layersPrefix+"abandoned")
	for _, dir := range []string{"0/upper/d", "0/work/work"} {
		if err := os.MkdirAll(filepath.Join(abandoned, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(abandoned, dir), 0); err != nil {
			t.Fatal(err)
		}
	}
	second, _ := held(t, runner(t, TierA), ws, layers, "echo y > a")
	if _, err := os.Lstat(abandoned); err == nil {
		t.Error("what was abandoned is still there")
	}
	for _, res := range []*Result{first, second} {
		if _, err := os.Lstat(filepath.Join(res.Report.Overlays[0].Upper, "a")); err != nil {
			t.Error(err)
		}
	}
	asUser(t, t.Name())
}
