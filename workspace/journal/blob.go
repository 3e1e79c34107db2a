package journal

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// smallBlob is the size up to which a content is compressed in memory; cloneBlob that from which a clone is tried.
const (
	smallBlob = 256 << 10
	cloneBlob = 1 << 20
)

// blobs keeps contents by their hash.
type blobs struct {
	j        *Journal
	encoders sync.Pool
	buffers  sync.Pool
}

func newBlobs(j *Journal) *blobs { return &blobs{j: j} }

func (b *blobs) name(hash, form string) string { return b.j.file("blobs", hash[:2], hash+form) }

// isHash reports whether s can be the hash of a content.
func isHash(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size
}

func (b *blobs) has(hash string) bool {
	if !isHash(hash) {
		return false
	}
	for _, form := range []string{".z", ".r"} {
		if _, err := os.Lstat(b.name(hash, form)); err == nil {
			return true
		}
	}
	return false
}

func (b *blobs) encoder() (*zstd.Encoder, error) {
	if e, ok := b.encoders.Get().(*zstd.Encoder); ok {
		return e, nil
	}
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
}

// keep stores the content of an open file of about the given size, and returns its hash and exact size.
func (b *blobs) keep(f *os.File, size int64) (string, int64, error) {
	if size <= smallBlob {
		return b.keepSmall(f)
	}
	if err := b.j.point("blob"); err != nil {
		return "", 0, err
	}
	temp := b.j.file("tmp", strings.ToLower(rand.Text()))
	out, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return "", 0, err
	}
	defer os.Remove(temp)
	defer out.Close()
	sum, form := sha256.New(), ".z"
	var n int64
	if size >= cloneBlob && clone(out, f) == nil {
		form = ".r"
		n, err = io.Copy(sum, out)
	} else if size > b.j.opt.MaxFile {
		return "", 0, errTooLarge
	} else {
		n, err = b.compress(out, io.TeeReader(f, sum))
	}
	if err != nil {
		return "", 0, err
	}
	hash := hex.EncodeToString(sum.Sum(nil))
	return hash, n, b.place(temp, hash, form)
}

var errTooLarge = errors.New("too large")

func (b *blobs) compress(w io.Writer, r io.Reader) (int64, error) {
	enc, err := b.encoder()
	if err != nil {
		return 0, err
	}
	enc.Reset(w)
	n, err := io.Copy(enc, r)
	err = errors.Join(err, enc.Close())
	enc.Reset(nil)
	b.encoders.Put(enc)
	return n, err
}

func (b *blobs) keepSmall(f *os.File) (string, int64, error) {
	buf, ok := b.buffers.Get().(*bytes.Buffer)
	if !ok {
		buf = &bytes.Buffer{}
	}
	defer b.buffers.Put(buf)
	buf.Reset()
	n, err := io.Copy(buf, io.LimitReader(f, 4*smallBlob))
	if err != nil {
		return "", 0, err
	}
	sum := sha256.Sum256(buf.Bytes())
	hash := hex.EncodeToString(sum[:])
	if b.has(hash) {
		return hash, n, nil
	}
	enc, err := b.encoder()
	if err != nil {
		return "", 0, err
	}
	data := enc.EncodeAll(buf.Bytes(), nil)
	b.encoders.Put(enc)
	if err := b.j.point("blob"); err != nil {
		return "", 0, err
	}
	temp := b.j.file("tmp", strings.ToLower(rand.Text()))
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		_ = os.Remove(temp)
		return "", 0, err
	}
	return hash, n, b.place(temp, hash, ".z")
}

// place gives a finished blob its name.
func (b *blobs) place(temp, hash, form string) error {
	if b.has(hash) {
		return os.Remove(temp)
	}
	name := b.name(hash, form)
	err := os.Rename(temp, name)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.Mkdir(filepath.Dir(name), 0o700); err == nil || errors.Is(err, os.ErrExist) {
			err = os.Rename(temp, name)
		}
	}
	if err != nil {
		_ = os.Remove(temp)
	} else if fi, err := os.Lstat(name); err == nil {
		b.j.used.add(fi.Size())
	}
	return err
}

// Content opens a content that was kept. What is read is checked: damage is an error at the end.
func (j *Journal) Content(hash string) (io.ReadCloser, error) {
	if !isHash(hash) {
		return nil, fmt.Errorf("journal: %q is not the hash of a content", hash)
	}
	f, err := os.Open(j.blobs.name(hash, ".z"))
	if err != nil {
		f, rawErr := os.Open(j.blobs.name(hash, ".r"))
		if rawErr != nil {
			return nil, fmt.Errorf("journal: the content is no longer kept: %w", err)
		}
		return &checked{from: f, file: f, want: hash, sum: sha256.New()}, nil
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &checked{from: z, file: f, z: z, want: hash, sum: sha256.New()}, nil
}

// checked is a content that is compared with its hash while it is read.
type checked struct {
	from io.Reader
	file *os.File
	z    *zstd.Decoder
	want string
	sum  hash.Hash
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	_, _ = c.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(c.sum.Sum(nil)) != c.want {
		return n, errors.New("journal: the kept content is damaged")
	}
	return n, err
}

func (c *checked) Close() error {
	if c.z != nil {
		c.z.Close()
	}
	return c.file.Close()
}
