package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
)

// MinAge is how long GC keeps what was changed, whatever room that takes: who relies on undo has a week to notice.
const MinAge = 7 * 24 * time.Hour

// Undoable implements workspace.Journal. It says of the writes and deletes of one call, for each, why what it would replace
// could not be brought back exactly, "" where it could. What is replaced counts against the bounds of one call, of an hour and
// of the whole journal; where it exceeds one, nothing of the call is undoable.
func (j *Journal) Undoable(ctx context.Context, roots map[string]string, effects []tongs.Effect, except func(tongs.Path) string) []string {
	d := newDisk(roots)
	defer d.close()
	return j.undoable(ctx, d, effects, except)
}

func (j *Journal) undoable(ctx context.Context, d *disk, effects []tongs.Effect, except func(tongs.Path) string) []string {
	why := make([]string, len(effects))
	m := measuring{j: j, except: except}
	all := ""
	if j.opt.MaxAge < MinAge {
		all = fmt.Sprintf("changes are kept for %s only (retention.changes), less than the 7 days that undo must be certain for", j.opt.MaxAge)
	}
	for i, e := range effects {
		if all != "" {
			break
		}
		why[i] = m.effect(ctx, d, e)
		all = m.tooMuch()
	}
	if all == "" {
		all = j.full(d.tops[tongs.WorkspaceRoot], m)
	}
	if all != "" {
		for i := range why {
			why[i] = all
		}
	}
	return why
}

// measuring counts what a call would replace.
type measuring struct {
	j      *Journal
	except func(tongs.Path) string
	files  int
	bytes  int64
}

var errEnough = errors.New("enough was counted")

// effect counts what an effect would replace, and says why that could not be brought back.
func (m *measuring) effect(ctx context.Context, d *disk, e tongs.Effect) (why string) {
	fi, err := d.lstat(e.Path)
	if err != nil {
		return err.Error()
	}
	if fi == nil {
		return m.except(e.Path)
	}
	gone := e.Kind == tongs.EffectDelete
	err = d.each(ctx, e.Path, nil, func(p tongs.Path, at *os.Root, name string, fi fs.FileInfo) error {
		if why = m.except(p); why == "" {
			why = m.entry(at, name, fi, gone)
		}
		if why != "" {
			if p != e.Path {
				why = p.String() + ": " + why
			}
			return errEnough
		}
		if m.tooMuch() != "" || !gone { // of a directory that is written to, only the mode changes
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err.Error()
	}
	return why
}

// entry counts one file, link or directory. Gone says that it is deleted.
func (m *measuring) entry(at *os.Root, name string, fi fs.FileInfo, gone bool) string {
	s := stateOf(fi)
	if s.Type != Dir {
		m.files++
		m.bytes += s.Size
	}
	switch {
	case s.Type == Other:
		return "it is a FIFO, a socket or a device"
	case s.Type == Link:
		return ""
	case foreign(fi):
		return "it belongs to another user, and would come back as yours"
	case s.Type == File && s.Size > m.j.opt.MaxFile:
		return fmt.Sprintf("its %s are more than undo keeps of a file (%s)", text.Size(s.Size), text.Size(m.j.opt.MaxFile))
	case s.Type == File && linkCount(fi) > 1:
		return "it is one of several hard links to a file, and would come back as a file of its own"
	}
	f, err := openFile(at, name, fi)
	if err != nil {
		return "it could not be read: " + withoutPath(err)
	}
	defer f.Close()
	if gone && hasAttributes(f) {
		return "it has extended attributes or an access control list, which would not come back"
	}
	return ""
}

// withoutPath is an error without the path, which the caller names.
func withoutPath(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// tooMuch says why a call is too large to be undoable.
func (m *measuring) tooMuch() string {
	switch opt := m.j.opt; {
	case m.files > opt.CallFiles:
		return fmt.Sprintf("it changes or removes more than %d files at once (limits.undoableFiles)", opt.CallFiles)
	case m.bytes > opt.CallBytes:
		return fmt.Sprintf("it changes or removes files of more than %s at once (limits.undoableBytes)", text.Size(opt.CallBytes))
	case m.bytes > opt.MaxChange:
		return fmt.Sprintf("it changes or removes more than undo keeps of one change (%s)", text.Size(opt.MaxChange))
	}
	return ""
}

// full says why nothing more is undoable for now, in the workspace at top, besides what was measured.
func (j *Journal) full(top string, m measuring) string {
	if m.files == 0 {
		return ""
	}
	used, err := j.used.bytes(j)
	if err != nil {
		return "the room for undo is not known: " + err.Error()
	}
	if used+m.bytes > j.opt.MaxBytes {
		return fmt.Sprintf("there is no room to undo it: %s of %s are taken; 'tongs gc' removes changes that are older than 7 days, "+
			"and limits.journalBytes makes room", text.Size(used), text.Size(j.opt.MaxBytes))
	}
	recent, err := j.recent.files(j, top)
	if err != nil {
		return "recent changes are not known: " + err.Error()
	}
	if recent+m.files > j.opt.HourFiles {
		return fmt.Sprintf("in the last hour %d files were changed or removed here without asking, of at most %d (limits.undoableHour)", recent, j.opt.HourFiles)
	}
	return ""
}

// usedFor is how long the size of the journal is taken for known. What this process adds counts at once.
const usedFor = time.Minute

// usage is how much the journal holds.
type usage struct {
	mu   sync.Mutex
	size int64
	at   time.Time
}

func (u *usage) bytes(j *Journal) (int64, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.at.IsZero() && time.Since(u.at).Abs() < usedFor {
		return u.size, nil
	}
	var size int64
	for _, dir := range []string{"blobs", "done"} {
		err := filepath.WalkDir(j.file(dir), func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			fi, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil {
				size += fi.Size()
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	u.size, u.at = size, time.Now()
	return size, nil
}

// add counts what this process put into the journal; forget has all of it counted anew.
func (u *usage) add(n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.size += n
}

func (u *usage) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.at = time.Time{}
}

// window is the time for which changes that nobody was asked about count together.
const window = time.Hour

// recentChanges are the heads of the entries within the window that nobody was asked about.
type recentChanges struct {
	mu    sync.Mutex
	known map[string]Entry
}

// files is how many files such entries replaced or removed in the workspace at top.
func (r *recentChanges) files(j *Journal, top string) (n int, err error) {
	list, err := j.names()
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[string]Entry{}
	for i := len(list) - 1; i >= 0; i-- {
		name := list[i]
		at, ok := timeOf(name)
		if ok && time.Since(at) > window {
			break // names sort by time
		}
		head, seen := r.known[name]
		if !seen {
			e, err := openEntry(j.file("done", name))
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged) {
				continue
			}
			if err != nil {
				return 0, err
			}
			head = e.head
			e.close()
		}
		known[name] = head
		if head.Unasked && head.Roots[tongs.WorkspaceRoot] == top {
			n += head.Gone
		}
	}
	r.known = known
	return n, nil
}

// timeOf is the time in the name of an entry.
func timeOf(id string) (time.Time, bool) {
	raw, err := encoding.DecodeString(strings.TrimPrefix(id, "e_"))
	if err != nil || len(raw) < 8 {
		return time.Time{}, false
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(raw))), true
}
