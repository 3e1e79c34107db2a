package gitrepo

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	// maxPacked is how many objects of a new pack are compared with their names, maxUnpacked how large they may be together.
	maxPacked, maxUnpacked = 50_000, 512 << 20
)

// strangePack says why a new pack is not one that git makes: each object must be what its name says, since git does not look again.
func (c *comparison) strangePack(ch Change) string {
	if ch.Kind != Added {
		return "objects are never changed or removed in ordinary work"
	}
	m := patterns().pack.FindStringSubmatch(ch.Name)
	base := "objects/pack/" + m[1]
	for _, suffix := range []string{".pack", ".idx"} {
		if c.old.exists(base+suffix) || !c.now.exists(base+suffix) {
			return "it is not a whole pack that is new"
		}
	}
	if m[2] == "pack" {
		return "" // its index is looked at, which every pack has
	}
	p := openPack(c.After, base, (len(m[1])-len("pack-"))/2)
	if p == nil {
		return "its index cannot be read"
	}
	defer p.close()
	if m[2] == "rev" {
		return p.strangeReverse(c, ch.Name)
	}
	return p.strangeObjects(c)
}

// strangeObjects says why an index gives an object another name than its own.
func (p *pack) strangeObjects(c *comparison) string {
	count := int64(p.fanout[255])
	if count > maxPacked {
		return "it has too many objects to check them"
	}
	left := int64(maxUnpacked)
	last := make([]byte, p.hash)
	for i := range count {
		id := make([]byte, p.hash)
		if readAt(p.index, id, 8+256*4+i*int64(p.hash)) != nil || i > 0 && bytes.Compare(last, id) >= 0 || p.fanout[id[0]] <= uint32(i) {
			return "its index cannot be read"
		}
		last = id
		at, ok := p.offset(8+256*4+count*int64(p.hash+4), count, i)
		if !ok {
			return "its index cannot be read"
		}
		kind, data, err := p.read(c.now.objects, at, 0)
		if err != nil {
			return "an object cannot be read, or is too large to be checked"
		}
		if left -= int64(len(data)); left < 0 {
			return "its objects are too large to check them"
		}
		h := newHash(2 * p.hash)
		fmt.Fprintf(h, "%s %d\x00", kind, len(data))
		h.Write(data)
		name := hex.EncodeToString(id)
		if hex.EncodeToString(h.Sum(nil)) != name {
			return "an object is not what its name says"
		}
		c.fresh[name] = true
	}
	return ""
}

// strangeReverse says why a reverse index is not that of the index.
func (p *pack) strangeReverse(c *comparison, name string) string {
	count := int64(p.fanout[255])
	if count > maxPacked {
		return "it has too many objects to check them"
	}
	data, err := readFile(c.After, name, 12+4*count+128)
	if err != nil || int64(len(data)) < 12+4*count || !strings.HasPrefix(string(data), "RIDX\x00\x00\x00\x01") {
		return whyContent
	}
	type place struct{ at, number int64 }
	places := make([]place, count)
	for i := range count {
		at, ok := p.offset(8+256*4+count*int64(p.hash+4), count, i)
		if !ok {
			return whyContent
		}
		places[i] = place{at, i}
	}
	slices.SortFunc(places, func(a, b place) int { return int(a.at - b.at) })
	for i, want := range places {
		if int64(binary.BigEndian.Uint32(data[12+4*i:])) != want.number {
			return whyContent
		}
	}
	return ""
}

// close closes the files of the pack.
func (p *pack) close() {
	for _, f := range []io.ReaderAt{p.index, p.data} {
		if c, ok := f.(io.Closer); ok {
			_ = c.Close()
		}
	}
}
