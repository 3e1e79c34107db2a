package insight_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/insight"
)

var noon = time.Date(2026, 5, 4, 12, 0, 30, 0, time.UTC)

func sequence(facts []audit.Fact) iter.Seq2[audit.Fact, error] {
	return func(yield func(audit.Fact, error) bool) {
		for _, f := range facts {
			if !yield(f, nil) {
				return
			}
		}
	}
}

func sum(t *testing.T, w insight.Window, facts ...audit.Fact) *insight.Stats {
	t.Helper()
	s, err := insight.Sum(sequence(facts), w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fact(tool, outcome string, ago time.Duration, change ...func(*audit.Fact)) audit.Fact {
	f := audit.Fact{Tool: tool, Outcome: outcome, Started: noon.Add(-ago), Session: "s", Decided: true, Decision: tongs.PreApproved}
	for _, c := range change {
		c(&f)
	}
	return f
}

func TestSum(t *testing.T) {
	asked := func(wait time.Duration, code tongs.Code) func(*audit.Fact) {
		return func(f *audit.Fact) { f.Asked, f.Waited, f.Code, f.Decision = true, wait, code, tongs.Ask }
	}
	s := sum(t, insight.Last(time.Hour, noon),
		fact("shell", audit.OutcomeOK, time.Minute, func(f *audit.Fact) {
			f.Ran, f.Output, f.Shown, f.Rules, f.Source = 10*time.Millisecond, 5000, 1000, []string{"r_1", "r_2"}, tongs.SourceBuiltin
		}),
		fact("shell", audit.OutcomeError, 2*time.Minute, func(f *audit.Fact) {
			f.Ran, f.Code, f.Shown, f.Rules = 30*time.Millisecond, tongs.CodeTimeout, 100, []string{"r_1"}
		}),
		fact("shell", audit.OutcomeRefused, 3*time.Minute, asked(4*time.Second, tongs.CodeDenied)),
		fact("shell", audit.OutcomeOK, 3*time.Minute, asked(2*time.Second, ""), func(f *audit.Fact) { f.Ran = 20 * time.Millisecond }),
		fact("shell", audit.OutcomeRefused, 4*time.Minute, func(f *audit.Fact) { f.Code, f.Decision = tongs.CodeBlocked, tongs.Blocked }),
		fact("edit", audit.OutcomeRefused, 4*time.Minute, asked(0, tongs.CodeApprovalRequired)),
		fact("edit", audit.OutcomeOK, 5*time.Minute, func(f *audit.Fact) { f.By, f.Session = "grant g_1,g_2", "other" }),
		fact("edit", audit.OutcomeRunning, 5*time.Minute, func(f *audit.Fact) { f.Decided = false }),
		fact("edit", audit.OutcomeInterrupted, 5*time.Minute, func(f *audit.Fact) { f.Copy = true }),
		fact("edit", audit.OutcomeOK, 61*time.Minute),
		fact("edit", audit.OutcomeOK, -time.Second),
	)
	want := insight.Counts{Calls: 9, OK: 3, Errors: 1, Refused: 3, Running: 1, Interrupted: 1}
	if s.Counts != want {
		t.Errorf("counts %+v", s.Counts)
	}
	if s.Decisions != (insight.Decisions{PreApproved: 3, Copy: 1, Ask: 3, Blocked: 1}) {
		t.Errorf("decisions %+v", s.Decisions)
	}
	if s.Denials != (insight.Denials{Person: 1, Rule: 1, Unanswered: 1}) {
		t.Errorf("denials %+v", s.Denials)
	}
	if s.Approval != (insight.Approval{
		Asked: 3, Approved: 1, P50: insight.Millis(2 * time.Second), P95: insight.Millis(4 * time.Second),
		Max: insight.Millis(4 * time.Second), Total: insight.Millis(6 * time.Second),
	}) {
		t.Errorf("approval %+v", s.Approval)
	}
	if s.Bytes != (insight.Bytes{Output: 5000, Shown: 1100, Saved: 4000}) || s.Sessions != 2 {
		t.Errorf("bytes %+v, %d sessions", s.Bytes, s.Sessions)
	}
	if s.Rules["r_1"].Calls != 2 || s.Rules["r_2"].Calls != 1 || !s.Rules["r_1"].Last.Equal(noon.Add(-time.Minute)) || s.Grants["g_2"].Calls != 1 {
		t.Errorf("hits %+v %+v", s.Rules, s.Grants)
	}
	shell := s.Tools[0]
	if shell.Tool != "shell" || shell.Calls != 5 || shell.P50 != insight.Millis(20*time.Millisecond) || shell.P95 != insight.Millis(30*time.Millisecond) ||
		shell.SuccessRate != 2.0/3 || shell.Asked != 2 || !shell.LastUsed.Equal(noon.Add(-time.Minute)) || shell.Bytes.Saved != 4000 {
		t.Errorf("shell %+v", shell)
	}
	if len(s.Codes) != 4 || s.Codes[0].Calls != 1 {
		t.Errorf("codes %+v", s.Codes)
	}
	if len(s.Buckets) != 61 || s.Buckets[59].Calls != 1 || s.Buckets[57].Calls != 2 || s.Buckets[55].Running != 1 {
		t.Errorf("%d buckets: %+v", len(s.Buckets), s.Buckets)
	}
	total := 0
	for _, b := range s.Buckets {
		total += b.Calls
	}
	if total != s.Calls {
		t.Errorf("%d calls in buckets, %d in all", total, s.Calls)
	}
}

func TestSumOfNothing(t *testing.T) {
	s := sum(t, insight.Last(24*time.Hour, noon))
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"codes", "tools", "buckets", "rules", "grants"} {
		if back[key] == nil {
			t.Errorf("%s is null", key)
		}
	}
	failed := errors.New("no disk")
	_, err = insight.Sum(func(yield func(audit.Fact, error) bool) { yield(audit.Fact{}, failed) }, insight.Window{})
	if !errors.Is(err, failed) {
		t.Error(err)
	}
}

func TestLast(t *testing.T) {
	for length, want := range map[time.Duration]time.Duration{
		time.Minute: time.Second, time.Hour: time.Minute, 24 * time.Hour: time.Hour, 7 * 24 * time.Hour: 6 * time.Hour,
		30 * 24 * time.Hour: 24 * time.Hour, 20 * 365 * 24 * time.Hour: 364 * 24 * time.Hour,
	} {
		w := insight.Last(length, noon)
		if time.Duration(w.Bucket) != want || w.Until.Sub(w.Since) != length {
			t.Errorf("%s: %+v", length, w)
		}
		if n := len(sum(t, w).Buckets); n > 62 && length < 365*24*time.Hour {
			t.Errorf("%s has %d buckets", length, n)
		}
	}
}

func TestMillis(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1234567 * time.Nanosecond: "1.235", 0: "0", 2 * time.Second: "2000",
	} {
		data, err := json.Marshal(insight.Millis(d))
		var back insight.Millis
		if err != nil || string(data) != want || json.Unmarshal(data, &back) != nil || time.Duration(back).Round(time.Microsecond) != d.Round(time.Microsecond) {
			t.Errorf("%s: %s, %v, %s", d, data, err, time.Duration(back))
		}
	}
	if got := insight.Millis(1234567 * time.Microsecond).String(); got != "1.23s" {
		t.Error(got)
	}
}

func TestInForce(t *testing.T) {
	r := tongs.Rule{Layer: tongs.LayerWorkspace, Tool: "edit", Decision: tongs.PreApproved, Untrusted: true}
	s := sum(t, insight.Last(time.Hour, noon), fact("edit", audit.OutcomeOK, time.Minute, func(f *audit.Fact) { f.Rules = []string{policy.RuleID(r)} }))
	list := s.InForce([]tongs.Rule{r, {Tool: "shell"}})
	if len(list) != 2 || list[0].Hits.Calls != 1 || !list[0].Void || list[1].Hits.Calls != 0 || list[1].Void {
		t.Errorf("%+v", list)
	}
}

func TestGroup(t *testing.T) {
	by := func(session string, agents ...string) func(*audit.Fact) {
		return func(f *audit.Fact) { f.Session, f.Agents = session, agents }
	}
	list, n, err := insight.Group(sequence([]audit.Fact{
		fact("edit", audit.OutcomeOK, 1*time.Minute, by("b")),
		fact("grep", audit.OutcomeOK, 2*time.Minute, by("a", "lead", "tester")),
		fact("edit", audit.OutcomeError, 3*time.Minute, by("a", "lead", "writer", "helper")),
		fact("edit", audit.OutcomeOK, 4*time.Minute, by("a", "lead")),
	}), 0)
	if err != nil || n != 2 || list[0].ID != "b" || len(list[0].Agents) != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	a := list[1]
	var names []string
	for _, agent := range a.Agents {
		names = append(names, fmt.Sprint(agent.Depth(), agent.Name(), agent.Calls))
	}
	if !slices.Equal(names, []string{"0lead1", "1writer0", "2helper1", "1tester1"}) {
		t.Errorf("%v", names)
	}
	if a.Calls != 3 || a.Errors != 1 || !reflect.DeepEqual(a.Tools, []string{"edit", "grep"}) || !a.First.Equal(noon.Add(-4*time.Minute)) {
		t.Errorf("%+v", a)
	}
	if list, n, _ := insight.Group(sequence([]audit.Fact{fact("x", "ok", 0, by("a")), fact("x", "ok", 1, by("b"))}), 1); len(list) != 1 || n != 2 {
		t.Errorf("%d of %d", len(list), n)
	}
}

func BenchmarkSum(b *testing.B) {
	facts := make([]audit.Fact, 100_000)
	for i := range facts {
		facts[i] = fact(fmt.Sprintf("tool%d", i%20), audit.OutcomeOK, time.Duration(i)*time.Second, func(f *audit.Fact) {
			f.Ran, f.Rules = time.Duration(i%977)*time.Millisecond, []string{"r_1"}
		})
	}
	w := insight.Last(7*24*time.Hour, noon)
	for b.Loop() {
		if s, err := insight.Sum(sequence(facts), w); err != nil || s.Calls != len(facts) {
			b.Fatal(s.Calls, err)
		}
	}
}
