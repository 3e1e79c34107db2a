package live

import (
	"github.com/tongs-ai/tongs/internal/search/ignore"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// touched is what happened in a directory: to which of its entries, and whether there may be others now.
type touched struct {
	names map[string]bool
	list  bool
}

// What an event says.
type event struct {
	watch int32
	name  string
	// entries says that an entry came, went or is a directory, ended that the watch is over, overflow that events were lost.
	entries, ended, overflow bool
}

// drain takes all events that are queued.
func (r *root) drain() (map[*dir]*touched, bool, error) {
	if r.watch == nil {
		return nil, false, nil
	}
	found := map[*dir]*touched{}
	overflow, lost := false, false
	err := r.watch.read(func(e event) {
		d := r.byWatch[e.watch]
		switch {
		case e.overflow:
			overflow = true
		case e.ended:
			lost = r.unwatched(e.watch, found) || lost
		case d != nil && e.name != "":
			d.note(found, e.name, e.entries)
		case d == nil:
			r.touchFile(e.watch)
		}
	})
	if err == nil && lost {
		err = errLost
	}
	return found, overflow, err
}

// note takes up that something happened to an entry. Hidden ones matter only for what they say about others.
func (d *dir) note(found map[*dir]*touched, name string, entries bool) {
	if name[0] == '.' {
		if _, rules := ignore.KindOf(name); !rules && name != ".git" {
			return
		}
		entries = true
	}
	t := found[d]
	if t == nil {
		t = &touched{names: map[string]bool{}}
		found[d] = t
	}
	t.names[name] = true
	t.list = t.list || entries
}

// unwatched deals with a watch that ended by itself: what it was for is gone. It reports whether that is the root.
func (r *root) unwatched(watch int32, found map[*dir]*touched) (lost bool) {
	if id, ok := r.watchedFile[watch]; ok {
		delete(r.watchedFile, watch)
		delete(r.fileWatch, id)
		return false
	}
	d := r.byWatch[watch]
	if d == nil {
		return false
	}
	delete(r.byWatch, watch)
	d.watch = 0
	if d.in == nil {
		return true
	}
	d.in.note(found, d.name, true)
	return false
}

// touchFile says that a file which is watched itself may have changed, under each of its names.
func (r *root) touchFile(watch int32) {
	if id, ok := r.watchedFile[watch]; ok {
		for n := r.byFile[id]; n != nil; n = n.twin {
			r.touch(n)
		}
	}
}

// watchDir watches a directory that is open.
func (r *root) watchDir(d *dir, f walk.Folder) error {
	if r.watch == nil {
		return nil
	}
	watch, err := r.watch.dir(f)
	if err != nil {
		r.noWatches(err)
		return nil
	}
	if d.watch != watch {
		r.unwatchDir(d)
	}
	d.watch = watch
	r.byWatch[watch] = d
	r.countWatches()
	return nil
}

func (r *root) unwatchDir(d *dir) {
	if d.watch != 0 && r.byWatch[d.watch] == d {
		delete(r.byWatch, d.watch)
		if r.watch != nil {
			r.watch.remove(d.watch)
		}
	}
	d.watch = 0
}

// watchFile watches a file with several names.
func (r *root) watchFile(n *node) {
	id := identityOf(n.info)
	if _, ok := r.fileWatch[id]; ok || r.watch == nil {
		return
	}
	watch, err := r.watch.file(r.top + "/" + n.rel)
	switch {
	case err == nil:
		r.fileWatch[id], r.watchedFile[watch] = watch, id
		r.countWatches()
	case !isMissing(err):
		r.noWatches(err)
	}
}

func (r *root) unwatchFile(id identity) {
	watch, ok := r.fileWatch[id]
	if !ok {
		return
	}
	delete(r.fileWatch, id)
	delete(r.watchedFile, watch)
	if r.watch != nil {
		r.watch.remove(watch)
	}
}

func (r *root) countWatches() {
	if r.watch != nil && len(r.byWatch)+len(r.watchedFile) > r.s.opt.MaxWatches {
		r.becomeStrict("it has more directories than may be watched")
	}
}

func (r *root) noWatches(err error) { r.becomeStrict("it cannot be watched: " + err.Error()) }

// becomeStrict gives up watching.
func (r *root) becomeStrict(why string) {
	if r.watch != nil {
		r.watch.close()
		r.watch, r.doubt = nil, true
	}
	clear(r.byWatch)
	clear(r.fileWatch)
	clear(r.watchedFile)
	if r.strict == "" {
		r.strict = why
	}
}
