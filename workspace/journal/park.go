package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/zstd"

	"github.com/tongs-ai/tongs"
)

// The bounds of what waits. MaxParked is how many transactions wait at most; ErrParked says that one was not kept.
const (
	MaxParked = 100
	// maxParkedPaths is how many paths one has, with those in directories that go.
	maxParkedPaths = 50_000
	// maxParkedBytes is how much one writes and replaces, maxAllParked how much all of them write.
	maxParkedBytes = 256 << 20
	maxAllParked   = 1 << 30
	// maxManifest is the size of a file in parked.
	maxManifest = 64 << 20
)

// ErrParked is why a transaction does not wait: it is too large, or too many do.
var ErrParked = errors.New("it cannot wait for an answer")

// Parked is a transaction in waiting: what it would change, and what it replaces. It is kept in a file of its own with the
// contents that it writes, until it expires or is unparked. Nothing is changed by it.
type Parked struct {
	// Entry is what Begin will be given. ID names what waits, not the entry that comes of it.
	Entry
	Expires time.Time `json:"expires"`
	// Bytes is how much it writes.
	Bytes int64 `json:"bytes"`
	// List is what it would do: to a path, or from one to another. Before is what was at the path, or where it comes from.
	List []Change `json:"-"`
	// Within is what was in directories that go, each with the state before.
	Within []Change `json:"-"`
}

// Park keeps a transaction for later. Of each change in the list, Path, From and After must be set, the latter without a
// hash; open returns the content of the file that the numbered one writes. What is there now is what it replaces. The receipt
// is all that gets it back.
func (j *Journal) Park(ctx context.Context, p *Parked, open func(i int) (*os.File, error)) (receipt Receipt, err error) {
	if len(p.List) == 0 || len(p.List) > maxParkedPaths {
		return receipt, fmt.Errorf("%w: it has %d changes", ErrParked, len(p.List))
	}
	release, err := j.share(ctx)
	if err != nil {
		return receipt, err
	}
	defer release()
	unlock, err := j.lockParking(ctx)
	if err != nil {
		return receipt, err
	}
	defer unlock()
	left, err := j.roomForParked()
	if err != nil {
		return receipt, err
	}
	if err := j.lookBefore(ctx, p); err != nil {
		return receipt, err
	}
	for i := range p.List {
		if p.List[i].After.Type != File {
			continue
		}
		if err := j.keepAfter(&p.List[i].After, min(left, maxParkedBytes)-p.Bytes, i, open); err != nil {
			return receipt, fmt.Errorf("%s: %w", p.List[i].Path, err)
		}
		p.Bytes += p.List[i].After.Size
	}
	p.ID, p.Time = j.newID()
	data, err := p.encode()
	if err != nil {
		return receipt, err
	}
	if len(data) > maxManifest {
		return receipt, fmt.Errorf("%w: its list has %d bytes", ErrParked, len(data))
	}
	if err := j.writeFile(j.file("parked", p.ID), data, true); err != nil {
		return receipt, err
	}
	j.syncDir(j.file("parked"))
	sum := sha256.Sum256(data)
	return Receipt{ID: p.ID, Digest: hex.EncodeToString(sum[:])}, nil
}

// Receipt names a transaction that waits, and what it must be like.
type Receipt struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
}

// LockApplying lets one process at a time make changes that waited, until release is called or the process ends.
func (j *Journal) LockApplying(ctx context.Context) (release func(), err error) {
	return lockPath(ctx, j.file("applying"), (*flock.Flock).TryLock)
}

// lockParking lets one process at a time park changes.
func (j *Journal) lockParking(ctx context.Context) (release func(), err error) {
	return lockPath(ctx, j.file("parking"), (*flock.Flock).TryLock)
}

// roomForParked removes what expired, and returns how many bytes there is room for.
func (j *Journal) roomForParked() (int64, error) {
	count, left := 0, int64(maxAllParked)
	err := j.eachParked(func(name string, p *Parked, err error) error {
		if err != nil || !time.Now().Before(p.Expires) {
			return os.Remove(j.file("parked", name))
		}
		count++
		left -= p.Bytes
		return nil
	})
	if err == nil && (count >= MaxParked || left <= 0) {
		err = fmt.Errorf("%w: %d others do", ErrParked, count)
	}
	return left, err
}

// eachParked calls f with all that waits. What cannot be read is an error for f.
func (j *Journal) eachParked(f func(name string, p *Parked, err error) error) error {
	list, err := os.ReadDir(j.file("parked"))
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for _, e := range list {
		var p *Parked
		data, err := readBounded(j.file("parked", e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			p, err = decodeParked(data)
		}
		if err := f(e.Name(), p, err); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// lookBefore writes down what the changes replace.
func (j *Journal) lookBefore(ctx context.Context, p *Parked) error {
	d := newDisk(p.Roots)
	defer d.close()
	left := int64(maxParkedBytes)
	for i := range p.List {
		c := &p.List[i]
		at := c.Path
		if c.From != nil {
			at = *c.From
		}
		fi, err := d.lstat(at)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		c.Before = State{}
		if fi == nil {
			continue
		}
		if c.Before, err = lookBounded(d, at, fi, &left); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if !c.goesWhole() {
			continue
		}
		err = d.each(ctx, at, nil, func(q tongs.Path, dir *os.Root, name string, fi fs.FileInfo) error {
			if q == at {
				return nil
			}
			if len(p.Within)+len(p.List) >= maxParkedPaths {
				return fmt.Errorf("%w: it removes more than %d paths", ErrParked, maxParkedPaths)
			}
			s, err := lookSmall(dir, name, fi, &left)
			p.Within = append(p.Within, Change{Path: q, Before: s})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// goesWhole reports whether a directory goes with everything in it.
func (c *Change) goesWhole() bool {
	return c.Before.Type == Dir && (c.After.Type != Dir || c.From != nil)
}

// lookBounded is look for a content within a bound.
func lookBounded(d *disk, p tongs.Path, fi fs.FileInfo, left *int64) (State, error) {
	at, name, err := d.parent(p)
	if err != nil {
		return State{}, err
	}
	return lookSmall(at, name, fi, left)
}

func lookSmall(at *os.Root, name string, fi fs.FileInfo, left *int64) (State, error) {
	if fi.Mode().IsRegular() {
		if *left -= fi.Size(); *left < 0 {
			return State{}, fmt.Errorf("%w: it replaces more than %d MiB", ErrParked, maxParkedBytes>>20)
		}
	}
	return lookIn(at, name, hashOf)
}

// keepAfter keeps the content of a file that would be written.
func (j *Journal) keepAfter(s *State, left int64, i int, open func(int) (*os.File, error)) error {
	f, err := open(i)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if fi.Size() > left || fi.Size() > j.opt.MaxFile {
		return fmt.Errorf("%w: it writes more than can be kept", ErrParked)
	}
	s.Hash, s.Size, err = j.blobs.keep(f, fi.Size())
	if errors.Is(err, errTooLarge) {
		err = fmt.Errorf("%w: it writes more than can be kept", ErrParked)
	}
	return err
}

// Parked returns what waits under a receipt. What is not exactly what was parked is an error.
func (j *Journal) Parked(r Receipt) (*Parked, error) {
	if err := r.valid(); err != nil {
		return nil, err
	}
	data, err := readBounded(j.file("parked", r.ID))
	if err != nil {
		return nil, fmt.Errorf("journal: the changes that waited cannot be read: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != r.Digest {
		return nil, fmt.Errorf("journal: the changes that waited as %s are not those that were shown", r.ID)
	}
	p, err := decodeParked(data)
	if err == nil && p.ID != r.ID {
		err = fmt.Errorf("journal: %s is not %s", p.ID, r.ID)
	}
	return p, err
}

// valid refuses an ID that is no name in parked.
func (r Receipt) valid() error {
	if !strings.HasPrefix(r.ID, "e_") || strings.ContainsAny(r.ID, `/\.`) {
		return fmt.Errorf("journal: %q names nothing that waits", r.ID)
	}
	return nil
}

// Unpark removes what waits. What its contents took is for GC.
func (j *Journal) Unpark(r Receipt) error {
	if err := r.valid(); err != nil {
		return err
	}
	if err := os.Remove(j.file("parked", r.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Check returns an error where what the changes replace is not as it was when they were parked: a *ConflictError. Changes
// are some of the list.
func (p *Parked) Check(ctx context.Context, changes []Change) error {
	d := newDisk(p.Roots)
	defer d.close()
	found := &ConflictError{}
	within := map[string]string{} // other roots may not be there
	for i := range changes {
		within[changes[i].Path.Root] = p.Roots[changes[i].Path.Root]
	}
	for name, dir := range within {
		if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
			found.Conflicts = append(found.Conflicts, Conflict{tongs.Path{Root: name, Rel: "."}, "it is gone, or a link leads there now"})
			return found
		}
	}
	differ := func(at tongs.Path, was State) {
		now, err := d.look(at)
		why := ""
		if err != nil {
			why = err.Error()
		} else {
			why = was.differs(now)
		}
		if why != "" {
			found.Conflicts = append(found.Conflicts, Conflict{at, why})
		}
	}
	for i := range changes {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := &changes[i]
		at := c.Path
		if c.From != nil {
			at = *c.From
			differ(c.Path, State{})
		}
		before := len(found.Conflicts)
		differ(at, c.Before)
		if c.goesWhole() && len(found.Conflicts) == before {
			p.checkWithin(ctx, d, at, found, differ)
		}
	}
	if len(found.Conflicts) > 0 {
		return found
	}
	return nil
}

// checkWithin compares what is in a directory that goes.
func (p *Parked) checkWithin(ctx context.Context, d *disk, dir tongs.Path, found *ConflictError, differ func(tongs.Path, State)) {
	was := map[tongs.Path]State{}
	for _, w := range p.Within {
		if dir.Contains(w.Path) {
			was[w.Path] = w.Before
		}
	}
	there := map[tongs.Path]bool{}
	err := d.each(ctx, dir, nil, func(q tongs.Path, _ *os.Root, _ string, _ fs.FileInfo) error {
		there[q] = true
		if _, ok := was[q]; !ok && q != dir {
			found.Conflicts = append(found.Conflicts, Conflict{q, "it exists now"})
		}
		return nil
	})
	if err != nil {
		found.Conflicts = append(found.Conflicts, Conflict{dir, err.Error()})
		return
	}
	for _, w := range p.Within {
		if s, ok := was[w.Path]; ok {
			differ(w.Path, s)
		}
	}
}

// parkedHead is the first line of a file in parked. What is listed comes first, then what is within.
type parkedHead struct {
	Parked
	Top  map[string]string `json:"top"`
	Does int               `json:"does"`
}

func (p *Parked) encode() ([]byte, error) {
	head := parkedHead{Parked: *p, Top: map[string]string{}, Does: len(p.List)}
	head.Roots, head.Changes = nil, len(p.List)+len(p.Within)
	for name, dir := range p.Roots { // which may be any bytes
		head.Top[name] = quote(dir)
	}
	var buf bytes.Buffer
	z, err := zstd.NewWriter(&buf, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	enc := json.NewEncoder(z)
	enc.SetEscapeHTML(false)
	err = enc.Encode(&head)
	for _, list := range [][]Change{p.List, p.Within} {
		for i := range list {
			if err == nil {
				err = enc.Encode(&list[i])
			}
		}
	}
	err = errors.Join(err, z.Close())
	return buf.Bytes(), err
}

func decodeParked(data []byte) (*Parked, error) {
	z, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	damaged := func(err error) (*Parked, error) {
		return nil, fmt.Errorf("journal: parked changes: %w: %w", errDamaged, err)
	}
	dec := json.NewDecoder(z)
	var head parkedHead
	if err := dec.Decode(&head); err != nil {
		return damaged(err)
	}
	p := head.Parked
	p.Roots = map[string]string{}
	for name, dir := range head.Top {
		if p.Roots[name], err = unquote(dir); err != nil {
			return damaged(err)
		}
	}
	if head.Changes > maxParkedPaths+1 || head.Does > head.Changes {
		return damaged(fmt.Errorf("it has %d changes", head.Changes))
	}
	for n := range head.Changes {
		var c Change
		if err := dec.Decode(&c); err != nil {
			return damaged(err)
		}
		if n < head.Does {
			p.List = append(p.List, c)
		} else {
			p.Within = append(p.Within, c)
		}
	}
	return &p, nil
}

// readBounded reads a file of at most the size of a manifest.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err == nil && len(data) > maxManifest {
		err = errors.New("it is too large")
	}
	return data, err
}

// ID returns the ID that the entry will have.
func (t *Txn) ID() string { return t.head.ID }

// Made reports whether there is an entry of this ID: the change was made, whatever became of the process.
func (j *Journal) Made(id string) bool {
	if (Receipt{ID: id}).valid() != nil {
		return false
	}
	_, err := os.Lstat(j.file("done", id))
	return err == nil
}
