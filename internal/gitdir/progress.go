package gitdir

import (
	"slices"
	"strings"
)

// plainSteps are the lines of a rebase that run nothing; strategies are the merges that git has itself; plainOptions are
// those of a cherry-pick or revert that run nothing.
var (
	plainSteps   = strings.Fields(`pick p reword r edit e squash s fixup f drop d label l reset t merge m update-ref u noop break b`)
	strategies   = strings.Fields(`ort recursive resolve octopus ours subtree`)
	plainOptions = strings.Fields(`no-commit edit allow-empty allow-empty-message drop-redundant-commits keep-redundant-commits
		signoff record-origin allow-ff mainline allow-rerere-auto default-msg-cleanup commit-use-reference`)
)

// PlainState reports whether a file in which git notes how to go on with a rebase, cherry-pick or patch runs nothing.
func PlainState(name, text string) bool {
	switch name {
	case "rebase-merge/git-rebase-todo":
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if len(words) > 0 && words[0][0] != '#' && !slices.Contains(plainSteps, words[0]) {
				return false
			}
		}
		return true
	case "rebase-merge/strategy":
		return slices.Contains(strategies, strings.TrimSpace(text))
	case "sequencer/opts":
		list, err := Parse(text)
		return err == nil && !slices.ContainsFunc(list, func(s Setting) bool {
			return !slices.Contains(plainOptions, s.Name) && !(s.Name == "strategy" && slices.Contains(strategies, s.Value))
		})
	default:
		return strings.TrimSpace(text) == ""
	}
}
