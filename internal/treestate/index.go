// Package treestate knows what a directory tree had in it when it was last looked at, and finds what is different now. It looks at
// what a stat tells; contents are for others to read and keep, and are known here by their hash.
//
// Directories that tools make again, such as node_modules, are left out: see [Recreated].
package treestate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"slices"
	"strings"
)

// Kind is what an entry is.
type Kind uint8

// The kinds. Other is a FIFO, a socket or a device.
const (
	File Kind = iota + 1
	Dir
	Link
	Other
)

// HashSize is the length of the hash of a content.
const HashSize = 32

// Entry is something in a directory, as it was when it was looked at.
type Entry struct {
	Name string
	Kind Kind
	// Apart says why nothing is known of what is in a directory, NotApart where it is.
	Apart Apart
	// Racy says that the file was written to so shortly before that a later change might leave the same times.
	Racy bool
	// Kept says that the content is in a store under Hash; Lost why it is not.
	Kept bool
	Lost string
	Stat
	Hash [HashSize]byte
	// Index identifies what the index of a git repository lists.
	Index  string
	Target string
}

// Stat is what identifies the state of a file without reading it.
type Stat struct {
	Mode                    fs.FileMode
	Device, Inode           uint64
	Size, Modified, Changed int64
	UID, GID                uint32
}

// Apart says why a directory is not looked into.
type Apart uint8

// The reasons.
const (
	NotApart Apart = iota
	Recreatable
	OtherFileSystem
)

// Folder is a directory with its entries, sorted by name.
type Folder struct {
	// Path is below the top, with slashes; "." is the top.
	Path    string
	Entries []Entry
	// Unread says that it could not be read when it was last looked at; the entries are those from before.
	Unread bool
}

// Index is a tree, its folders sorted by path.
type Index struct {
	// Taken is when it was looked at, in nanoseconds since 1970.
	Taken   int64
	Folders []Folder
}

// Find returns the entry at a path, nil where there is none.
func (x *Index) Find(path string) *Entry {
	dir, name := split(path)
	f := x.Folder(dir)
	if f == nil {
		return nil
	}
	return f.find(name)
}

// Folder returns the folder at a path, nil where there is none.
func (x *Index) Folder(path string) *Folder {
	i, ok := slices.BinarySearchFunc(x.Folders, path, func(f Folder, p string) int { return strings.Compare(f.Path, p) })
	if !ok {
		return nil
	}
	return &x.Folders[i]
}

func (f *Folder) find(name string) *Entry {
	i, ok := slices.BinarySearchFunc(f.Entries, name, func(e Entry, n string) int { return strings.Compare(e.Name, n) })
	if !ok {
		return nil
	}
	return &f.Entries[i]
}

// Files counts the files, and the bytes in them.
func (x *Index) Files() (files int, size int64) {
	for i := range x.Folders {
		for j := range x.Folders[i].Entries {
			if e := &x.Folders[i].Entries[j]; e.Kind == File {
				files++
				size += e.Size
			}
		}
	}
	return files, size
}

func split(path string) (dir, name string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return ".", path
}

func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// magic begins a file that Encode made, with the version of its form.
var magic = []byte("tongs-treestate 1\n")

var errDamaged = errors.New("the state is damaged")

const (
	flagRacy = 1 << iota
	flagKept
	flagLost
	flagIndex
)

// Encode returns the index as bytes.
func (x *Index) Encode() []byte {
	b := slices.Clone(magic)
	b = binary.AppendVarint(b, x.Taken)
	b = binary.AppendUvarint(b, uint64(len(x.Folders)))
	for i := range x.Folders {
		f := &x.Folders[i]
		b = text(b, f.Path)
		b = binary.AppendUvarint(b, uint64(len(f.Entries)))
		unread := byte(0)
		if f.Unread {
			unread = 1
		}
		b = append(b, unread)
		for j := range f.Entries {
			b = f.Entries[j].encode(b)
		}
	}
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func text(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func (e *Entry) encode(b []byte) []byte {
	var flags byte
	for _, f := range []struct {
		set bool
		bit byte
	}{{e.Racy, flagRacy}, {e.Kept, flagKept}, {e.Lost != "", flagLost}, {e.Index != "", flagIndex}} {
		if f.set {
			flags |= f.bit
		}
	}
	b = text(b, e.Name)
	b = append(b, byte(e.Kind), byte(e.Apart), flags)
	for _, n := range []uint64{uint64(e.Mode), e.Device, e.Inode, uint64(e.UID), uint64(e.GID)} {
		b = binary.AppendUvarint(b, n)
	}
	for _, n := range []int64{e.Size, e.Modified, e.Changed} {
		b = binary.AppendVarint(b, n)
	}
	switch e.Kind {
	case File:
		b = append(b, e.Hash[:]...)
	case Link:
		b = text(b, e.Target)
	}
	if e.Lost != "" {
		b = text(b, e.Lost)
	}
	if e.Index != "" {
		b = text(b, e.Index)
	}
	return b
}

// Decode reads what Encode wrote.
func Decode(data []byte) (*Index, error) {
	rest, ok := bytes.CutPrefix(data, magic)
	if !ok || len(rest) < 4 {
		return nil, errDamaged
	}
	end := len(data) - 4
	if binary.BigEndian.Uint32(data[end:]) != crc32.ChecksumIEEE(data[:end]) {
		return nil, errDamaged
	}
	r := &reader{s: string(rest[:len(rest)-4])}
	x := &Index{Taken: r.signed()}
	folders := r.count()
	x.Folders = make([]Folder, 0, folders)
	for range folders {
		f := Folder{Path: r.text()}
		entries := r.count()
		f.Unread = r.byte() != 0
		f.Entries = make([]Entry, entries)
		for i := range f.Entries {
			r.entry(&f.Entries[i])
		}
		if r.bad {
			return nil, errDamaged
		}
		x.Folders = append(x.Folders, f)
	}
	if r.bad || r.s != "" {
		return nil, errDamaged
	}
	return x, nil
}

// reader takes values off the front of a string, so that names share its memory.
type reader struct {
	s   string
	bad bool
}

func (r *reader) entry(e *Entry) {
	e.Name = r.text()
	e.Kind, e.Apart = Kind(r.byte()), Apart(r.byte())
	flags := r.byte()
	e.Racy, e.Kept = flags&flagRacy != 0, flags&flagKept != 0
	e.Mode, e.Device, e.Inode = fs.FileMode(r.unsigned()), r.unsigned(), r.unsigned()
	e.UID, e.GID = uint32(r.unsigned()), uint32(r.unsigned())
	e.Size, e.Modified, e.Changed = r.signed(), r.signed(), r.signed()
	switch e.Kind {
	case File:
		copy(e.Hash[:], r.take(HashSize))
	case Link:
		e.Target = r.text()
	}
	if flags&flagLost != 0 {
		e.Lost = r.text()
	}
	if flags&flagIndex != 0 {
		e.Index = r.text()
	}
}

func (r *reader) take(n int) string {
	if n < 0 || n > len(r.s) {
		r.bad, r.s = true, ""
		return ""
	}
	s := r.s[:n]
	r.s = r.s[n:]
	return s
}

func (r *reader) byte() byte {
	if s := r.take(1); s != "" {
		return s[0]
	}
	return 0
}

func (r *reader) unsigned() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	r.bad = true
	return 0
}

func (r *reader) signed() int64 {
	n := r.unsigned()
	return int64(n>>1) ^ -int64(n&1)
}

// count is how many follow: no more than there are bytes.
func (r *reader) count() int {
	n := r.unsigned()
	if n > uint64(len(r.s)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) text() string { return r.take(r.count()) }
