// Package code holds the tool run_code: programs of a few lines, run in the sandbox.
//
// A program runs in a directory of its own, which is empty when it starts; what it leaves there comes back as files, and
// images among them as attachments. The workspace is there to read, under the path that the variable WORKSPACE
// holds. What a program changes in it is done to a copy, and decided once it is known; with write it changes the
// workspace itself, and somebody is asked before. Secrets in it are hidden, as for every program.
//
// A call is free only where the sandbox is full, the workspace read-only, and no network wanted. A grant holds for the
// program as it was shown: it is bound to a hash of the language, the code, the environment and the way it runs.
package code

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

// Toolset is the name that configuration knows the tool by.
const Toolset = "code"

const (
	name         = "run_code"
	titleRunes   = 60
	previewBytes = 64 << 10
)

// Options are those of the tool. A zero field means the default that its comment names.
type Options struct {
	// Full reports whether the sandbox enforces everything it can. Nil is a sandbox that does not, so that every call
	// is asked for.
	Full func(ctx context.Context) bool
	// Copies reports whether programs can be run on a copy of the workspace, so that what they change there is decided
	// afterwards. Nil is a sandbox that cannot: the workspace is read-only then.
	Copies func(ctx context.Context) bool
	// LookPath finds the program that a bare name runs in the sandbox: exec.LookPath of this process.
	LookPath func(name string) (string, bool)
	// Timeout is how long a program may take that names no timeout: 60 s. MaxTimeout is the most that it can name: 600 s.
	Timeout, MaxTimeout time.Duration
}

// Input are the arguments of run_code.
type Input struct {
	Language string            `json:"language" jsonschema:"What runs it." enum:"python,bash,javascript,go" alias:"lang"`
	Code     string            `json:"code" jsonschema:"The whole program." minLength:"1" maxLength:"1000000"`
	Args     []string          `json:"args,omitempty" jsonschema:"Given on its command line." maxItems:"200"`
	Env      map[string]string `json:"env,omitempty" jsonschema:"Variables it gets."`
	Timeout  int               `json:"timeout,omitempty" jsonschema:"Seconds." min:"1"`
	Network  bool              `json:"network,omitempty" jsonschema:"Let it ask for hosts."`
	Write    bool              `json:"write,omitempty" jsonschema:"Let it change the workspace directly."`
}

// timeout is how long a program may take.
func (o Options) timeout(in Input) time.Duration {
	if in.Timeout <= 0 {
		return o.Timeout
	}
	return min(time.Duration(in.Timeout)*time.Second, o.MaxTimeout)
}

// File is something that the program made.
type File struct {
	Name string `json:"name"`
	Path string `json:"path" jsonschema:"Where read_file finds it."`
	Size int64  `json:"size"`
	MIME string `json:"mime,omitempty"`
}

// Output is the value of run_code.
type Output struct {
	Stdout   string               `json:"stdout"`
	Stderr   string               `json:"stderr"`
	ExitCode int                  `json:"exitCode" jsonschema:"Exit code; 128 and the number of the signal that ended it."`
	Signal   string               `json:"signal,omitempty" jsonschema:"The signal that ended it."`
	Duration int64                `json:"duration" jsonschema:"Milliseconds."`
	TimedOut bool                 `json:"timedOut"`
	Files    []File               `json:"files" jsonschema:"What it left in its directory."`
	Usage    *programoutput.Usage `json:"usage,omitempty"`

	title, display string
	exit           *tongs.Exit
	remarks        []string
}

// Present tells how the program ended and what it made.
func (o *Output) Present(r *tongs.Result) {
	r.Title = o.title
	var remarks []string
	if o.exit != nil {
		remarks = append(remarks, programoutput.Ended(o.exit))
		r.SetMeta("exitCode", o.ExitCode)
		if o.exit.Report != nil {
			r.SetMeta("sandbox", o.exit.Report)
		}
		for _, f := range o.exit.Files {
			if len(f.Data) > 0 {
				r.Attachments = append(r.Attachments, f)
			}
		}
	}
	remarks = append(remarks, o.remarks...)
	for _, f := range o.Files {
		remarks = append(remarks, fmt.Sprintf("made %s, %d bytes; read_file %s", programoutput.Plain(f.Name), f.Size, programoutput.Plain(f.Path)))
	}
	r.Content = programoutput.Text(o.Stdout, o.Stderr, remarks...)
	if o.display != "" {
		r.Display = programoutput.Text(o.display, "", remarks...)
	}
}

// New makes the tool.
func New(opt Options) (tongs.Tool, error) {
	if opt.Full == nil {
		opt.Full = func(context.Context) bool { return false }
	}
	if opt.Copies == nil {
		opt.Copies = func(context.Context) bool { return false }
	}
	if opt.LookPath == nil {
		opt.LookPath = func(name string) (string, bool) {
			found, err := exec.LookPath(name)
			return found, err == nil
		}
	}
	if opt.Timeout <= 0 {
		opt.Timeout = 60 * time.Second
	}
	if opt.MaxTimeout <= 0 {
		opt.MaxTimeout = max(600*time.Second, opt.Timeout)
	}
	opt.Timeout = min(opt.Timeout, opt.MaxTimeout)
	input, aliases, err := tongs.SchemaOf[Input]()
	if err != nil {
		return nil, err
	}
	timeout, most := input.Properties["timeout"], opt.MaxTimeout.Seconds()
	timeout.Default, timeout.Maximum = fmt.Appendf(nil, "%d", int64(opt.Timeout.Seconds())), &most
	t := &tool{opt}
	return tongs.New(tongs.Def[Input, Output]{
		Spec: tongs.Spec{
			Input: input, ArgAliases: aliases,
			Name: name, Title: "Run code", Toolset: Toolset, Complex: true,
			Description: "Runs a program in a sandbox, in an empty directory whose files come back. " +
				"$WORKSPACE is a copy of the workspace; changes to it may be asked about. No network unless asked for.",
			Needs: tongs.Execute | tongs.Read, Optional: tongs.Write | tongs.Network,
			Hints: tongs.Hints{OpenWorld: true, Destructive: true},
		},
		Plan: t.plan, Run: t.run,
	})
}

// tool is what calls share; it does not change.
type tool struct{ opt Options }

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// prepare checks the arguments and returns what runs them.
func (t *tool) prepare(in Input) (*language, string, error) {
	for key, value := range in.Env {
		if !variable.MatchString(key) || key == "WORKSPACE" {
			return nil, "", tongs.Errorf(tongs.CodeInvalidArgs,
				"env: %q cannot be set; a name is letters, digits and _, and WORKSPACE is set already", key)
		}
		if strings.IndexByte(value, 0) >= 0 {
			return nil, "", tongs.Errorf(tongs.CodeInvalidArgs, "env: the value of %s holds a NUL byte, which no variable can", key)
		}
	}
	lang := languages[in.Language]
	if lang == nil {
		return nil, "", tongs.Errorf(tongs.CodeInvalidArgs, "language %q is not one of python, bash, javascript, go", in.Language)
	}
	program, err := t.find(lang)
	return lang, program, err
}

// effects are what a program would do, as far as that can be told.
func (t *tool) effects(ctx context.Context, in Input, program string) (effects []tongs.Effect, full bool) {
	full = t.opt.Full(ctx)
	argv := append([]string{program, "-"}, in.Args...)
	effects = []tongs.Effect{
		{Kind: tongs.EffectExecute, Argv: argv, Env: assignments(in.Env), Version: digest(in, full), Why: "runs the program shown"},
		{Kind: tongs.EffectRead, Path: tongs.Path{Rel: "."}},
	}
	if in.Write {
		effects = append(effects, tongs.Effect{
			Kind: tongs.EffectWrite, Unknown: true, Why: "the program can change any file of the workspace",
		})
	}
	if in.Language == "bash" {
		effects = append(effects, commands(in)...)
	}
	return effects, full
}

// commands are the commands that stand in a script to be read: what a rule blocks by name is blocked here too. What
// cannot be read of it is contained by the sandbox, as in any other language.
func commands(in Input) (effects []tongs.Effect) {
	world := shellsyntax.World{Inherits: func(string) bool { return false }} // only what the script itself gives is of interest
	a, err := shellsyntax.Analyse(in.Code, world, shellsyntax.Options{Exported: assignments(in.Env)})
	if err != nil {
		return nil
	}
	for _, e := range a.Effects {
		if e.Kind == tongs.EffectExecute && !e.Unknown {
			effects = append(effects, tongs.Effect{Kind: e.Kind, Argv: e.Argv, Env: e.Env, Version: e.Version, Why: "stands in the script"})
		}
	}
	return effects
}

// assignments are the variables that the call gives, sorted.
func assignments(vars map[string]string) (env []string) {
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

// digest identifies a program and how it runs.
func digest(in Input, full bool) tongs.Version {
	h := sha256.New()
	// Marshalling these types cannot fail, and sorts the variables.
	data, _ := json.Marshal([]any{in.Language, in.Code, in.Env, in.Network, in.Write, full})
	h.Write(data)
	return tongs.Version("sha256:" + hex.EncodeToString(h.Sum(nil)))
}

func (t *tool) plan(ctx context.Context, _ *tongs.View, in Input) (*tongs.Plan, error) {
	_, program, err := t.prepare(in)
	if err != nil {
		return nil, err
	}
	effects, full := t.effects(ctx, in, program)
	decision := tongs.Ask
	if full && !in.Write && !in.Network {
		decision = tongs.PreApproved
	}
	return &tongs.Plan{
		Effects: effects, Default: &decision, Message: message(in, full), Kind: tongs.KindExecute, Contained: true,
		Preview: func(context.Context) (string, error) { return preview(in), nil },
	}, nil
}

// message tells a person what is special about the call.
func message(in Input, full bool) string {
	text := "Run a " + in.Language + " program"
	var with []string
	if in.Write {
		with = append(with, "that can change the workspace")
	}
	if in.Network {
		with = append(with, "that wants to reach hosts, each of which is asked for")
	}
	if !full {
		with = append(with, "in a sandbox that is not full")
	}
	return strings.TrimSpace(text + " " + strings.Join(with, ", "))
}

// preview shows the program, with what does not print spelled out.
func preview(in Input) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(in.Env)) {
		fmt.Fprintf(&b, "%s=%s\n", key, programoutput.Short(in.Env[key], 200))
	}
	if len(in.Args) > 0 {
		fmt.Fprintf(&b, "arguments: %q\n", in.Args)
	}
	for line := range strings.SplitSeq(strings.TrimRight(in.Code, "\n"), "\n") {
		b.WriteString(strings.ReplaceAll(programoutput.Plain(strings.ReplaceAll(line, "\t", "    ")), `\r`, "") + "\n")
		if b.Len() > previewBytes {
			fmt.Fprintf(&b, "... (%d bytes in all)\n", len(in.Code))
			break
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func (t *tool) run(ctx context.Context, env *tongs.Env, in Input) (Output, error) {
	lang, program, err := t.prepare(in)
	if err != nil {
		return Output{}, err
	}
	effects, full := t.effects(ctx, in, program)
	var screen programoutput.Screen
	stdout, stderr := env.Output("stdout"), env.Output("stderr")
	cmd := &tongs.Command{
		Argv: append([]string{"/bin/sh", "-c", lang.script(program, in.Code), program}, in.Args...),
		Env:  lang.environ(in.Env), Dir: env.Dir, Stdin: strings.NewReader(in.Code),
		Stdout: screen.Tee(stdout), Stderr: screen.Tee(stderr), Timeout: t.opt.timeout(in),
		Scratch: true, Full: full, Effects: effects,
	}
	if !in.Write {
		cmd.OnCopy = full && t.opt.Copies(ctx)
		cmd.ReadOnly = !cmd.OnCopy
	}
	exit, err := env.Commands.Run(ctx, cmd)
	var remarks []string
	if need, ok := errors.AsType[*tongs.Need](err); ok && exit != nil {
		if need, remarks = wanted(need, in.Network); need != nil {
			return Output{}, need
		}
		err = nil
	}
	if exit == nil {
		return Output{}, err
	}
	out := Output{
		Stdout: stdout.Excerpt(), Stderr: stderr.Excerpt(), ExitCode: exit.Code, Signal: exit.Signal,
		Duration: exit.Duration.Milliseconds(), TimedOut: exit.TimedOut,
		title: in.Language + ": " + programoutput.Short(in.Code, titleRunes), display: screen.Text(), exit: exit,
	}
	notes, usage := programoutput.Read(exit)
	out.remarks, out.Usage = append(notes, remarks...), usage
	for _, f := range exit.Files {
		out.Files = append(out.Files, File{Name: f.Name, Path: f.Path, Size: f.Size, MIME: f.MIME})
	}
	switch {
	case exit.TimedOut:
		return out, tongs.Errorf(tongs.CodeTimeout, "the program was killed after %s; its output until then is kept; "+
			"give it a longer timeout (%g at most), or less to do", cmd.Timeout, t.opt.MaxTimeout.Seconds())
	case ctx.Err() != nil:
		return out, stopped(ctx)
	}
	if killed := programoutput.Killed("the program", exit); err == nil && killed != nil {
		return out, killed
	}
	return out, err
}

// wanted returns what is left of a need: hosts are asked for only where the call asked for the network.
func wanted(need *tongs.Need, network bool) (*tongs.Need, []string) {
	if network {
		return need, nil
	}
	left := &tongs.Need{Reason: need.Reason}
	for _, e := range need.Effects {
		if e.Kind != tongs.EffectNetwork {
			left.Effects = append(left.Effects, e)
		}
	}
	if len(left.Effects) > 0 {
		return left, nil
	}
	return nil, []string{"there is no network without network: true"}
}

// stopped says how a call ended that somebody ended.
func stopped(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return tongs.Errorf(tongs.CodeTimeout, "the time of the call was over, and the program was killed; its output until then is kept")
	}
	return tongs.Errorf(tongs.CodeCancelled, "the call was cancelled, and the program was killed; its output until then is kept")
}
