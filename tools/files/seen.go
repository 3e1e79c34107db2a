package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/seen"
	"github.com/tongs-ai/tongs/internal/text"
)

const (
	maxHashed = seen.MaxHashed
	// maxVersioned is the size up to which the version of a seen file is remembered: of a large file that changed just now,
	// that takes reading all of it. Above, size and time must do.
	maxVersioned = 32 << 20
)

// look returns what there is to remember of an open file.
func look(f tongs.File) (rec seen.Record, err error) {
	info := f.Info()
	rec = seen.Record{Version: seen.BySize, Size: info.Size, Modified: info.Modified}
	if info.Size <= maxVersioned {
		rec.Version, err = f.Version()
	}
	return rec, err
}

func hashOf(data []byte) string {
	if len(data) > maxHashed {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// checkSeen returns STALE_FILE if the session saw the file at p in another state than the current one, which info
// describes. State that cannot be read refuses.
func checkSeen(ctx context.Context, state tongs.StateView, v tongs.FileView, info tongs.FileInfo, current tongs.Version) error {
	rec, err := seen.Load(ctx, state, info.Path)
	if err != nil {
		return err
	}
	switch {
	case rec.Version == "" || rec.Version == current:
		return nil
	case rec.Version == seen.BySize && rec.Size == info.Size && rec.Modified.Equal(info.Modified):
		return nil
	}
	if rec.Hash != "" && info.Size == rec.Size {
		same, err := sameContent(ctx, v, info.Path, rec.Hash)
		if err != nil || same {
			return err
		}
	}
	what := "its content was replaced"
	switch {
	case info.Size != rec.Size:
		what = fmt.Sprintf("it had %s and now has %s", text.Size(rec.Size), text.Size(info.Size))
		if text.Size(rec.Size) == text.Size(info.Size) {
			what = fmt.Sprintf("it had %d bytes and now has %d", rec.Size, info.Size)
		}
	case !rec.Modified.IsZero() && !rec.Modified.Equal(info.Modified):
		what = "it was modified at " + info.Modified.UTC().Format(time.RFC3339)
	}
	return tongs.Errorf(tongs.CodeStaleFile,
		"%s changed since this session last saw it: %s; read it again, then decide what to change", info.Path, what).With("path", info.Path.String())
}

func sameContent(ctx context.Context, v tongs.FileView, p tongs.Path, hash string) (bool, error) {
	f, err := v.Open(p)
	if err != nil {
		return false, err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, contextReader{ctx, io.NewSectionReader(f, 0, maxHashed+1)})
	return hex.EncodeToString(sum.Sum(nil)) == hash, fault(err)
}

// rememberWritten records the state after a write of ours. The write stands even if that fails; then the older record
// stays, and the next change asks for the file to be read again.
func rememberWritten(ctx context.Context, env *tongs.Env, p tongs.Path, version tongs.Version, data []byte) {
	rec := seen.Record{Version: version, Size: int64(len(data)), Hash: hashOf(data)}
	if info, err := env.Files.Stat(p); err == nil && info.Size == rec.Size {
		rec.Modified = info.Modified
	}
	_ = seen.Save(context.WithoutCancel(ctx), env.State, p, rec)
}
