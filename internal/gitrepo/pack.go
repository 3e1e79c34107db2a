package gitrepo

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"io"
	"io/fs"
	"strings"
)

// maxDepth is how many deltas an object may be made of, and maxSteps how many are read in all: of each object of a long chain, all that
// it is made of.
const maxDepth, maxSteps = 4096, 1_000_000

// pack is a pack of objects with its index, of version 2.
type pack struct {
	index, data io.ReaderAt
	fanout      [256]uint32
	hash        int // bytes of an ID
}

// allPacks opens the packs. One that cannot be read has no objects.
func (o *objects) allPacks() []*pack {
	if o.known {
		return o.packs
	}
	o.known = true
	list, _ := fs.ReadDir(o.files, "objects/pack")
	for _, e := range list {
		name, ok := strings.CutSuffix(e.Name(), ".idx")
		if !ok || !strings.HasPrefix(name, "pack-") {
			continue
		}
		if p := openPack(o.files, "objects/pack/"+name, (len(name)-len("pack-"))/2); p != nil {
			o.packs = append(o.packs, p)
		}
	}
	return o.packs
}

// close closes the files of the packs.
func (o *objects) close() {
	for _, p := range o.packs {
		p.close()
	}
	o.packs, o.known = nil, true
}

func openPack(files fs.FS, name string, hash int) *pack {
	p := &pack{hash: hash}
	for suffix, to := range map[string]*io.ReaderAt{".idx": &p.index, ".pack": &p.data} {
		f, err := files.Open(name + suffix)
		if err != nil {
			continue
		}
		if at, ok := f.(io.ReaderAt); ok {
			*to = at
		} else {
			_ = f.Close()
		}
	}
	head := make([]byte, 8+256*4)
	if p.index == nil || p.data == nil || readAt(p.index, head, 0) != nil || string(head[:8]) != "\377tOc\000\000\000\002" {
		p.close()
		return nil
	}
	for i := range p.fanout {
		p.fanout[i] = binary.BigEndian.Uint32(head[8+4*i:])
	}
	return p
}

func readAt(r io.ReaderAt, to []byte, at int64) error {
	n, err := r.ReadAt(to, at)
	if n == len(to) {
		return nil
	}
	return err
}

// find returns where in the pack an object is.
func (p *pack) find(id string) (at int64, ok bool) {
	want, err := hex.DecodeString(id)
	if err != nil || len(want) != p.hash {
		return 0, false
	}
	low, high := int64(0), int64(p.fanout[want[0]])
	if want[0] > 0 {
		low = int64(p.fanout[want[0]-1])
	}
	count := int64(p.fanout[255])
	const names = 8 + 256*4
	buf := make([]byte, p.hash)
	for low < high {
		mid := (low + high) / 2
		if readAt(p.index, buf, names+mid*int64(p.hash)) != nil {
			return 0, false
		}
		switch c := bytes.Compare(buf, want); {
		case c == 0:
			return p.offset(names+count*int64(p.hash+4), count, mid)
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return 0, false
}

// offset reads where the numbered object is. Offsets begins the table of that.
func (p *pack) offset(offsets, count, number int64) (int64, bool) {
	var b [8]byte
	if readAt(p.index, b[:4], offsets+4*number) != nil {
		return 0, false
	}
	small := binary.BigEndian.Uint32(b[:4])
	if small>>31 == 0 {
		return int64(small), true
	}
	if readAt(p.index, b[:], offsets+4*count+8*int64(small&0x7fffffff)) != nil {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(b[:])), true
}

// read returns the object at a place of the pack.
func (p *pack) read(o *objects, at int64, depth int) (kind string, data []byte, err error) {
	if o.steps--; o.steps < 0 || depth > maxDepth || at < 0 {
		return "", nil, errObject
	}
	r := bufio.NewReader(io.NewSectionReader(p.data, at, 1<<40))
	c, err := r.ReadByte()
	if err != nil {
		return "", nil, errObject
	}
	number, size := c>>4&7, int64(c&15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if c, err = r.ReadByte(); err != nil || shift > 32 {
			return "", nil, errObject
		}
		size |= int64(c&0x7f) << shift
	}
	var base []byte
	switch number {
	case 1, 2, 3, 4:
		kind = [...]string{"", "commit", "tree", "blob", "tag"}[number]
	case 6:
		back, ok := backOffset(r)
		if !ok || back > at {
			return "", nil, errObject
		}
		kind, base, err = p.read(o, at-back, depth+1)
	case 7:
		id := make([]byte, p.hash)
		if _, err = io.ReadFull(r, id); err == nil {
			var from int64
			var ok bool
			if from, ok = p.find(hex.EncodeToString(id)); !ok {
				return "", nil, errObject
			}
			kind, base, err = p.read(o, from, depth+1)
		}
	default:
		err = errObject
	}
	if err != nil || size > maxObject {
		return "", nil, errObject
	}
	z, err := zlib.NewReader(r)
	if err != nil {
		return "", nil, errObject
	}
	defer z.Close()
	data = make([]byte, size)
	if _, err := io.ReadFull(z, data); err != nil {
		return "", nil, errObject
	}
	if number >= 6 {
		if data, err = patch(base, data); err != nil {
			return "", nil, err
		}
	}
	return kind, data, nil
}

func backOffset(r io.ByteReader) (int64, bool) {
	n := int64(0)
	for i := range 9 {
		c, err := r.ReadByte()
		if err != nil {
			return 0, false
		}
		if i > 0 {
			n++
		}
		n = n<<7 | int64(c&0x7f)
		if c&0x80 == 0 {
			return n, n > 0
		}
	}
	return 0, false
}

// patch applies a delta.
func patch(base, delta []byte) ([]byte, error) {
	from, n := binary.Uvarint(delta)
	if n <= 0 || from != uint64(len(base)) {
		return nil, errObject
	}
	delta = delta[n:]
	size, n := binary.Uvarint(delta)
	if n <= 0 || size > maxObject {
		return nil, errObject
	}
	delta = delta[n:]
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		if op&0x80 == 0 {
			if op == 0 || int(op) > len(delta) {
				return nil, errObject
			}
			out, delta = append(out, delta[:op]...), delta[op:]
			continue
		}
		var field [7]byte
		for i := range field {
			if op&(1<<i) != 0 {
				if len(delta) == 0 {
					return nil, errObject
				}
				field[i], delta = delta[0], delta[1:]
			}
		}
		at := int(binary.LittleEndian.Uint32(field[:4]))
		length := int(field[4]) | int(field[5])<<8 | int(field[6])<<16
		if length == 0 {
			length = 0x10000
		}
		if at > len(base) || length > len(base)-at || len(out)+length > int(size) {
			return nil, errObject
		}
		out = append(out, base[at:at+length]...)
	}
	if uint64(len(out)) != size {
		return nil, errObject
	}
	return out, nil
}
