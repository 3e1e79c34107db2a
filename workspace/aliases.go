package workspace

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/hostpath"
)

// maxAliases is how many aliases are looked for. Where there are more, everything counts as protected.
const maxAliases = 20_000

// alias is a place that a link leads to which has a protected name, or is below one: what is there goes by that name, too.
type alias struct {
	// link is the link as calls name it, and name what the place goes by.
	link, name string
	// to is the place on this machine, and folded as the most careless file system would take it.
	to, folded string
	// through says that it is no such place, but another link on the way there.
	through bool
	// entry is what name is protected by.
	entry *Name
}

// aliases are aliases that are found by where they lead.
type aliases struct {
	list []alias
	// over says that there are more than can be looked at.
	over bool
	// at are the numbers of those that lead to a place, folded, and places these places in order.
	at     map[string][]int
	places []string
}

func indexed(list []alias) *aliases {
	a := &aliases{list: list, at: make(map[string][]int, len(list))}
	for i := range list {
		a.at[list[i].folded] = append(a.at[list[i].folded], i)
	}
	a.places = slices.Sorted(maps.Keys(a.at))
	return a
}

// near returns the aliases that lead to a folded path or above it, and with below set one of those that lead below it.
func (a *aliases) near(at string, below bool) (list []*alias) {
	for up := at; ; up = path.Dir(up) {
		for _, i := range a.at[up] {
			list = append(list, &a.list[i])
		}
		if up == path.Dir(up) {
			break
		}
	}
	if i, _ := slices.BinarySearch(a.places, at+"/"); below && i < len(a.places) && hostpath.Within(at, a.places[i]) {
		list = append(list, &a.list[a.at[a.places[i]][0]])
	}
	return list
}

// aliasing collects aliases.
type aliasing struct {
	w *Workspace
	// links are where the links are, in order, and read returns what is written in one.
	links []string
	read  func(path string) (to string, err error)
	seen  map[[2]string]bool
	list  []alias
	// left is how many links may still be looked at that are where others lead.
	left int
}

// maxFollowed is how many links are looked at that are where others lead. Where there are more, everything counts as protected.
const maxFollowed = 1_000_000

// aliasesOf returns the aliases that the links have which were found, and others that are not there yet: their paths on this
// machine, with what is written in them.
func (w *Workspace) aliasesOf(s *survey, made map[string]string) *aliases {
	a := aliasing{w: w, seen: map[[2]string]bool{}, left: maxFollowed, read: func(path string) (string, error) {
		to, ok := made[path]
		if !ok {
			to, _ = hostpath.ReadLink(path) // what is not there leads to itself
		}
		return to, nil
	}}
	for _, seen := range s.found {
		a.links = append(a.links, seen.links...)
	}
	from := slices.Concat(s.named, slices.Collect(maps.Keys(made)), slices.Collect(maps.Keys(s.followed)))
	a.links = append(a.links, from[len(s.named):]...)
	slices.Sort(a.links)
	a.links = slices.Compact(a.links)
	for _, link := range from {
		if p, ok := w.Place(link); ok {
			a.add(link, p.Judged().Rel)
		}
	}
	for link, name := range s.homeLinks() {
		a.add(link, name)
	}
	all := indexed(a.list)
	all.over = len(a.list) > maxAliases || a.left < 0
	return all
}

// namedLinks returns the links that were found whose own path has a protected name, or the beginning of one.
func (w *Workspace) namedLinks(found map[string]sights) (links []string) {
	for _, seen := range found {
		for _, link := range seen.links {
			if p, ok := w.Place(link); ok && protectedBy(formsOf(p.Judged().Rel)) != nil {
				links = append(links, link)
			}
		}
	}
	return links
}

// protectedBy returns the entry of the list that a path falls under, or is the beginning of.
func protectedBy(forms []form) *Name {
	if n := nameList().find(forms, false); n != nil {
		return n
	}
	if begun := nameList().begun(forms); len(begun) > 0 {
		return begun[0].Name
	}
	return nil
}

// add takes a link that goes by a name, where that is protected, with the links that are where it leads.
func (a *aliasing) add(link, name string) {
	entry := protectedBy(formsOf(name))
	if entry == nil || a.seen[[2]string{link, entry.Pattern}] || len(a.list) > maxAliases {
		return
	}
	a.seen[[2]string{link, entry.Pattern}] = true
	to, links, _ := hostpath.Follow(link, a.read)
	if len(links) == 0 {
		return // it is gone
	}
	shown := link
	if p, ok := a.w.Place(link); ok {
		shown = p.String()
	}
	for _, l := range links[1:] {
		a.list = append(a.list, alias{shown, name, l.At, foldPath(l.At), true, entry})
	}
	if _, inside := a.w.Place(to); !inside {
		return
	}
	a.list = append(a.list, alias{shown, name, to, foldPath(to), false, entry})
	for _, other := range a.within(to) {
		if a.left--; a.left < 0 {
			return
		}
		if other != link {
			a.add(other, path.Join(name, filepath.ToSlash(strings.TrimPrefix(other, to))))
		}
	}
}

// within returns the links at a path and below it.
func (a *aliasing) within(at string) []string {
	below := strings.TrimSuffix(at, string(filepath.Separator)) + string(filepath.Separator)
	first, _ := slices.BinarySearch(a.links, below)
	end := first
	for end < len(a.links) && strings.HasPrefix(a.links[end], below) {
		end++
	}
	if _, itself := slices.BinarySearch(a.links, at); itself {
		return append([]string{at}, a.links[first:end]...)
	}
	return a.links[first:end]
}

// judge returns what a path, folded and on this machine, is protected by since it is where the alias leads, or for anything
// but reading, is on the way there.
func (a *alias) judge(at string, secret bool) *Name {
	if !a.through && hostpath.Within(a.folded, at) {
		return nameList().find(formsOf(path.Join(a.name, strings.TrimPrefix(at, a.folded))), secret)
	}
	if !secret && hostpath.Within(at, a.folded) {
		return &Name{a.entry.Pattern, KindObeyed, a.entry.Why}
	}
	return nil
}

// linkedTo returns what p is protected by since a link leads there, and how.
func (w *Workspace) linkedTo(p tongs.Path, secret bool) (found *Name, how string) {
	rest := time.Duration(toChange)
	if secret {
		rest = toRead
	}
	return w.judge(w.aliased(rest), p, secret)
}

// judge returns what p is protected by since one of the aliases leads there; of several, one that is not about instructions.
func (w *Workspace) judge(all *aliases, p tongs.Path, secret bool) (found *Name, how string) {
	if p.Rel == "." || w.byName[p.Root] == nil {
		return nil, ""
	}
	if all.over {
		n := &Name{"*", KindObeyed, "links with protected names lead to more places than can be looked at"}
		return n, n.Why
	}
	at := foldPath(w.Host(p))
	for _, a := range all.near(at, !secret) {
		n := a.judge(at, secret)
		if n == nil || found != nil && n.Kind == KindInstructions {
			continue
		}
		found, how = n, a.link+" is a link to it: "+n.Why
		if a.through || !hostpath.Within(a.folded, at) {
			how = a.link + " is a link that leads through it: " + n.Why
		}
		if n.Kind != KindInstructions {
			break
		}
	}
	return found, how
}

// LinkedBy returns what says why a path is protected once links are made, "" where it is not. The links are given by their
// paths on this machine, with what is written in them.
func (w *Workspace) LinkedBy(made map[string]string) func(p tongs.Path) (why string) {
	w.survey.mu.Lock()
	defer w.survey.mu.Unlock()
	w.survey.look(w, toChange)
	all := w.aliasesOf(&w.survey, made)
	return func(p tongs.Path) string {
		if n, how := w.judge(all, p, false); n != nil {
			return "protected: " + how
		}
		return ""
	}
}

// aliased returns the aliases of what is there now, or was when it was looked at.
func (w *Workspace) aliased(rest time.Duration) *aliases {
	w.survey.mu.Lock()
	defer w.survey.mu.Unlock()
	w.survey.look(w, rest)
	return w.survey.aliases
}

// LinkedNames returns the paths on this machine, in the roots, that links with protected names lead to: those to hide, whose
// names are of secrets, and those to protect. They need not exist. What a link called .git leads to is a repository, of which
// git must be able to change most.
func (w *Workspace) LinkedNames() (hide, protect []string) {
	for _, a := range w.aliased(toChange).list {
		forms := formsOf(a.name)
		switch {
		case a.entry.Pattern == ".git":
		case a.through:
			protect = append(protect, a.to)
		case nameList().under(forms, true) != nil:
			hide = append(hide, a.to)
		case nameList().under(forms, false) != nil:
			protect = append(protect, a.to)
		default:
			for _, row := range nameList().begun(forms) {
				paths := completed(a.to, row)
				if row.Kind == KindSecret {
					hide = append(hide, paths...)
				} else {
					protect = append(protect, paths...)
				}
			}
		}
	}
	return hide, protect
}

// completed returns the paths below a directory that the rest of a pattern means: those that exist, or one that could.
func completed(dir string, row namePattern) []string {
	paths := matching(dir, row.elems)
	elems := strings.Split(row.Pattern, "/")
	below := filepath.Join(elems[len(elems)-len(row.elems):]...)
	if len(paths) == 0 && !strings.Contains(below, "*") {
		paths = append(paths, filepath.Join(dir, below))
	}
	return paths
}

// matching returns the paths below a directory whose names match those of a pattern.
func matching(dir string, pattern []string) (paths []string) {
	entries, _ := os.ReadDir(dir) // none where it is no directory
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		switch {
		case !formOf(e.Name()).match(pattern[0]):
		case len(pattern) == 1:
			paths = append(paths, at)
		default:
			paths = append(paths, matching(at, pattern[1:])...)
		}
	}
	return paths
}
