package state

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/sqlitefile"
)

// HeadName is the name of the file that names the last entry of the log, outside the database.
const HeadName = "tongs.head"

// The file has two slots, written in turn, so that a write that is cut short leaves the other. Each is in a sector of
// its own. The sum is against accidents: whoever can write the file can also compute it.
const (
	headMagic = "tongshd1"
	slotSize  = 512
	recordLen = 96 // without the sum
	headSize  = 2 * slotSize
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// syncEvery is how many entries the log gets at most before the disk has to confirm them. An unclean restart can
// explain the loss of no more than those.
const syncEvery = 512

var errDamagedHead = errors.New("neither of its two records can be read")

// record is what a slot holds.
type record struct {
	// count is which write this is; the highest is in force.
	count uint64
	id    logID
	seq   int64
	hash  audit.Hash
	// synced is the last entry that the disk confirmed.
	synced int64
	// boot is the start of the machine during which it was written, zero where that is not known.
	boot bootID
}

// logID identifies a log; bootID a start of the machine.
type (
	logID  [16]byte
	bootID [16]byte
)

func (id logID) String() string { return hex.EncodeToString(id[:]) }

func (r *record) head() audit.Head {
	return audit.Head{Log: r.id.String(), Seq: r.seq, Hash: r.hash}
}

// encode appends the record to buf, which is empty.
func (r *record) encode(buf []byte) []byte {
	buf = append(buf, headMagic...)
	buf = binary.LittleEndian.AppendUint64(buf, r.count)
	buf = append(buf, r.id[:]...)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(r.seq))
	buf = append(buf, r.hash[:]...)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(r.synced))
	buf = append(buf, r.boot[:]...)
	return binary.LittleEndian.AppendUint32(buf, crc32.Checksum(buf, castagnoli))
}

func decodeRecord(slot []byte) (r record, ok bool) {
	data := slot[:recordLen]
	if string(data[:8]) != headMagic || binary.LittleEndian.Uint32(slot[recordLen:]) != crc32.Checksum(data, castagnoli) {
		return r, false
	}
	r.count = binary.LittleEndian.Uint64(data[8:])
	copy(r.id[:], data[16:])
	r.seq = int64(binary.LittleEndian.Uint64(data[32:]))
	copy(r.hash[:], data[40:])
	r.synced = int64(binary.LittleEndian.Uint64(data[72:]))
	copy(r.boot[:], data[80:])
	return r, true
}

// readRecord returns the record in force. It needs no lock: what is being written meanwhile is not in force yet.
func readRecord(f *os.File) (record, error) {
	var buf [headSize]byte
	r, err := scanRecords(f, &buf)
	if !errors.Is(err, errDamagedHead) {
		return r, err
	}
	unlock, err := lockFile(f) // two writers in a row may have been in the way
	if err != nil {
		return record{}, err
	}
	defer unlock()
	return scanRecords(f, &buf)
}

func scanRecords(f *os.File, buf *[headSize]byte) (best record, err error) {
	clear(buf[:])
	_, err = f.ReadAt(buf[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return best, fmt.Errorf("state file %s cannot be read: %w", f.Name(), err)
	}
	found := false
	for at := 0; at < headSize; at += slotSize {
		if r, ok := decodeRecord(buf[at : at+slotSize]); ok && (!found || r.count > best.count) {
			best, found = r, true
		}
	}
	if !found {
		return best, errDamagedHead
	}
	return best, nil
}

// head keeps the head file. It is safe for concurrent use.
type head struct {
	path string

	mu sync.Mutex
	f  *os.File // nil until the first entry is added
	id logID
	// own is the entry that this process had the file name last, while it knows of no other process that did so since.
	own point
	// fits is the record that was last found to agree with the log; lost the count of one that did not, of which an entry
	// of the log tells.
	fits record
	lost uint64
	// done is the last entry that the file is known to name or to be past; synced the last that the disk confirmed.
	done, synced int64
	syncing      bool
	background   sync.WaitGroup
	buf          [headSize]byte

	wanted sync.Mutex
	want   point
}

// point is an entry of the log.
type point struct {
	seq  int64
	hash audit.Hash
}

func newHead(dbPath string) *head {
	return &head{path: filepath.Join(filepath.Dir(dbPath), HeadName)}
}

// create makes the file of a log that never had one, with a record of no entries.
func (h *head) create() error {
	f, created, err := sqlitefile.OpenPrivate(h.path, true)
	if err != nil {
		return err
	}
	h.f = f
	if info, err := f.Stat(); err != nil || !created && info.Size() > 0 {
		return err
	}
	first := record{count: 1, id: h.id, boot: thisBoot()}
	data := make([]byte, headSize) // all of it, so that later writes need no space
	copy(data, first.encode(nil))
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return h.failed(err)
	}
	return nil
}

func (h *head) failed(err error) error {
	return fmt.Errorf("state file %s cannot be written: %w: without it the log could be cut off unnoticed", h.path, err)
}

// advance makes the file name an entry that was committed, unless it names it or a later one already.
func (h *head) advance(p point) error {
	h.wanted.Lock()
	if p.seq > h.want.seq {
		h.want = p
	}
	h.wanted.Unlock()

	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done >= p.seq {
		return nil // somebody else's write covered it
	}
	h.wanted.Lock()
	p = h.want
	h.wanted.Unlock()
	if h.f == nil { // it was missing, and the log now tells of that
		if err := h.create(); err != nil {
			return err
		}
	}
	if err := h.write(p); err != nil {
		return err
	}
	h.done = p.seq
	if p.seq-h.synced >= syncEvery && !h.syncing {
		h.syncing = true
		h.background.Go(func() { h.sync(p.seq) })
	}
	return nil
}

// sync has the disk confirm the log up to an entry. Where that fails, a later entry tries again: a loss of what was not
// confirmed has more of an explanation than it should, and that is all.
func (h *head) sync(seq int64) {
	err := syncFiles(h.dbFiles()...)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.syncing = false
	if err == nil && h.f != nil && h.done >= seq {
		_ = h.confirm(seq)
	}
}

// write makes the file name the entry, unless it names it or a later one.
func (h *head) write(p point) error {
	h.own = point{}
	return h.change(func(cur *record, damaged bool) bool {
		switch {
		case damaged, cur.count == h.lost, cur.seq == 0:
			cur.id, cur.synced = h.id, 0
		case cur.id != h.id:
			return false // of another log: the next entry finds that out, inside its transaction
		case p.seq <= cur.seq:
			h.synced = cur.synced
			return false
		}
		cur.seq, cur.hash = p.seq, p.hash
		h.synced, h.own = cur.synced, p
		return true
	})
}

// confirm makes the file say that the disk has the entries up to this one.
func (h *head) confirm(seq int64) error {
	return h.change(func(cur *record, damaged bool) bool {
		if damaged || cur.id != h.id || cur.count == h.lost || seq > cur.seq || seq <= cur.synced {
			return false
		}
		cur.synced, h.synced = seq, seq
		return true
	})
}

// change writes the record that do makes of the one in force, under the file's lock, unless do returns false.
func (h *head) change(do func(cur *record, damaged bool) bool) error {
	unlock, err := lockFile(h.f)
	if err != nil {
		return h.failed(err)
	}
	defer unlock()
	cur, err := scanRecords(h.f, &h.buf)
	damaged := errors.Is(err, errDamagedHead)
	if err != nil && !damaged {
		return err
	}
	if !do(&cur, damaged) {
		return nil
	}
	cur.count, cur.boot = cur.count+1, thisBoot()
	if _, err := h.f.WriteAt(cur.encode(h.buf[:0]), int64(cur.count%2)*slotSize); err != nil {
		h.own = point{}
		return h.failed(err)
	}
	return nil
}

func (h *head) dbFiles() []string {
	db := filepath.Join(filepath.Dir(h.path), FileName)
	return []string{db + "-wal", db}
}

// close ends the use of the file, after the database was closed. Where that left no -wal, the disk confirmed everything.
func (h *head) close() error {
	h.background.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.f == nil {
		return nil
	}
	var err error
	if _, gone := os.Lstat(h.dbFiles()[0]); errors.Is(gone, fs.ErrNotExist) && h.done > 0 {
		err = h.confirm(h.done)
	}
	err = errors.Join(err, h.f.Close())
	h.f = nil
	return err
}

// syncFiles has the disk confirm what was written to files. One that is missing needs no confirmation.
func syncFiles(paths ...string) error {
	for _, path := range paths {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
