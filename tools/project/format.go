package project

import (
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
)

const (
	// maxFormat is how many files one call formats, maxDiffs of how many a check shows the difference.
	maxFormat = 2000
	maxDiffs  = 10
	maxDepth  = 40
)

// FormatInput are the arguments of format_code.
type FormatInput struct {
	Paths     []string `json:"paths,omitempty" jsonschema:"Files and directories of one project, relative to the working directory; default all of it." maxItems:"200" alias:"path,files"`
	Check     bool     `json:"check,omitempty" jsonschema:"Change nothing; tell what would change, with the diff."`
	Formatter string   `json:"formatter,omitempty" jsonschema:"Default: what the project uses." enum:"gofmt,gofumpt,prettier,black,rustfmt,clang-format,shfmt"`
	Timeout   int      `json:"timeout,omitempty" jsonschema:"Seconds until killed." min:"1"`
}

// FormatOutput is the value of format_code.
type FormatOutput struct {
	Formatters []string `json:"formatters"`
	Files      []string `json:"files" jsonschema:"Those that were not formatted."`
	Check      bool     `json:"check" jsonschema:"True where nothing was changed."`
	Diff       string   `json:"diff,omitempty" jsonschema:"What would change; of the first 10 files."`
	Duration   int64    `json:"duration" jsonschema:"Milliseconds."`

	remarks []string
}

// Present tells which files were formatted.
func (o *FormatOutput) Present(r *tongs.Result) {
	names := strings.Join(o.Formatters, ", ")
	text := fmt.Sprintf("%s: everything is formatted", names)
	switch n := len(o.Files); {
	case n > 0 && o.Check:
		text = fmt.Sprintf("%s: %d %s not formatted: %s", names, n, plural(n, "file is", "files are"), strings.Join(o.Files, ", "))
	case n > 0:
		text = fmt.Sprintf("%s: formatted %d %s: %s", names, n, plural(n, "file", "files"), strings.Join(o.Files, ", "))
	}
	r.Title = programoutput.Short(text, 80)
	if o.Diff != "" {
		text += "\n\n" + strings.TrimRight(o.Diff, "\n")
	}
	r.Content = programoutput.Remark(text, o.remarks...)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

type format struct{ opt Options }

func newFormat(opt Options) (tongs.Tool, error) {
	input, aliases, err := tongs.SchemaOf[FormatInput]()
	if err != nil {
		return nil, err
	}
	opt.bound(input)
	t := &format{opt}
	return tongs.New(tongs.Def[FormatInput, FormatOutput]{
		Spec: tongs.Spec{
			Input: input, ArgAliases: aliases,
			Name: "format_code", Title: "Format code", Toolset: Toolset, Complex: true, Extra: true,
			Description: "Formats files with the formatters that the project uses. With check it only shows the diff.",
			Needs:       tongs.Execute | tongs.Read, Optional: tongs.Write | tongs.Network,
			Hints: tongs.Hints{Idempotent: true},
		},
		Plan: t.plan, Run: t.run,
	})
}

// formatJob is a formatter and what it is to format, as a program in the root of the project spells it.
type formatJob struct {
	*formatter
	argv  []string
	files []string
}

// formatPlan is what a call formats.
type formatPlan struct {
	*place
	jobs []formatJob
}

// prepare finds the formatters of the project and their files.
func (t *format) prepare(files tongs.FileView, in FormatInput) (*formatPlan, error) {
	spelled := in.Paths
	if len(spelled) == 0 {
		spelled = []string{"."}
	}
	var used []*formatter
	p, err := find(files, spelled[0], func(p *place) bool {
		used = nil
		for i := range formatters {
			if f := &formatters[i]; in.Formatter == f.name || in.Formatter == "" && f.marks(p) {
				used = append(used, f)
			}
		}
		return len(used) > 0
	})
	if err != nil {
		return nil, err
	}
	if len(used) == 0 {
		return nil, tongs.Errorf(tongs.CodeConfigError, "no formatter is configured for %s: there is no go.mod, Cargo.toml, .prettierrc, .clang-format, "+
			"pyproject.toml with [tool.black], or shell script; name one with formatter", p.target)
	}
	targets, err := p.targets(spelled)
	if err != nil {
		return nil, err
	}
	plan := &formatPlan{place: p}
	for _, f := range used {
		job := formatJob{formatter: f, argv: f.program(p)}
		if job.files, err = p.formatted(f, targets); err != nil {
			return nil, err
		}
		if len(job.files) == 0 {
			continue
		}
		if err := t.opt.installed(job.argv[0], f.install); err != nil {
			return nil, err
		}
		plan.jobs = append(plan.jobs, job)
	}
	if len(plan.jobs) == 0 {
		return nil, tongs.Errorf(tongs.CodeNoMatch, "there is nothing that %s formats in %s", names(used), strings.Join(spelled, ", "))
	}
	return plan, p.undecided()
}

func names(list []*formatter) string {
	var names []string
	for _, f := range list {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

// targets are the files and directories that are meant, all of which are in the project.
func (p *place) targets(spelled []string) (list []tongs.FileInfo, err error) {
	for _, s := range spelled {
		at, err := p.files.Resolve(s)
		if err != nil {
			return nil, err
		}
		if !p.root.Contains(at) {
			return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%s is not in the project %s; format one project at a time", at, p.root)
		}
		info, err := p.files.Stat(at)
		if err != nil {
			return nil, err
		}
		info.Path = at
		list = append(list, info)
	}
	return list, nil
}

// notOurs are directories whose files are nobody's to format.
var notOurs = []string{"node_modules", "vendor", "testdata", "third_party", "target", "build", "dist", "venv", "__pycache__"}

// formatted are the files among the targets that a formatter formats, or the directories where it looks for itself.
func (p *place) formatted(f *formatter, targets []tongs.FileInfo) (list []string, err error) {
	add := func(at tongs.Path) error {
		if list = append(list, below(p.root, at)); len(list) > maxFormat {
			return tongs.Errorf(tongs.CodeTooLarge, "there are more than %d files to format; name fewer with paths", maxFormat)
		}
		return nil
	}
	for _, target := range targets {
		found := false
		walk := func(at tongs.Path) error {
			if found = true; f.whole {
				return nil
			}
			return add(at)
		}
		switch {
		case target.Type == tongs.FileDirectory:
			if err := p.walk(target.Path, 0, f, walk); err != nil {
				return nil, err
			}
			if f.whole && found {
				err = add(target.Path)
			}
		case f.formats(target.Path.Rel):
			err = add(target.Path)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// walk calls each for the files of a formatter below a directory.
func (p *place) walk(dir tongs.Path, depth int, f *formatter, each func(tongs.Path) error) error {
	for info, err := range p.files.ReadDir(dir) {
		if err != nil {
			p.noted(err)
			return err
		}
		name := path.Base(info.Path.Rel)
		switch {
		case info.Type == tongs.FileDirectory && depth < maxDepth && !strings.HasPrefix(name, ".") && !slices.Contains(notOurs, name):
			err = p.walk(info.Path, depth+1, f, each)
		case info.Type == tongs.FileRegular && f.formats(name):
			err = each(info.Path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *formatPlan) effects(check bool) []tongs.Effect {
	list := []tongs.Effect{p.reads()}
	for _, j := range p.jobs {
		list = append(list, p.execute(j.lists()))
		if !check {
			list = append(list, p.execute(j.writes()))
		}
	}
	return list
}

func (j formatJob) lists() program {
	return program{argv: slices.Concat(j.argv, j.list, j.files), readOnly: true}
}

func (j formatJob) writes() program { return program{argv: slices.Concat(j.argv, j.write, j.files)} }

func (t *format) plan(_ context.Context, v *tongs.View, in FormatInput) (*tongs.Plan, error) {
	p, err := t.prepare(v.Files, in)
	if err != nil {
		return nil, err
	}
	var programs []program
	var used []*formatter
	for _, j := range p.jobs {
		used = append(used, j.formatter)
		if in.Check {
			programs = append(programs, j.lists())
		} else {
			programs = append(programs, j.writes())
		}
	}
	message := "Format " + strings.Join(append([]string{p.root.String()}, in.Paths...)[min(len(in.Paths), 1):], ", ") + " with " + names(used)
	if in.Check {
		message = "Check the format of " + strings.TrimPrefix(message, "Format ")
	}
	return &tongs.Plan{
		Effects: p.effects(in.Check), Kind: tongs.KindExecute, Contained: true, Message: programoutput.Short(message, 120),
		Preview: func(context.Context) (string, error) { return previewPrograms(p.place, programs), nil },
	}, nil
}

func (t *format) run(ctx context.Context, env *tongs.Env, in FormatInput) (out FormatOutput, err error) {
	p, err := t.prepare(env.Files, in)
	if err != nil {
		return FormatOutput{}, err
	}
	s := t.opt.session(env, p.place, p.effects(in.Check), in.Timeout)
	out.Check = in.Check
	for _, j := range p.jobs {
		out.Formatters = append(out.Formatters, j.name)
		files, err := p.unformatted(ctx, s, j)
		if err != nil {
			return out, err
		}
		for _, file := range files {
			out.Files = append(out.Files, p.spelled(file))
			if in.Check && len(out.Files) <= maxDiffs {
				diff, err := p.diff(ctx, s, j, file)
				if err != nil {
					return out, err
				}
				out.Diff += diff
			}
		}
		if len(files) > 0 && !in.Check {
			if err := s.finished(ctx, j, j.writes()); err != nil {
				return out, err
			}
		}
	}
	out.Duration, out.remarks = s.took.Milliseconds(), s.remarks()
	return out, nil
}

// unformatted are the files that a formatter would change.
func (p *formatPlan) unformatted(ctx context.Context, s *session, j formatJob) (files []string, err error) {
	each := func(line string) {
		if name := j.listed(line); name != "" && len(files) < maxFormat && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	out, errs := &lines{each: each}, &lines{each: each}
	prog := j.lists()
	prog.stdout, prog.stderr = out, s.env.Output("stderr")
	if j.listed(wouldBe) == "" { // its list is among its messages
		prog.stderr = io.MultiWriter(s.env.Output("stderr"), errs)
	}
	err = s.finished(ctx, j, prog)
	out.end()
	errs.end()
	return files, err
}

// wouldBe is a line that is the name of a file and nothing else.
const wouldBe = "a.txt"

// finished runs a formatter, and fails where it could not do its work.
func (s *session) finished(ctx context.Context, j formatJob, prog program) error {
	if err := s.run(ctx, prog); err != nil {
		return err
	}
	if !j.failed(s.exit.Code) {
		return nil
	}
	return tongs.Errorf(tongs.CodeExecutionError, "%s failed with exit code %d, and formatted nothing: %s",
		j.name, s.exit.Code, tail(s.env.Output("stderr").Excerpt(), maxMessage))
}

// diff is what formatting would change in a file.
func (p *formatPlan) diff(ctx context.Context, s *session, j formatJob, file string) (string, error) {
	if filepath.IsAbs(file) {
		if rel, err := filepath.Rel(p.host("."), file); err == nil {
			file = filepath.ToSlash(rel)
		}
	}
	file = strings.TrimPrefix(file, "./")
	before := p.read(file)
	if err := p.undecided(); err != nil {
		return "", err
	}
	options, input := j.print("./" + file)
	prog := program{argv: slices.Concat(j.argv, options), readOnly: true}
	if input {
		prog.input = before
	}
	after, err := s.output(ctx, prog, maxConfig)
	if tongs.CodeOf(err) == tongs.CodeTooLarge || err == nil && (s.exit.Code != 0 || before == "") {
		return "", nil
	}
	name := p.spelled(file)
	return udiff.Unified("a/"+name, "b/"+name, before, after), err
}
