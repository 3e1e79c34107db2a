package project

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/workbench"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

var goProject = map[string]string{
	"go.mod":              "module example.org/shop\n\ngo 1.21\n",
	"add.go":              "package shop\n\nfunc Add(a, b int) int { return a + b }\n",
	"add_test.go":         "package shop\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 4 {\n\t\tt.Errorf(\"Add(1, 2) is %d\", Add(1, 2))\n\t}\n}\n\nfunc TestParts(t *testing.T) {\n\tt.Run(\"one\", func(t *testing.T) {})\n\tt.Run(\"two\", func(t *testing.T) { t.Fatal(\"no\") })\n\tt.Run(\"three\", func(t *testing.T) { t.Skip(\"later\") })\n}\n",
	"till/till.go":        "package till\n\nimport \"example.org/shop\"\n\nfunc Sum(list ...int) (n int) {\n\tfor _, i := range list {\n\t\tn = shop.Add(n, i)\n\t}\n\treturn n\n}\n",
	"till/till_test.go":   "package till_test\n\nimport (\n\t\"testing\"\n\n\t\"example.org/shop/till\"\n)\n\nfunc TestSum(t *testing.T) {\n\tif till.Sum(1, 2) != 3 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n\nfunc TestPanics(t *testing.T) {\n\tvar m map[string]int\n\tm[\"a\"] = 1\n}\n",
	"other/other.go":      "package other\n",
	"other/other_test.go": "package other\n\nimport \"testing\"\n\nfunc TestOther(t *testing.T) {}\n",
	"broken/broken.go":    "package broken\n\nfunc F() int { return undefined }\n",
	"broken/b_test.go":    "package broken\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) { F() }\n",
}

// One workspace for all that is tried with Go: compiling its standard library is what takes time.
func TestGo(t *testing.T) {
	needs(t, "go", "git")
	b := newBench(t, setup{})
	put(b, goProject)
	git(b, "init", "-q")
	git(b, "add", "-A")
	git(b, "commit", "-q", "-m", "all")
	long := args{"timeout": 600}

	out := ran(b, long)
	counts(b, out, 3, 4, 1)
	failure(b, out, "example.org/shop.TestAdd", "add_test.go", 7, "Add(1, 2) is 3")
	failure(b, out, "example.org/shop.TestParts/two", "add_test.go", 13, "no")
	failure(b, out, "example.org/shop/till.TestPanics", "till/till_test.go", 17, "assignment to entry in nil map")
	failure(b, out, "example.org/shop/broken", "broken/broken.go", 3, "undefined: undefined")
	if out.Runner != "go test" || out.ExitCode != 1 || !slices.Equal(out.Command, []string{"go", "test", "-json", "./..."}) {
		t.Errorf("%+v", out)
	}

	counts(b, ran(b, args{"filter": "^TestSum$", "path": "till"}), 1, 0, 0)
	counts(b, ran(b, args{"path": "other/other_test.go"}), 1, 0, 0)
	// A filter is the value of an option, whatever it looks like.
	if out := ran(b, args{"filter": "-exec=/bin/false", "path": "other"}); out.Failed+out.Passed != 0 || out.ExitCode != 0 {
		t.Errorf("a filter that looks like an option: %+v", out)
	}

	// A module that has gofumpt as a tool is formatted by it: the one that checks this repository.
	t.Run("gofumpt", func(t *testing.T) {
		b := &workbench.Bench{Bench: b.In(t), Confiner: b.Confiner}
		for _, name := range []string{"go.mod", "go.sum"} {
			text, err := os.ReadFile(filepath.Join("../../test/checkers", name))
			b.Must(err)
			b.Put("fumpt/"+name, string(text))
		}
		defer os.RemoveAll(filepath.Join(b.Dir, "fumpt"))
		b.Put("fumpt/a.go", "package a\n\nfunc F() {\n\n\tprintln()\n}\n")
		res := b.OK("format_code", args{"timeout": 600, "paths": []string{"fumpt"}})
		if out := workbench.Value[FormatOutput](b, res); !slices.Equal(out.Formatters, []string{"gofumpt"}) || b.Get("fumpt/a.go") != "package a\n\nfunc F() {\n\tprintln()\n}\n" {
			t.Errorf("%s\n%s", res.Content, b.Get("fumpt/a.go"))
		}
	})
	t.Run("changed", func(t *testing.T) {
		b := &workbench.Bench{Bench: b.In(t), Confiner: b.Confiner}
		res := b.OK("run_tests", args{"changed": true})
		if out := workbench.Value[TestOutput](b, res); out.Passed+out.Failed != 0 || !contains(res.Content, "no test is affected") {
			t.Errorf("nothing changed: %s", res.Content)
		}
		b.Put("other/new.go", "package other\n")
		if out := ran(b, args{"changed": true}); !slices.Equal(out.Command[3:], []string{"example.org/shop/other"}) {
			t.Errorf("a new file: %q", out.Command)
		}
		b.Must(os.Remove(filepath.Join(b.Dir, "other/new.go")))
		b.Put("add.go", "package shop\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n")
		if out := ran(b, args{"changed": true}); !slices.Equal(out.Command[3:], []string{"example.org/shop", "example.org/shop/till"}) {
			t.Errorf("a package and what depends on it: %q", out.Command)
		}
		if out := ran(b, args{"changed": true, "path": "till"}); !slices.Equal(out.Command[3:], []string{"example.org/shop/till"}) {
			t.Errorf("below a directory: %q", out.Command)
		}
	})
}

func TestNode(t *testing.T) {
	needs(t, "node", "npm")
	b := newBench(t, setup{})
	put(b, map[string]string{
		"package.json":      `{"scripts": {"test": "node --test"}}`,
		"test/add.test.mjs": "import test from 'node:test';\nimport assert from 'node:assert';\n\ntest('adds', () => {});\ntest('fails', () => {\n\tassert.equal(1, 2, 'one is not two');\n});\ntest('later', { skip: true }, () => {});\ntest.describe('group', () => {\n\ttest('inside', () => { throw new Error('inner trouble'); });\n\ttest('fine', () => { console.log('{\"event\": \"pass\"}'); });\n});\n",
		"test/b.test.mjs":   "import test from 'node:test';\ntest('other', () => {});\n",
	})
	out := ran(b, nil)
	counts(b, out, 3, 2, 1)
	failure(b, out, "fails", "test/add.test.mjs", 6, "one is not two")
	failure(b, out, "inside", "test/add.test.mjs", 10, "inner trouble")
	counts(b, ran(b, args{"path": "test/b.test.mjs"}), 1, 0, 0)
	counts(b, ran(b, args{"filter": "^adds$", "path": "test/add.test.mjs"}), 1, 0, 0)
	b.Fails(tongs.CodeInvalidArgs, "cannot tell which tests a change affects", b.Call("run_tests", args{"changed": true}))

	// A script that is more than a runner runs as it is; its report is read where it writes one.
	b.Put("package.json", `{"scripts": {"test": "node write.js && echo done"}}`)
	b.Put("write.js", "require('fs').writeFileSync('junit.xml', `<?xml version=\"1.0\"?><testsuites><testsuite name=\"s\"><testcase name=\"a\" classname=\"c\"/>"+
		"<testcase name=\"b\" classname=\"c\" file=\"src/b.js\" line=\"7\"><failure message=\"bad\">at b</failure></testcase><testcase name=\"d\"><skipped/></testcase></testsuite></testsuites>`)\n")
	res := b.OK("run_tests")
	if out := workbench.Value[TestOutput](b, res); out.Counted || out.ExitCode != 0 || !contains(res.Content, "npm run test: ended well") || !contains(res.Content, "done") {
		t.Errorf("a script: %s", res.Content)
	}
	out = ran(b, args{"report": "junit.xml"})
	counts(b, out, 1, 1, 1)
	failure(b, out, "c.b", "src/b.js", 7, "bad")
	b.Fails(tongs.CodeFileNotFound, "wrote no report", b.Call("run_tests", args{"report": "none.xml"}))
	b.Fails(tongs.CodeInvalidPath, "relative to it", b.Call("run_tests", args{"report": "../x.xml"}))
	b.Fails(tongs.CodeInvalidArgs, "run as a whole", b.Call("run_tests", args{"filter": "x"}))
}

const pythonTest1 = "import sys, unittest\n\nclass T(unittest.TestCase):\n    def test_ok(self):\n        print('{\"event\": \"pass\"}')\n        sys.stdout.flush()\n\n" +
	"    def test_bad(self):\n        self.assertEqual(1, 2, 'one is not two')\n\n    @unittest.skip('later')\n    def test_later(self):\n        pass\n\n" +
	"    def test_parts(self):\n        for i in range(3):\n            with self.subTest(i=i):\n                self.assertNotEqual(i, 1)\n"

func TestPython(t *testing.T) {
	needs(t, "python3")
	b := newBench(t, setup{})
	environment(b)
	b.Put("tests/__init__.py", "")
	b.Put("tests/test_a.py", pythonTest1)
	b.Put("tests/test_b.py", "import nothing_of_that_name\n")
	b.Put("pyproject.toml", "[project]\nname = 'x'\n")

	t.Run("unittest", func(t *testing.T) {
		b := &workbench.Bench{Bench: b.In(t), Confiner: b.Confiner}
		b.Must(os.Rename(filepath.Join(b.Dir, ".venv"), filepath.Join(b.Dir, ".v")))
		defer func() { b.Must(os.Rename(filepath.Join(b.Dir, ".v"), filepath.Join(b.Dir, ".venv"))) }()
		if err := os.WriteFile(filepath.Join(b.Dir, "pytest.py"), []byte("raise ImportError\n"), 0o644); err != nil { // the system may have one
			t.Fatal(err)
		}
		defer func() { b.Must(os.Remove(filepath.Join(b.Dir, "pytest.py"))) }()
		out := ran(b, nil)
		if out.Runner != "unittest" {
			t.Errorf("runner %s", out.Runner)
		}
		counts(b, out, 1, 3, 1)
		failure(b, out, "tests.test_a.T.test_bad", "tests/test_a.py", 9, "one is not two")
		failure(b, out, "tests.test_a.T.test_parts (i=1)", "tests/test_a.py", 18, "1 == 1")
		if out.ExitCode != 1 || len(out.Failures) != 3 {
			t.Errorf("%+v", out)
		}
		b.Put("pytest.ini", "[pytest]\n")
		defer func() { b.Must(os.Remove(filepath.Join(b.Dir, "pytest.ini"))) }()
		b.Fails(tongs.CodeConfigError, "tested with pytest, which is not installed", b.Call("run_tests"))
	})
	t.Run("pytest", func(t *testing.T) {
		b := &workbench.Bench{Bench: b.In(t), Confiner: b.Confiner}
		out := ran(b, args{"path": "tests/test_a.py"})
		if out.Runner != "pytest" {
			t.Fatalf("runner %s: the test needs the Debian package python3-pytest", out.Runner)
		}
		counts(b, out, 1, 2, 1)
		failure(b, out, "tests/test_a.py::T::test_bad", "tests/test_a.py", 9, "one is not two")
		all := ran(b, nil)
		counts(b, all, 0, 1, 0)
		failure(b, all, "tests/test_b.py", "tests/test_b.py", 1, "nothing_of_that_name")
		counts(b, ran(b, args{"filter": "test_ok", "path": "tests/test_a.py"}), 1, 0, 0)
		// A filter is the value of an option, whatever it looks like.
		if out := ran(b, args{"filter": "-pno:terminal", "path": "tests/test_a.py"}); out.Counted && out.Passed > 0 {
			t.Errorf("a filter that looks like an option: %+v", out)
		}
		if b.Exists(".pytest_cache") || b.Exists("tests/__pycache__") {
			t.Error("caches were left in the workspace")
		}
		b.Fails(tongs.CodeInvalidArgs, "cannot tell which tests a change affects", b.Call("run_tests", args{"changed": true}))
		b.Put("none/test_none.py", "")
		if res := b.OK("run_tests", args{"path": "none"}); !contains(res.Content, "no test was found") {
			t.Errorf("no tests: %s", res.Content)
		}
	})
}

func TestCargo(t *testing.T) {
	needs(t, "cargo", "rustc")
	b := newBench(t, setup{})
	put(b, map[string]string{
		"Cargo.toml": "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
		"src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n\n" +
			"    #[test]\n    fn fails() {\n        println!(\"test x ... ok\");\n        assert_eq!(add(1, 2), 4, \"wrong sum\");\n    }\n\n    #[test]\n    #[ignore]\n    fn later() {}\n}\n",
	})
	out := ran(b, args{"timeout": 300})
	counts(b, out, 1, 1, 1)
	failure(b, out, "tests::fails", "src/lib.rs", 17, "wrong sum")
	counts(b, ran(b, args{"filter": "adds"}), 1, 0, 0)
	b.Fails(tongs.CodeInvalidArgs, "cannot begin with a dash", b.Call("run_tests", args{"filter": "--list"}))
	b.Put("src/lib.rs", "pub fn add() -> i32 { nothing }\n")
	out = ran(b, nil)
	failure(b, out, "build", "src/lib.rs", 1, "cannot find value `nothing`")
}

func TestCTest(t *testing.T) {
	needs(t, "cmake", "ctest", "gcc", "make")
	b := newBench(t, setup{})
	put(b, map[string]string{
		"CMakeLists.txt": "cmake_minimum_required(VERSION 3.16)\nproject(shop C)\nenable_testing()\nadd_executable(good good.c)\nadd_executable(bad bad.c)\n" +
			"add_test(NAME good COMMAND good)\nadd_test(NAME bad COMMAND bad)\nadd_test(NAME later COMMAND good)\nset_tests_properties(later PROPERTIES DISABLED TRUE)\n",
		"good.c": "int main(void) { return 0; }\n",
		"bad.c":  "#include <stdio.h>\nint main(void) {\n  printf(\"%s:%d: sum is wrong\\n\", \"bad.c\", __LINE__);\n  return 1;\n}\n",
	})
	out := ran(b, args{"timeout": 300})
	counts(b, out, 1, 1, 1)
	failure(b, out, "bad", "bad.c", 3, "sum is wrong")
	if b.Exists("build") || b.Exists("Testing") {
		t.Error("a build was left in the workspace")
	}
	counts(b, ran(b, args{"filter": "^good$", "timeout": 300}), 1, 0, 0)
	b.Fails(tongs.CodeInvalidArgs, "cannot begin with a dash", b.Call("run_tests", args{"filter": "--help"}))
	b.Put("bad.c", "int main(void) { return nothing; }\n")
	res := b.OK("run_tests", args{"timeout": 300})
	if out := workbench.Value[TestOutput](b, res); out.ExitCode == 0 || out.Counted || !contains(res.Content, "nothing") {
		t.Errorf("it does not build: %s", res.Content)
	}
}

func TestMake(t *testing.T) {
	needs(t, "make")
	b := newBench(t, setup{})
	b.Put("Makefile", "test:\n\t@echo tested; false\n\ncheck:\n\t@true\n")
	res := b.OK("run_tests")
	if out := workbench.Value[TestOutput](b, res); out.Counted || out.ExitCode != 2 || !contains(res.Content, "make test: exit code 2") || !contains(res.Content, "tested") {
		t.Errorf("%s", res.Content)
	}
	if e := b.Explain("run_tests"); !slices.ContainsFunc(e.Effects, func(e tongs.Effect) bool { return e.Version != "" && contains(e.Why, "bound to the content of") }) {
		t.Errorf("an approval is bound to nothing: %+v", e.Effects)
	}
	b.Must(os.Remove(filepath.Join(b.Dir, "Makefile")))
	b.Fails(tongs.CodeConfigError, "no tests that this tool can run", b.Call("run_tests"))
	b.Fails(tongs.CodeConfigError, "tested with cargo", b.Call("run_tests", args{"runner": "cargo"}))
}

// An approval is bound to the programs of the project itself that are run: replacing one is another effect.
func TestWhatTheProjectBringsIsBound(t *testing.T) {
	b := newBench(t, setup{})
	environment(b)
	b.Put("test_a.py", "")
	version := func() tongs.Version {
		for _, e := range b.Explain("run_tests").Effects {
			if e.Kind == tongs.EffectExecute {
				return e.Version
			}
		}
		return ""
	}
	first := version()
	if first == "" || version() != first {
		t.Errorf("bound to %q, then to %q", first, version())
	}
	b.Must(os.Remove(filepath.Join(b.Dir, ".venv/bin/python")))
	b.Put(".venv/bin/python", "#!/bin/sh\necho evil\n", 0o755)
	if version() == first {
		t.Error("another interpreter is the same effect")
	}
}

// A panic is at the line of the test, however the program that panicked was built.
func TestPlaceOfAPanic(t *testing.T) {
	g := &goTests{module: "example.org/shop"}
	for frame, want := range map[string]string{
		"example.org/shop/till/till_test.go:17 +0x28": "till/till_test.go", "/home/a/shop/till/till_test.go:17 +0x28": "/home/a/shop/till/till_test.go",
	} {
		f := g.failure("example.org/shop/till", "panic: no\n\ngoroutine 4 [running]:\ntesting.tRunner()\n\ttesting/testing.go:1974 +0x232\nx.TestPanics()\n\t"+frame+"\n")
		if f.File != want || f.Line != 17 {
			t.Errorf("%s: %s:%d", frame, f.File, f.Line)
		}
	}
}
