package approval_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

func subject() approval.Subject {
	return approval.Subject{
		Source: tongs.Source{Kind: tongs.SourceForge, Name: "x", Digest: "1"}, Tool: "edit",
		Args: json.RawMessage(`{"path":"a.go","edits":[{"a":1,"b":2.50}]}`),
		Effects: []tongs.Effect{
			{Kind: tongs.EffectWrite, Path: tongs.Path{Root: "r", Rel: "a.go"}, Version: "v1"},
			{Kind: tongs.EffectExecute, Argv: []string{"go", "test"}},
		},
		Roots: "roots", Dir: "d", Agents: []string{"main", "child"},
	}
}

func TestDigestIgnoresSpelling(t *testing.T) {
	want := approval.Digest(subject())
	for name, change := range map[string]func(*approval.Subject){
		"key order and space": func(s *approval.Subject) {
			s.Args = json.RawMessage(" {\n\"edits\" : [ { \"b\":2.50, \"a\":1 } ] ,\t\"path\":\"a.go\" } ")
		},
		"escapes": func(s *approval.Subject) {
			s.Args = json.RawMessage(`{"p\u0061th":"\u0061.go","edits":[{"a":1,"b":2.50}]}`)
		},
		"order of effects": func(s *approval.Subject) { s.Effects[0], s.Effects[1] = s.Effects[1], s.Effects[0] },
		"why":              func(s *approval.Subject) { s.Effects[0].Why = "protected" },
	} {
		s := subject()
		change(&s)
		if approval.Digest(s) != want {
			t.Errorf("%s counts", name)
		}
	}
	empty := approval.Subject{Tool: "x"}
	explicit := approval.Subject{Tool: "x", Args: json.RawMessage(`{ }`)}
	if approval.Digest(empty) != approval.Digest(explicit) {
		t.Error("no arguments are not {}")
	}
}

func TestDigestTellsCallsApart(t *testing.T) {
	seen := map[string]string{approval.Digest(subject()): "the call itself"}
	args := func(raw string) func(*approval.Subject) {
		return func(s *approval.Subject) { s.Args = json.RawMessage(raw) }
	}
	for name, change := range map[string]func(*approval.Subject){
		"kind of source": func(s *approval.Subject) { s.Source.Kind = tongs.SourceMCP },
		"source name":    func(s *approval.Subject) { s.Source.Name = "y" },
		"source digest":  func(s *approval.Subject) { s.Source.Digest = "2" },
		"tool":           func(s *approval.Subject) { s.Tool = "edi" },
		"roots":          func(s *approval.Subject) { s.Roots = "other" },
		"dir":            func(s *approval.Subject) { s.Dir = "e" },
		"dir and roots":  func(s *approval.Subject) { s.Roots, s.Dir = "rootsd", "" },
		"agents":         func(s *approval.Subject) { s.Agents = []string{"main"} },
		"agents joined":  func(s *approval.Subject) { s.Agents = []string{"main,child"} },
		"rerun":          func(s *approval.Subject) { s.Rerun = []string{"wrote a"} },
		"rerun as agent": func(s *approval.Subject) { s.Agents, s.Rerun = nil, []string{"main", "child"} },

		"effect kind":    func(s *approval.Subject) { s.Effects[0].Kind = tongs.EffectDelete },
		"effect path":    func(s *approval.Subject) { s.Effects[0].Path.Rel = "b.go" },
		"effect root":    func(s *approval.Subject) { s.Effects[0].Path.Root = "" },
		"effect version": func(s *approval.Subject) { s.Effects[0].Version = "v2" },
		"effect argv":    func(s *approval.Subject) { s.Effects[1].Argv = []string{"go test"} },
		"effect host":    func(s *approval.Subject) { s.Effects[1].Host = "h" },
		"unknown":        func(s *approval.Subject) { s.Effects[1].Unknown = true },
		"must ask":       func(s *approval.Subject) { s.Effects[1].MustAsk = true },
		"no grant":       func(s *approval.Subject) { s.Effects[1].NoGrant = true },
		"sends":          func(s *approval.Subject) { s.Effects[1].Sends = true },
		"effect gone":    func(s *approval.Subject) { s.Effects = s.Effects[:1] },
		"effect twice":   func(s *approval.Subject) { s.Effects = append(s.Effects, s.Effects[0]) },
		"not UTF-8":      func(s *approval.Subject) { s.Effects[0].Path.Rel = "\xff" },
		"not UTF-8, too": func(s *approval.Subject) { s.Effects[0].Path.Rel = "\xfe" },
		"replacement":    func(s *approval.Subject) { s.Effects[0].Path.Rel = "\uFFFD" },

		"value":              args(`{"path":"b.go"}`),
		"number as text":     args(`{"n":"1"}`),
		"number":             args(`{"n":1}`),
		"number as float":    args(`{"n":1.0}`),
		"large number":       args(`{"n":9007199254740993}`),
		"large number, next": args(`{"n":9007199254740992}`),
		"null":               args(`{"n":null}`),
		"nested":             args(`{"n":{"n":1}}`),
		"array":              args(`{"n":[1]}`),
		"array of arrays":    args(`{"n":[[1]]}`),
		"array order":        args(`{"n":[1,2]}`),
		"array order, other": args(`{"n":[2,1]}`),
		"duplicate":          args(`{"n":1,"n":2}`),
		"duplicate, other":   args(`{"n":2,"n":1}`),
		"half a pair":        args(`{"n":"\ud800"}`),
		"another half":       args(`{"n":"\udc00"}`),
		"bad bytes":          args("{\"n\":\"\xff\"}"),
		"other bad bytes":    args("{\"n\":\"\xfe\"}"),
		"bad bytes escaped":  args("{\"n\":\"\xff\\n\"}"),
		"bad escaped, other": args("{\"n\":\"\xfe\\n\"}"),
		"replaced":           args("{\"n\":\"\uFFFD\"}"),
		"quote in text":      args(`{"n":"\",\"m\":\""}`),
		"two members":        args(`{"n":"","m":""}`),
		"no object":          args(`"n"`),
		"not JSON":           args(`{"n"`),
		"not JSON, other":    args(`{"n" `),
	} {
		s := subject()
		change(&s)
		d := approval.Digest(s)
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d] = name
	}
}

func FuzzDigest(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\u0041"}],"c":null}`))
	f.Add([]byte(`{"a`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := approval.Digest(approval.Subject{Args: raw})
		var v any
		if json.Unmarshal(raw, &v) != nil {
			return
		}
		if spaced := approval.Digest(approval.Subject{Args: []byte(" " + string(raw) + "\n")}); spaced != d {
			t.Errorf("white space counts around %q", raw)
		}
	})
}

func TestCleanID(t *testing.T) {
	if id := approval.NewID(); approval.CleanID(id) != id {
		t.Errorf("%s is cleaned to %s", id, approval.CleanID(id))
	}
	if got := approval.CleanID(" QO1IL "); got != "q0111" {
		t.Errorf("%s", got)
	}
}

func TestResolve(t *testing.T) {
	ids := []string{"qaaaa1111", "qaaaa2222", "qbbbb1111"}
	for _, tt := range []struct{ typed, want string }{
		{"qaaaa1111", "qaaaa1111"},
		{"aaaa2", "qaaaa2222"},
		{"b", "qbbbb1111"},
		{"2222", "qaaaa2222"},
		{"aaaa", ""},
		{"1111", ""},
		{"222", ""},
		{"", ""},
		{"zzzz", ""},
	} {
		got, err := approval.Resolve(tt.typed, ids)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%q: %q, %v", tt.typed, got, err)
		}
	}
	if _, err := approval.Resolve("aaaa", ids); !strings.Contains(fmt.Sprint(err), "qaaaa2222, qaaaa1111") {
		t.Errorf("%v", err)
	}
	if _, err := approval.Resolve("qbbbb1112", ids); !strings.Contains(fmt.Sprint(err), "nearest are qbbbb1111") {
		t.Errorf("%v", err)
	}
}

func BenchmarkDigest(b *testing.B) {
	s := subject()
	for b.Loop() {
		approval.Digest(s)
	}
}

func TestRedeemableWhenTheClockJumps(t *testing.T) {
	at := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	q := &approval.Question{ID: "q1234", Digest: "d", Expires: at.Add(time.Hour), Answer: &approval.Answer{Approved: true, At: at}}
	for name, test := range map[string]struct {
		now    time.Time
		ticket string
		want   bool
	}{
		"in time":                {at.Add(time.Minute), "", true},
		"clocks differ a little": {at.Add(-time.Second), "", true},
		"set back":               {at.Add(-time.Hour), "", false},
		"set forward":            {at.Add(24 * time.Hour), "", false},
		"set forward, ticket":    {at.Add(24 * time.Hour), "q1234", false},
		"late, with a ticket":    {at.Add(30 * time.Minute), "q1234", true},
		"another ticket":         {at.Add(time.Minute), "q9999", false},
	} {
		if got := approval.Redeemable(q, "d", test.ticket, 10*time.Minute, test.now); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// An ID stays what it is when Markdown shows it, and its short form names it.
func TestIDsSurviveMarkdown(t *testing.T) {
	var ids []string
	for range 20 {
		id := approval.NewID()
		if strings.ContainsAny(id, "_*`~<>[]()#!|\\") {
			t.Errorf("%s has a sign of Markdown", id)
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		if got, err := approval.Resolve(approval.Short(id), ids); got != id {
			t.Errorf("%s: %s is %q, %v", id, approval.Short(id), got, err)
		}
	}
}
