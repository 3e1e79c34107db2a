package console

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/tongs-ai/tongs/engine/audit"
)

// tallied counts the calls of one tool that ended in one way.
type tallied struct {
	tool, outcome, code string
	calls               int64
	waited, ran         time.Duration
	output, shown       int64
}

// tally counts what the log tells, from its start: each look reads only what is new.
type tally struct {
	mu     sync.Mutex
	last   int64
	tools  map[int64]string // of the rows that are open
	counts map[[3]string]*tallied
}

// get returns the counts, in stable order.
func (t *tally) get(ctx context.Context, log audit.Log) ([]tallied, error) {
	follower, ok := log.(audit.Follower)
	if !ok {
		return nil, fmt.Errorf("the log cannot be followed")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.tools, t.counts = map[int64]string{}, map[[3]string]*tallied{}
	}
	for {
		entries, err := follower.After(ctx, t.last, 2000)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			if err := t.add(&entries[i]); err != nil {
				return nil, err
			}
		}
		if len(entries) < 2000 {
			break
		}
	}
	list := make([]tallied, 0, len(t.counts))
	for _, c := range t.counts {
		list = append(list, *c)
	}
	sortTally(list)
	return list, nil
}

func (t *tally) add(e *audit.Entry) error {
	t.last = e.Seq
	switch e.Kind {
	case audit.EntryIntent:
		var in audit.Intent
		if err := json.Unmarshal(e.Data, &in); err != nil {
			return fmt.Errorf("audit entry %d: %w", e.Seq, err)
		}
		if len(t.tools) < 1<<20 {
			t.tools[e.Row] = in.Tool
		}
	case audit.EntryClose:
		var c audit.Closing
		if err := json.Unmarshal(e.Data, &c); err != nil {
			return fmt.Errorf("audit entry %d: %w", e.Seq, err)
		}
		tool := t.tools[e.Row]
		delete(t.tools, e.Row)
		if tool == "" {
			tool = "unknown"
		}
		t.count(tool, &c)
	}
	return nil
}

func (t *tally) count(tool string, c *audit.Closing) {
	key := [3]string{tool, c.Outcome, string(c.Code)}
	n := t.counts[key]
	if n == nil {
		if len(t.counts) >= maxTools*8 {
			key[0] = "other"
		}
		if n = t.counts[key]; n == nil {
			n = &tallied{tool: key[0], outcome: key[1], code: key[2]}
			t.counts[key] = n
		}
	}
	n.calls++
	n.waited, n.ran = n.waited+c.Waited, n.ran+c.Ran
	n.output, n.shown = n.output+c.Output, n.shown+c.Shown
}
