package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Toolset is what configuration knows custom tools by; Root is the root that the forge is, so that files in it are
// spelled /forge/NAME/...
const (
	Toolset = "custom"
	Root    = "forge"
)

// Options are those of a set. Zero values are meaningful.
type Options struct {
	// Dir is the forge, on this machine. It need not exist.
	Dir string
	// State is a private directory for approvals, and copies of what was approved. Empty keeps nothing: every call asks.
	State string
	// NoApprovals has nothing count as approved or built, and State say nothing but what is disabled: not everybody who can
	// name a state directory may say what was.
	NoApprovals bool
	// Taken says why a new tool cannot have a name, empty where it can. Nil knows of none.
	Taken func(name string) string
	// Closed says why no tools can be made or built here; empty means that they can.
	Closed string
	// Timeout is how long a tool may take that names no time: 30 s. MaxTimeout is the most that a call can name: 600 s.
	Timeout, MaxTimeout time.Duration
	// LookPath finds a program that builds need: exec.LookPath of this process.
	LookPath func(name string) (string, error)
	// Watch is for a program that lives on: a refresh then costs nothing while nothing happens, where the system tells. Such a
	// set must be closed.
	Watch bool
}

// Set is the tools of one forge. It is safe for concurrent use. Nothing runs until a tool is called.
type Set struct {
	opt        Options
	store      store
	refreshing sync.Mutex
	// watch hears of changes; nil where none does. It was begun at scanned. Refreshing guards these and closed.
	watch   *watch
	scanned time.Time
	closed  bool
	// settles is settleTime, except in tests.
	settles time.Duration
	current atomic.Pointer[snapshot]
	// version counts the changes of current, told is that of the last refresh.
	version, told atomic.Int64
	verified      sync.Map // digests of copies to the files they had when they were read
	cost          cost
}

// New returns the set of the tools in the forge, as they are now.
func New(opt Options) (*Set, error) {
	dir, err := filepath.Abs(opt.Dir)
	if err != nil || opt.Dir == "" {
		return nil, tongs.Errorf(tongs.CodeConfigError, "the directory of custom tools %q cannot be used", opt.Dir)
	}
	opt.Dir = realDir(dir)
	if opt.Timeout <= 0 {
		opt.Timeout = 30 * time.Second
	}
	if opt.MaxTimeout <= 0 {
		opt.MaxTimeout = max(600*time.Second, opt.Timeout)
	}
	if opt.LookPath == nil {
		opt.LookPath = lookPath
	}
	if opt.Taken == nil {
		opt.Taken = func(string) string { return "" }
	}
	s := &Set{opt: opt, store: store{opt.State}, settles: settleTime}
	s.current.Store(&snapshot{})
	s.store.sweep(time.Now())
	if opt.Watch && opt.State != "" {
		if err := os.MkdirAll(s.store.records(), 0o700); err != nil {
			return nil, tongs.Errorf(tongs.CodeConfigError, "approvals of custom tools cannot be kept: %w", err)
		}
	}
	if _, err := s.Scan(); err != nil {
		return nil, tongs.Errorf(tongs.CodeConfigError, "the custom tools in %s cannot be read: %w", dir, err)
	}
	return s, nil
}

// realDir is a directory by a path without links, as far as it exists: what was approved is known by it, before and after it
// is made.
func realDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil || filepath.Dir(dir) == dir {
		return cmp.Or(real, dir)
	}
	return filepath.Join(realDir(filepath.Dir(dir)), filepath.Base(dir))
}

// Dir is the forge, on this machine.
func (s *Set) Dir() string { return s.opt.Dir }

// Programs is the private directory of what runs, which a sandbox must let its own programs see.
func (s *Set) Programs() string { return s.store.programs() }

func (e *entry) status() tongs.Status {
	switch {
	case e.record.Disabled:
		return tongs.StatusDisabled
	case e.problem != "":
		return tongs.StatusBroken
	case e.record.Digest == "":
		return tongs.StatusUnapproved
	case e.record.Digest != e.digest:
		return tongs.StatusChanged
	}
	return tongs.StatusReady
}

// States returns what is known of each tool, by name, the broken ones too.
func (s *Set) States() []tongs.SourceState {
	list := []tongs.SourceState{}
	for _, e := range s.current.Load().entries {
		list = append(list, e.state())
	}
	return list
}

func (e *entry) state() tongs.SourceState {
	st := tongs.SourceState{
		Kind: tongs.SourceForge, Name: e.name, Status: e.status(), Where: e.dir, Digest: e.digest, Language: e.source(),
		ApprovedBy: e.record.ApprovedBy, ApprovedAt: e.record.ApprovedAt,
	}
	if e.manifest != nil {
		st.Version, st.Description = e.manifest.Version, e.manifest.Description
	}
	approve := "tongs forge approve " + e.name
	switch st.Status {
	case tongs.StatusBroken:
		st.Detail = e.problem
	case tongs.StatusUnapproved, tongs.StatusChanged:
		st.Detail, st.Next = "a person has to look at it: "+approve, approve
	case tongs.StatusDisabled:
		st.Detail, st.Next = approve+" offers it again", approve
	}
	st.Tools = []tongs.ToolState{{Name: st.Name, Status: st.Status, Detail: st.Detail}}
	return st
}

// Tools returns the tools that are not disabled, in stable order. One that is broken says why when it is called; its
// source has no digest.
func (s *Set) Tools() []tongs.Tool {
	var tools []tongs.Tool
	for _, e := range s.current.Load().entries {
		if e.tool != nil && e.status() != tongs.StatusDisabled {
			tools = append(tools, e.tool)
		}
	}
	return tools
}

// Reviewed reports whether a person approved a tool of this source.
func (s *Set) Reviewed(src tongs.Source) bool {
	e := s.current.Load().find(src.Name)
	return e != nil && src.Kind == tongs.SourceForge && src.Digest != "" && e.record.Digest == src.Digest && !e.record.Disabled
}

// find returns the entry of a tool, looked at again.
func (s *Set) find(name string) (*entry, error) {
	if _, err := s.Scan(); err != nil {
		return nil, err
	}
	return s.known(name)
}

// known returns the entry of a tool, as it was last looked at.
func (s *Set) known(name string) (*entry, error) {
	snap := s.current.Load()
	if e := snap.find(name); e != nil {
		return e, nil
	}
	var names []string
	for _, e := range snap.entries {
		names = append(names, e.name)
	}
	if len(names) == 0 {
		return nil, tongs.Errorf(tongs.CodeUnknownTool, "there is no custom tool %q; there are none yet: create_custom_tool makes one",
			name)
	}
	return nil, tongs.Errorf(tongs.CodeUnknownTool, "there is no custom tool %q; there are %s",
		name, cleantext.Cut(strings.Join(names, ", "), maxText))
}

// seen is what a person was shown: the content of a tool of this set.
type seen struct {
	set     *Set
	name    string
	content *content
}

// Look implements engine.Reviewable: it reads a tool for a person to approve.
func (s *Set) Look(_ context.Context, name string) (*tongs.Review, error) {
	e, err := s.find(name)
	if err != nil {
		return nil, err
	}
	c, err := load(e.dir)
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeConfigError, "%s: %w", name, err)
	}
	if digest(c.files) != e.digest && e.problem == "" {
		return nil, stale(name)
	}
	changed := e.record.Digest != e.digest || e.record.Disabled
	return tongs.NewReview(e.state(), s.show(e, c), e.record.Digest != "", changed, &seen{s, e.name, c}), nil
}

// show writes a tool out: how it differs from what was approved, where that is known.
func (s *Set) show(e *entry, c *content) string {
	var before *content
	if e.record.Digest != "" {
		before, _ = s.copied(e.record.Digest)
	}
	return c.show(before, func(path string) string { return s.provenance(e, c, path) })
}

// copied reads the copy of what was approved, and checks that it is that.
func (s *Set) copied(want string) (*content, error) {
	c, err := load(s.store.copyOf(want))
	if err != nil {
		return nil, err
	}
	if digest(c.files) != want {
		return nil, fmt.Errorf("the copy of what was approved is not what it was; remove %s, and approve the tool again",
			s.store.copyOf(want))
	}
	return c, nil
}

// copyIntact reports whether the copy of what was approved is that. One that has the stat identities it had is not read again.
func (s *Set) copyIntact(want string) bool {
	known, ok := s.verified.Load(want)
	now, err := list(s.store.copyOf(want))
	if ok && err == nil && sameStamps(now, known.([]file)) {
		return true
	}
	c, err := s.copied(want)
	if err != nil {
		return false
	}
	s.verified.Store(want, c.files)
	return true
}

// Approve implements engine.Reviewable: it has the tool run as it was looked at.
func (s *Set) Approve(_ context.Context, review *tongs.Review, by string) error {
	v, ok := review.Seen().(*seen)
	if !ok || v.set != s {
		return tongs.Errorf(tongs.CodeInvalidArgs, "this is no review of a custom tool that is here")
	}
	e, err := s.find(v.name)
	if err != nil {
		return err
	}
	d := digest(v.content.files)
	switch {
	case e.problem != "":
		return tongs.Errorf(tongs.CodeConfigError, "%s cannot be used: %s", e.name, e.problem)
	case e.digest != d:
		return stale(e.name)
	}
	if err := s.keep(e, v.content, by); err != nil {
		return err
	}
	err = s.store.update(e.name, e.dir, func(r *record) {
		*r = record{Tool: e.name, Dir: e.dir, Digest: d, Files: v.content.files, ApprovedBy: by, ApprovedAt: time.Now(), Versions: r.Versions}
	})
	return errors.Join(err, s.changed())
}

// Disable stops offering a tool, until it is approved again.
func (s *Set) Disable(name string) error {
	e, err := s.find(name)
	if err != nil {
		return err
	}
	err = s.store.update(e.name, e.dir, func(r *record) { r.Disabled = true })
	return errors.Join(err, s.changed())
}

// Remove deletes a tool, what was approved of it, and its copies.
func (s *Set) Remove(name string) error {
	e, err := s.find(name)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(e.dir); err != nil {
		return err
	}
	versions := e.record.Versions
	if e.record.Digest != "" {
		versions = append(slices.Clone(versions), Version{Digest: e.record.Digest})
	}
	return errors.Join(s.store.remove(name), s.changed(), s.drop(versions))
}

// changed looks at the forge again, which somebody just changed.
func (s *Set) changed() error {
	_, err := s.Scan()
	return err
}

func stale(name string) error {
	return tongs.Errorf(tongs.CodeStaleFile, "the custom tool %s changed a moment ago; call it again", name)
}

// cost is how long refreshing took.
type cost struct {
	mu    sync.Mutex
	count int64
	total time.Duration
}

func (c *cost) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	c.total += d
}

// Cost returns how often the set was refreshed, and how long that took altogether.
func (s *Set) Cost() (count int64, total time.Duration) {
	s.cost.mu.Lock()
	defer s.cost.mu.Unlock()
	return s.cost.count, s.cost.total
}
