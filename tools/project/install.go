package project

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
)

// InstallInput are the arguments of install_package.
type InstallInput struct {
	Packages []string `json:"packages" jsonschema:"Names in the registry, each with @version where it matters." minItems:"1" maxItems:"20" alias:"package,name,names"`
	Path     string   `json:"path,omitempty" jsonschema:"Project, relative to the working directory." alias:"dir,directory,cwd"`
	Manager  string   `json:"manager,omitempty" jsonschema:"Default: what the project uses." enum:"npm,pnpm,yarn,pip,go,cargo"`
	Dev      bool     `json:"dev,omitempty" jsonschema:"As a dependency for development only (npm, pnpm, yarn, cargo)."`
	Scripts  bool     `json:"scripts,omitempty" jsonschema:"Also run the packages' own install scripts; a person is asked about each."`
	Timeout  int      `json:"timeout,omitempty" jsonschema:"Seconds until killed." min:"1"`
}

// InstallOutput is the value of install_package.
type InstallOutput struct {
	Manager   string    `json:"manager"`
	Command   []string  `json:"command"`
	Registry  []string  `json:"registry"`
	Installed []Package `json:"installed" jsonschema:"Packages that came to the project, at most 200."`
	Scripts   []Script  `json:"scripts" jsonschema:"Install scripts of these packages."`
	Ran       bool      `json:"ran" jsonschema:"Whether these scripts were run."`
	Duration  int64     `json:"duration" jsonschema:"Milliseconds."`

	done    bool
	remarks []string
}

// Script is code that a package runs when it is installed.
type Script struct {
	Package string `json:"package"`
	Event   string `json:"event"`
	Command string `json:"command"`
}

func (s Script) String() string { return s.Package + " " + s.Event + ": " + s.Command }

// maxPackages is how many packages and scripts are told one by one.
const maxPackages = 200

// Present tells what was installed, and which scripts were not run.
func (o *InstallOutput) Present(r *tongs.Result) {
	var names []string
	for _, p := range o.Installed {
		names = append(names, p.String())
	}
	text := o.Manager + " installed " + strings.Join(names, ", ")
	switch {
	case !o.done:
		text = o.Manager + " installed nothing"
	case len(names) == 0:
		text = o.Manager + " is done; nothing new was needed"
	}
	r.Title = programoutput.Short(text, 80)
	for _, s := range o.Scripts {
		if o.Ran {
			text += "\nran " + programoutput.Plain(s.String())
		} else {
			text += "\nnot run: " + programoutput.Plain(s.String())
		}
	}
	if len(o.Scripts) > 0 && !o.Ran && o.done {
		text += "\nIf the package does not work without its scripts, call again with scripts: true; a person is asked."
	}
	r.Content = programoutput.Remark(text, o.remarks...)
}

type install struct{ opt Options }

func newInstall(opt Options) (tongs.Tool, error) {
	input, aliases, err := tongs.SchemaOf[InstallInput]()
	if err != nil {
		return nil, err
	}
	opt.bound(input)
	t := &install{opt}
	return tongs.New(tongs.Def[InstallInput, InstallOutput]{
		Spec: tongs.Spec{
			Input: input, ArgAliases: aliases,
			Name: "install_package", Title: "Install package", Toolset: Toolset, Complex: true, Extra: true,
			Description: "Adds packages from a registry to the project, with its package manager. Install scripts do not run unless asked for.",
			Needs:       tongs.Execute | tongs.Read | tongs.Network, Optional: tongs.Write,
			Hints: tongs.Hints{OpenWorld: true, Destructive: true},
		},
		Plan: t.plan, Run: t.run,
	})
}

// installPlan is how packages are installed.
type installPlan struct {
	*place
	*manager
	packages []wanted
	from     []source
	// plain are the programs that install without running scripts. Running are those of a manager that cannot tell before which
	// scripts there are.
	plain, running []program
}

func (t *install) prepare(files tongs.FileView, in InstallInput) (*installPlan, error) {
	var m *manager
	p, err := find(files, in.Path, func(p *place) bool {
		for i := range managers {
			if (in.Manager == "" || in.Manager == managers[i].name || asked(in.Manager, managers[i].name)) && managers[i].marks(p) {
				m = &managers[i]
				return true
			}
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, tongs.Errorf(tongs.CodeConfigError, "%s is no project that packages can be added to: there is no package.json, go.mod, Cargo.toml or "+
			"Python project%s; name one with path", p.target, given(in.Manager))
	}
	if in.Manager != "" && in.Manager != m.name { // the project has no lock file yet, or that of another one
		m = &managers[slices.IndexFunc(managers, func(o manager) bool { return o.name == in.Manager })]
	}
	plan := &installPlan{place: p, manager: m}
	if plan.packages, err = m.parse(in.Packages); err != nil {
		return nil, err
	}
	plan.from = m.sources(t.opt.Registries(p.host(".")), plan.packages)
	var specs []string
	for _, w := range plan.packages {
		specs = append(specs, m.spec(w))
	}
	if plan.plain, err = m.programs(p, specs, in.Dev, false); err != nil {
		return nil, err
	}
	if plan.running, err = m.programs(p, specs, in.Dev, true); err != nil {
		return nil, err
	}
	if in.Scripts && m.code == "" {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%s runs no scripts when it installs packages; leave out scripts", m.name)
	}
	if err := t.opt.installed(plan.plain[0].argv[0], m.install); err != nil {
		return nil, err
	}
	return plan, p.undecided()
}

// asked reports whether a call names one manager of JavaScript for a project of another one.
func asked(name, of string) bool {
	all := []string{"npm", "pnpm", "yarn"}
	return slices.Contains(all, name) && slices.Contains(all, of)
}

func given(manager string) string {
	if manager == "" {
		return ""
	}
	return " that " + manager + " works on"
}

// effects are what the call would do before any script is known.
func (p *installPlan) effects(in InstallInput) []tongs.Effect {
	list := []tongs.Effect{p.place.reads()}
	for _, s := range p.from {
		list = append(list, s.effects()...)
	}
	for _, prog := range p.programs(in) {
		list = append(list, p.execute(prog))
	}
	return list
}

// programs are those that are run first. What pip runs to build a package is only known when it does: it is approved as a whole.
func (p *installPlan) programs(in InstallInput) []program {
	if in.Scripts && !p.lists {
		return p.running
	}
	return p.plain
}

func (t *install) plan(_ context.Context, v *tongs.View, in InstallInput) (*tongs.Plan, error) {
	p, err := t.prepare(v.Files, in)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, w := range p.packages {
		names = append(names, w.name+" "+cmp.Or(w.version, "(newest)"))
	}
	message := "Install " + strings.Join(names, ", ") + " with " + p.name + " from " + registriesOf(p.from)
	if in.Scripts {
		message += ", and run " + p.code
	}
	plan := &tongs.Plan{
		Effects: p.effects(in), Kind: tongs.KindExecute, Contained: true, Message: message,
		Preview: func(context.Context) (string, error) { return p.preview(in, names), nil },
	}
	if in.Scripts && !p.lists {
		for i := range plan.Effects {
			if e := &plan.Effects[i]; e.Kind == tongs.EffectExecute {
				e.MustAsk, e.Why = true, "runs "+p.code+", which nobody has seen"
			}
		}
	}
	return plan, nil
}

func registriesOf(sources []source) string {
	var list []string
	for _, s := range sources {
		list = append(list, s.url)
	}
	return strings.Join(list, ", ")
}

// preview shows a person what would be installed, from where, and what would run.
func (p *installPlan) preview(in InstallInput, names []string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString("package:  " + programoutput.Plain(name) + "\n")
	}
	for _, s := range p.from {
		b.WriteString("registry: " + programoutput.Plain(s.String()) + "\n")
	}
	switch {
	case p.code == "":
		b.WriteString("scripts:  none; " + p.name + " runs no code of packages when it installs them\n")
	case in.Scripts && p.lists:
		b.WriteString("scripts:  you are asked about each before it runs\n")
	case in.Scripts:
		b.WriteString("scripts:  " + p.code + " run, in the sandbox\n")
	default:
		b.WriteString("scripts:  " + p.code + " do not run\n")
	}
	return b.String() + previewPrograms(p.place, p.programs(in))
}

func (t *install) run(ctx context.Context, env *tongs.Env, in InstallInput) (InstallOutput, error) {
	p, err := t.prepare(env.Files, in)
	if err != nil {
		return InstallOutput{}, err
	}
	s := t.opt.session(env, p.place, p.effects(in), in.Timeout)
	if s.onCopy = in.Scripts; in.Scripts && !t.opt.Copies(ctx) {
		return InstallOutput{}, tongs.Errorf(tongs.CodeSandboxUnavailable, "install scripts run on a copy of the files only, and programs cannot be "+
			"run so here; 'tongs doctor' says why")
	}
	out := InstallOutput{Manager: p.name}
	for _, src := range p.from {
		out.Registry = append(out.Registry, src.url)
	}
	programs := p.programs(in)
	out.Command = programs[0].argv
	if p.lists {
		err = p.installListed(ctx, s, in.Scripts, &out)
	} else {
		err = p.installAll(ctx, s, programs, &out)
	}
	out.Duration, out.remarks, out.done = s.took.Milliseconds(), s.remarks(), err == nil
	return out, err
}

// installAll runs the programs, and reads what they say they installed.
func (p *installPlan) installAll(ctx context.Context, s *session, programs []program, out *InstallOutput) error {
	report := &capped{limit: maxDocument}
	for _, prog := range programs {
		prog.stdout = report
		if err := p.succeed(ctx, s, prog); err != nil {
			return err
		}
	}
	if out.Installed = p.installed(report.String(), s.env.Output("stderr").Excerpt()); len(out.Installed) > maxPackages {
		out.Installed = out.Installed[:maxPackages]
	}
	return nil
}

// succeed runs a program, and says what is wrong where it fails.
func (p *installPlan) succeed(ctx context.Context, s *session, prog program) error {
	if err := s.run(ctx, prog); err != nil || s.exit.Code == 0 {
		return err
	}
	said := tail(programoutput.Text(s.env.Output("stdout").Excerpt(), s.env.Output("stderr").Excerpt()), maxMessage)
	if p.missing.MatchString(said) {
		return tongs.Errorf(tongs.CodeNoMatch, "%s has no such package or version: %s; check its name. %s says:\n%s",
			registriesOf(p.from), strings.Join(specsOf(p.packages), ", "), p.name, said)
	}
	return tongs.Errorf(tongs.CodeExecutionError, "%s failed with exit code %d, and nothing was installed:\n%s", p.name, s.exit.Code, said)
}

func specsOf(packages []wanted) (list []string) {
	for _, w := range packages {
		list = append(list, at(w))
	}
	return list
}

// listed is a package that is installed, with its scripts.
type listed struct {
	Name, Version string
	Scripts       map[string]string
}

// list returns what is installed in the project, as the programs of this call left it.
func (p *installPlan) list(ctx context.Context, s *session) (map[Package]listed, error) {
	text, err := s.output(ctx, program{argv: []string{"node", "-"}, input: listPackages}, maxDocument)
	if err != nil {
		return nil, err
	}
	all := map[Package]listed{}
	for line := range strings.Lines(text) {
		var l listed
		if json.Unmarshal([]byte(line), &l) == nil {
			all[Package{l.Name, l.Version}] = l
		}
	}
	return all, nil
}

// installListed installs without scripts. Where the call wants them and there are some, they are asked about as they are, and
// then it installs again with them.
func (p *installPlan) installListed(ctx context.Context, s *session, scripts bool, out *InstallOutput) error {
	before, err := p.list(ctx, s)
	if err != nil {
		return err
	}
	if err := p.succeed(ctx, s, p.plain[0]); err != nil {
		return err
	}
	after, err := p.list(ctx, s)
	if err != nil {
		return err
	}
	out.note(before, after)
	if !scripts || len(out.Scripts) == 0 {
		return nil
	}
	names, err := out.scripted()
	if err != nil {
		return err
	}
	for _, script := range out.Scripts {
		s.effects = append(s.effects, script.effect())
	}
	err = p.succeed(ctx, s, program{argv: append(slices.Clone(p.rebuild), names...)})
	if need, ok := errors.AsType[*tongs.Need](err); ok && slices.ContainsFunc(need.Effects, func(e tongs.Effect) bool { return e.MustAsk }) {
		need.Reason = "the packages run these scripts when they are installed; nobody has seen them"
	}
	out.Ran = err == nil
	return err
}

// effect is that of running a script. It is asked about each time, in every mode: nobody has seen it before.
func (s Script) effect() tongs.Effect {
	return tongs.Effect{
		Kind: tongs.EffectExecute, Argv: []string{"sh", "-c", s.Command}, MustAsk: true, NoGrant: true, Why: s.Event + " script of " + s.Package,
	}
}

// exactVersion is a version, and nothing that could stand for several.
var exactVersion = regexp.MustCompile(`^[0-9][0-9A-Za-z.+-]*$`)

// scripted are the packages that have scripts, as the manager names them. It refuses names that could be taken for something else,
// and more scripts than a person is shown.
func (o *InstallOutput) scripted() (names []string, err error) {
	if len(o.Scripts) >= maxPackages {
		return nil, tongs.Errorf(tongs.CodeTooLarge, "there are %d install scripts or more, which is more than anybody reads; install fewer packages at a time", maxPackages)
	}
	for _, s := range o.Scripts {
		at := strings.LastIndexByte(s.Package, '@')
		if !npmName.MatchString(s.Package[:at]) || !exactVersion.MatchString(s.Package[at+1:]) {
			return nil, tongs.Errorf(tongs.CodeExecutionError, "the scripts of %q are not run: that is no proper name and version", s.Package)
		}
		if !slices.Contains(names, s.Package) {
			names = append(names, s.Package)
		}
	}
	return names, nil
}

// note puts into the value what came to the project, and which scripts it has.
func (o *InstallOutput) note(before, after map[Package]listed) {
	byName := func(a, b Package) int { return strings.Compare(a.String(), b.String()) }
	for _, pkg := range slices.SortedFunc(maps.Keys(after), byName) {
		if _, was := before[pkg]; was {
			continue
		}
		if len(o.Installed) < maxPackages {
			o.Installed = append(o.Installed, pkg)
		}
		for _, event := range slices.Sorted(maps.Keys(after[pkg].Scripts)) {
			if len(o.Scripts) < maxPackages {
				o.Scripts = append(o.Scripts, Script{fmt.Sprintf("%s@%s", pkg.Name, pkg.Version), event, after[pkg].Scripts[event]})
			}
		}
	}
}
