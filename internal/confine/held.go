package confine

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/internal/programoutput"
	"github.com/tongs-ai/tongs/workspace"
)

const (
	// maxBound is the size up to which what is held is bound by its content: the answer to a question about something
	// larger serves that very one only.
	maxBound = 64 << 20
	// maxShown is how much of one held file a person is shown, maxPreview how much of all.
	maxShown, maxPreview = 16 << 10, 64 << 10
)

// planted is a protected name that appeared and was taken away.
type planted struct {
	tongs.Held
	// from is where it was, inside whether that is in a root, as place.
	from   string
	inside bool
	place  tongs.Path
	// version identifies what is held.
	version tongs.Version
	// steers is set for a file of instructions for agents.
	steers bool
	// asked is set once it was asked about, or is being asked about.
	asked bool
}

// holding is what was taken away after one run.
type holding struct {
	list []*planted
	// left are names that could not be taken away, each with the reason.
	left []string
}

// hold takes away what a program planted, but for what was decided by name and what nothing obeys. It waits in a
// private directory beside the output of the call.
func (c *commands) hold(names []string, effects []tongs.Effect) *holding {
	h := &holding{}
	call := c.permit.Call()
	dir := ""
	for _, host := range names {
		p := &planted{from: host, Held: tongs.Held{Path: host}}
		var err error
		if p.place, err = c.place(host, true); err == nil {
			p.inside, p.Path = true, p.place.String()
			info, err := os.Lstat(host)
			p.steers = err == nil && info.Mode().IsRegular() && c.opt.Workspace.Steers(p.place)
		}
		if c.decided(p, effects) || harmless(host) {
			continue
		}
		if dir == "" {
			if dir, err = c.callDir(call, "held-"); err != nil {
				h.left = append(h.left, p.Path+": "+err.Error())
				continue
			}
		}
		switch err := p.take(dir, c.opt.Scratch); {
		case err == nil:
			h.list = append(h.list, p)
		case tongs.CodeOf(err) != tongs.CodeFileNotFound: // somebody else took it away
			h.left = append(h.left, p.Path+": "+err.Error())
		}
	}
	return h
}

// decided reports whether everything at a planted name was decided by the name of what is protected.
func (c *commands) decided(p *planted, effects []tongs.Effect) bool {
	if !p.inside {
		return false
	}
	var allowed []tongs.Path
	for _, e := range effects {
		if e.Kind != tongs.EffectWrite || e.Unknown || !e.ByName() || strings.HasPrefix(string(e.Version), heldVersion) {
			continue
		}
		if _, protected := c.opt.Workspace.Protected(e.Path); protected {
			allowed = append(allowed, e.Path)
		}
	}
	if len(allowed) == 0 {
		return false
	}
	covered := true
	err := filepath.WalkDir(p.from, func(name string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(p.from, name)
		if err != nil || relErr != nil {
			covered = false
			return filepath.SkipAll
		}
		at := tongs.Path{Root: p.place.Root, Rel: path.Join(p.place.Rel, filepath.ToSlash(rel))}
		if !d.IsDir() && !slices.ContainsFunc(allowed, func(a tongs.Path) bool { return a.Contains(at) }) {
			covered = false
			return filepath.SkipAll
		}
		return nil
	})
	return err == nil && covered
}

// take moves what was planted below dir, under its own path.
func (p *planted) take(dir, spill string) error {
	rel := strings.TrimPrefix(filepath.ToSlash(p.from), "/")
	if p.inside {
		rel = p.place.Rel
		if p.place.Root != tongs.WorkspaceRoot {
			rel = path.Join("@"+p.place.Root, rel)
		}
	}
	to := filepath.Join(dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := workspace.Take(context.Background(), p.from, to); err != nil {
		return err
	}
	p.Host = to
	if below, err := filepath.Rel(spill, to); err == nil {
		p.At = path.Join("/", output.Root, filepath.ToSlash(below))
	}
	p.version = identify(to)
	return nil
}

const heldVersion = "held:"

// identify returns what tells the content of a held tree from any other.
func identify(host string) tongs.Version {
	h, left := sha256.New(), int64(maxBound)
	err := filepath.WalkDir(host, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(host, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %v %d\n", rel, info.Mode(), len(rel))
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			fmt.Fprintf(h, "%q\n", to)
			return err
		case !d.Type().IsRegular():
			return nil
		}
		if left -= info.Size(); left < 0 {
			return io.ErrShortBuffer
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		n, err := io.Copy(h, f)
		fmt.Fprintf(h, "\n%d\n", n)
		return err
	})
	if err != nil {
		return tongs.Version(heldVersion + rand.Text()) // like nothing else
	}
	return tongs.Version(heldVersion + "sha256:" + hex.EncodeToString(h.Sum(nil)))
}

// ask asks a person, before the program of a call starts, about what an earlier one left, all of it in one question, and puts
// it in its place if they approve. What is refused, or cannot be asked, stays where it is.
func (h *holding) ask(ctx context.Context, permit *tongs.Permit, reason string) {
	open := h.open()
	if len(open) == 0 {
		return
	}
	if ctx.Err() != nil {
		h.keep("the call ended before anybody could be asked")
		return
	}
	var effects []tongs.Effect
	for _, p := range open {
		effects = append(effects, tongs.Effect{
			Kind: tongs.EffectWrite, Path: p.place, Version: p.version, MustAsk: !p.steers, Steers: p.steers,
			Why: "a command made it where there was none",
		})
	}
	err := permit.Decide(ctx, tongs.More{
		Reason: reason, Effects: effects, Preview: func(context.Context) (string, error) { return preview(open), nil },
	})
	for _, p := range open {
		if err == nil {
			p.Held = p.restore()
			continue
		}
		p.Why = err.Error()
		if e, ok := err.(*tongs.Error); ok {
			p.Question, _ = e.Details["question"].(string)
		}
	}
}

// open are the names that can be asked about and were not yet. They count as asked about from now on.
func (h *holding) open() (list []*planted) {
	for _, p := range h.list {
		switch {
		case p.asked || p.Why != "":
			continue
		case !p.inside:
			p.Why = "it is outside of the workspace and its zones"
		default:
			list = append(list, p)
		}
		p.asked = true
	}
	return list
}

// restore puts what is held where it was made, unless somebody made that meanwhile, and returns what became of it.
func (p *planted) restore() tongs.Held {
	now := p.Held
	if err := workspace.Move(context.Background(), p.Host, p.from); err != nil {
		now.Why = "approved, but " + err.Error()
		return now
	}
	now.At, now.Host, now.Why = "", "", ""
	return now
}

// keep says why what is held stays so.
func (h *holding) keep(why string) {
	for _, p := range h.list {
		if p.Host != "" && p.Why == "" {
			p.Why = why
		}
	}
}

func (h *holding) add(o *holding) {
	h.list = append(h.list, o.list...)
	h.left = append(h.left, o.left...)
}

// say tells a person what is held already, before a command runs again.
func (h *holding) say() string {
	var paths []string
	for _, p := range h.list {
		if p.Host != "" {
			paths = append(paths, p.Path+" is held in "+p.At)
		}
	}
	if len(paths) == 0 {
		return ""
	}
	return "; what it made there before: " + strings.Join(paths, ", ")
}

// report tells what became of planted names.
func (h *holding) report(to *tongs.Settled) {
	to.Planted = append(to.Planted, h.left...)
	for _, p := range h.list {
		if p.Host != "" {
			to.Held = append(to.Held, p.Held)
		} else {
			to.Approved = append(to.Approved, p.Held)
		}
	}
}

// preview shows what is held: text as it is, and of anything else what it is.
func preview(list []*planted) string {
	var b strings.Builder
	for _, p := range list {
		_ = filepath.WalkDir(p.Host, func(name string, d fs.DirEntry, err error) error {
			if b.Len() > maxPreview {
				return filepath.SkipAll
			}
			rel, _ := filepath.Rel(p.Host, name)
			shown := programoutput.Plain(path.Join(p.Path, filepath.ToSlash(rel)))
			switch {
			case err != nil:
				fmt.Fprintf(&b, "--- %s: cannot be read\n", shown)
			case d.IsDir():
			case d.Type()&fs.ModeSymlink != 0:
				to, _ := os.Readlink(name)
				fmt.Fprintf(&b, "--- %s is a link to %s\n", shown, programoutput.Plain(to))
			case !d.Type().IsRegular():
				fmt.Fprintf(&b, "--- %s is no regular file\n", shown)
			default:
				previewFile(&b, shown, name)
			}
			return nil
		})
	}
	if b.Len() > maxPreview {
		b.WriteString("... and more\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func previewFile(b *strings.Builder, shown, name string) {
	info, err := os.Lstat(name)
	if err != nil {
		return
	}
	executable := ""
	if info.Mode()&0o111 != 0 {
		executable = ", executable"
	}
	fmt.Fprintf(b, "--- %s (%d bytes%s)\n", shown, info.Size(), executable)
	f, err := os.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxShown))
	cut := info.Size() > int64(len(data))
	if at := bytes.LastIndexByte(data, '\n'); cut && at >= 0 {
		data = data[:at]
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		b.WriteString("(not text)\n")
		return
	}
	for line := range strings.SplitSeq(strings.TrimRight(string(data), "\n"), "\n") {
		b.WriteString(programoutput.Plain(strings.ReplaceAll(line, "\t", "    ")) + "\n")
	}
	if cut {
		b.WriteString("... (cut)\n")
	}
}
