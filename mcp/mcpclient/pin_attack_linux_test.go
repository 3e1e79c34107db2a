package mcpclient_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

// copyOf puts a copy of the server's program, which works the same, under another name.
func (d *desk) copyOf(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, "server"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, append(data, '.'), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// relink makes path a link to target.
func relink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// The program is a link, or a directory above it is. The files stay as they are, and the link is swapped while a person is
// asked.
func TestAttackTheLinkToAProgram(t *testing.T) {
	for name, at := range map[string]string{"the program": "link", "a directory": "bin/server"} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, nil)
			evil := filepath.Join(t.TempDir(), "evil")
			good := t.TempDir()
			for _, dir := range []string{good, evil} {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Rename(d.copyOf(t, "x"), filepath.Join(evil, "server")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(d.dir, "server"), filepath.Join(good, "server")); err != nil {
				t.Fatal(err)
			}
			set := func(dir string) {
				if name == "the program" {
					relink(t, filepath.Join(dir, "server"), filepath.Join(d.dir, "link"))
				} else {
					relink(t, dir, filepath.Join(d.dir, "bin"))
				}
			}
			set(good)
			d.opt.Servers[0].Command = filepath.Join(d.dir, at)
			d.opt.Servers[0].Unconfined = true // the sandbox does not show what is outside
			d.restart(t)
			d.review(t)
			d.restart(t)
			d.questions()
			d.say = func(q approval.Question) bool {
				set(evil)
				return !q.Effects[0].MustAsk
			}
			d.call("echo", "x")
			if q := d.questions(); len(q) != 2 || !q[1].Effects[0].MustAsk {
				t.Errorf("the program behind the link ran unasked: %d questions", len(q))
			}
		})
	}
}

// A person approved one call of a changed program. While that call runs, the program is put back as it was approved: what
// still runs is the other one.
func TestAttackAProgramThatIsBusy(t *testing.T) {
	d := newDesk(t, nil)
	d.free()
	d.review(t)
	d.restart(t)
	path := filepath.Join(d.dir, "server")
	if err := os.Rename(path, path+".good"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path + ".good")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, '.'), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		d.engine.Call(ctx, &tongs.Call{Tool: "srv__hang", Args: []byte("{}")})
	}()
	defer func() { cancel(); <-over }()
	for !d.set.States()[0].Running {
		runtime.Gosched()
	}
	d.questions()
	if err := os.Rename(path+".good", path); err != nil {
		t.Fatal(err)
	}
	if res := d.call("echo", "x"); res.Error == nil {
		if q := d.questions(); len(q) == 0 {
			t.Errorf("a program that nobody approved for this call ran unasked: %s", res.Content)
		}
	}
}

// Ordinary commands can be pinned, and their data is not.
func TestWhatOrdinaryCommandsRun(t *testing.T) {
	for _, argv := range [][]string{
		{"python3", "-u", "evil.py", "data.json"},
		{"python3", "-uB", "-W", "ignore", "evil.py", "--db", "data.json"},
		{"node", "--no-warnings", "--enable-source-maps", "evil.py", "data.json"},
		{"node", "--env-file=.env", "evil.py", "stdio"},
		{"deno", "run", "-A", "evil.py", "data.json"},
		{"deno", "run", "--allow-net=example.com", "--no-prompt", "evil.py"},
		{"bun", "run", "evil.py", "data.json"},
		{"bash", "-eu", "evil.py", "data.json"},
		{"java", "-Xmx512m", "-Dkey=value", "-jar", "evil.py", "data.json"},
		{"php", "-f", "evil.py", "data.json"},
		{"Rscript", "evil.py", "data.json"},
		{"my-server", "--plugin=evil.py", "--db", "data.json"},
	} {
		if pinned, err := pinnedOf(t, argv); err != nil || !strings.Contains(pinned, "/evil.py\n") || strings.Contains(pinned, "data.json\n") {
			t.Errorf("%q: %v, pinned:\n%s", argv, err, pinned)
		}
	}
}

// pinnedOf is what is pinned of a server with that command. Programs that the machine lacks are made.
func pinnedOf(t *testing.T, argv []string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, argv[0]), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	d := newDesk(t, func(o *mcpclient.Options) {
		o.Servers[0].Command, o.Servers[0].Args, o.Servers[0].Unconfined = argv[0], argv[1:], true
	})
	d.write(t, "evil.py", "1")
	d.write(t, "data.json", "{}")
	return mcpclient.Pinned(d.set, "srv", d.dir)
}

// What runs is pinned, however the command names it; and if that cannot be told, the server is refused.
func TestAttackWhatACommandRuns(t *testing.T) {
	for _, argv := range [][]string{
		{"python3", "-mevil", "data.json"},
		{"python3", "-Im", "evil", "data.json"},
		{"python3", "-c", "import evil", "data.json"},
		{"node", "--openssl-config", "data.json", "evil.py"},
		{"node", "-e", "require('./evil.py')"},
		{"bun", "run", "--env-file", "data.json", "evil.py"},
		{"deno", "run", "--cert", "data.json", "evil.py"},
		{"sh", "-c", "./evil.py"},
		{"bash", "-lc", "./evil.py"},
		{"bash", "-ec", "./evil.py", "data.json"},
		{"perl", "-revil.py", "-ne", "do './evil.py'"},
		{"env", "python3", "evil.py"},
		{"env", "-S", "python3 evil.py"},
		{"nice", "-n", "5", "./evil.py"},
		{"timeout", "100", "python3", "evil.py"},
		{"setsid", "sh", "evil.py"},
		{"xargs", "-a", "data.json", "sh", "evil.py"},
		{"make", "-f", "data.json"},
		{"awk", "-f", "evil.py"},
		{"lua", "evil.py"},
		{"busybox", "sh", "evil.py"},
		{"node", "-r", "data.json", "later.js"}, // which is not there yet
		{"node", "--unknown", "data.json", "later.js"},
		{"python3", "-W", "ignore", "-x", "later.py", "data.json"},
		{"java", "-javaagent:evil.py", "-jar", "data.json"},
	} {
		t.Run(strings.Join(argv, " "), func(t *testing.T) {
			if pinned, err := pinnedOf(t, argv); err == nil && !strings.Contains(pinned, "/evil.py\n") {
				t.Errorf("what runs is not pinned:\n%s", pinned)
			}
		})
	}
}

// A link in an installed package that leads out of it would run what nobody approved.
func TestAttackALinkInAPackage(t *testing.T) {
	for target, ok := range map[string]bool{"real.js": true, "../package.json": true, "../../x": false, "/etc/passwd": false, "a/../../../x": false} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "node_modules"), 0o700); err != nil {
			t.Fatal(err)
		}
		relink(t, target, filepath.Join(dir, "node_modules", "link"))
		if err := mcpclient.ReadPackage(dir); (err == nil) != ok {
			t.Errorf("a link to %s: %v", target, err)
		}
	}
}

// Removing a server leaves the packages of another whose name begins the same.
func TestRemovePackages(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a-0123456789abcdef", "a-b-0123456789abcdef", "ab-0123456789abcdef"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "*", "missing"} {
		if err := mcpclient.RemovePackages(dir, name); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 || left[0].Name() != "a-b-0123456789abcdef" {
		t.Errorf("left: %v, %v", left, err)
	}
}
