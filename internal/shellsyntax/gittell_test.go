package shellsyntax_test

import (
	"slices"
	"testing"

	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

// What git will do is told where its words say so, and not guessed where they do not.
func TestTellsWhatGitWillDo(t *testing.T) {
	const asked, always = "; you are asked about the push, unless a rule about pushes covers it", "; you are asked about the push in any case"
	for command, want := range map[string][]string{
		"git commit -m 'Count items once'":        {"commit to main: Count items once"},
		"git commit -am 'a\nb'":                   {"commit to main: a"},
		"git commit -m '{words}' x":               {"commit to main: {words}"},
		"git commit --amend --no-edit":            {"replace the last commit of main"},
		"git commit -m \"$(date)\"":               nil,
		"git commit --unheard-of -m x":            nil,
		"git commit -m 'a\x1b[2Kb'":               nil,
		"git push":                                {"push main to origin (github.com)" + asked},
		"git push origin HEAD:topic":              {"push topic to origin (github.com)" + asked},
		"git push -f origin topic":                {"push topic to origin (github.com), replacing what is there (a force push)" + always},
		"git push origin +topic":                  {"push topic to origin (github.com), replacing what is there (a force push)" + always},
		"git push origin :topic refs/tags/v1":     {"push tag v1 to origin (github.com) and delete topic at origin (github.com)" + always},
		"git push --delete origin topic":          {"delete topic at origin (github.com)" + always},
		"git push https://me:pw@evil.example/x a": {"push a to https://evil.example/x" + asked},
		"git push --dry-run":                      nil,
		"git push $WHERE main":                    nil,
		"git branch -D x -- y":                    {"delete branch x, y"},
		"git branch":                              nil,
		"git branch --list 'x*'":                  nil,
		"git branch topic":                        {"create branch topic"},
		"git reset --hard":                        {"discard changes of tracked files"},
		"git reset --hard HEAD~2":                 {"discard changes of tracked files and move main to HEAD~2"},
		"git checkout -- a b c d e":               {"discard changes of a, b, c, 2 more"},
		"git clean -fd":                           {"delete untracked files"},
		"git clean -nd":                           nil,
		"git switch -c x && git commit -m y && git push -u origin x": {
			"create branch x and switch to it", "commit to x: y", "push x to origin (github.com)" + asked,
		},
		"git switch other; git commit -m y": {"switch to other", "commit to the branch of that moment: y"},
		"cd sub && git commit -m z":         {"commit to the current branch: z"},
		"git -C sub commit -m z":            {"commit to the current branch: z"},
		"git fetch":                         {"read from origin (github.com)"},
		"git stash; git stash pop":          {"stash changes", "apply the newest stash and drop it"},
		"git status; ls":                    nil,
	} {
		world := shellsyntax.World{Repository: func(dir string) shellsyntax.Repository {
			if dir != "" {
				return shellsyntax.Repository{}
			}
			return shellsyntax.Repository{Branch: "main", Upstream: "origin", Hosts: map[string]string{"origin": "github.com"}}
		}}
		a, err := shellsyntax.Analyse(command, world, shellsyntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.Tells, want) {
			t.Errorf("%s: %q, want %q", command, a.Tells, want)
		}
	}
}
