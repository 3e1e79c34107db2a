package search

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/search/rank"
	"github.com/tongs-ai/tongs/internal/search/symbols"
)

// CodeOptions are the limits of search_code. A zero field means the default that its comment names.
type CodeOptions struct {
	// Results is how many places search_code returns by default: 20. Max is the most: 100.
	Results, Max int
	// FileBytes is the size up to which a file is looked at: 1 MiB. What is larger is data, or generated.
	FileBytes int64
	// Bytes is how much memory the words of files may take: 256 MiB. What does not fit is not looked at, which is said.
	Bytes int64
	// Time is how long a call may look at files that are not known yet: 15 seconds. The next call goes on from there.
	Time time.Duration
}

func (o CodeOptions) withDefaults() CodeOptions {
	set(&o.Results, 20)
	set(&o.Max, max(100, o.Results))
	if o.FileBytes <= 0 {
		o.FileBytes = 1 << 20
	}
	if o.Bytes <= 0 {
		o.Bytes = 256 << 20
	}
	if o.Time <= 0 {
		o.Time = 15 * time.Second
	}
	return o
}

// CodeInput are the arguments of search_code.
type CodeInput struct {
	Query string `json:"query" jsonschema:"Such as: where is the token checked, parseURL, Server.Shutdown." minLength:"1" maxLength:"1000" alias:"q,question,search,pattern,symbol"`
	Path  string `json:"path,omitempty" jsonschema:"Where, in the workspace." default:"." alias:"directory,dir,folder,file"`
	Limit int    `json:"limit,omitempty" jsonschema:"Most results." min:"1" alias:"maxResults"`
}

func (t *tools) codeTool() (tongs.Tool, error) {
	t.opt.Code = t.opt.Code.withDefaults()
	return tongs.New(tongs.Def[CodeInput, CodeOutput]{
		Spec: tongs.Spec{
			Name: "search_code", Title: "Search code", Toolset: Toolset, Complex: true,
			Description: fmt.Sprintf("Find where something is defined or handled, by words or names, best first: "+
				"up to %d, or limit (%d at most). grep finds exact text.", t.opt.Code.Results, t.opt.Code.Max),
			Needs: tongs.Read, Default: tongs.PreApproved,
			Hints: tongs.Hints{ReadOnly: true, Idempotent: true},
		},
		Plan: func(_ context.Context, v *tongs.View, in CodeInput) (*tongs.Plan, error) {
			if rank.Parse(in.Query).Empty() {
				return nil, tongs.Errorf(tongs.CodeInvalidArgs, "the query %s holds no word of two letters or more; grep finds signs", show(in.Query))
			}
			p, err := v.Files.Resolve(orDot(in.Path))
			if err != nil {
				return nil, err
			}
			free := tongs.PreApproved
			return &tongs.Plan{
				Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: p}},
				Default: &free, Kind: tongs.KindRead, Message: "Search the code in " + show(p.String()) + " for " + show(in.Query),
			}, nil
		},
		Run: t.searchCode,
	})
}

func (t *tools) searchCode(ctx context.Context, env *tongs.Env, in CodeInput) (out CodeOutput, err error) {
	s := &coding{in: in, opt: t.opt.Code, limit: t.opt.Code.Results, files: env.Files, query: rank.Parse(in.Query)}
	if in.Limit > 0 {
		s.limit = min(in.Limit, s.opt.Max)
	}
	if s.path, err = env.Files.Resolve(orDot(in.Path)); err != nil {
		return out, err
	}
	info, err := env.Files.Stat(s.path)
	if err != nil {
		return out, err
	}
	var r *rank.Ranking
	switch info.Type {
	case tongs.FileDirectory:
		r, err = s.directory(ctx, env, t)
	case tongs.FileRegular:
		r, err = s.file()
	default:
		err = tongs.Errorf(tongs.CodeInvalidPath, "%s is neither a directory nor a regular file", show(s.path.String()))
	}
	if err != nil {
		return out, searchError(s.path, err)
	}
	if err := s.places(ctx, r); err != nil {
		return out, err
	}
	return s.output(r), nil
}

// coding is one call.
type coding struct {
	in    CodeInput
	opt   CodeOptions
	limit int
	files tongs.Files
	path  tongs.Path
	query *rank.Query
	// single says that path is a file, prefix is where it is below the root that the index is of.
	single bool
	prefix string

	found []codePlace
	// looked is how many files were looked at, others those of them that have none of the words. large are too large,
	// unread could not be read, left were not looked at for want of time or memory.
	looked, others, large, unread, left int
	withheld, closed                    atomic.Int64
}

// codePlace is a place, with the lines that are there now.
type codePlace struct {
	rank.Place
	path          string
	text          string
	before, after []string
}

// file searches one file.
func (s *coding) file() (*rank.Ranking, error) {
	s.single, s.looked = true, 1
	text, err := s.read(s.path, 16*s.opt.FileBytes)
	if err != nil {
		return nil, err
	}
	x := rank.New()
	x.Add(rank.Read(s.path.Rel, text, symbols.In(s.path.Rel, text)))
	return x.Search(s.query, rank.Scope{}), nil
}

// read returns what is in a file now.
func (s *coding) read(p tongs.Path, most int64) ([]byte, error) {
	f, err := s.files.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, tongs.Errorf(tongs.CodeExecutionError, "%s could not be read: %w", show(p.String()), err)
	case int64(len(text)) > most:
		return nil, tongs.Errorf(tongs.CodeTooLarge, "%s is larger than %d bytes; grep searches it", show(p.String()), most)
	case binary(text):
		return nil, tongs.Errorf(tongs.CodeInvalidPath, "%s is binary; there is no code in it to search", show(p.String()))
	}
	return text, nil
}

// binary reports whether a file does not hold text.
func binary(text []byte) bool {
	return slices.Contains(text[:min(len(text), 8000)], 0)
}

// spell returns the path of a file of the ranking.
func (s *coding) spell(rel string) tongs.Path {
	if s.single {
		return s.path
	}
	return s.path.Join(strings.TrimPrefix(rel, s.prefix))
}

// places reads the best files as they are now, one after the other, and finds the places in them, several at a time.
func (s *coding) places(ctx context.Context, r *rank.Ranking) error {
	most := s.opt.FileBytes
	if s.single {
		most *= 16
	}
	found := make([][]codePlace, len(r.Files))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for i, f := range r.Files {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		p := s.spell(f.Path)
		text, err := s.read(p, most)
		if err != nil { // it is gone, or became something else
			<-slots
			continue
		}
		group.Go(func() {
			found[i] = placesIn(r, f, p, text)
			<-slots
		})
	}
	group.Wait()
	s.found = slices.Concat(found...)
	slices.SortStableFunc(s.found, func(a, b codePlace) int { return cmp.Compare(b.Score, a.Score) })
	return context.Cause(ctx)
}

// placesIn returns the places in a file.
func placesIn(r *rank.Ranking, f rank.File, p tongs.Path, text []byte) (found []codePlace) {
	lines := &lineReader{text: text}
	for _, at := range r.Places(f, text, symbols.In(f.Path, text)) {
		place := codePlace{Place: at, path: p.String(), text: lines.line(at.Line)}
		if at.Definition == nil {
			place.linesAround(lines)
		}
		found = append(found, place)
	}
	return found
}

// linesAround takes up the lines beside a place.
func (p *codePlace) linesAround(lines *lineReader) {
	if text := lines.line(p.Line - 1); strings.TrimSpace(text) != "" {
		p.before = []string{text}
	}
	if text := lines.line(p.Line + 1); strings.TrimSpace(text) != "" {
		p.after = []string{text}
	}
}

// choose returns the places to show: definitions, then lines that are not in what is shown already.
func (s *coding) choose() (defs, lines []codePlace, more int) {
	perFile := map[string]int{}
	taken := map[string]bool{}
	room := max(1, s.limit*2/3)
	var spare []codePlace
	total := 0
	for _, p := range s.found {
		if p.Definition == nil {
			continue
		}
		if total++; total > 1 && p.Score < 0.2*s.found[0].Score && len(defs) > 0 {
			continue
		}
		if len(defs) >= room || perFile[p.path] >= 6 && !s.single {
			spare = append(spare, p)
			continue
		}
		perFile[p.path]++
		defs = append(defs, p)
		for n := p.Definition.Doc; n <= p.Line; n++ {
			taken[fmt.Sprint(p.path, n)] = true
		}
	}
	clear(perFile)
	textual := 0
	for _, p := range s.found {
		if p.Definition != nil || taken[fmt.Sprint(p.path, p.Line)] {
			continue
		}
		if textual++; len(defs)+len(lines) >= s.limit || perFile[p.path] >= 2 && !s.single {
			continue
		}
		perFile[p.path]++
		lines = append(lines, p)
	}
	for len(spare) > 0 && len(defs)+len(lines) < s.limit {
		defs, spare = append(defs, spare[0]), spare[1:]
	}
	return defs, lines, total + textual - len(defs) - len(lines)
}
