package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// A writable place that does not say what it is, or is not what it says, keeps a program from running.
func TestMountsMustSayWhatTheyAre(t *testing.T) {
	ws, state, layers := place(t), place(t), place(t)
	write(t, ws, map[string]string{"sub/f": "f"})
	sub := filepath.Join(ws, "sub")
	overlay := &Overlay{Dir: layers}
	link := filepath.Join(state, "link")
	must(t, os.Symlink(sub, link))
	layered := filepath.Join(ws, "layered")
	must(t, os.Mkdir(layered, 0o755))
	r := runner(t, TierA)
	for name, c := range map[string]struct {
		want    string
		overlay *Overlay
		mounts  []Mount
	}{
		"no kind":                       {"does not say", nil, []Mount{{path: ws}}},
		"nothing at all":                {"does not say", nil, []Mount{{}}},
		"no kind beside a layered one":  {"does not say", overlay, []Mount{Layered(ws), {path: state}}},
		"layered without an overlay":    {"no overlay", nil, []Mount{Layered(ws)}},
		"two kinds":                     {"twice", overlay, []Mount{Layered(ws), Decided(ws)}},
		"two kinds, by a link":          {"twice", overlay, []Mount{Layered(sub), Decided(link)}},
		"private inside a layered one":  {"private", overlay, []Mount{Layered(ws), Private(sub)}},
		"private inside a decided one":  {"private", nil, []Mount{Decided(ws), Private(sub)}},
		"private inside one, by a link": {"private", overlay, []Mount{Layered(ws), Private(link)}},
		"private around a layered one":  {"private", overlay, []Mount{Layered(sub), Private(ws)}},
		"decided beside a layered one":  {"none of the copied", overlay, []Mount{Layered(ws), Decided(state)}},
		"decided around a layered one":  {"none of the copied", overlay, []Mount{Layered(sub), Decided(ws)}},
		"decided, with nothing layered": {"none of the copied", overlay, []Mount{Decided(ws)}},
		"decided beside it, by a link":  {"none of the copied", overlay, []Mount{Layered(layered), Decided(link)}},
		"private and layered":           {"twice", overlay, []Mount{Layered(ws), Private(ws)}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Run(context.Background(), &Cmd{Argv: []string{"true"}, Policy: Policy{
				Readable: existing("/usr", "/bin", "/lib", "/lib64"), Writable: c.mounts, Env: []string{"PATH=/usr/bin:/bin"}, Overlay: c.overlay,
			}})
			if tongs.CodeOf(err) != tongs.CodeConfigError || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if left, _ := os.ReadDir(layers); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Of a run that has all three kinds, each is what it says.
func TestMountKinds(t *testing.T) {
	ws, layers, private := place(t), place(t), place(t)
	write(t, ws, map[string]string{"f": "old", "cache/f": "old"})
	res, out := held(t, runner(t, TierA), ws, layers, `for d in . cache `+private+`; do echo new > $d/f; done`, func(p *Policy) {
		p.Writable = append(p.Writable, Private(private), Decided(filepath.Join(ws, "cache")))
	})
	if res.ExitCode != 0 || out != "" {
		t.Fatalf("exit %d: %s", res.ExitCode, out)
	}
	for dir, want := range map[string]string{ws: "old", ws + "/cache": "new\n", private: "new\n"} {
		if b, _ := os.ReadFile(filepath.Join(dir, "f")); string(b) != want {
			t.Errorf("%s: %q, want %q", dir, b, want)
		}
	}
	if len(res.Overlay.List) != 1 || res.Overlay.List[0].Root != ws {
		t.Errorf("layers %+v", res.Overlay.List)
	}
	asUser(t, t.Name())
}

// Whatever the preset, the cache and the kind of the workspace: each mount that the kernel lets a program write to is one of
// the three kinds, or a file system of its own that is gone with the run.
func TestEveryMountThatCanBeWrittenToIsOfAKind(t *testing.T) {
	b := newCacheBench(t, Options{})
	owners := b.owners()
	owners["none"] = Cache{}
	workspaces := map[string]func(*Policy){
		"layered": func(p *Policy) { p.Writable, p.Overlay = append(p.Writable, Layered(b.ws)), &Overlay{Dir: place(t)} },
		"decided": func(p *Policy) { p.Writable = append(p.Writable, Decided(b.ws)) },
		"read":    func(p *Policy) { p.ReadOnly = append(p.ReadOnly, b.ws) },
	}
	for _, preset := range append(Presets(), "") {
		for owner, cache := range owners {
			for kind, give := range workspaces {
				opt := PresetOptions{Cache: cache}
				if preset != "" {
					opt.Presets = []string{preset}
				}
				pol := Default(b.ws, opt)
				give(&pol)
				var out strings.Builder
				res, err := b.r.Run(context.Background(), &Cmd{Argv: []string{"cat", "/proc/self/mountinfo"}, Policy: pol, Stdout: &out})
				if kind == "layered" && cache.Owner() == CacheDirect {
					if tongs.CodeOf(err) != tongs.CodeConfigError {
						t.Errorf("preset %q: a program on a copy has the direct cache: %v", preset, err)
					}
					continue
				}
				if err != nil || res.ExitCode != 0 {
					t.Fatalf("%s %s %s: %v", preset, owner, kind, err)
				}
				must(t, res.Overlay.Close())
				for _, at := range writableMounts(out.String()) {
					known := slices.Contains([]string{"/proc", "/tmp", "/dev/shm", "/dev/pts"}, at) || strings.HasPrefix(at, "/dev/") ||
						kind != "read" && at == b.ws || cache.Seen() != "" && at == cache.Seen()
					if !known {
						t.Errorf("preset %q, cache of %s, workspace %s: %s can be written to", preset, owner, kind, at)
					}
				}
			}
		}
	}
}

// writableMounts are the mount points of a mountinfo that are not read-only.
func writableMounts(info string) (list []string) {
	for line := range strings.Lines(info) {
		if f := strings.Fields(line); len(f) > 5 && slices.Contains(strings.Split(f[5], ","), "rw") {
			list = append(list, f[4])
		}
	}
	return list
}
