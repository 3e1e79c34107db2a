// Package audittest holds what every audit.Log must do.
package audittest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/insight"
)

// Run tests a log. Make returns a new, empty one that keeps at least 1000 entries.
func Run(t *testing.T, open func(t *testing.T) audit.Log) {
	for name, test := range map[string]func(*testing.T, audit.Log){
		"row of three entries":       threeEntries,
		"rows and filters":           filters,
		"misuse is an error":         misuse,
		"secrets are not kept":       redaction,
		"closing a cancelled call":   closeAfterCancel,
		"verify and head":            verify,
		"concurrent calls":           concurrent,
		"several intents":            severalIntents,
		"nothing given is changed":   unchanged,
		"stats and export":           statsAndExport,
		"arguments that are no JSON": notJSON,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// Row returns a row to open.
func Row(call, tool string) *audit.Row {
	return &audit.Row{
		Call: call, Session: "s1", Message: "m1", Step: 2, Agents: []string{"main"}, Tool: tool,
		Started: time.Now().Round(0), Args: json.RawMessage(`{"path":"a.go"}`), Reason: "to see", PID: os.Getpid(),
	}
}

// Write takes a call through the log.
func Write(t *testing.T, log audit.Log, row *audit.Row, c *audit.Closing) {
	t.Helper()
	ctx := context.Background()
	in := &audit.Intent{
		Tool: row.Tool, Source: tongs.Source{Kind: tongs.SourceBuiltin}, Decision: tongs.PreApproved, By: "default",
		Effects: []tongs.Effect{{Kind: tongs.EffectRead, Path: tongs.Path{Rel: "a.go"}, Version: "v1"}},
	}
	if err := log.Open(ctx, row); err != nil {
		t.Fatal(err)
	}
	if err := log.Intent(ctx, row.Call, in); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(ctx, row.Call, c); err != nil {
		t.Fatal(err)
	}
}

var closedOK = &audit.Closing{Outcome: audit.OutcomeOK, Title: "done", Waited: 1, Ran: 2, Total: 3, Output: 4, Shown: 5}

func rows(t *testing.T, log audit.Log, f audit.Filter) []audit.Row {
	t.Helper()
	list, err := log.Rows(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Whole fails the test unless the chain is whole, and returns it.
func Whole(t *testing.T, log audit.Log, head string) audit.Chain {
	t.Helper()
	chain, err := log.Verify(context.Background(), head)
	if err != nil {
		t.Fatal(err)
	}
	if !chain.OK() {
		t.Fatalf("broken at %d: %s", chain.Broken, chain.Reason)
	}
	return chain
}

func threeEntries(t *testing.T, log audit.Log) {
	row := Row("c1", "read_file")
	Write(t, log, row, closedOK)
	if row.Seq != 1 {
		t.Errorf("seq %d", row.Seq)
	}
	list := rows(t, log, audit.Filter{})
	if len(list) != 1 {
		t.Fatalf("%d rows", len(list))
	}
	got := list[0]
	if got.Seq != 1 || got.Call != "c1" || got.Session != "s1" || got.Step != 2 || got.PID != os.Getpid() ||
		!got.Started.Equal(row.Started) || string(got.Args) != `{"path":"a.go"}` || got.Reason != "to see" {
		t.Errorf("got %+v", got)
	}
	if got.Intent == nil || got.Intent.Effects[0].Version != "v1" || got.Intent.Decision != tongs.PreApproved {
		t.Errorf("intent %+v", got.Intent)
	}
	if got.Close == nil || !reflect.DeepEqual(got.Close, closedOK) || got.Outcome() != audit.OutcomeOK {
		t.Errorf("close %+v", got.Close)
	}
	if chain := Whole(t, log, ""); chain.Entries != 3 || len(chain.Head) != 64 {
		t.Errorf("chain %+v", chain)
	}
}

func filters(t *testing.T, log audit.Log) {
	start := time.Now()
	for i := range 10 {
		row := Row(fmt.Sprintf("c%d", i), "read_file")
		c := *closedOK
		if i%2 == 1 {
			row.Tool, row.Session = "edit", "s2"
			c.Outcome, c.Code = audit.OutcomeRefused, tongs.CodeBlocked
		}
		row.Started = start.Add(time.Duration(i) * time.Minute)
		Write(t, log, row, &c)
	}
	if err := log.Open(t.Context(), Row("open", "shell")); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		f    audit.Filter
		want string
	}{
		"all":      {audit.Filter{}, "open c9 c8 c7 c6 c5 c4 c3 c2 c1 c0"},
		"limit":    {audit.Filter{Limit: 2}, "open c9"},
		"page":     {audit.Filter{Before: 13, Limit: 3}, "c3 c2 c1"},
		"call":     {audit.Filter{Call: "c3"}, "c3"},
		"session":  {audit.Filter{Session: "s2"}, "c9 c7 c5 c3 c1"},
		"tool":     {audit.Filter{Tool: "edit", Limit: 1}, "c9"},
		"outcome":  {audit.Filter{Outcome: audit.OutcomeRefused, Session: "s1"}, ""},
		"running":  {audit.Filter{Outcome: audit.OutcomeRunning}, "open"},
		"code":     {audit.Filter{Code: tongs.CodeBlocked, Limit: 2}, "c9 c7"},
		"since":    {audit.Filter{Since: start.Add(8 * time.Minute)}, "c9 c8"},
		"together": {audit.Filter{Tool: "read_file", Since: start.Add(5 * time.Minute), Before: 25}, "c6"},
	} {
		var got []string
		for _, r := range rows(t, log, tt.f) {
			got = append(got, r.Call)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: got %q, want %q", name, s, tt.want)
		}
	}
}

func misuse(t *testing.T, log audit.Log) {
	ctx := t.Context()
	if log.Intent(ctx, "never", &audit.Intent{}) == nil || log.Close(ctx, "never", closedOK) == nil {
		t.Error("a call that was never opened went on")
	}
	if log.Open(ctx, &audit.Row{Tool: "x"}) == nil {
		t.Error("a row without a call was opened")
	}
	if err := log.Open(ctx, Row("c", "x")); err != nil {
		t.Fatal(err)
	}
	if log.Open(ctx, Row("c", "x")) == nil {
		t.Error("a call was opened twice")
	}
	if err := log.Close(ctx, "c", closedOK); err != nil {
		t.Fatal(err)
	}
	if log.Close(ctx, "c", closedOK) == nil || log.Intent(ctx, "c", &audit.Intent{}) == nil {
		t.Error("a closed call went on")
	}
	if chain := Whole(t, log, ""); chain.Entries != 2 {
		t.Errorf("%d entries", chain.Entries)
	}
}

func redaction(t *testing.T, log audit.Log) {
	const secret = "hunter2hunter2"
	token := "ghp_" + strings.Repeat("a1B2", 9)
	row := Row("c1", "shell")
	row.Args = json.RawMessage(`{"command":"x --password ` + secret + `","token":"` + secret + `","content":"` + strings.Repeat("x", 5000) + `"}`)
	row.Reason = "use " + token
	ctx := t.Context()
	if err := log.Open(ctx, row); err != nil {
		t.Fatal(err)
	}
	err := log.Intent(ctx, "c1", &audit.Intent{
		Tool: "shell", By: "rule " + token, Repaired: []string{"token: " + secret},
		Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: []string{"x", "--password", secret, "PASSWORD=" + secret}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = log.Close(ctx, "c1", &audit.Closing{Outcome: audit.OutcomeError, Error: "bad " + token, Title: strings.Repeat("t", 9000)})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := audit.Export(ctx, log, audit.Filter{}, &out); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, secret) || strings.Contains(s, token) {
		t.Errorf("a secret was kept: %s", s)
	}
	if out.Len() > 8000 || !strings.Contains(out.String(), `"sha256"`) {
		t.Errorf("%d bytes kept", out.Len())
	}
}

func closeAfterCancel(t *testing.T, log audit.Log) {
	ctx, cancel := context.WithCancel(t.Context())
	if err := log.Open(ctx, Row("c", "x")); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := log.Close(ctx, "c", &audit.Closing{Outcome: audit.OutcomeCancelled, Code: tongs.CodeCancelled}); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, log, audit.Filter{})[0].Outcome(); got != audit.OutcomeCancelled {
		t.Errorf("outcome %s", got)
	}
}

func verify(t *testing.T, log audit.Log) {
	if chain := Whole(t, log, ""); chain.Entries != 0 || chain.Head != "" {
		t.Errorf("empty: %+v", chain)
	}
	Write(t, log, Row("c1", "x"), closedOK)
	first := Whole(t, log, "").Head
	Write(t, log, Row("c2", "x"), closedOK)
	if second := Whole(t, log, strings.ToUpper(first)+"\n"); second.Head == first || second.Entries != 6 {
		t.Errorf("%+v", second)
	}
	chain, err := log.Verify(t.Context(), strings.Repeat("0", 64))
	if err != nil || chain.OK() || chain.Broken != 7 {
		t.Errorf("an unknown head: %+v, %v", chain, err)
	}
	if _, err := log.Verify(t.Context(), "abc"); err == nil {
		t.Error("half a hash was taken")
	}
}

func concurrent(t *testing.T, log audit.Log) {
	const callers, calls = 8, 20
	var wg sync.WaitGroup
	for n := range callers {
		wg.Go(func() {
			for i := range calls {
				call := fmt.Sprintf("c%d.%d", n, i)
				if log.Open(t.Context(), Row(call, "x")) != nil || log.Intent(t.Context(), call, &audit.Intent{Tool: "x"}) != nil ||
					log.Close(t.Context(), call, closedOK) != nil {
					t.Error("a write failed")
				}
			}
		})
	}
	wg.Wait()
	if chain := Whole(t, log, ""); chain.Entries != 3*callers*calls {
		t.Errorf("%d entries", chain.Entries)
	}
	list := rows(t, log, audit.Filter{})
	seen := map[string]bool{}
	for _, r := range list {
		if seen[r.Call] || r.Intent == nil || r.Close == nil {
			t.Errorf("row %+v", r)
		}
		seen[r.Call] = true
	}
	if len(list) != callers*calls {
		t.Errorf("%d rows", len(list))
	}
}

func severalIntents(t *testing.T, log audit.Log) {
	if err := log.Open(t.Context(), Row("c", "x")); err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"first", "second"} {
		if err := log.Intent(t.Context(), "c", &audit.Intent{Tool: "x", By: by}); err != nil {
			t.Fatal(err)
		}
	}
	got := rows(t, log, audit.Filter{})
	if len(got) != 1 || got[0].Intent.By != "second" || got[0].Outcome() != audit.OutcomeRunning {
		t.Errorf("%+v", got)
	}
}

func unchanged(t *testing.T, log audit.Log) {
	row := Row("c", "x")
	row.Args = json.RawMessage(`{"password":"x"}`)
	argv := []string{"--password", "x"}
	in := &audit.Intent{Tool: "x", Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: argv, Why: "password=hunter2"}}}
	if err := log.Open(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if err := log.Intent(t.Context(), "c", in); err != nil {
		t.Fatal(err)
	}
	if string(row.Args) != `{"password":"x"}` || argv[1] != "x" || in.Effects[0].Why != "password=hunter2" {
		t.Error("the log changed what it was given")
	}
}

func statsAndExport(t *testing.T, log audit.Log) {
	for i := range 20 {
		c := *closedOK
		c.Ran, c.Waited = time.Duration(i+1)*time.Millisecond, time.Second
		if i == 19 {
			c.Outcome, c.Code = audit.OutcomeError, tongs.CodeTimeout
		}
		Write(t, log, Row(fmt.Sprintf("c%d", i), "shell"), &c)
	}
	Write(t, log, Row("r", "edit"), &audit.Closing{Outcome: audit.OutcomeRefused, Code: tongs.CodeBlocked})
	s, err := insight.Summarize(t.Context(), log, insight.Window{Until: time.Now().Add(time.Hour), Bucket: insight.Millis(time.Hour)}, audit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	timeouts := insight.CodeCount{Code: tongs.CodeTimeout, Calls: 1}
	if s.Calls != 21 || s.OK != 19 || !slices.Contains(s.Codes, timeouts) || s.Ran < insight.Millis(210*time.Millisecond) || len(s.Tools) != 2 {
		t.Errorf("%+v", s)
	}
	shell := s.Tools[0]
	if shell.Tool != "shell" || shell.Errors != 1 || shell.Waited != insight.Millis(20*time.Second) || shell.P50 != insight.Millis(10*time.Millisecond) || shell.P95 != insight.Millis(19*time.Millisecond) {
		t.Errorf("%+v", shell)
	}
	if edit := s.Tools[1]; edit.Refused != 1 || edit.P50 != 0 {
		t.Errorf("%+v", edit)
	}
	var out bytes.Buffer
	if err := audit.Export(t.Context(), log, audit.Filter{Tool: "shell", Limit: 5}, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range lines {
		var r audit.Row
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Tool != "shell" || r.Close == nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if len(lines) != 5 {
		t.Errorf("%d lines", len(lines))
	}
}

func notJSON(t *testing.T, log audit.Log) {
	for i, args := range []string{"", "{", "\xff\xfe", "nul", `{"password": hunter2hunter2`} {
		row := Row(fmt.Sprintf("c%d", i), "x")
		row.Args = json.RawMessage(args)
		Write(t, log, row, &audit.Closing{Outcome: audit.OutcomeError, Code: tongs.CodeInvalidArgs})
	}
	if list := rows(t, log, audit.Filter{}); len(list) != 5 || strings.Contains(string(list[0].Args), "hunter2") {
		t.Errorf("%+v", list)
	}
	Whole(t, log, "")
}
