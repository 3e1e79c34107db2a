package live

import (
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/search/walk"
)

// dir is a directory of the table. Its root's lock guards it.
type dir struct {
	in   *dir // nil for the root
	rel  string
	name string
	// state is the directory as it was last read, info what the system said of it then, at when that was.
	state *walk.Dir
	info  walk.Info
	at    int64
	watch int32
	// rules is what the system said of its ignore files before they were read, in the order of their kinds.
	rules []walk.Info
	// nodes are its entries, in the order of their paths.
	nodes []*node
	// err is why it could not be read.
	err  error
	gone bool
}

// prefix is what the paths below the directory begin with.
func (d *dir) prefix() string {
	if d.rel == "" {
		return ""
	}
	return d.rel + "/"
}

// node is an entry of a directory.
type node struct {
	id   uint32
	typ  walk.Type
	flag flag
	rel  string
	in   *dir
	sub  *dir // of a directory
	info walk.Info
	// twin is another node of the same file, where there is one.
	twin *node
	// version counts the times that something may have changed, change is the generation of the last time.
	version uint32
	change  uint64
	// seg is where it is indexed, as the file number doc; nil where it is searched directly.
	seg *segment
	doc int32
}

// flag is what is known of a file.
type flag uint8

const (
	// unsure: what is in info may not hold any more.
	unsure flag = 1 << iota
	// isBinary: a search passes over it.
	isBinary
	// isOdd: what it holds may match although no trigram of it says so.
	isOdd
	// isWhole: it is not searched in parts.
	isWhole
	// isFresh: a change right after it was read would not show in its times.
	isFresh
	// isDirect: it cannot be indexed.
	isDirect
	// isGone: it is not in the table any more.
	isGone
)

// ofContent are the flags that say what is in a file.
const ofContent = isBinary | isOdd | isWhole | isFresh | isDirect

func (n *node) has(f flag) bool { return n.flag&f != 0 }

// name returns the last element of the path.
func (n *node) name() string { return n.rel[strings.LastIndexByte(n.rel, '/')+1:] }

// find returns the entry of that name, nil where there is none.
func (d *dir) find(name string) *node {
	full := d.prefix() + name
	for _, isDir := range []bool{false, true} {
		i, ok := slices.BinarySearchFunc(d.nodes, full, func(n *node, full string) int {
			return walk.Order(n.rel, n.typ == walk.Directory, full, isDir)
		})
		if ok && (d.nodes[i].typ == walk.Directory) == isDir {
			return d.nodes[i]
		}
	}
	return nil
}

// lookup returns the directory at rel, "" being the root; nil where there is none.
func (r *root) lookup(rel string) *dir {
	d := r.tree
	for rel != "" && d != nil {
		var name string
		name, rel, _ = strings.Cut(rel, "/")
		n := d.find(name)
		if n == nil || n.sub == nil {
			return nil
		}
		d = n.sub
	}
	return d
}

// each visits all directories, each before those in it.
func (d *dir) each(visit func(*dir)) {
	visit(d)
	for _, n := range d.nodes {
		if n.sub != nil {
			n.sub.each(visit)
		}
	}
}

// same reports whether two looks at a file found the same content, as far as they tell.
func same(a, b walk.Info) bool {
	return a.Type == b.Type && a.Size == b.Size && a.Modified == b.Modified && a.Changed == b.Changed &&
		a.Inode == b.Inode && a.Device == b.Device
}

// nodeBytes estimates what a file of the table takes, in the views that are remembered too.
const nodeBytes = 384

// create adds a node to the table. It is searched directly until it is indexed.
func (r *root) create(n *node) {
	n.id = r.nextID
	if free := len(r.freeIDs); free > 0 {
		n.id = r.freeIDs[free-1]
		r.freeIDs = r.freeIDs[:free-1]
	} else {
		r.nextID++
	}
	r.shape++
	if n.typ != walk.File {
		return
	}
	r.changed(n)
	r.files++
	r.link(n)
	id := identityOf(n.info)
	if old := r.limbo[id]; old != nil && same(old.info, n.info) {
		delete(r.limbo, id)
		r.adopt(n, old)
		return
	}
	r.direct[n] = struct{}{}
}

// identity is what a file keeps when it gets another name.
type identity struct{ device, inode uint64 }

func identityOf(i walk.Info) identity { return identity{i.Device, i.Inode} }

// link puts a file beside the other names of it.
func (r *root) link(n *node) {
	id := identityOf(n.info)
	if id.inode == 0 {
		return
	}
	n.twin = r.byFile[id]
	r.byFile[id] = n
	if n.info.Links > 1 || n.twin != nil {
		r.watchFile(n)
	}
}

// unlink takes it away from them.
func (r *root) unlink(n *node) {
	id := identityOf(n.info)
	if id.inode == 0 {
		return
	}
	first := r.byFile[id]
	switch {
	case first == n && n.twin == nil:
		delete(r.byFile, id)
		r.unwatchFile(id)
	case first == n:
		r.byFile[id] = n.twin
	default:
		for ; first != nil; first = first.twin {
			if first.twin == n {
				first.twin = n.twin
				break
			}
		}
	}
	n.twin = nil
}

// describe takes up what the system says of a file now.
func (r *root) describe(n *node, info walk.Info) {
	n.flag &^= unsure
	if n.typ != walk.File || identityOf(info) == identityOf(n.info) && (info.Links > 1) == (n.info.Links > 1) {
		n.info = info
		return
	}
	r.unlink(n)
	n.info = info
	r.link(n)
}

// adopt gives a new node what was known of the same file by another name.
func (r *root) adopt(n, old *node) {
	r.mark(n, old.flag&ofContent)
	if old.seg == nil && !n.has(isBinary) {
		r.direct[n] = struct{}{}
		return
	}
	if n.seg, n.doc = old.seg, old.doc; n.seg != nil {
		n.seg.nodes[n.doc] = n
		n.seg.live++
	}
}

// touch says that what is in a file may have changed.
func (r *root) touch(n *node) {
	n.version++
	n.flag |= unsure
	if n.typ != walk.File {
		return
	}
	r.changed(n)
	r.mark(n, 0)
	r.unindex(n)
	r.direct[n] = struct{}{}
}

// mark sets what is known of the content of a file.
func (r *root) mark(n *node, f flag) {
	n.flag = n.flag&^ofContent | f
	keep(r.binary, n, n.has(isBinary))
	keep(r.odd, n, n.has(isOdd))
}

func keep(set map[*node]struct{}, n *node, in bool) {
	if in {
		set[n] = struct{}{}
	} else {
		delete(set, n)
	}
}

func (r *root) unindex(n *node) {
	if n.seg != nil {
		n.seg.live--
		n.seg = nil
	}
}

// remove takes an entry out of the table, with all that is below it.
func (r *root) remove(n *node) {
	if n.sub != nil {
		r.removeDir(n.sub)
	}
	n.flag |= isGone
	n.version++
	r.shape++
	r.freeIDs = append(r.freeIDs, n.id)
	if n.typ != walk.File {
		return
	}
	r.files--
	r.unlink(n)
	if n.info.Inode != 0 && !n.has(unsure) && r.s.settled(n.info, r.now) {
		keep := *n
		r.limbo[identityOf(n.info)] = &keep
	}
	r.unindex(n)
	r.mark(n, 0)
	delete(r.direct, n)
	r.log(n.rel)
}

func (r *root) removeDir(d *dir) {
	d.gone = true
	r.unwatchDir(d)
	for _, n := range d.nodes {
		r.remove(n)
	}
	d.nodes = nil
	r.dirs--
	delete(r.repos, d)
}
