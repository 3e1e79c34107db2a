package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/state"
)

// A person watches a call: it appears by itself, prints while it runs, and shows what it came to; so do calls of other
// processes.
func TestLivePage(t *testing.T) {
	s := newStand(t)
	s.write("a.txt", "one\n")
	b := newTab(t, s)
	b.text("#none", "No calls yet")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go s.engine.Call(ctx, &tongs.Call{Tool: "wait", Agents: []string{"coder", "tester"}})
	b.text(".row.running .what", "waiting")
	b.text(".row .who", "coder → tester")
	b.click(".row")
	b.text(".call .out", "waiting")
	b.text(".call h2", "still waiting")
	cancel()
	b.text(".call .badge", "cancelled")
	res := s.engine.Call(t.Context(), callOf("read_file", `{"file_path":"a.txt","limit":"5"}`))
	if !res.OK() {
		t.Fatal(res.Content)
	}
	b.text(`.row[aria-posinset="1"] .tool`, "read_file")
	b.click(`.row[aria-posinset="1"]`)
	b.text(".call .note", "Repaired")
	b.text(".call .effects", "read a.txt")
	b.click(".call-head button") // explain
	b.text(".explained", "pre-approved")
	// Another process, with the same state.
	db, err := state.Open(s.state)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other := newEngine(t, db, s.dir)
	other.Call(t.Context(), callOf("file_info", `{"path":"a.txt"}`))
	b.text(".row .tool", "file_info")
	b.fill("#search", "file_info")
	b.wait("one row", `document.querySelectorAll('.row').length === 1`)
	b.click("[data-outcome=error]")
	b.text("#none", "No call fits")
}

// Approving with other arguments lets the waiting call of an MCP client go on with them; every tab sees by whom.
func TestApprovalsPage(t *testing.T) {
	s := newStand(t, func(s *stand) { s.mcpToken = "0123456789abcdef0123456789abcdef" })
	s.write("a.txt", "one\n")
	b := newTab(t, s)
	other := newTab(t, s)
	other.open("/approvals")
	// A tab that nobody looks at, with leave to notify.
	eval[bool](b, `(Object.defineProperty(document, 'visibilityState', {value: 'hidden'}), window.noted = [],
		window.Notification = class { static permission = 'granted'; constructor(title, o) { noted.push(title + ': ' + o.body) } }, true)`)
	over := s.mcpCall("edit", map[string]any{"path": "a.txt", "oldString": "one", "newString": "two"})
	b.wait("the count in the title", `document.title.startsWith('(1)')`)
	b.text(".toast", "waits for your answer")
	b.wait("a notification", `noted.length === 1 && noted[0].includes('a.txt')`)
	b.open("/approvals")
	b.text(".ask-for", "a.txt")
	b.text(".diff .add", "two")
	b.text(".kv", "agent")
	other.text(".question .ask-for", "a.txt")
	id := s.pending()[0].ID
	b.click("#edit")
	b.wait("the form", `[...document.querySelectorAll('.field textarea')].some(e => e.value === 'two')`)
	eval[bool](b, `(e => { e.value = 'three'; e.dispatchEvent(new Event('input', {bubbles: true})); return true })([...document.querySelectorAll('.field textarea')].find(e => e.value === 'two'))`)
	b.text("#approve", "Approve the edited call")
	b.wait("valid arguments", `!document.querySelector('#approve.invalid')`)
	b.click("#approve")
	if said := <-over; s.read("a.txt") != "three\n" {
		t.Fatalf("%s; the file is %q", said, s.read("a.txt"))
	}
	b.text(".over", "Approved by tester")
	other.text(".over", "Approved by tester")
	other.wait("an empty queue", `document.title === 'Approvals · Tongs'`)
	got, err := s.desk.Store.Get(t.Context(), id)
	if err != nil || got.Answer.Channel != "console" || !strings.HasPrefix(got.Answer.By, "tester (") {
		t.Errorf("answered %+v, %v", got.Answer, err)
	}
}

// Two tabs answer at once: one wins, and the other says who was first.
func TestTwoTabsRace(t *testing.T) {
	s := newStand(t)
	s.write("a.txt", "one\n")
	q, over := s.ask("edit", `{"path":"a.txt","oldString":"one","newString":"two"}`)
	tabs := []*tab{newTab(t, s), newTab(t, s)}
	for _, b := range tabs {
		b.open("/approvals#" + q.ID)
		b.wait("a question that can be answered", `document.querySelector('#approve') && !document.querySelector('#approve').disabled`)
		b.breaking() // the second answer is refused with a status that the browser logs
		// The news of the first answer must not come before the second: both have clicked by then.
		eval[bool](b, `(window.fetch = (f => (...a) => String(a[0]).includes('/answer') ? new Promise(go => window.go = go).then(() => f(...a)) : f(...a))(window.fetch), true)`)
	}
	tabs[0].click("#approve")
	tabs[1].click("#deny")
	for _, b := range tabs {
		b.wait("a click", `window.go`)
	}
	eval[bool](tabs[0], `(window.go(), true)`)
	if res := <-over; !res.OK() {
		t.Errorf("the call: %s", res.Content)
	}
	eval[bool](tabs[1], `(window.go(), true)`)
	tabs[1].text(".toast", "Somebody was first. Approved by tester")
	for _, b := range tabs {
		b.text(".over", "Approved by tester")
	}
	if s.read("a.txt") != "two\n" {
		t.Errorf("the file is %q", s.read("a.txt"))
	}
}

// A question is there after the server was restarted, in the same tab, and its answer serves the call that is made again. All
// of it by keys.
func TestRestartKeepsTheQuestion(t *testing.T) {
	s := newStand(t, func(s *stand) {
		address := ""
		s.beforeListening = func(web *httptest.Server) {
			if address != "" { // the same address as before
				_ = web.Listener.Close()
				l, err := net.Listen("tcp", address)
				if err != nil {
					s.t.Fatal(err)
				}
				web.Listener = l
			}
			address = web.Listener.Addr().String()
		}
	})
	s.write("a.txt", "one\n")
	const args = `{"path":"a.txt","oldString":"one","newString":"two"}`
	s.desk.Wait = 1 // the client gives up at once, and comes back
	s.desk.Channels = nil
	if res := s.engine.Call(t.Context(), callOf("edit", args)); res.Error.Code != tongs.CodeApprovalRequired {
		t.Fatal(res.Content)
	}
	b := newTab(t, s)
	b.open("/approvals")
	b.text(".ask-for", "a.txt")
	b.breaking()
	s.stop()
	b.text("#connection", "reconnecting")
	s.up()
	b.wait("a connection", `document.querySelector('#connection.up')`)
	b.run(chromedp.KeyEvent("a"))
	b.wait("the focus", `document.activeElement.id === 'approve' && !document.activeElement.disabled`)
	b.run(chromedp.KeyEvent("\r"))
	b.text(".over", "Approved by tester")
	s.call("edit", args)
	if s.read("a.txt") != "two\n" {
		t.Errorf("the file is %q", s.read("a.txt"))
	}
}

// Denying needs a reason that reaches the agent; "always" saves the rule as it was edited.
func TestDenyAndAlways(t *testing.T) {
	s := newStand(t)
	s.write("a.txt", "one\n")
	s.write("b.txt", "one\n")
	b := newTab(t, s)
	b.open("/approvals")
	_, over := s.ask("edit", `{"path":"a.txt","oldString":"one","newString":"two"}`)
	b.fill("#reason", "use the other file")
	b.click("#deny")
	if res := <-over; res.Error.Code != tongs.CodeDenied || !strings.Contains(res.Content, "use the other file") {
		t.Errorf("denied: %s", res.Content)
	}
	q, over := s.ask("edit", `{"path":"b.txt","oldString":"one","newString":"two"}`)
	b.wait("the next question", `document.querySelector('[data-question="`+q.ID+`"] #approve')`)
	b.click("[name=scope][value=always]")
	b.fill(".rule input", "nonsense")
	b.text(".rule .wrong", "nonsense")
	b.fill(".rule input", strings.ReplaceAll(q.Remember[0], "b.txt", "*.txt"))
	b.wait("a valid rule", `document.querySelector('.rule .wrong').textContent === ''`)
	b.text("#approve", "Approve always")
	b.click("#approve")
	if res := <-over; !res.OK() {
		t.Error(res.Content)
	}
	grants, err := s.db.Grants().List(t.Context())
	if err != nil || len(grants) != 1 || !strings.Contains(fmt.Sprint(grants[0].Covers), "*.txt") {
		t.Errorf("remembered %v, %v", grants, err)
	}
}

// A question about what a program did to a copy: some of the changes may be kept.
func TestKeepingSomeChanges(t *testing.T) {
	s := newStand(t)
	asked := questionAboutChanges()
	asked.Offer = "tongs allow --edits 'src/**'"
	q, err := s.desk.Store.Open(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t, s)
	b.open("/approvals#" + q.ID)
	b.text("[data-offer]", "To stop being asked about this: tongs allow --edits 'src/**'")
	b.text(".changes", "src/new.go")
	b.text(".changes .why", "protected")
	b.click(`[data-keep="src/old.go"]`)
	b.text("#approve", "Keep 2 changes")
	b.click("#approve")
	b.text(".over", "Approved")
	got, err := s.desk.Store.Get(t.Context(), q.ID)
	if err != nil || fmt.Sprint(got.Answer.Keep) != "[src/new.go .git/hooks/post-commit]" {
		t.Errorf("kept %v, %v", got.Answer.Keep, err)
	}
}

// A tool is tried: checked while one types, its plan and decision shown before it runs, its result after.
func TestToolsPage(t *testing.T) {
	s := newStand(t, demo)
	b := newTab(t, s)
	b.open("/tools")
	b.text(".card", "word-count")
	b.fill("#search", "write_file")
	b.click(`[data-tool="write_file"]`)
	b.wait("a form that does not run", `document.querySelector('#run').disabled`)
	eval[bool](b, `(e => { e.value = 'notes/new.txt'; e.dispatchEvent(new Event('input', {bubbles: true})); return true })(document.querySelector('.field input'))`)
	b.fill(".field textarea", "hello\n")
	b.text(".plan", "pre-approved")
	b.text(".plan .effects", "make the new file notes/new.txt")
	b.click("#run")
	b.text(".call .badge", "done")
	if s.read("notes/new.txt") != "hello\n" {
		t.Errorf("the file is %q", s.read("notes/new.txt"))
	}
	b.open("/tools#tool=shell")
	b.fill(".field textarea", "ls | sh")
	b.text(".plan mark", "sh")
	b.text("#run", "Run, and ask for approval")
	b.open("/tools#tool=word-count")
	b.text(".state-box", "tongs forge approve word-count")
	b.text(".diff .add", "const max = 1000")
	call := s.call("read_file", `{"path":"notes/new.txt"}`).Metadata["call"].(string)
	b.open("/tools#tool=read_file&call=" + call) // replay
	b.wait("the arguments", `document.querySelector('.field input')?.value === 'notes/new.txt'`)
}

// Ten megabytes of output reach the page as they come, and what is on it stays bounded.
func TestTenMegabytesOfOutput(t *testing.T) {
	s := newStand(t)
	b := newTab(t, s)
	line := strings.Repeat("0123456789", 9) + "\x1b[3%dmcolour\x1b[0m\n"
	block := ""
	for i := range 8 {
		block += fmt.Sprintf(line, i)
	}
	args, _ := json.Marshal(map[string]any{"text": block, "times": 10_000_000/len(block) + 1})
	go s.engine.Call(t.Context(), &tongs.Call{ID: "c_big", Tool: "print", Args: args})
	b.text(".row .tool", "print")
	b.click(".row")
	b.text(".call .badge", "done")
	b.wait("output", `document.querySelectorAll('.out .ln').length > 100`)
	nodes := eval[int](b, `document.querySelectorAll('*').length`)
	lines := eval[int](b, `document.querySelectorAll('.out .ln').length`)
	t.Logf("%d elements, %d lines on the page after 10 MB", nodes, lines)
	if nodes > 12000 || lines > 4100 {
		t.Errorf("the page has %d elements, %d lines", nodes, lines)
	}
	b.wait("the whole as a file", `[...document.querySelectorAll('.files li')].some(e => e.textContent.includes('10 MB'))`)
}

// A list of 5,000 calls scrolls from its start to its end, with a few rows on the page.
func TestFiveThousandCalls(t *testing.T) {
	s := newStand(t)
	for i := range 5000 {
		s.engine.Call(t.Context(), callOf("nothing", fmt.Sprintf(`{"n":%d}`, i)))
	}
	b := newTab(t, s)
	b.text(".row .tool", "nothing")
	most := 0
	eventually(t, "end of the list", func() bool {
		// As far as rows are known; more of them are read when the end comes in sight.
		rows := eval[int](b, `(e => { e.scrollTop = e.scrollHeight; return document.querySelectorAll('.row').length })(document.querySelector('.vlist'))`)
		most = max(most, rows)
		return eval[bool](b, `[...document.querySelectorAll('.row')].some(e => e.getAttribute('aria-posinset') === '5000')`)
	})
	if most > 60 {
		t.Errorf("%d rows were on the page", most)
	}
	if height := eval[int](b, `document.querySelector('.vlist').scrollHeight`); height < 5000*40 {
		t.Errorf("the list is %d pixels high", height)
	}
	b.click(`.row[aria-posinset="5000"]`)
	b.text(".call .args", "0")
}

// What pages cost at first, that they fit a phone, and that everything on them has a name. That they ask nobody else for
// anything, and report no error, every tab checks.
func TestPagesAreLight(t *testing.T) {
	s := newStand(t, demo)
	fillDemo(s)
	b := newTab(t, s)
	for _, path := range []string{"/#" + demoCall, "/approvals", "/tools#tool=shell"} {
		b.run(chromedp.EmulateViewport(1440, 900))
		b.open(path)
		b.wait("what is open", `document.querySelector('#side article section')`)
		b.wait("a first paint", `performance.getEntriesByType('paint').length`)
		paint := eval[float64](b, `performance.getEntriesByType('paint')[0].startTime`)
		sizes := eval[int](b, `[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')].reduce((n, e) => n + e.transferSize, 0)`)
		whole := eval[int](b, `[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')].reduce((n, e) => n + e.encodedBodySize, 0)`)
		t.Logf("%s: first paint after %.0f ms; %d bytes transferred, %d with an empty cache", path, paint, sizes, whole)
		if whole > 150<<10 || sizes > 150<<10 {
			t.Errorf("%s takes %d bytes, %d with an empty cache: more than 150 KB", path, sizes, whole)
		}
		if nameless := eval[string](b, `[...document.querySelectorAll('main button, main a, main input, main select, main textarea, main [role=log], main [role=listbox], main [role=region]')]
			.filter(e => e.getClientRects().length && !(e.textContent.trim() || e.getAttribute('aria-label') || e.title || e.labels?.length || e.placeholder))
			.map(e => e.outerHTML.slice(0, 120)).join('; ')`); nameless != "" {
			t.Errorf("%s: these have no name: %s", path, nameless)
		}
		b.run(chromedp.EmulateViewport(390, 844))
		if wide := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			t.Errorf("%s is %d pixels wider than a phone", path, wide)
		}
	}
}

// hostile is text that would be markup, or do something to a terminal or to the direction of writing.
const hostile = `<img src=x onerror="alert(1)"><script>alert(2)</script>"'&lt;` + "\x1b]8;;javascript:alert(3)\x07link\x1b]8;;\x07\x1b[31m\u202etxt.exe\u202c\x00"

// Markup in names of tools, arguments, outputs, names of files, sequences of terminals and diffs stays text.
func TestHostileTextStaysText(t *testing.T) {
	s := newStand(t, demo)
	name := `<img src=x onerror=alert(4)>.txt`
	s.write(name, strings.ReplaceAll(hostile, "\x00", "")+"\n"+"@@ -1 +1 @@\n--- <b>x</b>\n+++ <i>y</i>\n")
	quoted, _ := json.Marshal(hostile)
	path, _ := json.Marshal(name)
	s.engine.Call(t.Context(), &tongs.Call{Tool: `<script>alert(5)</script>`, Args: json.RawMessage(`{"<b>":` + string(quoted) + `}`), Agents: []string{hostile}, Session: hostile, Reason: hostile})
	printed := s.call("print", `{"text":`+string(quoted)+`}`).Metadata["call"].(string)
	read := s.call("read_file", `{"path":`+string(path)+`}`).Metadata["call"].(string)
	q, _ := s.ask("edit", `{"path":`+string(path)+`,"oldString":"<b>x</b>","newString":"<u onclick=alert(6)>`+`z</u>"}`)
	s.toolStates = append(s.toolStates, ToolState{Name: `<svg onload=alert(7)>`, Status: hostile, Detail: hostile, Description: hostile, Diff: hostile, Next: hostile})
	b := newTab(t, s)
	markup := func(where string) {
		t.Helper()
		if n := eval[int](b, `document.querySelectorAll('main img, main script, main u, main b, main i:not(.dot):not(.bar i), main a[href^="javascript"], main svg[onload], main [onclick], main [onerror]').length`); n != 0 {
			t.Errorf("%s: %d elements were made of text", where, n)
		}
	}
	b.text(".row .tool", "<script>")
	b.click(`.row[aria-posinset="4"]`)
	b.text(".call .args", "<b>")
	markup("an unknown tool")
	b.open("/#" + printed)
	b.text(".out", "<script>alert(2)</script>")
	b.wait("visible marks", `document.querySelector('.out').textContent.includes('⟨U+202E⟩') && !document.querySelector('.out').textContent.includes('\u202e')`)
	markup("output")
	b.open("/#" + read)
	b.text(".call", "onerror=alert(4)")
	markup("a file's name and content")
	b.open("/approvals#" + q.ID)
	b.text(".diff", "<u onclick=alert(6)>")
	markup("a diff")
	b.open("/tools#" + "tool=%3Csvg+onload%3Dalert(7)%3E")
	b.text(".state-box", "<img src=x")
	markup("a tool")
}

func questionAboutChanges() approval.Question {
	file := func(rel string) tongs.Path { return tongs.Path{Rel: rel} }
	changes := []tongs.Change{
		{Path: file("src/new.go"), Kind: tongs.Added, Type: tongs.FileRegular, After: 120},
		{Path: file("src/old.go"), Kind: tongs.Deleted, Type: tongs.FileRegular, Before: 50},
		{Path: file(".git/hooks/post-commit"), Kind: tongs.Added, Type: tongs.FileRegular, After: 20, Protected: "protected: git runs hooks"},
	}
	q := approval.Question{
		ID: approval.NewID(), Digest: "d", Call: "c_1", Tool: "shell", Title: "Shell", Args: json.RawMessage(`{"command":"./migrate.sh"}`),
		Message: "Run: ./migrate.sh", Why: "it ran on a copy", Kind: tongs.KindExecute, Effects: []tongs.Effect{}, Changes: changes,
		ChangeCount: 3, Scopes: []approval.Scope{approval.Once}, Preview: "--- a/src/new.go\n+++ b/src/new.go\n@@ -0,0 +1 @@\n+package src\n",
	}
	q.Expires = q.Created.AddDate(5000, 0, 0)
	return q
}
