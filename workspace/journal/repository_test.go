package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/gitrepo"
)

// refSite is a git directory in which an entry moved main, made new and deleted gone, which was packed.
func refSite(t *testing.T) (s *site, e *Entry, one, two string) {
	t.Helper()
	one, two = strings.Repeat("1", 40), strings.Repeat("2", 40)
	s = newSite(t, map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/objects/11/" + one[2:]: "an object", ".git/objects/22/" + two[2:]: "another",
		".git/refs/heads/main": one + "\n", ".git/packed-refs": one + " refs/heads/gone\n", ".git/logs/HEAD": "old\n",
	})
	head := s.head()
	head.Repositories = []Repository{{Dir: in_(".git"), Does: []string{"move main"}, Refs: []gitrepo.RefChange{
		{Name: "refs/heads/gone", Old: one}, {Name: "refs/heads/main", Old: one, New: two}, {Name: "refs/heads/new", New: two},
	}}}
	x, err := s.j.Begin(t.Context(), head)
	must(t, err)
	must(t, x.File(in_(".git/refs/heads/main"), State{Mode: 0o644}, strings.NewReader(two+"\n")))
	must(t, x.File(in_(".git/refs/heads/new"), State{Mode: 0o644}, strings.NewReader(two+"\n")))
	must(t, x.File(in_(".git/packed-refs"), State{Mode: 0o644}, strings.NewReader("")))
	must(t, x.File(in_(".git/logs/HEAD"), State{Mode: 0o644}, strings.NewReader("old\nnew\n")))
	return s, s.commit(x), one, two
}

// values are the refs of a site.
func values(t *testing.T, s *site) map[string]string {
	t.Helper()
	refs, err := gitrepo.Refs(os.DirFS(filepath.Join(s.dir, ".git")))
	must(t, err)
	return refs
}

func TestRefsAreTakenBackByValue(t *testing.T) {
	s, e, one, two := refSite(t)
	// Somebody packs all refs, which changes every file that the entry wrote.
	must(t, os.WriteFile(filepath.Join(s.dir, ".git/packed-refs"), []byte("# pack-refs with: peeled \n"+two+" refs/heads/main\n"+two+" refs/heads/new\n"+one+" refs/heads/other\n"), 0o644))
	must(t, os.Remove(filepath.Join(s.dir, ".git/refs/heads/main")))
	must(t, os.Remove(filepath.Join(s.dir, ".git/refs/heads/new")))
	undone := s.undo(*e)
	got := values(t, s)
	if len(got) != 3 || got["refs/heads/main"] != one || got["refs/heads/gone"] != one || got["refs/heads/other"] != one {
		t.Errorf("undone: %v", got)
	}
	s.undo(*undone)
	got = values(t, s)
	if len(got) != 3 || got["refs/heads/main"] != two || got["refs/heads/new"] != two || got["refs/heads/other"] != one {
		t.Errorf("redone: %v", got)
	}
}

// A ref that somebody moved since is not moved back, and nothing else is.
func TestAttackRefsThatMovedSince(t *testing.T) {
	for name, change := range map[string]func(s *site, one, two string){
		"moved": func(s *site, _, _ string) {
			must(t, os.WriteFile(filepath.Join(s.dir, ".git/refs/heads/main"), []byte(strings.Repeat("3", 40)+"\n"), 0o644))
		},
		"deleted": func(s *site, _, _ string) { must(t, os.Remove(filepath.Join(s.dir, ".git/refs/heads/new"))) },
		"made again": func(s *site, _, two string) {
			must(t, os.WriteFile(filepath.Join(s.dir, ".git/refs/heads/gone"), []byte(two+"\n"), 0o644))
		},
		"pruned": func(s *site, one, _ string) { must(t, os.Remove(filepath.Join(s.dir, ".git/objects/11", one[2:]))) },
		"locked": func(s *site, _, _ string) { must(t, os.WriteFile(filepath.Join(s.dir, ".git/index.lock"), nil, 0o644)) },
		"ref locked": func(s *site, _, _ string) {
			must(t, os.WriteFile(filepath.Join(s.dir, ".git/refs/heads/main.lock"), nil, 0o644))
		},
		"worktree locked": func(s *site, _, _ string) {
			must(t, os.MkdirAll(filepath.Join(s.dir, ".git/worktrees/w"), 0o755))
			must(t, os.WriteFile(filepath.Join(s.dir, ".git/worktrees/w/index.lock"), nil, 0o644))
		},
		"checked out": func(s *site, _, _ string) {
			must(t, os.MkdirAll(filepath.Join(s.dir, ".git/worktrees/w"), 0o755))
			must(t, os.WriteFile(filepath.Join(s.dir, ".git/worktrees/w/HEAD"), []byte("ref: refs/heads/new\n"), 0o644))
		},
		"garbage": func(s *site, _, _ string) {
			must(t, os.WriteFile(filepath.Join(s.dir, ".git/packed-refs"), []byte("x"), 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, e, one, two := refSite(t)
			change(s, one, two)
			u, err := s.j.Undo(t.Context(), s.head(), []Entry{*e}, nil)
			if err == nil {
				defer u.Close()
				if len(u.Conflicts) == 0 {
					t.Error("it is taken back")
				}
			}
		})
	}
}

// A reflog that grew since is left alone, and nothing is refused for it.
func TestReflogsThatGrew(t *testing.T) {
	s, e, one, _ := refSite(t)
	must(t, os.WriteFile(filepath.Join(s.dir, ".git/logs/HEAD"), []byte("old\nnew\nnewer\n"), 0o644))
	s.undo(*e)
	if got := values(t, s)["refs/heads/main"]; got != one {
		t.Errorf("main is %s", got)
	}
	s.has(".git/logs/HEAD", "old\nnew\nnewer\n")
}

// A branch that an entry made beside the one that was checked out stays once somebody checked it out.
func TestAttackBranchCheckedOutSince(t *testing.T) {
	id := strings.Repeat("1", 40)
	s := newSite(t, map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/objects/11/" + id[2:]: "an object", ".git/refs/heads/main": id + "\n",
	})
	head := s.head()
	head.Repositories = []Repository{{Dir: in_(".git"), Refs: []gitrepo.RefChange{{Name: "refs/heads/new", New: id}}}}
	x, err := s.j.Begin(t.Context(), head)
	must(t, err)
	must(t, x.File(in_(".git/refs/heads/new"), State{Mode: 0o644}, strings.NewReader(id+"\n")))
	e := s.commit(x)
	must(t, os.WriteFile(filepath.Join(s.dir, ".git/HEAD"), []byte("ref: refs/heads/new\n"), 0o644))
	u, err := s.j.Undo(t.Context(), s.head(), []Entry{*e}, nil)
	must(t, err)
	if len(u.Conflicts) != 1 || !strings.Contains(u.Conflicts[0].Why, "checked out") {
		t.Errorf("conflicts %+v", u.Conflicts)
	}
	u.Close()
	must(t, os.WriteFile(filepath.Join(s.dir, ".git/HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
	s.undo(*e)
	if got := values(t, s); len(got) != 1 {
		t.Errorf("undone: %v", got)
	}
}
