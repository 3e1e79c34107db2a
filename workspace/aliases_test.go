//go:build linux || darwin

package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// What a link with a protected name leads to goes by that name, too, and so does the way there.
func TestWhatProtectedLinksLeadToIsProtected(t *testing.T) {
	for _, c := range []struct {
		name                string
		files               map[string]string
		asked, steers, free string
	}{
		{"a file", map[string]string{".envrc": "-> cfg/envrc", "cfg/envrc": "x", "cfg/other": "x"}, "cfg/envrc cfg CFG/Envrc", "", "cfg/other cfg2 envrc"},
		{"a directory", map[string]string{".vscode": "-> cfg/vs", "cfg/vs/tasks.json": "x"}, "cfg/vs/tasks.json cfg/vs/new cfg/vs cfg", "", "cfg/x"},
		{"nothing yet", map[string]string{".envrc": "-> cfg/envrc"}, "cfg/envrc cfg", "", "cfg/other"},
		{"instructions", map[string]string{"AGENTS.md": "-> docs/guide.txt", "docs/guide.txt": "x"}, "docs", "docs/guide.txt", "docs/x.md"},
		{"a chain", map[string]string{".envrc": "-> a", "a": "-> b/c", "b/c": "x"}, "a b/c b", "", "b/d"},
		{"a link on the way", map[string]string{".envrc": "-> cfg/envrc", "cfg": "-> conf/real", "conf/real/envrc": "x"}, "cfg conf/real/envrc conf/real conf", "", "conf/real/x conf/x"},
		{"a link in a protected directory", map[string]string{".vscode/tasks.json": "-> ../cfg/t.json", "cfg/t.json": "x"}, "cfg/t.json", "", "cfg/u.json"},
		{"a link in a directory that one leads to", map[string]string{".vscode": "-> cfg", "cfg/tasks.json": "-> ../t/x.json", "t/x.json": "x"}, "t/x.json t", "", "t/y.json"},
		{"the beginning of a longer name", map[string]string{".github": "-> ci", "ci/workflows/a.yml": "x"}, "ci/workflows/a.yml ci/workflows/new ci", "", "ci/README.md"},
		{"a link to itself", map[string]string{".envrc": "-> .envrc", "x": "x"}, "", "", "x"},
		{"a circle", map[string]string{".vscode": "-> cfg", "cfg/self": "-> ../cfg", "cfg/a": "x"}, "cfg/a", "", "b"},
		{"deep in the tree", map[string]string{"a/b/.envrc": "-> ../../cfg/x", "cfg/x": "x"}, "cfg/x", "", "a/b/x"},
		{"a plain link", map[string]string{"notes": "-> cfg/x", "cfg/x": "x"}, "", "", "cfg/x cfg"},
		{"a secret", map[string]string{".env": "-> cfg/dev", "cfg/dev": "x"}, "cfg/dev", "", "cfg/prod"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t, c.files)
			for rel := range strings.FieldsSeq(c.asked) {
				if _, ok := w.Protected(in(rel)); !ok || w.Steers(in(rel)) {
					t.Errorf("%s is not protected", rel)
				}
			}
			for rel := range strings.FieldsSeq(c.steers) {
				why, ok := w.Protected(in(rel))
				if !ok || !w.Steers(in(rel)) || !strings.Contains(why, "AGENTS.md is a link to it") {
					t.Errorf("%s: %q, %t", rel, why, ok)
				}
			}
			for rel := range strings.FieldsSeq(c.free) {
				if why, ok := w.Protected(in(rel)); ok {
					t.Errorf("%s is protected: %s", rel, why)
				}
			}
		})
	}
}

// A link counts from the moment it is there, and no longer than that.
func TestLinksThatComeAndGo(t *testing.T) {
	w := newWorkspace(t, map[string]string{"cfg/x": "x", "cfg/y": "x", "a/b/c/d": "x", "node_modules/p/x": "x"})
	asked := func(rel string) bool { _, ok := w.Protected(in(rel)); return ok }
	rested := func() { w.survey.forget() }
	if asked("cfg/x") {
		t.Fatal("protected without a link")
	}
	link := filepath.Join(w.Dir(), "a/b/c/.envrc")
	must(t, os.Symlink("../../../cfg/x", link))
	rested()
	if !asked("cfg/x") || asked("cfg/y") {
		t.Error("a link that was just made does not count")
	}
	must(t, os.Remove(link))
	must(t, os.Symlink("../../../cfg/y", link))
	rested()
	if asked("cfg/x") || !asked("cfg/y") {
		t.Error("a link that was exchanged counts as it was")
	}
	must(t, os.Rename(filepath.Join(w.Dir(), "a/b"), filepath.Join(w.Dir(), "b")))
	rested()
	if asked("cfg/y") {
		t.Error("a link that leads elsewhere from where it was moved counts as before")
	}
	// In a directory of packages no links are looked for, but one that a path goes through counts.
	must(t, os.Symlink("../cfg/x", filepath.Join(w.Dir(), "node_modules/.env")))
	p, err := w.Resolve(in("."), "node_modules/.env")
	if _, secret := w.Secret(p); err != nil || p != in("cfg/x") || !secret {
		t.Errorf("%v, %v: a secret is %t", p, err, secret)
	}
}

// A secret is one by whatever name it is read.
func TestReadingWhatASecretLinkLeadsTo(t *testing.T) {
	w := newWorkspace(t, map[string]string{".env": "-> cfg/dev", "cfg/dev": "TOKEN", "cfg/other": "x", ".cargo": "-> cloud", "cloud/credentials.toml": "x", "cloud/notes": "x"})
	for rel, want := range map[string]bool{"cfg/dev": true, "cfg/other": false, "cfg": false, "cloud/credentials.toml": true, "cloud/notes": false} {
		effects, err := w.Check([]tongs.Effect{reading(in(rel))})
		if err != nil || effects[0].MustAsk != want {
			t.Errorf("%s: %+v, %v", rel, effects, err)
		}
	}
	files, _ := decide(t, w, reading(in(".")))
	if _, err := files.Open(in("cfg/dev")); err == nil {
		t.Error("it can be read as a part of its directory")
	}
	tree, err := files.(tongs.Trees).Tree(in("."))
	must(t, err)
	for rel, want := range map[string]bool{".env": true, "cfg/dev": true, "cfg/other": false, "cloud/credentials.toml": true, "cloud/notes": false} {
		if tree.Skip(rel, false) != want {
			t.Errorf("a search skips %s: %t", rel, !want)
		}
	}
	before := tree.Scope
	must(t, os.Symlink("cfg/other", filepath.Join(w.Dir(), ".env.local")))
	w.survey.forget()
	if tree, err = files.(tongs.Trees).Tree(in(".")); err != nil || tree.Scope == before || !tree.Skip("cfg/other", false) {
		t.Errorf("a search goes by the links that were there before: %v", err)
	}
}

// What programs must not change or see are the very places, with the rest of a longer name.
func TestLinkedNames(t *testing.T) {
	w := newWorkspace(t, map[string]string{
		".envrc": "-> a", "a": "-> cfg/envrc", ".env": "-> cfg/dev", ".github": "-> ci", "ci/Workflows/x.yml": "x", "x": "-> y",
		".git": "-> real", "real/HEAD": "x",
	})
	hide, protect := w.LinkedNames()
	at := func(names ...string) (paths []string) {
		for _, n := range names {
			paths = append(paths, filepath.Join(w.Dir(), n))
		}
		return paths
	}
	if !slices.Equal(hide, at("cfg/dev")) {
		t.Errorf("hidden: %v", hide)
	}
	for _, p := range at("a", "cfg/envrc", "ci/Workflows") {
		if !slices.Contains(protect, p) {
			t.Errorf("%s is not among %v", p, protect)
		}
	}
	for _, p := range at("ci", "real", "y", "cfg") {
		if slices.Contains(protect, p) {
			t.Errorf("%s is among %v", p, protect)
		}
	}
}

// Links in the home of the user count: the configuration of programs is often kept in a repository.
func TestLinksInHome(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	w := newWorkspace(t, map[string]string{"bash/rc": "x", "ssh/config": "x", "fish/config.fish": "x", "other": "x", "notes": "x"})
	must(t, os.Mkdir(filepath.Join(home, ".config"), 0o755))
	for link, to := range map[string]string{".bashrc": "bash/rc", ".ssh": "ssh", ".config/fish": "fish", "notes": "notes", ".config/notes": "notes"} {
		must(t, os.Symlink(filepath.Join(w.Dir(), to), filepath.Join(home, link)))
	}
	for rel, want := range map[string]bool{
		"bash/rc": true, "bash": true, "ssh/config": true, "ssh/new": true, "fish/config.fish": true, "other": false, "notes": false, "bash/other": false,
	} {
		if why, got := w.Protected(in(rel)); got != want {
			t.Errorf("%s: %t %s", rel, got, why)
		}
	}
	if _, secret := w.Secret(in("ssh/config")); !secret {
		t.Error("what is in .ssh is no secret")
	}
	must(t, os.Remove(filepath.Join(home, ".bashrc")))
	w.survey.forget()
	if why, ok := w.Protected(in("bash/rc")); ok {
		t.Errorf("a link that is gone counts: %s", why)
	}
}

// So do those in a directory of the home that is a link itself.
func TestLinksInALinkedHome(t *testing.T) {
	top := t.TempDir()
	t.Setenv("HOME", filepath.Join(top, "home"))
	w := newWorkspace(t, map[string]string{"bash/rc": "x", "fish/config.fish": "x"})
	must(t, os.MkdirAll(filepath.Join(top, "real", "dotfiles"), 0o755))
	for link, to := range map[string]string{
		"home": "real", "real/.config": "dotfiles", "real/dotfiles/fish": filepath.Join(w.Dir(), "fish"), "real/.bashrc": filepath.Join(w.Dir(), "bash/rc"),
	} {
		must(t, os.Symlink(to, filepath.Join(top, link)))
	}
	for _, rel := range []string{"bash/rc", "fish/config.fish"} {
		if _, ok := w.Protected(in(rel)); !ok {
			t.Errorf("%s is not protected", rel)
		}
	}
}
