package workspace

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/hostpath"
)

var _ tongs.Trees = (*files)(nil)

// Tree opens a directory for a search.
func (f *files) Tree(p tongs.Path) (*tongs.Tree, error) {
	decided, err := f.searchable(p)
	if err != nil {
		return nil, err
	}
	h, err := f.w.directory(p)
	if err != nil {
		return nil, fail("search", p, err)
	}
	defer h.close()
	dir, err := h.file()
	if err != nil {
		return nil, fail("search", p, err)
	}
	t := &tongs.Tree{Path: p, Host: f.w.Host(p), Top: f.w.byName[p.Root].Dir, Dir: dir, Skip: f.skipper(p, decided)}
	if _, any := f.permit.RuledBelow(decided.Path); !any {
		t.Scope = scope{f.w, p, f.w.aliasKey()}
	}
	return t, nil
}

// scope is what Skip goes by where no rule names anything: the roots of the workspace, the names of secrets, and where links
// with protected names lead.
type scope struct {
	w       *Workspace
	p       tongs.Path
	aliases string
}

// searchable returns the effect that lets the call read what is in p.
func (f *files) searchable(p tongs.Path) (tongs.Effect, error) {
	if err := f.mayRead(p); err != nil {
		return tongs.Effect{}, err
	}
	for _, e := range f.permit.Effects() {
		if e.Kind == tongs.EffectRead && (e.Unknown || e.Path.Contains(p)) {
			return e, nil
		}
	}
	return tongs.Effect{}, f.need("nobody decided that it may be searched", tongs.Effect{Kind: tongs.EffectRead, Path: p})
}

// skipper returns Tree.Skip for what is below p, given the effect that covers it.
func (f *files) skipper(p tongs.Path, decided tongs.Effect) func(string, bool) bool {
	nested := f.w.rootsBelow(p)
	secret, aliases := f.w.secretBelow(p), f.w.aliasesBelow(p)
	ruled, any := f.permit.RuledBelow(decided.Path)
	return func(rel string, dir bool) bool {
		name := rel[strings.LastIndexByte(rel, '/')+1:]
		if dir && (nested[rel] || f.alive() != nil || strings.HasPrefix(name, stagePrefix)) {
			return true
		}
		switch odd := secretHints().look(name); {
		case odd && !utf8.ValidString(name):
			return true
		case odd && secret(rel):
			return true
		case within(aliases, rel) && secret(rel):
			return true
		}
		return any && ruled(p.Join(rel))
	}
}

// aliasKey tells the places that links with protected names lead to from any others.
func (w *Workspace) aliasKey() string {
	var list []string
	for _, a := range w.aliased(toRead).list {
		if !a.through {
			list = append(list, a.name, a.to)
		}
	}
	return strings.Join(list, "\x00")
}

// aliasesBelow returns where links with protected names lead, as far as that is in the directory p, by the path below it, and
// "." where p itself is in such a place.
func (w *Workspace) aliasesBelow(p tongs.Path) (rels []string) {
	host := w.Host(p)
	for _, a := range w.aliased(toRead).list {
		switch {
		case a.through:
		case hostpath.Within(a.to, host):
			rels = append(rels, ".")
		case hostpath.Within(host, a.to):
			rels = append(rels, filepath.ToSlash(strings.TrimPrefix(a.to, host)[1:]))
		}
	}
	slices.Sort(rels)
	return slices.Compact(rels)
}

// within reports whether one of the directories contains a path.
func within(dirs []string, rel string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return tongs.Path{Rel: dir}.Contains(tongs.Path{Rel: rel}) })
}

// rootsBelow returns the other roots that lie in the directory p, by their path below it.
func (w *Workspace) rootsBelow(p tongs.Path) map[string]bool {
	found := map[string]bool{}
	host := w.Host(p)
	for _, r := range w.roots {
		if r.Dir == host || !hostpath.Within(host, r.Dir) {
			continue
		}
		if rel, err := filepath.Rel(host, r.Dir); err == nil {
			found[filepath.ToSlash(rel)] = true
		}
	}
	return found
}

// secretBelow returns what tells whether an entry below p is a secret. Where p itself is one, it was decided by name,
// and what is in it counts only by its own names.
func (w *Workspace) secretBelow(p tongs.Path) func(rel string) bool {
	above := p
	if _, secret := w.Secret(p); secret {
		above = tongs.Path{Root: p.Root, Rel: "."}
	}
	return func(rel string) bool {
		_, secret := w.Secret(above.Join(rel))
		return secret
	}
}

// hints tell cheaply which names cannot end the path of a secret, so that a search need not match every name with the
// whole list: by the first two and the last two letters.
type hints struct {
	first, last [1 << 10]uint64
}

var secretHints = sync.OnceValue(func() *hints {
	h := &hints{}
	for _, n := range names {
		if n.Kind != KindSecret {
			continue
		}
		pattern := fold(n.Pattern[strings.LastIndexByte(n.Pattern, '/')+1:])
		before, after, star := strings.Cut(pattern, "*")
		switch {
		case len(before) >= 2:
			mark(&h.first, before[0], before[1])
		case star && len(after) >= 2:
			mark(&h.last, after[len(after)-2], after[len(after)-1])
		default: // too short to tell: every name is looked at
			for i := range h.first {
				h.first[i] = ^uint64(0)
			}
		}
	}
	return h
})

func mark(bits *[1 << 10]uint64, a, b byte) { bits[int(a)<<2|int(b)>>6] |= 1 << (b & 63) }

func marked(bits *[1 << 10]uint64, a, b byte) bool { return bits[int(a)<<2|int(b)>>6]&(1<<(b&63)) != 0 }

// look reports whether a name could be that of a secret, or is not plain enough to tell.
func (h *hints) look(name string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || c == '~' || c == ':' {
			return true
		}
	}
	if n := len(name); n >= 2 {
		return name[n-1] == '.' || marked(&h.first, small(name[0]), small(name[1])) || marked(&h.last, small(name[n-2]), small(name[n-1]))
	}
	return false
}

func small(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
