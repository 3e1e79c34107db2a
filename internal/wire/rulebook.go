package wire

import (
	"context"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/forge"
	"github.com/tongs-ai/tongs/internal/state"
	"github.com/tongs-ai/tongs/tools/git"
	"github.com/tongs-ai/tongs/tools/project"
	"github.com/tongs-ai/tongs/tools/shell"
)

// Rules are the rules in force under a configuration: those that tools bring, and its own.
func Rules(cfg *config.Config) []tongs.Rule {
	return slices.Concat(shell.Rules(), git.Rules(), project.Rules(), forge.Rules(), cfg.Rules)
}

// ruleBook holds the rules in force. It notices that a configuration file changed, or the trust in one, when the rules are asked for:
// a rule that a person adds counts for the next call of every process. It is safe for concurrent use.
type ruleBook struct {
	reread func() (*config.Config, error)
	// trust is what people vouched for; nil has none.
	trust *state.Trust
	mu    sync.Mutex
	page  atomic.Pointer[rulePage]
}

// rulePage are rules and the files that they were read from.
type rulePage struct {
	rules   []tongs.Rule
	sandbox config.Sandbox
	files   []config.File
	infos   []os.FileInfo // nil where there was none
	// recent says that a file came, went or changed about when it was read, so that its time may not tell of that.
	recent bool
}

// look returns the files of a configuration as they are now.
func look(files []config.File) []os.FileInfo {
	infos := make([]os.FileInfo, len(files))
	for i, f := range files {
		if info, err := os.Stat(f.Path); err == nil {
			infos[i] = info
		}
	}
	return infos
}

// set takes the rules of a configuration whose reading began at a time. Files that may have changed since are read again.
func (b *ruleBook) set(cfg *config.Config, began time.Time) {
	infos := look(cfg.Files)
	recent := false
	for i, info := range infos {
		recent = recent || (info != nil) != cfg.Files[i].Found || info != nil && !info.ModTime().Before(began.Add(-coarse))
	}
	b.page.Store(&rulePage{Rules(cfg), cfg.Sandbox, cfg.Files, infos, recent})
}

// coarse is how far the time of a change may be behind.
const coarse = 50 * time.Millisecond

// get returns the rules in force. While the configuration cannot be read, they block everything.
func (b *ruleBook) get() []tongs.Rule {
	p := b.page.Load()
	if p == nil || !b.changed(p) {
		return b.rules()
	}
	if err := b.refresh(); err != nil {
		return append(b.rules(), tongs.Rule{
			Layer: tongs.LayerUser, Decision: tongs.Blocked, Origin: "the configuration changed and cannot be read: " + err.Error(),
		})
	}
	return b.rules()
}

func (b *ruleBook) rules() []tongs.Rule {
	if p := b.page.Load(); p != nil {
		return p.rules[:len(p.rules):len(p.rules)]
	}
	return nil
}

// methods are those that the same files limit a host to: a rule that allows a host never counts without its limit.
func (b *ruleBook) methods(host string) []string {
	if p := b.page.Load(); p != nil {
		return p.sandbox.MethodsFor(host)
	}
	return nil
}

// refresh reads the configuration again.
func (b *ruleBook) refresh() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	began := time.Now()
	cfg, err := b.reread()
	if err != nil {
		return err
	}
	b.set(cfg, began)
	return nil
}

// changed reports whether a file is another one than the rules were read from, or is trusted where it was not.
func (b *ruleBook) changed(p *rulePage) bool {
	if p.recent {
		return true
	}
	for i, f := range p.files {
		was := p.infos[i]
		info, err := os.Stat(f.Path)
		if (err == nil) != (was != nil) {
			return true
		}
		if was == nil {
			continue
		}
		if !os.SameFile(info, was) || info.Size() != was.Size() || !info.ModTime().Equal(was.ModTime()) || info.Mode() != was.Mode() {
			return true
		}
		if f.Layer == tongs.LayerWorkspace && b.trust != nil && f.Found {
			known, ok, err := b.trust.Get(context.Background(), f.Path)
			if trusted := err == nil && ok && known.Hash == f.Hash; trusted == f.Narrows {
				return true
			}
		}
	}
	return false
}
