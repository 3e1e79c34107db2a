package module

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/schema"
)

// Options are those of a set. Zero values are meaningful.
type Options struct {
	// Modules are those that are configured. Further ones are added by [Set.Load].
	Modules []Config
	// State is a private directory for approvals. Empty keeps none: every call asks.
	State string
	// Programs is a private directory for what runs. A sandbox must let a program that is started from there see the
	// directory that it is in (confine.Options.Programs). Empty runs nothing.
	Programs string
	// NoApprovals has nothing count as approved: not everybody who can name a state directory may say what was.
	NoApprovals bool
	// Workspace is the host path of the workspace.
	Workspace string
	// Commands run programs with what a permit allows, as engine.Options.Commands does: for reviews, and for functions that
	// say whether a call needs approval. Nil runs neither, so that such calls are asked about. Zones are the parts of the
	// roots that these programs read; none lets them run nowhere.
	Commands func(*tongs.Permit) tongs.Commands
	Zones    []tongs.Zone
	// LoadTime is how long a module may take to load: 60 s. Timeout is how long a call may take: 120 s.
	LoadTime, Timeout time.Duration
	// LookPath finds the program that a language needs: exec.LookPath.
	LookPath func(name string) (string, error)
	// OnChange is called, never twice at a time, when Tools would return others than before.
	OnChange func()
	// Version is that of the program, for modules.
	Version string
}

// Set is a number of modules. It is safe for concurrent use. Nothing of a module runs until a person approved it, and one
// of its tools is called.
type Set struct {
	opt       Options
	store     store
	hosts     hosts
	validator schema.Validator
	changing  sync.Mutex
	checked   sync.Map // directories of programs that are as they were made
	// life is that of the permits of programs that outlive a call; it ends with the set.
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	modules []*mod
	// dirty says that tools changed since the last refresh, which looked at the modules at looked.
	dirty  bool
	looked time.Time
}

// New returns the set of the modules. One that cannot be used is listed with the reason.
func New(opt Options) (*Set, error) {
	if opt.LoadTime <= 0 {
		opt.LoadTime = 60 * time.Second
	}
	if opt.LookPath == nil {
		opt.LookPath = exec.LookPath
	}
	if opt.OnChange == nil {
		opt.OnChange = func() {}
	}
	s := &Set{opt: opt, store: store{opt.State}, looked: time.Now()}
	s.life, s.end = context.WithCancel(context.Background())
	s.hosts.set = s
	var errs []error
	for _, c := range opt.Modules {
		if _, err := s.Load(c); err != nil {
			errs = append(errs, err)
		}
	}
	return s, errors.Join(errs...)
}

// Load adds a module, such as one that a worker file names, and returns its tools as they are now. One that is there
// already is not added again. The tools of a module that cannot be used say why when they are called.
func (s *Set) Load(c Config) ([]tongs.Tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.modules {
		if m.key == c.key() && slices.Equal(m.cfg.Tools, c.Tools) && slices.Equal(m.cfg.Network, c.Network) && m.cfg.Disabled == c.Disabled {
			return m.tools(), nil
		}
	}
	m := s.newModule(c)
	s.modules, s.dirty = append(s.modules, m), true
	return m.tools(), nil
}

func (s *Set) list() []*mod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.modules)
}

// Tools returns the tools of all modules, in stable order. It runs nothing.
func (s *Set) Tools() (tools []tongs.Tool) {
	for _, m := range s.list() {
		tools = append(tools, m.tools()...)
	}
	return tools
}

// Reviewed reports whether a person approved a tool of this source.
func (s *Set) Reviewed(src tongs.Source) bool {
	if src.Kind != tongs.SourceModule || src.Digest == "" || s.opt.NoApprovals {
		return false
	}
	return slices.ContainsFunc(s.list(), func(m *mod) bool {
		if m.name != src.Name {
			return false
		}
		r, err := m.record()
		return err == nil && r.Digest == src.Digest
	})
}

// lookAgain is how long modules are not looked at because nothing of them is known to have changed: a call of a tool
// looks at its own in any case.
const lookAgain = 2 * time.Second

// Refresh implements engine.Provider. It looks at the modules again, by stat where nothing changed, when something did
// change here or a while after the last time.
func (s *Set) Refresh(context.Context) (changed bool) {
	now := time.Now()
	s.mu.Lock()
	due := s.dirty || now.Sub(s.looked) >= lookAgain
	changed, s.dirty = s.dirty, false
	if due {
		s.looked = now
	}
	s.mu.Unlock()
	if !due {
		return false
	}
	for _, m := range s.list() {
		changed = m.refresh() || changed
	}
	return changed
}

// changed notes that tools changed, and tells whoever wants to know.
func (s *Set) changed() {
	s.mu.Lock()
	s.dirty = true
	s.mu.Unlock()
	s.changing.Lock()
	defer s.changing.Unlock()
	s.opt.OnChange()
}

// Close ends every host and returns when they are gone.
func (s *Set) Close() error {
	s.hosts.close()
	s.end()
	return nil
}

// States returns what is known of each module. It runs nothing of them.
func (s *Set) States() []tongs.SourceState {
	states := []tongs.SourceState{}
	for _, m := range s.list() {
		states = append(states, m.state())
	}
	return states
}

func (m *mod) state() tongs.SourceState {
	st := tongs.SourceState{
		Kind: tongs.SourceModule, Name: m.name, Language: string(m.lang), Where: m.cfg.target(), Origin: m.cfg.Origin,
		Tools: []tongs.ToolState{}, Status: tongs.StatusReady,
	}
	now, err := m.look(true)
	switch {
	case m.cfg.Disabled != "":
		st.Status, st.Detail = tongs.StatusDisabled, m.cfg.Disabled
	case err != nil:
		st.Status, st.Detail = tongs.StatusBroken, message(err)
	default:
		st.Digest, st.ApprovedBy, st.ApprovedAt = now.digest, now.record.ApprovedBy, now.record.ApprovedAt
		if st.Status = now.status(); st.Status != tongs.StatusReady {
			st.Detail, st.Next = "a person has to look at it: "+m.review(), m.review()
		}
	}
	for _, name := range m.cfg.Tools {
		t := tongs.ToolState{Name: name, Status: st.Status}
		if err == nil && m.cfg.Disabled == "" {
			if _, why := now.definition(m, name); why != "" {
				t.Status, t.Detail = tongs.StatusBroken, why
			}
		}
		st.Tools = append(st.Tools, t)
	}
	return st
}

// message is the text of an error, without its code.
func message(err error) string {
	if e, ok := errors.AsType[*tongs.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// find returns a module by its name, or by an end of it that only one has.
func (s *Set) find(name string) (*mod, error) {
	var found []*mod
	var names []string
	for _, m := range s.list() {
		if m.name == name || m.cfg.Module == name {
			return m, nil
		}
		if strings.HasSuffix(m.name, "/"+strings.TrimPrefix(name, "./")) || m.name == strings.TrimPrefix(name, "./") {
			found = append(found, m)
		}
		names = append(names, m.name)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(names) == 0:
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "there is no module %q; none is configured", name)
	}
	return nil, tongs.Errorf(tongs.CodeInvalidArgs, "there is no module %q, or more than one; there are %s", name, strings.Join(names, ", "))
}
