//go:build linux || darwin

package workspace

import (
	"fmt"
	"testing"

	"github.com/tongs-ai/tongs"
)

func BenchmarkResolve(b *testing.B) {
	w := newWorkspace(b, map[string]string{"a/b/c/file.go": "x", "link": "-> a/b"})
	for name, spelling := range map[string]string{"deep": "a/b/c/file.go", "link": "link/c/file.go", "missing": "a/new.go"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := w.Resolve(in("."), spelling); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVersion(b *testing.B) {
	w := newWorkspace(b, map[string]string{"a/small": "x", "a/64k": string(make([]byte, 64<<10)), "a/1M": string(make([]byte, 1<<20))})
	for _, name := range []string{"small", "64k", "1M"} {
		b.Run(name, func(b *testing.B) {
			v := w.View(in("."))
			for b.Loop() {
				if _, err := v.Version(in("a/" + name)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReplace(b *testing.B) {
	w := newWorkspace(b, map[string]string{"a/f": "x"})
	files, _ := decide(b, w, writing(in("a/f")))
	for b.Loop() {
		if _, err := files.Replace(b.Context(), in("a/f"), tongs.Replacing{}, content("some text\n")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	w := newWorkspace(b, map[string]string{"src/pkg/a.go": "package a\n"})
	for name, e := range map[string]tongs.Effect{
		"read": reading(in("src/pkg/a.go")), "write": writing(in("src/pkg/a.go")), "new": writing(in("src/pkg/b.go")),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := w.Check([]tongs.Effect{e}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What it takes to know where the links are, in a tree of 500 directories and 6,000 files.
func BenchmarkSurvey(b *testing.B) {
	files := map[string]string{".envrc": "-> d1/f1"}
	for d := range 500 {
		for f := range 12 {
			files[fmt.Sprintf("d%d/f%d", d, f)] = "x"
		}
	}
	w := newWorkspace(b, files)
	for name, forget := range map[string]func(){
		"first": func() { w.survey = survey{} }, "again": w.survey.forget, "at once": func() {},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				forget()
				if len(w.aliased(toChange).list) != 1 {
					b.Fatal("the link is not found")
				}
			}
		})
	}
}
