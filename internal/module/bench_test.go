package module_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/workbench"
)

// benched are modules in every language, and the same as a program that is run for each call.
var benched = []struct {
	name, file, source string
	plain              []string
}{
	{"TypeScript", "tools.ts", seedFunction, []string{"node", "-e", "let a=0,b=1;for(let i=2;i<=10;i++)[a,b]=[b,a+b];console.log(b)"}},
	{"Python", "tools.py", fibonacciPython, []string{"python3", "-c", "a,b=0,1\nfor _ in range(10): a,b=b,a+b\nprint(a)"}},
	{"Go", "tools.go", fibonacciGo, nil},
}

func BenchmarkCall(b *testing.B) {
	for _, m := range benched {
		b.Run(m.name, func(b *testing.B) {
			w := newBench(b, workbench.Options{Mode: tongs.ModeAll}, m.file, m.source)
			w.zod()
			w.ready(m.file, "calculateFibonacci")
			b.Run("warm", func(b *testing.B) {
				w.OK("calculateFibonacci", args{"n": 10})
				for b.Loop() {
					w.OK("calculateFibonacci", args{"n": 10})
				}
			})
			b.Run("cold", func(b *testing.B) {
				for b.Loop() {
					w.open()
					w.OK("calculateFibonacci", args{"n": 10})
				}
			})
			argv := m.plain
			if argv == nil { // the program of the module itself, which ends when there is nothing to read
				found, err := filepath.Glob(filepath.Join(w.opt.Programs, "*/program"))
				if err != nil || len(found) != 1 {
					b.Fatal(found, err)
				}
				argv = []string{"sh", "-c", "TONGS_TOOLS='[]' exec " + found[0] + " 3>/dev/null 4</dev/null"}
			}
			b.Run("exec", func(b *testing.B) {
				for b.Loop() {
					if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
						b.Fatalf("%v: %s", err, out)
					}
				}
			})
		})
	}
}

func BenchmarkBundle(b *testing.B) {
	for _, m := range benched {
		b.Run(m.name, func(b *testing.B) {
			w := newBench(b, workbench.Options{}, m.file, m.source)
			w.zod()
			w.use(m.file, "calculateFibonacci")
			for b.Loop() {
				w.open()
				if _, err := w.set.Look(context.Background(), m.file); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpen is what a configured and approved module adds to the start of every process.
func BenchmarkOpen(b *testing.B) {
	w := newBench(b, workbench.Options{}, "tools.ts", seedFunction)
	w.zod()
	w.ready("tools.ts", "calculateFibonacci")
	for b.Loop() {
		w.open()
	}
}
