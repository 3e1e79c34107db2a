package gitrepo

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// chain writes a pack of objects, each of which is the one before with two more bytes.
func chain(t *testing.T, dir string, count int) (base string) {
	t.Helper()
	var pack bytes.Buffer
	pack.WriteString("PACK")
	_ = binary.Write(&pack, binary.BigEndian, [2]uint32{2, uint32(count)})
	head := func(kind, size int) {
		c := byte(kind<<4 | size&15)
		for size >>= 4; size > 0; size >>= 7 {
			pack.WriteByte(c | 0x80)
			c = byte(size & 0x7f)
		}
		pack.WriteByte(c)
	}
	deflate := func(data []byte) {
		z := zlib.NewWriter(&pack)
		_, _ = z.Write(data)
		_ = z.Close()
	}
	last := pack.Len()
	head(3, 16)
	deflate([]byte(strings.Repeat("x", 16)))
	for i := 1; i < count; i++ {
		size := 16 + 2*(i-1)
		delta := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(size)), uint64(size+2))
		delta = append(delta, 0x80|0x10|0x20, byte(size), byte(size>>8), 2, byte(i), byte(i>>8))
		at := pack.Len()
		head(6, len(delta))
		back := at - last
		offset := []byte{byte(back & 0x7f)}
		for back >>= 7; back > 0; back >>= 7 {
			back--
			offset = append([]byte{byte(back&0x7f) | 0x80}, offset...)
		}
		pack.Write(offset)
		deflate(delta)
		last = at
	}
	sum := sha1.Sum(pack.Bytes())
	pack.Write(sum[:])
	base = filepath.Join("objects", "pack", "pack-"+strings.Repeat("a", 40))
	if err := os.MkdirAll(filepath.Join(dir, "objects", "pack"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, base+".pack"), pack.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "index-pack", filepath.Join(dir, base+".pack")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return base
}

// A pack whose objects are each made of thousands of others takes no longer to check than one that has as much in it otherwise.
func TestAttackLongChains(t *testing.T) {
	dir := t.TempDir()
	base := chain(t, dir, 300)
	for most, fine := range map[int]bool{maxSteps: true, 300 * 301 / 2: true, 1000: false} {
		c := &comparison{now: newSide(os.DirFS(dir)), fresh: map[string]bool{}}
		c.now.objects.steps = most
		p := openPack(os.DirFS(dir), base, 20)
		if p == nil {
			t.Fatal("no pack")
		}
		why := p.strangeObjects(c)
		p.close()
		if (why == "") != fine || fine != (len(c.fresh) == 300) {
			t.Errorf("with %d steps: %q, %d objects", most, why, len(c.fresh))
		}
	}
}
