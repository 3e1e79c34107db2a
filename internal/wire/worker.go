package wire

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/forge"
	"github.com/tongs-ai/tongs/internal/nearest"
	"github.com/tongs-ai/tongs/internal/state/sessions"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/open"
	"github.com/tongs-ai/tongs/tools/todo"
	"github.com/tongs-ai/tongs/worker"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// envModel names the model of workers that name none.
const envModel = "TONGS_MODEL"

// Workers are the workers of a system.
type Workers struct {
	*worker.Runner
	sys *System
	// files finds them; rules are those of the one that a person started, among the rules of the system.
	files *WorkerFiles
	rules []tongs.Rule
	store *Sessions
	// tools are the workers that are tools of their own names, nil until they are known; told are those of the last refresh.
	tools, told atomic.Pointer[[]tongs.Tool]
	// events is told what happens in runs, begun is when this process started.
	events func(worker.Event)
	begun  time.Time
}

// prepareWorkers finds where workers are, and takes up what the one that was started says of toolsets.
func (s *System) prepareWorkers() error {
	s.Workers = &Workers{sys: s, files: s.host.WorkerFiles(s.Place), store: &Sessions{Dir: s.StateDir}, events: s.opt.Events, begun: time.Now()}
	if err := s.provide(tongs.SourceWorker, s.Workers, nil); err != nil || s.opt.Worker == nil {
		return err
	}
	all, err := s.Workers.files.tree(s.opt.Worker)
	if err != nil {
		return err
	}
	for _, f := range all {
		if err := takeToolsets(&s.Config.Toolsets, f); err != nil {
			return err
		}
	}
	for _, f := range all {
		for name := range f.Servers {
			if !slices.ContainsFunc(s.Config.Toolsets.MCP, func(m config.MCPServer) bool { return m.Name == name }) {
				return tongs.Errorf(tongs.CodeConfigError,
					"%s names the MCP server %s, and nothing defines it; give it a command or a url there, or in your configuration", f.Path, name)
			}
		}
	}
	return nil
}

// takeToolsets adds what a worker file wants loaded. A server that is defined already stays as it is.
func takeToolsets(to *config.Toolsets, f *config.Worker) error {
	for _, m := range f.Toolsets.MCP {
		at := slices.IndexFunc(to.MCP, func(k config.MCPServer) bool { return k.Name == m.Name })
		switch {
		case at < 0:
			to.MCP = append(to.MCP, m)
		case to.MCP[at].Command != m.Command || to.MCP[at].URL != m.URL || !slices.Equal(to.MCP[at].Args, m.Args):
			return tongs.Errorf(tongs.CodeConfigError, "%s defines the MCP server %s, and %s defines it differently; give one of them another name",
				m.Origin, m.Name, to.MCP[at].Origin)
		}
	}
	to.Custom = append(to.Custom, f.Toolsets.Custom...)
	to.External = append(to.External, f.Toolsets.External...)
	return nil
}

// addWorkers registers the tools of workers and todos.
func (s *System) addWorkers(ctx context.Context) error {
	wk := s.Workers
	opt := worker.Options{
		Caller: s.Engine, Tools: s.Engine.Tools, Describe: s.Described, Open: openModel, Default: os.Getenv(envModel), Find: wk.find, Store: wk.store,
		Events: wk.events, Workspace: s.Place.Workspace,
	}
	if s.closedForge() == "" {
		opt.Hints = map[string]worker.Hint{"create_custom_tool": {Root: forge.Root, Text: forge.Hint}}
	}
	if s.Files != nil {
		opt.Resolve = func(spelling string) (tongs.Path, error) { return s.Files.Resolve(tongs.Path{Rel: "."}, spelling) }
	}
	if s.Journal != nil {
		opt.Changes = wk.changes
	}
	var err error
	if wk.Runner, err = worker.New(opt); err != nil {
		return err
	}
	named, err := wk.named()
	if err != nil {
		return err
	}
	tools, err := wk.Runner.Tools(named...)
	if err != nil {
		return err
	}
	todos, err := todo.Tools()
	if err != nil {
		return err
	}
	var own []tongs.Tool
	for _, t := range tools {
		if t.Spec().Source.BuiltIn() {
			todos = append(todos, t)
		} else {
			own = append(own, t)
		}
	}
	if err := s.builtIn.RegisterAll(todos...); err != nil {
		return err
	}
	wk.tools.Store(&own)
	if err := s.Engine.Refresh(ctx); err != nil {
		return err
	}
	for _, f := range s.Engine.Faults() {
		if f.Kind == tongs.SourceWorker {
			return tongs.Errorf(tongs.CodeConfigError, "a worker cannot be offered as a tool: %w", f.Err)
		}
	}
	if s.opt.Worker != nil && s.Files != nil {
		wk.rules, err = s.opt.Worker.AllRules(opt.Resolve)
	}
	return err
}

// among puts the rules of the worker that a person started among those of the system, so that they can also allow.
func (wk *Workers) among(rules func() []tongs.Rule) func() []tongs.Rule {
	return func() []tongs.Rule {
		if len(wk.rules) == 0 {
			return rules()
		}
		return slices.Concat(rules(), wk.rules)
	}
}

// named are the workers that are tools of their own names: those that the started one may call, directly or not, and
// those of the configuration.
func (wk *Workers) named() (list []*worker.File, err error) {
	var all []*config.Worker
	if wk.sys.opt.Worker != nil {
		if all, err = wk.files.tree(wk.sys.opt.Worker); err != nil {
			return nil, err
		}
		all = all[1:]
	}
	for _, entry := range wk.sys.Config.Toolsets.Workers {
		if !wk.sys.opens(entry.Workers) {
			continue
		}
		for _, name := range entry.Workers {
			f, err := wk.files.Find(nil, name)
			if err != nil {
				return nil, tongs.Errorf(tongs.CodeConfigError, "%s: %w", entry.Origin, err)
			}
			all = append(all, f)
		}
	}
	seen := map[string]bool{}
	for _, f := range all {
		if !seen[f.Name] {
			seen[f.Name] = true
			list = append(list, &f.File)
		}
	}
	return list, nil
}

func (wk *Workers) find(_ context.Context, from *worker.File, name string) (*worker.File, error) {
	f, err := wk.files.Find(from, name)
	if err != nil {
		return nil, err
	}
	return &f.File, nil
}

// Tools implements engine.Provider: the workers that are tools of their own names.
func (wk *Workers) Tools() []tongs.Tool {
	if list := wk.tools.Load(); list != nil {
		return *list
	}
	return nil
}

// Refresh implements engine.Provider.
func (wk *Workers) Refresh(context.Context) (changed bool) {
	now := wk.tools.Load()
	return wk.told.Swap(now) != now
}

// Reviewed implements engine.Provider: it reports whether the file of the worker is trusted.
func (wk *Workers) Reviewed(src tongs.Source) bool { return wk.files.trusts(src.Digest) }

// changes returns what a call of this process changed.
func (wk *Workers) changes(_ context.Context, call string) (list []worker.Change, err error) {
	entries, err := wk.sys.Journal.List(journal.Filter{Call: call, Since: wk.begun.Add(-time.Minute)})
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(entries) {
		for c, err := range wk.sys.Journal.Changes(e.ID) {
			if err != nil {
				return list, err
			}
			if e.Recorded(c.Path) {
				continue // its sentences are in the result of the call
			}
			before, after := wk.sys.Journal.Sides(&e, &c)
			change := worker.Change{Path: c.Path.String(), Diff: journal.Diff(c.Path, c.From, before, after)}
			change.Added, change.Removed = countLines(change.Diff)
			list = append(list, change)
		}
	}
	return list, nil
}

// countLines counts the lines that a unified diff adds and removes.
func countLines(diff string) (added, removed int) {
	header := true
	for line := range strings.SplitSeq(diff, "\n") {
		switch {
		case strings.HasPrefix(line, "@@"):
			header = false
		case header:
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return added, removed
}

// Close implements engine.Provider.
func (wk *Workers) Close() error { return wk.store.Close() }

// WorkerFiles finds worker files and knows those that it read.
type WorkerFiles struct {
	workspace, configDir string
	// own says that the configuration directory is the user's, so that its workers are trusted.
	own     bool
	trusted func(path, hash string) bool

	mu    sync.Mutex
	known map[string]*config.Worker
	// vouched are the hashes that are trusted.
	vouched map[string]bool
}

// WorkerFiles returns what finds workers. Where no person started the program, nothing that the environment names is trusted.
func (h Host) WorkerFiles(p Place) *WorkerFiles {
	files := &WorkerFiles{
		workspace: p.Workspace, configDir: p.ConfigDir, own: true, known: map[string]*config.Worker{}, vouched: map[string]bool{},
		trusted: func(path, hash string) bool {
			ok, err := p.approvals.vouched(path, hash)
			return err == nil && ok
		},
	}
	if !h.Attended && h.ConfigDir == "" {
		own, err := config.OwnConfigDir(h.Home)
		files.own = err == nil && config.SamePlace(p.ConfigDir, own)
	}
	return files
}

// Load reads a worker file, or returns what it said while it is the same.
func (wf *WorkerFiles) Load(path string) (*config.Worker, error) {
	opt := config.WorkerOptions{Trusted: wf.trusted}
	opt.Own = wf.own && inside(filepath.Join(wf.configDir, config.WorkersDir), path)
	f, err := config.LoadWorker(path, opt)
	if err != nil {
		return nil, err
	}
	wf.mu.Lock()
	defer wf.mu.Unlock()
	wf.vouched[f.Hash] = f.Trusted
	if same := wf.known[f.Path]; same != nil && same.Hash == f.Hash && same.Trusted == f.Trusted {
		return same, nil
	}
	wf.known[f.Path] = f
	return f, nil
}

// inside reports whether a path is below a directory.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func (wf *WorkerFiles) trusts(hash string) bool {
	wf.mu.Lock()
	defer wf.mu.Unlock()
	return wf.vouched[hash]
}

// Find returns the worker that a name means: one beside the file that names it, one of the user's, or one of the
// workspace.
func (wf *WorkerFiles) Find(from *worker.File, name string) (*config.Worker, error) {
	if from != nil {
		for _, ending := range []string{".worker", ".yaml"} {
			path := filepath.Join(filepath.Dir(from.Path), name+ending)
			if _, err := os.Lstat(path); err == nil && filepath.Base(name) == name {
				return wf.Load(path)
			}
		}
	}
	found, err := config.FindWorkers(wf.workspace, wf.configDir)
	if err != nil {
		return nil, err
	}
	var names []string
	var broken error
	for _, at := range found {
		f, err := wf.Load(at.Path)
		stem := strings.TrimSuffix(filepath.Base(at.Path), filepath.Ext(at.Path))
		switch {
		case err != nil && stem == name:
			broken = err
		case err != nil:
		case f.Name == name:
			return f, nil
		default:
			names = append(names, f.Name)
		}
	}
	if broken != nil {
		return nil, broken
	}
	missing := tongs.Errorf(tongs.CodeInvalidArgs, "there is no worker %q", name)
	switch near := nearest.Word(name, names); {
	case near != "":
		missing.Message += "; did you mean " + near + "?"
	case len(names) > 0:
		missing.Message += "; there are " + strings.Join(names, ", ")
	default:
		missing.Message += "; workers are files in " + config.WorkersDir + "/ of the workspace, or in " + filepath.Join(wf.configDir, config.WorkersDir)
	}
	return nil, missing
}

// tree returns a worker and those that it may call, directly or not. One that cannot be read is an error: a worker that
// lists it counts on it.
func (wf *WorkerFiles) tree(root *config.Worker) ([]*config.Worker, error) {
	list := []*config.Worker{root}
	seen := map[string]bool{root.Path: true}
	for i := 0; i < len(list); i++ {
		for _, name := range list[i].Workers {
			f, err := wf.Find(&list[i].File, name)
			if err != nil {
				return nil, tongs.Errorf(tongs.CodeConfigError, "%s lists the worker %s: %w", list[i].Path, name, err)
			}
			if !seen[f.Path] {
				seen[f.Path] = true
				list = append(list, f)
			}
		}
	}
	return list, nil
}

// Sessions opens the sessions when somebody needs them.
type Sessions struct {
	Dir  string
	mu   sync.Mutex
	open *sessions.DB
}

var _ worker.Store = (*Sessions)(nil)

func (l *Sessions) db() (*sessions.DB, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != nil {
		return l.open, nil
	}
	if err := config.MakeStateDir(l.Dir); err != nil {
		return nil, err
	}
	db, err := sessions.Open(l.Dir)
	l.open = db
	return db, err
}

// Close closes them.
func (l *Sessions) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return nil
	}
	return l.open.Close()
}

// Save implements worker.Store.
func (l *Sessions) Save(ctx context.Context, s worker.Session, add ...worker.Entry) error {
	db, err := l.db()
	if err != nil {
		return err
	}
	return db.Save(ctx, s, add...)
}

// List implements worker.Sessions.
func (l *Sessions) List(ctx context.Context, f worker.Filter) ([]worker.Session, error) {
	db, err := l.db()
	if err != nil {
		return nil, err
	}
	return db.List(ctx, f)
}

// Load implements worker.Sessions.
func (l *Sessions) Load(ctx context.Context, id string, from int) (*worker.Session, []worker.Entry, error) {
	db, err := l.db()
	if err != nil {
		return nil, nil, err
	}
	return db.Load(ctx, id, from)
}

// Prune implements worker.Store.
func (l *Sessions) Prune(ctx context.Context, before time.Time) (int, error) {
	db, err := l.db()
	if err != nil {
		return 0, err
	}
	return db.Prune(ctx, before)
}

// openModel opens a model by its name.
func openModel(_ context.Context, name string) (model.Model, error) {
	return open.Open(name, open.Options{})
}
