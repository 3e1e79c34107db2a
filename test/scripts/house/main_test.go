package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// module writes the files of a module, and returns its measures by name.
func module(t *testing.T, files map[string]string) map[string]measure {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.com/m\n\ngo 1.26\n"
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]measure{}
	for _, m := range h.measures() {
		found[m.name] = m
	}
	return found
}

func TestWhatIsCounted(t *testing.T) {
	long := "func Long() {\n"
	for i := range 79 {
		long += "\tprintln(" + strconv.Itoa(i) + ")\n"
	}
	long += "}\n"
	var repeated strings.Builder
	for i := range 13 {
		repeated.WriteString("\tprintln(" + string(rune('a'+i)) + ")\n\n")
	}
	shared := "() {\n" + repeated.String() + "}\n"
	got := module(t, map[string]string{
		"root.go":           "package m\n\ntype T struct{}\n\nfunc (*T) Public() {}\n\nfunc (T) private() {}\n\ntype hidden int\n\nfunc (hidden) Public() {}\n\nconst A, b = 1, 2\n",
		"root_test.go":      "package m\n\nfunc Unseen() {}\n",
		"a/a.go":            "package a\n\nimport _ \"example.com/m\"\n\n" + long,
		"a/internal/b/b.go": "package b\n\nfunc One" + shared + "\ntype Options struct{ A, B, C, D, E, F, G, H, I, J, K, L, M int }\n",
		"cmd/tongs/main.go": "package main\n\nimport (\n\t_ \"example.com/m\"\n\t_ \"example.com/m/a\"\n)\n\nfunc main() {}\n\nfunc two" + shared + "\ntype wide interface{ A(); B(); C(); D(); E(); F(); G(); H() }\n",
		"bench/bench.go":    "package bench\n\nfunc Three" + shared,
		"c/n.go":            "package c\n" + strings.Repeat("\n", 500),
	})
	for name, want := range map[string]float64{
		"top-level folders":                            4,
		"importable packages":                          3,
		"public identifiers in them, methods included": 4, // T, T.Public, A and Long
		"in-module imports a package":                  0.5,
		"in-module imports of cmd/tongs":               2,
		"functions over 80 lines":                      1,
		"files over 500 lines":                         1,
		"option structs over 12 fields":                1,
		"interfaces over 7 methods":                    1,
		"pairs of places that share over 12 lines":     1,
	} {
		if m, ok := got[name]; !ok || m.value != want {
			t.Errorf("%s: %v (%v), want %v", name, m.value, m.misses, want)
		}
	}
}

func TestEveryMissHasItsReason(t *testing.T) {
	var out strings.Builder
	report(&out, []measure{
		{name: "rooms", value: 3, goal: 2},
		{name: "large", value: 2, goal: 0, misses: []miss{{"x/a.go", "600 lines"}, {"b.go", "700 lines"}}},
		{name: "small", value: 1, goal: 1},
	}, map[string]string{"a.go": "a table", "rooms": "they differ", "small": "it was large"})
	for _, want := range []string{
		"rooms: they differ\n", "x/a.go (600 lines): a table\n", "b.go (700 lines): no reason is given\n",
		"remove this reason from test/scripts/house/reasons.go, its goal is met: small\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
