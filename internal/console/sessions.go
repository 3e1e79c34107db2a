package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/insight"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/tools/todo"
	"github.com/tongs-ai/tongs/worker"
)

// Workers are the runs of workers, with their lists of things to do.
type Workers interface {
	worker.Sessions
	// Todos returns the list of a run as it is now, nil where it has none.
	Todos(ctx context.Context, s *worker.Session) ([]todo.Item, error)
}

func (s *Server) sessionRoutes() []route {
	return []route{
		get("/api/sessions", "Runs of workers, and the sessions of other clients, the newest first", s.listSessions),
		get("/api/sessions/{id}", "One session: its agents, its calls, and the runs of workers in it", s.showSession),
		get("/api/runs/{id}", "One run of a worker: what was said, called and answered", s.showRun),
	}
}

// sessionView is a session on the screen.
type sessionView struct {
	ID string `json:"id"`
	// Kind is "worker" or "client".
	Kind  string `json:"kind"`
	Title string `json:"title"`
	// Prompt, Model and State are of a worker. State is one of running, done, limited, stopped, failed, interrupted.
	Prompt string    `json:"prompt"`
	Model  string    `json:"model"`
	State  string    `json:"state"`
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
	insight.Counts
	Asked  int            `json:"asked"`
	Waited insight.Millis `json:"waitedMs"`
	Tokens model.Usage    `json:"tokens"`
	Cost   float64        `json:"cost"`
	Priced bool           `json:"priced"`
	// Workspace is that of the session, where it is not the one that is served.
	Workspace string      `json:"workspace"`
	Tools     []string    `json:"tools"`
	Agents    []agentView `json:"agents"`
}

// agentView is an agent in the tree of a session.
type agentView struct {
	Name  string   `json:"name"`
	Depth int      `json:"depth"`
	Chain []string `json:"chain"`
	insight.Counts
}

type sessionList struct {
	Sessions []sessionView `json:"sessions"`
	// Total is how many there are; at most 200 are returned.
	Total int `json:"total"`
}

const maxSessions = 200

func (s *Server) listSessions(ctx context.Context, _ request, in windowQuery) (sessionList, error) {
	if in.Window == "" {
		in.Window = "week"
	}
	w, err := in.window(time.Now())
	if err != nil {
		return sessionList{}, err
	}
	logged, _, err := insight.Sessions(ctx, s.opt.Audit, w.Since, 0)
	if err != nil {
		return sessionList{}, err
	}
	runs, err := s.outermost(ctx)
	if err != nil {
		return sessionList{}, err
	}
	list := sessionList{Sessions: []sessionView{}}
	for _, l := range logged {
		v := s.viewSession(l)
		if run := runs[l.ID]; run != nil {
			v.ofWorker(run)
			delete(runs, l.ID)
		}
		list.Sessions = append(list.Sessions, v)
	}
	for _, run := range runs { // those that called nothing
		if run.Updated.Before(w.Since) {
			continue
		}
		v := s.viewSession(insight.Session{ID: run.Log, First: run.Started, Last: run.Updated, Workspace: run.Workspace})
		v.ofWorker(run)
		list.Sessions = append(list.Sessions, v)
	}
	slices.SortFunc(list.Sessions, func(a, b sessionView) int {
		if c := b.Last.Compare(a.Last); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	list.Total = len(list.Sessions)
	list.Sessions = list.Sessions[:min(list.Total, maxSessions)]
	return list, nil
}

// outermost returns the newest runs that no worker called, by their session in the log.
func (s *Server) outermost(ctx context.Context) (map[string]*worker.Session, error) {
	runs := map[string]*worker.Session{}
	if s.opt.Insight.Workers == nil {
		return runs, nil
	}
	list, err := s.opt.Insight.Workers.List(ctx, worker.Filter{Outermost: true, Limit: maxSessions})
	for i := range list {
		runs[list[i].Log] = &list[i]
	}
	return runs, err
}

func (s *Server) viewSession(l insight.Session) sessionView {
	if l.Workspace == s.opt.Insight.Workspace {
		l.Workspace = ""
	}
	v := sessionView{
		ID: l.ID, Kind: "client", Title: l.ID, First: l.First, Last: l.Last, Counts: l.Counts, Asked: l.Asked, Waited: l.Waited,
		Workspace: l.Workspace, Tools: append([]string{}, l.Tools...), Agents: []agentView{},
	}
	for _, a := range l.Agents {
		v.Agents = append(v.Agents, agentView{Name: a.Name(), Depth: a.Depth(), Chain: a.Chain, Counts: a.Counts})
	}
	if len(v.Agents) > 0 {
		v.Title = v.Agents[0].Name
	}
	if l.Running > 0 {
		v.State = string(worker.Running)
	}
	return v
}

func (v *sessionView) ofWorker(run *worker.Session) {
	v.Kind, v.Title, v.Prompt, v.Model, v.State = "worker", run.Worker, cutText(run.Prompt, 2000), run.Model, runState(run)
	v.Tokens, v.Cost, v.Priced = run.Total, run.Cost, run.Priced
	if run.Updated.After(v.Last) {
		v.Last = run.Updated
	}
	if run.Started.Before(v.First) {
		v.First = run.Started
	}
}

// runState is the state of a run; one whose process is gone was interrupted.
func runState(run *worker.Session) string {
	if run.State == worker.Running && run.PID > 0 && !audit.Alive(run.PID, run.Updated) {
		return audit.OutcomeInterrupted
	}
	return string(run.State)
}

// callBrief is a call in a list.
type callBrief struct {
	Call    string         `json:"call"`
	Parent  string         `json:"parent"`
	Agents  []string       `json:"agents"`
	Tool    string         `json:"tool"`
	Title   string         `json:"title"`
	Args    string         `json:"args"`
	Reason  string         `json:"reason"`
	Started time.Time      `json:"started"`
	Outcome string         `json:"outcome"`
	Code    tongs.Code     `json:"code"`
	Error   string         `json:"error"`
	Asked   bool           `json:"asked"`
	By      string         `json:"by"`
	Ran     insight.Millis `json:"ranMs"`
	Waited  insight.Millis `json:"waitedMs"`
}

func brief(r *audit.Row) callBrief {
	f := audit.FactOf(r)
	b := callBrief{
		Call: r.Call, Parent: r.Parent, Agents: append([]string{}, r.Agents...), Tool: f.Tool, Title: f.Title, Args: cutText(string(r.Args), 400),
		Reason: cutText(r.Reason, 1000), Started: r.Started, Outcome: f.Outcome, Code: f.Code, Asked: f.Asked, By: f.By,
		Ran: insight.Millis(f.Ran), Waited: insight.Millis(f.Waited),
	}
	if r.Close != nil {
		b.Error = cutText(r.Close.Error, 1000)
	}
	return b
}

// runView is a run of a worker in the tree of a session.
type runView struct {
	ID      string      `json:"id"`
	Parent  string      `json:"parent"`
	Worker  string      `json:"worker"`
	Model   string      `json:"model"`
	State   string      `json:"state"`
	Why     string      `json:"why"`
	Prompt  string      `json:"prompt"`
	Depth   int         `json:"depth"`
	Started time.Time   `json:"started"`
	Updated time.Time   `json:"updated"`
	Turns   int         `json:"turns"`
	Calls   int         `json:"calls"`
	Usage   model.Usage `json:"usage"`
	Cost    float64     `json:"cost"`
	Priced  bool        `json:"priced"`
	Files   int         `json:"files"`
	Lines   int         `json:"lines"`
}

func viewRun(run *worker.Session) runView {
	return runView{
		ID: run.ID, Parent: run.Parent, Worker: run.Worker, Model: run.Model, State: runState(run), Why: run.Why,
		Prompt: cutText(run.Prompt, 2000),
		Depth:  max(0, len(run.Agents)-1), Started: run.Started, Updated: run.Updated, Turns: run.Turns, Calls: run.Calls, Usage: run.Usage,
		Cost: run.Cost, Priced: run.Priced, Files: run.Files, Lines: run.Lines,
	}
}

// sessionDetail is one session.
type sessionDetail struct {
	Session sessionView `json:"session"`
	// Calls are in their order; where there are many, the newest of them.
	Calls []callBrief `json:"calls"`
	// Left is how many older calls are not among them.
	Left int       `json:"left"`
	Runs []runView `json:"runs"`
}

const maxSessionCalls = 500

func (s *Server) showSession(ctx context.Context, r request, _ struct{}) (sessionDetail, error) {
	id := r.PathValue("id")
	d := sessionDetail{Calls: []callBrief{}, Runs: []runView{}}
	var facts []audit.Fact
	for row, err := range audit.Stream(ctx, s.opt.Audit, audit.Filter{Session: id}) {
		if err != nil {
			return d, err
		}
		facts = append(facts, audit.FactOf(&row))
		if len(d.Calls) < maxSessionCalls {
			d.Calls = append(d.Calls, brief(&row))
		}
	}
	slices.Reverse(d.Calls)
	d.Left = len(facts) - len(d.Calls)
	grouped, _, err := insight.Group(func(yield func(audit.Fact, error) bool) {
		for _, f := range facts {
			if !yield(f, nil) {
				return
			}
		}
	}, 0)
	if err != nil {
		return d, err
	}
	outer, err := s.runsOf(ctx, id, &d)
	switch {
	case err != nil:
		return d, err
	case len(grouped) > 0:
		d.Session = s.viewSession(grouped[0])
	case outer != nil:
		d.Session = s.viewSession(insight.Session{ID: id, First: outer.Started, Last: outer.Updated, Workspace: outer.Workspace})
	default:
		return d, fmt.Errorf("session %q: %w", id, errNotFound)
	}
	if outer != nil {
		d.Session.ofWorker(outer)
	}
	return d, nil
}

// runsOf fills in the runs of workers of a session and returns the outermost.
func (s *Server) runsOf(ctx context.Context, id string, d *sessionDetail) (*worker.Session, error) {
	if s.opt.Insight.Workers == nil {
		return nil, nil
	}
	outer, err := s.outermost(ctx)
	if err != nil || outer[id] == nil {
		return nil, err
	}
	list, err := s.opt.Insight.Workers.List(ctx, worker.Filter{Root: outer[id].ID})
	slices.SortFunc(list, func(a, b worker.Session) int { return a.Started.Compare(b.Started) })
	var under func(parent string)
	under = func(parent string) {
		for i := range list {
			if list[i].Parent == parent {
				d.Runs = append(d.Runs, viewRun(&list[i]))
				under(list[i].ID)
			}
		}
	}
	under("")
	return outer[id], err
}

// partView is a piece of a message: text, thinking, a call, or the result of one.
type partView struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	// Cut is how many bytes of the text are left out.
	Cut int `json:"cut"`
	// ID joins a call and its result; Call is the call in the log.
	ID      string          `json:"id"`
	Call    string          `json:"call"`
	Tool    string          `json:"tool"`
	Title   string          `json:"title"`
	Code    tongs.Code      `json:"code"`
	Took    insight.Millis  `json:"tookMs"`
	Run     string          `json:"run"`
	Changed []worker.Change `json:"changed"`
}

// entryView is a step of a run.
type entryView struct {
	Seq   int            `json:"seq"`
	At    time.Time      `json:"at"`
	Turn  int            `json:"turn"`
	Role  string         `json:"role"`
	Model string         `json:"model"`
	Usage model.Usage    `json:"usage"`
	Took  insight.Millis `json:"tookMs"`
	Parts []partView     `json:"parts"`
}

// runDetail is a run of a worker.
type runDetail struct {
	Run     runView     `json:"run"`
	Entries []entryView `json:"entries"`
	// Left is how many older entries are left out.
	Left  int         `json:"left"`
	Todos []todo.Item `json:"todos"`
}

const (
	maxEntries = 600
	maxPart    = 16 << 10
)

func (s *Server) showRun(ctx context.Context, r request, _ struct{}) (runDetail, error) {
	d := runDetail{Entries: []entryView{}, Todos: []todo.Item{}}
	id := r.PathValue("id")
	if s.opt.Insight.Workers == nil {
		return d, fmt.Errorf("run %q: %w", id, errNotFound)
	}
	run, entries, err := s.opt.Insight.Workers.Load(ctx, id, 0)
	if errors.Is(err, worker.ErrNoSession) {
		return d, fmt.Errorf("run %q: %w", id, errNotFound)
	}
	if err != nil {
		return d, err
	}
	d.Run = viewRun(run)
	d.Left = max(0, len(entries)-maxEntries)
	for _, e := range entries[d.Left:] {
		d.Entries = append(d.Entries, viewEntry(e))
	}
	todos, err := s.opt.Insight.Workers.Todos(ctx, run)
	d.Todos = append(d.Todos, todos...)
	return d, err
}

func viewEntry(e worker.Entry) entryView {
	v := entryView{
		Seq: e.Seq, At: e.At, Turn: e.Turn, Role: string(e.Message.Role), Model: e.Model, Usage: e.Usage,
		Took: insight.Millis(e.Took), Parts: []partView{},
	}
	for _, part := range e.Message.Parts {
		p := partView{Changed: []worker.Change{}}
		switch {
		case part.Thinking != nil:
			p.Kind, p.Text = "thinking", part.Thinking.Text
		case part.Call != nil:
			p.Kind, p.Text, p.ID, p.Tool = "call", part.Call.Args, part.Call.ID, part.Call.Name
		case part.Result != nil:
			p.Kind, p.Text, p.ID, p.Tool = "result", part.Result.Text, part.Result.ID, part.Result.Name
			p.note(e.Calls)
		case part.Image != nil:
			p.Kind, p.Text = "image", part.Image.MIME
		default:
			p.Kind, p.Text = "text", part.Text
		}
		if p.Kind == "thinking" && p.Text == "" {
			continue
		}
		whole := len(p.Text)
		p.Text = cutText(p.Text, maxPart)
		p.Cut = whole - len(p.Text)
		v.Parts = append(v.Parts, p)
	}
	return v
}

// note adds what is known of the call that the part is the result of.
func (p *partView) note(calls []worker.CallNote) {
	for _, c := range calls {
		if c.ID == p.ID {
			p.Call, p.Title, p.Code, p.Took, p.Run = c.Call, c.Title, c.Code, insight.Millis(c.Took), c.Session
			p.Changed = append(p.Changed, c.Changed...)
			return
		}
	}
}

// cutText returns the start of a text, at most n bytes of it, whole characters.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
