package search

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/search/grep"
	"github.com/tongs-ai/tongs/internal/search/live"
	"github.com/tongs-ai/tongs/internal/search/rank"
	"github.com/tongs-ai/tongs/internal/search/regex"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// walkFromService is walk by what the service that knows trees tells, false where it does not know this one: which files changed,
// which ones the call may see, and which of those that are not known hold a word of the query.
func (r *refreshing) walkFromService(ctx context.Context, t *tools, dir *tongs.Tree) (visible map[string]bool, ok bool, err error) {
	tree, ok := t.known(dir, false, false)
	if !ok {
		return nil, false, nil
	}
	ch, ok := t.opt.Live.Changes(ctx, dir.Top, r.known.generation())
	if !ok {
		return nil, false, ctx.Err()
	}
	r.known.apply(ch)
	r.lasting = r.in.Query
	visible = map[string]bool{}
	var unknown []string
	left, ok := t.opt.Live.List(ctx, tree, func(e live.Entry) {
		if e.Type != walk.File {
			return
		}
		switch name := r.prefix + e.Rel; r.known.about(name, r.lasting, r.index) {
		case isUnknown:
			unknown = append(unknown, e.Rel)
		case isIndexed:
			visible[name] = true
			r.looked++
		case isOther:
			r.others++
			r.looked++
		default:
			r.looked++
		}
	}, func(string, error) { r.unread++ })
	if !ok {
		r.lasting, r.looked, r.others, r.unread = "", 0, 0, 0
		return nil, false, ctx.Err()
	}
	r.withheld.Store(int64(left.Files))
	r.closed.Store(int64(left.Dirs))
	if unknown, err = r.candidates(ctx, t, tree, unknown); err != nil {
		return nil, true, err
	}
	if err := r.readAll(ctx, dir, unknown); err != nil {
		return nil, true, err
	}
	for name := range r.sum() {
		visible[name] = true
	}
	return visible, true, nil
}

// fewUnknown is how many files are sooner read than searched for.
const fewUnknown = 32

// candidates returns the files of a list that may hold a word of the query. The others count as looked at.
func (r *refreshing) candidates(ctx context.Context, t *tools, tree live.Tree, list []string) ([]string, error) {
	if len(list) <= fewUnknown {
		return list, nil
	}
	var stems []string
	for _, s := range r.query.Stems() {
		stems = append(stems, regexp.QuoteMeta(s))
	}
	m, err := regex.Compile(strings.Join(stems, "|"), regex.Options{Fold: true})
	if err != nil {
		return list, nil
	}
	wanted := make(map[string]bool, len(list))
	for _, rel := range list {
		wanted[rel] = true
	}
	tree.Pick = func(rel string) bool { return wanted[rel] }
	res, _, ok, err := t.opt.Live.Search(ctx, t.grepper, tree, grep.Query{Matcher: m, Mode: grep.Files, Limit: 1 << 30})
	if err != nil || !ok {
		return list, ctx.Err()
	}
	holds := make(map[string]bool, len(res.Files))
	for _, f := range res.Files {
		holds[f.Path] = true
	}
	all := len(list)
	list = slices.DeleteFunc(list, func(rel string) bool {
		if holds[rel] || r.filter.Match(r.prefix+rel, nil) {
			return false
		}
		r.known.lacks(r.index, r.prefix+rel, r.lasting)
		return true
	})
	r.looked += all - len(list)
	r.others += all - len(list)
	return list, nil
}

// readAll looks at files below a directory, by several workers.
func (r *refreshing) readAll(ctx context.Context, dir *tongs.Tree, list []string) error {
	tr, err := walk.Open(walk.Options{Root: dir.Host, Dir: dir.Dir, NoIgnore: true})
	if err != nil {
		return err
	}
	defer tr.Close()
	limited, cancel := context.WithTimeoutCause(ctx, r.opt.Time, errCodeTime)
	defer cancel()
	r.workers = make([]refreshWorker, tr.Workers())
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range r.workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= len(list) {
					return
				}
				if limited.Err() != nil {
					r.workers[i].left++
					continue
				}
				r.readOne(&r.workers[i], tr, list[n])
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (r *refreshing) readOne(w *refreshWorker, tr *walk.Tree, rel string) {
	folder, err := tr.FolderAt(path.Dir(rel))
	if err != nil {
		w.unread++
		return
	}
	defer folder.Close()
	h, err := folder.Open(path.Base(rel))
	if err != nil {
		w.unread++
		return
	}
	defer h.Close()
	info, err := h.Stat()
	switch {
	case err != nil || info.Type != walk.File:
		w.unread++
	case info.Size > r.opt.FileBytes:
		w.large++
	default:
		r.look(w, h, r.prefix+rel, identityOf(info, r.now))
	}
}

func (t *codeTree) generation() live.Generation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.since
}

// apply notes what changed.
func (t *codeTree) apply(ch live.Changes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ch.All {
		clear(t.current)
		clear(t.without)
	}
	for _, name := range ch.Removed {
		delete(t.current, name)
		delete(t.without, name)
		delete(t.known, name)
		t.index.Remove(name)
	}
	for _, f := range ch.Changed {
		delete(t.current, f.Rel)
		delete(t.without, f.Rel)
	}
	t.since = ch.Now
}

// knowledge is what is known of a file that did not change since it was looked at.
type knowledge int

const (
	isUnknown knowledge = iota
	isIndexed
	// isOther files have none of the words of the query, isBinary ones no words at all.
	isOther
	isBinary
)

// about returns what is known of a file.
func (t *codeTree) about(name, query string, x *rank.Index) knowledge {
	t.mu.Lock()
	defer t.mu.Unlock()
	indexed, current := t.current[name]
	none, without := t.without[name]
	switch {
	case current && !indexed:
		return isBinary
	case current && x.Has(name):
		return isIndexed
	case without && none == query:
		return isOther
	default:
		return isUnknown
	}
}
