package gitdir

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxIndex is the largest index that is read, in bytes.
const maxIndex = 256 << 20

// Tracked returns the names of the files that the repository tracks which git would use in dir, relative to its top and
// with slashes. Where there is no repository it returns none. It looks at the index only: a file that was tracked once
// and is no longer is not among them.
func Tracked(dir string) (names []string, err error) {
	git, err := find(dir)
	if err != nil || git == "" {
		return nil, err
	}
	path := filepath.Join(git, "index")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIndex+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxIndex {
		return nil, fmt.Errorf("%s is more than %d bytes long", path, maxIndex)
	}
	entries, err := Entries(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names, nil
}

// Entry is what an index says of a file, without what tells whether that changed on the disk.
type Entry struct {
	Name string
	Mode uint32
	// ID is that of its content, in hex. Stage is 0, or which side of a merge it is from.
	ID    string
	Stage int
	// Hidden says that git does not look at the file (assume-unchanged, skip-worktree), Intent that it is to be added.
	Hidden, Intent bool
}

// find returns the git directory that git would use in dir, "" where it would find none.
func find(dir string) (string, error) {
	for {
		at := filepath.Join(dir, ".git")
		info, err := os.Stat(at)
		switch {
		case err == nil && info.IsDir():
			return at, nil
		case err == nil:
			to, ok := Gitfile(at)
			if !ok {
				return "", fmt.Errorf("%s does not name a git directory", at)
			}
			return to, nil
		case !errors.Is(err, fs.ErrNotExist) && !notDirectory(err):
			return "", err
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", nil
		}
		dir = up
	}
}

func notDirectory(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && strings.Contains(p.Err.Error(), "not a directory")
}

var errIndex = errors.New("it is not an index that can be read")

// Entries returns what an index of git lists, of version 2, 3 or 4.
func Entries(data []byte) ([]Entry, error) {
	index, err := parseIndex(data)
	if err != nil {
		return nil, err
	}
	return index.entries, nil
}

// index is an index with its extensions, by name.
type index struct {
	entries []Entry
	// starts is where each entry begins, and end where the last one ends.
	starts        []int
	end           int
	extensions    map[string][]byte
	hash, version int
}

func parseIndex(data []byte) (*index, error) {
	hash := sha1.Size
	if n := len(data) - sha256.Size; n > 0 {
		if sum := sha256.Sum256(data[:n]); bytes.Equal(sum[:], data[n:]) {
			hash = sha256.Size
		}
	}
	if len(data) < 12+hash || string(data[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return nil, errIndex
	}
	r := indexReader{data: data[:len(data)-hash], at: 12, hash: hash, version: version}
	x := &index{hash: hash, version: int(version)}
	for range count {
		x.starts = append(x.starts, r.at)
		e, ok := r.entry()
		if !ok {
			return nil, errIndex
		}
		x.entries = append(x.entries, e)
	}
	x.end = r.at
	if x.extensions = r.extensions(); x.extensions == nil {
		return nil, errIndex
	}
	return x, nil
}

type indexReader struct {
	data     []byte
	at, hash int
	version  uint32
	last     string
}

// entry returns the next entry.
func (r *indexReader) entry() (e Entry, ok bool) {
	start, head := r.at, 40+r.hash+2
	if r.at+head > len(r.data) {
		return e, false
	}
	flags := binary.BigEndian.Uint16(r.data[r.at+head-2:])
	e.Mode = binary.BigEndian.Uint32(r.data[r.at+24:])
	e.ID = hex.EncodeToString(r.data[r.at+40 : r.at+40+r.hash])
	e.Stage, e.Hidden = int(flags>>12&3), flags&0x8000 != 0
	r.at += head
	if flags&0x4000 != 0 {
		if r.at+2 > len(r.data) {
			return e, false
		}
		more := binary.BigEndian.Uint16(r.data[r.at:])
		e.Hidden, e.Intent = e.Hidden || more&0x4000 != 0, more&0x2000 != 0
		r.at += 2
	}
	if e.Mode>>12 == 4 {
		return e, false // a whole directory, as a sparse index has it
	}
	keep := ""
	if r.version == 4 {
		strip, ok := r.varint()
		if !ok || strip > len(r.last) {
			return e, false
		}
		keep = r.last[:len(r.last)-strip]
	}
	n := bytes.IndexByte(r.data[r.at:], 0)
	if n < 0 {
		return e, false
	}
	e.Name = keep + string(r.data[r.at:r.at+n])
	r.at += n + 1
	if r.version < 4 {
		r.at += (8 - (r.at-start)%8) % 8
	}
	if e.Name == "" || e.Name < r.last {
		return e, false
	}
	r.last = e.Name
	return e, true
}

func (r *indexReader) varint() (int, bool) {
	n := 0
	for i := 0; r.at < len(r.data) && i < 5; i++ {
		b := r.data[r.at]
		r.at++
		if i > 0 {
			n++
		}
		n = n<<7 | int(b&0x7f)
		if b&0x80 == 0 {
			return n, true
		}
	}
	return 0, false
}

// extensions returns the rest, which are extensions: nil where it is anything else, or one has entries elsewhere.
func (r *indexReader) extensions() map[string][]byte {
	list := map[string][]byte{}
	for r.at < len(r.data) {
		if r.at+8 > len(r.data) {
			return nil
		}
		name, size := string(r.data[r.at:r.at+4]), int(binary.BigEndian.Uint32(r.data[r.at+4:]))
		r.at += 8
		_, twice := list[name]
		if name == "link" || name == "sdir" || twice || size > len(r.data)-r.at {
			return nil
		}
		list[name] = r.data[r.at : r.at+size]
		r.at += size
	}
	return list
}
