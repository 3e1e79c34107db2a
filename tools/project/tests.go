package project

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
)

// maxShown is how much of the output is shown where it has to speak for itself, in bytes.
const maxShown = 8 << 10

// TestInput are the arguments of run_tests.
type TestInput struct {
	Path    string `json:"path,omitempty" jsonschema:"Project, or a directory or test file in it, relative to the working directory." alias:"dir,directory,cwd"`
	Runner  string `json:"runner,omitempty" jsonschema:"Default: what the project uses." enum:"go,cargo,node,jest,vitest,script,python,ctest,make"`
	Filter  string `json:"filter,omitempty" jsonschema:"Only tests whose name matches; a pattern of the runner." maxLength:"1000" alias:"pattern,name"`
	Changed bool   `json:"changed,omitempty" jsonschema:"Only tests that uncommitted changes can affect (go, jest, vitest)."`
	Report  string `json:"report,omitempty" jsonschema:"JUnit file that the tests write, relative to the project (script, make)."`
	Timeout int    `json:"timeout,omitempty" jsonschema:"Seconds until killed." min:"1"`
}

// TestOutput is the value of run_tests.
type TestOutput struct {
	Runner   string    `json:"runner"`
	Command  []string  `json:"command"`
	Passed   int       `json:"passed"`
	Failed   int       `json:"failed"`
	Skipped  int       `json:"skipped"`
	Counted  bool      `json:"counted" jsonschema:"False where the runner reports no single tests: then the exit code tells."`
	Failures []Failure `json:"failures" jsonschema:"At most 50."`
	ExitCode int       `json:"exitCode"`
	Duration int64     `json:"duration" jsonschema:"Milliseconds."`
	TimedOut bool      `json:"timedOut"`

	output  string
	remarks []string
}

// Present tells the figures, then each failure.
func (o *TestOutput) Present(r *tongs.Result) {
	counts := fmt.Sprintf("%d passed, %d failed, %d skipped", o.Passed, o.Failed, o.Skipped)
	switch {
	case !o.Counted && o.TimedOut:
		counts = "killed before a test ended"
	case !o.Counted && o.ExitCode == 0:
		counts = "ended well"
	case !o.Counted:
		counts = fmt.Sprintf("exit code %d", o.ExitCode)
	}
	r.Title = programoutput.Short(o.Runner+": "+counts, 80)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in %.1f s\n", o.Runner, counts, float64(o.Duration)/1000)
	for _, f := range o.Failures {
		b.WriteString(f.String() + "\n")
	}
	if more := o.Failed - len(o.Failures); more > 0 && o.Counted {
		fmt.Fprintf(&b, "and %d more failures\n", more)
	}
	if o.output != "" {
		b.WriteString("\n" + o.output + "\n")
	}
	r.Content = programoutput.Remark(b.String(), o.remarks...)
	r.SetMeta("exitCode", o.ExitCode)
}

// testPlan is how tests are run.
type testPlan struct {
	runner string
	*place
	// before are programs that must succeed first; main runs the tests.
	before []program
	main   program
	// narrow makes main run only what changes can affect. It reports whether there is anything.
	narrow func(ctx context.Context, s *session, main *program) (bool, error)
	// looks are the programs by which narrow finds that out.
	looks []program
	// parse returns what takes the output of main, and what is called in the end. Nil leaves the output alone.
	parse func(r *report, out io.Writer) (stdout, stderr func(line string), end func() error)
	// document says that stdout is one document, read at the end.
	document func(r *report, text string) error
	// none are exit codes that mean that there was no test.
	none []int
}

// runner is a way to run tests.
type runner struct {
	name  string
	marks func(*place) bool
	plan  func(Options, *place, TestInput) (*testPlan, error)
}

// runners are all that are known, those first whose reports say most.
var runners = []runner{
	{"go", func(p *place) bool { return p.has("go.mod") }, planGo},
	{"cargo", func(p *place) bool { return p.has("Cargo.toml") }, planCargo},
	{"vitest", func(p *place) bool { return p.jsRunner() == "vitest" }, planVitest},
	{"jest", func(p *place) bool { return p.jsRunner() == "jest" }, planJest},
	{"node", func(p *place) bool { return p.jsRunner() == "node" }, planNode},
	{"script", func(p *place) bool { return p.jsRunner() == "script" }, planScript},
	{"python", (*place).isPython, planPython},
	{"ctest", func(p *place) bool { return p.has("CMakeLists.txt") }, planCTest},
	{"make", func(p *place) bool { return p.makeTarget() != "" }, planMake},
}

type tests struct{ opt Options }

func newTests(opt Options) (tongs.Tool, error) {
	input, aliases, err := tongs.SchemaOf[TestInput]()
	if err != nil {
		return nil, err
	}
	opt.bound(input)
	t := &tests{opt}
	return tongs.New(tongs.Def[TestInput, TestOutput]{
		Spec: tongs.Spec{
			Input: input, ArgAliases: aliases,
			Name: "run_tests", Title: "Run tests", Toolset: Toolset, Complex: true, Extra: true,
			Description: "Runs the project's tests in a sandbox with the runner it uses, and returns counts and each failure's name, file, line and message.",
			Needs:       tongs.Execute | tongs.Read, Optional: tongs.Write | tongs.Network,
			Hints: tongs.Hints{OpenWorld: true, Destructive: true},
		},
		Plan: t.plan, Run: t.run,
	})
}

// prepare finds the runner and how it is started.
func (t *tests) prepare(files tongs.FileView, in TestInput) (*testPlan, error) {
	at := -1
	p, err := find(files, in.Path, func(p *place) bool {
		for i, r := range runners {
			if (in.Runner == "" || in.Runner == r.name) && r.marks(p) {
				at = i
				return true
			}
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	if at < 0 && (in.Runner == "" || in.Runner == "python") && p.hasPython() {
		at = slices.IndexFunc(runners, func(r runner) bool { return r.name == "python" })
	}
	if at < 0 {
		return nil, noRunner(p, in)
	}
	plan, err := runners[at].plan(t.opt, p, in)
	if err != nil {
		return nil, err
	}
	if in.Changed && plan.narrow == nil {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs,
			"%s cannot tell which tests a change affects; leave out changed, or name what to run with path or filter", plan.runner)
	}
	if in.Report != "" && !slices.Contains([]string{"script", "make"}, runners[at].name) {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%s is read without a report file; leave out report", plan.runner)
	}
	plan.place = p
	return plan, p.undecided()
}

func noRunner(p *place, in TestInput) error {
	if in.Runner != "" {
		return tongs.Errorf(tongs.CodeConfigError, "%s is no project that is tested with %s, nor is a directory around it", p.target, in.Runner)
	}
	return tongs.Errorf(tongs.CodeConfigError, "%s has no tests that this tool can run: there is no go.mod, Cargo.toml, package.json with a test script, "+
		"Python test, CMakeLists.txt or Makefile with a target test or check; name the project with path, or use shell", p.target)
}

// effects are what the call would do. Which tests a change affects is found out when it runs: all of them are planned.
func (p *testPlan) effects(changed bool) []tongs.Effect {
	list := []tongs.Effect{p.reads()}
	programs := append(slices.Clone(p.before), p.main)
	if changed {
		programs = append(programs, p.looks...)
	}
	for _, prog := range programs {
		list = append(list, p.execute(prog))
	}
	return list
}

func (t *tests) plan(_ context.Context, v *tongs.View, in TestInput) (*tongs.Plan, error) {
	p, err := t.prepare(v.Files, in)
	if err != nil {
		return nil, err
	}
	where := ""
	if p.root.Rel != "." || p.root.Root != tongs.WorkspaceRoot {
		where = " in " + p.root.String()
	}
	return &tongs.Plan{
		Effects: p.effects(in.Changed), Kind: tongs.KindExecute, Contained: true,
		Message: "Run the tests" + where + " with " + p.runner,
		Preview: func(context.Context) (string, error) {
			return previewPrograms(p.place, append(slices.Clone(p.before), p.main)), nil
		},
	}, nil
}

// previewPrograms shows a person what would run.
func previewPrograms(p *place, programs []program) string {
	var b strings.Builder
	if p.root.Rel != "." || p.root.Root != tongs.WorkspaceRoot {
		fmt.Fprintf(&b, "in %s\n", programoutput.Plain(p.root.String()))
	}
	for _, prog := range programs {
		b.WriteString("$ " + programoutput.Plain(shown(prog.words())) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func (t *tests) run(ctx context.Context, env *tongs.Env, in TestInput) (TestOutput, error) {
	p, err := t.prepare(env.Files, in)
	if err != nil {
		return TestOutput{}, err
	}
	s := t.opt.session(env, p.place, p.effects(in.Changed), in.Timeout)
	r := &report{update: env.Update}
	out := TestOutput{Runner: p.runner}
	for _, before := range p.before {
		out.Command = before.words()
		if err := s.run(ctx, before); err != nil || s.exit.Code != 0 {
			return p.finish(s, r, out, err), err
		}
	}
	main := p.main
	if in.Changed {
		if some, err := p.narrow(ctx, s, &main); err != nil || !some {
			out.Counted, out.remarks = true, []string{"no test is affected by uncommitted changes"}
			return out, err
		}
	}
	out.Command = main.words()
	err = p.read(ctx, s, r, main)
	if err == nil && in.Report != "" {
		err = p.readReport(ctx, s, r, in.Report)
	}
	return p.finish(s, r, out, err), err
}

// read runs the tests and reads what they report.
func (p *testPlan) read(ctx context.Context, s *session, r *report, main program) error {
	if p.document != nil {
		doc := &capped{limit: maxDocument}
		main.stdout = doc
		if err := s.run(ctx, main); err != nil {
			return err
		}
		return p.document(r, doc.String())
	}
	if p.parse == nil {
		return s.run(ctx, main)
	}
	stdout, stderr, end := p.parse(r, s.env.Output("stdout"))
	out := &lines{each: stdout}
	main.stdout = out
	if stderr != nil {
		errs := &lines{each: stderr}
		main.stderr = io.MultiWriter(s.env.Output("stderr"), errs)
		defer errs.end()
	}
	err := s.run(ctx, main)
	out.end()
	if end != nil {
		return cmp.Or(end(), err)
	}
	return err
}

// finish is the value of a call, also of one that failed.
func (p *testPlan) finish(s *session, r *report, out TestOutput, err error) TestOutput {
	r.mu.Lock()
	defer r.mu.Unlock()
	out.Passed, out.Failed, out.Skipped, out.Counted = r.passed, r.failed, r.skipped, r.counted()
	out.Failures, out.Runner = r.failures, p.runner
	for i := range out.Failures {
		out.Failures[i].File = p.spelled(out.Failures[i].File)
	}
	out.Duration = s.took.Milliseconds()
	out.remarks = append(out.remarks, s.remarks()...)
	if s.exit == nil {
		return out
	}
	out.ExitCode, out.TimedOut = s.exit.Code, s.exit.TimedOut
	if out.ExitCode == 0 || len(out.Failures) > 0 {
		if !out.Counted && out.ExitCode == 0 {
			out.output = tail(s.env.Output("stdout").Excerpt(), maxShown)
		}
		return out
	}
	if slices.Contains(p.none, out.ExitCode) && !out.Counted && err == nil {
		out.Counted, out.remarks = true, append(out.remarks, "no test was found")
	}
	out.output = strings.TrimSpace(tail(s.env.Output("stdout").Excerpt(), maxShown) + "\n" + tail(s.env.Output("stderr").Excerpt(), maxShown))
	return out
}

// spelled is a file as a call names it: relative to the workspace where it is in a root.
func (p *place) spelled(file string) string {
	if file == "" {
		return ""
	}
	file = strings.TrimPrefix(file, "file://")
	host := filepath.FromSlash(file)
	if !filepath.IsAbs(host) {
		host = filepath.Join(p.files.Host(p.root), host)
	}
	rel, err := filepath.Rel(p.files.Host(p.root), host)
	if err != nil || !filepath.IsLocal(rel) {
		return cmp.Or(filepath.ToSlash(file), host)
	}
	return tongs.Path{Root: p.root.Root, Rel: filepath.ToSlash(filepath.Join(p.root.Rel, rel))}.String()
}

// readReport reads the JUnit file that the tests wrote, where they ran.
func (p *testPlan) readReport(ctx context.Context, s *session, r *report, name string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return tongs.Errorf(tongs.CodeInvalidPath, "report is %q: name a file in the project, relative to it", name)
	}
	tests := s.exit
	text, err := s.output(ctx, program{argv: []string{"cat", "./" + name}}, maxDocument)
	code := 0
	if s.exit != nil {
		code = s.exit.Code
	}
	s.exit = tests
	switch {
	case err != nil:
		return err
	case code != 0:
		return tongs.Errorf(tongs.CodeFileNotFound, "the tests wrote no report %s", name)
	}
	return readJUnit(r, text)
}
