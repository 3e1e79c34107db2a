package confine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/changeset"
	"github.com/tongs-ai/tongs/internal/hostpath"
	"github.com/tongs-ai/tongs/internal/text"
	"github.com/tongs-ai/tongs/sandbox"
	"github.com/tongs-ai/tongs/workspace"
	"github.com/tongs-ai/tongs/workspace/journal"
)

const (
	// maxDiff is how much of what a program changed a person is shown before they ask for more.
	maxDiff = 128 << 10
	// maxHashed is how much of what a program wrote is read to recognize it in another run. Holes count: they cost nothing
	// to make, and as much as anything else to read.
	maxHashed = 1 << 30
	// maxName is how much is shown of a name that cannot be kept.
	maxName = 200
)

// Outcomes reports whether programs can be run on a copy of the workspace, and what they changed be decided afterwards.
// It is what engine.Options.Outcomes wants.
func (c *Confiner) Outcomes(ctx context.Context) bool {
	return c.opt.Changes != nil && c.opt.Layers != "" && c.Full(ctx)
}

// runsOnCopy reports whether the program runs on a copy.
func (c *commands) runsOnCopy(ctx context.Context, cmd *tongs.Command, background bool) (bool, error) {
	if cmd.ReadOnly || !cmd.OnCopy && !c.permit.OnCopy() {
		return false, nil
	}
	switch {
	case background:
		return false, tongs.Errorf(tongs.CodeInvalidArgs, "a program that goes on in the background cannot be run on a copy of the files")
	case !c.Outcomes(ctx):
		return false, tongs.Errorf(tongs.CodeSandboxUnavailable, "programs cannot be run on a copy of the files here; 'tongs doctor' says why")
	}
	return true, nil
}

// overlay holds back what the program writes to the roots, but for directories in them that the configuration lets it write
// to directly. A dry run leaves nothing there either.
func (c *commands) overlay(p *sandbox.Policy) {
	p.Overlay = &sandbox.Overlay{Dir: c.opt.Layers, Reuse: c.copied.layers}
	if c.permit.Call().DryRun {
		return
	}
	layered := slices.Clone(p.Writable)
	for _, dir := range c.opt.Through {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		info, err := os.Lstat(real)
		if err == nil && info.IsDir() && slices.ContainsFunc(layered, func(m sandbox.Mount) bool {
			return m.Kind() == sandbox.MountLayered && m.Path() != real && hostpath.Within(m.Path(), real)
		}) {
			p.Writable = append(p.Writable, sandbox.Decided(real))
		}
	}
}

// askBefore turns the refusal of a copy, for a call that nobody decided yet, into what must be decided then: somebody is
// asked before it runs.
func (p *process) askBefore(err error) error {
	if !p.onCopy || p.cmd.OnCopy || tongs.CodeOf(err) != tongs.CodeSandboxUnavailable || p.permit.Call().DryRun {
		return err
	}
	return &tongs.Need{
		Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: p.cmd.Argv}},
		Reason:  "it cannot be run on a copy of the files first: " + err.Error(),
		Direct:  true,
	}
}

// plantedOutside are the names that a program planted where it wrote directly, although it ran on a copy.
func plantedOutside(res *sandbox.Result) (names []string) {
	if res.Overlay == nil {
		return res.Report.Planted
	}
	direct := map[string]bool{} // by the directory, of which the innermost counts
	for _, l := range res.Overlay.List {
		for _, rel := range l.Through {
			direct[filepath.Join(l.Root, rel)] = true
		}
	}
	for _, l := range res.Overlay.List {
		direct[l.Root] = false
	}
	for _, name := range res.Report.Planted {
		for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
			if through, known := direct[dir]; known || dir == filepath.Dir(dir) {
				if through {
					names = append(names, name)
				}
				break
			}
		}
	}
	return names
}

// changes reads the layers of the copy.
func (c *commands) changes(ctx context.Context, layers *sandbox.Layers) (*changeset.Set, error) {
	opt := changeset.Options{Drop: layers.Close, First: func(at tongs.Path) bool {
		_, protected := c.opt.Workspace.Protected(at)
		return protected
	}, Refuse: func(at tongs.Path) string {
		if c.opt.Workspace.Nameable(at) == nil {
			return ""
		}
		return "no call can name it"
	}}
	var list []sandbox.Layer // none where nothing could be written to
	if layers != nil {
		list = layers.List
	}
	for _, l := range list {
		at, err := c.place(l.Root, false)
		if err != nil {
			return nil, errors.Join(err, layers.Close())
		}
		opt.Layers = append(opt.Layers, changeset.Layer{Layer: l, At: at})
	}
	set, err := changeset.Read(ctx, opt)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("what the command changed cannot be told, and does not hold: %w", err), layers.Close())
	}
	return set, nil
}

// describe tells of changes in the words of calls. What cannot be kept is left out.
func describe(changes []changeset.Change) []tongs.Change {
	types := map[journal.Type]tongs.FileType{
		journal.File: tongs.FileRegular, journal.Dir: tongs.FileDirectory, journal.Link: tongs.FileSymlink, journal.Other: tongs.FileOther,
	}
	list := make([]tongs.Change, 0, len(changes))
	for _, c := range changes {
		if c.Refused != "" {
			continue
		}
		d := tongs.Change{
			Path: c.Path, Kind: c.Kind, From: c.From, Type: types[c.After.Type],
			Before: c.Before.Size + c.Bytes, After: c.After.Size,
		}
		switch c.Kind {
		case changeset.Modified:
			d.Was = types[c.Before.Type]
		case changeset.Mode:
			d.Kind = tongs.Modified
		case changeset.Deleted:
			d.Type = types[c.Before.Type]
		}
		list = append(list, d)
	}
	return list
}

// special marks changes whose paths alone do not tell that they must be asked about: what git obeys in a directory that
// became a repository.
func (c *commands) special(changes []tongs.Change, planted []string) []tongs.Change {
	names := make(map[string]bool, len(planted)) // and whether a change made it
	for _, name := range planted {
		if at, err := c.opt.Workspace.ResolveEntry(tongs.Path{Rel: "."}, name); err == nil && c.opt.Workspace.Steers(at) {
			continue // its path alone tells
		}
		names[name] = false
	}
	c.obeyed(changes, names)
	// What was there already is obeyed since something beside it changed.
	for _, name := range planted {
		if made, ok := names[name]; ok && !made {
			names[filepath.Dir(name)] = false
		}
	}
	c.obeyed(changes, names)
	return changes
}

// obeyed marks the changes at and below names of this machine, and the names that have some.
func (c *commands) obeyed(changes []tongs.Change, names map[string]bool) {
	for i := range changes {
		change := &changes[i]
		if change.Kind == tongs.Deleted || len(names) == 0 {
			continue
		}
		for host := c.opt.Workspace.Host(change.Path); host != filepath.Dir(host); host = filepath.Dir(host) {
			if _, ok := names[host]; !ok {
				continue
			}
			names[host] = true
			if change.Protected == "" {
				change.Protected = "protected: programs obey what is there, and did not before"
			}
		}
	}
}

// remarks are what a person should know besides the changes.
func (c *commands) remarks(set *changeset.Set) (notes []string) {
	notes = refused(set)
	if set.Counts().Written > maxHashed {
		notes = append(notes, fmt.Sprintf("it wrote more than %d MiB, which is not compared with what another run writes: an answer is for this run alone", maxHashed>>20))
	}
	return append(notes, c.copied.notes...)
}

// remarksOn are what a person should know of a program besides what it changed.
func (p *process) remarksOn(res *sandbox.Result) (notes []string) {
	if hosts := p.contacts.denied(); len(hosts) > 0 {
		notes = append(notes, "it tried to reach "+strings.Join(hosts, ", ")+" and could not")
	}
	if res.ExitCode != 0 {
		notes = append(notes, fmt.Sprintf("it failed, with exit code %d", res.ExitCode))
	}
	return notes
}

// maxRefused is how many of the changes that cannot be kept are told one by one.
const maxRefused = 10

// refused says which changes cannot be kept, and why.
func refused(set *changeset.Set) (notes []string) {
	n := 0
	for _, c := range set.Changes() {
		if c.Refused == "" {
			continue
		}
		if n++; n <= maxRefused {
			name := text.Name(c.Path.String())
			if len(name) > maxName {
				name = strings.ToValidUTF8(name[:maxName], "") + "..."
			}
			notes = append(notes, name+" cannot be kept: "+c.Refused)
		}
	}
	if n > maxRefused {
		notes = append(notes, fmt.Sprintf("%d more cannot be kept", n-maxRefused))
	}
	return notes
}

// identifyAll binds each change to what the program left. What is too large to be read is like nothing that another run
// leaves.
func identifyAll(ctx context.Context, set *changeset.Set, changes []tongs.Change) error {
	left := int64(maxHashed)
	versions := make(map[tongs.Path]tongs.Version, len(changes))
	for i := range set.Changes() {
		c := &set.Changes()[i]
		if c.Refused != "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		h := sha256.New()
		fmt.Fprintf(h, "%s %v %q\n", c.After.Type, c.After.Mode, c.After.Target)
		b := c.Before // what goes was shown, too
		fmt.Fprintf(h, "%s %v %q %d %d %d %d\n", b.Type, b.Mode, b.Target, b.Size, b.Modified, c.Entries, c.Bytes)
		switch {
		case c.After.Type != journal.File:
		case c.After.Size > left:
			fmt.Fprintln(h, rand.Text())
		default:
			left -= c.After.Size
			if err := hashFile(h, set, c); err != nil {
				return fmt.Errorf("reading what the command wrote to %s: %w", c.Path, err)
			}
		}
		versions[c.Path] = tongs.Version("outcome:" + hex.EncodeToString(h.Sum(nil)))
	}
	for i := range changes {
		if changes[i].Version = versions[changes[i].Path]; changes[i].Repository {
			changes[i].Version = versionOf(&changes[i], versions)
		}
	}
	return nil
}

func hashFile(h io.Writer, set *changeset.Set, c *changeset.Change) error {
	f, err := set.Open(c)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(h, f)
	return err
}

// touched are the paths of changes.
func touched(changes []tongs.Change) (paths []tongs.Path) {
	for _, c := range changes {
		if c.Repository {
			paths = append(paths, touched(c.Parts)...)
			continue
		}
		paths = append(paths, c.Path)
		if c.From != nil {
			paths = append(paths, *c.From)
		}
	}
	return paths
}

// undoable are the effects of those changes that are made only if they can be undone.
func undoable(keep []tongs.Change) (effects []tongs.Effect) {
	for _, c := range keep {
		if !c.Undoable {
			continue
		}
		if c.Repository {
			for _, part := range c.Parts {
				part.Undoable = true
				effects = append(effects, undoable([]tongs.Change{part})...)
			}
			continue
		}
		if c.From != nil {
			effects = append(effects, tongs.Effect{Kind: tongs.EffectDelete, Path: *c.From})
		}
		if c.Kind == tongs.Deleted || c.Was != "" && c.Was != c.Type {
			effects = append(effects, tongs.Effect{Kind: tongs.EffectDelete, Path: c.Path})
		}
		if c.Kind != tongs.Deleted {
			effects = append(effects, tongs.Effect{Kind: tongs.EffectWrite, Path: c.Path})
		}
	}
	return effects
}

// maxPaths is how many of the changes that were made a result tells of.
const maxPaths = 30

// head is the entry of the journal that the changes of the call become.
func (c *commands) head() journal.Entry {
	call := c.permit.Call()
	roots := map[string]string{}
	for _, root := range c.opt.Workspace.Roots() {
		roots[root.Name] = filepath.Clean(root.Dir)
	}
	return journal.Entry{Call: call.ID, Session: call.Session, Agents: call.Agents, Tool: call.Tool, Roots: roots}
}

// commit makes what was kept hold, all of it or nothing.
func (c *commands) commit(ctx context.Context, set *changeset.Set, keep []tongs.Change, recorded []journal.Repository, told *tongs.Changed) error {
	told.Paths = nil
	paths := make([]string, len(keep))
	for i, k := range keep {
		paths[i] = k.Path.String()
		switch {
		case k.Repository:
			told.Paths = append(told.Paths, k.Does...)
		case i < maxPaths:
			told.Paths = append(told.Paths, string(k.Kind)+" "+paths[i])
		}
	}
	if len(keep) > maxPaths {
		told.Paths = append(told.Paths, fmt.Sprintf("and %d more", len(keep)-maxPaths))
	}
	for _, k := range keep {
		for _, part := range k.Parts { // links to worktrees are not below the git directory
			if !k.Path.Contains(part.Path) {
				paths = append(paths, part.Path.String())
			}
		}
	}
	all := len(touched(keep)) == len(touched(describe(set.Changes())))
	if all {
		paths = nil
	}
	unlock, err := c.opt.Workspace.LockAll(ctx, touched(keep)...)
	if err != nil {
		return err
	}
	defer unlock()
	head := c.head()
	head.Whole = undoable(keep)
	for _, r := range recorded {
		if slices.ContainsFunc(keep, func(k tongs.Change) bool {
			_, in := r.Below(k.Path)
			return k.Repository && k.Path == r.Dir || r.Listed && in
		}) {
			head.Repositories = append(head.Repositories, r)
		}
	}
	head.Slight = len(head.Repositories) == len(keep) && !slices.ContainsFunc(head.Repositories, func(r journal.Repository) bool { return !r.Slight })
	entry, err := set.Commit(ctx, c.opt.Changes, head, paths)
	if unkept, ok := errors.AsType[*workspace.UnkeptError](err); ok {
		told.Paths = nil
		return &tongs.Need{Effects: head.Whole, Reason: unkept.Error(), Lasting: true}
	}
	if conflict, ok := errors.AsType[*journal.ConflictError](err); ok {
		told.Paths = nil
		return tongs.Errorf(tongs.CodeStaleFile,
			"somebody else changed files meanwhile, so none of its changes were kept: %w; look at them and run it again", conflict)
	}
	if err != nil {
		told.Paths = nil
		return fmt.Errorf("the changes of the command could not be kept, and none of them were: %w", err)
	}
	told.Made, told.Entry = told.Dropped, entry.ID
	if told.Dropped = ""; !all {
		told.Made, told.Dropped = fmt.Sprintf("%d paths", len(keep)), fmt.Sprintf("%d paths", len(set.Changes())-len(keep))
	}
	return nil
}
