package shellsyntax

import (
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/tongs-ai/tongs"
)

// replaced adds the effect of putting something in the place of a name, as mv, ln and install do: a link there goes and is not
// followed, unless it leads to a directory. Whole is set where even such a link goes.
func (a *analyser) replaced(st *state, to arg, whole bool) {
	if a.w.Resolve == nil || a.w.ResolveEntry == nil || len(st.dirs) != 1 {
		a.path(st, tongs.EffectWrite, to)
		return
	}
	spelling := join(st.dirs[0], to.text)
	name, err := a.resolve(tongs.EffectDelete, spelling)
	if err == nil {
		target, err := a.resolve(tongs.EffectWrite, spelling)
		if link := err != nil || target != name; link && (whole || err == nil) {
			a.path(st, tongs.EffectDelete, to)
			return
		}
	}
	a.path(st, tongs.EffectWrite, to)
}

// obstacle is a file that keeps a command from writing below its name.
type obstacle struct {
	// at is the command, and paths are the file, and the link that names it where one does.
	at    int
	paths []tongs.Path
	// repeated is set where the command may run again.
	repeated bool
	why      string
}

// inTheWay reports whether a word surely names a file now, so that nothing is written below it. That is looked at once more
// when everything that the command does is known: another part of it may make a directory of it.
func (a *analyser) inTheWay(c ctx, st *state, name string, to arg) bool {
	if a.w.Resolve == nil || a.w.ResolveEntry == nil || len(st.dirs) != 1 || a.at < 0 {
		return false
	}
	spelling := strings.TrimRight(join(st.dirs[0], to.text), "/")
	if _, err := a.resolve(tongs.EffectWrite, spelling+"/x"); !errors.Is(err, syscall.ENOTDIR) {
		return false
	}
	o := obstacle{at: a.at, repeated: c.repeated || c.continued, why: name + " writes below " + to.src + ", should that be a directory by then"}
	for _, resolve := range []func(string) (tongs.Path, error){a.w.Resolve, a.w.ResolveEntry} {
		p, err := resolve(spelling)
		if err != nil {
			return false
		}
		o.paths = append(o.paths, p)
	}
	a.obstacles = append(a.obstacles, o)
	return true
}

// overcome adds what commands write below files that other commands may make directories of. From is the first of the commands
// that run in one go.
func (a *analyser) overcome(from int) {
	for _, o := range a.obstacles {
		may := o.repeated
		for i := from; i < len(a.commands) && !may; i++ {
			may = i != o.at && a.changesAny(a.commands[i].Effects, o.paths)
		}
		if may {
			before := a.at
			a.at = o.at
			a.unknown(tongs.EffectWrite, o.why)
			a.at = before
		}
	}
	a.obstacles = nil
}

func (a *analyser) changesAny(effects []int, paths []tongs.Path) bool {
	return slices.ContainsFunc(effects, func(i int) bool {
		return slices.ContainsFunc(paths, func(p tongs.Path) bool { return changesPath(a.effects[i], p) })
	})
}

// changesPath reports whether an effect is known to change what is at p.
func changesPath(e tongs.Effect, p tongs.Path) bool {
	return (e.Kind == tongs.EffectWrite || e.Kind == tongs.EffectDelete) && !e.Unknown && e.Path.Contains(p)
}
