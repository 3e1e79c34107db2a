package web

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// received is a server that keeps what it was sent.
type received struct {
	mu   sync.Mutex
	list []seen
}

type seen struct {
	method, uri string
	header      http.Header
	body        string
	form        map[string][]string
	files       map[string]string
}

func (r *received) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path == "/robots.txt" {
		http.NotFound(w, req)
		return
	}
	s := seen{method: req.Method, uri: req.RequestURI, header: req.Header.Clone(), files: map[string]string{}}
	if kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type")); kind == "multipart/form-data" {
		if req.ParseMultipartForm(1<<20) == nil {
			s.form = req.MultipartForm.Value
			for field, list := range req.MultipartForm.File {
				f, err := list[0].Open()
				if err == nil {
					data, _ := io.ReadAll(f)
					s.files[field+"/"+list[0].Filename] = string(data)
				}
			}
		}
	} else {
		data, _ := io.ReadAll(req.Body)
		s.body = string(data)
	}
	r.mu.Lock()
	r.list = append(r.list, s)
	r.mu.Unlock()
	w.Header().Set("X-Request-Id", "42")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"ok":true}`)
}

func (r *received) all() []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRequestSendsEveryKindOfBody(t *testing.T) {
	b := newBench(t, setup{files: true, rules: allow("api.test")})
	got := &received{}
	b.serve("api.test", got)
	write(t, b.Dir, "a.csv", "x,y\n1,2\n")
	for _, c := range []struct {
		in       args
		method   string
		kind     string
		body     string
		question string
	}{
		{args{"method": "PUT", "json": map[string]any{"a": 1}}, "PUT", "application/json", `{"a":1}`, "\"a\": 1"},
		{args{"method": "post", "form": args{"q": "a b&c"}}, "POST", "application/x-www-form-urlencoded", "q=a+b%26c", "q=a b&c"},
		{args{"method": "PATCH", "body": "plain"}, "PATCH", "text/plain; charset=utf-8", "plain", "plain"},
		{args{"method": "POST", "file": "a.csv"}, "POST", "text/csv; charset=utf-8", "x,y\n1,2\n", "file a.csv, 8 bytes"},
		{args{"method": "DELETE"}, "DELETE", "", "", "DELETE http://api.test/v1"},
		{args{"method": "PURGE"}, "PURGE", "", "", "PURGE http://api.test/v1"},
	} {
		c.in["url"] = "http://api.test/v1?x=1"
		before := len(b.Asked())
		res := b.call(RequestTool, c.in)
		out, err := tongs.ValueOf[RequestOutput](res)
		if err != nil || out.Status != 201 || out.Headers["x-request-id"] != "42" || !strings.Contains(out.Body, `"ok": true`) {
			t.Fatalf("%v: %+v, %v", c.in, out, err)
		}
		last := got.all()[len(got.all())-1]
		if last.method != c.method || last.body != c.body || last.header.Get("Content-Type") != c.kind || last.uri != "/v1?x=1" {
			t.Errorf("%v: the server got %+v", c.in, last)
		}
		asked := b.Asked()
		if len(asked) != before+1 {
			t.Fatalf("%v: %d questions, want one although the host is allowed", c.in, len(asked)-before)
		}
		contains(t, "question", asked[before].Preview+asked[before].Message, c.question, "http://api.test/v1?x=1")
	}
}

func TestRequestSendsFilesAndFields(t *testing.T) {
	b := newBench(t, setup{files: true, rules: allow("api.test")})
	got := &received{}
	b.serve("api.test", got)
	write(t, b.Dir, "a.txt", "hello")
	odd := "x\"; filename=\"evil\r\nX-Injected: 1"
	res := b.call(RequestTool, args{"url": "http://api.test/", "method": "POST", "headers": args{"Content-Type": "text/plain"}, "multipart": []any{
		args{"name": odd, "value": "v\r\n--boundary"}, args{"name": "f", "file": "a.txt"},
	}})
	if !res.OK() {
		t.Fatal(res.Error)
	}
	last := got.all()[0]
	if last.files["f/a.txt"] != "hello" || len(last.files) != 1 || len(last.form) != 1 {
		t.Errorf("the server got %+v", last)
	}
	for name, values := range last.form {
		if strings.ContainsAny(name, "\r\n\"") || values[0] != "v\r\n--boundary" {
			t.Errorf("the field %q with %q", name, values)
		}
	}
	contains(t, "question", b.Asked()[0].Preview, "file a.txt, 5 bytes", "hello")
}

// A GET is as free as one of web_fetch, and its limits are the same.
func TestRequestThatOnlyReads(t *testing.T) {
	b := newBench(t, setup{rules: allow("api.test"), nobody: true})
	got := &received{}
	b.serve("api.test", got)
	for _, in := range []args{{"url": "http://api.test/a"}, {"url": "http://api.test/a", "method": "HEAD"}} {
		if res := b.call(RequestTool, in); !res.OK() {
			t.Errorf("%v: %v", in, res.Error)
		}
	}
	for what, in := range map[string]args{
		"another host":       {"url": "http://other.test/"},
		"too much":           {"url": "http://api.test/?q=" + strings.Repeat("word+", 200)},
		"encoded data":       {"url": "http://api.test/?q=" + strings.Repeat("aGVsbG8gd29ybGQ", 5)},
		"a credential":       {"url": "http://api.test/", "headers": args{"Authorization": "Bearer abcdefghijklmnop"}},
		"a method in a head": {"url": "http://api.test/", "headers": args{"X-HTTP-Method-Override": "DELETE"}},
		"OPTIONS":            {"url": "http://api.test/", "method": "OPTIONS"},
		"this machine":       {"url": "http://127.0.0.1:1/"},
	} {
		if res := b.call(RequestTool, in); res.Error == nil || res.Error.Code != tongs.CodeApprovalRequired {
			t.Errorf("%s: %v", what, res.Error)
		}
	}
	if n := len(got.all()); n != 2 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestRequestArgumentsThatAreRefused(t *testing.T) {
	b := newBench(t, setup{files: true, rules: allow("api.test")})
	got := &received{}
	b.serve("api.test", got)
	write(t, b.Dir, "big", strings.Repeat("x", 6<<20))
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, filepath.Dir(outside), "secret", "s")
	if err := os.Symlink(outside, filepath.Join(b.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	post := func(more args) args {
		in := args{"url": "http://api.test/", "method": "POST"}
		for k, v := range more {
			in[k] = v
		}
		return in
	}
	for _, c := range []struct {
		code tongs.Code
		in   args
	}{
		{tongs.CodeInvalidArgs, post(args{"headers": args{"Host": "inside.test"}})},
		{tongs.CodeInvalidArgs, post(args{"headers": args{"transfer-encoding": "chunked"}})},
		{tongs.CodeInvalidArgs, post(args{"headers": args{"Content-Length": "3"}})},
		{tongs.CodeInvalidArgs, post(args{"headers": args{"Connection": "X-A"}})},
		{tongs.CodeInvalidArgs, post(args{"headers": args{"X-A": "b\r\nHost: inside.test"}})},
		{tongs.CodeInvalidArgs, post(args{"headers": args{"X-A: b\r\nHost": "inside.test"}})},
		{tongs.CodeInvalidArgs, post(args{"headers": args{"X-Forwarded-Host": "inside.test"}})},
		{tongs.CodeInvalidArgs, post(args{"method": "POST / HTTP/1.1\r\nHost: x"})},
		{tongs.CodeInvalidArgs, post(args{"method": "CONNECT"})},
		{tongs.CodeInvalidArgs, post(args{"method": "TRACE"})},
		{tongs.CodeInvalidArgs, post(args{"method": "GET", "body": "x"})},
		{tongs.CodeInvalidArgs, post(args{"body": "x", "json": 1})},
		{tongs.CodeInvalidArgs, post(args{"url": "http://user:pass@api.test/"})},
		{tongs.CodeInvalidArgs, post(args{"url": "file:///etc/passwd"})},
		{tongs.CodeInvalidArgs, post(args{"multipart": []any{args{"name": "a", "value": "x", "file": "big"}}})},
		{tongs.CodeTooLarge, post(args{"file": "big"})},
		{tongs.CodeFileNotFound, post(args{"file": "none"})},
		{tongs.CodeInvalidPath, post(args{"file": "../x"})},
		{tongs.CodeInvalidPath, post(args{"file": "link"})},
		{tongs.CodeInvalidPath, post(args{"file": outside})},
	} {
		if res := b.call(RequestTool, c.in); res.Error == nil || res.Error.Code != c.code {
			t.Errorf("%.200v: %v, want %s", c.in, res.Error, c.code)
		}
	}
	if len(got.all()) > 0 || len(b.Asked()) > 0 {
		t.Errorf("%d requests, %d questions", len(got.all()), len(b.Asked()))
	}
}

// What a person saw is what is sent: a file that changes while the question is open is not.
func TestRequestFileThatChangesWhileAsked(t *testing.T) {
	var b *bench
	b = newBench(t, setup{files: true, rules: allow("api.test"), answer: func(q approval.Question) approval.Answer {
		write(t, b.Dir, "a.txt", "something else")
		return approval.Answer{Approved: true}
	}})
	got := &received{}
	b.serve("api.test", got)
	write(t, b.Dir, "a.txt", "harmless")
	res := b.call(RequestTool, args{"url": "http://api.test/", "method": "POST", "file": "a.txt"})
	if res.Error == nil || res.Error.Code != tongs.CodeStaleFile || len(got.all()) > 0 {
		t.Errorf("%v, %d requests", res.Error, len(got.all()))
	}
}

func TestRequestSecrets(t *testing.T) {
	key := "AKIA" + "IOSFODNN7REALKEY"
	b := newBench(t, setup{
		files: true, rules: allow("api.test"), mode: tongs.ModeAll, nobody: true,
		Options: Options{Environ: []string{"MY_API_TOKEN=correct-horse-battery-staple"}},
	})
	got := &received{}
	b.serve("api.test", got)
	write(t, b.Dir, "notes.txt", "the key is "+key)
	write(t, b.Dir, ".env", "A=1")
	for what, in := range map[string]args{
		"a field":      {"method": "POST", "form": args{"a": key}},
		"JSON":         {"method": "POST", "json": args{"deep": []any{args{"a": "correct-horse-battery-staple"}}}},
		"a part":       {"method": "POST", "multipart": []any{args{"name": "a", "value": key}}},
		"a file":       {"method": "POST", "file": "notes.txt"},
		"a secret one": {"method": "POST", "multipart": []any{args{"name": "a", "file": ".env"}}},
		"a header":     {"headers": args{"X-Thing": key}},
	} {
		in["url"] = "http://api.test/"
		res := b.call(RequestTool, in)
		if res.Error == nil || res.Error.Code != tongs.CodeApprovalRequired {
			t.Errorf("%s: %v, in the mode all", what, res.Error)
		}
		if text, _ := json.Marshal(res); strings.Contains(string(text), key) {
			t.Errorf("%s: the secret is shown: %s", what, text)
		}
	}
	if res := b.call(RequestTool, args{"url": "http://api.test/", "method": "POST", "body": "hello"}); !res.OK() {
		t.Errorf("a harmless body in the mode all: %v", res.Error)
	}
	if len(got.all()) != 1 {
		t.Errorf("%d requests were made", len(got.all()))
	}
}

// A redirect does not carry a body to a host that nobody decided.
func TestRequestRedirectsAreDecided(t *testing.T) {
	asked := 0
	b := newBench(t, setup{rules: allow("api.test"), answer: func(q approval.Question) approval.Answer {
		asked++
		return approval.Answer{Approved: asked == 1}
	}})
	other := &received{}
	b.serve("other.test", other)
	b.serve("api.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://other.test/x", http.StatusTemporaryRedirect)
	}))
	res := b.call(RequestTool, args{"url": "http://api.test/", "method": "POST", "body": "data", "headers": args{"X-Mine": "1"}})
	if res.Error == nil || res.Error.Code != tongs.CodeDenied || asked != 2 || len(other.all()) > 0 {
		t.Errorf("%v after %d questions, %d requests", res.Error, asked, len(other.all()))
	}
	b.serve("api.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusSeeOther)
	}))
	asked = 0
	if res := b.call(RequestTool, args{"url": "http://api.test/", "method": "POST", "body": "data"}); res.Error == nil || res.Error.Code != tongs.CodeNetworkError {
		t.Errorf("a redirect inside: %v", res.Error)
	}
}

func TestRequestLongAndBinaryAnswers(t *testing.T) {
	saved := map[string][]byte{}
	save := func(name string, data []byte) (string, error) {
		saved[name] = data
		return "/spill/" + name, nil
	}
	b := newBench(t, setup{rules: allow("api.test"), Options: Options{Save: save, Page: 100}})
	b.serve("api.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long.txt":
			_, _ = io.WriteString(w, strings.Repeat("é", 500))
		case "/x.bin":
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write([]byte{0, 1, 2, 255})
		default:
			http.NotFound(w, r)
		}
	}))
	for name, want := range map[string]struct{ size, shown int }{"long.txt": {1000, 200}, "x.bin": {4, 0}} {
		res := b.call(RequestTool, args{"url": "http://api.test/" + name})
		out, err := tongs.ValueOf[RequestOutput](res)
		if err != nil || out.Path != "/spill/"+name || len(saved[name]) != want.size || len(out.Body) != want.shown {
			t.Errorf("%s: %+v, %v, %d bytes kept", name, out, err, len(saved[name]))
		}
		contains(t, name, res.Content, "/spill/"+name)
	}
}
