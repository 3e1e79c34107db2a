package question_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/question"
)

var builtin = tongs.Source{Kind: tongs.SourceBuiltin}

func file(kind tongs.EffectKind, name string) tongs.Effect {
	return tongs.Effect{Kind: kind, Path: tongs.Path{Rel: name}}
}

func run(words ...string) tongs.Effect { return tongs.Effect{Kind: tongs.EffectExecute, Argv: words} }

func edit() *approval.Question {
	return &approval.Question{
		Tool: "edit", Source: builtin, Agents: []string{"claude-code"}, Workspace: "/src/shop",
		Args:     json.RawMessage(`{"path":"cart/cart.go","oldString":"a","newString":"b"}`),
		Effects:  []tongs.Effect{file(tongs.EffectWrite, "cart/cart.go"), file(tongs.EffectRead, "cart/cart.go")},
		Preview:  "--- a/cart/cart.go\n+++ b/cart/cart.go\n@@ -12,7 +12,7 @@\n x\n y\n \tz\n-\tsum += it.Price\n+\tsum += it.Price * it.Count\n }\n p\n q\n",
		Scopes:   []approval.Scope{approval.Once, approval.Session, approval.Always},
		Remember: []string{"write cart/cart.go", "read cart/cart.go"}, RememberFiles: []string{"write **", "read **"},
	}
}

// Facts that are too long go on below their text, between words.
func TestFactsFlow(t *testing.T) {
	got := question.Lines([]question.Fact{{Label: "because", Text: "No rule covers it; edit asks by default."}, {Label: "tool", Text: "edit"}}, 40)
	if want := "because:   No rule covers it; edit asks\n           by default.\ntool:      edit\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAnEditReadsInTwoSeconds(t *testing.T) {
	p := question.Of(edit())
	if got := p.Headline.What() + " | " + p.Headline.Where(); got != "edit  cart/cart.go  +1 −1 | claude-code · /src/shop" {
		t.Errorf("headline %q", got)
	}
	var rows []string
	diff := question.Compact(p.Diff, 1)
	for i, r := range diff {
		rows = append(rows, question.Gutter(diff, i, question.GutterWidth(diff))+r.Op+r.Text)
	}
	if got := strings.Join(rows, "\n"); got != "14 \tz\n15-\tsum += it.Price\n  +\tsum += it.Price * it.Count\n16 }" {
		t.Errorf("diff:\n%s", got)
	}
	var labels []string
	for _, c := range p.Choices {
		labels = append(labels, c.Key+" "+c.Label)
	}
	want := "y yes|s this file, this session|S all edits, this session|a always…|e change…|n no, because…|? details"
	if got := strings.Join(labels, "|"); got != want {
		t.Errorf("choices %s", got)
	}
	if p.Text != "" || p.Command != "" || len(p.Warnings) != 0 {
		t.Errorf("it says more: %+v", p)
	}
	if n := strings.Count(question.Summary(edit()), "cart.go"); n != 1 {
		t.Errorf("the path is said %d times", n)
	}
}

// Attack: a grave effect stands behind any number of harmless ones. Headline and summary name it first.
func TestAGraveEffectIsNotHiddenBehindHarmlessOnes(t *testing.T) {
	secret, hook := file(tongs.EffectRead, ".env"), file(tongs.EffectWrite, ".git/hooks/pre-commit")
	secret.MustAsk, secret.Why = true, "secrets"
	hook.MustAsk, hook.Why = true, "protected: git runs hooks"
	for want, grave := range map[string]tongs.Effect{
		"sends data to evil.test":      {Kind: tongs.EffectNetwork, Host: "evil.test", Sends: true},
		"reads .env":                   secret,
		"writes .git/hooks/pre-commit": hook,
		"deletes precious":             file(tongs.EffectDelete, "precious"),
		"runs something":               {Kind: tongs.EffectExecute, Unknown: true},
		"connects to evil.test":        {Kind: tongs.EffectNetwork, Host: "evil.test"},
	} {
		effects := []tongs.Effect{}
		for i := range 300 {
			effects = append(effects, run("echo", fmt.Sprint(i)), file(tongs.EffectRead, fmt.Sprint(i)), file(tongs.EffectWrite, fmt.Sprint(i)))
		}
		for _, at := range []int{0, 450, len(effects)} {
			q := &approval.Question{
				Tool: "shell", Source: builtin, Args: json.RawMessage(`{"command":"` + strings.Repeat("echo harmless; ", 500) + `evil"}`),
				Effects: append(append(append([]tongs.Effect{}, effects[:at]...), grave), effects[at:]...),
				Message: "Run: " + strings.Repeat("echo harmless; ", 500), Scopes: []approval.Scope{approval.Once},
			}
			p := question.Of(q)
			if !strings.HasPrefix(p.Headline.Target, want) {
				t.Errorf("at %d the headline is %q, want %q", at, p.Headline.Target, want)
			}
			if s := question.Summary(q); !strings.HasPrefix(s, "shell  "+want) || len(s) > 400 {
				t.Errorf("at %d the summary is %.300q (%d bytes)", at, s, len(s))
			}
			if grave.Why != "" && (len(p.Warnings) == 0 || p.Warnings[0] != grave.Why) {
				t.Errorf("the first line is not why: %q", p.Warnings)
			}
		}
	}
}

// A second grave effect is named too, and of many it is said how many there are.
func TestEveryGraveEffectIsTold(t *testing.T) {
	q := &approval.Question{Tool: "shell", Source: builtin, Args: json.RawMessage(`{"command":"x"}`), Effects: []tongs.Effect{
		run("ls"), file(tongs.EffectDelete, "a"), {Kind: tongs.EffectNetwork, Host: "evil.test", Sends: true}, run("x"),
	}}
	p := question.Of(q)
	if !strings.HasPrefix(p.Headline.Target, "sends data to evil.test and 3 more effects") || len(p.Warnings) != 1 || p.Warnings[0] != "also: deletes a" {
		t.Errorf("%q, %q", p.Headline.Target, p.Warnings)
	}
	for i := range 50 {
		q.Effects = append(q.Effects, file(tongs.EffectDelete, fmt.Sprint(i)))
	}
	if p = question.Of(q); len(p.Warnings) != 5 || p.Warnings[4] != "and has 47 more effects like these" {
		t.Errorf("%q", p.Warnings)
	}
}

func TestTheEndOfALongTargetIsShown(t *testing.T) {
	q := &approval.Question{Tool: "shell", Source: builtin, Args: json.RawMessage(`{"command":"x"}`), Effects: []tongs.Effect{
		run("prog", strings.Repeat("a", 5000), "--and-destroy"), run("ls"),
	}}
	if s := question.Summary(q); !strings.Contains(s, "--and-destroy") || len(s) > 300 {
		t.Errorf("%q", s)
	}
}

func TestTextsAreClean(t *testing.T) {
	const evil = "a\x1b[2J\u202e\u200b\nb"
	q := edit()
	q.Tool, q.Agents, q.Workspace, q.Notes = evil, []string{evil}, evil, []string{evil}
	q.Source = tongs.Source{Kind: tongs.SourceMCP, Name: evil}
	q.Effects = []tongs.Effect{file(tongs.EffectDelete, evil), {Kind: tongs.EffectExecute, Unknown: true, Why: evil}}
	q.Args, _ = json.Marshal(map[string]string{"command": evil})
	q.Preview = "--- a/x\n+++ b/" + evil + "\n@@ -1 +1 @@\n-\x1b[8m\n+\u202e\n"
	q.Offer = evil
	parts, err := json.Marshal(question.Of(q))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`\u001b`, "\u202e", "\u200b"} {
		if strings.Contains(string(parts), bad) {
			t.Errorf("the parts have %q: %s", bad, parts)
		}
	}
	if s := question.Summary(q); strings.ContainsAny(s, "\x1b\n\u202e\u200b") {
		t.Errorf("the summary is %q", s)
	}
}

// The lines of a file cannot pass for the lines of the diff.
func TestALineOfAFileIsNoHeader(t *testing.T) {
	q := edit()
	q.Preview = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/harmless\n+++ b/harmless\n @@ -1 +1 @@\n"
	var ops string
	for _, r := range question.Of(q).Diff {
		ops += r.Op
	}
	if ops != "f-+ " {
		t.Errorf("rows %q", ops)
	}
}

func TestNothingWiderIsOfferedThanCanBeRemembered(t *testing.T) {
	q := edit()
	q.Scopes, q.Remember, q.RememberFiles = []approval.Scope{approval.Once}, nil, nil
	p := question.Of(q)
	for _, name := range []question.Name{question.Same, question.Files, question.Always} {
		if _, ok := p.Choice(name); ok {
			t.Errorf("%s is offered", name)
		}
	}
	q.Scopes, q.Remember = []approval.Scope{approval.Once, approval.Session}, []string{"execute = ls"}
	p = question.Of(q)
	if same, _ := p.Choice(question.Same); same.Label != "this command, this session" {
		t.Errorf("%q", same.Label)
	}
	if _, ok := p.Choice(question.Always); ok {
		t.Error("always is offered")
	}
}

func TestChangesOnACopy(t *testing.T) {
	q := &approval.Question{
		Tool: "shell", Source: builtin, Args: json.RawMessage(`{"command":"./migrate.sh"}`), ChangeCount: 2,
		Changes: []tongs.Change{{Path: tongs.Path{Rel: "old"}, Kind: tongs.Deleted, Before: 4}, {Path: tongs.Path{Rel: "new"}, Kind: tongs.Added, After: 3}},
	}
	p := question.Of(q)
	if p.Headline.Target != "deleted old and 1 more change, on a copy" || p.Command != "./migrate.sh" || len(p.Changes) != 2 {
		t.Errorf("%+v", p)
	}
	if _, ok := p.Choice(question.Change); ok {
		t.Error("arguments of a call that ran can be changed")
	}
}
