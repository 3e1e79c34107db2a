package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/question"
)

// Questions lists questions. A pending one that a call waits for is "waiting".
func (p *Printer) Questions(questions []approval.Question, attended func(id string) bool) error {
	if len(questions) == 0 {
		fmt.Fprintln(p.Err, "No questions are waiting for an answer.")
		return nil
	}
	var rows [][]string
	for _, q := range questions {
		state := string(q.StateAt(time.Now()))
		if state == string(approval.Pending) && attended(q.ID) {
			state = "waiting"
		}
		rows = append(rows, []string{q.ID, state, q.Created.Format(time.DateTime), question.Summary(&q)})
	}
	return p.Table([]string{"ID", "STATE", "ASKED", "WHAT"}, rows)
}

// Grants lists remembered approvals.
func (p *Printer) Grants(grants []policy.Grant) error {
	if len(grants) == 0 {
		fmt.Fprintln(p.Err, "No approval is remembered.")
		return nil
	}
	var rows [][]string
	for _, g := range grants {
		covers := make([]string, len(g.Covers))
		for i, c := range g.Covers {
			covers[i] = c.String()
		}
		scope := string(g.Scope)
		if g.Key.Session != "" {
			scope += " " + g.Key.Session
		}
		rows = append(rows, []string{g.ID, scope, g.Key.Tool, g.At.Format(time.DateTime), g.By, strings.Join(covers, "; ")})
	}
	return p.Table([]string{"ID", "SCOPE", "TOOL", "GIVEN", "BY", "COVERS"}, rows)
}
