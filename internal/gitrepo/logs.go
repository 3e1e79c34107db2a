package gitrepo

import (
	"path"
	"slices"
	"strings"
)

// strangeLog says why a reflog is not the earlier one with more lines. That of a branch that went may go, and one that was made again
// begins anew; that of the stash is the list of stashes.
func (c *comparison) strangeLog(ch Change, text string) string {
	name := strings.TrimPrefix(patterns().worktree.ReplaceAllString(ch.Name, ""), "logs/")
	if name == "refs/stash" {
		return c.strangeLogLines(text)
	}
	before, err := readFile(c.Before, ch.Name, maxIndex)
	if ch.Kind == Added {
		before, err = nil, nil
	}
	if err != nil {
		return err.Error()
	}
	rest, longer := strings.CutPrefix(text, string(before))
	if !longer {
		_, was := c.old.refs[name]
		_, is := c.now.refs[name]
		if name == "HEAD" && c.now.exists(path.Join(path.Dir(path.Dir(ch.Name)), "HEAD")) || was && is && !anew(string(before), text) {
			return "lines of the reflog went"
		}
		if was && is && !c.elsewhere(string(before)) {
			c.say(0, "forget earlier values of %s (%s of its reflog)", clean(shortRef(name)), plural(strings.Count(string(before), "\n"), "line"))
		}
		rest = text
	}
	return c.strangeLogLines(rest)
}

func (c *comparison) strangeLogLines(text string) string {
	for line := range strings.Lines(text) {
		words := strings.SplitN(line, " ", 3)
		if len(words) != 3 || !isID(words[0]) || !isID(words[1]) || !strings.HasSuffix(line, "\n") {
			return whyContent
		}
	}
	return ""
}

// anew reports whether a reflog is that of a ref that was made, or got its name, since the other: an earlier one of which lines were
// removed has none that is new.
func anew(before, text string) bool {
	first, _, _ := strings.Cut(text, " ")
	if !isID(first) || !isZero(first) {
		return false
	}
	known := map[string]bool{}
	for line := range strings.Lines(before) {
		known[line] = true
	}
	for line := range strings.Lines(text) {
		if !known[line] {
			return true
		}
	}
	return false
}

// elsewhere reports whether a reflog that is not at its name any more begins another one: the ref got another name. Only the first of
// many are looked at.
func (c *comparison) elsewhere(text string) bool {
	seen := 0
	return slices.ContainsFunc(c.Changes, func(ch Change) bool {
		if kind, _ := partOf(ch.Name); kind != reflog || ch.Kind == Deleted || ch.Dir || ch.Odd != "" || seen == maxTold {
			return false
		}
		seen++
		now, err := readFile(c.After, ch.Name, maxIndex)
		return err == nil && strings.HasPrefix(string(now), text)
	})
}

// shortRef is the name of a ref as git shows it.
func shortRef(name string) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/", "refs/remotes/"} {
		if short, ok := strings.CutPrefix(name, prefix); ok {
			return short
		}
	}
	return name
}
