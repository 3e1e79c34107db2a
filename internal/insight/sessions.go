package insight

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/engine/audit"
)

// Session is what the calls of one session come to.
type Session struct {
	ID    string    `json:"id"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Counts
	Asked  int    `json:"asked"`
	Waited Millis `json:"waitedMs"`
	Ran    Millis `json:"ranMs"`
	// Agents are the agents that made calls, as a tree in the order of their first call; who calls without one is not
	// among them.
	Agents    []Agent `json:"agents"`
	Workspace string  `json:"workspace,omitempty"`
	// Tools are the most called ones, at most five.
	Tools []string `json:"tools"`

	tools map[string]int
}

// Agent is one agent of a session: the last of a chain.
type Agent struct {
	// Chain is its name after those on whose behalf it works.
	Chain []string `json:"chain"`
	Counts
}

// Name is the agent's own name.
func (a Agent) Name() string { return a.Chain[len(a.Chain)-1] }

// Depth is how many agents it works on behalf of.
func (a Agent) Depth() int { return len(a.Chain) - 1 }

// Sessions returns the sessions that made calls since then, the one with the newest call first, at most limit of them; 0
// is all. The second result is how many there are.
func Sessions(ctx context.Context, log audit.Log, since time.Time, limit int) ([]Session, int, error) {
	return Group(audit.Facts(ctx, log, since), limit)
}

// Group puts facts together by session.
func Group(facts iter.Seq2[audit.Fact, error], limit int) ([]Session, int, error) {
	known := map[string]*Session{}
	for f, err := range facts {
		if err != nil {
			return nil, 0, err
		}
		s := known[f.Session]
		if s == nil {
			s = &Session{ID: f.Session, First: f.Started, Last: f.Started, Workspace: f.Workspace, tools: map[string]int{}}
			known[f.Session] = s
		}
		s.add(&f)
	}
	list := make([]Session, 0, len(known))
	for _, s := range known {
		s.finish()
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b Session) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID)) })
	n := len(list)
	if limit > 0 {
		list = list[:min(limit, n)]
	}
	return list, n, nil
}

// add takes up a fact. They come newest first.
func (s *Session) add(f *audit.Fact) {
	s.Counts.add(f.Outcome)
	if f.Started.Before(s.First) {
		s.First = f.Started
	}
	if end := f.Started.Add(f.Total); end.After(s.Last) {
		s.Last = end
	}
	if f.Asked {
		s.Asked++
	}
	s.Waited, s.Ran = s.Waited+Millis(f.Waited), s.Ran+Millis(f.Ran)
	s.tools[f.Tool]++
	if len(f.Agents) == 0 {
		return
	}
	i := slices.IndexFunc(s.Agents, func(a Agent) bool { return slices.Equal(a.Chain, f.Agents) })
	if i < 0 {
		i = len(s.Agents)
		s.Agents = append(s.Agents, Agent{Chain: f.Agents})
	}
	s.Agents[i].Counts.add(f.Outcome)
}

// maxTools is how many tools a session names.
const maxTools = 5

func (s *Session) finish() {
	slices.Reverse(s.Agents) // those of the oldest calls first
	for i := 0; i < len(s.Agents); i++ {
		for n := 1; n < len(s.Agents[i].Chain); n++ { // whoever delegated without calling anything else is there as well
			above := s.Agents[i].Chain[:n]
			if !slices.ContainsFunc(s.Agents, func(a Agent) bool { return slices.Equal(a.Chain, above) }) {
				s.Agents = slices.Insert(s.Agents, i, Agent{Chain: above})
				i++
			}
		}
	}
	s.Agents = tree(s.Agents, nil)
	if s.Agents == nil {
		s.Agents = []Agent{}
	}
	s.Tools = make([]string, 0, len(s.tools))
	for tool := range s.tools {
		s.Tools = append(s.Tools, tool)
	}
	slices.SortFunc(s.Tools, func(a, b string) int { return cmp.Or(cmp.Compare(s.tools[b], s.tools[a]), strings.Compare(a, b)) })
	s.Tools = s.Tools[:min(len(s.Tools), maxTools)]
	s.tools = nil
}

// tree orders agents so that each comes after the one that it works for.
func tree(agents []Agent, above []string) (list []Agent) {
	for _, a := range agents {
		if len(a.Chain) == len(above)+1 && slices.Equal(a.Chain[:len(above)], above) {
			list = append(append(list, a), tree(agents, a.Chain)...)
		}
	}
	return list
}
