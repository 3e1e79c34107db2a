package guard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/treestate"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// Keeper is level 0: it keeps the state of a project before each call of an agent's own tools, and makes an entry of the journal of
// what the call changed. It blocks nothing.
type Keeper struct {
	// StateDir is the directory of the state; its journal has everything.
	StateDir string
	// Fill has a project's first state made in the background.
	Fill func(top string) error
}

// OutsideTool is the name under which changes are listed that were seen while no call was under way.
const OutsideTool = "(between calls)"

// refused says why a project is not kept at all.
type refused struct{ why string }

func (r refused) Error() string { return r.why }

// Handle does what an event needs, and returns a line for the person, empty where all is well. It never fails: a fault of ours only
// means that a change cannot be undone.
func (k *Keeper) Handle(ctx context.Context, c Client, ev Event) string {
	if ev.Kind == Other || (ev.Kind == Before || ev.Kind == After) && !c.Changes(ev) {
		return ""
	}
	top, err := k.Project(ev)
	if err == nil {
		var told bool
		if told, err = k.handle(ctx, c, ev, top); err == nil || told {
			return ""
		}
	}
	if ev.Kind != Before && ev.Kind != Start {
		return "" // it was said before the call
	}
	if why, ok := errors.AsType[refused](err); ok {
		if ev.Kind == Start {
			return "Tongs does not keep this project: " + why.why + "."
		}
		return ""
	}
	return fmt.Sprintf("Tongs could not keep the project before this call, so 'tongs undo' may not restore it: %v.", err)
}

// Project returns the directory that is kept for an event: the work tree of git that it is in, or the directory that the client was
// started in.
func (k *Keeper) Project(ev Event) (string, error) {
	dir := ev.Project
	if dir == "" {
		dir = ev.Dir
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	home, err := os.UserHomeDir()
	if err == nil {
		home, err = filepath.EvalSymlinks(home)
	}
	if err == nil && contains(real, home) {
		return "", refused{real + " is your home directory, or contains it; start the agent in a project"}
	}
	real = k.above(real, home)
	if real == filepath.Dir(real) || contains(real, k.StateDir) {
		return "", refused{real + " contains the state of Tongs; start the agent in a project"}
	}
	return real, nil
}

// above returns the top of the work tree that a directory is in, or of the project that is kept already, unless that is the home.
func (k *Keeper) above(dir, home string) string {
	kept := ""
	for at := dir; at != filepath.Dir(at) && !contains(at, home); at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if kept == "" && journal.Watched(k.journal(), at) {
			kept = at
		}
	}
	if kept != "" {
		return kept
	}
	return dir
}

func (k *Keeper) journal() string { return filepath.Join(k.StateDir, "journal") }

func contains(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func (k *Keeper) open() (*journal.Journal, error) {
	if err := config.MakeStateDir(k.StateDir); err != nil {
		return nil, err
	}
	return journal.Open(journal.Options{Dir: k.journal()})
}

// handle does it for a project. Told says that the person knows already why it fails.
func (k *Keeper) handle(ctx context.Context, c Client, ev Event, top string) (told bool, err error) {
	j, err := k.open()
	if err != nil {
		return false, err
	}
	defer j.Close()
	if ev.Kind == Start {
		if journal.Watched(j.Dir(), top) || k.Fill == nil {
			return false, nil
		}
		return false, k.Fill(top)
	}
	w, err := j.Watch(ctx, top)
	if errors.Is(err, context.DeadlineExceeded) {
		return false, errors.New("its first copy is still being made, or another call takes long")
	}
	if err != nil {
		return false, err
	}
	defer w.Close()
	n, err := readNotes(w.Dir())
	if err != nil {
		return false, err
	}
	return k.step(ctx, c, ev, top, w, n)
}

// step brings the state up to date and notes the event.
func (k *Keeper) step(ctx context.Context, c Client, ev Event, top string, w *journal.Watch, n *notes) (told bool, err error) {
	now := time.Now()
	s := n.Sessions[ev.key()]
	s.Last = now
	head := Outside()
	switch ev.Kind {
	case After:
		if call, ok := n.ended(&ev); ok {
			head = call.entry()
		} else {
			head = k.noted(&ev, s, now).entry()
		}
	default:
		if call, ok := n.underWay(now); ok {
			head = call.entry()
		}
	}
	var paths []string
	if edited, ok := c.Edits(ev); ok && (ev.Kind == Before || ev.Kind == After) {
		if paths = within(top, ev.Dir, edited); len(paths) == 0 {
			return false, nil // it changes nothing of the project
		}
	}
	err = update(ctx, w, head, paths)
	switch ev.Kind {
	case Before:
		n.began(k.noted(&ev, s, now))
	case Prompt:
		n.over(&ev)
		s.Prompt = promptID(ev)
	case Stop:
		n.over(&ev)
	}
	if errors.Is(err, treestate.ErrTooMany) {
		if told = slices.Contains(s.Told, "many"); !told {
			s.Told = append(s.Told, "many")
		}
	}
	n.Sessions[ev.key()] = s
	return told, errors.Join(err, n.write(w.Dir(), now))
}

// Outside is the head of an entry of which nobody knows who made the changes.
func Outside() journal.Entry { return journal.Entry{Tool: OutsideTool, Outside: true} }

// update brings the state up to date, and makes an entry of what changed.
func update(ctx context.Context, w *journal.Watch, head journal.Entry, paths []string) error {
	changes, err := w.Update(ctx, paths, journal.WatchOptions{})
	if err != nil {
		return err
	}
	if len(changes) > 0 {
		if _, err := w.Record(head, changes); err != nil {
			return err
		}
	}
	return w.Save()
}

// noted is a call as it is remembered.
func (k *Keeper) noted(ev *Event, s session, now time.Time) noted {
	c := noted{
		Native: ev.Call, Client: ev.Client, Session: ev.Session, Agent: ev.Agent, Prompt: s.Prompt, Tool: ev.Tool, Began: now,
	}
	native := ev.Call
	if native == "" {
		native = rand.Text()
	}
	sum := sha256.Sum256([]byte(ev.Client + "\x00" + ev.Session + "\x00" + native))
	c.ID = "n_" + lower.EncodeToString(sum[:])[:12]
	return c
}

var lower = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

func (c noted) entry() journal.Entry {
	e := journal.Entry{Call: c.ID, Session: c.Session, Client: c.Client, Prompt: c.Prompt, Tool: c.Tool}
	if c.Agent != "" {
		e.Agents = []string{c.Agent}
	}
	return e
}

func promptID(ev Event) string {
	native := ev.PromptID
	if native == "" {
		native = rand.Text()
	}
	sum := sha256.Sum256([]byte(ev.Client + "\x00" + ev.Session + "\x00" + native + "\x00prompt"))
	return "p_" + lower.EncodeToString(sum[:])[:12]
}

// within returns the paths that are in the project, below its top.
func within(top, dir string, paths []string) (list []string) {
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		p = filepath.Clean(p)
		if real, err := filepath.EvalSymlinks(p); err == nil { // a link in the project may lead elsewhere in it
			p = real
		} else if real, err := filepath.EvalSymlinks(filepath.Dir(p)); err == nil {
			p = filepath.Join(real, filepath.Base(p))
		}
		if rel, err := filepath.Rel(top, p); err == nil && filepath.IsLocal(rel) && rel != "." {
			list = append(list, filepath.ToSlash(rel))
		}
	}
	return list
}

// Settle brings the state of a project up to date, if it is kept, so that what was changed last is in the journal.
func Settle(ctx context.Context, j *journal.Journal, top string) error {
	if !journal.Watched(j.Dir(), top) {
		return nil
	}
	w, err := j.Watch(ctx, top)
	if err != nil {
		return err
	}
	defer w.Close()
	n, err := readNotes(w.Dir())
	if err != nil {
		return err
	}
	head := Outside()
	if call, ok := n.underWay(time.Now()); ok {
		head = call.entry()
	}
	return update(ctx, w, head, nil)
}

// Top returns the kept project that a directory is in, or the directory.
func Top(stateDir, dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return dir
	}
	for at := real; ; at = filepath.Dir(at) {
		if journal.Watched(filepath.Join(stateDir, "journal"), at) {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// First makes the first state of a project.
func (k *Keeper) First(ctx context.Context, top string) error {
	j, err := k.open()
	if err != nil {
		return err
	}
	defer j.Close()
	w, err := j.Watch(ctx, top)
	if err != nil {
		return err
	}
	defer w.Close()
	if w.Filled() {
		return nil
	}
	return update(ctx, w, Outside(), nil)
}
