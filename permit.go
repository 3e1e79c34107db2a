package tongs

import (
	"context"
	"slices"
	"sync"
)

// Permit is what was decided for one call: its effects, the parts of the roots that it may touch, and whether its programs
// run on a copy. The engine makes one for each run of a tool and hands it to the makers of Commands and HTTP, never to a
// tool.
//
// A permit dies with its context. Then it has no effects and no zones, every path counts as ruled, and nothing more is
// decided; it still tells which call it was for. A nil permit and the zero value are dead. It is safe for concurrent use.
type Permit struct {
	ctx   context.Context
	call  Call
	zones []Zone
	host  PermitHost

	mu      sync.Mutex
	effects []Effect
	onCopy  bool
}

// PermitHost decides for the permits of a call. Its methods are not called once the permit is dead; one that is under way
// then must see to that itself.
type PermitHost interface {
	// Decide decides further effects, asking where it must, and returns them as they were decided. The error is the
	// refusal.
	Decide(ctx context.Context, more More) ([]Effect, error)
	// Ruled returns a test for paths: whether a rule asks for or blocks an effect of the kind on exactly this one, so that
	// an effect on a directory above it, or an unknown one, does not cover it. A below that is not nil is a directory whose
	// read was decided, and only paths in it are tested. Any false says that no rule can name one. The test is safe for
	// concurrent use.
	Ruled(kind EffectKind, below *Path) (named func(Path) bool, any bool)
	// Note records what the call did under the permit.
	Note(kind NoteKind, what string)
}

// More is further effects that a running tool met and asks to have decided, see [Permit.Decide].
type More struct {
	// Reason tells a person why it is needed.
	Reason  string
	Effects []Effect
	// Unasked refuses what somebody would have to be asked about. Nothing is recorded of such a refusal, nor of what was allowed
	// before.
	Unasked bool
	// Preview shows what it is about; nil shows the plan of the call. It is called only when somebody is asked.
	Preview func(context.Context) (string, error)
	// Message tells a person what would be done, in one sentence; empty is made from the effects.
	Message string
	// Unsaid effects are not asked about where no rule and no mode covers them, since what is asked for next includes them.
	// Then they do not become effects of the permit.
	Unsaid bool
}

// NoteKind says what a note is about.
type NoteKind int

// The kinds of note.
const (
	// NoteSent is data that left, or something that was changed directly: a second run of the tool is a new question.
	NoteSent NoteKind = iota + 1
	// NoteConnected is a connection that was made or refused: target and address, and what became of it.
	NoteConnected
)

var (
	errDeadPermit = Errorf(CodeCancelled, "the call has ended; what it was allowed has ended with it")
	errNoHost     = Errorf(CodeDenied, "nobody decides more for this call")
)

// NewPermit returns a permit for the call that dies with ctx. Empty zones leave it no files at all. A nil host refuses
// everything beyond the effects, and has every path count as ruled. A dry run is on a copy.
func NewPermit(ctx context.Context, call *Call, effects []Effect, zones []Zone, host PermitHost) *Permit {
	p := &Permit{ctx: ctx, call: *call, zones: zones, host: host, effects: slices.Clip(effects), onCopy: call.DryRun}
	p.call.Ticket, p.call.Sink = "", nil
	return p
}

// RunOnCopy makes every program of the call run on a copy. There is no way back.
func (p *Permit) RunOnCopy() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onCopy = true
}

// OnCopy reports whether every program of the call runs on a copy, so that what it changes is decided afterwards.
func (p *Permit) OnCopy() bool {
	if p == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.onCopy
}

// Err is nil while the permit is alive.
func (p *Permit) Err() error {
	if p == nil || p.ctx == nil || p.ctx.Err() != nil {
		return errDeadPermit
	}
	return nil
}

// Call is a copy of the call that it was made for, without what would let anybody answer or observe for others.
func (p *Permit) Call() *Call {
	if p == nil {
		return &Call{}
	}
	c := p.call
	c.Args, c.Agents = slices.Clone(c.Args), slices.Clone(c.Agents)
	return &c
}

// Effects are the decided effects so far.
func (p *Permit) Effects() []Effect {
	if p.Err() != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clip(p.effects)
}

// Zones are the parts of the roots that the call may touch. None means that it may touch no file.
func (p *Permit) Zones() []Zone {
	if p.Err() != nil {
		return nil
	}
	return slices.Clip(p.zones)
}

// Decide decides further effects, asking where it must, without running the tool again. The error is the refusal.
func (p *Permit) Decide(ctx context.Context, more More) error {
	if err := p.Err(); err != nil {
		return err
	}
	if p.host == nil {
		return errNoHost
	}
	effects, err := p.host.Decide(ctx, more)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.effects = append(slices.Clip(p.effects), effects...)
	return nil
}

// Ruled reports whether a rule asks for or blocks the effect on exactly this path, so that one on a directory above it, or
// one that is unknown, does not cover it.
func (p *Permit) Ruled(kind EffectKind, at Path) bool {
	named, any := p.ruled(kind, nil)
	return any && named(at)
}

// RuledBelow returns Ruled for reads of what is below dir, whose read was decided. Any false says that no rule can name
// anything there. The test is safe for concurrent use.
func (p *Permit) RuledBelow(dir Path) (named func(Path) bool, any bool) {
	return p.ruled(EffectRead, &dir)
}

func (p *Permit) ruled(kind EffectKind, below *Path) (named func(Path) bool, any bool) {
	if p.Err() == nil && p.host != nil {
		if named, any = p.host.Ruled(kind, below); named != nil || !any {
			return named, any
		}
	}
	return everyPath, true
}

func everyPath(Path) bool { return true }

// Sent records that data left or something changed directly.
func (p *Permit) Sent(what string) { p.note(NoteSent, what) }

// Connected records a connection that was made or refused.
func (p *Permit) Connected(where string) { p.note(NoteConnected, where) }

func (p *Permit) note(kind NoteKind, what string) {
	if p.Err() == nil && p.host != nil {
		p.host.Note(kind, what)
	}
}
