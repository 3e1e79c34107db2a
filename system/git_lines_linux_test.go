package system_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// gitNames are what operations are about.
type gitNames struct{ *rand.Rand }

func (g gitNames) pick(list ...string) string { return list[g.IntN(len(list))] }
func (g gitNames) n() string                  { return fmt.Sprint(g.IntN(1000)) }
func (g gitNames) tree() string               { return g.pick("wt1", "wt2") }

func (g gitNames) file() string {
	return g.pick("f1", "f2", "f3", "f4", "d/g1", "d/g2", "new1", "new2", "untracked")
}

func (g gitNames) branch() string { return g.pick("main", "side", "b1", "b2", "x/y", "x", "x/y/z") }

func (g gitNames) commit() string {
	return g.pick("HEAD", "HEAD~1", "HEAD~2", "side", "main", "b1", "v0", "HEAD^2", "stash@{0}")
}

// work are operations on files, the index and commits.
func (g gitNames) work() []func() string {
	return []func() string{
		func() string { return "echo " + g.n() + " >> " + g.file() },
		func() string { return "echo " + g.n() + " >> " + g.file() },
		func() string { return "echo " + g.n() + " > " + g.file() },
		func() string { return "rm -f " + g.file() },
		func() string { return "git add -A" },
		func() string { return "git add " + g.file() },
		func() string { return "git add -N " + g.file() },
		func() string { return "git commit -q -m 'commit " + g.n() + "'" },
		func() string { return "git commit -q -a -m 'commit " + g.n() + "'" },
		func() string {
			return "echo " + g.n() + " >> " + g.file() + "; git add -A; git commit -q -m 'all " + g.n() + "'"
		},
		func() string { return "git commit -q --amend --no-edit -a" },
		func() string { return "git commit -q --allow-empty -m empty" },
		func() string { return "git commit -q -a --fixup=HEAD" },
		func() string { return "git restore " + g.file() },
		func() string { return "git restore --staged " + g.file() },
		func() string { return "git restore --source=HEAD~1 --staged --worktree " + g.file() },
		func() string { return "git reset -q --soft " + g.commit() },
		func() string { return "git reset -q --mixed " + g.commit() },
		func() string { return "git reset -q --hard " + g.commit() },
		func() string { return "git reset -q --hard" },
		func() string { return "git clean -q -fd" },
		func() string { return "git clean -q -fdx" },
		func() string { return "git rm -q -f " + g.file() },
		func() string { return "git rm -q --cached " + g.file() },
		func() string { return "git mv -f " + g.file() + " " + g.file() },
		func() string { return "git notes add -m note" + g.n() },
		func() string { return "git notes remove" },
		func() string { return "git update-index --assume-unchanged " + g.file() },
		func() string { return "git status > /dev/null" },
		func() string { return "git stash push -q" },
		func() string { return "git stash push -q -u -m 'kept " + g.n() + "'" },
		func() string { return "git stash push -q -- " + g.file() },
		func() string { return "git stash pop -q" },
		func() string { return "git stash apply -q --index" },
		func() string { return "git stash apply -q " + g.pick("stash@{0}", "stash@{1}") },
		func() string { return "git stash drop -q" },
		func() string { return "git stash drop -q stash@{1}" },
		func() string { return "git stash clear" },
		func() string { return "git stash branch " + g.branch() },
	}
}

// refs are operations on branches, tags and worktrees.
func (g gitNames) refs() []func() string {
	return []func() string{
		func() string { return "git branch " + g.branch() + " " + g.commit() },
		func() string { return "git branch -f " + g.branch() + " " + g.commit() },
		func() string { return "git branch -D " + g.branch() },
		func() string { return "git branch -m " + g.branch() + " " + g.branch() },
		func() string { return "git branch -M " + g.branch() + " " + g.branch() },
		func() string { return "git branch -c " + g.branch() + " " + g.branch() },
		func() string { return "git branch x/y; git branch -m x/y x" },
		func() string { return "git branch -D x; git branch x/y; git branch -m x/y x/y/z" },
		func() string { return "git branch -u " + g.pick("main", "side", "origin/main") + " " + g.branch() },
		func() string { return "git branch --unset-upstream " + g.branch() },
		func() string { return "git switch -q " + g.branch() },
		func() string { return "git switch -q -c " + g.branch() },
		func() string { return "git switch -q --orphan " + g.branch() },
		func() string { return "git switch -q --detach " + g.commit() },
		func() string { return "git checkout -q " + g.commit() },
		func() string { return "git checkout -q " + g.commit() + " -- " + g.file() },
		func() string { return "git checkout -q -- ." },
		func() string { return "git checkout -q -B " + g.branch() + " " + g.commit() },
		func() string { return "git tag t" + g.pick("1", "2") },
		func() string { return "git tag -f t" + g.pick("1", "2") + " " + g.commit() },
		func() string { return "git tag -a -m annotated a" + g.pick("1", "2") + " " + g.commit() },
		func() string { return "git tag -d " + g.pick("v0", "t1", "t2", "a1") },
		func() string { return "git update-ref -d refs/heads/" + g.branch() },
		func() string { return "git symbolic-ref HEAD refs/heads/" + g.branch() },
		func() string { return "git pack-refs --all" },
		func() string { return "git worktree add -q " + g.tree() + " " + g.branch() },
		func() string { return "git worktree add -q --detach " + g.tree() + " " + g.commit() },
		func() string { return "git worktree add -q -b " + g.branch() + " " + g.tree() },
		func() string { return "git worktree remove -f " + g.tree() },
		func() string { return "rm -rf " + g.tree() + "; git worktree prune" },
		func() string { return "git worktree lock " + g.tree() },
		func() string { return "git worktree unlock " + g.tree() },
		func() string {
			return "[ -e wt1/.git ] && echo " + g.n() + " >> wt1/f1 && git -C wt1 commit -qam 'in wt1'"
		},
		func() string { return "[ -e wt2/.git ] && git -C wt2 reset -q --hard HEAD~1" },
	}
}

// progress are operations that may stop in the middle, and those that go on from there.
func (g gitNames) progress() []func() string {
	return []func() string{
		func() string { return "git merge -q -m merged " + g.branch() },
		func() string { return "git merge -q --no-ff -m merged " + g.branch() },
		func() string { return "git merge -q --squash " + g.branch() },
		func() string { return "git merge --abort" },
		func() string { return "git add -A; git commit -q -m resolved" },
		func() string { return "git checkout --" + g.pick("ours", "theirs") + " " + g.file() },
		func() string { return "git rebase -q " + g.branch() },
		func() string { return "git rebase -q --onto " + g.commit() + " HEAD~1" },
		func() string { return "git rebase -q --apply " + g.branch() },
		func() string { return "git rebase --" + g.pick("abort", "skip", "quit") },
		func() string { return "git add -A; GIT_EDITOR=true git rebase --continue" },
		func() string { return "git cherry-pick " + g.commit() },
		func() string { return "git cherry-pick side side~1" },
		func() string { return "git cherry-pick --" + g.pick("abort", "skip", "quit") },
		func() string { return "git add -A; GIT_EDITOR=true git cherry-pick --continue" },
		func() string { return "git revert --no-edit " + g.commit() },
		func() string { return "git revert --abort" },
		func() string { return "git bisect start " + g.commit() + " " + g.commit() + " > /dev/null" },
		func() string { return "git bisect " + g.pick("good", "bad", "skip") + " > /dev/null" },
		func() string { return "git bisect reset -q" },
		func() string { return "git format-patch -1 --stdout " + g.commit() + " > patch; git am -q patch" },
		func() string { return "git am --" + g.pick("abort", "skip") },
		// A conflict, whatever there was before.
		func() string {
			return "git reset -q --hard; git checkout -q -B c1 HEAD~1; echo " + g.n() + " > f3; git commit -qam theirs; git checkout -q -B c2 HEAD~1; echo " +
				g.n() + " > f3; git commit -qam ours; git " + g.pick("merge -q c1", "rebase -q c1", "cherry-pick c1", "stash pop")
		},
	}
}

// byAPerson begins the operations that a person makes between two calls, who leaves branches and files as they are.
const byAPerson = ": by a person"

func (g gitNames) person() []string {
	return []string{byAPerson, g.pick("git pack-refs --all", "git status > /dev/null", "git -c gc.reflogExpire=never -c gc.reflogExpireUnreachable=never gc -q --prune=never", "git repack -q -A -d",
		"git update-index -q --refresh", "git commit-graph write --reachable")}
}

// gitLine returns one operation. It may fail, as it would directly.
func gitLine(r *rand.Rand) string {
	g := gitNames{r}
	forms := slices.Concat(g.work(), g.refs(), g.progress())
	return forms[r.IntN(len(forms))]()
}

// gitCalls returns the operations of a history, ten of them, by the calls that they are made in.
func gitCalls(seed uint64) (calls [][]string) {
	r := rand.New(rand.NewPCG(seed, 7))
	for i := range 10 {
		if i == 0 || r.IntN(3) == 0 {
			if r.IntN(4) == 0 {
				calls = append(calls, gitNames{r}.person())
			}
			calls = append(calls, nil)
		}
		last := len(calls) - 1
		calls[last] = append(calls[last], gitLine(r))
	}
	return calls
}
