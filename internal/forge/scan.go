package forge

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

// settleTime is how old a change must be before its time tells it apart from a later one.
const settleTime = 2 * time.Second

// entry is one directory of the forge, as it was when it was last read.
type entry struct {
	name, dir string
	// seen are the stat identities of the directory, its tool.yaml and its entrypoint; sure says that they could not hide
	// a change.
	seen [3]stamp
	sure bool
	// paths are those that every refresh looks at, below the forge: the directory, tool.yaml and the entrypoint.
	paths [3]string

	manifest *Manifest
	// problem says why the tool cannot be used, empty where it can.
	problem string
	files   []file
	digest  string
	record  *record
	tool    tongs.Tool
}

// snapshot is all entries at one time, by name. It does not change.
type snapshot struct {
	// top and records are the stat identities of the forge, and of where approvals are kept.
	top, records stamp
	sure         bool
	entries      []*entry
}

func (s *snapshot) find(name string) *entry {
	if i, ok := slices.BinarySearchFunc(s.entries, name, func(e *entry, name string) int { return strings.Compare(e.name, name) }); ok {
		return s.entries[i]
	}
	return nil
}

// watchTime is how long nothing is looked at because nothing was heard of: some file systems tell less than others.
const watchTime = 30 * time.Second

// Refresh implements engine.Provider: it looks at the forge again. A forge that cannot be read stays as it was.
func (s *Set) Refresh(context.Context) (changed bool) {
	_, _ = s.Scan()
	now := s.version.Load()
	return s.told.Swap(now) != now
}

// Scan looks at the forge again and reports whether a tool changed, came or went. What has the stat identity it had is
// not read. It is safe for concurrent use; readers of the set never wait for it.
func (s *Set) Scan() (changed bool, err error) {
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	began := time.Now()
	defer func() { s.cost.add(time.Since(began)) }()
	if s.watch != nil {
		heard := s.watch.changedDirs()
		if heard == nil && began.Sub(s.scanned) < watchTime {
			return false, nil
		}
		changed, err = s.rescan(s.knownUnheard(heard))
		if heard == nil && !changed && err == nil {
			s.scanned = began
			return false, nil
		}
		s.watch.close()
		s.watch = nil
		return changed, err
	}
	changed, err = s.rescan(s.current.Load())
	if err != nil || changed || !s.opt.Watch || s.closed || !s.current.Load().settled() {
		return changed, err
	}
	// Whoever looks after it began to listen misses nothing.
	w, err := newWatch(s.dirs())
	if err != nil {
		return false, nil // it goes on by looking
	}
	if changed, err = s.rescan(s.current.Load()); err != nil || changed {
		w.close()
		return changed, err
	}
	s.watch, s.scanned = w, began
	return false, nil
}

// Close ends what the set does between calls. It can be used all the same.
func (s *Set) Close() error {
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	s.closed = true
	if s.watch != nil {
		s.watch.close()
		s.watch = nil
	}
	return nil
}

// dirs are the directories whose changes matter.
func (s *Set) dirs() []string {
	dirs := []string{s.opt.Dir}
	snap := s.current.Load()
	if s.store.dir != "" {
		dirs = append(dirs, s.store.records())
	}
	for _, e := range snap.entries {
		dirs = append(dirs, e.dir)
	}
	return dirs
}

// knownUnheard is what was known, less what was heard of: that is read again, whatever its stat identity.
func (s *Set) knownUnheard(heard map[string]bool) *snapshot {
	known := *s.current.Load()
	if len(heard) == 0 {
		return s.current.Load()
	}
	known.sure = known.sure && !heard[""] && !heard[s.opt.Dir] && !heard[s.store.records()]
	known.entries = slices.Clone(known.entries)
	for i, e := range known.entries {
		if heard[e.dir] {
			own := *e
			own.sure = false
			known.entries[i] = &own
		}
	}
	return &known
}

func (s *Set) rescan(before *snapshot) (changed bool, err error) {
	next, changed, err := s.scan(before)
	if err == nil && next != before {
		s.current.Store(next)
	}
	if changed {
		s.version.Add(1)
	}
	return changed, err
}

// settled reports whether no change could hide behind the times of the files.
func (s *snapshot) settled() bool {
	return s.sure && !slices.ContainsFunc(s.entries, func(e *entry) bool { return !e.sure })
}

func (s *Set) scan(before *snapshot) (*snapshot, bool, error) {
	now := time.Now()
	at, err := stampOf(s.opt.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &snapshot{}, len(before.entries) > 0, nil
	}
	if err != nil {
		return nil, false, err
	}
	top, err := openTop(s.opt.Dir)
	if err != nil {
		return nil, false, err
	}
	defer top.close()
	records, _ := stampOf(s.store.records())
	asBefore := records == before.records // who approved what
	if before.sure && at == before.top && asBefore {
		if dirty := unchanged(top, before); len(dirty) > 0 {
			return s.again(top, before, dirty)
		}
		return before, false, nil
	}
	names, err := s.names()
	if err != nil {
		return nil, false, err
	}
	next := &snapshot{top: at, records: records, entries: make([]*entry, 0, len(names))}
	next.sure = s.old(at, now) && (records.Missing || s.old(records, now))
	changed := len(names) != len(before.entries)
	for _, name := range names {
		was := before.find(name)
		e := was
		if was == nil || !was.sure || !before.sure || !asBefore || was.look(top) != was.seen {
			e = s.read(top, name, was)
			changed = changed || was == nil || !was.same(e)
		}
		next.entries = append(next.entries, e)
	}
	return next, changed, nil
}

// again reads the entries that may have changed, of a directory that holds the same names as before.
func (s *Set) again(top *top, before *snapshot, dirty []int) (*snapshot, bool, error) {
	next := &snapshot{top: before.top, records: before.records, sure: true, entries: slices.Clone(before.entries)}
	changed := false
	for _, i := range dirty {
		was := before.entries[i]
		e := s.read(top, was.name, was)
		changed = changed || !was.same(e)
		next.entries[i] = e
	}
	return next, changed, nil
}

// lanes is how many look at a large forge at the same time.
const lanes = 2

// unchanged returns the places of the entries that may have changed; nil where none has.
func unchanged(top *top, before *snapshot) (dirty []int) {
	n := len(before.entries)
	if n < 64 {
		return dirtyIn(top, before.entries, 0, n)
	}
	var parts [lanes][]int
	var all sync.WaitGroup
	for lane := range lanes {
		all.Go(func() { parts[lane] = dirtyIn(top, before.entries, lane*n/lanes, (lane+1)*n/lanes) })
	}
	all.Wait()
	return slices.Concat(parts[:]...)
}

func dirtyIn(top *top, entries []*entry, from, to int) (dirty []int) {
	for i := from; i < to; i++ {
		if e := entries[i]; !e.sure || e.look(top) != e.seen {
			dirty = append(dirty, i)
		}
	}
	return dirty
}

// names are the directories of the forge that can be tools, in order.
func (s *Set) names() ([]string, error) {
	entries, err := os.ReadDir(s.opt.Dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// look returns the stat identities that tell whether the entry must be read again.
func (e *entry) look(top *top) (seen [3]stamp) {
	for i, p := range e.paths {
		if p != "" {
			seen[i] = top.stamp(p)
		}
	}
	return seen
}

// old reports whether a later change could not have the same time.
func (s *Set) old(st stamp, now time.Time) bool {
	return now.UnixNano()-max(st.Mtime, st.Ctime) > int64(s.settles)
}

// same reports whether two readings of a tool came to the same.
func (e *entry) same(o *entry) bool {
	return e.digest == o.digest && e.problem == o.problem && e.status() == o.status()
}

// read reads a tool. What was known of it is kept where it did not change, so that a tool that is the same is the same one.
func (s *Set) read(top *top, name string, was *entry) *entry {
	e := &entry{name: name, dir: filepath.Join(s.opt.Dir, name), record: &record{}}
	e.paths = [3]string{name, filepath.Join(name, ManifestName)}
	if was != nil {
		e.paths[2] = was.paths[2] // the entrypoint is looked at before the manifest is read
	}
	now := time.Now()
	seen := e.look(top)
	s.fill(e, was)
	entrypoint := ""
	if e.manifest != nil {
		entrypoint = filepath.Join(name, e.manifest.Entrypoint)
	}
	if entrypoint != e.paths[2] { // another one than before, or the first
		e.paths[2] = entrypoint
		seen[2] = e.look(top)[2]
	}
	e.seen, e.sure = seen, true
	for _, st := range seen {
		e.sure = e.sure && (st.Missing || s.old(st, now))
	}
	if was != nil && was.same(e) {
		e.tool, e.manifest = was.tool, was.manifest
		return e
	}
	e.tool = s.newTool(e)
	return e
}

// fill reads what a tool is made of, and finds out why it cannot be used.
func (s *Set) fill(e, was *entry) {
	fail := func(err error) { e.problem = cleantext.Text(err.Error(), maxText) }
	if !validName.MatchString(e.name) {
		e.problem = "the name of its directory is no name of a tool: want 1 to 64 of letters, digits, _ and -"
		return
	}
	var err error
	if e.files, err = list(e.dir); err != nil {
		fail(err)
		return
	}
	e.record, err = s.store.load(e.name, e.dir)
	if err != nil {
		e.record = &record{}
		fail(err)
		return
	}
	if s.opt.NoApprovals {
		e.record = &record{Tool: e.name, Dir: e.dir, Disabled: e.record.Disabled}
	}
	if e.record.Digest != "" && sameStamps(e.files, e.record.Files) {
		e.digest = e.record.Digest
		e.files = e.record.Files
		data, err := os.ReadFile(filepath.Join(e.dir, ManifestName))
		if err == nil {
			e.manifest, err = ParseManifest(data, e.name)
		}
		if err != nil {
			fail(err)
			return
		}
		e.problem = e.unusable()
		return
	}
	if was != nil && was.sure && was.digest != "" && sameStamps(e.files, was.files) {
		e.files, e.digest, e.manifest, e.problem = was.files, was.digest, was.manifest, was.problem
		return
	}
	c, err := load(e.dir)
	if err != nil {
		fail(err)
		return
	}
	e.files, e.digest = c.files, digest(c.files)
	data, ok := c.data[ManifestName]
	if !ok {
		e.problem = ManifestName + " is missing"
		return
	}
	if e.manifest, err = ParseManifest(data, e.name); err != nil {
		fail(err)
		return
	}
	if e.problem = e.unusable(); e.problem == "" && e.digest == e.record.Digest {
		_ = s.store.update(e.name, e.dir, func(r *record) { // touched, and the same: it need not be read the next time
			if r.Digest == e.digest {
				r.Files = e.files
			}
		})
	}
}

// unusable says why a tool cannot be run, empty where it can.
func (e *entry) unusable() string {
	i := slices.IndexFunc(e.files, func(f file) bool { return f.Path == e.manifest.Entrypoint })
	switch {
	case i < 0 && e.source() == "go":
		return "not built: there is no program " + e.manifest.Entrypoint + " yet; build it with build_custom_tool"
	case i < 0:
		return "its entrypoint " + e.manifest.Entrypoint + " is missing"
	case !e.files[i].Exec && executable:
		return "its entrypoint " + e.manifest.Entrypoint + " is not executable; chmod +x makes it so"
	}
	if _, err := e.manifest.schema(); err != nil {
		return err.Error()
	}
	return ""
}

// source is the language that the tool is written in, as far as its files tell.
func (e *entry) source() string { return languageOf(e.name, e.files) }

func languageOf(name string, files []file) string {
	for _, l := range languages {
		if slices.ContainsFunc(files, func(f file) bool { return f.Path == name+l.suffix }) {
			return l.name
		}
	}
	return ""
}
