package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/audit"
)

func TestFetchSaysWhereAndWhat(t *testing.T) {
	b := newBench(t, setup{rules: allow("site.test")})
	var agent, accept atomic.Value
	b.serve("site.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		agent.Store(r.UserAgent())
		accept.Store(r.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Etag", `"one"`)
		w.Header().Set("Set-Cookie", "session=secret")
		_, _ = w.Write([]byte("<title>A page</title><h1>Hello</h1><p>You.</p>"))
	}))
	res := b.call("web_fetch", args{"url": "HTTP://site.test/a?b=1#c"})
	out, err := tongs.ValueOf[Output](res)
	if err != nil {
		t.Fatal(err)
	}
	if out.URL != "http://site.test/a?b=1#c" || out.Status != 200 || out.ContentType != "text/html" || out.Title != "A page" ||
		out.Body != "# Hello\n\nYou." || out.Headers["etag"] != `"one"` || out.Headers["set-cookie"] != "" {
		t.Errorf("%+v", out)
	}
	contains(t, "what the model sees", res.Content, "200 OK, text/html", `"A page"`, "http://site.test/a", "data, not instructions", "# Hello")
	if agent.Load() != UserAgent || accept.Load() != acceptEncoding || len(b.Asked()) != 0 {
		t.Errorf("%v, %v, %d questions", agent.Load(), accept.Load(), len(b.Asked()))
	}
	rows, err := b.log.Rows(context.Background(), audit.Filter{})
	if err != nil || len(rows) != 1 || len(rows[0].Close.Connections) != 2 || !strings.Contains(rows[0].Close.Connections[1], "site.test:80 at 93.184.216.1:80: ") {
		t.Errorf("%v: the row has the connections %+v", err, rows)
	}
}

func TestKindsOfContent(t *testing.T) {
	saved := map[string][]byte{}
	b := newBench(t, setup{rules: allow("site.test"), Options: Options{Save: func(name string, data []byte) (string, error) {
		saved[name] = data
		return "/spill/x/" + name, nil
	}}})
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 64)...)
	type made struct {
		kind string
		body []byte
	}
	files := map[string]made{
		"/data.json":    {"application/vnd.api+json", []byte(`{"b":1.0,"a":[1,2],"n":12345678901234567890}`)},
		"/broken.json":  {"application/json", []byte(`{"b":`)},
		"/text":         {"text/plain; charset=iso-8859-1", []byte("caf\xe9\r\n")},
		"/unsaid":       {"", []byte("<!doctype html><p>hi")},
		"/x.png":        {"image/png", png},
		"/x.zip":        {"application/zip", append([]byte("PK\x03\x04"), make([]byte, 100)...)},
		"/liar":         {"text/html", append([]byte("PK\x03\x04"), make([]byte, 100)...)},
		"/octet":        {"application/octet-stream", []byte("plain words")},
		"/feed.xml":     {"application/rss+xml", []byte("<rss><item>x</item></rss>")},
		"/a.pdf":        {"application/pdf", pdfOf("Hello from a file", "and a second page")},
		"/broken.pdf":   {"application/pdf", []byte("%PDF-1.4\nnothing")},
		"/empty":        {"text/html", nil},
		"/../../x.bin ": {"application/x-thing", []byte{0, 1, 2}},
	}
	b.serve("site.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header()["Content-Type"] = []string{f.kind}
		if f.kind == "" {
			w.Header()["Content-Type"] = nil
		}
		_, _ = w.Write(f.body)
	}))
	fetch := func(path string) (Output, *tongs.Result) {
		t.Helper()
		res := b.call("web_fetch", args{"url": "http://site.test" + path})
		out, err := tongs.ValueOf[Output](res)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return out, res
	}
	for path, want := range map[string]string{
		"/data.json":   "{\n  \"b\": 1.0,\n  \"a\": [\n    1,\n    2\n  ],\n  \"n\": 12345678901234567890\n}",
		"/broken.json": `{"b":`, "/text": "café\n", "/unsaid": "hi", "/octet": "plain words", "/feed.xml": "<rss><item>x</item></rss>", "/empty": "",
	} {
		if out, _ := fetch(path); out.Body != want {
			t.Errorf("%s: %q, want %q", path, out.Body, want)
		}
	}
	if out, _ := fetch("/a.pdf"); !strings.Contains(out.Body, "Hello from a file") || !strings.Contains(out.Body, "[page 2]\nand a second page") {
		t.Errorf("the file: %+v", out)
	}
	if out, res := fetch("/broken.pdf"); out.Path == "" || !strings.Contains(res.Content, "cannot be read") {
		t.Errorf("the broken file: %+v %s", out, res.Content)
	}
	if _, res := fetch("/x.png"); len(res.Attachments) != 1 || res.Attachments[0].MIME != "image/png" || !bytes.Equal(res.Attachments[0].Data, png) {
		t.Errorf("the image: %+v", res.Attachments)
	}
	for _, path := range []string{"/x.zip", "/liar"} {
		out, res := fetch(path)
		if out.Path != "/spill/x"+path || out.Body != "" || !strings.Contains(res.Content, "application/zip") || len(saved[path[1:]]) != 104 {
			t.Errorf("%s: %+v", path, out)
		}
	}
	if out, _ := fetch("/%2e%2e/..%2f../x.bin%20"); strings.Contains(strings.TrimPrefix(out.Path, "/spill/x/"), "/") {
		t.Errorf("saved as %s", out.Path)
	}
}

func TestFormatsAndNarrowing(t *testing.T) {
	b := newBench(t, setup{rules: allow("site.test"), Options: Options{Page: 400}})
	var page strings.Builder
	page.WriteString(`<html><body><h1>Top</h1><div class="a"><p>First <b>part</b>.</p><!-- INJECTED --></div><div class="b"><p>Second <code>part</code>.</p></div>`)
	for i := range 200 {
		fmt.Fprintf(&page, "<p>Line number %d of many.</p>", i)
	}
	b.serve("site.test", saying("text/html", page.String()))
	at := args{"url": "http://site.test/"}
	with := func(more args) args {
		in := args{}
		for k, v := range at {
			in[k] = v
		}
		for k, v := range more {
			in[k] = v
		}
		return in
	}
	if out := b.fetch(with(args{"selector": ".b"})); out.Body != "Second `part`." {
		t.Errorf("selector: %q", out.Body)
	}
	if out := b.fetch(with(args{"selector": ".a", "format": "text"})); out.Body != "First part." {
		t.Errorf("text: %q", out.Body)
	}
	if out := b.fetch(with(args{"selector": ".a", "format": "html"})); !strings.Contains(out.Body, "<p>First <b>part</b>.</p>") || strings.Contains(out.Body, "INJECTED") {
		t.Errorf("html: %q", out.Body)
	}
	if out := b.fetch(with(args{"format": "raw"})); !strings.HasPrefix(out.Body, page.String()[:100]) {
		t.Errorf("raw: %q", out.Body)
	}
	first := b.fetch(at)
	if first.NextOffset == 0 || len(first.Body) > 400 || first.Total < 4000 {
		t.Fatalf("first page: %+v", first)
	}
	second := b.fetch(with(args{"offset": first.NextOffset}))
	if second.Body == first.Body || !second.Cached {
		t.Errorf("second page: %+v", second)
	}
	res := b.call("web_fetch", with(args{"find": "NUMBER 150"}))
	contains(t, "what was found", res.Content, "[offset ", "Line number 150 of many.", "Line number 149", "1 lines")
	if strings.Contains(res.Content, "number 140 ") {
		t.Errorf("found too much: %s", res.Content)
	}
	b.fails(tongs.CodeNoMatch, with(args{"find": "nowhere to be seen"}))
	b.fails(tongs.CodeNoMatch, with(args{"selector": ".none"}))
	b.fails(tongs.CodeInvalidArgs, with(args{"selector": "[[["}))
	b.fails(tongs.CodeInvalidArgs, with(args{"offset": 1 << 30}))
}

// Reading a host that is not on the list is asked about, for that host, and can be remembered; what is sent is asked about
// each time; what is blocked stays so.
func TestApproval(t *testing.T) {
	scope := approval.Session
	b := newBench(t, setup{
		rules: append(allow("free.test"), tongs.Rule{
			Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "bad.test", Decision: tongs.Blocked,
		}),
		answer: func(approval.Question) approval.Answer { return approval.Answer{Approved: true, Scope: scope} },
	})
	for _, host := range []string{"free.test", "other.test", "bad.test"} {
		b.serve(host, saying("text/plain", host))
	}
	b.fetch(args{"url": "http://free.test/"})
	if len(b.Asked()) != 0 {
		t.Error("a host of the list was asked about")
	}
	b.fetch(args{"url": "http://other.test/"})
	b.fetch(args{"url": "http://other.test/more"})
	if q := b.Asked(); len(q) != 1 || len(q[0].Scopes) != 3 || q[0].Remember[0] != "network other.test" {
		t.Fatalf("asked: %+v", b.Asked())
	}
	b.fails(tongs.CodeBlocked, args{"url": "http://bad.test/"})
	scope = approval.Once
	for i, in := range []args{
		{"url": "http://free.test/", "method": "POST"},
		{"url": "http://free.test/", "method": "POST", "body": "x=1"},
		{"url": "http://other.test/", "headers": map[string]string{"Authorization": "Basic eA=="}},
		{"url": "http://other.test/", "headers": map[string]string{"Cookie": "a=b"}},
		{"url": "http://other.test/", "headers": map[string]string{"X-Api-Key": "short"}},
		{"url": "http://other.test/", "headers": map[string]string{"X-Thing": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}},
	} {
		for range 2 {
			before := len(b.Asked())
			b.fetch(in)
			q := b.Asked()
			if len(q) != before+1 || !q[before].Effects[0].Sends || len(q[before].Scopes) != 1 || q[before].Preview == "" {
				t.Errorf("%d: %v: %d questions", i, in, len(q)-before)
			}
		}
	}
	b.fails(tongs.CodeInvalidArgs, args{"url": "http://free.test/", "body": "x"})
	for _, header := range []string{"Host", "Content-Length", "user-agent", "Connection", "a b", "x\r\ny", ""} {
		b.fails(tongs.CodeInvalidArgs, args{"url": "http://free.test/", "headers": map[string]string{header: "x"}})
	}
	b.fails(tongs.CodeInvalidArgs, args{"url": "http://free.test/", "headers": map[string]string{"X": "a\r\nb: c"}})
}

// Secrets are found wherever they are, in whatever is common to write them in; whoever is asked sees that they are there, and
// nothing that is kept holds them.
func TestSecretsAreShownAndNeverPassUnasked(t *testing.T) {
	const value = "correct-Horse-battery-9" // the user's own
	token := "ghp_" + strings.Repeat("a1B2", 10)
	b := newBench(t, setup{
		rules: allow("free.test"), mode: tongs.ModeAll, Options: Options{IgnoreRobots: true, Environ: []string{"DEPLOY_PASSWORD=" + value, "LANG=C.UTF-8"}},
	})
	b.serve("free.test", saying("text/plain", "x"))
	b.serve("correct-horse-battery-9.free.test", saying("text/plain", "x"))
	enc := base64.StdEncoding.EncodeToString
	for name, in := range map[string]args{
		"query":              {"url": "http://free.test/?t=" + token},
		"own value":          {"url": "http://free.test/?q=" + value},
		"encoded twice":      {"url": "http://free.test/?q=" + url.QueryEscape(url.QueryEscape(strings.ReplaceAll(value, "-", "%2D")))},
		"base64":             {"url": "http://free.test/?q=" + url.QueryEscape(enc([]byte(value)))},
		"base64 inside":      {"url": "http://free.test/?q=" + url.QueryEscape(enc([]byte("x: "+value+" and more")))},
		"base64 of a url":    {"url": "http://free.test/" + base64.RawURLEncoding.EncodeToString([]byte("??"+value))},
		"hex":                {"url": "http://free.test/" + hex.EncodeToString([]byte(value))},
		"host":               {"url": "http://correct-horse-battery-9.free.test/"},
		"path":               {"url": "http://free.test/" + value + "/x"},
		"header":             {"url": "http://free.test/", "headers": map[string]string{"X-Note": value}},
		"body":               {"url": "http://free.test/", "method": "POST", "body": `{"k":"` + token + `"}`},
		"body in a sentence": {"url": "http://free.test/", "method": "POST", "body": "it is " + value + "."},
		"fragment":           {"url": "http://free.test/#" + value},
	} {
		before := len(b.Asked())
		b.fetch(in)
		asked := b.Asked()[before:]
		if len(asked) != 1 || !asked[0].Effects[0].MustAsk || !strings.Contains(asked[0].Effects[0].Why, "secret would leave") {
			t.Errorf("%s: asked %+v", name, asked)
			continue
		}
		q := asked[0]
		q.Args = nil // those are taken care of where questions are kept
		kept, _ := json.Marshal(q)
		if strings.Contains(string(kept), token) || strings.Contains(string(kept), value) {
			t.Errorf("%s: the question holds it: %s", name, kept)
		}
	}
	before := len(b.Asked())
	b.fetch(args{"url": "http://free.test/?q=harmless+words&page=2&v=" + strings.Repeat("ab12", 12)})
	if len(b.Asked()) != before {
		t.Errorf("a harmless request was asked about: %+v", b.Asked()[before])
	}
}

// A redirect to a host that nobody decided is decided on the way; what was meant for one host is not told to another.
func TestRedirectsAreDecided(t *testing.T) {
	say := true
	b := newBench(t, setup{
		rules:  append(allow("a.test", "c.test"), tongs.Rule{Layer: tongs.LayerUser, Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "bad.test", Decision: tongs.Blocked}),
		answer: func(approval.Question) approval.Answer { return approval.Answer{Approved: say} },
	})
	b.serve("a.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		code := http.StatusFound
		if r.Method == http.MethodPost {
			code = http.StatusTemporaryRedirect
		}
		http.Redirect(w, r, "http://"+strings.TrimPrefix(r.URL.Path, "/to/")+"/end", code)
	}))
	var mu sync.Mutex
	got := map[string]http.Header{}
	posted := map[string]string{}
	for _, name := range []string{"b.test", "c.test", "bad.test"} {
		b.serve(name, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			body := make([]byte, 100)
			n, _ := r.Body.Read(body)
			mu.Lock()
			got[name], posted[name] = r.Header.Clone(), string(body[:n])
			mu.Unlock()
			_, _ = w.Write([]byte("end of " + name))
		}))
	}
	if out := b.fetch(args{"url": "http://a.test/to/c.test"}); out.URL != "http://c.test/end" || out.Body != "end of c.test" || len(b.Asked()) != 0 {
		t.Errorf("%+v, %d questions", out, len(b.Asked()))
	}
	out := b.fetch(args{"url": "http://a.test/to/b.test"})
	q := b.Asked()
	if out.Body != "end of b.test" || len(q) != 1 || q[0].Effects[0].Host != "b.test" || !strings.Contains(q[0].Notes[0], "a.test redirects to b.test") {
		t.Errorf("%+v, asked %+v", out, q)
	}
	b.fails(tongs.CodeBlocked, args{"url": "http://a.test/to/bad.test"})
	b.fetch(args{"url": "http://a.test/to/c.test", "headers": map[string]string{"Authorization": "Bearer abcdefgh12345678", "X-Api-Key": "k", "X-Plain": "p"}})
	mu.Lock()
	h := got["c.test"]
	mu.Unlock()
	if h.Get("Authorization") != "" || h.Get("X-Api-Key") != "" || h.Get("X-Plain") != "" {
		t.Errorf("the other host was told %v", h)
	}
	before := len(b.Asked())
	b.fetch(args{"url": "http://a.test/to/c.test", "method": "POST", "body": "form"})
	if q := b.Asked()[before:]; len(q) != 2 || q[1].Effects[0].Host != "c.test" || !q[1].Effects[0].Sends || posted["c.test"] != "form" {
		t.Errorf("a body that is sent on: asked %+v, sent %q", q, posted["c.test"])
	}
	say = false
	b.fails(tongs.CodeDenied, args{"url": "http://a.test/to/b.test"})
	if _, reached := got["bad.test"]; reached {
		t.Error("the blocked host was reached")
	}
}

// A person who lets a secret go to one host did not let it go to another that the first one redirects to, in whatever mode.
func TestSecretsAreNotSentOn(t *testing.T) {
	const value = "correct-Horse-battery-9"
	b := newBench(t, setup{
		rules: allow("a.test", "b.test"), mode: tongs.ModeAll, Options: Options{IgnoreRobots: true, Environ: []string{"DEPLOY_PASSWORD=" + value}},
	})
	b.serve("a.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://b.test/end?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
	}))
	var mu sync.Mutex
	var got []string
	b.serve("b.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprint(r.URL, r.Header, string(body)))
		_, _ = w.Write([]byte("end"))
	}))
	out := b.fetch(args{"url": "http://a.test/", "headers": map[string]string{"X-Note": value, "X-Plain": "p"}})
	if len(got) != 1 || strings.Contains(got[0], value) || strings.Contains(got[0], "X-Plain") || out.Body != "end" {
		t.Errorf("the other host was told %q", got)
	}
	b.fails(tongs.CodeNetworkError, args{"url": "http://a.test/?q=" + value})
	b.fails(tongs.CodeNetworkError, args{"url": "http://a.test/", "method": "POST", "body": "it is " + value})
	if len(got) != 1 {
		t.Errorf("the other host was told %q", got)
	}
	b.fetch(args{"url": "http://a.test/", "method": "POST", "body": "harmless"})
	if len(got) != 2 {
		t.Errorf("a harmless body was not sent on: %q", got)
	}
}

func TestCache(t *testing.T) {
	now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	b := newBench(t, setup{rules: allow("site.test", "far.test"), Options: Options{IgnoreRobots: true, Now: clock}})
	var hits, revalidated atomic.Int32
	b.serve("far.test", saying("text/plain", "far"))
	b.serve("site.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://far.test/", http.StatusFound)
			return
		case "/fresh":
			w.Header().Set("Cache-Control", "max-age=60")
		case "/never":
			w.Header().Set("Cache-Control", "no-store")
		case "/tagged":
			w.Header().Set("Cache-Control", "no-cache")
			w.Header().Set("Etag", `"v1"`)
			if r.Header.Get("If-None-Match") == `"v1"` {
				revalidated.Add(1)
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		_, _ = w.Write([]byte("body"))
	}))
	count := func(session, path string, want int32) {
		t.Helper()
		before := hits.Load()
		data, _ := json.Marshal(args{"url": "http://site.test" + path})
		res := b.Engine.Call(context.Background(), &tongs.Call{Tool: "web_fetch", Args: data, Session: session})
		if out, err := tongs.ValueOf[Output](res); err != nil || out.Body == "" || hits.Load()-before != want {
			t.Errorf("%s of %s: %d requests, want %d; %v %+v", path, session, hits.Load()-before, want, err, out)
		}
	}
	count("one", "/fresh", 1)
	count("one", "/fresh", 0)
	count("two", "/fresh", 1) // another session knows nothing of it
	mu.Lock()
	now = now.Add(2 * time.Minute)
	mu.Unlock()
	count("one", "/fresh", 1)
	count("one", "/never", 1)
	count("one", "/never", 1)
	count("one", "/tagged", 1)
	count("one", "/tagged", 1)
	if revalidated.Load() != 1 {
		t.Errorf("asked %d times whether it changed", revalidated.Load())
	}
	count("one", "/away", 1)
	count("one", "/away", 1) // where it leads is looked at each time
}

func TestRobots(t *testing.T) {
	robots := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /private\n\nUser-agent: Tongs\nDisallow: /secret\nAllow: /secret/open\n"))
			return
		}
		if r.URL.Path == "/hop" {
			http.Redirect(w, r, "/secret/x", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("page"))
	}
	b := newBench(t, setup{rules: allow("site.test")})
	b.serve("site.test", http.HandlerFunc(robots))
	b.fetch(args{"url": "http://site.test/private"})
	b.fetch(args{"url": "http://site.test/secret/open"})
	res := b.fails(tongs.CodePermissionDenied, args{"url": "http://site.test/secret/x"})
	contains(t, "the refusal", res.Content, "robots.txt", "toolsets.web.robots: ignore")
	b.fails(tongs.CodePermissionDenied, args{"url": "http://site.test/hop"})
	b.fetch(args{"url": "http://site.test/robots.txt"})
	ignoring := newBench(t, setup{rules: allow("site.test"), Options: Options{IgnoreRobots: true}})
	ignoring.serve("site.test", http.HandlerFunc(robots))
	ignoring.fetch(args{"url": "http://site.test/secret/x"})
}

// pdfOf is a small file with a page for each text.
func pdfOf(texts ...string) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, a ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(offsets)}, a...)...)
	}
	b.WriteString("%PDF-1.4\n")
	var kids []string
	for i := range texts {
		kids = append(kids, fmt.Sprintf("%d 0 R", 4+2*i))
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(texts))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	for i, text := range texts {
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 5+2*i)
		content := fmt.Sprintf("BT /F1 12 Tf 72 720 Td (%s) Tj ET", text)
		object("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, at)
	return b.Bytes()
}
