package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// What is not from a page of the console, by somebody who logged in, is refused.
func TestRequestsOfOthersAreRefused(t *testing.T) {
	s := newStand(t)
	for _, c := range []struct {
		name, method, path string
		body               any
		edit               func(*http.Request)
		want               int
	}{
		{"a logged in page", "GET", "/api/about", nil, nil, 200},
		{"no cookie", "GET", "/api/about", nil, func(r *http.Request) { r.Header.Del("Cookie") }, 401},
		{"no key", "GET", "/api/about", nil, func(r *http.Request) { r.Header.Del(keyHeader) }, 401},
		{"the key of another login", "GET", "/api/about", nil, func(r *http.Request) { r.Header.Set(keyHeader, strings.Repeat("a", 43)) }, 401},
		{"a forged cookie", "GET", "/api/about", nil, func(r *http.Request) {
			r.Header.Set("Cookie", s.server.logins.name+"=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA.AAAA")
		}, 401},
		{"the token of metrics", "GET", "/api/about", nil, func(r *http.Request) {
			r.Header.Del("Cookie")
			r.Header.Set("Authorization", "Bearer metrics-token")
		}, 401},
		{"another origin", "POST", "/api/links", struct{}{}, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		{"another port of this machine", "POST", "/api/links", struct{}{}, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		{"a null origin", "POST", "/api/links", struct{}{}, func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		{"another site, by a GET", "GET", "/api/about", nil, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"another port, by a GET", "GET", "/api/events", nil, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403},
		{"a rebinding name", "GET", "/api/about", nil, func(r *http.Request) { r.Host = "evil.example:7717" }, 403},
		{"a rebinding name, at the login", "POST", "/login", map[string]string{"token": "x"}, func(r *http.Request) { r.Host = "127.0.0.1.evil.example" }, 403},
		{"a rebinding name, at a page", "GET", "/", nil, func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"localhost", "GET", "/api/about", nil, func(r *http.Request) { r.Host = "localhost:7717" }, 200},
		{"a wrong token", "POST", "/login", map[string]string{"token": "wrong"}, nil, 401},
		{"a login by another page", "POST", "/login", map[string]string{"token": "x"}, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"a form", "POST", "/api/links", struct{}{}, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 422},
		{"a page without a login", "GET", "/", nil, func(r *http.Request) { r.Header.Del("Cookie") }, 303},
		{"a file beside the assets", "GET", s.server.assets.prefix + "/..%2fopenapi.json", nil, nil, 404},
		{"metrics by anybody", "GET", "/metrics", nil, func(r *http.Request) { r.Header.Del("Cookie") }, 401},
		{"metrics by the token", "GET", "/metrics", nil, func(r *http.Request) { r.Header.Set("Authorization", "Bearer metrics-token") }, 200},
		{"health", "GET", "/healthz", nil, func(r *http.Request) { r.Header.Del("Cookie") }, 200},
	} {
		res, body := s.do(c.method, c.path, c.body, c.edit)
		if res.StatusCode != c.want {
			t.Errorf("%s: %d, want %d: %.200s", c.name, res.StatusCode, c.want, body)
		}
		if res.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: another page may read the answer", c.name)
		}
		policy := res.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: the policy of the page is %q", c.name, policy)
		}
	}
}

// Nothing is changed by a GET, or by any method other than the one that is meant.
func TestOnlyPostChangesSomething(t *testing.T) {
	s := newStand(t)
	s.write("a.txt", "one\n")
	q, over := s.ask("edit", `{"path":"a.txt","oldString":"one","newString":"two"}`)
	for _, r := range s.server.routes {
		if r.method != http.MethodPost {
			continue
		}
		path := strings.NewReplacer("{id}", q.ID).Replace(r.path)
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE"} {
			if res, _ := s.do(method, path+"?approved=true", nil, nil); res.StatusCode != http.StatusMethodNotAllowed && res.StatusCode != http.StatusNotFound {
				t.Errorf("%s %s: %d", method, path, res.StatusCode)
			}
		}
	}
	if len(s.pending()) != 1 || s.read("a.txt") != "one\n" {
		t.Error("something happened")
	}
	s.post("/api/approvals/"+q.ID+"/answer", answerRequest{Approved: true}, nil)
	if res := <-over; !res.OK() || s.read("a.txt") != "two\n" {
		t.Errorf("%s; the file is %q", res.Content, s.read("a.txt"))
	}
}

// A link logs in once. The cookie is not for scripts, nor for other sites, and a login outlives the server.
func TestLogin(t *testing.T) {
	s := newStand(t)
	_, token, _ := strings.Cut(s.server.Link(), "#")
	res, _ := s.do("POST", "/login", map[string]string{"token": token}, nil)
	if res.StatusCode != 200 || len(res.Cookies()) != 1 {
		t.Fatalf("login: %d", res.StatusCode)
	}
	c := res.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("the cookie is %v", c)
	}
	if res, _ := s.do("POST", "/login", map[string]string{"token": token}, nil); res.StatusCode != 401 {
		t.Errorf("the second login: %d", res.StatusCode)
	}
	var made link
	s.post("/api/links", struct{}{}, &made)
	_, token, _ = strings.Cut(made.Path, "#")
	if res, _ := s.do("POST", "/login", map[string]string{"token": token}, nil); res.StatusCode != 200 {
		t.Errorf("a link of a browser that is logged in: %d", res.StatusCode)
	}
	s.stop()
	s.up()
	s.get("/api/about", nil)
	if res, _ := s.do("POST", "/api/logout", struct{}{}, nil); res.StatusCode != 200 || res.Cookies()[0].MaxAge >= 0 {
		t.Errorf("logout: %d", res.StatusCode)
	}
}

// Who logs in while something waits for an answer is led there.
func TestLoginLeadsToWhatWaits(t *testing.T) {
	s := newStand(t)
	s.write("a.txt", "one\n")
	next := func() string {
		_, token, _ := strings.Cut(s.server.Link(), "#")
		_, body := s.do("POST", "/login", map[string]string{"token": token}, nil)
		var in loggedIn
		if err := json.Unmarshal(body, &in); err != nil {
			t.Fatal(err)
		}
		return in.Next
	}
	if got := next(); got != "/" {
		t.Errorf("led to %q while nothing waits", got)
	}
	q, over := s.ask("edit", `{"path":"a.txt","oldString":"one","newString":"two"}`)
	if got := next(); got != "/approvals" {
		t.Errorf("led to %q while a question waits", got)
	}
	s.post("/api/approvals/"+q.ID+"/answer", answerRequest{Approved: true}, nil)
	<-over
}

// A directory without the key of another one does not take its logins.
func TestLoginsAreOfOneState(t *testing.T) {
	a, b := newStand(t), newStand(t)
	b.cookies, b.key = a.cookies, a.key
	if res, _ := b.do("GET", "/api/about", nil, nil); res.StatusCode != 401 {
		t.Errorf("the login of another server: %d", res.StatusCode)
	}
}
