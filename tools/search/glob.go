package search

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/search/globs"
	"github.com/tongs-ai/tongs/internal/search/live"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// GlobInput are the arguments of glob.
type GlobInput struct {
	Pattern       string `json:"pattern" jsonschema:"Below path: **/*.go at any depth, *.go in path itself; {a,b}, [!a]." minLength:"1" maxLength:"4096" alias:"glob"`
	Path          string `json:"path,omitempty" jsonschema:"Where, in the workspace." default:"." alias:"directory,dir,folder"`
	Sort          string `json:"sort,omitempty" jsonschema:"By time of change or by name." enum:"modified,path" default:"modified"`
	Limit         int    `json:"limit,omitempty" jsonschema:"Most results." min:"1"`
	IncludeHidden bool   `json:"includeHidden,omitempty" jsonschema:"Names with a dot too." default:"false"`
	NoIgnore      bool   `json:"noIgnore,omitempty" jsonschema:"Also ignored files." default:"false"`
}

// GlobOutput is the value of glob.
type GlobOutput struct {
	Paths     []string `json:"paths" jsonschema:"Files, not directories."`
	Total     int      `json:"total" jsonschema:"How many files match."`
	Truncated bool     `json:"truncated" jsonschema:"Whether there are more than paths holds."`

	title, shown string
	metadata     map[string]any
}

// Present lists the paths, one a line.
func (o GlobOutput) Present(r *tongs.Result) {
	r.Title, r.Content, r.Metadata = o.title, o.shown, o.metadata
}

func (t *tools) globTool() (tongs.Tool, error) {
	return tongs.New(tongs.Def[GlobInput, GlobOutput]{
		Spec: tongs.Spec{
			Name: "glob", Title: "Find files", Toolset: Toolset, Complex: true,
			Description: fmt.Sprintf("Find files by pattern, newest first: up to %d, or limit (%d at most). "+
				"Ignored and hidden files are left out.", t.opt.GlobPaths, t.opt.GlobMax),
			Needs: tongs.Read, Default: tongs.PreApproved,
			Hints: tongs.Hints{ReadOnly: true, Idempotent: true},
		},
		Plan: func(_ context.Context, v *tongs.View, in GlobInput) (*tongs.Plan, error) {
			target, err := searchTarget(v.Files, in)
			if err != nil {
				return nil, err
			}
			free := tongs.PreApproved
			return &tongs.Plan{
				Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: target.start}},
				Default: &free, Kind: tongs.KindRead, Message: "Find " + show(in.Pattern) + " in " + show(target.dir.String()),
			}, nil
		},
		Run: t.glob,
	})
}

// target is where a glob looks.
type target struct {
	// dir is the directory that the pattern is relative to, start is where looking begins: dir, or a directory below it
	// that the pattern spells out. glob is about paths below start.
	dir, start tongs.Path
	glob       *globs.Glob
	// deeper is the pattern for any depth, nil where it is not about names alone.
	deeper *globs.Glob
	dotted bool
	// named is set where the pattern has no wildcard: start is what it names.
	named bool
}

// searchTarget finds out where a call looks. Nothing is decided yet: it says nothing about what is there.
func searchTarget(files tongs.FileView, in GlobInput) (t target, err error) {
	dir, pattern := in.Path, strings.TrimPrefix(in.Pattern, "./")
	if dir == "" {
		dir = "."
	}
	if strings.HasPrefix(pattern, "/") { // a zone, or a path of this machine
		dir, pattern = cutDir(pattern)
	}
	for strings.HasPrefix(pattern, "../") {
		dir, pattern = dir+"/..", pattern[len("../"):]
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	if t.glob, err = globs.Compile(pattern); err != nil {
		return t, tongs.Errorf(tongs.CodeInvalidArgs, "%w", err)
	}
	t.dotted = dotted(pattern)
	if t.dir, err = files.Resolve(dir); err != nil {
		return t, err
	}
	if literal, ok := t.glob.Literal(); ok {
		t.named = true
		t.start, err = files.ResolveEntry(strings.TrimSuffix(dir, "/") + "/" + literal)
		return t, err
	}
	if !strings.Contains(pattern, "/") {
		t.deeper, _ = globs.Compile("**/" + pattern)
	}
	t.start = t.dir
	if base := t.glob.Base(); base != "." {
		t.start, err = files.Resolve(strings.TrimSuffix(dir, "/") + "/" + base)
		t.glob = t.glob.InBase()
	}
	return t, err
}

// cutDir splits a pattern before its first element with a wildcard, or its last one.
func cutDir(pattern string) (dir, rest string) {
	end := strings.IndexAny(pattern, `*?[{\`)
	if end < 0 {
		end = len(pattern)
	}
	slash := strings.LastIndexByte(pattern[:end], '/')
	if slash == 0 {
		return "/", pattern[1:]
	}
	return pattern[:slash], pattern[slash+1:]
}

func (t *tools) glob(ctx context.Context, env *tongs.Env, in GlobInput) (out GlobOutput, err error) {
	target, err := searchTarget(env.Files, in)
	if err != nil {
		return out, err
	}
	s := &globbing{in: in, target: target, limit: t.opt.GlobPaths, most: t.opt.GlobMax}
	if in.Limit > 0 {
		s.limit = min(in.Limit, t.opt.GlobMax)
	}
	if target.named {
		return s.byName(env.Files)
	}
	if missing, err := s.startIsMissing(env.Files); missing || err != nil {
		return s.output(), err
	}
	dir, err := tree(env, target.start)
	if err != nil {
		return out, err
	}
	defer dir.Close()
	opt := walk.Options{
		Root: dir.Host, Dir: dir.Dir, Top: dir.Top, Ignore: t.ignore, Hidden: in.IncludeHidden || target.dotted, NoIgnore: in.NoIgnore,
	}
	known, ok := t.known(dir, opt.Hidden, opt.NoIgnore)
	if !ok || !s.list(ctx, t.opt.Live, known) {
		if err := s.walk(ctx, dir, opt); err != nil {
			return out, searchError(target.start, err)
		}
	}
	if s.best.count() == 0 {
		if err := s.hint(ctx, dir, opt); err != nil {
			return out, searchError(target.start, err)
		}
	}
	return s.output(), nil
}

// dotted reports whether an element of the pattern begins with a dot.
func dotted(pattern string) bool {
	return strings.HasPrefix(pattern, ".") || strings.Contains(pattern, "/.") || strings.Contains(pattern, "{.") || strings.Contains(pattern, ",.")
}

// searchError says what went wrong with a search as a whole. Errors of the context stay: the engine says how it ended.
func searchError(p tongs.Path, err error) error {
	if pe, ok := err.(*fs.PathError); ok {
		return tongs.Errorf(tongs.CodeExecutionError, "%s could not be searched: %w", show(p.String()), pe.Err)
	}
	return err
}

// globbing is one call.
type globbing struct {
	target
	in          GlobInput
	limit, most int

	best best
	// withheld are the files that match and are not for this call, closed the directories that are not.
	withheld, closed atomic.Int64
	// skipped are some of the directories that could not be read, unread is how many there are.
	skipped []string
	unread  int
	notes   []string
}

// byName looks for the one path that a pattern without wildcards names.
func (s *globbing) byName(files tongs.Files) (out GlobOutput, err error) {
	info, err := files.Stat(s.start)
	switch {
	case tongs.CodeOf(err) == tongs.CodeFileNotFound:
		name := path.Base(s.in.Pattern)
		s.notes = append(s.notes, fmt.Sprintf("%s does not exist; the pattern **/%s looks for the name at any depth", show(s.start.String()), show(name)))
	case err != nil:
		return out, err
	case info.Type == tongs.FileDirectory:
		s.notes = append(s.notes, fmt.Sprintf("%s is a directory; the pattern %s/** finds what is in it", show(s.start.String()), show(s.in.Pattern)))
	default:
		s.best.add(0, found{path: s.start.String()})
	}
	return s.output(), nil
}

// startIsMissing looks whether there is a directory to begin in. That the given path is missing is an error; that a
// directory in the pattern is, means that nothing matches.
func (s *globbing) startIsMissing(files tongs.Files) (bool, error) {
	info, err := files.Stat(s.start)
	switch {
	case err != nil && s.start != s.dir && tongs.CodeOf(err) == tongs.CodeFileNotFound:
		s.notes = append(s.notes, fmt.Sprintf("%s does not exist", show(s.start.String())))
		return true, nil
	case err != nil:
		return false, err
	case info.Type == tongs.FileDirectory:
		return false, nil
	case s.start != s.dir:
		s.notes = append(s.notes, fmt.Sprintf("%s is not a directory", show(s.start.String())))
		return true, nil
	default:
		return false, tongs.Errorf(tongs.CodeInvalidPath, "%s is not a directory; path names the directory to look in, pattern the files", show(s.start.String()))
	}
}

// walk collects what matches.
func (s *globbing) walk(ctx context.Context, dir *tongs.Tree, opt walk.Options) error {
	opt.Skip = func(rel string, isDir bool) bool {
		if isDir && !s.glob.Below(rel) {
			return true
		}
		if !dir.Skip(rel, isDir) {
			return false
		}
		if isDir {
			s.closed.Add(1)
		} else if s.glob.Match(rel) {
			s.withheld.Add(1)
		}
		return true
	}
	opt.Skipped = s.passedOver
	tr, err := walk.Open(opt)
	if err != nil {
		return err
	}
	defer tr.Close()
	s.best.prepare(tr.Workers(), s.limit, s.in.Sort == "path")
	return tr.Walk(ctx, func(e *walk.Entry) error {
		if e.Type != walk.File && e.Type != walk.Symlink || !s.glob.Match(e.Rel) {
			return nil
		}
		f := found{rel: e.Rel}
		if s.in.Sort != "path" {
			info, err := e.Stat()
			if err != nil {
				return nil // it is gone
			}
			f.modified = info.Modified
		}
		s.best.add(e.Worker, f)
		return nil
	})
}

// passedOver takes up a directory that could not be read.
func (s *globbing) passedOver(rel string, _ error) {
	if s.unread++; len(s.skipped) < 20 {
		s.skipped = append(s.skipped, s.path(rel))
	}
}

// list collects what matches without a walk. It returns false where the service does not know the directory.
func (s *globbing) list(ctx context.Context, service *live.Service, tree live.Tree) bool {
	tree.Pick, tree.Below = s.glob.Match, s.glob.Below
	s.best.prepare(1, s.limit, s.in.Sort == "path")
	left, ok := service.List(ctx, tree, func(e live.Entry) { s.best.add(0, found{rel: e.Rel, modified: e.Modified}) }, s.passedOver)
	s.closed.Add(int64(left.Dirs))
	s.withheld.Add(int64(left.Files))
	return ok
}

// path spells what is at rel below the start as a call would.
func (s *globbing) path(rel string) string { return s.start.Join(rel).String() }
