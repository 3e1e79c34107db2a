package sandbox

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMadeFilesAreThoseOfTheTree(t *testing.T) {
	want := slices.Sorted(maps.Keys(etcFiles(1, 1, "")))
	if got := slices.Sorted(slices.Values(made)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What is told to be shown is what a program sees, nothing of the home and no secret of the machine is, and what is told to be
// private is empty.
func TestShownIsWhatAProgramSees(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	opt := PresetOptions{Home: home}
	shown := Shown(opt)
	for _, hidden := range []string{"/", "/root", "/home", "/etc", "/etc/shadow", "/var", "/run", "/sys", "/proc", home, "/tmp"} {
		if slices.ContainsFunc(shown, func(dir string) bool { return dir == hidden || strings.HasPrefix(hidden, dir+"/") }) {
			t.Errorf("%s counts as shown", hidden)
		}
	}
	pol := Default(work, opt)
	pol.Writable = append(pol.Writable, Private(work))
	pol.Dir = work
	var script strings.Builder
	for _, dir := range shown {
		if _, err := os.Stat(dir); err == nil {
			script.WriteString("ls -d '" + dir + "' >/dev/null || echo lacks " + dir + "\n")
		}
	}
	canary := filepath.Join(os.TempDir(), "tongs-canary-"+filepath.Base(work))
	if err := os.WriteFile(canary, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(canary)
	for _, dir := range Scratch() {
		script.WriteString("ls '" + dir + "' | grep -q canary && echo not private: " + dir + "\n")
	}
	runner, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	var out strings.Builder
	if _, err := runner.Run(t.Context(), &Cmd{Argv: []string{"/bin/sh", "-c", script.String()}, Policy: pol, Stdout: &out, Stderr: &out}); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 0 {
		t.Error(out.String())
	}
}
