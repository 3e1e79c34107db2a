package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/approval"
	"github.com/tongs-ai/tongs/audit"
	"github.com/tongs-ai/tongs/builtin/code"
	"github.com/tongs-ai/tongs/builtin/files"
	"github.com/tongs-ai/tongs/builtin/find"
	"github.com/tongs-ai/tongs/builtin/shell"
	"github.com/tongs-ai/tongs/config"
	"github.com/tongs-ai/tongs/confine"
	"github.com/tongs-ai/tongs/durable"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/journal"
	"github.com/tongs-ai/tongs/mcpclient"
	"github.com/tongs-ai/tongs/output"
	"github.com/tongs-ai/tongs/policy"
	"github.com/tongs-ai/tongs/registry"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/search/live"
	"github.com/tongs-ai/tongs/telemetry"
	"github.com/tongs-ai/tongs/worker"
	"github.com/tongs-ai/tongs/workspace"
)

// place is where one run works: the directories, none of them opened.
type place struct {
	workspace, limit, configDir, stateDir string
	// ownForge says that custom tools are where those of the user are, rather than where the environment says.
	ownForge bool
}

// locate finds the directories and refuses a workspace that tools could change their own rules in.
func (a *app) locate() (place, error) {
	var p place
	var err error
	if p.workspace, p.limit, err = config.FindWorkspace(a.flags.workspace); err != nil {
		return p, err
	}
	if p.configDir, err = config.FindConfigDir(); err != nil {
		return p, tongs.Errorf(tongs.CodeConfigError, "%w", err)
	}
	if p.stateDir, err = config.FindStateDir(); err != nil {
		return p, tongs.Errorf(tongs.CodeConfigError, "%w", err)
	}
	p.ownForge = a.ownForge()
	return p, config.Apart(p.workspace, p.configDir, p.stateDir)
}

// configure reads the configuration. The state file is opened only where a workspace file may be trusted.
func (a *app) configure(p place, w wiring) (*config.Config, error) {
	if err := config.CheckStateDir(p.stateDir); err != nil {
		return nil, err
	}
	var trustErr error
	cfg, err := config.Load(config.Options{
		Workspace: p.workspace, ConfigDir: p.configDir, Mode: w.mode, Unattended: w.unattended,
		Managed: a.managed, ManagedOwner: a.managedOwner, Home: a.home,
		Trusted: func(path, hash string) bool {
			if w.unattended && !a.ownState(p.stateDir) {
				return false
			}
			trusted, err := trusted(p.stateDir, path, hash)
			trustErr = err
			return trusted
		},
	})
	return cfg, errors.Join(err, trustErr)
}

// trusted reports whether a person vouched for a file with this content.
func trusted(stateDir, path, hash string) (bool, error) {
	if _, err := os.Stat(filepath.Join(stateDir, durable.FileName)); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	db, err := durable.Open(stateDir)
	if err != nil {
		return false, err
	}
	defer db.Close()
	known, ok, err := db.Trust().Get(context.Background(), path)
	return ok && known.Hash == hash, err
}

// wiring says what a command needs.
type wiring struct {
	mode *tongs.Mode
	// memory leaves the state and the files alone: enough to look at tools.
	memory bool
	// cancel ends the call, for a person who presses Ctrl-C at a question; nil asks nobody at the terminal.
	cancel context.CancelFunc
	// unattended is set by what a program starts rather than a person: configuration and state that the environment names
	// can only narrow there.
	unattended bool
	// channel asks whoever made the call, where there is no terminal; a call waits for an answer from elsewhere for wait.
	channel approval.CallerChannel
	wait    time.Duration
	// lives is set by programs that go on after a call: their commands may be jobs.
	lives bool
	// observe is told what happens to calls, and shown are further channels that show questions: those of the console.
	observe func(engine.Event)
	shown   []approval.Channel
	// worker is the one that a person starts; events is told what happens in runs, and asking goes around what asks at the
	// terminal.
	worker *config.Worker
	events func(worker.Event)
	asking func(approval.Channel) approval.Channel
}

// commandLine names the session of calls that are made on the command line, one process each, as far as build caches are
// concerned.
const commandLine = "the command line"

func (w wiring) cacheSession() string {
	if w.lives {
		return ""
	}
	return commandLine
}

// caches are where build caches are kept.
func caches(stateDir string) sandbox.Caches {
	return sandbox.CachesIn(filepath.Join(stateDir, "cache"))
}

// ownState reports whether a state directory is that of the user, rather than one that the environment names.
func (a *app) ownState(dir string) bool {
	own, err := config.OwnStateDir(a.home)
	return err == nil && config.SamePlace(dir, own)
}

// sessionGrants is a book without what somebody once approved for always: not everybody who can name a state directory
// may say what was.
type sessionGrants struct{ policy.Book }

// Find implements policy.Book.
func (b sessionGrants) Find(ctx context.Context, key policy.Key) ([]policy.Grant, error) {
	found, err := b.Book.Find(ctx, key)
	return slices.DeleteFunc(found, func(g policy.Grant) bool { return g.Scope == policy.ScopeAlways }), err
}

// system is everything a call needs, wired.
type system struct {
	place
	cfg      *config.Config
	book     ruleBook
	reread   func() (*config.Config, error) // the configuration as it is now
	rules    func() []tongs.Rule
	registry *registry.Registry
	engine   *engine.Engine
	state
	journal   *journal.Journal
	workspace *workspace.Workspace
	runner    *sandbox.Runner
	shell     *shell.Set
	confined  *confine.Confiner
	mcp       *mcpclient.Set
	mcpFaults faults
	forge     *forge
	telemetry *telemetry.Telemetry
	modules   *modules
	workers   *workers
	// live knows the files of the workspace, in a process that lives on; nil elsewhere.
	live *live.Service
}

// ended ends what a session of a client left: its jobs, and what its programs kept on copies.
func (s *system) ended(session string) {
	s.shell.Close(session)
	if s.confined != nil {
		s.confined.Ended(session)
	}
}

// state is what outlives a run.
type state struct {
	db        *durable.DB
	audit     audit.Log
	questions approval.Store
	previews  *approval.Previews
	grants    policy.Book
}

func (s *state) close() {
	if s.db != nil {
		_ = s.db.Close()
	}
}

// openState opens the state alone, for commands that look at it.
func (a *app) openState() (*state, error) {
	dir, err := config.FindStateDir()
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeConfigError, "%w", err)
	}
	return openState(dir, nil)
}

// openState opens the state of a directory, which sends checkpoints of the log where that is configured.
func openState(dir string, c *config.Checkpoint) (*state, error) {
	if err := config.MakeStateDir(dir); err != nil {
		return nil, err
	}
	db, err := durable.OpenWith(dir, durable.Options{Environ: os.Environ(), Checkpoint: checkpoint(c, dir)})
	if err != nil {
		return nil, err
	}
	return &state{db: db, audit: db.Audit(), questions: db.Questions(approval.Options{}), previews: previewsIn(dir), grants: db.Grants()}, nil
}

// open wires a system. This is the only place where the parts meet.
func (a *app) open(ctx context.Context, w wiring) (_ *system, err error) {
	sys := &system{}
	defer func() {
		if err != nil {
			sys.close()
		}
	}()
	if sys.place, err = a.locate(); err != nil {
		return nil, err
	}
	if sys.cfg, err = a.configure(sys.place, w); err != nil {
		return nil, err
	}
	sys.book.set(sys.cfg)
	sys.reread = func() (*config.Config, error) { return a.configure(sys.place, w) }
	if err = sys.prepareWorkers(a, w); err != nil {
		return nil, err
	}
	sys.rules = sys.workers.among(sys.book.get)
	opt := engine.Options{Rules: sys.rules, Mode: sys.cfg.Mode, Granted: sys.cfg.Granted}
	var confined *confine.Confiner
	if !w.memory {
		if confined, err = sys.connect(&opt, w); err != nil {
			return nil, err
		}
		sys.addTelemetry(a, &opt)
		if w.unattended && !a.ownState(sys.stateDir) {
			opt.Grants = sessionGrants{opt.Grants}
		}
	}
	if w.lives {
		sys.live = live.New(live.Options{MaxBytes: sys.cfg.Limits.SearchIndex, Idle: sys.cfg.Limits.SearchIdle})
	}
	if sys.registry, sys.shell, err = tools(sys.cfg, confined, opt.Output, sys.live); err != nil {
		return nil, err
	}
	sys.confined = confined
	if err = sys.addMCP(a, w); err != nil {
		return nil, err
	}
	if err = sys.addUndo(); err != nil {
		return nil, err
	}
	if err = sys.addWeb(&opt, w); err != nil {
		return nil, err
	}
	if err = sys.addForge(a, w, &opt); err != nil {
		return nil, err
	}
	opt.Registry, opt.Reviewed = sys.registry, sys.reviewed
	if sys.engine, err = engine.New(opt); err != nil {
		return nil, err
	}
	if err = sys.addWorkers(w); err != nil {
		return nil, err
	}
	return sys, sys.offerOutside(a, w)
}

// offerOutside registers what is not built in, after all that is: a tool from outside whose name is taken is left out and
// named in the warnings, and never keeps another from being offered.
func (s *system) offerOutside(a *app, w wiring) error {
	s.swapMCP()
	s.swapForge()
	s.followForge(w)
	return s.addModules(a, w)
}

// connect opens the state, the files and the sandbox, and puts them into the options of the engine.
func (s *system) connect(opt *engine.Options, w wiring) (*confine.Confiner, error) {
	st, err := openState(s.stateDir, s.cfg.Audit.Checkpoint)
	if err != nil {
		return nil, err
	}
	s.state = *st
	spill, err := output.OpenSpill(filepath.Join(s.stateDir, "spill"))
	if err != nil {
		return nil, err
	}
	roots := append([]workspace.Root{{Name: "spill", Dir: spill.Dir(), Inside: true}}, s.forgeRoot(w)...)
	roots = append(roots, zoneRoots(s.cfg)...)
	if s.journal, err = openJournal(s.stateDir, s.cfg); err != nil {
		return nil, err
	}
	repository := findRepository(s.place.workspace)
	s.workspace, err = workspace.Open(workspace.Options{
		Dir: s.place.workspace, Cap: s.limit, Roots: roots, Private: []string{s.stateDir, s.configDir}, Journal: s.journal,
		Repository: repository.Dir,
	})
	if err != nil {
		return nil, err
	}
	l := s.cfg.Limits
	opt.Workspace, opt.Audit, opt.Grants, opt.State = s.workspace, s.audit, s.grants, s.db.State
	opt.Output = output.Bounds{Spill: spill, Limits: output.Limits{
		Stream: int(l.StreamBytes), Content: int(l.ContentBytes), Value: int(l.ValueBytes),
		Attachment: int(l.AttachmentBytes), Spill: l.SpillBytes,
	}}
	opt.Approval = &approval.Desk{Store: s.questions, Hint: answerHint(s.stateDir), Previews: previewsIn(s.stateDir)}
	if w.cancel != nil {
		ask := &asker{cancel: w.cancel, previews: opt.Approval.Previews}
		ask.validate = func(ctx context.Context, tool string, args json.RawMessage) error {
			_, err := s.engine.Validate(ctx, tool, args)
			return err
		}
		opt.Approval.Channels = []approval.Channel{w.around(ask)}
	}
	if w.channel != nil {
		opt.Approval.Callers = []approval.CallerChannel{w.channel}
	}
	opt.Approval.CallersApprove = s.cfg.ClientsApprove
	opt.Approval.Channels = append(opt.Approval.Channels, w.shown...)
	opt.Approval.Wait, opt.Observe = w.wait, w.observe
	if s.runner, err = sandbox.New(sandbox.Options{}); err != nil {
		return nil, err
	}
	confined := confine.New(confine.Options{
		Runner: s.runner, Workspace: s.workspace, Scratch: spill.Dir(), Private: meant(s.cfg.Rules, s.cfg.Mode), Rules: opt.Rules,
		Programs: filepath.Join(forgeState(s.stateDir), "programs"), Sealed: s.sealed(), Shown: repository.Files,
		Caches: caches(s.stateDir), Session: w.cacheSession(),
		Changes: s.journal, Layers: filepath.Join(s.stateDir, "layers"),
		Through: s.cfg.Sandbox.Paths(s.workspace.Dir()),
		Runs:    runsDir(s.stateDir, s.workspace.Dir()),
		Limits:  commandLimits(s.cfg),
	})
	opt.Commands, opt.Outcomes, opt.Direct = confined.Commands, confined.Outcomes, s.cfg.Sandbox.Writes == config.Direct
	return confined, nil
}

// meant reports whether a trusted rule names this very host. Only then may it be an address of this machine or network:
// a pattern that happens to fit, or a name that leads there, is not enough. A rule that asks means it by the question, which
// mode all does not put.
func meant(rules []tongs.Rule, mode tongs.Mode) func(host string) bool {
	return func(host string) bool {
		return slices.ContainsFunc(rules, func(r tongs.Rule) bool {
			allows := r.Decision == tongs.PreApproved || r.Decision == tongs.Ask && mode != tongs.ModeAll
			return allows && r.Effects.Has(tongs.EffectNetwork) && !r.Untrusted && !r.Fallback && strings.EqualFold(r.Pattern, host)
		})
	}
}

// tools makes the registry of the tools that this build has. Without a confiner they can be looked at, not run. Known is
// nil in a process that ends with the call.
func tools(cfg *config.Config, confined *confine.Confiner, bounds output.Bounds, known *live.Service) (*registry.Registry, *shell.Set, error) {
	l := cfg.Limits
	list, err := files.Tools(files.Options{
		ReadLines: int(l.ReadLines), LineChars: int(l.LineLength), ReadBytes: int(l.ReadBytes), CountBytes: l.CountBytes,
		RawBytes: int(l.RawBytes), RawMax: int(l.RawMax), ImageBytes: l.ImageBytes, EditBytes: l.EditBytes,
		ListEntries: int(l.ListEntries), ListMax: int(l.ListMax),
	})
	if err != nil {
		return nil, nil, err
	}
	finders, err := find.Tools(find.Options{
		GlobPaths: int(l.GlobResults), GlobMax: int(l.GlobMax),
		GrepMatches: int(l.GrepMatches), GrepMax: int(l.GrepMax), GrepChars: int(l.GrepLength), Live: known,
		Code: find.CodeOptions{
			Results: int(l.SearchResults), Max: int(l.SearchMax), FileBytes: l.SearchFileBytes, Bytes: l.SearchWords,
		},
	})
	if err != nil {
		return nil, nil, err
	}
	running := shell.Options{
		Home: sandbox.Home, Inherits: sandbox.Inherits(sandbox.PresetOptions{}), FreeReads: true, Timeout: l.ShellTimeout, MaxTimeout: l.ShellTimeoutMax,
		Jobs: int(l.Jobs), MaxJobs: int(l.JobsMax), JobBytes: int(l.JobBytes),
	}
	programs := code.Options{Timeout: l.CodeTimeout, MaxTimeout: l.CodeTimeoutMax}
	if known != nil {
		running.Background = true
		running.JobOutput = func(_, job string) tongs.Stream { return bounds.Stream(job, "job", nil) }
	}
	if confined != nil {
		running.Full, programs.Full = confined.Full, confined.Full
		if cfg.Sandbox.Writes == config.Outcome {
			programs.Copies = confined.Outcomes
		}
	}
	commands, err := shell.New(running)
	if err != nil {
		return nil, nil, err
	}
	runCode, err := code.New(programs)
	if err != nil {
		return nil, nil, err
	}
	list = append(append(append(list, finders...), commands.Tools()...), runCode)
	reg, err := registry.New(list...)
	return reg, commands, err
}

func (s *system) close() {
	s.endTelemetry()
	if s.live != nil {
		_ = s.live.Close()
	}
	s.forge.close()
	s.modules.close()
	s.workers.close()
	if s.mcp != nil {
		s.mcp.Close()
	}
	if s.shell != nil {
		s.shell.CloseAll()
	}
	if s.runner != nil {
		_ = s.runner.Close()
	}
	if s.workspace != nil {
		_ = s.workspace.Close()
	}
	if s.journal != nil {
		_ = s.journal.Close()
	}
	s.state.close()
}

// spec returns the spec of a tool, nil where there is none.
func (s *system) spec(name string) *tongs.Spec {
	spec, err := s.find(context.Background(), name)
	if err != nil {
		return nil
	}
	return spec
}

// find returns the spec of a tool; a lazy one is made for it.
func (s *system) find(ctx context.Context, name string) (*tongs.Spec, error) {
	set := s.registry.Set()
	entry, ok := set.Lookup(name)
	if !ok {
		hint := "'tongs tools' lists them"
		if near := set.Nearest(name); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, ", ") + "?"
		}
		return nil, tongs.Errorf(tongs.CodeUnknownTool, "there is no tool %q; %s", name, hint)
	}
	tool, err := s.registry.Ready(ctx, entry, tongs.InitContext{Workspace: s.place.workspace, Dir: s.place.workspace})
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", name, err)
	}
	return tool.Spec(), nil
}

// described returns the specs with the descriptions of the configured folder, where it has some.
func (s *system) described(specs []*tongs.Spec) ([]*tongs.Spec, error) {
	if s.cfg.Descriptions == "" {
		return specs, nil
	}
	list := make([]*tongs.Spec, len(specs))
	for i, spec := range specs {
		text, err := s.describe(registry.Texts{Folder: s.cfg.Descriptions}, spec)
		if err != nil {
			return nil, err
		}
		own := *spec
		own.Description = text
		list[i] = &own
	}
	return list, nil
}

// manual returns the long description of a tool: that of the configured folder, else the one that comes with it.
func (s *system) manual(spec *tongs.Spec) (string, error) {
	return s.describe(registry.Texts{Folder: s.cfg.Descriptions, Embedded: files.Texts()}, spec)
}

func (s *system) describe(texts registry.Texts, spec *tongs.Spec) (string, error) {
	text, err := texts.Describe(spec, registry.Vars{Workspace: s.place.workspace, Directory: s.place.workspace})
	if err != nil {
		return "", tongs.Errorf(tongs.CodeConfigError, "%w", err)
	}
	return text, nil
}

func (s *system) warnings() []string {
	return slices.Concat(s.registry.Set().Warnings(), s.mcpWarnings(), s.forge.warnings(), s.modules.warnings())
}
