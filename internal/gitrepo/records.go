package gitrepo

import (
	"slices"
	"strings"
)

// strangeValue says why a ref of a worktree's own is not one that git makes. Refs of the repository are compared by value.
func (c *comparison) strangeValue(at, own, text string) string {
	if at == own {
		return ""
	}
	if value, err := ParseRef([]byte(text)); err != nil || !c.now.objects.has(value) {
		return whyContent
	}
	return ""
}

// strangePeeled says why packed refs do not tell truly what tags stand for. Git believes them.
func (c *comparison) strangePeeled(text string) string {
	before, err := readFile(c.Before, "packed-refs", maxIndex)
	if err != nil {
		before = nil
	}
	known := peeled(string(before))
	for at := range peeled(text) {
		if !known[at] && c.now.objects.peel(at.id) != at.to {
			return whyContent
		}
	}
	return ""
}

// peeling is a tag with what it stands for.
type peeling struct{ id, to string }

func peeled(text string) map[peeling]bool {
	list, last := map[peeling]bool{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if to, ok := strings.CutPrefix(line, "^"); ok {
			list[peeling{last, to}] = true
		} else {
			last, _, _ = strings.Cut(line, " ")
		}
	}
	return list
}

// maxPeeled is how many tags a tag may stand for.
const maxPeeled = 16

// peel returns what a tag stands for in the end, "" for what is no tag.
func (o *objects) peel(id string) (to string) {
	for range maxPeeled {
		kind, data, err := o.read(id)
		if err != nil || kind != "tag" {
			break
		}
		id, _, _ = strings.Cut(strings.TrimPrefix(string(data), "object "), "\n")
		to = id
	}
	return to
}

// plainRerere reports whether a list of conflicts names files of the work tree only. Git copies from and to those that it names.
func plainRerere(text string) bool {
	for entry := range strings.SplitAfterSeq(text, "\x00") {
		if entry == "" {
			continue
		}
		conflict, name, ok := strings.Cut(strings.TrimSuffix(entry, "\x00"), "\t")
		id, variant, _ := strings.Cut(conflict, ".")
		if !ok || !strings.HasSuffix(entry, "\x00") || !isID(id) || strings.Trim(variant, "0123456789") != "" || !plainPath(name) {
			return false
		}
	}
	return true
}

// shallow says that the history is cut off elsewhere than before: what is behind a new cut seems not to be there.
func (c *comparison) shallow() {
	before, err1 := c.old.read("shallow")
	after, err2 := c.now.read("shallow")
	if err1 == nil && err2 == nil && before == after {
		return
	}
	rank, old := 1, slices.Collect(strings.Lines(before))
	for cut := range strings.Lines(after) {
		if !slices.Contains(old, cut) {
			rank = 0
		}
	}
	c.say(rank, "change where the history is cut off (shallow)")
}

// many counts what became of refs, where there are too many to tell of each.
func (c *comparison) many(refs []RefChange) {
	for _, kind := range [][2]string{{"refs/heads/", "branch"}, {"refs/tags/", "tag"}, {"refs/remotes/", "remote branch"}, {"", "other ref"}} {
		var made, moved, gone []RefChange
		refs = slices.DeleteFunc(slices.Clone(refs), func(r RefChange) bool {
			switch {
			case !strings.HasPrefix(r.Name, kind[0]):
				return false
			case r.Old == "":
				made = append(made, r)
			case r.New == "":
				gone = append(gone, r)
			default:
				moved = append(moved, r)
			}
			return true
		})
		c.several(0, "delete", gone, kind)
		c.several(0, "move", moved, kind)
		c.several(1, "create", made, kind)
	}
}

// several says what was done to refs of one kind, with the names of a few.
func (c *comparison) several(rank int, done string, refs []RefChange, kind [2]string) {
	var names []string
	for i, r := range refs {
		if i == maxNamed {
			names = append(names, "others")
			break
		}
		names = append(names, clean(strings.TrimPrefix(r.Name, kind[0])))
	}
	if len(refs) > 0 {
		what := kind[1] + "s"
		if kind[1] == "branch" || kind[1] == "remote branch" {
			what = kind[1] + "es"
		}
		c.say(rank, "%s %d %s (%s)", done, len(refs), what, strings.Join(names, ", "))
	}
}

// maxNamed is how many refs of many are named.
const maxNamed = 5
