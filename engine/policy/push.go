package policy

import (
	"errors"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

// appliesToPush decides whether the effect is a push that a rule about pushes is about. What pre-approves covers plain pushes of a
// built-in tool of which it names every reference; what asks or blocks meets a push with one of them. Data that leaves for such a host in
// another way may move a branch there, too.
func (j *judge) appliesToPush(r *tongs.Rule, lenient bool) meeting {
	push := j.e.Push
	named := func(ref string) bool { return starMatch(fullRef(r.Branch), ref) }
	switch {
	case push == nil && (lenient || !j.e.Sends):
		return no
	case push == nil && opaque(j.e):
		return j.mayApplyUnknown()
	case push == nil:
		return min(maybe, strictly(r.Pattern, j.e))
	case !lenient && slices.ContainsFunc(push.Refs, named):
		return strictly(r.Pattern, j.e)
	case !lenient || !push.Plain || !j.spec.Source.BuiltIn() || len(push.Refs) == 0 || j.e.Private && strings.Contains(r.Pattern, "*"):
		return no
	case slices.ContainsFunc(push.Refs, func(ref string) bool { return !named(ref) }):
		return no
	}
	// A pattern without a port is about the port of the scheme, and that of ssh has no other sign.
	ok, err := matchHost(r.Pattern, strings.TrimSuffix(j.e.Host, ":22"), false)
	if err == nil && !ok {
		ok, err = matchHost(r.Pattern, j.e.Host, false)
	}
	return met(ok && err == nil)
}

// fullRef is a branch as the reference that it is; other references are written in full.
func fullRef(branch string) string {
	if strings.HasPrefix(branch, "refs/") {
		return branch
	}
	return "refs/heads/" + branch
}

// checkBranch says what is wrong with the branches of a rule.
func checkBranch(r tongs.Rule) error {
	switch {
	case r.Branch == "":
		return nil
	case r.Effects != tongs.Kinds(tongs.EffectNetwork) || r.Pattern == "" || r.Fallback:
		return errors.New("a rule about pushes names a host")
	case strings.ContainsAny(r.Branch, " ~^:?[\\") || strings.ContainsFunc(r.Branch, func(c rune) bool { return c < 0x20 || c == 0x7f }) ||
		strings.Contains(r.Branch, "..") || strings.HasPrefix(r.Branch, "/") || strings.HasSuffix(r.Branch, "/"):
		return errors.New("no branch has this name; * stands for any characters, as in agent/*")
	}
	return nil
}
