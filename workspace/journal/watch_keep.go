package journal

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/gitrepo"
	"github.com/tongs-ai/tongs/internal/treestate"
)

// keepNew keeps the contents of files that are new or changed, and notes them in the index.
func (w *Watch) keepNew(ctx context.Context, index *treestate.Index, diffs []treestate.Difference, opt WatchOptions) error {
	var files []treestate.Difference
	for _, d := range diffs {
		if d.New != nil && d.New.Kind == treestate.File {
			files = append(files, d)
		}
	}
	if len(files) == 0 {
		return nil
	}
	tooMuch(index, files, opt.MaxBytes)
	workers := 1
	if len(files) > 32 {
		workers = min(4, max(2, runtime.GOMAXPROCS(0)))
	}
	errs := make([]error, workers)
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			errs[i] = w.keepFiles(ctx, files[i*len(files)/workers:(i+1)*len(files)/workers])
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// tooMuch marks the largest of the files as not to be kept, until the others fit.
func tooMuch(index *treestate.Index, files []treestate.Difference, limit int64) {
	var total int64
	for i := range index.Folders {
		for j := range index.Folders[i].Entries {
			if e := &index.Folders[i].Entries[j]; e.Kind == treestate.File && e.Lost == "" && !strings.Contains("/"+index.Folders[i].Path+"/", "/.git/objects/") {
				total += e.Size
			}
		}
	}
	if total <= limit {
		return
	}
	bySize := slices.Clone(files)
	slices.SortFunc(bySize, func(a, b treestate.Difference) int { return int(min(1, max(-1, b.New.Size-a.New.Size))) })
	for _, d := range bySize {
		if total <= limit {
			return
		}
		d.New.Lost = fmt.Sprintf("the files are more than the %d bytes that are kept of a project", limit)
		total -= d.New.Size
	}
}

func (w *Watch) keepFiles(ctx context.Context, files []treestate.Difference) error {
	d := newDisk(map[string]string{tongs.WorkspaceRoot: w.top})
	defer d.close()
	k := &keeper{j: w.j, left: 1 << 62}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.keepFile(d, k, f); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return nil
}

// keepFile keeps one file. One that cannot be kept says why; an error is one of the journal's own directory.
func (w *Watch) keepFile(d *disk, k *keeper, f treestate.Difference) error {
	e := f.New
	if e.Lost != "" {
		return nil
	}
	if err := w.j.point("watch"); err != nil {
		return err
	}
	at, name, err := d.parent(place(f.Path))
	if err != nil {
		e.Lost, e.Racy = "it changed while it was read", true
		return nil
	}
	var s State
	_, below, inGit := gitDirOf(f.Path)
	if inGit && gitrepo.Restore(below) == gitrepo.Grown {
		s, err = w.linkObject(at, name, k)
		if st, err := treestate.StatOf(filepath.Join(w.top, filepath.FromSlash(f.Path))); err == nil && st.Inode == e.Inode {
			e.Changed = st.Changed // a link more
		}
	} else {
		s, err = k.state(at, name)
	}
	switch {
	case err != nil && ours(err, w.j.opt.Dir):
		return err
	case err != nil:
		e.Lost, e.Racy = "it could not be read", true
		return nil
	case s.Type != File:
		e.Lost, e.Racy = "it changed while it was read", true
		return nil
	}
	if s.Size != e.Size || s.Modified != e.Modified {
		e.Racy = true
		e.Size, e.Modified = s.Size, s.Modified
	}
	raw, _ := hex.DecodeString(s.Hash)
	copy(e.Hash[:], raw)
	e.Kept, e.Lost = s.Hash != "" && s.Lost == "", s.Lost
	if inGit && gitrepo.IsIndex(below) && e.Kept {
		if content, err := w.j.Content(s.Hash); err == nil {
			e.Index, _ = gitrepo.IndexDigest(content)
			_ = content.Close()
		}
	}
	return nil
}

// ours reports whether an error is one of the directory of the journal, or of its disk.
func ours(err error, dir string) bool {
	if at, ok := errors.AsType[*fs.PathError](err); ok && strings.HasPrefix(at.Path, dir) {
		return true
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok && (strings.HasPrefix(at.New, dir) || strings.HasPrefix(at.Old, dir)) {
		return true
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// linkObject keeps an object of git by a hard link where it can: git never writes to one again, and they may be most of a project.
func (w *Watch) linkObject(at *os.Root, name string, k *keeper) (State, error) {
	tmp, err := os.OpenRoot(w.j.file("tmp"))
	if err != nil {
		return State{}, err
	}
	defer tmp.Close()
	s, err := lookIn(at, name, func(f *os.File, size int64) (string, int64, error) {
		sum := sha256.New()
		n, err := io.Copy(sum, f)
		if err != nil {
			return "", 0, err
		}
		hash := hex.EncodeToString(sum.Sum(nil))
		if w.j.blobs.has(hash) {
			return hash, n, nil
		}
		temp := strings.ToLower(rand.Text())
		if linkAt(at, name, tmp, temp) != nil {
			return "", 0, errNoLink
		}
		return hash, n, w.j.blobs.place(w.j.file("tmp", temp), hash, ".r")
	})
	if errors.Is(err, errNoLink) {
		return k.state(at, name)
	}
	return s, err
}

var errNoLink = errors.New("it cannot be linked")
