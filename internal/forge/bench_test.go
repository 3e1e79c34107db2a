package forge_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/forge"
	"github.com/tongs-ai/tongs/internal/workbench"
)

// forgeOf makes a forge of n tools, and a set that looks at it until the times of its files tell changes apart.
func forgeOf(b *testing.B, n int, opt forge.Options) *forge.Set {
	b.Helper()
	opt.Dir, opt.State = b.TempDir(), b.TempDir()
	for i := range n {
		made, err := forge.Draft{Name: fmt.Sprintf("tool-%04d", i), Description: "d", Language: "sh"}.Scaffold()
		if err == nil {
			_, err = made.Write(opt.Dir)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	set, err := forge.New(opt)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = set.Close() })
	time.Sleep(2500 * time.Millisecond)
	for range 3 {
		if _, err := set.Scan(); err != nil {
			b.Fatal(err)
		}
	}
	return set
}

// BenchmarkRefresh is what a turn costs while nothing changes: by looking, as a command does, and by listening, as a server.
func BenchmarkRefresh(b *testing.B) {
	for _, n := range []int{50, 1000} {
		for how, opt := range map[string]forge.Options{"look": {}, "listen": {Watch: true}} {
			b.Run(fmt.Sprintf("%s/%d", how, n), func(b *testing.B) {
				set := forgeOf(b, n, opt)
				b.ReportAllocs()
				for b.Loop() {
					if changed, err := set.Scan(); err != nil || changed {
						b.Fatal(changed, err)
					}
				}
			})
		}
	}
}

// BenchmarkOpen is what a process pays before its first call.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{50, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			opt := forge.Options{State: b.TempDir()}
			opt.Dir = forgeOf(b, n, forge.Options{}).Dir()
			for b.Loop() {
				if _, err := forge.New(opt); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCall is what a call of a directory tool costs, through the whole walk and in the sandbox, beside the program alone:
// warm, and cold, where the set was just made and the copy that runs is read and checked again.
func BenchmarkCall(b *testing.B) {
	h := newBench(b, workbench.Options{Mode: tongs.ModeAll})
	h.script("hello", "", "echo hello")
	program := filepath.Join(h.forge, "hello", "run")
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			if out, err := exec.Command(program).Output(); err != nil || string(out) != "hello\n" {
				b.Fatal(string(out), err)
			}
		}
	})
	b.Run("warm", func(b *testing.B) {
		h.OK("hello")
		for b.Loop() {
			h.OK("hello")
		}
	})
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			set, err := forge.New(forge.Options{Dir: h.forge, State: h.state})
			if err != nil {
				b.Fatal(err)
			}
			h.set = set
			h.refresh()
			h.OK("hello")
		}
	})
}
