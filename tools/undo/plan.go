package undo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/seen"
	"github.com/tongs-ai/tongs/workspace/journal"
)

// previewBytes is how much of the difference a person is shown.
const previewBytes = 256 << 10

func (t *tools) plan(ctx context.Context, v *tongs.View, r request) (*tongs.Plan, error) {
	if t.opt.Settle != nil {
		t.opt.Settle(ctx)
	}
	u, entries, err := t.open(ctx, v.Call, v.Files, r)
	if err != nil {
		return nil, err
	}
	defer u.Close()
	net, err := u.Net(ctx)
	if err != nil {
		return nil, fault(err)
	}
	if len(net) == 0 {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "there is nothing to %s: everything is as it was already", r.name())
	}
	own, recorded := split(net, u.Repositories())
	plan := &tongs.Plan{
		Message: message(r, entries, own, recorded),
		Preview: func(ctx context.Context) (string, error) {
			return t.preview(ctx, v.Files, own, recorded, u.Conflicts), nil
		},
	}
	named := func(tongs.Path) bool { return false }
	if names, ok := v.Files.(tongs.Namer); ok {
		named = func(p tongs.Path) bool { _, ok := names.Protected(p); return ok }
	}
	plan.Effects = effects(own, named)
	for _, repo := range recorded {
		plan.Effects = append(plan.Effects, tongs.Effect{
			Kind: tongs.EffectWrite, Path: repo.Dir, Repository: true, Why: strings.Join(repo.Does, "; "),
		})
	}
	return plan, nil
}

// split takes out what happens to git's records, which is told by repository.
func split(net []journal.Net, repositories []journal.Repository) (own []journal.Net, recorded []journal.Repository) {
	touched := map[tongs.Path]bool{}
	for _, n := range net {
		i := slices.IndexFunc(repositories, func(r journal.Repository) bool { _, in := r.Below(n.Path); return in && !r.Listed })
		if i < 0 {
			own = append(own, n)
		} else {
			touched[repositories[i].Dir] = true
		}
	}
	for _, r := range repositories {
		if touched[r.Dir] {
			recorded = append(recorded, r)
		}
	}
	return own, recorded
}

// effects are what changes do. Where a directory goes or comes as a whole, that is what is done to the directory and to what is
// named in it; where named is nil, to everything in it.
func effects(net []journal.Net, named func(tongs.Path) bool) (list []tongs.Effect) {
	seen := map[target]bool{}
	add := func(kind tongs.EffectKind, p tongs.Path) {
		key := target{Kind: kind, Path: p}
		if !seen[key] {
			seen[key] = true
			list = append(list, tongs.Effect{Kind: kind, Path: p, NoGrant: kind == tongs.EffectDelete})
		}
	}
	comes := map[tongs.Path]bool{} // directories that come as a whole
	for _, n := range net {
		if n.After.Type == journal.Dir && n.Before.Type != journal.Dir {
			comes[n.Path] = true
		}
	}
	for _, n := range net {
		if !n.Top && !utf8.ValidString(n.Path.Rel) {
			continue // no effect can name it: it goes or comes with its directory
		}
		told := named == nil || named(n.Path)
		if !n.Top && !told {
			continue
		}
		if n.From != nil {
			add(tongs.EffectDelete, *n.From)
		} else if n.After.Type == journal.Absent || n.Before.Type == journal.Link {
			add(tongs.EffectDelete, n.Path)
		}
		if n.After.Type != journal.Absent && (told || !below(comes, n.Path)) {
			add(tongs.EffectWrite, n.Path)
		}
	}
	return list
}

// below reports whether a path is below one of the directories.
func below(dirs map[tongs.Path]bool, p tongs.Path) bool {
	for p.Rel != "." {
		if p = p.Dir(); dirs[p] {
			return true
		}
	}
	return false
}

// message says in one sentence what would be done.
func message(r request, entries []journal.Entry, net []journal.Net, recorded []journal.Repository) string {
	what := fmt.Sprintf("%d changes", len(entries))
	if len(entries) == 1 {
		what = entries[0].Tool
		if entries[0].Call != "" {
			what += " (" + entries[0].Call + ")"
		}
	}
	o := summary(net, recorded)
	parts := slices.Clone(o.Git)
	for _, part := range []struct {
		verb  string
		paths []string
	}{{"restore", o.Restored}, {"delete", o.Deleted}, {"move back", o.Moved}} {
		if len(part.paths) > 0 {
			parts = append(parts, part.verb+" "+few(part.paths))
		}
	}
	name := r.name()
	return fmt.Sprintf("%s%s %s: %s", strings.ToUpper(name[:1]), name[1:], what, strings.Join(parts, "; "))
}

// summary sorts changes by what they come to.
func summary(net []journal.Net, recorded []journal.Repository) (o Output) {
	for _, r := range recorded {
		o.Git = append(o.Git, r.Does...)
	}
	came := map[tongs.Path]bool{}
	for _, n := range net {
		if n.After.Type != journal.Absent {
			came[n.Path] = true
		}
	}
	add := func(list *[]string, s string) {
		o.Count++
		if len(*list) < maxNamed {
			*list = append(*list, s)
		}
	}
	for _, n := range net {
		switch {
		case n.From != nil:
			add(&o.Moved, fmt.Sprintf("%s → %s", n.From, n.Path))
		case n.After.Type != journal.Absent:
			add(&o.Restored, n.Path.String())
		case !came[n.Path]: // what is replaced goes, too
			add(&o.Deleted, n.Path.String())
		}
	}
	return o
}

// preview shows the difference that it would make.
func (t *tools) preview(ctx context.Context, files tongs.FileView, net []journal.Net, recorded []journal.Repository, skipped []journal.Conflict) string {
	var b strings.Builder
	for _, line := range summary(nil, recorded).Git {
		fmt.Fprintf(&b, "git: %s\n", line)
	}
	for i, n := range net {
		if b.Len() > previewBytes || ctx.Err() != nil {
			fmt.Fprintf(&b, "[%d more paths]\n", len(net)-i)
			break
		}
		now := journal.Side{State: n.Before, Open: func() (io.ReadCloser, error) { return files.Open(n.Path) }}
		then := journal.Side{State: n.After, Open: func() (io.ReadCloser, error) { return t.opt.Journal.Content(n.After.Hash) }}
		b.WriteString(journal.Diff(n.Path, n.From, now, then))
	}
	for _, c := range skipped[:min(len(skipped), maxNamed)] {
		fmt.Fprintf(&b, "left alone: %s (%s)\n", c.Path, c.Why)
	}
	return b.String()
}

func (t *tools) run(ctx context.Context, env *tongs.Env, r request) (out Output, err error) {
	holder, ok := env.Files.(tongs.Holder)
	if !ok {
		return out, tongs.Errorf(tongs.CodeConfigError, "the files here cannot be held, so that nothing can be undone")
	}
	u, entries, err := t.open(ctx, env.Call, env.Files, r)
	if err != nil {
		return out, err
	}
	defer u.Close()
	net, err := u.Net(ctx)
	if err != nil {
		return out, fault(err)
	}
	release, err := holder.Hold(ctx, effects(net, nil))
	if err != nil {
		return out, err
	}
	changed := ""
	defer func() { release(changed) }()
	if _, err := u.Commit(ctx); err != nil {
		return out, fault(err)
	}
	changed = fmt.Sprintf("took back %s", count(len(entries), "change", "changes"))
	if own(entries, env.Call.Session) {
		seen.Follow(ctx, env.State, left(net))
	}
	out = summary(split(net, u.Repositories()))
	if out.verb = "Undid"; r.redo {
		out.verb = "Redid"
	}
	for _, e := range entries {
		if id := e.Call; id != "" && (len(out.Calls) == 0 || out.Calls[len(out.Calls)-1] != id) {
			out.Calls = append(out.Calls, id)
		}
	}
	for _, c := range u.Conflicts[:min(len(u.Conflicts), maxNamed)] {
		out.Skipped = append(out.Skipped, Skipped{c.Path.String(), c.Why})
	}
	for _, p := range u.Left[:min(len(u.Left), maxNamed)] {
		out.Skipped = append(out.Skipped, Skipped{p.String(), "the directory holds other files now"})
	}
	return out, nil
}

// own reports whether the session made all of the changes: then it knows what it took back.
func own(entries []journal.Entry, session string) bool {
	return session != "" && !slices.ContainsFunc(entries, func(e journal.Entry) bool { return e.Session != session })
}

// left are the states in which changes leave files.
func left(net []journal.Net) (list []seen.Left) {
	came := map[tongs.Path]bool{}
	for _, n := range slices.Backward(net) { // what comes is behind what goes
		switch {
		case n.From != nil:
			list = append(list, seen.Left{Path: n.Path, From: n.From})
		case n.After.Type == journal.File:
			rec := seen.Record{Size: n.After.Size, Modified: time.Unix(0, n.After.Modified), Hash: n.After.Hash}
			list = append(list, seen.Left{Path: n.Path, Record: rec})
		case !came[n.Path]:
			list = append(list, seen.Left{Path: n.Path, Gone: true})
		}
		came[n.Path] = true
	}
	return list
}

// target is an effect without its state.
type target struct {
	Kind tongs.EffectKind
	Path tongs.Path
}

// fault gives an error of the journal a code. Errors of the context stay: the engine says how the call ended.
func fault(err error) error {
	if _, ok := errors.AsType[*journal.ConflictError](err); ok {
		return tongs.Errorf(tongs.CodeStaleFile, "nothing was changed: %w", err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	code := tongs.CodeExecutionError
	if errors.Is(err, fs.ErrPermission) {
		code = tongs.CodePermissionDenied
	}
	return tongs.Errorf(code, "nothing was changed: %w", err)
}
