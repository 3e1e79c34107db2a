package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
	"github.com/tongs-ai/tongs/internal/programoutput"
)

// maxValue is how much of its output is read as a structured value.
const maxValue = 1 << 20

// tool is a custom tool, as it was when the tool was made. One that changed since is not run.
type tool struct {
	set *Set
	*entry
	spec *tongs.Spec
}

var _ tongs.Planner = (*tool)(nil)

// newTool makes the tool of an entry.
func (s *Set) newTool(e *entry) tongs.Tool {
	spec := &tongs.Spec{
		Name: e.name, Toolset: Toolset, Complex: true, Source: tongs.Source{Kind: tongs.SourceForge, Name: e.name},
		Needs: tongs.Execute, Hints: tongs.Hints{Destructive: true, OpenWorld: true},
	}
	if !validName.MatchString(e.name) {
		return nil // it is listed, and cannot be called
	}
	if e.problem != "" {
		return brokenTool(spec, e.problem)
	}
	input, err := e.manifest.schema()
	if err != nil {
		return brokenTool(spec, err.Error())
	}
	spec.Input, spec.Source.Digest = input, e.digest
	spec.Needs, spec.Optional = e.manifest.permissions()
	spec.Description = cleantext.Text(strings.TrimSpace(e.manifest.Description), maxText)
	if usage := cleantext.Text(strings.TrimSpace(e.manifest.Usage), maxUsage); usage != "" {
		spec.Description += "\n\n" + usage
	}
	if e.record.Digest != e.digest {
		spec.Description = "Not approved yet: a person is asked. " + spec.Description
	}
	return &tool{set: s, entry: e, spec: spec}
}

// brokenTool stands for one that cannot be called, and says why.
func brokenTool(spec *tongs.Spec, why string) tongs.Tool {
	spec.Description = "Cannot be used: " + cleantext.Text(why, 200)
	return tongs.Lazy(*spec, func(context.Context, tongs.InitContext) (tongs.Tool, error) {
		return nil, tongs.Errorf(tongs.CodeConfigError, "%s", why)
	})
}

// Spec implements tongs.Tool.
func (t *tool) Spec() *tongs.Spec { return t.spec }

// sessionKey is under what a session remembers that a person let this tool run.
func (t *tool) sessionKey() string { return Toolset + ":" + t.name }

// approved reports whether a person approved the tool as it is: for good, or by the answer to a question of this session.
func (t *tool) approved(ctx context.Context, state tongs.StateView) (always, session bool, err error) {
	if t.record.Digest == t.digest {
		return true, true, nil
	}
	var known string
	if _, err := state.Load(ctx, t.sessionKey(), &known); err != nil {
		return false, false, err
	}
	return false, known == t.digest, nil
}

// fresh refuses a tool that is not what it was when this one was made.
func (t *tool) fresh() error {
	now, err := list(t.dir)
	if err == nil && sameStamps(now, t.files) {
		return nil
	}
	if err := t.set.changed(); err != nil {
		return err
	}
	if e := t.set.current.Load().find(t.name); e == nil || e.digest != t.digest || e.status() != t.status() {
		return stale(t.name)
	}
	return nil
}

// effects are what a call does at least.
func (t *tool) effects(args json.RawMessage) ([]tongs.Effect, []string, error) {
	flags, err := t.manifest.Flags(args)
	if err != nil {
		return nil, nil, err
	}
	main := tongs.Effect{
		Kind: tongs.EffectExecute, Argv: append([]string{path.Join("/", Root, t.name, t.manifest.Entrypoint)}, flags...),
		Version: tongs.Version("forge:" + t.digest),
	}
	effects := []tongs.Effect{main}
	for _, host := range t.manifest.Network {
		effects = append(effects, tongs.Effect{Kind: tongs.EffectNetwork, Host: host})
	}
	return effects, flags, nil
}

// Plan implements tongs.Planner: the program that would run and the hosts that it reaches. While nobody approved it, that
// must be asked, whatever the rules say.
func (t *tool) Plan(ctx context.Context, view *tongs.View, call *tongs.Call) (*tongs.Plan, error) {
	if err := t.fresh(); err != nil {
		return nil, err
	}
	effects, flags, err := t.effects(call.Args)
	if err != nil {
		return nil, err
	}
	plan := &tongs.Plan{
		Kind: tongs.KindExecute, Effects: effects, Contained: true,
		Message: "Run the custom tool " + programoutput.Short(strings.Join(append([]string{t.name}, flags...), " "), 120),
	}
	_, known, err := t.approved(ctx, view.State)
	if err != nil {
		return nil, err
	}
	if !known {
		effects[0].MustAsk = true
		effects[0].Why = "nobody approved this tool yet"
		if t.record.Digest != "" {
			effects[0].Why = "the tool changed since it was approved"
		}
		plan.Preview = t.preview
	}
	return plan, nil
}

func (t *tool) preview(context.Context) (string, error) {
	c, err := load(t.dir)
	if err != nil {
		return "", err
	}
	if digest(c.files) != t.digest {
		return "", stale(t.name)
	}
	return t.set.show(t.entry, c), nil
}

// Call implements tongs.Tool.
func (t *tool) Call(ctx context.Context, env *tongs.Env, call *tongs.Call) (*tongs.Result, error) {
	if err := t.fresh(); err != nil {
		return nil, err
	}
	effects, flags, err := t.effects(call.Args)
	if err != nil {
		return nil, err
	}
	always, session, err := t.approved(ctx, env.State)
	if err != nil {
		return nil, err
	}
	effects[0].MustAsk = !session
	dir, done, err := t.program(always)
	if err != nil {
		return nil, err
	}
	defer done()
	if !session && !call.DryRun { // it must be asked, so that it gets here only if a person let exactly this run
		if err := env.State.Save(ctx, t.sessionKey(), t.digest); err != nil {
			return nil, err
		}
	}
	return t.run(ctx, env, call, append([]string{filepath.Join(dir, t.manifest.Entrypoint)}, flags...), effects)
}

// program is the private copy that runs: the one that was made when it was approved, or one for this call.
func (t *tool) program(always bool) (dir string, done func(), err error) {
	if t.set.store.dir == "" {
		return "", nil, tongs.Errorf(tongs.CodeConfigError, "there is no place for copies of custom tools in this program")
	}
	if always && t.set.copyIntact(t.digest) {
		return t.set.store.copyOf(t.digest), func() {}, nil
	}
	c, err := load(t.dir)
	if err != nil {
		return "", nil, tongs.Errorf(tongs.CodeConfigError, "%s: %w", t.name, err)
	}
	if digest(c.files) != t.digest {
		return "", nil, stale(t.name)
	}
	if err := os.MkdirAll(t.set.store.programs(), 0o700); err != nil {
		return "", nil, err
	}
	tmp, err := os.MkdirTemp(t.set.store.programs(), "once-")
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(tmp) }
	dir = filepath.Join(tmp, t.name)
	if err := c.save(dir); err != nil {
		done()
		return "", nil, err
	}
	return dir, done, nil
}

func (t *tool) timeout(call *tongs.Call) time.Duration {
	limit := t.set.opt.Timeout
	if t.manifest.Timeout > 0 {
		limit = time.Duration(t.manifest.Timeout * float64(time.Second))
	}
	if call.Timeout > 0 {
		limit = min(call.Timeout, t.set.opt.MaxTimeout)
	}
	return limit
}

// Output is the value of a tool that does not print a JSON object.
type Output struct {
	Stdout   string               `json:"stdout"`
	Stderr   string               `json:"stderr"`
	ExitCode int                  `json:"exitCode"`
	Signal   string               `json:"signal,omitempty"`
	Duration int64                `json:"duration"`
	TimedOut bool                 `json:"timedOut"`
	Usage    *programoutput.Usage `json:"usage,omitempty"`
}

func (t *tool) run(ctx context.Context, env *tongs.Env, call *tongs.Call, argv []string, effects []tongs.Effect) (*tongs.Result, error) {
	stdout, stderr := env.Output("stdout"), env.Output("stderr")
	object := &head{limit: maxValue}
	workspace := env.Files.Host(tongs.Path{Root: tongs.WorkspaceRoot, Rel: "."})
	cmd := &tongs.Command{
		Argv: argv, Dir: env.Dir, Effects: effects, Timeout: t.timeout(call),
		Env:    append([]string{"FORGE_WORKSPACE=" + workspace, "AGENT_WORKSPACE_ROOT=" + workspace}, about(env.Call)...),
		Stdout: io.MultiWriter(stdout, object), Stderr: stderr, ReadOnly: !env.Granted.Has(tongs.Write),
	}
	exit, err := env.Commands.Run(ctx, cmd)
	if need, ok := errors.AsType[*tongs.Need](err); ok {
		return nil, need
	}
	if exit == nil {
		return nil, err
	}
	out := Output{
		Stdout: stdout.Excerpt(), Stderr: stderr.Excerpt(), ExitCode: exit.Code, Signal: exit.Signal,
		Duration: exit.Duration.Milliseconds(), TimedOut: exit.TimedOut,
	}
	notes, usage := programoutput.Read(exit)
	out.Usage = usage
	res := &tongs.Result{Title: programoutput.Short(strings.Join(append([]string{t.name}, argv[1:]...), " "), 80)}
	res.Content = programoutput.Text(out.Stdout, out.Stderr, append([]string{programoutput.Ended(exit)}, notes...)...)
	res.SetMeta("exitCode", exit.Code)
	if exit.Report != nil {
		res.SetMeta("sandbox", exit.Report)
	}
	if res.Value = object.object(); res.Value == nil {
		if res.Value, err = json.Marshal(out); err != nil {
			return nil, err
		}
	}
	res.Error = t.ended(ctx, exit, cmd.Timeout)
	return res, err
}

// about tells the program which call it runs for. What an environment cannot hold is left out.
func about(call tongs.CallInfo) (vars []string) {
	for _, v := range [][2]string{
		{"TONGS_CALL_ID", call.ID}, {"TONGS_SESSION_ID", call.Session}, {"TONGS_MESSAGE_ID", call.Message}, {"TONGS_AGENT", call.Agent()},
	} {
		if v[1] != "" && !strings.ContainsRune(v[1], 0) {
			vars = append(vars, v[0]+"="+v[1])
		}
	}
	return vars
}

// ended is the error of a program that was ended; nil for one that ended on its own, whatever its exit code.
func (t *tool) ended(ctx context.Context, exit *tongs.Exit, limit time.Duration) *tongs.Error {
	switch {
	case exit.TimedOut, errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return tongs.Errorf(tongs.CodeTimeout, "%s was killed after %s; its output until then is kept; "+
			"run_custom_tool takes a longer timeout (%g at most)", t.name, limit, t.set.opt.MaxTimeout.Seconds())
	case ctx.Err() != nil:
		return tongs.Errorf(tongs.CodeCancelled, "the call was cancelled, and %s was killed; its output until then is kept", t.name)
	}
	return programoutput.Killed(t.name, exit)
}

// head keeps the start of an output, and nothing of one that is longer.
type head struct {
	bytes.Buffer
	limit int
	over  bool
}

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	if h.over = h.over || h.Len()+len(p) > h.limit; h.over {
		return len(p), nil
	}
	return h.Buffer.Write(p)
}

// object is the output where all of it is one JSON object, else nil.
func (h *head) object() json.RawMessage {
	data := bytes.TrimSpace(h.Bytes())
	if h.over || len(data) == 0 || data[0] != '{' || !json.Valid(data) || !utf8.Valid(data) {
		return nil
	}
	return bytes.Clone(data)
}

// Rules are what holds in the forge where nobody says otherwise: each write asks.
func Rules() []tongs.Rule {
	return []tongs.Rule{{
		Layer: tongs.LayerWorker, Origin: "custom tools", Effects: tongs.Kinds(tongs.EffectWrite, tongs.EffectDelete),
		Pattern: fmt.Sprintf("/%s/**", Root), Decision: tongs.Ask, Fallback: true,
	}}
}
