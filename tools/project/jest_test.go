package project

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs"
)

// Jest and vitest are the real ones, with the same tests.
func TestJestAndVitest(t *testing.T) {
	needs(t, "node", "git")
	for _, c := range []struct{ name, head, file string }{
		{"jest", "", "a.test.js"},
		{"vitest", "import { test, expect, describe } from 'vitest';\n", "a.test.mjs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, setup{})
			from, err := filepath.Abs("../../bin/runners/node_modules")
			b.Must(err)
			if _, err := os.Stat(filepath.Join(from, c.name, "package.json")); err != nil {
				t.Fatalf("the test needs %s; test/scripts/needs installs it: %v", c.name, err)
			}
			b.Put("package.json", `{"scripts": {"test": "`+c.name+`"}, "devDependencies": {"`+c.name+`": "*"}}`)
			b.Fails(tongs.CodeConfigError, "is not installed in it", b.Call("run_tests"))
			link(b, from, "node_modules")
			b.Put(".gitignore", "node_modules\n")
			body := "test('adds', () => { expect(1 + 2).toBe(3); });\ndescribe('group', () => {\n\ttest('fails', () => { expect(1 + 2).toBe(4); });\n\ttest.skip('later', () => {});\n});\n"
			b.Put(c.file, c.head+body)
			b.Put("other/b"+c.file[1:], c.head+"test('other', () => {});\n")
			line := 3
			if c.head != "" {
				line++
			}
			out := ran(b, nil)
			counts(b, out, 2, 1, 1)
			failure(b, out, "group fails", c.file, line, "3")
			counts(b, ran(b, args{"path": "other"}), 1, 0, 0)
			if out := ran(b, args{"filter": "^adds$"}); out.Passed != 1 || out.Failed != 0 {
				t.Errorf("filtered: %+v", out)
			}
			git(b, "init", "-q")
			git(b, "add", "-A")
			git(b, "commit", "-q", "-m", "all")
			b.Put("other/b"+c.file[1:], c.head+"test('other', () => {});\ntest('more', () => {});\n")
			counts(b, ran(b, args{"changed": true}), 2, 0, 0)
			b.Put(c.file, c.head+"import 'nothing-of-that-name';\n")
			if out := ran(b, args{"path": c.file}); out.Failed != 1 || out.Failures[0].File != c.file {
				t.Errorf("a file that cannot be loaded: %+v", out)
			}
		})
	}
}
