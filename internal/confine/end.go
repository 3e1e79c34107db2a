package confine

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/changeset"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// endGrace is how long programs that are killed when the tool is done may take to be gone.
const endGrace = 5 * time.Second

// commands runs the programs of one run of a tool.
type commands struct {
	*Confiner
	permit *tongs.Permit

	mu sync.Mutex
	// over says that the tool is done: nothing starts any more.
	over bool
	// life is that of programs in the foreground, nil before the first; running counts those and what is being started.
	life    context.Context
	kill    context.CancelFunc
	running sync.WaitGroup
	// turn is taken by the program that runs on the copy: they follow one another.
	turn   chan struct{}
	copied copied
	// held is what its programs planted, adopted are ended processes of earlier calls.
	held    holding
	adopted []*process
}

// copied is the copy that the programs of a run share.
type copied struct {
	// used says that a program ran on it to its end. Layers are nil where nothing could be written to.
	used   bool
	layers *sandbox.Layers
	// lost says that nothing of it is kept, whatever else runs.
	lost    bool
	planted []string
	notes   []string
}

var errOver = tongs.Errorf(tongs.CodeCancelled, "the call has ended; it runs no more programs")

// enter counts a program that is about to start. It runs in the context that is returned, which ends with the run of the
// tool, and leaves when it is gone.
func (c *commands) enter(ctx context.Context) (within context.Context, leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil, nil, errOver
	}
	if c.life == nil {
		c.life, c.kill = context.WithCancel(context.Background())
		c.turn = make(chan struct{}, 1)
	}
	c.running.Add(1)
	within, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	return within, func() {
		stop()
		cancel()
		c.running.Done()
	}, nil
}

// ended reports whether the tool is done.
func (c *commands) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// takeTurn waits until no other program runs on the copy.
func (c *commands) takeTurn(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return tongs.Errorf(tongs.CodeCancelled, "the command was not started: %w", context.Cause(ctx))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.copied.lost {
		c.passTurn()
		return errLost
	}
	return nil
}

func (c *commands) endTurn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passTurn()
}

// passTurn lets the next program run on the copy. A copy that was lost meanwhile is removed: End could not while the turn was
// taken.
func (c *commands) passTurn() {
	if c.copied.lost {
		_ = c.copied.layers.Close()
	}
	<-c.turn
}

var errLost = tongs.Errorf(tongs.CodeExecutionError,
	"an earlier program of this call failed, and the copy of the files was dropped; call the tool again")

// add takes up what a program did that ran on the copy. It has the turn.
func (c *commands) add(p *process, res *sandbox.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.copied.lost {
		_ = res.Overlay.Close()
		return
	}
	c.copied.used, c.copied.layers = true, res.Overlay
	c.copied.planted = append(c.copied.planted, res.Report.Planted...)
	c.copied.notes = append(c.copied.notes, p.remarksOn(res)...)
}

// lose drops the copy, once and for all.
func (c *commands) lose(layers *sandbox.Layers) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.copied.lost = true
	_ = layers.Close()
}

// leaves takes up what a program planted that this call ended, and what was found before it could start.
func (c *commands) leaves(p *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held.add(&p.held)
}

// Adopt implements tongs.Commands.
func (c *commands) Adopt(proc tongs.Process) {
	p, ok := proc.(*process)
	if !ok || !p.background {
		return
	}
	select {
	case <-p.inner.Done():
	default:
		return
	}
	p.finishing.Do(func() { p.finish(context.Background()) })
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over && !slices.Contains(c.adopted, p) {
		c.adopted = append(c.adopted, p)
	}
}

// End implements engine.Programs.
func (c *commands) End(context.Context) (engine.Outcome, error) {
	c.mu.Lock()
	c.over = true
	kill := c.kill
	c.mu.Unlock()
	if kill != nil {
		kill()
		if !c.gone() {
			return nil, tongs.Errorf(tongs.CodeExecutionError, "programs of the call do not end; nothing that they changed on a copy was kept")
		}
	}
	if !c.copied.used && !c.copied.lost && len(c.held.list)+len(c.held.left)+len(c.adopted) == 0 {
		return nil, nil
	}
	return &outcome{commands: c}, nil
}

// gone waits until the programs in the foreground are gone. Those that do not go leave nothing on the copy when they do.
func (c *commands) gone() bool {
	done := make(chan struct{})
	go func() {
		c.running.Wait()
		close(done)
	}()
	patience := time.NewTimer(endGrace)
	defer patience.Stop()
	select {
	case <-done:
		return true
	case <-patience.C:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.copied.lost = true
	select {
	case c.turn <- struct{}{}: // no program has it, and none will
		_ = c.copied.layers.Close()
	default:
	}
	return false
}

// outcome is what the programs of a run did, all of which are gone.
type outcome struct {
	*commands
	set  *changeset.Set
	told *tongs.Changed
	// recorded are the git directories of which the changes tell as a whole.
	recorded []journal.Repository
	// open are the held names that the call decides.
	open []*pending
}

// pending is a held name that is being decided.
type pending struct {
	*planted
	now tongs.Held
	// of is the process of an earlier call that made it, nil for one of this call.
	of *process
}

// Changes implements engine.Outcome.
func (o *outcome) Changes(ctx context.Context) (changes []tongs.Change, notes []string, err error) {
	if err := o.read(ctx); err != nil {
		return nil, nil, err
	}
	if o.set != nil {
		changes, notes = describe(o.set.Changes()), o.remarks(o.set)
		o.links(o.set.Changes(), changes)
		changes = o.special(changes, o.copied.planted)
		var odd []string
		if changes, odd, err = o.repositories(changes); err != nil {
			return nil, nil, err
		}
		o.tell()
		notes = append(notes, odd...)
	}
	o.claim(&o.held, nil)
	for _, p := range o.adopted {
		p.settling.Lock()
		o.claim(&p.held, p)
		p.settling.Unlock()
	}
	for _, p := range o.open {
		c := tongs.Change{Path: p.place, Kind: tongs.Added, Type: tongs.FileRegular, Version: p.version, Held: &p.now}
		if !p.steers {
			c.Protected = "protected: a command made it where there was none"
		}
		changes = append(changes, c)
	}
	return changes, notes, nil
}

// claim takes up the names of a holding that are to be asked about.
func (o *outcome) claim(h *holding, of *process) {
	for _, p := range h.open() {
		o.open = append(o.open, &pending{planted: p, now: p.Held, of: of})
	}
}

// read reads the copy.
func (o *outcome) read(ctx context.Context) (err error) {
	if !o.copied.used || o.copied.lost || o.set != nil {
		return nil
	}
	if o.set, err = o.changes(ctx, o.copied.layers); err != nil {
		o.copied.lost = true
		return err
	}
	o.tell()
	return nil
}

// tell says what is dropped unless it is kept.
func (o *outcome) tell() {
	o.told = &tongs.Changed{}
	if len(o.set.Changes()) > 0 {
		o.told.Dropped, o.told.Refused = o.set.Summary(), refused(o.set)
	}
}

// Identify implements engine.Outcome.
func (o *outcome) Identify(ctx context.Context, changes []tongs.Change) error {
	return identifyAll(ctx, o.set, changes)
}

// Preview implements engine.Outcome.
func (o *outcome) Preview(_ context.Context, changes []tongs.Change) (string, func(context.Context, io.Writer) error, error) {
	if held := o.pending(changes); len(held) > 0 {
		var list []*planted
		for _, p := range held {
			list = append(list, p.planted)
		}
		return preview(list), nil, nil
	}
	shown, whole := o.set.Begin(maxDiff)
	if whole {
		return shown, nil, nil
	}
	return shown, o.set.WriteAll, nil
}

// pending are the held names among changes.
func (o *outcome) pending(changes []tongs.Change) (list []*pending) {
	for _, c := range changes {
		for _, p := range o.open {
			if c.Held == &p.now {
				list = append(list, p)
			}
		}
	}
	return list
}

// Show implements engine.Outcome.
func (o *outcome) Show(ctx context.Context) error {
	if err := o.read(ctx); err != nil || o.set == nil {
		return err
	}
	if _, _, err := o.repositories(describe(o.set.Changes())); err != nil {
		return err
	}
	o.tell()
	if o.told.Preview = "it changed no file\n"; len(o.set.Changes()) > 0 {
		o.told.Preview = o.set.Preview(maxDiff)
	}
	return nil
}

// Keep implements engine.Outcome.
func (o *outcome) Keep(ctx context.Context, keep []tongs.Change) error {
	for _, p := range o.pending(keep) {
		p.now = p.restore()
	}
	keep = slices.DeleteFunc(slices.Clone(keep), func(c tongs.Change) bool { return c.Held != nil })
	if len(keep) == 0 {
		return nil
	}
	if o.set == nil {
		return errors.New("there is no copy to keep changes of")
	}
	return o.commit(ctx, o.set, keep, o.recorded, o.told)
}

// Park implements engine.Outcome.
func (o *outcome) Park(ctx context.Context, until time.Time) (engine.Parcel, error) {
	if o.set == nil {
		return engine.Parcel{}, errors.New("there is no copy to keep changes of")
	}
	head := o.head()
	head.Repositories = o.recorded
	receipt, err := o.set.Park(ctx, o.opt.Changes, head, until)
	if err != nil {
		return engine.Parcel{}, err
	}
	return engine.Parcel{ID: receipt.ID, Digest: receipt.Digest}, nil
}

// Drop implements engine.Outcome.
func (o *outcome) Drop(why string) {
	o.copied.lost = o.copied.lost || o.copied.used
	_ = o.copied.layers.Close()
	if o.set != nil {
		_ = o.set.Drop()
	}
	for _, p := range o.open {
		if p.of == nil {
			p.Held = p.now
			continue
		}
		p.of.settling.Lock()
		p.Held = p.now
		p.asked = p.Host == "" || p.Why != "" // whoever meets the end of the job next asks about the others
		p.of.settling.Unlock()
	}
	o.open = nil
	o.held.keep(why)
}

// Settled implements engine.Outcome.
func (o *outcome) Settled() *tongs.Settled {
	s := &tongs.Settled{Changes: o.told}
	if o.told == nil && (o.copied.used || o.copied.lost) {
		s.Changes = &tongs.Changed{Dropped: "all of it, because the command did not end normally"}
	}
	o.held.report(s)
	for _, p := range o.adopted {
		p.settling.Lock()
		p.held.report(s)
		p.settling.Unlock()
	}
	if s.Changes == nil && len(s.Held)+len(s.Approved)+len(s.Planted) == 0 {
		return nil
	}
	return s
}
