package module

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
	"github.com/tongs-ai/tongs/network"
)

// sayTime is how long a module may think about whether a call needs approval.
const sayTime = 20 * time.Second

// tool is a tool of a module. What it runs is what the module is at the time of the call, if a person approved that.
type tool struct {
	m    *mod
	name string
	spec *tongs.Spec
	// def is what the spec was made of, nil where that was not known.
	def *mcpclient.Definition
	// planned are what calls were planned to run, asked what they needed beyond that.
	planned recent[tongs.Effect]
	asked   recent[[]tongs.Effect]
}

var _ tongs.Planner = (*tool)(nil)

// tools are those of the module that are exposed, as far as they are known.
func (m *mod) tools() []tongs.Tool {
	tools, told := m.specs()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = told
	return tools
}

// specs makes the tools, and a word that changes when they do.
func (m *mod) specs() (tools []tongs.Tool, told string) {
	var words []string
	now, err := m.look(false)
	for _, name := range m.cfg.Tools {
		if !toolName.MatchString(name) {
			continue // it is listed, and cannot be called
		}
		spec := &tongs.Spec{
			Name: name, Toolset: m.cfg.Toolset(), Complex: true, Source: tongs.Source{Kind: tongs.SourceModule, Name: m.name},
			Needs: tongs.Execute, Optional: tongs.Read | tongs.Write | tongs.Network, Input: &jsonschema.Schema{Type: "object"},
			Hints: tongs.Hints{Destructive: true, OpenWorld: true},
		}
		t, word := m.tool(spec, now, err)
		tools, words = append(tools, t), append(words, word)
	}
	return tools, strings.Join(words, "\n")
}

func (m *mod) tool(spec *tongs.Spec, now *snapshot, err error) (tongs.Tool, string) {
	if err != nil {
		return broken(spec, message(err))
	}
	def, why := now.definition(m, spec.Name)
	if why != "" {
		return broken(spec, why)
	}
	t := &tool{m: m, name: spec.Name, spec: spec, def: def}
	switch {
	case def != nil:
		spec.Source.Digest = now.digest
		if own := reportOf(m.definitions(now)).Names[spec.Name]; toolName.MatchString(own) && own != spec.Name {
			spec.Aliases, spec.Name = []string{spec.Name}, own
		}
		if err := describe(spec, def); err != nil {
			return broken(spec, err.Error())
		}
	case now.approved():
		spec.Source.Digest = now.digest
		spec.Description = fmt.Sprintf("A tool of the module %s. What it takes is not known before its first call.", m.name)
	default:
		spec.Description = fmt.Sprintf("A tool of the module %s, which is %s. A person has to look at it: %s", m.name, now.status(), m.review())
	}
	return t, spec.Name + " " + spec.Source.Digest + " " + spec.Description
}

// describe gives a spec what the module says of the tool.
func describe(spec *tongs.Spec, def *mcpclient.Definition) (err error) {
	if spec.Input, spec.Output, err = def.Schemas(); err != nil {
		return err
	}
	spec.Output = returned(spec.Output)
	spec.Title = mcpclient.Readable(def.Title, 100)
	spec.Description = mcpclient.Readable(def.Description, 4<<10)
	return nil
}

// broken stands for a tool that cannot be called, and says why.
func broken(spec *tongs.Spec, why string) (tongs.Tool, string) {
	spec.Description = "Cannot be used: " + mcpclient.Readable(strings.SplitN(why, "\n", 2)[0], 200)
	return tongs.Lazy(*spec, func(context.Context, tongs.InitContext) (tongs.Tool, error) {
		return nil, tongs.Errorf(tongs.CodeConfigError, "%s", why)
	}), why
}

// Spec implements tongs.Tool.
func (t *tool) Spec() *tongs.Spec { return t.spec }

func (t *tool) sessionKey() string { return "module:" + t.m.key }

// approved reports whether a person approved the module as it is: for good, or by the answer to a question of this session.
func (t *tool) approved(ctx context.Context, s *snapshot, state tongs.StateView) (bool, error) {
	if s.approved() {
		return true, nil
	}
	var known string
	_, err := state.Load(ctx, t.sessionKey(), &known)
	return known == s.digest, err
}

// effects are what a call does at least: the program that runs, and the hosts that it may reach.
func (t *tool) effects(s *snapshot) (effects []tongs.Effect, hosts []string) {
	effects = []tongs.Effect{t.m.effect(s, t.name)}
	for _, name := range t.m.cfg.Network {
		if target, err := network.ParseTarget(name, 443); err == nil {
			effects = append(effects, tongs.Effect{Kind: tongs.EffectNetwork, Host: target.Name()})
			hosts = append(hosts, target.Name())
		}
	}
	return effects, hosts
}

// look is the module as it is now; tools that are not what they were are offered anew.
func (t *tool) look() (*snapshot, error) {
	s, err := t.m.look(true)
	if err == nil && t.spec.Source.Digest != "" && s.digest != t.spec.Source.Digest || err == nil && t.spec.Source.Digest == "" && s.approved() {
		go t.m.set.changed()
	}
	return s, err
}

// Plan implements tongs.Planner. While nobody approved the module as it is, the call must be asked about, whatever the
// rules say, and nothing of it runs before that.
func (t *tool) Plan(ctx context.Context, view *tongs.View, call *tongs.Call) (*tongs.Plan, error) {
	s, err := t.look()
	if err != nil {
		return nil, err
	}
	if why := s.problems[t.name]; why != "" {
		return nil, configError("%s", why)
	}
	effects, _ := t.effects(s)
	plan := &tongs.Plan{Kind: tongs.KindExecute, Effects: effects, Message: fmt.Sprintf("Run %s of the module %s", t.name, t.m.name)}
	known, err := t.approved(ctx, s, view.State)
	if err != nil {
		return nil, err
	}
	if !known {
		effects[0] = mustAsk(effects[0], s)
		plan.Preview = func(context.Context) (string, error) { return t.m.show(s) }
	}
	t.planned.put(call.ID, effects[0])
	if s.approved() {
		var more []tongs.Effect
		plan.Say, more = t.says(ctx, s, call)
		if extra, _ := t.asked.get(call.ID); len(extra) > 0 && plan.Say != nil && *plan.Say == tongs.PreApproved {
			plan.Say = nil // its word was about what it is configured to reach, not about what it turned out to want
		}
		plan.Effects = append(plan.Effects, more...)
	}
	return plan, nil
}

// mustAsk marks the effect of running what nobody approved.
func mustAsk(e tongs.Effect, s *snapshot) tongs.Effect {
	e.MustAsk, e.Why = true, "nobody approved this module yet"
	if s.status() == tongs.StatusChanged {
		e.Why = "the module changed since it was approved"
	}
	return e
}

// says is the module's own word about a call, nil where it has none, and what the call would do besides running it. A word
// that cannot be had means that somebody is asked.
func (t *tool) says(ctx context.Context, s *snapshot, call *tongs.Call) (*tongs.Decision, []tongs.Effect) {
	ask, free := tongs.Ask, tongs.PreApproved
	switch reportOf(t.m.definitions(s)).Tools[t.name] {
	case "ask":
		return &ask, nil
	case "free":
		return &free, nil
	case "function":
		if value, err := t.inspect(ctx, s, asks, call); err == nil && string(value) == "false" {
			return &free, nil
		}
		return &ask, nil
	case "plan":
		var p struct {
			Say     *tongs.Decision `json:"say"`
			Effects []tongs.Effect  `json:"effects"`
		}
		value, err := t.inspect(ctx, s, asks, call)
		if err != nil || json.Unmarshal(value, &p) != nil {
			return &ask, nil
		}
		for i := range p.Effects {
			p.Effects[i].Version, p.Effects[i].Incidental = "", false
		}
		if len(p.Effects) > 0 && p.Say != nil && *p.Say == tongs.PreApproved {
			p.Say = nil // what it wants beyond its configuration is not for it to allow
		}
		return p.Say, p.Effects
	}
	return nil, nil
}

// inspect asks the module something about a call, in a host that can change nothing and reach nothing.
func (t *tool) inspect(ctx context.Context, s *snapshot, what string, call *tongs.Call) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, sayTime)
	defer cancel()
	l, err := t.m.inspect(s)
	if err != nil {
		return nil, err
	}
	h, err := t.m.set.hosts.take(t.m, s, l)
	if err != nil {
		return nil, err
	}
	defer t.m.set.hosts.release(h)
	if _, err := t.m.open(ctx, h, s, l); err != nil {
		return nil, err
	}
	args, err := json.Marshal(map[string]any{"tool": t.name, "input": call.Args})
	if err != nil {
		return nil, err
	}
	res, err := h.Ask(ctx, serverName, l.Launch, what, args, call.ID)
	if err == nil && res.Error != nil {
		err = res.Error
	}
	if err != nil {
		return nil, err
	}
	return unwrap(res), nil
}

// unwrap is the value in a result of a host, which wraps it since MCP knows objects only.
func unwrap(res *tongs.Result) json.RawMessage {
	var wrapped struct {
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(res.Value, &wrapped) != nil {
		return nil
	}
	return wrapped.Value
}

// Call implements tongs.Tool.
func (t *tool) Call(ctx context.Context, env *tongs.Env, call *tongs.Call) (*tongs.Result, error) {
	s, err := t.look()
	if err != nil {
		return nil, err
	}
	known, err := t.approved(ctx, s, env.State)
	if err != nil {
		return nil, err
	}
	if err := t.decided(call, s, known); err != nil {
		return nil, err
	}
	l, err := t.launch(env, call, s)
	if err != nil {
		return nil, err
	}
	h, err := t.m.set.hosts.take(t.m, s, l)
	if err != nil {
		return nil, err
	}
	defer t.m.set.hosts.release(h)
	defs, err := t.m.open(ctx, h, s, l)
	if err == nil {
		if !known {
			err = env.State.Save(ctx, t.sessionKey(), s.digest)
		}
		var res *tongs.Result
		if err == nil {
			res, err = t.run(ctx, env, call, h, s, l, defs)
		}
		if err == nil {
			return res, nil
		}
	}
	if need, ok := errors.AsType[*tongs.Need](err); ok {
		before, _ := t.asked.get(call.ID)
		t.asked.put(call.ID, append(slices.Clone(before), need.Effects...))
	}
	return nil, err
}

// decided makes sure that what would run is what the call was decided for: what nobody approved must have been asked about.
func (t *tool) decided(call *tongs.Call, s *snapshot, known bool) error {
	now := t.m.effect(s, t.name)
	was, ok := t.planned.get(call.ID)
	if ok && was.Version == now.Version && (known || was.MustAsk) {
		return nil
	}
	if !known {
		now = mustAsk(now, s)
	}
	return &tongs.Need{Effects: []tongs.Effect{now}, Reason: fmt.Sprintf("the module %s changed since the call was planned", t.m.name)}
}

// launch is what a host is started with for a call: one that needs more than others of its tool has a host of its own.
func (t *tool) launch(env *tongs.Env, call *tongs.Call, s *snapshot) (*launch, error) {
	effects, hosts := t.effects(s)
	l := &launch{Launch: mcpclient.Launch{
		Commands: env.Commands, Effects: effects, Hosts: hosts, Dir: t.m.set.opt.Workspace, ReadOnly: !env.Granted.Has(tongs.Write),
	}}
	if extra, _ := t.asked.get(call.ID); len(extra) > 0 {
		for _, e := range extra {
			if e.Kind == tongs.EffectNetwork && !slices.Contains(l.Hosts, e.Host) {
				l.Hosts = append(l.Hosts, e.Host)
			}
		}
		return l, nil
	}
	if scoped, ok := env.Commands.(tongs.Scoped); ok {
		scope, err := scoped.Scope(l.ReadOnly)
		if err != nil {
			return nil, err
		}
		l.key = "scope " + scope
	}
	return l, nil
}

// run makes the call in a host that runs.
func (t *tool) run(
	ctx context.Context, env *tongs.Env, call *tongs.Call, h *host, s *snapshot, l *launch, defs *mcpclient.Definitions,
) (*tongs.Result, error) {
	defs, err := t.m.remember(s, defs)
	if err != nil {
		return nil, err
	}
	def, why := find(defs, t.m.name, t.name)
	if why != "" {
		return nil, configError("%s", why)
	}
	spec, own := t.spec, call
	if t.def == nil || t.def.Digest() != def.Digest() { // the walk knew less of the tool than we do now
		spec = &tongs.Spec{Name: t.name, Source: t.spec.Source}
		if err := describe(spec, def); err != nil {
			return nil, configError("the tool %s of %s cannot be used: %w", t.name, t.m.name, err)
		}
		checked, err := t.m.set.validator.Check(spec, call.Args)
		if err != nil {
			return nil, err
		}
		copied := *call
		copied.Args = checked.Args
		own = &copied
	}
	answered := *spec
	answered.Output = nil // of what is in the answer, which is checked below
	res, err := h.Use(ctx, serverName, l.Launch, def, &answered, env, own)
	if ctx.Err() != nil || tongs.CodeOf(err) == tongs.CodeTimeout {
		t.m.set.hosts.retire(h)
	}
	if err != nil {
		return nil, err
	}
	if res.Error == nil {
		if err := t.read(res, spec); err != nil {
			return nil, err
		}
	}
	delete(res.Metadata, "mcpServer")
	res.SetMeta("module", t.m.name)
	return res, nil
}

// read takes the value out of an answer, with what it says of the result, and checks it.
func (t *tool) read(res *tongs.Result, spec *tongs.Spec) error {
	res.Value = unwrap(res)
	if err := shape(res, spec.Name); err != nil || res.Error != nil || spec.Output == nil {
		return err
	}
	if len(res.Value) == 0 {
		return tongs.Errorf(tongs.CodeExecutionError, "%s returned nothing, and its outputSchema wants a value", spec.Name)
	}
	if err := t.m.set.validator.CheckOutput(spec, res.Value); err != nil {
		return tongs.Errorf(tongs.CodeExecutionError, "%s returned a value that does not fit its outputSchema: %w", spec.Name, err)
	}
	return nil
}
