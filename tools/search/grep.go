package search

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/search/globs"
	"github.com/tongs-ai/tongs/internal/search/grep"
	"github.com/tongs-ai/tongs/internal/search/live"
	"github.com/tongs-ai/tongs/internal/search/regex"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// GrepInput are the arguments of grep.
type GrepInput struct {
	Pattern         string `json:"pattern" jsonschema:"Regular expression (RE2), for each line." minLength:"1" maxLength:"10000" alias:"query,regex,search"`
	Path            string `json:"path,omitempty" jsonschema:"Where, in the workspace." default:"." alias:"directory,dir,folder,file"`
	Glob            string `json:"glob,omitempty" jsonschema:"Which files: *.go at any depth, src/**/*.ts, !*_test.go for others." alias:"include"`
	CaseInsensitive bool   `json:"caseInsensitive,omitempty" jsonschema:"Ignore upper and lower case." default:"false" alias:"ignoreCase"`
	MaxResults      int    `json:"maxResults,omitempty" jsonschema:"Most matches, or files." min:"1" alias:"limit,headLimit"`
	Context         int    `json:"context,omitempty" jsonschema:"Lines around each match." min:"0" max:"20" default:"0"`
	Literal         bool   `json:"literal,omitempty" jsonschema:"Pattern is plain text." default:"false" alias:"fixedStrings"`
	Multiline       bool   `json:"multiline,omitempty" jsonschema:"A match may span lines." default:"false"`
	OutputMode      string `json:"outputMode,omitempty" jsonschema:"Lines, files (newest first), or counts." enum:"content,files,count" default:"content"`
	WordMatch       bool   `json:"wordMatch,omitempty" jsonschema:"Whole words." default:"false"`
	IncludeHidden   bool   `json:"includeHidden,omitempty" jsonschema:"Names with a dot too." default:"false"`
	NoIgnore        bool   `json:"noIgnore,omitempty" jsonschema:"Also ignored files." default:"false"`
	Offset          int    `json:"offset,omitempty" jsonschema:"Results to skip." min:"0" default:"0"`
}

func (t *tools) grepTool() (tongs.Tool, error) {
	return tongs.New(tongs.Def[GrepInput, GrepOutput]{
		Spec: tongs.Spec{
			Name: "grep", Title: "Search files", Toolset: Toolset, Complex: true,
			Description: fmt.Sprintf("Search files by regular expression: up to %d matches, or maxResults (%d at most). "+
				"Ignored, hidden and binary files are left out.", t.opt.GrepMatches, t.opt.GrepMax),
			Needs: tongs.Read, Default: tongs.PreApproved,
			Hints: tongs.Hints{ReadOnly: true, Idempotent: true},
		},
		Plan: func(_ context.Context, v *tongs.View, in GrepInput) (*tongs.Plan, error) {
			if _, err := in.matcher(); err != nil {
				return nil, err
			}
			p, err := v.Files.Resolve(orDot(in.Path))
			if err != nil {
				return nil, err
			}
			free := tongs.PreApproved
			return &tongs.Plan{
				Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: p}},
				Default: &free, Kind: tongs.KindRead, Message: "Search " + show(p.String()) + " for " + show(in.Pattern),
			}, nil
		},
		Run: t.grep,
	})
}

func orDot(name string) string {
	if name == "" {
		return "."
	}
	return name
}

// matcher compiles the pattern.
func (in GrepInput) matcher() (*regex.Matcher, error) {
	m, err := regex.Compile(in.Pattern, regex.Options{
		Literal: in.Literal, Fold: in.CaseInsensitive, Word: in.WordMatch, Multiline: in.Multiline,
	})
	if e, ok := errors.AsType[*regex.SyntaxError](err); ok {
		return nil, patternError(e)
	}
	if err == nil && in.Literal && !in.Multiline && strings.Contains(in.Pattern, "\n") {
		err = tongs.Errorf(tongs.CodeInvalidArgs, "the pattern holds a line break, and lines are matched one by one; set multiline to let a match span lines")
	}
	return m, err
}

// patternError points at the offending place, and says how to search for the text itself.
func patternError(e *regex.SyntaxError) error {
	err := tongs.Errorf(tongs.CodeInvalidArgs, "the pattern is not a regular expression: %w\n%s\nset literal to search for the text as it is", e, e.Pointer())
	if quoted := regexp.QuoteMeta(e.Pattern); len(quoted) <= 200 {
		err.Message += ", or escape it: " + quoted
	}
	return err.With("position", e.At)
}

func (t *tools) grep(ctx context.Context, env *tongs.Env, in GrepInput) (out GrepOutput, err error) {
	s := &grepping{in: in, limit: t.opt.GrepMatches, most: t.opt.GrepMax, engine: t.grepper}
	if in.MaxResults > 0 {
		s.limit = min(in.MaxResults, t.opt.GrepMax)
	}
	m, err := in.matcher()
	if err != nil {
		return out, err
	}
	if s.path, err = env.Files.Resolve(orDot(in.Path)); err != nil {
		return out, err
	}
	info, err := env.Files.Stat(s.path)
	if err != nil {
		return out, err
	}
	q := s.query(m, t.opt.GrepChars)
	switch info.Type {
	case tongs.FileDirectory:
		err = s.directory(ctx, env, t, q)
	case tongs.FileRegular:
		err = s.file(ctx, env, q, info)
	default:
		err = tongs.Errorf(tongs.CodeInvalidPath, "%s is neither a directory nor a regular file", show(s.path.String()))
	}
	if err != nil {
		return out, searchError(s.path, err)
	}
	return s.output(), nil
}

// grepping is one call.
type grepping struct {
	in          GrepInput
	limit, most int
	engine      *grep.Engine
	path        tongs.Path
	// single says that path is a file.
	single bool
	res    *grep.Result
	// withheld are the files that are not for this call, closed the directories.
	withheld, closed atomic.Int64
	notes            []string
}

func (s *grepping) query(m *regex.Matcher, chars int) grep.Query {
	q := grep.Query{
		Matcher: m, Limit: s.limit, Offset: s.in.Offset, Before: s.in.Context, After: s.in.Context, Columns: true, LineChars: chars,
	}
	switch s.in.OutputMode {
	case "files":
		q.Mode = grep.Files
	case "count":
		q.Mode = grep.Count
	}
	return q
}

// file searches one file.
func (s *grepping) file(ctx context.Context, env *tongs.Env, q grep.Query, info tongs.FileInfo) error {
	f, err := env.Files.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	s.single = true
	if s.res, err = s.engine.Reader(ctx, ".", f, q); err != nil {
		if errors.Is(err, grep.ErrTooLarge) {
			return tongs.Errorf(tongs.CodeTooLarge, "%s is %w; leave multiline out, or read the part of it", show(s.path.String()), err)
		}
		return err
	}
	for i := range s.res.Files {
		s.res.Files[i].Modified = info.Modified
	}
	if s.res.Matches == 0 && s.in.Offset == 0 {
		s.suggestAlternative(func(m *regex.Matcher) (*grep.Result, error) {
			again, err := env.Files.Open(s.path)
			if err != nil {
				return nil, err
			}
			defer again.Close()
			return s.engine.Reader(ctx, ".", again, grep.Query{Matcher: m, Limit: 1})
		})
	}
	return nil
}

// directory searches what is below a directory.
func (s *grepping) directory(ctx context.Context, env *tongs.Env, t *tools, q grep.Query) error {
	var filter *globs.Filter
	if s.in.Glob != "" {
		var err error
		if filter, err = globs.NewFilter(s.in.Glob); err != nil {
			return tongs.Errorf(tongs.CodeInvalidArgs, "%w", err)
		}
	}
	dir, err := tree(env, s.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	where := grep.Tree{
		Options: walk.Options{
			Root: dir.Host, Dir: dir.Dir, Top: dir.Top, Ignore: t.ignore,
			Hidden: s.in.IncludeHidden || dotted(strings.TrimPrefix(s.in.Glob, "!")), NoIgnore: s.in.NoIgnore,
			Skip: func(rel string, isDir bool) bool { return s.skip(dir, filter, rel, isDir) },
		},
		Pick: filter.Match,
	}
	known, ok := t.known(dir, where.Hidden, where.NoIgnore)
	if s.in.Glob != "" {
		known.Pick, known.Below, known.PickKey = filter.Match, filter.Below, s.in.Glob
	}
	search := func(q grep.Query) (*grep.Result, live.Left, error) {
		if ok {
			if res, left, ok, err := t.opt.Live.Search(ctx, s.engine, known, q); ok {
				return res, left, err
			}
		}
		res, err := s.engine.Search(ctx, where, q)
		return res, live.Left{}, err
	}
	var left live.Left
	if s.res, left, err = search(q); err != nil {
		return err
	}
	s.closed.Add(int64(left.Dirs))
	s.withheld.Add(int64(left.Files))
	if s.res.Examined == 0 && s.in.Glob != "" {
		s.notes = append(s.notes, fmt.Sprintf("no file matches the glob %s, which is relative to %s", show(s.in.Glob), show(s.path.String())))
		return nil
	}
	if s.res.Matches == 0 && s.in.Offset == 0 {
		where.Skip = func(rel string, isDir bool) bool { return isDir && !filter.Below(rel) || dir.Skip(rel, isDir) }
		s.suggestAlternative(func(m *regex.Matcher) (*grep.Result, error) {
			res, _, err := search(grep.Query{Matcher: m, Limit: 1})
			return res, err
		})
	}
	return nil
}

// skip keeps the walk out of what cannot be picked, and of what is not for this call, which is counted.
func (s *grepping) skip(dir *tongs.Tree, filter *globs.Filter, rel string, isDir bool) bool {
	if isDir && !filter.Below(rel) {
		return true
	}
	if !dir.Skip(rel, isDir) {
		return false
	}
	if isDir {
		s.closed.Add(1)
	} else if filter.Match(rel) {
		s.withheld.Add(1)
	}
	return true
}

// suggestAlternative looks, where nothing was found, for what the pattern could have meant: its text, or the same in another case.
// It is a courtesy: what fails says nothing.
func (s *grepping) suggestAlternative(search func(*regex.Matcher) (*grep.Result, error)) {
	opt := regex.Options{Fold: true, Word: s.in.WordMatch, Multiline: s.in.Multiline}
	text, pattern := regexp.QuoteMeta(s.in.Pattern), s.in.Pattern
	if s.in.Literal {
		pattern = text
	}
	if s.in.CaseInsensitive && pattern == text {
		return
	}
	m, err := regex.Compile("(?:"+pattern+")|(?:"+text+")", opt)
	if err != nil {
		return
	}
	res, err := search(m)
	if err != nil || len(res.Files) == 0 || len(res.Files[0].Lines) == 0 {
		return
	}
	f := res.Files[0]
	found := fmt.Sprintf("%s:%d", show(s.spell(f.Path)), f.Lines[0].Number)
	for _, try := range []struct {
		pattern string
		opt     regex.Options
		advice  string
	}{
		{s.in.Pattern, regex.Options{Literal: true}, "as plain text it does, at %s; set literal"},
		{pattern, regex.Options{Fold: true}, "without regard to case it does, at %s; set caseInsensitive"},
		{s.in.Pattern, regex.Options{Literal: true, Fold: true}, "as plain text and without regard to case it does, at %s; set literal and caseInsensitive"},
	} {
		try.opt.Word, try.opt.Multiline = opt.Word, opt.Multiline
		if m, err := regex.Compile(try.pattern, try.opt); err == nil && m.Match([]byte(f.Lines[0].Text)) {
			s.notes = append(s.notes, fmt.Sprintf(try.advice, found))
			return
		}
	}
}

// spell returns the path of what is at rel as a call would spell it.
func (s *grepping) spell(rel string) string {
	if s.single || rel == "." {
		return s.path.String()
	}
	return s.path.Join(rel).String()
}
