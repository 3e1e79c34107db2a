package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRealWork does in the default sandbox what people do all day. It needs git, gcc, make, Node.js with npm, and Python
// with venv; a machine that lacks one of them fails rather than leaving it out.
func TestRealWork(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"git", "gcc", "make", "node", "npm", "python3", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v: install it (Debian: git gcc make nodejs npm python3-venv, and Go)", err)
		}
	}
	r := runner(t, TierA)
	for name, c := range map[string]struct {
		files  map[string]string
		script string
		says   string
		pty    bool
	}{
		"go": {map[string]string{
			"go.mod": "module example.org/small\n\ngo 1.21\n", "small.go": "package small\n\nfunc Double(n int) int { return 2 * n }\n",
			"small_test.go": "package small\n\nimport \"testing\"\n\nfunc TestDouble(t *testing.T) {\n\tif Double(2) != 4 {\n\t\tt.Fail()\n\t}\n}\n",
		}, "go build ./... && go test ./... && go test ./...", "ok  \texample.org/small", false},
		"git": {map[string]string{"a.txt": "one\n"}, `git init -q . && git config user.name A && git config user.email a@example.org && git add . && git commit -qm first &&
			echo two >> a.txt && git commit -qam second && git checkout -qb side && git log --oneline | wc -l && git status --short && git stash list && git gc -q && git fsck`, "2\n", false},
		"npm": {map[string]string{
			"package.json": `{"name":"small","version":"1.0.0","scripts":{"test":"node --test","build":"node -e \"require('fs').writeFileSync('out.txt','built')\""}}`,
			"small.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\nconst http = require('node:http');\n" +
				"test('adds', () => assert.strictEqual(1 + 1, 2));\n" +
				"test('serves', async () => { const s = http.createServer((q, r) => r.end('hi')).listen(0); await new Promise(r => s.once('listening', r)); " +
				"const r = await fetch('http://127.0.0.1:' + s.address().port); assert.strictEqual(await r.text(), 'hi'); s.close(); s.closeAllConnections(); });\n",
		}, "npm test && npm run build && cat out.txt", "built", false},
		"python": {
			map[string]string{"test_small.py": "import unittest, multiprocessing\n\ndef f(n):\n    return n * n\n\nclass T(unittest.TestCase):\n    def test(self):\n        with multiprocessing.Pool(2) as p:\n            self.assertEqual(p.map(f, [1, 2, 3]), [1, 4, 9])\n\nif __name__ == '__main__':\n    unittest.main()\n"},
			"python3 -m venv --without-pip env && . env/bin/activate && python -c 'import sys; print(sys.prefix)' && python -m unittest -q", "/env", false,
		},
		"gcc": {
			map[string]string{"main.c": "#include <stdio.h>\n#include <pthread.h>\nstatic void *f(void *p) { return p; }\nint main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); puts(\"compiled\"); return 0; }\n"},
			"gcc -O2 -g -Wall -pthread -o main main.c && ./main", "compiled", false,
		},
		"make": {map[string]string{
			"Makefile": "OBJ := $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(OBJ)\n\tgcc -o all $(OBJ) && ./all\n%.o: %.c\n\tgcc -c -o $@ $<\n",
			"a.c":      "int b(void), c(void), d(void);\n#include <stdio.h>\nint main(void) { printf(\"sum %d\\n\", b() + c() + d()); return 0; }\n", "b.c": "int b(void) { return 1; }\n", "c.c": "int c(void) { return 2; }\n", "d.c": "int d(void) { return 3; }\n",
		}, "make -j4", "sum 6", false},
		"terminal": {nil, `python3 -c "import os, pty, sys, termios, curses; print(os.ttyname(0)); termios.tcgetattr(0); curses.setupterm('xterm'); print('terminal works'); sys.exit(pty.spawn(['/bin/sh', '-c', 'tty; exit 0']) >> 8)"`, "terminal works", true},
		"tools":    {map[string]string{"data": "b\na\n"}, `sort data | tee sorted | head -1; tar czf x.tgz data && tar tzf x.tgz; sed -i s/a/z/ data; cat data; find . -name data; mktemp; awk 'BEGIN{print 6*7}'; diff data sorted; mkfifo f && (echo through > f & cat f); (flock 9; echo locked) 9> lock; timeout 5 true; date > /dev/null; id -un`, "sandbox", false},
	} {
		if name == "go" && os.Getenv("TONGS_TEST_USER") != "" {
			continue // root had it; compiling the standard library a second time takes longer than all the rest
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := place(t)
			for file, content := range c.files {
				must(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644))
			}
			pol := Default(dir, PresetOptions{Cache: CachesIn(place(t)).Direct(dir)})
			pol.Require, pol.Writable = Properties(), append(pol.Writable, Decided(dir))
			var out lockedBuffer
			cmd := &Cmd{Argv: []string{"/bin/bash", "-c", c.script}, Policy: pol, Stdout: &out, Stderr: &out}
			if c.pty {
				cmd.PTY = &PTY{24, 80}
			}
			res, err := r.Run(t.Context(), cmd)
			if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			if res.ExitCode != 0 && name != "tools" || !strings.Contains(out.String(), c.says) || !res.Report.Full {
				t.Errorf("exit %d, full %v, limits %v, denied %v: %s", res.ExitCode, res.Report.Full, res.Report.LimitsHit, res.Report.Denied, out.String())
			}
		})
	}
}

func TestRealWorkAsUser(t *testing.T) { asUser(t, "TestRealWork") }

// A worktree's repository is elsewhere. Commits in it work, and its hooks are protected there.
func TestAWorktree(t *testing.T) {
	base := place(t)
	repo, tree := filepath.Join(base, "repo"), filepath.Join(base, "tree")
	for _, args := range [][]string{
		{"init", "-q", repo},
		{"-C", repo, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "first"},
		{"-C", repo, "worktree", "add", "-q", tree, "-b", "side"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	pol := Default(tree, PresetOptions{Protect: []string{".git"}})
	pol.Writable = []Mount{Decided(tree), Decided(filepath.Join(repo, ".git"))}
	_, out := bash(t, runner(t, TierA), pol, `echo x > a && git add a && git -c user.name=A -c user.email=a@example.org commit -qm second && git log --oneline | wc -l
		(echo x > `+repo+`/.git/hooks/post-commit) 2>/dev/null && echo hooked
		(echo x >> `+repo+`/.git/config) 2>/dev/null && echo configured
		(echo x > `+repo+`/.git/worktrees/tree/commondir) 2>/dev/null && echo moved
		(echo x > .git) 2>/dev/null && echo redirected; true`)
	if out != "2\n" {
		t.Error(out)
	}
}
