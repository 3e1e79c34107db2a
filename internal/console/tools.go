package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/id"
	"github.com/tongs-ai/tongs/internal/insight"
	"github.com/tongs-ai/tongs/schema"
)

func (s *Server) toolRoutes() []route {
	return []route{
		get("/api/tools", "Every tool, with its schema, state and how it was used in the last week", s.listTools),
		post("/api/validate", "Check arguments; what is wrong is named field by field", s.validate),
		post("/api/explain", "What a call would do, and how it would be decided; nothing runs", s.explain),
		post("/api/call", "Make a call, as any agent would; it goes on when this returns", s.call),
	}
}

// ToolState tells of a tool what its spec does not.
type ToolState struct {
	Name string `json:"name"`
	// Status is one word: "ready", "not built", "quarantined", "broken". Detail says why.
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Diff is what changed since a person approved it.
	Diff string `json:"diff,omitempty"`
	// Source is where it comes from, for a tool that cannot be called.
	Source      tongs.Source `json:"source"`
	Description string       `json:"description,omitempty"`
	// Next is what a person does about it, usually a command.
	Next string `json:"next,omitempty"`
}

// toolView is a tool on the screen.
type toolView struct {
	Name        string         `json:"name"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Aliases     []string       `json:"aliases"`
	Toolset     string         `json:"toolset"`
	Source      tongs.Source   `json:"source"`
	Needs       []string       `json:"needs"`
	Optional    []string       `json:"optional"`
	Default     tongs.Decision `json:"default"`
	ReadOnly    bool           `json:"readOnly"`
	Destructive bool           `json:"destructive"`
	// Input and Output are schemas, absent where there is none.
	Input  any `json:"input,omitempty"`
	Output any `json:"output,omitempty"`
	// Callable is false for a tool that is only known of: not built, not approved.
	Callable bool      `json:"callable"`
	State    ToolState `json:"state"`
	Stats    toolStats `json:"stats"`
}

// toolStats sum up the last week.
type toolStats struct {
	Calls   int   `json:"calls"`
	Errors  int   `json:"errors"`
	Refused int   `json:"refused"`
	Asked   int   `json:"asked"`
	P50     int64 `json:"p50Milliseconds"`
	P95     int64 `json:"p95Milliseconds"`
}

type toolList struct {
	Tools []toolView `json:"tools"`
}

func (s *Server) listTools(ctx context.Context, _ request, _ struct{}) (toolList, error) {
	specs, broken := s.opt.Engine.Tools(ctx)
	used, err := s.usage.get(ctx, s.opt.Audit)
	if err != nil {
		return toolList{}, err
	}
	states, known := map[string]ToolState{}, s.opt.Tools(ctx)
	for _, st := range known {
		states[st.Name] = st
	}
	list := toolList{Tools: []toolView{}}
	for _, spec := range specs {
		v := viewOf(spec)
		if st, ok := states[spec.Name]; ok && st.Source.Kind == spec.Source.Kind {
			v.State = st
			delete(states, spec.Name)
		}
		if err := broken[spec.Name]; err != nil {
			v.State.Status, v.State.Detail = "broken", err.Error()
		}
		v.Stats = used[spec.Name]
		list.Tools = append(list.Tools, v)
	}
	for _, st := range known { // those that cannot be called, in their order
		if _, left := states[st.Name]; left {
			list.Tools = append(list.Tools, toolView{
				Name: st.Name, Title: st.Name, Description: st.Description, Aliases: []string{}, Source: st.Source, Needs: []string{},
				Optional: []string{}, State: st, Stats: used[st.Name],
			})
		}
	}
	return list, nil
}

func viewOf(spec *tongs.Spec) toolView {
	v := toolView{
		Name: spec.Name, Title: spec.DisplayName(), Description: spec.Description, Aliases: append([]string{}, spec.Aliases...),
		Toolset: spec.Toolset, Source: spec.Source, Needs: spec.Needs.List(), Optional: spec.Optional.List(), Default: spec.Default,
		ReadOnly: spec.Hints.ReadOnly, Destructive: spec.Hints.Destructive, Callable: true,
	}
	if spec.Input != nil {
		v.Input = spec.Input
	}
	if spec.Output != nil {
		v.Output = spec.Output
	}
	v.State = ToolState{Name: spec.Name, Status: "ready", Source: spec.Source}
	if v.Source.Kind == "" {
		v.Source.Kind = tongs.SourceBuiltin
	}
	return v
}

// usage sums up the log, and keeps that for a moment.
type usage struct {
	mu   sync.Mutex
	at   time.Time
	used map[string]toolStats
}

const usageFor = 5 * time.Second

func (u *usage) get(ctx context.Context, log audit.Log) (map[string]toolStats, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.used != nil && time.Since(u.at) < usageFor {
		return u.used, nil
	}
	stats, err := insight.Summarize(ctx, log, insight.Last(7*24*time.Hour, time.Now()), audit.Filter{})
	if err != nil {
		return nil, err
	}
	used := make(map[string]toolStats, len(stats.Tools))
	for _, t := range stats.Tools {
		used[t.Tool] = toolStats{
			Calls: t.Calls, Errors: t.Errors, Refused: t.Refused, Asked: t.Asked, P50: time.Duration(t.P50).Milliseconds(), P95: time.Duration(t.P95).Milliseconds(),
		}
	}
	u.at, u.used = time.Now(), used
	return used, nil
}

// toolCall is a call that somebody thinks about.
type toolCall struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
	// Reason is kept with the call; DryRun shows what it would change, and drops that.
	Reason string `json:"reason,omitempty"`
	DryRun bool   `json:"dryRun,omitempty"`
}

// checked tells what is wrong with arguments.
type checked struct {
	OK bool `json:"ok"`
	// Args are completed and repaired, where they are valid.
	Args     json.RawMessage `json:"args,omitempty"`
	Repaired []string        `json:"repaired"`
	Fields   []schema.Field  `json:"fields"`
	Message  string          `json:"message,omitempty"`
}

func (s *Server) validate(ctx context.Context, _ request, in toolCall) (checked, error) {
	got, err := s.opt.Engine.Validate(ctx, in.Tool, object(in.Args))
	out := checked{Repaired: []string{}, Fields: []schema.Field{}}
	if err == nil {
		out.OK, out.Args = true, got.Args
		out.Repaired = append(out.Repaired, got.Repaired...)
		return out, nil
	}
	wrong, ok := errors.AsType[*tongs.Error](err)
	if !ok || wrong.Code != tongs.CodeInvalidArgs {
		return out, err
	}
	out.Message = wrong.Message
	if fields, ok := wrong.Details["fields"].([]schema.Field); ok {
		out.Fields = append(out.Fields, fields...)
	}
	return out, nil
}

// explained is how a call would be decided.
type explained struct {
	tongs.Explanation
	Words   []effectWords `json:"words"`
	Command *commandTree  `json:"command,omitempty"`
}

func (s *Server) explain(ctx context.Context, _ request, in toolCall) (explained, error) {
	e, err := s.opt.Engine.Explain(ctx, &tongs.Call{Tool: in.Tool, Args: object(in.Args), Session: s.hub.session, DryRun: in.DryRun})
	if err != nil {
		return explained{}, err
	}
	return explained{Explanation: *e, Words: plainWords(e.Effects), Command: s.commandOf(e.Args, e.Effects)}, nil
}

// begun names a call that was started.
type begun struct {
	Call string `json:"call"`
}

func (s *Server) call(_ context.Context, _ request, in toolCall) (begun, error) {
	if s.life.Err() != nil {
		return begun{}, tongs.Errorf(tongs.CodeCancelled, "the server is shutting down")
	}
	call := &tongs.Call{
		ID: id.New("c"), Tool: in.Tool, Args: object(in.Args), Session: s.hub.session, Agents: []string{"console"}, Reason: in.Reason, DryRun: in.DryRun,
	}
	ctx, cancel := context.WithCancel(s.life)
	end := s.tried.begin(call.ID, cancel)
	opened, forget := s.hub.live.expect(call.ID)
	defer forget()
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer end()
		defer cancel()
		s.opt.Engine.Call(ctx, call)
	}()
	select { // who asks for it next finds it
	case <-opened:
	case <-over:
	case <-ctx.Done():
	case <-time.After(openTime):
	}
	return begun{call.ID}, nil
}

// openTime is how long a call may take to be in the log before its name is returned without that.
const openTime = 2 * time.Second

// Channel shows the questions of calls that were made from the console: they wait there, for as long as the call does. Put
// it into the approval desk of the engine.
func (h *Hub) Channel() approval.Channel { return channel{h.session} }

// channel is that of one session.
type channel struct{ session string }

// Ask implements approval.Channel. The answer comes through the store of questions.
func (c channel) Ask(ctx context.Context, q approval.Question) (*approval.Answer, error) {
	if q.Session != c.session {
		return nil, nil
	}
	<-ctx.Done()
	return nil, fmt.Errorf("question %s: %w", q.ID, ctx.Err())
}
