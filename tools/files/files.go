// Package files holds the file tools: read_file, write_file, edit, list_directory, delete_file, move_file, file_info
// and file_exists. They reach files only through the view and the environment of a call.
//
// A session remembers the state of each file that it read, wrote or edited. A file that changed since is not
// overwritten or edited: STALE_FILE says what changed, and reading it again mends it. A file that the session never
// saw is not checked.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/nearest"
	"github.com/tongs-ai/tongs/internal/text"
)

// Options are the limits of the tools. A zero field means the default that its comment names.
type Options struct {
	// ReadLines is how many lines read_file shows at most: 2000. LineChars is how many characters of each: 2000.
	ReadLines, LineChars int
	// ReadBytes is how much text read_file shows at most, line numbers included: 100,000.
	ReadBytes int
	// CountBytes is the size up to which read_file counts the lines of a file: 64 MiB.
	CountBytes int64
	// ImageBytes is the size up to which an image is attached: 5 MiB.
	ImageBytes int64
	// RawBytes is how much read_file shows with encoding base64 by default: 64 KiB. RawMax is the most: 1 MiB.
	RawBytes, RawMax int
	// ListEntries is how many entries list_directory shows by default: 200. ListMax is the most: 500.
	ListEntries, ListMax int
	// EditBytes is the size up to which a file can be edited, and a difference is shown: 32 MiB.
	EditBytes int64
}

func (o Options) withDefaults() Options {
	set(&o.ReadLines, 2000)
	set(&o.LineChars, 2000)
	set(&o.ReadBytes, 100_000)
	set(&o.CountBytes, 64<<20)
	set(&o.ImageBytes, 5<<20)
	set(&o.RawBytes, 64<<10)
	set(&o.RawMax, 1<<20)
	set(&o.ListEntries, 200)
	set(&o.ListMax, 500)
	set(&o.EditBytes, 32<<20)
	return o
}

func set[N int | int64](v *N, def N) {
	if *v <= 0 {
		*v = def
	}
}

// Toolset is the name that configuration knows the tools by.
const Toolset = "filesystem"

// Tools returns the eight file tools.
func Tools(opt Options) ([]tongs.Tool, error) {
	t := &tools{opt.withDefaults()}
	makers := []func() (tongs.Tool, error){
		t.readTool, t.writeTool, t.editTool, t.listTool, t.deleteTool, t.moveTool, t.infoTool, t.existsTool,
	}
	list := make([]tongs.Tool, 0, len(makers))
	for _, makeTool := range makers {
		tool, err := makeTool()
		if err != nil {
			return nil, err
		}
		list = append(list, tool)
	}
	return list, nil
}

// tools is what the tools share; it does not change.
type tools struct{ opt Options }

func decision(d tongs.Decision) *tongs.Decision { return &d }

// readPlan is the plan of a call that only reads p.
func readPlan(p tongs.Path, message string) *tongs.Plan {
	return &tongs.Plan{
		Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: p}},
		Default: decision(tongs.PreApproved), Message: message, Kind: tongs.KindRead,
	}
}

// statFile describes the regular file at p.
func statFile(v tongs.FileView, p tongs.Path) (tongs.FileInfo, error) {
	info, err := v.Stat(p)
	if err != nil {
		return info, err
	}
	switch info.Type {
	case tongs.FileRegular:
		return info, nil
	case tongs.FileDirectory:
		return info, tongs.Errorf(tongs.CodeInvalidPath, "%s is a directory; list_directory shows what is in it", p)
	default:
		return info, tongs.Errorf(tongs.CodeInvalidPath, "%s is not a regular file but a FIFO, a socket or a device", p)
	}
}

// maxNear is how many names a FILE_NOT_FOUND suggests, of as many entries as maxNearSeen.
const (
	maxNear     = 3
	maxNearSeen = 2000
)

// needDir fails where the directory of a new file is missing and is not to be made.
func needDir(v tongs.FileView, p tongs.Path, make bool) error {
	if make {
		return nil
	}
	version, err := v.Version(p.Dir())
	if err != nil || version != tongs.Absent {
		return err
	}
	return tongs.Errorf(tongs.CodeFileNotFound, "the directory %s does not exist; set createDirs to make it", p.Dir())
}

// planRead is the plan of a call that only reads p. Where p does not exist the call looks for names like it, in the
// nearest directory that does.
func planRead(v tongs.FileView, p tongs.Path, message string) *tongs.Plan {
	plan := readPlan(p, message)
	if _, err := v.Stat(p); tongs.CodeOf(err) == tongs.CodeFileNotFound {
		dir, _ := nearestDir(v, p)
		plan.Effects = append(plan.Effects, tongs.Effect{Kind: tongs.EffectRead, Path: dir})
	}
	return plan
}

// nearestDir returns the directory above p that exists, and what is missing in it.
func nearestDir(v tongs.FileView, p tongs.Path) (dir tongs.Path, missing string) {
	for {
		dir, missing = p.Dir(), path.Base(p.Rel)
		if _, err := v.Stat(dir); err == nil || dir == p {
			return dir, missing
		}
		p = dir
	}
}

// withNear adds the names that are like what is missing to a FILE_NOT_FOUND about p.
func withNear(ctx context.Context, v tongs.FileView, p tongs.Path, err error) error {
	if tongs.CodeOf(err) != tongs.CodeFileNotFound {
		return err
	}
	dir, missing := nearestDir(v, p)
	e := tongs.Errorf(tongs.CodeFileNotFound, "%s does not exist", p)
	if gone := dir.Join(missing); gone != p {
		e.Message += fmt.Sprintf(": there is no %s", gone)
	}
	names := nearNames(ctx, v, dir, missing)
	if len(names) == 0 {
		e.Message += "; list_directory shows what there is"
		return e
	}
	e.Message += fmt.Sprintf("; did you mean %s?", strings.Join(names, ", "))
	return e.With("nearest", names)
}

// nearNames returns the entries of a directory that are spelled most like name. It is a courtesy: what cannot be read
// suggests nothing.
func nearNames(ctx context.Context, v tongs.FileView, dir tongs.Path, name string) (names []string) {
	var entries []string
	for info, err := range v.ReadDir(dir) {
		if err != nil || len(entries) == maxNearSeen || ctx.Err() != nil {
			break
		}
		entries = append(entries, path.Base(info.Path.Rel))
	}
	for _, near := range nearest.Words(name, entries, maxNear) {
		names = append(names, showPath(dir.Join(near)))
	}
	return names
}

// contextReader fails when the context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// readAll returns the content of an open file of at most limit bytes.
func readAll(ctx context.Context, f tongs.File, limit int64) ([]byte, error) {
	info := f.Info()
	if info.Size > limit {
		return nil, tongs.Errorf(tongs.CodeTooLarge, "%s has %s, more than the limit of %s", info.Path, text.Size(info.Size), text.Size(limit))
	}
	data, err := io.ReadAll(io.LimitReader(contextReader{ctx, io.NewSectionReader(f, 0, limit+1)}, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = tongs.Errorf(tongs.CodeTooLarge, "%s grew beyond the limit of %s while it was read", info.Path, text.Size(limit))
	}
	return data, fault(err)
}

// fault turns an error of reading an open file, which has no code yet, into one for the model. Errors of the context
// stay: the engine says how the call ended.
func fault(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, ok := errors.AsType[*tongs.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*tongs.Need](err); ok {
		return err
	}
	return tongs.Errorf(tongs.CodeExecutionError, "the file could not be read: %w", err)
}

// count writes a number of things: "1 line", "3 lines".
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
