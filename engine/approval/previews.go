package approval

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tongs-ai/tongs"
)

// Previews keeps what questions are about where that is too long to stand in the question: one file each, in a directory of the
// user's own, while the question can be answered. The zero value, and nil, keep none. It is safe for concurrent use, also by
// several processes.
type Previews struct {
	// Dir is where the files are. It is made when the first is kept.
	Dir string
}

// errNoPreview is why there is nothing to read.
var errNoPreview = tongs.Errorf(tongs.CodeFileNotFound, "there is no longer preview of this question; it was answered, or its preview is whole")

// path is where the preview of a question is, empty where there can be none.
func (p *Previews) path(id string) string {
	if p == nil || p.Dir == "" || !ownID(id) {
		return ""
	}
	return filepath.Join(p.Dir, id)
}

// Keep writes the preview of a question, and returns how long it is. Previews of questions that nobody can answer any more go.
func (p *Previews) Keep(id string, write func(w io.Writer) error) (size int64, err error) {
	at := p.path(id)
	if at == "" {
		return 0, errNoPreview
	}
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return 0, err
	}
	p.prune(time.Now().Add(-DefaultExpire))
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	buffered := bufio.NewWriterSize(f, 64<<10)
	err = write(buffered)
	if err = errors.Join(err, buffered.Flush()); err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(at)
		return 0, err
	}
	return size, nil
}

// prune removes what is older than a time.
func (p *Previews) prune(before time.Time) {
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(p.Dir, e.Name()))
		}
	}
}

// Open opens the preview of a question. Whoever calls it closes it.
func (p *Previews) Open(id string) (*os.File, error) {
	at := p.path(id)
	if at == "" {
		return nil, errNoPreview
	}
	f, err := os.Open(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoPreview
	}
	return f, err
}

// Drop removes the preview of a question that is over.
func (p *Previews) Drop(id string) {
	if at := p.path(id); at != "" {
		_ = os.Remove(at)
	}
}
