package grep

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tongs-ai/tongs/internal/search/walk"
)

// unitSize is how many files of a directory a worker searches before it looks for more to do.
const unitSize = 32

// unit is a part of the work: files of one directory that stand together in the order of all paths.
type unit struct {
	dir *walk.Dir
	rel string // the path of the directory, where dir is not set
	// files are the paths below the root; where not all files of a unit are among them, at is which of its size files
	// each one is.
	files []string
	at    []int
	size  int
	known map[int]Known // by index of files
}

// upTo returns how many files of the unit there are up to files[i].
func (u *unit) upTo(i int) int {
	if u.at == nil {
		return i + 1
	}
	return u.at[i] + 1
}

// path returns the path of the directory.
func (u *unit) path() string {
	if u.dir != nil {
		return u.dir.Rel()
	}
	return u.rel
}

// all returns how many files the unit has.
func (u *unit) all() int {
	if u.at == nil {
		return len(u.files)
	}
	return u.size
}

// folder is what a walk found in one directory.
type folder struct {
	dir *walk.Dir
	// key is the path with a slash at its end, "" for the root: what all the paths below begin with.
	key   string
	files []string
}

// list returns the files of a tree as units, in the order of the bytes of their paths.
func list(ctx context.Context, tree *walk.Tree, workers int, pick func(string) bool) ([]unit, error) {
	found := make([]map[*walk.Dir]*folder, workers)
	last := make([]*folder, workers)
	err := tree.Walk(ctx, func(e *walk.Entry) error {
		if e.Type != walk.File || pick != nil && !pick(e.Rel) {
			return nil
		}
		f := last[e.Worker]
		if f == nil || f.dir != e.Dir() {
			f = folderOf(&found[e.Worker], e.Dir())
			last[e.Worker] = f
		}
		f.files = append(f.files, e.Rel)
		return nil
	})
	if err != nil {
		return nil, err
	}
	folders := merge(found)
	sortFolders(folders, workers)
	o := order{folders: folders}
	for at := 0; at < len(folders); {
		at = o.emit(at)
	}
	return o.units, nil
}

func folderOf(found *map[*walk.Dir]*folder, dir *walk.Dir) *folder {
	if *found == nil {
		*found = map[*walk.Dir]*folder{}
	}
	f := (*found)[dir]
	if f == nil {
		f = &folder{dir: dir}
		if rel := dir.Rel(); rel != "." {
			f.key = rel + "/"
		}
		(*found)[dir] = f
	}
	return f
}

// merge puts together what several workers found in the same directory.
func merge(found []map[*walk.Dir]*folder) (folders []*folder) {
	var all map[*walk.Dir]*folder
	for _, part := range found {
		if all == nil {
			all = part
			continue
		}
		for dir, f := range part {
			if first := all[dir]; first != nil {
				first.files = append(first.files, f.files...)
			} else {
				all[dir] = f
			}
		}
	}
	for _, f := range all {
		folders = append(folders, f)
	}
	return folders
}

// sortFolders sorts the folders, and the files in each.
func sortFolders(folders []*folder, workers int) {
	slices.SortFunc(folders, func(a, b *folder) int { return strings.Compare(a.key, b.key) })
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(folders); i = next.Add(1) - 1 {
				slices.Sort(folders[i].files)
			}
		})
	}
	group.Wait()
}

// order makes units of sorted folders.
type order struct {
	folders []*folder
	units   []unit
}

// emit emits a folder and those below it, and returns the index of the first one that is not.
func (o *order) emit(at int) (next int) {
	f := o.folders[at]
	files := f.files
	for next = at + 1; next < len(o.folders) && strings.HasPrefix(o.folders[next].key, f.key); {
		n, _ := slices.BinarySearch(files, o.folders[next].key)
		o.add(f.dir, files[:n])
		files = files[n:]
		next = o.emit(next)
	}
	o.add(f.dir, files)
	return next
}

func (o *order) add(dir *walk.Dir, files []string) {
	for len(files) > 0 {
		n := min(unitSize, len(files))
		o.units = append(o.units, unit{dir: dir, files: files[:n:n]})
		files = files[n:]
	}
}
