// Package live keeps what it knows of trees of files current, so that searches need not walk and read them: a table of
// the files that a plain search looks at, and an index of what is in them.
//
// A [Service] serves many roots and many callers. The first search of a root starts to build what is known of it, in the
// background; until that is ready, and wherever the service does not know enough, its methods return false and the
// caller searches by package grep or walk, with the same result. What was not used for a while is dropped.
//
// # Freshness
//
// Whatever was written before a search began is found by it. On Linux each directory is watched by inotify, which queues
// an event before the system call of the writer returns; a search first takes all events that are queued. Files with
// several names are watched themselves, since who writes to them by a name elsewhere touches no directory here. What an
// event says is only where to look: the directory is read again, or the file is searched directly from then on, until it
// was indexed anew in the background. Ignore rules from outside of the watched directories, such as .git/info/exclude,
// are read again for each search.
//
// Where that is not possible, on remote file systems, where watches are used up and on other systems than Linux, a
// root is in strict mode: each search looks at the time, size and inode of every file and directory first. The same is
// done when the queue of events overflowed, and from time to time, for what no event tells: writing to a file through
// memory that stays mapped after the file was closed, and through a hard link elsewhere that was made from a file here
// after it was indexed. Both are found at the next such look.
//
// Whatever is returned was read from the file itself, at the time of the search.
package live

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

	"github.com/tongs-ai/tongs/internal/search/ignore"
)

// Options configure a service. A zero field means the default that its comment names.
type Options struct {
	// MaxBytes is how much memory tables and indexes may take together: 512 MiB. A root that does not fit is not indexed.
	MaxBytes int64
	// MaxFile is how large a file may be to be indexed: 16 MiB, and at most 1 GiB. Larger ones are read by every search.
	MaxFile int64
	// MaxWatches is how many directories and files of a root are watched: half of what the system allows a user.
	MaxWatches int
	// Idle is after how long without a search what is known of a root is dropped: 20 minutes.
	Idle time.Duration
	// Sweep is how often every file of a root is looked at, for what no event tells: each minute, while it is used.
	Sweep time.Duration
	// Strict looks at every file before each search, on every file system.
	Strict bool
	// Workers is how many goroutines build the index of a root: one for every four processors, and at least one.
	Workers int
	// User is whose git configuration says what is ignored; nil means ignore.CurrentUser.
	User *ignore.User
}

// Service knows trees of files. It is safe for concurrent use. Close ends it.
type Service struct {
	opt    Options
	ignore *ignore.Reader
	settle time.Duration
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
	// bytes is what all roots take, searches how many searches are under way: building waits for them.
	bytes    atomic.Int64
	searches atomic.Int64

	mu    sync.Mutex
	roots map[string]*root
	over  bool
}

// New returns a service. It starts nothing before the first search.
func New(opt Options) *Service {
	orElse(&opt.MaxBytes, 512<<20)
	orElse(&opt.MaxFile, 16<<20)
	opt.MaxFile = min(opt.MaxFile, 1<<30)
	orElse(&opt.Idle, 20*time.Minute)
	orElse(&opt.Sweep, time.Minute)
	if opt.Workers <= 0 {
		opt.Workers = defaultWorkers()
	}
	user := ignore.CurrentUser()
	if opt.User != nil {
		user = *opt.User
	}
	s := &Service{opt: opt, ignore: &ignore.Reader{User: user, Cache: &ignore.Cache{}}, settle: settle, roots: map[string]*root{}}
	orElse(&s.opt.MaxWatches, maxWatches())
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

func orElse[T int | int64 | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// Close drops everything, and returns once nothing is left running or open. Methods return false from then on.
func (s *Service) Close() error {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.cancel()
	s.group.Wait()
	return nil
}

// errClosed is why a root is of no use any more.
var errClosed = errors.New("dropped")

// root returns what is known of the tree at top, and begins to find out where that is nothing. It is nil once the
// service was closed.
func (s *Service) root(top string) *root {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	r := s.roots[top]
	if r == nil {
		r = newRoot(s, top)
		s.roots[top] = r
		s.group.Go(r.run)
	}
	r.used.Store(time.Now().UnixNano())
	return r
}

// forget drops a root from the list.
func (s *Service) forget(r *root) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roots[r.top] == r {
		delete(s.roots, r.top)
	}
}

// Prepare begins to build what is known of the tree at top, as the first search would.
func (s *Service) Prepare(top string) { s.root(top) }

// Ready waits until the tree at top is known, or is known not to be, and returns its status.
func (s *Service) Ready(ctx context.Context, top string) (Status, error) {
	r := s.root(top)
	if r == nil {
		return Status{Top: top, Problem: errClosed.Error()}, nil
	}
	select {
	case <-r.built:
		return r.status(), nil
	case <-ctx.Done():
		return r.status(), context.Cause(ctx)
	}
}

// Status is what a service knows of a root.
type Status struct {
	Top string
	// Ready says that searches are answered from what is known. Problem is why they never are: the tree does not fit into
	// the memory, or cannot be read.
	Ready   bool
	Problem string
	// Strict says that every file is looked at before each search, and why.
	Strict string
	// Files is how many files are known, Direct how many of them are searched directly since they are not indexed, or
	// changed since.
	Files, Direct int
	// Text is how many bytes are indexed, Index how many the index takes, Table an estimate for the table of files.
	Text, Index, Table int64
	Segments           int
	Watches            int
	// Built is how long it took to build.
	Built time.Duration
}

// Status returns what is known of each root.
func (s *Service) Status() []Status {
	s.mu.Lock()
	roots := make([]*root, 0, len(s.roots))
	for _, r := range s.roots {
		roots = append(roots, r)
	}
	s.mu.Unlock()
	var list []Status
	for _, r := range roots {
		list = append(list, r.status())
	}
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.Top, b.Top) })
	return list
}

// Tree is what a call looks at.
type Tree struct {
	// Host is a directory, Dir the same, opened; Top is the root that it is in, or the same directory. The whole of Top
	// is indexed, whichever part of it is searched.
	Host, Top string
	Dir       *os.File
	// Skip leaves out the entry at rel below the directory, and all that is below it; nil leaves out nothing. It must not
	// use the service.
	Skip func(rel string, dir bool) bool
	// Scope, where it is not nil, is comparable, and equal for trees of the same directory whose Skip says the same about
	// every entry, so that it need not be asked about each of them again.
	Scope any
	// Pick says which files are looked at, Below which directories may have some; nil means all. They are asked about what
	// Skip lets pass, and PickKey is like Scope for them.
	Pick, Below func(rel string) bool
	PickKey     string
}

// rel returns the path of the directory below the root.
func (t *Tree) rel() (string, bool) {
	if t.Host == t.Top {
		return "", true
	}
	rel, err := filepath.Rel(t.Top, t.Host)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	if rel == "." {
		return "", true
	}
	return filepath.ToSlash(rel), true
}

// Left is how much of a tree Skip left out: entries that Pick would take, and directories.
type Left struct{ Files, Dirs int }
