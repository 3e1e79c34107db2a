//go:build linux || darwin

package workspace

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/hostpath"
)

// FuzzResolve checks that a spelling is an error or a path that the kernel finds inside its root.
func FuzzResolve(f *testing.F) {
	w, base := resolving(f)
	for _, s := range []string{
		".", "src/a.go", "indir/../in", "deepdir/../../src", "/zone/out", "updir/../ws", "up", "chain1/x", "loop1", "src/dotdot/tozonedir/sub",
		"tozonedir/../zone", ".cache/../src", base + "/ws/src", base + "/alias/../ws", "a\x00", "\xff", "~", "/", "//", "..", "a//b/./..",
		"absin/back/..", "magic", "throughlink", "src/dotdot/.cache/c", "new/../x", "a\\..\\b", "SRC/A.GO",
	} {
		f.Add("", s)
		f.Add("src/deep", s)
	}
	f.Fuzz(func(t *testing.T, dir, spelling string) {
		for _, resolve := range []func(tongs.Path, string) (tongs.Path, error){w.Resolve, w.ResolveEntry} {
			p, err := resolve(in(dir), spelling)
			if err != nil {
				if code := tongs.CodeOf(err); code != tongs.CodeInvalidPath && code != tongs.CodeFileNotFound {
					t.Fatalf("%q: code %s: %v", spelling, code, err)
				}
				continue
			}
			if err := w.canonical(p); err != nil {
				t.Fatalf("%q resolved to %+v: %v", spelling, p, err)
			}
			// What exists of it is real: the kernel finds it where we said.
			host := w.Host(p)
			root := w.Host(tongs.Path{Root: p.Root, Rel: "."})
			for host = filepath.Dir(host); strings.HasPrefix(host, root); host = filepath.Dir(host) {
				if real, err := filepath.EvalSymlinks(host); err == nil && real != host {
					t.Fatalf("%q resolved to %+v, but %s is really %s", spelling, p, host, real)
				}
			}
		}
		p, err := w.Resolve(in(dir), spelling)
		if err != nil {
			return
		}
		if real, err := filepath.EvalSymlinks(w.Host(p)); err == nil && !hostpath.Within(w.Host(tongs.Path{Root: p.Root, Rel: "."}), real) {
			t.Fatalf("%q resolved to %+v, which is really %s", spelling, p, real)
		}
		again, err := w.Resolve(in("."), p.String())
		if err == nil && again != p && !strings.HasPrefix(p.Rel, "~") {
			t.Fatalf("%q resolved to %+v, and that to %+v", spelling, p, again)
		}
	})
}
