package gitrepo

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

// upstream reports whether a setting says what a branch tracks.
func upstream(s gitdir.Setting) bool {
	return s.Section == "branch" && s.Sub != "" && slices.Contains([]string{"remote", "merge", "rebase"}, s.Name)
}

// upstreamsOnly reports whether two configurations differ only in what branches track, and the new upstreams are at remotes
// that the old one has.
func upstreamsOnly(before, after string) bool {
	old, err := gitdir.Parse(before)
	if err != nil {
		return false
	}
	now, err := gitdir.Parse(after)
	if err != nil || strings.ContainsRune(after, 0) {
		return false
	}
	rest := func(list []gitdir.Setting) (kept []gitdir.Setting) {
		for _, s := range list {
			if !upstream(s) {
				kept = append(kept, s)
			}
		}
		return kept
	}
	if !slices.Equal(rest(old), rest(now)) {
		return false
	}
	for _, s := range now {
		if upstream(s) && !slices.Contains(old, s) && !plainUpstream(s, old) {
			return false
		}
	}
	return true
}

func plainUpstream(s gitdir.Setting, old []gitdir.Setting) bool {
	if !ValidRef("refs/heads/" + s.Sub) {
		return false
	}
	switch s.Name {
	case "remote":
		return s.Value == "." || slices.ContainsFunc(old, func(r gitdir.Setting) bool {
			return r.Section == "remote" && r.Sub == s.Value && r.Name == "url" && s.Value != ""
		})
	case "merge":
		return strings.HasPrefix(s.Value, "refs/heads/") && ValidRef(s.Value)
	default:
		return slices.Contains([]string{"true", "false", "merges"}, s.Value)
	}
}

// upstreams are what branches track, by branch: "origin/main".
func upstreams(text string) map[string]string {
	list, _ := gitdir.Parse(text)
	parts := map[string][2]string{}
	for _, s := range list {
		if at := parts[s.Sub]; upstream(s) && s.Name == "remote" {
			parts[s.Sub] = [2]string{s.Value, at[1]}
		} else if upstream(s) && s.Name == "merge" {
			parts[s.Sub] = [2]string{at[0], strings.TrimPrefix(s.Value, "refs/heads/")}
		}
	}
	tracks := map[string]string{}
	for branch, at := range parts {
		if tracks[branch] = at[0] + "/" + at[1]; at[0] == "." {
			tracks[branch] = at[1]
		}
	}
	return tracks
}

// rebasing are the branches whose pulls rebase, or merge, unlike before, each with the new setting.
func rebasing(before, after string) (changed [][2]string) {
	sides := [2]map[string]string{{}, {}}
	for i, text := range []string{before, after} {
		list, _ := gitdir.Parse(text)
		for _, s := range list {
			if upstream(s) && s.Name == "rebase" {
				sides[i][s.Sub] = "rebase=" + s.Value
			}
		}
	}
	branches := maps.Clone(sides[0])
	maps.Copy(branches, sides[1])
	for _, branch := range slices.Sorted(maps.Keys(branches)) {
		if sides[0][branch] != sides[1][branch] {
			changed = append(changed, [2]string{branch, sides[1][branch]})
		}
	}
	return changed
}

// tracking says what branches track now.
func (c *comparison) tracking() {
	before, err1 := c.old.read("config")
	after, err2 := c.now.read("config")
	if err1 != nil || err2 != nil || before == after {
		return
	}
	for _, s := range rebasing(before, after) {
		c.say(2, "set how branch %s pulls: %s", clean(s[0]), clean(cmp.Or(s[1], "as by default")))
	}
	old, now := upstreams(before), upstreams(after)
	for _, branch := range slices.Sorted(maps.Keys(now)) {
		if old[branch] != now[branch] {
			c.say(2, "branch %s tracks %s", clean(branch), clean(now[branch]))
		}
	}
	for _, branch := range slices.Sorted(maps.Keys(old)) {
		if _, still := now[branch]; !still {
			c.say(2, "branch %s tracks nothing any more", clean(branch))
		}
	}
}
