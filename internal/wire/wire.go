package wire

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/output"
	"github.com/tongs-ai/tongs/engine/registry"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/internal/forge"
	"github.com/tongs-ai/tongs/internal/module"
	"github.com/tongs-ai/tongs/internal/notify"
	"github.com/tongs-ai/tongs/internal/search/live"
	"github.com/tongs-ai/tongs/internal/telemetry"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/tools/code"
	"github.com/tongs-ai/tongs/tools/files"
	"github.com/tongs-ai/tongs/tools/manual"
	"github.com/tongs-ai/tongs/tools/search"
	"github.com/tongs-ai/tongs/tools/shell"
	"github.com/tongs-ai/tongs/worker"
	"github.com/tongs-ai/tongs/workspace"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// Options say what a command needs of a system.
type Options struct {
	Mode *tongs.Mode
	// Tool is the one tool that is called, by the name that it is called by: parts that cannot supply it are not opened. Empty opens
	// them all.
	Tool string
	// Memory leaves the state and the files alone: enough to look at tools.
	Memory bool
	// Channels ask a person, or show questions. Caller asks whoever made the call, where there is no terminal; a call waits for
	// an answer from elsewhere for Wait. Elicit asks what a tool server wants to know; nil declines.
	Channels []approval.Channel
	Caller   approval.CallerChannel
	Wait     time.Duration
	// Prefix is put before the names of the tools that an MCP server offers.
	Prefix string
	// Patient has a call wait as long as its client allows, where that is longer. Notify tells the person at the desktop.
	Patient, Notify bool
	Elicit          func(context.Context, mcpclient.Elicitation) (mcpclient.Elicited, error)
	// Lives is set by programs that go on after a call: their commands may be jobs.
	Lives bool
	// Warm compiles the standard library of Go beforehand, in the background, for a workspace that has a module of it.
	Warm bool
	// Observe is told what happens to calls.
	Observe func(engine.Event)
	// Tools are those of the program itself, offered as the built-in ones are.
	Tools []tongs.Tool
	// Worker is the one that a person starts; Events is told what happens in runs.
	Worker *config.Worker
	Events func(worker.Event)
}

// commandLine names the session of calls that are made on the command line, one process each, as far as build caches are
// concerned.
const commandLine = "the command line"

func (o Options) cacheSession() string {
	if o.Lives {
		return ""
	}
	return commandLine
}

// Caches are where build caches are kept.
func Caches(stateDir string) sandbox.Caches {
	return sandbox.CachesIn(filepath.Join(stateDir, "cache"))
}

// System is everything a call needs, wired.
type System struct {
	Place
	host Host
	opt  Options
	// called are the names that the one tool has that is called; nil where any may be.
	called []string
	Config *config.Config
	book   ruleBook
	Rules  func() []tongs.Rule
	// builtIn are the tools of this program.
	builtIn *registry.Registry
	Engine  *engine.Engine
	State
	Journal  *journal.Journal
	Files    *workspace.Workspace
	runner   *sandbox.Runner
	shell    *shell.Set
	Confined *confine.Confiner
	// stopWarming ends what is compiled beforehand; nil where nothing is.
	stopWarming func()
	// providers supply the tools that are not built in; unfollow ends the watch over them, and ready is the engine once it
	// has them.
	providers map[tongs.SourceKind]engine.Provider
	unfollow  context.CancelFunc
	ready     atomic.Pointer[engine.Engine]
	MCP       *mcpclient.Set
	Forge     *forge.Set
	Modules   *module.Set
	Workers   *Workers
	telemetry *telemetry.Telemetry
	// live knows the files of the workspace, in a process that lives on; nil elsewhere.
	live *live.Service
}

// Ended ends what a session of a client left: its jobs, and what its programs kept on copies.
func (s *System) Ended(session string) {
	s.shell.Close(session)
	if s.Questions != nil {
		s.Questions.leave(session)
	}
	if s.Confined != nil {
		s.Confined.Ended(session)
	}
}

// Open wires a system. This is the only place where the parts meet.
func (h Host) Open(ctx context.Context, o Options) (_ *System, err error) {
	sys := &System{host: h, opt: o}
	defer func() {
		if err != nil {
			_ = sys.Close()
		}
	}()
	if sys.Place, err = h.Locate(); err != nil {
		return nil, err
	}
	began := time.Now()
	if sys.Config, err = h.Configure(sys.Place, o.Mode); err != nil {
		return nil, err
	}
	sys.book.set(sys.Config, began)
	sys.book.reread = func() (*config.Config, error) { return h.Configure(sys.Place, o.Mode) }
	if err = sys.prepareWorkers(); err != nil {
		return nil, err
	}
	sys.Rules = sys.Workers.among(sys.book.get)
	opt := engine.Options{Rules: sys.Rules, Mode: sys.Config.Mode, Granted: sys.Config.Granted}
	var confined *confine.Confiner
	if !o.Memory {
		if confined, err = sys.connect(&opt); err != nil {
			return nil, err
		}
		sys.addTelemetry(&opt)
	}
	if o.Lives {
		sys.live = live.New(live.Options{MaxBytes: sys.Config.Limits.SearchIndex, Idle: sys.Config.Limits.SearchIdle})
	}
	if sys.builtIn, sys.shell, err = tools(sys.Config, confined, opt.Output, sys.live); err != nil {
		return nil, err
	}
	if err = sys.provide(tongs.SourceBuiltin, sys.builtIn, nil); err != nil {
		return nil, err
	}
	if sys.Confined = confined; o.Warm && confined != nil {
		sys.stopWarming = sys.startWarming()
	}
	if err = sys.addOwn(o.Tools); err != nil {
		return nil, err
	}
	if err = sys.addUndo(); err != nil {
		return nil, err
	}
	if err = sys.addWeb(&opt); err != nil {
		return nil, err
	}
	if err = sys.addSQL(); err != nil {
		return nil, err
	}
	sys.called = calledNames(sys.builtIn.Set(), o.Tool) // before those that look at other tools
	if err = sys.addMCP(); err != nil {
		return nil, err
	}
	if err = sys.addForge(); err != nil {
		return nil, err
	}
	if err = sys.addModules(); err != nil {
		return nil, err
	}
	opt.Providers = sys.providers
	if sys.Engine, err = engine.New(opt); err != nil {
		return nil, err
	}
	sys.ready.Store(sys.Engine)
	if err = sys.addWorkers(ctx); err != nil {
		return nil, err
	}
	sys.follow()
	return sys, nil
}

// connect opens the state, the files and the sandbox, and puts them into the options of the engine.
func (s *System) connect(opt *engine.Options) (*confine.Confiner, error) {
	o := s.opt
	st, err := OpenState(s.StateDir, s.Config.Audit.Checkpoint)
	if err != nil {
		return nil, err
	}
	s.State = *st
	if s.approvals.count {
		s.book.trust = s.DB.Trust()
	}
	spill, err := output.OpenSpill(filepath.Join(s.StateDir, "spill"))
	if err != nil {
		return nil, err
	}
	roots := append([]workspace.Root{{Name: "spill", Dir: spill.Dir(), Inside: true}}, s.forgeRoot()...)
	roots = append(roots, zoneRoots(s.Config)...)
	if s.Journal, err = OpenJournal(s.StateDir, s.Config); err != nil {
		return nil, err
	}
	s.Questions.use(s.Journal)
	s.Questions.rules = &lateRules{host: s.host, configDir: s.ConfigDir}
	opt.Late = s.Questions
	repository := findRepository(s.Place.Workspace)
	s.Files, err = workspace.Open(workspace.Options{
		Dir: s.Place.Workspace, Cap: s.Limit, Roots: roots, Private: []string{s.StateDir, s.ConfigDir}, Journal: s.Journal,
		Repository: repository.Dir, Through: s.Config.Sandbox.Paths(s.Place.Workspace), LockDir: workspace.LockDirOr(s.StateDir),
	})
	if err != nil {
		return nil, err
	}
	l := s.Config.Limits
	opt.Workspace, opt.Audit, opt.Grants, opt.State = s.Files, s.Audit, s.approvals.grants(s.Grants), s.DB.State
	opt.Output = output.Bounds{Spill: spill, Limits: output.Limits{
		Stream: int(l.StreamBytes), Content: int(l.ContentBytes), Value: int(l.ValueBytes),
		Attachment: int(l.AttachmentBytes), Spill: l.SpillBytes,
	}}
	opt.Approval = &approval.Desk{Store: s.Questions, Hint: answerHint(s.StateDir), Previews: s.Previews}
	opt.Approval.Attend = AttendanceIn(s.StateDir).Attend
	if opt.Approval.Channels = o.Channels; s.Config.Notify.Desktop() && o.Notify {
		opt.Approval.Channels = append(slices.Clip(o.Channels), notify.New())
	}
	if o.Caller != nil {
		opt.Approval.Callers = []approval.CallerChannel{o.Caller}
	}
	opt.Approval.CallersApprove = s.Config.ClientsApprove
	opt.Approval.Wait, opt.Observe = o.Wait, o.Observe
	opt.Approval.Later = s.Config.AskLater && o.Tool == "" // a call of the command line is a person's own
	if s.runner, err = sandbox.New(sandbox.Options{}); err != nil {
		return nil, err
	}
	confined := confine.New(confine.Options{
		Runner: s.runner, Workspace: s.Files, Scratch: spill.Dir(), Private: ruleNamesHost(s.book.get, s.Config.Mode), Rules: opt.Rules,
		Known: s.knownHost, Methods: s.book.methods, Mirrors: s.mirrors,
		Programs: filepath.Join(forgeState(s.StateDir), "programs"), Sealed: s.sealed(), Shown: repository.Files,
		Caches: Caches(s.StateDir), Session: o.cacheSession(),
		Changes: s.Journal, Layers: filepath.Join(s.StateDir, "layers"),
		Through: s.Config.Sandbox.Paths(s.Files.Dir()),
		Runs:    runsDir(s.StateDir, s.Files.Dir()),
		Limits:  commandLimits(s.Config),
		Git:     s.gitRelay(repository.Dir),
	})
	opt.Commands, opt.Outcomes, opt.Direct = confined.Commands, confined.Outcomes, s.Config.Sandbox.Writes == config.Direct
	return confined, nil
}

// addOwn registers the tools of the program. A name with __ would be shadowed by a tool of an MCP server, which names its
// tools itself and need not be approved for that.
func (s *System) addOwn(list []tongs.Tool) error {
	for _, t := range list {
		if t == nil || t.Spec() == nil {
			continue // the registry says so
		}
		for _, name := range append([]string{t.Spec().Name}, t.Spec().Aliases...) {
			if strings.Contains(name, "__") {
				return tongs.Errorf(tongs.CodeConfigError, "the tool %q cannot be offered: names with __ are those of tools of MCP servers", name)
			}
		}
	}
	if err := s.builtIn.RegisterAll(list...); err != nil {
		return tongs.Errorf(tongs.CodeConfigError, "%w", err)
	}
	return nil
}

// ruleNamesHost reports whether a trusted rule names this very host. Only then may it be an address of this machine or network:
// a pattern that happens to fit, or a name that leads there, is not enough. A rule that asks means it by the question, which
// mode all does not put.
func ruleNamesHost(rules func() []tongs.Rule, mode tongs.Mode) func(host string) bool {
	return func(host string) bool {
		return slices.ContainsFunc(rules(), func(r tongs.Rule) bool {
			allows := r.Decision == tongs.PreApproved || r.Decision == tongs.Ask && mode != tongs.ModeAll
			return allows && r.Effects.Has(tongs.EffectNetwork) && !r.Untrusted && !r.Fallback && r.Branch == "" && strings.EqualFold(r.Pattern, host)
		})
	}
}

// Tools are the tools of this build that work on files and commands, to be looked at.
func Tools(cfg *config.Config) (*registry.Registry, error) {
	reg, _, err := tools(cfg, nil, output.Bounds{}, nil)
	return reg, err
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
	finders, err := search.Tools(search.Options{
		GlobPaths: int(l.GlobResults), GlobMax: int(l.GlobMax),
		GrepMatches: int(l.GrepMatches), GrepMax: int(l.GrepMax), GrepChars: int(l.GrepLength), Live: known,
		Code: search.CodeOptions{
			Results: int(l.SearchResults), Max: int(l.SearchMax), FileBytes: l.SearchFileBytes, Bytes: l.SearchWords,
		},
	})
	if err != nil {
		return nil, nil, err
	}
	running := shell.Options{
		Home: sandbox.Home, Scratch: sandbox.Scratch(),
		Shown:    sync.OnceValue(func() []string { return sandbox.Shown(sandbox.PresetOptions{}) }),
		Inherits: sandbox.Inherits(sandbox.PresetOptions{}), FreeReads: true, Timeout: l.ShellTimeout, MaxTimeout: l.ShellTimeoutMax,
		Jobs: int(l.Jobs), MaxJobs: int(l.JobsMax), JobBytes: int(l.JobBytes),
	}
	programs := code.Options{Timeout: l.CodeTimeout, MaxTimeout: l.CodeTimeoutMax}
	if known != nil {
		running.Background = true
		running.JobOutput = func(_, job string) tongs.Stream { return bounds.Stream(job, "job", nil) }
	}
	if confined != nil {
		running.Full, programs.Full = confined.Full, confined.Full
		running.Relayed = confined.Relays()
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
	projects, err := projectTools(cfg, confined)
	if err != nil {
		return nil, nil, err
	}
	list = append(list, projects...)
	ofGit, err := gitTools(running)
	if err != nil {
		return nil, nil, err
	}
	list = append(list, ofGit...)
	reg, err := registry.New(list...)
	return reg, commands, err
}

// Close ends what the system started and closes its state, the last opened first. It does so wholly also where a part fails.
func (s *System) Close() error {
	s.endTelemetry()
	if s.stopWarming != nil {
		s.stopWarming()
	}
	errs := []error{s.closeProviders()}
	if s.shell != nil {
		s.shell.CloseAll()
	}
	if s.live != nil {
		errs = append(errs, s.live.Close())
	}
	if s.runner != nil {
		errs = append(errs, s.runner.Close())
	}
	if s.Files != nil {
		errs = append(errs, s.Files.Close())
	}
	if s.Journal != nil {
		errs = append(errs, s.Journal.Close())
	}
	return errors.Join(append(errs, s.State.Close())...)
}

// Spec returns the spec of a tool, nil where there is none.
func (s *System) Spec(name string) *tongs.Spec {
	spec, err := s.Find(context.Background(), name)
	if err != nil {
		return nil
	}
	return spec
}

// Find returns the spec of a tool; a lazy one is made for it.
func (s *System) Find(ctx context.Context, name string) (*tongs.Spec, error) {
	spec, err := s.Engine.Spec(ctx, name)
	if e, _ := errors.AsType[*tongs.Error](err); e != nil && e.Code == tongs.CodeUnknownTool && e.Details["nearest"] == nil {
		return nil, tongs.Errorf(tongs.CodeUnknownTool, "%s; 'tongs tools' lists them", e.Message)
	}
	return spec, err
}

// Described returns the specs with the descriptions of the configured folder, where it has some.
func (s *System) Described(specs []*tongs.Spec) ([]*tongs.Spec, error) {
	if s.Config.Descriptions == "" {
		return specs, nil
	}
	list := make([]*tongs.Spec, len(specs))
	for i, spec := range specs {
		text, err := s.describe(registry.Texts{Folder: s.Config.Descriptions}, spec)
		if err != nil {
			return nil, err
		}
		own := *spec
		own.Description = text
		list[i] = &own
	}
	return list, nil
}

// Manual returns the long description of a tool: that of the configured folder, else the one that comes with it.
func (s *System) Manual(spec *tongs.Spec) (string, error) {
	return s.describe(registry.Texts{Folder: s.Config.Descriptions, Embedded: manual.Texts()}, spec)
}

func (s *System) describe(texts registry.Texts, spec *tongs.Spec) (string, error) {
	cwd, err := os.Getwd()
	if err != nil {
		cwd = s.Place.Workspace
	}
	text, err := texts.Describe(spec, registry.Vars{Workspace: s.Place.Workspace, Directory: s.Place.Workspace, Cwd: cwd})
	if err != nil {
		return "", tongs.Errorf(tongs.CodeConfigError, "%w", err)
	}
	return text, nil
}
