package launch

import (
	"time"

	"golang.org/x/sys/unix"
)

// How often the trees are walked. Each walk takes as long as it takes; the pauses after it are multiples of that.
const (
	hintedPause  = 100 * time.Millisecond // after a walk that the free space had asked for, at least
	hintedShare  = 20
	regularPause = time.Second // between walks that nothing asked for, at least
	regularShare = 50
)

// diskWatch notices growth of the trees, which only walking them tells. The free space of a file system is a hint for when
// to walk and no more than that: it has other users, so that it accuses nobody, and since they also remove things, it
// acquits nobody. The trees are therefore walked from time to time in any case.
type diskWatch struct {
	w     *Watch
	start time.Time
	disks []disk
	roots []string // the trees, but for those inside others
	// hinted and regular are when the trees may be walked again because of a hint, and when they are in any case.
	hinted, regular time.Time
}

func newDiskWatch(w *Watch) *diskWatch {
	now := time.Now()
	d := &diskWatch{w: w, start: now, regular: now.Add(regularPause), disks: make([]disk, len(w.Paths)), roots: outermost(w.Paths)}
	for i, path := range w.Paths {
		k := &d.disks[i]
		_ = unix.Statfs(path, &k.last)
		k.mostBlocks, k.mostFiles = k.last.Bfree, k.last.Ffree
	}
	return d
}

// disk is the file system of a tree.
type disk struct {
	last unix.Statfs_t
	// blocks and files are the sums of all decreases of what is free, mostBlocks and mostFiles the most that was.
	blocks, files, mostBlocks, mostFiles uint64
}

// room is what happened to the free space of a file system, in bytes and files: what was taken, whatever was given back,
// and what is missing now.
type room struct{ taken, takenFiles, missing, missingFiles uint64 }

// update looks at a file system. One that does not count its files, and says 0, gives no hint of them.
func (k *disk) update(path string) room {
	var now unix.Statfs_t
	if unix.Statfs(path, &now) == nil {
		k.blocks += k.last.Bfree - min(now.Bfree, k.last.Bfree)
		k.files += k.last.Ffree - min(now.Ffree, k.last.Ffree)
		k.mostBlocks, k.mostFiles, k.last = max(k.mostBlocks, now.Bfree), max(k.mostFiles, now.Ffree), now
	}
	size := uint64(k.last.Bsize)
	return room{k.blocks * size, k.files, (k.mostBlocks - k.last.Bfree) * size, k.mostFiles - k.last.Ffree}
}

// exceeded returns the limit that was exceeded, or "". It gives up walking once stop returns true.
func (d *diskWatch) exceeded(stop func() bool) string {
	if d.w.Disk == 0 && d.w.Files == 0 {
		return ""
	}
	hint := false
	var gone room
	for i, path := range d.w.Paths {
		r := d.disks[i].update(path)
		hint = hint || over(r.taken, d.w.Disk) || over(r.takenFiles, d.w.Files)
		gone.missing, gone.missingFiles = max(gone.missing, r.missing), max(gone.missingFiles, r.missingFiles)
	}
	begin := time.Now()
	if begin.Before(d.regular) && (!hint || begin.Before(d.hinted)) {
		return ""
	}
	c := &census{w: d.w, since: d.start.Add(-time.Second).Unix(), changes: over(gone.missing, d.w.Disk), stop: stop}
	c.take(d.roots)
	end := time.Now()
	took := end.Sub(begin)
	d.hinted, d.regular = end.Add(max(hintedPause, hintedShare*took)), end.Add(max(regularPause, regularShare*took))
	return c.verdict(gone)
}

// verdict returns the limit that was exceeded, or "". Files that were there before may have grown by as much as the disk
// as a whole lost. Where the program keeps us from looking, that loss is all there is to go by.
func (c *census) verdict(gone room) string {
	switch {
	case over(c.fresh, c.w.Disk), over(gone.missing, c.w.Disk) && (c.hidden || over(c.fresh+c.changed, c.w.Disk)):
		return LimitDisk
	case over(c.files, c.w.Files), over(gone.missingFiles, c.w.Files) && c.hidden:
		return LimitFiles
	}
	return ""
}

// over reports whether a value is over a limit, where there is one.
func over(v, limit uint64) bool { return limit > 0 && v > limit }
