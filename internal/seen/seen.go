// Package seen keeps what a session remembers of the files that it read or wrote, in the state of the session. The file tools
// compare it before they change a file; a tool that changes files by other means tells how it left them.
package seen

import (
	"context"
	"fmt"
	"time"

	"github.com/tongs-ai/tongs"
)

// MaxHashed is the size up to which the content of a file is remembered, by its hash, so that a file that was rewritten with
// the same content is not stale.
const MaxHashed = 8 << 20

const (
	// BySize stands for the version of a file that is too large to have one taken.
	BySize tongs.Version = "size and time"
	// byHash stands for the version of a file that was not opened, and whose content is known.
	byHash tongs.Version = "content"
)

// Record is what a session remembers of a file. An empty Version is nothing.
type Record struct {
	Version  tongs.Version `json:"version"`
	Size     int64         `json:"size"`
	Modified time.Time     `json:"modified,omitzero"`
	// Hash is the SHA-256 of the content in hexadecimal digits, empty where it is not known.
	Hash string `json:"hash,omitempty"`
}

// Load returns what the session remembers of the file at p.
func Load(ctx context.Context, state tongs.StateView, p tongs.Path) (rec Record, err error) {
	if _, err = state.Load(ctx, key(p), &rec); err != nil {
		err = fmt.Errorf("what the session saw of %s could not be loaded: %w", p, err)
	}
	return rec, err
}

// Save has the session remember the file at p.
func Save(ctx context.Context, state tongs.State, p tongs.Path, rec Record) error {
	if err := state.Save(ctx, key(p), rec); err != nil {
		return fmt.Errorf("what the session saw of %s could not be saved: %w", p, err)
	}
	return nil
}

func key(p tongs.Path) string { return "files:seen:" + p.String() }

// Left is how a change left a file.
type Left struct {
	Path tongs.Path
	// From is where the file was before, if it was moved; Gone is set where there is none any more.
	From *tongs.Path
	Gone bool
	// Record is how it is now, with a version or without, where it is neither moved nor gone.
	Record
}

// Follow has the session remember how files were left by a change that it asked for itself, of those that it saw before. The
// change stands even if that fails; then the older record stays, and the next change asks for the file to be read again.
func Follow(ctx context.Context, state tongs.State, list []Left) {
	ctx = context.WithoutCancel(ctx)
	for _, l := range list {
		at := l.Path
		if l.From != nil {
			at = *l.From
		}
		rec, err := Load(ctx, state, at)
		if err != nil || rec.Version == "" {
			continue
		}
		switch {
		case l.From != nil:
			_ = Save(ctx, state, *l.From, Record{})
		case l.Gone:
			rec = Record{}
		case l.Size > MaxHashed || l.Hash == "":
			rec = Record{Version: BySize, Size: l.Size, Modified: l.Modified}
		default:
			rec = l.Record
			rec.Version = byHash
		}
		_ = Save(ctx, state, l.Path, rec)
	}
}
