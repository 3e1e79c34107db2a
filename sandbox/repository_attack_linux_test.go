package sandbox

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

// gitAttack is an attempt of a program in a sandbox to have git run something later, when a person uses it outside.
type gitAttack struct {
	name string
	// before is what the person did, attack what the program does, with $EVIL as the text of a program, and use what the
	// person does then. Where the attack comes in two runs, they are separated by a line of dashes.
	before, attack, use string
}

// plant is a shell function that makes a program at a path.
const plant = `plant() { mkdir -p "$(dirname "$1")"; printf '%s\n' "$EVIL" > "$1"; chmod 755 "$1"; }; `

// submodule makes the git directory of a submodule, as deep as its name says, and a directory that leads to it.
const submodule = `sub() { git init -q --template= "$2"; mkdir -p "$(dirname ".git/modules/$1")"; mv "$2/.git" ".git/modules/$1"; echo "gitdir: $PWD/.git/modules/$1" > "$2/.git"; git -C "$2" config core.worktree "$PWD/$2"; }; `

var gitAttacks = []gitAttack{
	{"hooksPath", `git config core.hooksPath .githooks`, `plant .githooks/post-commit`, `git commit -q --allow-empty -m x`},
	{"hooksPath by another name", `git config core.hooksPath tools/hooks/`, `plant tools/hooks/post-commit`, `git commit -q --allow-empty -m x`},
	{"hooksPath that exists", `git config core.hooksPath ./scripts; mkdir scripts; echo > scripts/README`, `plant scripts/post-commit; mv scripts old; plant scripts/post-commit`, `git commit -q --allow-empty -m x`},
	{"hooksPath, absolute", `git config core.hooksPath "$PWD/my hooks"`, `plant "my hooks/post-commit"`, `git commit -q --allow-empty -m x`},
	{"hooksPath of the user", `git config --global core.hooksPath shared`, `plant shared/post-commit`, `git commit -q --allow-empty -m x`},
	{"hooksPath that is the top", `git config core.hooksPath "$PWD"`, `plant post-commit`, `git commit -q --allow-empty -m x`},
	{"hooksPath through a link", `mkdir real; ln -s real hk; git config core.hooksPath hk`, `plant real/post-commit`, `git commit -q --allow-empty -m x`},
	{"hooksPath, its link", `mkdir real other; ln -s real hk; git config core.hooksPath hk`, `plant other/post-commit; rm hk; ln -s other hk`, `git commit -q --allow-empty -m x`},
	{"hooksPath in another case of the key", `printf '[CORE]\n\tHOOKSPATH = "x y"z # c\n' >> .git/config`, `plant "x yz/post-commit"`, `git commit -q --allow-empty -m x`},
	{"hooksPath in an included file", `git config include.path ../team.cfg; printf '[core]\nhooksPath = inc\n' > team.cfg`, `plant inc/post-commit`, `git commit -q --allow-empty -m x`},
	{"hooksPath, conditional", `git config "includeIf.gitdir:$PWD/.path" ../team.cfg; printf '[core]\nhooksPath = inc\n' > team.cfg`, `plant inc/post-commit`, `git commit -q --allow-empty -m x`},
	{"an included file", `git config include.path ../team.cfg`, `plant run.sh; printf '[core]\nfsmonitor = ./run.sh\n' > team.cfg`, `git status`},
	{"fsmonitor with arguments", `git config core.fsmonitor './tools/mon.sh --x'`, `plant tools/mon.sh`, `git status`},
	{"fsmonitor by an interpreter", `git config core.fsmonitor 'sh mon'`, `plant mon`, `git status`},
	{"fsmonitor behind a quote", `git config core.fsmonitor '"./my tools/mon.sh"'`, `plant "my tools/mon.sh"`, `git status`},
	{"fsmonitor where a directory is", `git config core.fsmonitor ./mon; mkdir mon; echo > mon/x`, `rm -r mon; plant mon`, `git status`},
	{"fsmonitor from the top", `git config alias.st '!"$(git rev-parse --show-toplevel)/t/st.sh"'`, `plant t/st.sh`, `git st`},
	{"an alias", `git config --global alias.deploy '!cd ops && ./deploy.sh'`, `plant ops/deploy.sh`, `git deploy`},
	{"a filter", `git config filter.x.clean 'python3 tools/../f.sh'; echo '* filter=x' > .gitattributes; git config filter.x.clean 'sh tools/f.sh %f'`, `plant tools/f.sh`, `echo 1 > a; git add a`},
	{"a diff command", `git config diff.x.command ./d.sh; echo '* diff=x' > .gitattributes; echo 1 > a; git add .; git commit -qm x`, `plant d.sh; echo 2 > a`, `git diff`},
	{"a text conversion", `git config --global diff.x.textconv ./d.sh; echo '* diff=x' > .gitattributes; echo 1 > a; git add .; git commit -qm x`, `plant d.sh; echo 2 > a`, `git diff`},
	{"attributes of the repository", `git config filter.x.clean "$HELPER"; git config core.attributesFile attrs`, `echo '* filter=x' > attrs`, `echo 1 > a; git add a`},
	{"attributes of the repository's own", `git config filter.x.clean "$HELPER"`, `mkdir -p .git/info; echo '* filter=x' > .git/info/attributes`, `echo 1 > a; git add a`},
	{"a credential helper", `git config credential.helper '!f() { ./c.sh; }; f'`, `plant c.sh`, `printf 'protocol=https\nhost=x\n\n' | GIT_TERMINAL_PROMPT=0 git credential fill`},
	{"a program for signatures", `git config gpg.program bin/gpg`, `plant bin/gpg`, `git commit -q --allow-empty -S -m x`},
	{"an editor", `git config core.editor ./ed`, `plant ed`, `git commit --allow-empty`},
	{"a template", `git config --global init.templateDir "$PWD/tpl"`, `plant tpl/hooks/post-commit`, `git init -q new; git -C new commit -q --allow-empty -m x`},
	{"an environment", `true`, `plant envdiff.sh; echo 2 > README`, `GIT_EXTERNAL_DIFF=./envdiff.sh git diff`},
	{"a repository in the workspace", `git init -q --template= in; git -C in config core.hooksPath ../shared`, `plant shared/post-commit`, `git -C in commit -q --allow-empty -m x`},

	{"a deep submodule's hooks", submodule + `sub vendor/a/b/c/d deep`, `plant .git/modules/vendor/a/b/c/d/hooks/post-commit`, `git -C deep commit -q --allow-empty -m x`},
	{"a deep submodule's configuration", submodule + `sub a/b/c/d/e/f/g deep`, `plant run.sh; git -C deep config core.fsmonitor "$PWD/run.sh"`, `git -C deep status`},
	{"a submodule of a submodule", submodule + `sub a/modules/b/modules/c/modules/d/modules/e deep`, `plant .git/modules/a/modules/b/modules/c/modules/d/modules/e/hooks/post-commit`, `git -C deep commit -q --allow-empty -m x`},
	{"a submodule inside another's directory", submodule + `sub a one; sub a/x/y two`, `plant .git/modules/a/x/y/hooks/post-commit`, `git -C two commit -q --allow-empty -m x`},
	{"a submodule's configured hooks", submodule + `sub a/b/c/d/e deep; git -C deep config core.hooksPath ../hk`, `plant hk/post-commit`, `git -C deep commit -q --allow-empty -m x`},
	{"a git directory with another name", `git init -q --template= --separate-git-dir "$PWD/store/x" wt`, `plant store/x/hooks/post-commit`, `git -C wt commit -q --allow-empty -m x`},
	{"a worktree's configuration", `git commit -q --allow-empty -m x; git config extensions.worktreeConfig true; git worktree add -q wt`, `plant run.sh; printf '[core]\nfsmonitor = ../run.sh\n' > .git/worktrees/wt/config.worktree`, `git -C wt status`},
	{"a worktree's common directory", `git commit -q --allow-empty -m x; git worktree add -q wt`, `cp -r .git fake; plant run.sh; printf '[core]\nfsmonitor = %s\n' "$PWD/run.sh" >> fake/config; echo "$PWD/fake" > .git/worktrees/wt/commondir`, `git -C wt status`},
	{"a worktree of a submodule", submodule + `sub a/b/c/d deep; git -C deep commit -q --allow-empty -m x; git -C deep config extensions.worktreeConfig true; git -C deep worktree add -q "$PWD/wt"`, `plant run.sh; for d in .git/modules/a/b/c/d/worktrees/*; do printf '[core]\nfsmonitor = %s\n' "$PWD/run.sh" > $d/config.worktree; done`, `git -C wt status`},
	{"a new worktree", `git commit -q --allow-empty -m x`, `plant run.sh; git worktree add -q wt; cp -r .git fake; printf '[core]\nfsmonitor = %s\n' "$PWD/run.sh" >> fake/config; echo "$PWD/fake" > .git/worktrees/wt/commondir`, `git -C wt status`},
	{"a rebase that goes on", `git commit -q --allow-empty -m x`, `id=$(git rev-parse HEAD); mkdir .git/rebase-merge; cd .git/rebase-merge; echo refs/heads/main > head-name; echo $id > onto; echo $id > orig-head; echo "exec sh -c '$HELPER'" > git-rebase-todo; : > done; echo 1 > msgnum; echo 1 > end; : > interactive`, `git rebase --continue`},
	{"a rebase that is going on", `echo a > a; git add a; git commit -qm a; GIT_SEQUENCE_EDITOR='echo break >' git rebase -i HEAD~1`, `echo "exec sh -c '$HELPER'" >> .git/rebase-merge/git-rebase-todo`, `git rebase --continue`},
	{"a strategy of a rebase", `git checkout -qb f; echo 2 > b; git add b; git commit -qm b; git checkout -q main; echo 3 > c; git add c; git commit -qm c; echo plain > .git/x`, `plant x; mkdir git-merge-..; id=$(git rev-parse HEAD); f=$(git rev-parse f); mkdir .git/rebase-merge; cd .git/rebase-merge; echo refs/heads/main > head-name; echo $id > onto; echo $id > orig-head; echo "pick $f b" > git-rebase-todo; : > done; echo 1 > msgnum; echo 1 > end; : > interactive; echo ../../x > strategy`, `git rebase --continue`},
	{"a strategy of a cherry-pick", `git checkout -qb f; echo 2 > b; git add b; git commit -qm b; git checkout -q main; echo 3 > c; git add c; git commit -qm c`, `plant x; mkdir git-merge-..; mkdir .git/sequencer; cd .git/sequencer; git rev-parse main > head; echo "pick $(git rev-parse f) b" > todo; git rev-parse HEAD > abort-safety; printf '[options]\n\tstrategy = ../../x\n' > opts`, `git cherry-pick --skip; git cherry-pick --continue`},
	{"a remote of its own", `git init -q --bare --template= ../out.git 2>/dev/null; true`, `mkdir -p .git/remotes up.git; git init -q --bare --template= up.git; plant up.git/hooks/post-receive; printf 'URL: %s\n' "$PWD/up.git" > .git/remotes/up`, `git push up HEAD:refs/heads/main`},
	{"a directory that cannot be listed", `true`, `git init -q --template= x; plant x/.git/hooks/post-commit; chmod 0311 x x/.git x/.git/hooks`, `git -C x commit -q --allow-empty -m x`},
	{"a git directory that cannot be listed", submodule + `sub a/b one`, `plant .git/modules/a/b/hooks/post-commit; chmod 0311 .git/modules/a .git/modules`, `git -C one commit -q --allow-empty -m x`},
	{"one that could not be listed before", `mkdir x; git init -q --template= x; chmod 0311 x x/.git`, `plant x/.git/hooks/post-commit`, `git -C x commit -q --allow-empty -m x`},
	{"one that is opened in another run", `true`, "git init -q --template= x; plant x/.git/hooks/post-commit; chmod 0311 x x/.git\n----\nchmod 755 x x/.git", `git -C x commit -q --allow-empty -m x`},

	{"a submodule that looks like objects", submodule + `sub objects/x node_modules/one`, "mkdir .git/modules/refs; echo > .git/modules/HEAD\n----\nplant .git/modules/objects/x/hooks/post-commit", `git -C node_modules/one commit -q --allow-empty -m x`},
	{"a submodule that looks like objects of .git", submodule + `sub .git/objects/x node_modules/one`, "mkdir .git/modules/.git/refs; echo > .git/modules/.git/HEAD\n----\nplant .git/modules/.git/objects/x/hooks/post-commit", `git -C node_modules/one commit -q --allow-empty -m x`},
	{"another directory in the place of modules", submodule + `sub a/b node_modules/one`, `mv .git/modules .git/m; cp -r .git/m .git/modules; plant .git/modules/a/b/hooks/post-commit`, `git -C node_modules/one commit -q --allow-empty -m x`},
	{"another configuration in the place of a submodule's", submodule + `sub a/b node_modules/one`, `mv .git/modules/a .git/m; cp -r .git/m .git/modules/a; plant run.sh; printf '[core]\nfsmonitor = %s\n' "$PWD/run.sh" >> .git/modules/a/b/config`, `git -C node_modules/one status`},
	{"another directory in the place of .git", `true`, `mv .git g; cp -r g .git; plant .git/hooks/post-commit; plant run.sh; printf '[core]\nfsmonitor = %s\n' "$PWD/run.sh" >> .git/config`, `git status; git commit -q --allow-empty -m x`},
	{"a link in the place of worktrees", `git worktree add -q node_modules/wt`, `cp -r .git/worktrees node_modules/w; cp -r .git node_modules/fake; plant node_modules/fake/hooks/post-commit; echo "$PWD/node_modules/fake" > node_modules/w/wt/commondir; mv .git/worktrees .git/old; ln -s ../node_modules/w .git/worktrees`, `git -C node_modules/wt commit -q --allow-empty -m x`},
	{"a link in the place of modules", submodule + `sub a/b node_modules/one`, `cp -r .git/modules node_modules/m; mv .git/modules .git/old; ln -s ../node_modules/m .git/modules; plant node_modules/m/a/b/hooks/post-commit`, `git -C node_modules/one commit -q --allow-empty -m x`},
	{"a submodule with the name of a package, of a repository by another name", submodule + `sub node_modules/x node_modules/one; mv .git .bare; echo 'gitdir: ./.bare' > .git; echo "gitdir: $PWD/.bare/modules/node_modules/x" > node_modules/one/.git`, `plant .bare/modules/node_modules/x/hooks/post-commit`, `git -C node_modules/one commit -q --allow-empty -m x`},
	{"a link to a .git file", `mkdir st; mv .git st/real.git; echo "gitdir: $PWD/st/real.git" > dotgit; ln -s dotgit .git`, `cp -r st/real.git node_modules; plant node_modules/hooks/post-commit; echo "gitdir: $PWD/node_modules" > dotgit`, `git commit -q --allow-empty -m x`},
	{"a .git file through a link", `mkdir st; mv .git st/real.git; ln -s st lnk; echo "gitdir: lnk/real.git" > .git`, `mkdir node_modules; cp -r st/real.git node_modules; plant node_modules/real.git/hooks/post-commit; rm lnk; ln -s node_modules lnk`, `git commit -q --allow-empty -m x`},
	{"a link where modules will be", `true`, "ln -s ../node_modules/m .git/modules\n----\nmkdir -p node_modules/m; git init -q --template= node_modules/m/s; plant node_modules/m/s/.git/hooks/post-commit", `mkdir s; echo "gitdir: $PWD/.git/modules/s/.git" > s/.git; git -C s commit -q --allow-empty -m x`},
	{"a link where modules will be, of a repository by another name", `mv .git .bare; echo 'gitdir: ./.bare' > .git`, "ln -s ../node_modules/m .bare/modules; mkdir -p node_modules/m; git init -q --template= node_modules/m/s; plant node_modules/m/s/.git/hooks/post-commit", `mkdir s; echo "gitdir: $PWD/.bare/modules/s/.git" > s/.git; git -C s commit -q --allow-empty -m x`},
	{"hooks that are a link", `mkdir -p scripts/gh; rm -rf .git/hooks; ln -s ../scripts/gh .git/hooks`, `plant scripts/gh/post-commit`, `git commit -q --allow-empty -m x`},
	{"a hook that is a link", `mkdir -p scripts .git/hooks; echo true > scripts/pc; chmod 755 scripts/pc; ln -s ../../scripts/pc .git/hooks/post-commit`, `plant scripts/pc`, `git commit -q --allow-empty -m x`},
	{"a hook that is a link to nothing", `mkdir -p .git/hooks; ln -s ../../scripts/pc .git/hooks/post-commit`, `plant scripts/pc`, `git commit -q --allow-empty -m x`},
	{"a hook of a configured directory that is a link", `mkdir -p scripts hk; echo true > scripts/pc; chmod 755 scripts/pc; ln -s ../scripts/pc hk/post-commit; git config core.hooksPath hk`, `plant scripts/pc`, `git commit -q --allow-empty -m x`},
	{"a configuration that is a link", `mv .git/config cfg; ln -s ../cfg .git/config`, `plant run.sh; printf '[core]\nfsmonitor = ./run.sh\n' >> cfg`, `git status`},
	{"attributes that are a link", `git config filter.x.clean "$HELPER"; mkdir -p .git/info; ln -s ../../attrs .git/info/attributes`, `echo '* filter=x' > attrs`, `echo 1 > a; git add a`},
	{"a common directory that is a link", `git worktree add -q node_modules/wt; mv .git/worktrees/wt/commondir cd; ln -s ../../../cd .git/worktrees/wt/commondir`, `cp -r .git node_modules/fake; plant node_modules/fake/hooks/post-commit; echo "$PWD/node_modules/fake" > cd`, `git -C node_modules/wt commit -q --allow-empty -m x`},
}

// Whatever a program does in a sandbox, once what was reported as planted is taken away, git runs nothing of its making.
func TestGitRunsNothingThatWasPlanted(t *testing.T) {
	for _, a := range gitAttacks {
		for _, overlay := range []bool{false, true} {
			name := a.name
			if overlay {
				name += ", on a copy"
			}
			t.Run(name, func(t *testing.T) { a.try(t, overlay) })
		}
	}
}

func TestGitRunsNothingThatWasPlantedAsUser(t *testing.T) {
	asUser(t, "TestGitRunsNothingThatWasPlanted")
}

func (a *gitAttack) try(t *testing.T, overlay bool) {
	ws, home, layers := place(t), place(t), place(t)
	mark := filepath.Join(home, "RAN")
	evil := "#!/bin/sh\necho ran >> " + mark
	helper := filepath.Join(home, "helper.sh")
	must(t, os.WriteFile(helper, []byte(evil+"\ncat\n"), 0o755))
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_EXTERNAL_DIFF", "")
	if a.name == "an environment" {
		t.Setenv("GIT_EXTERNAL_DIFF", "./envdiff.sh")
	}
	host := func(text string) string {
		cmd := exec.Command("sh", "-c", text)
		cmd.Dir, cmd.Env = ws, []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "HELPER=" + helper, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_EDITOR=",
		}
		cmd.Env = cmd.Env[:len(cmd.Env)-1]
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	host("git init -q -b main --template= .; echo 1 > README; git add README; git commit -qm first")
	said := host("set -e; " + a.before)
	r := runner(t, TierA)
	for text := range strings.SplitSeq(a.attack, "\n----\n") {
		pol := Policy{
			Readable: existing("/usr", "/bin", "/lib", "/lib64"), Writable: []Mount{Decided(ws)}, Dir: ws, Require: Properties(),
			Env: []string{"PATH=/usr/bin:/bin", "EVIL=" + evil, "HELPER=" + helper, "HOME=/tmp"}, ProtectedNames: []string{".git"},
		}
		if overlay {
			pol.Writable, pol.Overlay = []Mount{Layered(ws)}, &Overlay{Dir: layers}
		}
		var out bytes.Buffer
		res, err := r.Run(context.Background(), &Cmd{Argv: []string{"sh", "-c", plant + text}, Policy: pol, Stdout: &out, Stderr: &out})
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		said += out.String()
		if overlay {
			a.keep(t, res, ws)
		}
		for _, p := range res.Report.Planted {
			host("chmod -R u+rwX '" + p + "'")
			must(t, os.RemoveAll(p))
		}
		if overlay {
			must(t, res.Overlay.Close())
		}
	}
	said += host(a.use)
	if _, err := os.Stat(mark); err == nil {
		t.Errorf("git ran what the program made:\n%s", said)
	}
	host("chmod -R u+rwX .")
}

// keep makes what a program did on a copy hold.
func (a *gitAttack) keep(t *testing.T, res *Result, ws string) {
	t.Helper()
	for _, l := range res.Overlay.List {
		if l.Copied {
			t.Fatal("the layer is a copy, which this test does not expect")
		}
		script := `cd "$1" && find . -depth -type c | while read -r f; do rm -rf "$2/$f"; done; find . -mindepth 1 ! -type c | while read -r f; do
if [ -d "$f" ] && [ ! -L "$f" ]; then [ -d "$2/$f" ] && [ ! -L "$2/$f" ] || { rm -rf "$2/$f"; mkdir "$2/$f"; }; else rm -rf "$2/$f"; cp -dp "$f" "$2/$f"; fi; done`
		if out, err := exec.Command("sh", "-c", script, "sh", l.Upper, ws).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// A tree that is too large to be looked through is refused, and a program that makes one so large hides nothing in it.
func TestTreesThatAreTooLarge(t *testing.T) {
	ws := place(t)
	r := runner(t, TierA)
	r.index.limit = 50
	run := func(script string) (*Result, error) {
		return r.Run(context.Background(), &Cmd{Argv: []string{"sh", "-c", script}, Policy: Policy{
			Readable: existing("/usr", "/bin", "/lib", "/lib64"), Writable: []Mount{Decided(ws)}, Dir: ws, Require: Properties(),
			Env: []string{"PATH=/usr/bin:/bin"}, ProtectedNames: []string{".git", ".envrc"},
		}})
	}
	res, err := run(`for i in $(seq 200); do mkdir d$i; done; echo x > d1/.envrc; echo x > d99/.envrc; mkdir -p d200/.git/hooks; echo x > d200/.git/hooks/post-commit`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(ws, "d1/.envrc"), filepath.Join(ws, "d200/.git/hooks"), filepath.Join(ws, "d99/.envrc")}
	if !slices.Equal(res.Report.Planted, want) {
		t.Errorf("planted %q, want %q", res.Report.Planted, want)
	}
	if _, err = run(`true`); tongs.CodeOf(err) != tongs.CodeSandboxUnavailable {
		t.Errorf("a tree that is too large: %v", err)
	}
}
