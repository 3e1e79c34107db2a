package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tongs-ai/tongs/internal/search/ignore"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// tooLarge is why a root is not indexed.
type tooLarge struct{ limit int64 }

func (e *tooLarge) Error() string {
	return fmt.Sprintf("the index would take more than %d MiB, which is what all indexes may take together; searches read the files instead", e.limit>>20)
}

var errLost = errors.New("the directory was moved or removed")

// settle is how old a change must be for a later one to have another time: the coarsest clock of a file system has
// steps of two seconds.
const settle = 2100 * time.Millisecond

// settled reports whether a change of the file after now shows in its times.
func (s *Service) settled(i walk.Info, now int64) bool {
	return max(i.Changed, i.Modified) < now-int64(s.settle)
}

// refresh brings the table up to date. With sweep it looks at every file.
func (r *root) refresh(ctx context.Context, sweep bool) error {
	began := time.Now()
	if err := r.update(ctx, began, sweep); err != nil {
		return err
	}
	r.current = began
	return nil
}

func (r *root) update(ctx context.Context, began time.Time, sweep bool) error {
	r.now = began.UnixNano()
	r.generation++
	defer clear(r.limbo)
	touched, overflow, err := r.drain()
	if err != nil {
		return err
	}
	if err := r.rules(ctx); err != nil {
		return err
	}
	r.doubt = r.doubt || overflow
	if overflow || sweep || r.watch == nil {
		return r.sweep(ctx)
	}
	dirs := make([]*dir, 0, len(touched))
	for d := range touched {
		dirs = append(dirs, d)
	}
	slices.SortFunc(dirs, func(a, b *dir) int { return strings.Compare(a.rel, b.rel) })
	for _, d := range dirs {
		if d.gone {
			continue
		}
		t := touched[d]
		if t.list {
			if err := r.read(ctx, d, look{names: t.names}); err != nil {
				return err
			}
			continue
		}
		for name := range t.names {
			if n := d.find(name); n != nil {
				r.touch(n)
			}
		}
	}
	return nil
}

// rules reads again what says from elsewhere what is ignored: the directories above the root, and git's own files.
func (r *root) rules(ctx context.Context) error {
	tree, err := r.open()
	if err != nil {
		return err
	}
	if r.walk != nil {
		_ = r.walk.Close()
	}
	r.walk = tree
	if err := r.read(ctx, r.tree, look{}); err != nil {
		return err
	}
	repos := make([]*dir, 0, len(r.repos))
	for d := range r.repos {
		repos = append(repos, d)
	}
	slices.SortFunc(repos, func(a, b *dir) int { return strings.Compare(a.rel, b.rel) })
	for _, d := range repos {
		if d.gone || d == r.tree {
			continue
		}
		if err := r.read(ctx, d, look{}); err != nil {
			return err
		}
	}
	return nil
}

func (r *root) open() (*walk.Tree, error) {
	return walk.Open(walk.Options{Root: r.top, Ignore: r.s.ignore, Workers: 1})
}

// look says what of a directory is looked at besides which entries there are.
type look struct {
	// names are entries of which it is known that something happened to them. With all, every entry is compared with what
	// is known of it; with deep, the directories below are looked at in the same way.
	names     map[string]bool
	all, deep bool
}

// read reads a directory again, or for the first time, and the directories below it that are new or may be others.
func (r *root) read(ctx context.Context, d *dir, l look) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	m := &merge{r: r, d: d, look: l, old: d.nodes, nodes: make([]*node, 0, len(d.nodes))}
	var in *walk.Dir
	if d.in != nil {
		in = d.in.state
	}
	state, err := r.walk.Read(ctx, in, d.name, m.opened, m.visit)
	if err != nil {
		return r.unreadable(ctx, d, err)
	}
	m.rest(len(m.old))
	deep := l.deep || d.state != nil && !d.state.SameRules(state)
	d.nodes, d.state, d.err = m.nodes, state, nil
	if d.at = r.now; state.Repository() {
		r.repos[d] = struct{}{}
	} else {
		delete(r.repos, d)
	}
	return r.below(ctx, m, deep)
}

// below reads the directories in one that was read, as far as they are new or may be others.
func (r *root) below(ctx context.Context, m *merge, deep bool) error {
	var subs []*dir
	for _, n := range m.nodes {
		if n.sub != nil {
			subs = append(subs, n.sub)
		}
	}
	for _, d := range subs {
		var next look
		switch {
		case d.gone:
			continue
		case m.look.names[d.name]:
			next = look{all: true, deep: true}
		case d.state == nil && d.err == nil: // it is new, and so is all that is in it
		case deep:
			next = look{all: m.look.all, deep: true}
		default:
			continue
		}
		if err := r.read(ctx, d, next); err != nil {
			return err
		}
	}
	return nil
}

// drop takes nodes with a flag out of a directory.
func (d *dir) drop(f flag) {
	d.nodes = slices.DeleteFunc(d.nodes, func(n *node) bool { return n.has(f) })
}

// unreadable deals with a directory that could not be read.
func (r *root) unreadable(ctx context.Context, d *dir, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*tooLarge](err); ok {
		return err
	}
	missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, walk.ErrExcluded) ||
		errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
	if d.in == nil {
		if missing {
			return errLost
		}
		return err
	}
	if missing {
		if n := d.in.find(d.name); n != nil && n.sub == d {
			r.remove(n)
			d.in.drop(isGone)
		}
		return nil
	}
	for _, n := range d.nodes {
		r.remove(n)
	}
	d.nodes, d.err = nil, err
	return nil
}

// merge is the reading of a directory: its entries beside those that are known.
type merge struct {
	r    *root
	d    *dir
	look look
	old  []*node
	at   int
	// nodes are the entries as they are now.
	nodes []*node
}

// opened watches the directory before it is read.
func (m *merge) opened(f walk.Folder) error {
	info, err := f.Stat(".")
	if err != nil {
		return err
	}
	if m.d.in == nil && m.d.state != nil && identityOf(info) != identityOf(m.d.info) {
		return errLost
	}
	if m.d.in == nil || info.Device != m.d.in.info.Device {
		m.r.remoteCheck(f)
	}
	m.d.info, m.d.rules = info, ignoreFiles(f, m.d.rules[:0])
	return m.r.watchDir(m.d, f)
}

// ignoreFiles appends what the system says of the ignore files of a directory. Without any it appends nothing.
func ignoreFiles(f walk.Folder, to []walk.Info) []walk.Info {
	some := false
	for k := range len(ignore.Files{}) {
		info, err := f.Stat(ignore.Kind(k).String())
		some = some || err == nil
		to = append(to, info)
	}
	if !some {
		return to[:len(to)-len(ignore.Files{})]
	}
	return to
}

// rest takes out the known entries up to an index, which are not there any more.
func (m *merge) rest(to int) {
	for ; m.at < to; m.at++ {
		m.r.remove(m.old[m.at])
	}
}

// visit takes up an entry.
func (m *merge) visit(e *walk.Entry) error {
	isDir := e.Type == walk.Directory
	to := m.at
	for to < len(m.old) && walk.Order(m.old[to].rel, m.old[to].typ == walk.Directory, e.Rel, isDir) < 0 {
		to++
	}
	m.rest(to)
	var n *node
	if m.at < len(m.old) && m.old[m.at].rel == e.Rel && (m.old[m.at].typ == walk.Directory) == isDir {
		if n = m.old[m.at]; n.typ != e.Type {
			m.rest(m.at + 1)
			n = nil
		} else {
			m.at++
		}
	}
	if n == nil {
		return m.create(e)
	}
	m.nodes = append(m.nodes, n)
	if isDir || !m.look.all && !m.look.names[e.Name()] {
		return nil
	}
	info, err := e.Stat()
	switch {
	case err != nil || info.Type != n.typ:
		m.r.touch(n)
	case m.look.names[e.Name()] || n.has(unsure) || m.r.differs(n, info):
		m.r.touch(n)
		m.r.describe(n, info)
	}
	return nil
}

// create takes up an entry that was not known.
func (m *merge) create(e *walk.Entry) error {
	n := &node{typ: e.Type, rel: e.Rel, in: m.d}
	if e.Type == walk.Directory {
		n.sub = &dir{in: m.d, rel: e.Rel, name: e.Name()}
		m.r.dirs++
	} else {
		info, err := e.Stat()
		if err != nil {
			return nil // it is gone already
		}
		n.info = info
	}
	m.r.create(n)
	m.nodes = append(m.nodes, n)
	if m.r.nextID%(1<<14) == 0 {
		return m.r.account()
	}
	return nil
}
