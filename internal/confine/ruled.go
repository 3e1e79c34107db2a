package confine

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/hostpath"
	"github.com/tongs-ai/tongs/sandbox"
)

// maxRuled is how many files are looked at for paths that rules name.
const maxRuled = 100_000

var errTooMany = errors.New("too many files")

// ruled keeps a program from the paths that rules name and that were not decided for this call: what may not be read is
// hidden, what may not be changed is protected. A command need not say which files it opens, so the sandbox must know.
// It fails where there are more files than can be looked at: a rule that cannot be kept is a refusal.
func (c *Confiner) ruled(p *sandbox.Policy, permit *tongs.Permit) error {
	kinds := ruledKinds(c.opt.Rules())
	if kinds == 0 {
		return nil
	}
	effects, left := permit.Effects(), maxRuled
	for _, root := range c.opt.Workspace.Present() {
		whole := naming(permit, kinds, effects, tongs.Path{Root: root.Name, Rel: "."})
		narrow(p, root.Dir, whole(tongs.EffectRead), whole(tongs.EffectWrite))
		err := filepath.WalkDir(root.Dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || name == root.Dir {
				return nil // what we cannot list, the program cannot either
			}
			if left--; left < 0 {
				return errTooMany
			}
			rel, err := filepath.Rel(root.Dir, name)
			if err != nil {
				return err
			}
			at := tongs.Path{Root: root.Name, Rel: filepath.ToSlash(rel)}
			if !keep(p, naming(permit, kinds, effects, at), name) || !d.IsDir() {
				return nil
			}
			return filepath.SkipDir
		})
		if err != nil {
			return tongs.Errorf(tongs.CodeSandboxUnavailable,
				"the rules about paths cannot be kept for commands here: %w in %s; name directories in the rules, or use a smaller workspace", err, root.Dir)
		}
	}
	return nil
}

// narrow takes a root that rules name as a whole from a program: what may not be read is not shown, and what may not be
// written is read-only, so that nothing new comes there either. What is written to a copy is decided afterwards.
func narrow(p *sandbox.Policy, root string, unread, unwritten bool) {
	if unread {
		p.ReadOnly = slices.DeleteFunc(p.ReadOnly, func(dir string) bool { return hostpath.Within(root, dir) })
	}
	p.Writable = slices.DeleteFunc(p.Writable, func(m sandbox.Mount) bool {
		if !hostpath.Within(root, m.Path()) || m.Kind() == sandbox.MountPrivate {
			return false
		}
		if !unread && unwritten && m.Kind() == sandbox.MountDecided {
			p.ReadOnly = append(p.ReadOnly, m.Path())
			return true
		}
		return unread
	})
}

// naming tells by kind of effect whether a rule names a path, and nobody decided about it.
func naming(permit *tongs.Permit, kinds tongs.EffectKinds, effects []tongs.Effect, at tongs.Path) func(tongs.EffectKind) bool {
	return func(kind tongs.EffectKind) bool {
		return kinds.Has(kind) && permit.Ruled(kind, at) && !slices.ContainsFunc(effects, func(e tongs.Effect) bool {
			return e.Kind == kind && !e.Unknown && e.Path == at
		})
	}
}

// keep hides or protects one path that is named, and reports whether it did.
func keep(p *sandbox.Policy, named func(tongs.EffectKind) bool, host string) bool {
	switch {
	case named(tongs.EffectRead):
		p.Hidden = append(p.Hidden, host)
	case named(tongs.EffectWrite), named(tongs.EffectDelete):
		p.Protected = append(p.Protected, host)
	default:
		return false
	}
	return true
}

// ruledKinds are the kinds of effect that rules about certain paths ask for or block.
func ruledKinds(rules []tongs.Rule) (kinds tongs.EffectKinds) {
	for _, r := range rules {
		if r.Decision != tongs.PreApproved && r.Pattern != "" && !r.Fallback {
			kinds |= r.Effects & tongs.Kinds(tongs.EffectRead, tongs.EffectWrite, tongs.EffectDelete)
		}
	}
	return kinds
}
