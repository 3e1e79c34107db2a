package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/tongs-ai/tongs"
)

// Stats sums up calls.
type Stats struct {
	Calls int `json:"calls"`
	// Outcomes counts the rows by outcome, Codes those with an error by its code.
	Outcomes map[string]int     `json:"outcomes"`
	Codes    map[tongs.Code]int `json:"codes"`
	// Waited is the time spent waiting for a person, Ran that of the tools.
	Waited time.Duration `json:"waited"`
	Ran    time.Duration `json:"ran"`
	// Tools are in the order of their calls, the most called first.
	Tools []ToolStats `json:"tools"`
}

// ToolStats sums up the calls of one tool.
type ToolStats struct {
	Tool   string `json:"tool"`
	Calls  int    `json:"calls"`
	Errors int    `json:"errors"`
	// Refused are the calls that were not allowed.
	Refused int                `json:"refused"`
	Codes   map[tongs.Code]int `json:"codes,omitempty"`
	// P50 and P95 are percentiles of the running time, of the calls that ended.
	P50    time.Duration `json:"p50"`
	P95    time.Duration `json:"p95"`
	Waited time.Duration `json:"waited"`
	// Asked is how many calls a person was asked about.
	Asked  int   `json:"asked"`
	Output int64 `json:"output"`
	Shown  int64 `json:"shown"`

	ran []time.Duration
}

// Summarize sums up rows. It returns the first error that they yield.
func Summarize(rows iter.Seq2[Row, error]) (Stats, error) {
	s := Stats{Outcomes: map[string]int{}, Codes: map[tongs.Code]int{}, Tools: []ToolStats{}}
	tools := map[string]*ToolStats{}
	for row, err := range rows {
		if err != nil {
			return Stats{}, err
		}
		name := row.Tool
		if row.Intent != nil && row.Intent.Tool != "" {
			name = row.Intent.Tool
		}
		t := tools[name]
		if t == nil {
			t = &ToolStats{Tool: name, Codes: map[tongs.Code]int{}}
			tools[name] = t
		}
		s.add(t, &row)
	}
	for _, t := range tools {
		slices.Sort(t.ran)
		t.P50, t.P95 = percentile(t.ran, 50), percentile(t.ran, 95)
		t.ran = nil
		s.Tools = append(s.Tools, *t)
	}
	slices.SortFunc(s.Tools, func(a, b ToolStats) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Tool, b.Tool))
	})
	return s, nil
}

func (s *Stats) add(t *ToolStats, row *Row) {
	s.Calls++
	t.Calls++
	s.Outcomes[row.Outcome()]++
	if row.Intent != nil && row.Intent.Question != "" {
		t.Asked++
	}
	c := row.Close
	if c == nil {
		return
	}
	s.Waited, s.Ran = s.Waited+c.Waited, s.Ran+c.Ran
	t.Waited, t.Output, t.Shown = t.Waited+c.Waited, t.Output+c.Output, t.Shown+c.Shown
	switch c.Outcome {
	case OutcomeOK:
	case OutcomeRefused:
		t.Refused++
	default:
		t.Errors++
	}
	if c.Code != "" {
		s.Codes[c.Code]++
		t.Codes[c.Code]++
	}
	if c.Outcome != OutcomeRefused {
		t.ran = append(t.ran, c.Ran)
	}
}

// percentile returns the nearest-rank percentile of sorted durations, 0 where there are none.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// Stream yields the rows of any log that fit the filter, newest first.
func Stream(ctx context.Context, log Log, f Filter) iter.Seq2[Row, error] {
	if s, ok := log.(Streamer); ok {
		return s.Stream(ctx, f)
	}
	return func(yield func(Row, error) bool) {
		rows, err := log.Rows(ctx, f)
		if err != nil {
			yield(Row{}, err)
			return
		}
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// Collect returns the rows as a slice, never nil, or the first error.
func Collect(rows iter.Seq2[Row, error]) ([]Row, error) {
	list := []Row{}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, nil
}

// Export writes the rows that fit the filter as JSON, one a line, newest first.
func Export(ctx context.Context, log Log, f Filter, w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for row, err := range Stream(ctx, log, f) {
		if err != nil {
			return err
		}
		if err := enc.Encode(&row); err != nil {
			return fmt.Errorf("export of audit row %d: %w", row.Seq, err)
		}
	}
	return nil
}
