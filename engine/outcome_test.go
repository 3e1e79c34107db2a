package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
)

// copying stands for what runs programs on a copy: it hands in given changes and keeps what was decided of them.
type copying struct {
	tongs.Commands
	changes []tongs.Change
	kept    []string
	runs    int
	// refuse makes every run on a copy fail, as where the files cannot be copied.
	refuse bool
	// deferred is whether the last run was on a copy.
	deferred bool
	// ends and drops count; alive is whether a permit was when its programs were ended.
	ends, drops int
	alive       bool
}

func (c *copying) commands(p *tongs.Permit) engine.Programs {
	return &copyingFor{copying: c, permit: p}
}

type copyingFor struct {
	*copying
	permit *tongs.Permit
	ran    bool
}

func (c *copyingFor) Run(context.Context, *tongs.Command) (*tongs.Exit, error) {
	c.runs++
	if c.deferred = c.permit.OnCopy(); !c.deferred {
		return &tongs.Exit{}, nil
	}
	if c.refuse {
		return nil, &tongs.Need{
			Effects: []tongs.Effect{{Kind: tongs.EffectExecute, Argv: []string{"./migrate.sh"}}}, Reason: "no copy", Direct: true,
		}
	}
	c.ran = true
	return &tongs.Exit{}, nil
}

func (c *copyingFor) Adopt(tongs.Process) {}

func (c *copyingFor) End(context.Context) (engine.Outcome, error) {
	c.ends++
	if c.permit.Err() == nil {
		c.alive = true
	}
	if !c.ran {
		return nil, nil
	}
	return c, nil
}

func (c *copyingFor) Changes(context.Context) ([]tongs.Change, []string, error) {
	return c.changes, nil, nil
}

func (c *copyingFor) Identify(context.Context, []tongs.Change) error { return nil }

func (c *copyingFor) Preview(context.Context, []tongs.Change) (string, func(context.Context, io.Writer) error, error) {
	return "the diff", nil, nil
}

func (c *copyingFor) Show(context.Context) error { return nil }

func (c *copyingFor) Keep(_ context.Context, keep []tongs.Change) error {
	for _, k := range keep {
		c.kept = append(c.kept, string(k.Kind)+" "+k.Path.String())
	}
	return nil
}

func (c *copyingFor) Park(context.Context, time.Time) (engine.Parcel, error) {
	return engine.Parcel{ID: "e_parked", Digest: "of the changes"}, nil
}

func (c *copyingFor) Drop(string) { c.drops++ }

func (c *copyingFor) Settled() *tongs.Settled {
	return &tongs.Settled{Changes: &tongs.Changed{Made: strings.Join(c.kept, ", "), Paths: c.kept}}
}

func contained(t *testing.T, effects ...tongs.Effect) tongs.Tool {
	spec := tongs.Spec{Needs: tongs.Execute, Optional: tongs.Read | tongs.Write | tongs.Network}
	return tool(t, spec, func(*tongs.View, echoIn) (*tongs.Plan, error) {
		all := append([]tongs.Effect{{Kind: tongs.EffectExecute, Argv: []string{"./migrate.sh"}}}, effects...)
		return &tongs.Plan{Effects: all, Contained: true, Message: "Run: ./migrate.sh", Kind: tongs.KindExecute}, nil
	}, func(ctx context.Context, env *tongs.Env, in echoIn) (echoOut, error) {
		_, err := env.Commands.Run(ctx, &tongs.Command{Argv: []string{"./migrate.sh"}})
		return echoOut{in.Text}, err
	})
}

func change(kind tongs.ChangeKind, name string) tongs.Change {
	return tongs.Change{Kind: kind, Type: tongs.FileRegular, Path: tongs.Path{Rel: name}, Version: "copy:" + tongs.Version(name)}
}

func onCopies(c *copying) func(*engine.Options) {
	return func(o *engine.Options) {
		o.Commands = c.commands
		o.Outcomes = func(context.Context) bool { return true }
	}
}

// A rule that pre-approves a program on a copy has what it changes decided; where there can be no copy it asks before.
func TestRuleWantsACopy(t *testing.T) {
	rule := tongs.Rule{Effects: tongs.Kinds(tongs.EffectExecute), Pattern: "./migrate.sh", Decision: tongs.PreApproved, Outcome: true}
	plain := rule
	plain.Outcome = false
	for _, c := range []struct {
		name     string
		rules    []tongs.Rule
		mode     tongs.Mode
		direct   bool
		noCopies bool
		refused  bool
		answer   func(approval.Question) approval.Answer
		asked    int
		deferred bool
		code     tongs.Code
	}{
		{name: "on a copy", rules: []tongs.Rule{rule}, answer: yes, asked: 1, deferred: true},
		{name: "dropped", rules: []tongs.Rule{rule}, answer: no, asked: 1, deferred: true, code: tongs.CodeDenied},
		{name: "one of two rules wants it", rules: []tongs.Rule{plain, rule}, answer: yes, asked: 1, deferred: true},
		{name: "no rule wants it", rules: []tongs.Rule{plain}},
		{name: "what nobody spoke of is asked before, this is not", rules: []tongs.Rule{rule}, direct: true, answer: yes, asked: 1, deferred: true},
		{name: "asked before", direct: true, answer: no, asked: 1, code: tongs.CodeDenied},
		{name: "no copies", rules: []tongs.Rule{rule}, noCopies: true, answer: no, asked: 1, code: tongs.CodeDenied},
		{name: "no copies, approved", rules: []tongs.Rule{rule}, noCopies: true, answer: yes, asked: 1},
		{name: "this one cannot", rules: []tongs.Rule{rule}, refused: true, answer: yes, asked: 1},
		{name: "this one cannot, and may not", rules: []tongs.Rule{rule}, refused: true, answer: no, asked: 1, deferred: true, code: tongs.CodeDenied},
		{name: "nothing is asked", rules: []tongs.Rule{rule}, mode: tongs.ModeAll, deferred: true},
		{name: "nothing is asked, and no copies", rules: []tongs.Rule{rule}, mode: tongs.ModeAll, noCopies: true},
		{name: "everything is asked", rules: []tongs.Rule{rule}, mode: tongs.ModeNone, answer: yes, asked: 2, deferred: true},
		{name: "not for one that nobody trusts", rules: []tongs.Rule{{
			Effects: rule.Effects, Pattern: rule.Pattern, Decision: tongs.PreApproved, Outcome: true, Untrusted: true,
		}}, direct: true, answer: no, asked: 1, code: tongs.CodeDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := &copying{changes: []tongs.Change{change(tongs.Modified, "old.txt")}, refuse: c.refused}
			b := setup(t, []tongs.Tool{contained(t)}, onCopies(run), rules(c.rules...), func(o *engine.Options) {
				o.Mode, o.Direct = c.mode, c.direct
				if c.noCopies {
					o.Outcomes = nil
				}
			})
			b.person.answer = c.answer
			must(t, b.call("echo", `{"text":"x"}`), c.code)
			if b.person.count() != c.asked || run.deferred != c.deferred {
				t.Errorf("asked %d times, deferred %t", b.person.count(), run.deferred)
			}
		})
	}
}

// Of many changes those are listed that tell of most: an added directory says how much is in it.
func TestManyChangesAreTold(t *testing.T) {
	run := &copying{changes: []tongs.Change{{Kind: tongs.Added, Type: tongs.FileDirectory, Path: tongs.Path{Rel: "lib"}}}}
	for i := range 600 {
		c := change(tongs.Added, fmt.Sprintf("lib/%03d", i))
		c.After = 10
		run.changes = append(run.changes, c)
	}
	run.changes = append(run.changes, change(tongs.Modified, "old.txt"))
	b := setup(t, []tongs.Tool{contained(t)}, onCopies(run))
	b.person.answer = func(approval.Question) approval.Answer {
		return approval.Answer{Approved: true, Keep: []string{"lib/599"}}
	}
	must(t, b.call("echo", `{"text":"x"}`), "")
	q := b.person.last()
	if lib := q.Changes[1]; q.ChangeCount != 602 || len(q.Changes) != 500 || lib.Path.Rel != "lib" || lib.Below != 600 || lib.After != 6000 {
		t.Errorf("%d changes, listed %d, second %+v", q.ChangeCount, len(q.Changes), lib)
	}
	if q.Changes[0].Path.Rel != "old.txt" || !slices.Equal(run.kept, []string{"added lib/599"}) {
		t.Errorf("first %+v, kept %q", q.Changes[0], run.kept)
	}
}

// A change of a protected name says what is special about it.
func TestOutcomeNamesWhatIsProtected(t *testing.T) {
	run := &copying{changes: []tongs.Change{change(tongs.Added, ".envrc"), change(tongs.Modified, "old.txt")}}
	b := setup(t, []tongs.Tool{contained(t)}, onCopies(run))
	b.person.answer = yes
	must(t, b.call("echo", `{"text":"x"}`), "")
	q := b.person.last()
	if !strings.HasPrefix(q.Changes[0].Protected, "protected: ") || q.Changes[1].Protected != "" {
		t.Errorf("changes %+v", q.Changes)
	}
	if q.Message != "Run: ./migrate.sh (ran on a copy: 1 modified, 1 added)" {
		t.Errorf("message %q", q.Message)
	}
}

func TestOutcomesAreDecidedLikeTheChangesOfFileTools(t *testing.T) {
	added, modified, deleted := change(tongs.Added, "new.txt"), change(tongs.Modified, "old.txt"), change(tongs.Deleted, "gone.txt")
	link := tongs.Change{Kind: tongs.Added, Type: tongs.FileSymlink, Path: tongs.Path{Rel: "link"}}
	moved := change(tongs.Renamed, "to.txt")
	moved.From = &tongs.Path{Rel: "from.txt"}
	allow := func(tool string) tongs.Rule { return tongs.Rule{Tool: tool, Decision: tongs.PreApproved} }
	block := tongs.Rule{Tool: "edit", Effects: tongs.Kinds(tongs.EffectWrite), Pattern: "old.*", Decision: tongs.Blocked}
	all := []string{"added new.txt", "modified old.txt", "deleted gone.txt"}
	for _, c := range []struct {
		name    string
		changes []tongs.Change
		rules   []tongs.Rule
		mode    tongs.Mode
		answer  func(approval.Question) approval.Answer
		asked   int
		code    tongs.Code
		kept    []string
	}{
		{name: "nothing changed"},
		{name: "what is new is free", changes: []tongs.Change{added}, kept: all[:1]},
		{name: "what was there is asked about", changes: []tongs.Change{added, modified, deleted}, answer: yes, asked: 1, kept: all},
		{name: "dropped", changes: []tongs.Change{added, modified}, answer: no, asked: 1, code: tongs.CodeDenied},
		{name: "nobody to ask", changes: []tongs.Change{modified}, asked: 1, code: tongs.CodeApprovalRequired},
		{
			name: "some are kept", changes: []tongs.Change{added, modified, deleted}, asked: 1, kept: all[:2],
			answer: func(approval.Question) approval.Answer {
				return approval.Answer{Approved: true, Keep: []string{"new.txt", "old.txt"}}
			},
		},
		{name: "edits are allowed by a rule", changes: []tongs.Change{modified}, rules: []tongs.Rule{allow("edit")}, kept: all[1:2]},
		{name: "deleting is another matter", changes: []tongs.Change{modified, deleted}, rules: []tongs.Rule{allow("edit")}, answer: yes, asked: 1, kept: all[1:]},
		{name: "a blocked path", changes: []tongs.Change{added, modified}, rules: []tongs.Rule{block}, answer: yes, code: tongs.CodeBlocked},
		{name: "a protected name", changes: []tongs.Change{change(tongs.Added, ".envrc")}, rules: []tongs.Rule{allow("write_file")}, answer: no, asked: 1, code: tongs.CodeDenied},
		{name: "moving is deleting too", changes: []tongs.Change{moved}, rules: []tongs.Rule{{Tool: "delete_file", Decision: tongs.Blocked}}, answer: yes, code: tongs.CodeBlocked},
		{name: "moved", changes: []tongs.Change{moved}, answer: yes, asked: 1, kept: []string{"renamed to.txt"}},
		{name: "a link is asked about", changes: []tongs.Change{link}, answer: no, asked: 1, code: tongs.CodeDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := &copying{changes: c.changes}
			b := setup(t, []tongs.Tool{contained(t)}, onCopies(run), rules(c.rules...))
			b.person.answer = c.answer
			must(t, b.call("echo", `{"text":"x"}`), c.code)
			if b.person.count() != c.asked || !slices.Equal(run.kept, c.kept) || !run.deferred {
				t.Errorf("asked %d times, kept %q, deferred %t", b.person.count(), run.kept, run.deferred)
			}
			if c.asked > 0 {
				q := b.person.last()
				if q.ChangeCount != len(c.changes) || q.Preview != "the diff" || !slices.Equal(q.Scopes, []approval.Scope{approval.Once}) {
					t.Errorf("question %+v", q)
				}
			}
		})
	}
}

// A call runs before it is decided only where nobody said anything about it, and nothing of it could not be taken back.
func TestWhatIsAskedBeforehand(t *testing.T) {
	ask := tongs.Rule{Tool: "echo", Decision: tongs.Ask}
	for _, c := range []struct {
		name    string
		effects []tongs.Effect
		change  func(*engine.Options)
	}{
		{"an explicit ask", nil, rules(ask)},
		{"mode none", nil, mode(tongs.ModeNone)},
		{"data that is sent", []tongs.Effect{{Kind: tongs.EffectNetwork, Host: "example.com", Sends: true}}, rules()},
		{"a host that cannot be told", []tongs.Effect{{Kind: tongs.EffectNetwork, Unknown: true}}, rules()},
		{"a host, by the administrator", []tongs.Effect{{Kind: tongs.EffectNetwork, Host: "example.com"}}, rules(tongs.Rule{Layer: tongs.LayerManaged, Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "example.com", Decision: tongs.Ask})},
		{"a protected name", []tongs.Effect{{Kind: tongs.EffectWrite, Path: tongs.Path{Rel: ".envrc"}}}, rules()},
		{"a read that is asked about", []tongs.Effect{{Kind: tongs.EffectRead, Unknown: true}}, rules()},
		{"no copies here", nil, func(o *engine.Options) { o.Outcomes = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := &copying{}
			b := setup(t, []tongs.Tool{contained(t, c.effects...)}, onCopies(run), c.change)
			b.person.answer = no
			must(t, b.call("echo", `{"text":"x"}`), tongs.CodeDenied)
			b.person.answer = yes
			must(t, b.call("echo", `{"text":"x"}`), "")
			if b.person.count() != 2 || run.runs != 1 || run.deferred {
				t.Errorf("asked %d times, ran %d times, deferred %t", b.person.count(), run.runs, run.deferred)
			}
		})
	}
}

// A host is decided before the call runs, and nothing else: the rest is decided by what it did on a copy. An approval that is
// remembered is about the host, so that the next command that reaches it is not asked about.
func TestHostsAreDecidedApart(t *testing.T) {
	host := tongs.Effect{Kind: tongs.EffectNetwork, Host: "example.com"}
	private := tongs.Effect{Kind: tongs.EffectNetwork, Host: "mirror.example.com", Private: true}
	allowed := tongs.Rule{Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "*.example.com", Decision: tongs.PreApproved}
	exactly := allowed
	exactly.Pattern = "mirror.example.com"
	for _, c := range []struct {
		name    string
		effects []tongs.Effect
		change  func(*engine.Options)
		asked   int
		want    []string
	}{
		{"a host", []tongs.Effect{host}, rules(), 1, []string{"network example.com"}},
		{"two hosts", []tongs.Effect{host, {Kind: tongs.EffectNetwork, Host: "example.org"}}, rules(), 1, []string{"network example.com", "network example.org"}},
		{"a private address", []tongs.Effect{private}, rules(), 1, []string{"network mirror.example.com (private address)"}},
		{"a pattern means no private address", []tongs.Effect{private}, rules(allowed), 1, []string{"network mirror.example.com (private address)"}},
		{"nor does a mode", []tongs.Effect{private}, mode(tongs.ModeAll), 1, nil},
		{"an allowed host", []tongs.Effect{{Kind: tongs.EffectNetwork, Host: "a.example.com"}}, rules(allowed), 0, nil},
		{"an allowed private address", []tongs.Effect{private}, rules(exactly), 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := &copying{}
			b := setup(t, []tongs.Tool{contained(t, c.effects...)}, onCopies(run), c.change)
			b.person.answer = func(q approval.Question) approval.Answer {
				a := approval.Answer{Approved: true}
				if slices.Contains(q.Scopes, approval.Always) {
					a.Scope = approval.Always
				}
				return a
			}
			must(t, b.call("echo", `{"text":"x"}`), "")
			if b.person.count() != c.asked {
				t.Fatalf("asked %d times", b.person.count())
			}
			if c.want == nil {
				return
			}
			if got := b.person.last().Remember; !slices.Equal(got, c.want) {
				t.Errorf("it would be remembered as %q", got)
			}
			must(t, b.call("echo", `{"text":"another command"}`), "")
			if b.person.count() != c.asked || run.runs != 2 || !run.deferred {
				t.Errorf("asked %d times, ran %d times, deferred %t", b.person.count(), run.runs, run.deferred)
			}
		})
	}
}

func TestDryRunsKeepNothing(t *testing.T) {
	run := &copying{changes: []tongs.Change{change(tongs.Added, "new.txt")}}
	b := setup(t, []tongs.Tool{contained(t), writer(t, tongs.Spec{Name: "put"})}, onCopies(run))
	res := b.Call(t.Context(), &tongs.Call{Tool: "echo", Args: []byte(`{"text":"x"}`), DryRun: true})
	must(t, res, "")
	if b.person.count() != 0 || run.runs != 1 || len(run.kept) != 0 || !run.deferred {
		t.Errorf("asked %d times, ran %d times, kept %q", b.person.count(), run.runs, run.kept)
	}
	must(t, b.Call(t.Context(), &tongs.Call{Tool: "put", Args: []byte(`{"text":"x"}`), DryRun: true}), tongs.CodeInvalidArgs)
}

// A question about thousands of files lists some, and is still bound to all of them.
func TestLargeOutcomes(t *testing.T) {
	run := &copying{}
	for i := range 30_000 {
		run.changes = append(run.changes, change(tongs.Modified, fmt.Sprintf("f%05d", i)))
	}
	b := setup(t, []tongs.Tool{contained(t)}, onCopies(run))
	must(t, b.call("echo", `{"text":"x"}`), tongs.CodeApprovalRequired)
	first := b.person.last()
	if first.ChangeCount != 30_000 || len(first.Changes) > 1000 || len(first.Effects) > 1000 || !strings.Contains(first.Message, "30000") {
		t.Errorf("%d changes, %d listed, %d effects, %q", first.ChangeCount, len(first.Changes), len(first.Effects), first.Message)
	}
	run.changes[29_999].Version = "another"
	must(t, b.call("echo", `{"text":"x"}`), tongs.CodeApprovalRequired)
	if b.person.last().Digest == first.Digest {
		t.Error("another outcome has the same digest")
	}
	b.person.answer = func(approval.Question) approval.Answer {
		return approval.Answer{Approved: true, Keep: []string{"f29999"}}
	}
	must(t, b.call("echo", `{"text":"x"}`), "")
	if !slices.Equal(run.kept, []string{"modified f29999"}) {
		t.Errorf("kept %q", run.kept)
	}
}

// However many harmless changes there are, the grave ones are among those that a person is shown, and first.
func TestGraveChangesAreNotHiddenBehindHarmlessOnes(t *testing.T) {
	run := &copying{}
	for i := range 700 {
		run.changes = append(run.changes, change(tongs.Modified, fmt.Sprintf("a%03d.txt", i)))
	}
	run.changes = append(run.changes, change(tongs.Deleted, "z.txt"), change(tongs.Added, "zz/.envrc"))
	b := setup(t, []tongs.Tool{contained(t)}, onCopies(run))
	b.person.answer = yes
	must(t, b.call("echo", `{"text":"x"}`), "")
	q := b.person.last()
	if q.Changes[0].Path.Rel != "zz/.envrc" || q.Changes[1].Path.Rel != "z.txt" {
		t.Errorf("first %v and %v", q.Changes[0].Path, q.Changes[1].Path)
	}
	if q.Effects[0].Path.Rel != "zz/.envrc" || q.Effects[1].Path.Rel != "z.txt" || len(q.Effects) != 500 {
		t.Errorf("effects %d, first %v and %v", len(q.Effects), q.Effects[0], q.Effects[1])
	}
}

// carriedOut keeps changes that somebody else makes meanwhile.
type carriedOut struct {
	engine.Late
	err error
}

func (carriedOut) Find(context.Context, string, string) (*approval.Parked, error) { return nil, nil }
func (carriedOut) Park(context.Context, approval.Parked) error                    { return nil }
func (carriedOut) Take(context.Context, string) (bool, error)                     { return true, nil }

func (c carriedOut) Reclaim(context.Context, string) (*approval.Parked, error) {
	if c.err != nil {
		return nil, c.err
	}
	return &approval.Parked{State: approval.Made, Changed: &tongs.Changed{Made: "1 modified", Entry: "e_1"}}, nil
}

// A call that is cancelled while somebody else carries out the answer tells of the changes that were made, and one that cannot find
// out does not say that there are none.
func TestCancelledWhileTheChangesAreMade(t *testing.T) {
	for name, late := range map[string]carriedOut{"made": {}, "unknown": {err: errors.New("the disk is full")}} {
		t.Run(name, func(t *testing.T) {
			run := &copying{changes: []tongs.Change{change(tongs.Modified, "old.txt")}}
			b := setup(t, []tongs.Tool{contained(t)}, onCopies(run), func(o *engine.Options) { o.Late = late })
			ctx, cancel := context.WithCancel(t.Context())
			b.person.answer = func(approval.Question) approval.Answer {
				cancel()
				<-ctx.Done()
				return approval.Answer{}
			}
			res := b.Engine.Call(ctx, &tongs.Call{Tool: "echo", Args: []byte(`{"text":"x"}`)})
			must(t, res, tongs.CodeCancelled)
			settled, _ := res.Metadata["settled"].(*tongs.Settled)
			made := settled != nil && settled.Changes != nil && settled.Changes.Entry == "e_1"
			if strings.Contains(res.Content, "none of its changes were kept") || made != (late.err == nil) {
				t.Errorf("made %t: %s", made, res.Content)
			}
		})
	}
}
