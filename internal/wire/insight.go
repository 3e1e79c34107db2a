package wire

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/aymanbagabas/go-udiff"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	webconsole "github.com/tongs-ai/tongs/internal/console"
	"github.com/tongs-ai/tongs/internal/insight"
	"github.com/tongs-ai/tongs/internal/owned"
	"github.com/tongs-ai/tongs/tools/todo"
	"github.com/tongs-ai/tongs/worker"
)

// Proposal is what a replay in this system begins with: what is in force now.
func (s *System) Proposal(ctx context.Context) (insight.Proposal, error) {
	p := insight.Proposal{Rules: s.Rules(), Workspace: s.Files.Dir(), Roots: s.Files.Digest(), Copies: s.copies(ctx)}
	var err error
	p.Grants, err = s.Grants.List(ctx)
	return p, err
}

// copies reports whether programs can run on a copy here.
func (s *System) copies(ctx context.Context) bool {
	return s.Confined != nil && s.Confined.Outcomes(ctx)
}

// insight is what the pages of the console about rules, sessions and statistics need.
func (s *System) insight() webconsole.Insight {
	return webconsole.Insight{
		Workspace: s.Files.Dir(), Roots: s.Files.Digest(), Copies: s.copies, Rules: &ruleFile{sys: s}, Workers: &workerRuns{s.Workers.store, s},
	}
}

// workerRuns are the runs of workers, with what they have to do.
type workerRuns struct {
	worker.Sessions
	sys *System
}

// Todos implements console.Workers.
func (w *workerRuns) Todos(ctx context.Context, run *worker.Session) ([]todo.Item, error) {
	return todo.Load(ctx, w.sys.DB.State(run.Log), run.Call)
}

// ruleFile is the user's own configuration file, which a person adds rules to in the console. Rules of that layer cannot
// loosen what an administrator says.
type ruleFile struct {
	sys *System
	mu  sync.Mutex
}

var _ webconsole.RuleFile = (*ruleFile)(nil)

// read returns the path and the content of the file, which may not exist yet. A directory that the environment names for
// an unattended process can only narrow, so nothing is saved there.
func (f *ruleFile) read() (path string, data []byte, err error) {
	for _, file := range f.sys.Config.Files {
		if file.Layer != tongs.LayerUser || file.Narrows {
			continue
		}
		data, err = config.ReadUser(file.Path)
		return file.Path, data, err
	}
	return "", nil, tongs.Errorf(tongs.CodeConfigError, "no configuration file of yours was found that rules could be saved in")
}

// Draft implements console.RuleFile. Where the rules can be read and the file cannot take them, it returns both.
func (f *ruleFile) Draft(lines []string) (*webconsole.RuleDraft, error) {
	d, _, err := f.draft(lines)
	return d, err
}

func (f *ruleFile) draft(lines []string) (*webconsole.RuleDraft, []byte, error) {
	d := &webconsole.RuleDraft{}
	var parsed []config.RuleLine
	for _, line := range lines {
		r, err := config.ParseRuleLine(line)
		if err != nil {
			return nil, nil, tongs.Errorf(tongs.CodeInvalidArgs, "%w", err)
		}
		rules, err := r.Rules()
		if err != nil {
			return nil, nil, tongs.Errorf(tongs.CodeInvalidArgs, "%w", err)
		}
		parsed, d.Rules = append(parsed, r), append(d.Rules, rules...)
	}
	path, before, err := f.read()
	if err != nil {
		return d, nil, err
	}
	d.Path, d.Base = path, config.Hash(before)
	after := before
	for _, r := range parsed {
		if after, err = config.AddRule(after, r); err != nil {
			return d, nil, err
		}
	}
	d.Diff = udiff.Unified(filepath.Base(path), filepath.Base(path), string(before), string(after))
	return d, after, nil
}

// Save implements console.RuleFile.
func (f *ruleFile) Save(lines []string, base string) (*webconsole.RuleDraft, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, after, err := f.draft(lines)
	if err != nil {
		return nil, err
	}
	if d.Base != base {
		return nil, tongs.Errorf(tongs.CodeStaleFile, "%s changed since the rule was shown; replay it again", d.Path)
	}
	if err := owned.Rewrite(d.Path, after, 0o600); err != nil {
		return nil, err
	}
	if err := f.sys.book.refresh(); err != nil {
		return nil, fmt.Errorf("the rule was saved in %s, and the configuration cannot be read now: %w", d.Path, err)
	}
	return d, nil
}
