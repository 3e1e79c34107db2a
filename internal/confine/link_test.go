package confine_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tongs-ai/tongs/workspace/journal"
)

// A link to a program of the system is kept like a file. Links to anything else outside ask, whatever they lead through.
func TestLinksOutOfTheWorkspace(t *testing.T) {
	b, _ := freely(t, journal.Options{})
	b.say = false
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	home, _ := os.UserHomeDir()
	mine := filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(mine, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		to   string
		free bool
	}{
		{sh, true},
		{home, false},
		{home + "/.bashrc", false},
		{mine, false},
		{"/etc/shadow", false},
		{"/etc/passwd", false},
		{"/proc/self/root", false},
		{"/tmp/x", false},
		{"/usr/bin", false},
		{"/usr/bin/not-there-yet", false},
		{"/usr/bin/../../etc/shadow", false},
		{"../../../../../../../../usr/bin/env", false},
		{b.dir + "/a.txt", false},
	} {
		b.asked = nil
		name := fmt.Sprintf("l%d", i)
		_, res := b.run(t, fmt.Sprintf(`{"script":%q,"copy":true}`, fmt.Sprintf("ln -s '%s' %s", c.to, name)))
		_, err := os.Lstat(filepath.Join(b.dir, name))
		if kept := err == nil; kept != c.free || len(b.asked) == 0 != c.free {
			t.Errorf("%s: kept %t, asked %d times: %s", c.to, kept, len(b.asked), res.Content)
		}
	}
}

// The link of a Python environment to its Python is kept wherever that Python is, if programs see it. Nothing else is by its name.
func TestLinksOfPythonEnvironments(t *testing.T) {
	b, _ := freely(t, journal.Options{})
	b.say = false
	b.write(t, "old/pyvenv.cfg", "home = /usr/bin")
	mine := filepath.Join(t.TempDir(), "python3")
	if err := os.WriteFile(mine, []byte("#!/bin/sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		script string
		free   bool
	}{
		{"python3 -m venv --without-pip v", true},
		{`mkdir -p old/bin; ln -s "$(python3 -c 'import sys; print(sys.executable)')" old/bin/python3.11`, true},
		{"mkdir -p w/bin; touch w/pyvenv.cfg; ln -s " + mine + " w/bin/python3", false},
		{"mkdir -p w/bin; touch w/pyvenv.cfg; ln -s " + filepath.Dir(mine) + " w/bin/python3", false},
		{"mkdir -p w/bin; touch w/pyvenv.cfg; ln -s /etc/shadow w/bin/python3", false},
	} {
		b.asked = nil
		_, res := b.run(t, fmt.Sprintf(`{"script":%q,"copy":true}`, c.script))
		if asked := len(b.asked) > 0; asked == c.free {
			t.Errorf("%s: asked %t: %s", c.script, asked, res.Content)
		}
	}
}
