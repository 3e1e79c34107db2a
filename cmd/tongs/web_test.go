//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A page of a server on this machine: asked about at the terminal, and free once a file names the host.
func TestFetchAtTheTerminal(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>Here</title><h1>A page</h1><p hidden>INJECTED</p><p>Its text.</p>")
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	d := newDesk(t)
	d.env = append(d.env, "BRAVE_API_KEY=", "TAVILY_API_KEY=", "SEARXNG_URL=")
	if _, stderr, code := d.run("call", "web_fetch", "url="+server.URL); code != 3 || !strings.Contains(stderr, "APPROVAL_REQUIRED") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	c := d.terminal("call", "webfetch", "url="+server.URL+"/page?key=ghp_"+strings.Repeat("a1B2", 10), "method=POST", "body=hello")
	c.expect(` web_fetch  `)
	c.expect(`a secret would leave`)
	c.expect(chosen)
	c.typing("y")
	c.expect(`# A page`)
	if code := c.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	d.write("../home/config/config.yaml", "toolsets: {web: {hosts: [\""+host+"\"]}}\n")
	out, stderr, code := d.run("call", "web_fetch", "url="+server.URL)
	if code != 0 || !strings.Contains(out, "Its text.") || strings.Contains(out, "INJECTED") {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
	if out, _, _ := d.run("log", "list", "--tool", "web_fetch", "--format", "json"); !strings.Contains(out, host+" at "+host+": ") || strings.Contains(out, "ghp_a1B2") {
		t.Errorf("the log: %s", out)
	}
	if _, stderr, code := d.run("call", "web_search", "query=x"); code != 1 || !strings.Contains(stderr, "CONFIG_ERROR") || !strings.Contains(stderr, "BRAVE_API_KEY") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// An address of this machine is asked about in every mode, also where a rule wants that.
func TestRulesThatAskDoNotAllowThisMachine(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "inside") }))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for rule, code := range map[string]int{"": 3, "ask": 3, "preApproved": 0} {
		d := newDesk(t)
		text := "approval: {mode: all}\n"
		if rule != "" {
			text += "toolsets: {web: {rules: [{pattern: \"" + host + "\", approval: " + rule + "}]}}\n"
		}
		d.write("../home/config/config.yaml", text)
		if out, stderr, got := d.run("call", "web_fetch", "url="+server.URL); got != code {
			t.Errorf("rule %q: exit %d: %s%s", rule, got, out, stderr)
		}
	}
}
