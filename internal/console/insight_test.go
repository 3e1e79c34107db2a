package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/engine/policy"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/insight"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/tools/todo"
	"github.com/tongs-ai/tongs/worker"
	"github.com/tongs-ai/tongs/workspace"
)

// ruleFile keeps the rules of a stand in a file, as the command does for a person.
type ruleFile struct {
	s    *stand
	path string
}

func (f *ruleFile) Draft(lines []string) (*RuleDraft, error) {
	d, _, err := f.draft(lines)
	return d, err
}

func (f *ruleFile) draft(lines []string) (*RuleDraft, []byte, error) {
	d := &RuleDraft{Path: f.path}
	after, err := os.ReadFile(f.path)
	if err != nil {
		return nil, nil, err
	}
	d.Base = config.Hash(after)
	for _, line := range lines {
		r, err := config.ParseRuleLine(line)
		if err != nil {
			return nil, nil, tongs.Errorf(tongs.CodeInvalidArgs, "%w", err)
		}
		rules, err := r.Rules()
		if err != nil {
			return nil, nil, err
		}
		d.Rules = append(d.Rules, rules...)
		if after, err = config.AddRule(after, r); err != nil {
			return d, nil, err
		}
		d.Diff += "+ " + strings.ReplaceAll(strings.TrimSpace(r.YAML()), "\n", "\n+ ") + "\n"
	}
	return d, after, nil
}

func (f *ruleFile) Save(lines []string, base string) (*RuleDraft, error) {
	d, after, err := f.draft(lines)
	if err != nil {
		return nil, err
	}
	if d.Base != base {
		return nil, tongs.Errorf(tongs.CodeStaleFile, "%s changed", f.path)
	}
	f.s.ruling.Lock()
	defer f.s.ruling.Unlock()
	for _, r := range d.Rules {
		r.Origin = "config.yaml:4"
		f.s.rules = append(f.s.rules[:len(f.s.rules):len(f.s.rules)], r)
	}
	return d, os.WriteFile(f.path, after, 0o600)
}

// inForce are the rules of the stand, which a page may add to.
func (s *stand) inForce() []tongs.Rule {
	s.ruling.Lock()
	defer s.ruling.Unlock()
	return s.rules
}

// runs are runs of workers that are kept in memory.
type runs struct {
	worker.Memory
	todos []todo.Item
}

func (r *runs) Todos(context.Context, *worker.Session) ([]todo.Item, error) { return r.todos, nil }

// insightful gives a stand rules in a file, and runs of workers.
func insightful(s *stand) {
	path := filepath.Join(s.t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("# mine\napproval:\n  mode: safe\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.insight = func(ws *workspace.Workspace) Insight {
		return Insight{Workspace: ws.Dir(), Roots: ws.Digest(), Rules: &ruleFile{s, path}, Workers: s.workers(evil)}
	}
}

var evil = `<img src=x onerror="alert(1)"><script>alert(2)</script>`

// workers returns a tree of two runs, which say more besides.
func (s *stand) workers(more string) *runs {
	at := time.Now().Add(-time.Minute)
	r := &runs{todos: []todo.Item{{Content: "Read the code", Status: "completed"}, {Content: more, Status: "in_progress", ActiveForm: "Changing the size " + more}}}
	lead := worker.Session{
		ID: "w_lead", Log: "s_work", Root: "w_lead", Agents: []string{"lead"}, Worker: "lead", Model: "script:demo", Prompt: "Make the cache bigger: the test wants four entries. " + more,
		State: worker.Done, Started: at, Updated: at.Add(40 * time.Second), Turns: 2, Calls: 1, Usage: model.Usage{Input: 1200, Output: 340},
		Total: model.Usage{Input: 21200, Output: 1340}, Cost: 0.0421, Priced: true, Workspace: s.dir,
	}
	helper := worker.Session{
		ID: "w_helper", Log: "s_work", Root: "w_lead", Parent: "w_lead", Call: "c_1", Agents: []string{"lead", "helper"}, Worker: "helper", Model: "script:demo",
		State: worker.Done, Started: at.Add(time.Second), Updated: at.Add(30 * time.Second), Turns: 1, Usage: model.Usage{Input: 20000, Output: 1000}, Workspace: s.dir,
	}
	text := func(role model.Role, parts ...model.Part) model.Message {
		return model.Message{Role: role, Parts: parts}
	}
	save := func(run worker.Session, entries ...worker.Entry) {
		for i := range entries {
			entries[i].Seq, entries[i].At = i+1, at.Add(time.Duration(i)*time.Second)
		}
		if err := r.Save(s.t.Context(), run, entries...); err != nil {
			s.t.Fatal(err)
		}
	}
	save(lead,
		worker.Entry{Turn: 1, Message: text(model.User, model.Part{Text: lead.Prompt})},
		worker.Entry{
			Turn: 1, Model: "demo", Usage: model.Usage{Input: 600, Output: 200}, Took: 1200 * time.Millisecond,
			Message: text(model.Assistant, model.Part{Thinking: &model.Thinking{Text: "I should ask the helper. " + more}}, model.Part{Text: "I will have the helper look at it."},
				model.Part{Call: &model.Call{ID: "t1", Name: "helper", Args: `{"prompt":"look at cache.go","x":` + quote(more) + `}`}}),
		},
		worker.Entry{
			Turn: 1, Message: text(model.User, model.Part{Result: &model.Result{ID: "t1", Name: "helper", Text: "It holds three entries. " + more}}),
			Calls: []worker.CallNote{{ID: "t1", Call: "c_1", Tool: "helper", Title: "helper looked", Took: 9 * time.Second, Session: "w_helper", Changed: []worker.Change{{Path: "cache/cache.go" + more, Added: 3, Removed: 1}}}},
		},
		worker.Entry{Turn: 2, Model: "demo", Usage: model.Usage{Input: 600, Output: 140}, Message: text(model.Assistant, model.Part{Text: "Done: the cache holds four entries."})},
	)
	save(helper, worker.Entry{Turn: 1, Message: text(model.Assistant, model.Part{Text: "Three entries, in cache.go."})})
	return r
}

func (s *stand) callAs(session, tool, args string, agents ...string) *tongs.Result {
	return s.engine.Call(s.t.Context(), &tongs.Call{Tool: tool, Args: json.RawMessage(args), Session: session, Agents: agents})
}

// remember adds a remembered approval of an edit.
func (s *stand) remember(id string) {
	s.t.Helper()
	cover, err := policy.ParseCover("write src/**")
	if err != nil {
		s.t.Fatal(err)
	}
	err = s.db.Grants().Add(s.t.Context(), policy.Grant{
		ID: id, Scope: policy.ScopeAlways, Key: policy.Key{Tool: "edit"}, Covers: []policy.Cover{cover}, RulesDigest: "rules:x", By: "terminal:ada", At: time.Now(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func api[T any](t *testing.T, s *stand, method, path string, body any) T {
	t.Helper()
	res, data := s.do(method, path, body, nil)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, data)
	}
	checkDescribed(t, method, path, data)
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPolicyAPI(t *testing.T) {
	s := newStand(t, insightful, func(s *stand) {
		s.rules = []tongs.Rule{{Layer: tongs.LayerManaged, Origin: "policy.yaml:2", Effects: tongs.Kinds(tongs.EffectRead), Pattern: "secret", Decision: tongs.Blocked}}
	})
	s.write("secret", "x")
	s.write("plain", "x")
	s.callAs("s1", "read_file", `{"path":"secret"}`)
	s.callAs("s1", "read_file", `{"path":"plain"}`)
	p := api[ruled](t, s, "GET", "/api/policy?window=hour", nil)
	if len(p.Rules) != 1 || p.Rules[0].Hits.Calls != 1 || p.Rules[0].Layer != "managed" || p.Rules[0].Text != `tools * read "secret": blocked` || !p.Saves || p.Calls != 2 {
		t.Errorf("%+v", p)
	}
	if res, data := s.do("GET", "/api/policy?window=year", nil, nil); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", res.StatusCode, data)
	}

	// A rule of the user cannot loosen what the administrator says: the replay shows that nothing changes.
	tried := api[triedRules](t, s, "POST", "/api/policy/try", proposal{Rules: []string{"preApproved read secret"}})
	if tried.Replay.Changed != 0 || tried.Replay.Judged != 2 || tried.Draft == nil {
		t.Errorf("%+v", tried.Replay)
	}
	tried = api[triedRules](t, s, "POST", "/api/policy/try", proposal{Rules: []string{" ", "ask read plain"}})
	if tried.Replay.Changed != 1 || tried.Replay.Changes[0].Then != insight.Ask || tried.Draft == nil || !strings.Contains(tried.Draft.Diff, "plain") {
		t.Fatalf("%+v", tried)
	}
	if tried := api[triedRules](t, s, "POST", "/api/policy/try", proposal{Rules: []string{}, Without: []string{p.Rules[0].ID}}); tried.Replay.Changed != 1 || tried.Draft != nil {
		t.Errorf("%+v", tried)
	}
	if tried := api[triedRules](t, s, "POST", "/api/policy/try", proposal{Rules: []string{"nonsense"}}); !strings.Contains(tried.Wrong, "nonsense") || tried.Replay != nil {
		t.Errorf("%+v", tried)
	}
	for _, bad := range []proposal{{}, {Rules: []string{}, Without: []string{"r_0"}}, {Rules: make([]string, 0)}, {Rules: strings.Split(strings.Repeat("ask read plain,", 51), ",")}} {
		if res, data := s.do("POST", "/api/policy/try", bad, nil); res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%+v: %d %s", bad, res.StatusCode, data)
		}
	}

	// Saving needs the draft that was shown, and a GET saves nothing.
	for _, bad := range []proposal{{Rules: []string{"ask read plain"}}, {Rules: []string{"ask read plain"}, Base: "sha256:0"}, {Rules: []string{}, Base: tried.Draft.Base}} {
		if res, data := s.do("POST", "/api/policy/save", bad, nil); res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%+v: %d %s", bad, res.StatusCode, data)
		}
	}
	if res, _ := s.do("GET", "/api/policy/save", nil, nil); res.StatusCode != http.StatusMethodNotAllowed && res.StatusCode != http.StatusNotFound {
		t.Errorf("a GET: %d", res.StatusCode)
	}
	api[saved](t, s, "POST", "/api/policy/save", proposal{Rules: []string{"ask read plain"}, Base: tried.Draft.Base})
	if e, err := s.engine.Explain(t.Context(), &tongs.Call{Tool: "read_file", Args: json.RawMessage(`{"path":"plain"}`)}); err != nil || e.Decision != tongs.Ask {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestGrantsAPI(t *testing.T) {
	s := newStand(t, insightful)
	s.remember("g_1")
	p := api[ruled](t, s, "GET", "/api/policy", nil)
	if len(p.Grants) != 1 || p.Grants[0].Covers[0] != "write src/**" || p.Grants[0].Here {
		t.Fatalf("%+v", p.Grants)
	}
	api[done](t, s, "POST", "/api/grants/g_1/revoke", struct{}{})
	if res, _ := s.do("POST", "/api/grants/g_1/revoke", struct{}{}, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("twice: %d", res.StatusCode)
	}
	if list, err := s.db.Grants().List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestSessionsAPI(t *testing.T) {
	s := newStand(t, insightful)
	s.write("a", "x")
	s.callAs("s_work", "read_file", `{"path":"a"}`, "lead", "helper")
	s.callAs("s_work", "read_file", `{"path":"missing"}`, "lead")
	s.callAs("s_client", "read_file", `{"path":"a"}`)
	list := api[sessionList](t, s, "GET", "/api/sessions", nil)
	if list.Total != 2 || list.Sessions[0].ID != "s_client" || list.Sessions[0].Kind != "client" || list.Sessions[1].Kind != "worker" || list.Sessions[1].Cost != 0.0421 ||
		list.Sessions[1].Errors != 1 || len(list.Sessions[1].Agents) != 2 {
		t.Errorf("%+v", list)
	}
	d := api[sessionDetail](t, s, "GET", "/api/sessions/s_work", nil)
	if len(d.Calls) != 2 || d.Calls[1].Code != tongs.CodeFileNotFound || len(d.Runs) != 2 || d.Runs[1].Depth != 1 || d.Session.Title != "lead" {
		t.Errorf("%+v", d)
	}
	r := api[runDetail](t, s, "GET", "/api/runs/w_lead", nil)
	if len(r.Entries) != 4 || r.Entries[2].Parts[0].Run != "w_helper" || len(r.Todos) != 2 {
		t.Errorf("%+v", r)
	}
	for _, path := range []string{"/api/sessions/none", "/api/runs/none"} {
		if res, _ := s.do("GET", path, nil, nil); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}

// A stand without anything for these pages still answers.
func TestInsightWithoutMore(t *testing.T) {
	s := newStand(t)
	s.write("a", "x")
	s.callAs("s1", "read_file", `{"path":"a"}`)
	if p := api[ruled](t, s, "GET", "/api/policy", nil); p.Saves {
		t.Error("it says that rules can be saved")
	}
	if d := api[sessionDetail](t, s, "GET", "/api/sessions/s1", nil); len(d.Calls) != 1 || len(d.Runs) != 0 {
		t.Errorf("%+v", d)
	}
	if st := api[insight.Stats](t, s, "GET", "/api/statistics", nil); st.Calls != 1 {
		t.Errorf("%+v", st)
	}
	for _, path := range []string{"/api/policy/try", "/api/policy/save"} {
		if res, data := s.do("POST", path, proposal{Rules: []string{"ask read a"}, Base: "x"}, nil); res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", path, res.StatusCode, data)
		}
	}
	if res, _ := s.do("GET", "/api/runs/x", nil, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("%d", res.StatusCode)
	}
}

func TestPolicyPage(t *testing.T) {
	s := newStand(t, insightful, demo)
	s.write("plain", "x")
	for range 3 {
		s.callAs("s1", "read_file", `{"path":"plain"}`)
	}
	s.remember("g_1")
	b := newTab(t, s)
	b.open("/policy")

	// The tester answers, for a command and for any other tool.
	b.wait("tools", `document.querySelectorAll('#test-tool option').length > 5`)
	b.fill("#test-input", "git push")
	b.click("#test button")
	b.wait("an answer", `document.querySelector('#test-result [data-decision=ask]')`)
	b.text("#test-result", "git push")
	b.eval(`(e => { e.value = 'write_file'; e.dispatchEvent(new Event('change')); return true })(document.querySelector('#test-tool'))`, nil)
	b.fill("#test-args", `{"path":`+quote(evil)+`,"content":`+quote(evil)+`}`)
	b.click("#test button")
	b.text("#test-result", evil)
	b.fill("#test-args", `{nonsense`)
	b.click("#test button")
	b.text("#test-result .failure", "not JSON")

	// A proposed rule shows what it would change, and is saved as it was shown.
	b.eval(`(e => { e.value = 'read'; e.dispatchEvent(new Event('change')); return true })(document.querySelector('#p-kind'))`, nil)
	b.fill("#p-pattern", "plain")
	b.click("#propose button")
	b.wait("a changed decision", `document.querySelector('#propose-result [data-changed="3"] tr[data-call]')`)
	b.text("#propose-result", "3 more strictly")
	b.text("#propose-result .draft-diff", "pattern: \"plain\"")
	b.click("#save")
	b.text("#propose-result", "Saved in")
	b.wait("the rule", `[...document.querySelectorAll('[data-layer=builtin] code, [data-layer=user] code')].some(e => e.textContent === 'plain')`)
	if e, err := s.engine.Explain(t.Context(), &tongs.Call{Tool: "read_file", Args: json.RawMessage(`{"path":"plain"}`)}); err != nil || e.Decision != tongs.Ask {
		t.Errorf("%+v, %v", e, err)
	}
	b.fill("#p-pattern", "~/x")
	b.click("#propose button")
	b.text("#propose-result .failure", "home directory")

	// A remembered approval is revoked.
	b.click("[data-grant=g_1] button")
	b.wait("no grant", `!document.querySelector('[data-grant=g_1]')`)
	if list, err := s.db.Grants().List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestSessionsPage(t *testing.T) {
	s := newStand(t, insightful)
	s.write("a", "x")
	s.callAs("s_work", "read_file", `{"path":"a"}`, "lead", "helper")
	s.callAs("s_client", "read_file", `{"path":`+quote(evil)+`}`, evil)
	b := newTab(t, s)
	b.open("/sessions")
	b.click("[data-session=s_work]")
	b.text("#detail .transcript", "the cache holds four entries")
	b.text("#detail .todos", "1 of 2 done")
	b.text("#tokens", "21k in")
	b.text("#cost", "$0.0421")
	b.eval(`document.querySelectorAll('#detail details').forEach(d => d.open = true)`, nil)
	b.text("#detail .called", "It holds three entries")
	b.click("#detail [data-run=w_helper]")
	b.text("#detail .transcript", "Three entries, in cache.go")
	b.click(`#detail .tabs a[href$="calls"]`)
	b.text("#detail .calls", "read_file")
	b.click("[data-session=s_client]")
	b.text("#detail .tree", evil)
	b.fill("#find", "nothing like it")
	b.text("#list", "No session fits")
	var made int
	if b.eval(`document.querySelectorAll('main img, main script').length`, &made); made != 0 {
		t.Errorf("%d elements were made of text", made)
	}
}

func TestStatisticsPage(t *testing.T) {
	s := newStand(t, insightful)
	s.write("a", "x")
	for range 7 {
		s.callAs("s1", "read_file", `{"path":"a"}`)
	}
	for range 2 {
		s.callAs("s2", "read_file", `{"path":"missing"}`)
	}
	s.callAs("s2", "print", `{"text":"`+strings.Repeat("0123456789", 50)+`","times":2000}`)
	s.callAs("s2", evil, `{}`)
	old := &audit.Row{Call: "old", Tool: "edit", Session: "s0", Started: time.Now().Add(-3 * 24 * time.Hour)}
	if err := s.db.Audit().Open(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Audit().Close(t.Context(), "old", &audit.Closing{Outcome: audit.OutcomeOK}); err != nil {
		t.Fatal(err)
	}
	b := newTab(t, s)
	b.open("/statistics")
	b.wait("numbers", `document.querySelector('#content').dataset.calls === '11'`)
	for title, want := range map[string]string{"Calls": "11", "Succeeded": "72%", "Failed": "3"} {
		b.text(fmt.Sprintf("[data-card=%q]", title), want)
	}
	b.text("#tools", evil)
	b.text(".ranks", "FILE_NOT_FOUND")
	b.wait("a chart", `document.querySelectorAll('.figure svg[role=img] rect.ink').length >= 2`)
	b.click("[data-window=week]")
	b.wait("the week", `document.querySelector('#content').dataset.calls === '12'`)
	b.click("[data-window=hour]")
	b.wait("the hour", `document.querySelector('#content').dataset.calls === '11'`)
	stats := api[insight.Stats](t, s, "GET", "/api/statistics?window=week", nil)
	rows, err := s.db.Audit().Rows(t.Context(), audit.Filter{})
	if err != nil || stats.Calls != len(rows) || stats.Bytes.Saved < 900_000 {
		t.Errorf("%d of %d, %+v, %v", stats.Calls, len(rows), stats.Bytes, err)
	}
}

// The pages fit a phone: nothing is wider than the screen.
func TestInsightPagesFitAPhone(t *testing.T) {
	s := newStand(t, insightful, demo)
	s.write("a", "x")
	s.callAs("s_work", "read_file", `{"path":"a"}`, "lead")
	s.remember("g_1")
	b := newTabAt(t, s, 390, 844)
	for path, ready := range map[string]string{
		"/policy": `document.querySelector('[data-grant]')`, "/statistics": `document.querySelector('.figure svg')`, "/sessions#s_work": `document.querySelector('.transcript')`,
	} {
		b.open(path)
		b.wait(path, ready)
		var wide int
		if b.eval(`document.documentElement.scrollWidth - innerWidth`, &wide); wide > 0 {
			t.Errorf("%s is %d pixels wider than the screen", path, wide)
		}
	}
}
