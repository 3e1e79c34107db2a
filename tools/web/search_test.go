package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network/egress"
)

const testKey = "tvly-0123456789abcdefABCDEF"

// searching is a bench whose web_search asks the providers, each at a host of its own name.
func searching(t *testing.T, names ...string) *bench {
	t.Helper()
	var list []Provider
	hosts := map[string]bool{}
	for _, name := range names {
		p, err := NewProvider(name, "http://"+name+".test/", testKey)
		if err != nil {
			t.Fatal(err)
		}
		list, hosts[name+".test"] = append(list, p), true
	}
	return newBench(t, setup{
		nobody: true, Options: Options{Providers: list},
		egress: egress.Options{Configured: func(tool, host string) bool { return tool == SearchTool && hosts[host] }, Retries: -1},
	})
}

func (b *bench) search(in args) SearchOutput {
	b.Helper()
	res := b.call("web_search", in)
	out, err := tongs.ValueOf[SearchOutput](res)
	if err != nil {
		b.Fatalf("%v: %v", in, err)
	}
	return out
}

// wire is what a provider was asked, and what it answers.
type wire struct {
	method, path, query, body string
	header                    http.Header
}

// answering gives every request the same answer. The last one is noted in got, where that is not nil.
func answering(got *wire, status int, header http.Header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		if got != nil {
			*got = wire{r.Method, r.URL.Path, r.URL.Query().Encode(), string(sent), r.Header.Clone()}
		}
		for k, v := range header {
			w.Header()[k] = v
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const (
	searXNGAnswer = `{"query":"q","number_of_results":2,"results":[
		{"url":"https://example.org/a","title":"A &amp; B","content":"About <b>a</b>\u200b.","engine":"x","publishedDate":"2025-02-03T10:00:00","score":1.0},
		{"url":"https://www.example.org/a/?utm_source=x","title":"The same","content":"again"},
		{"url":"https://example.org/b","title":"B","content":"","publishedDate":null}],"answers":[],"unresponsive_engines":[]}`
	braveAnswer = `{"type":"search","query":{"original":"q"},"web":{"type":"search","results":[
		{"title":"A &amp; B","url":"https://example.org/a","description":"About <strong>a</strong>.","page_age":"2025-02-03T10:00:00","age":"February 3, 2025"},
		{"title":"B","url":"https://example.org/b","description":""}]}}`
	tavilyAnswer = `{"query":"q","answer":null,"results":[
		{"title":"A & B","url":"https://example.org/a","content":"About a.","score":0.9,"published_date":"Mon, 03 Feb 2025 10:00:00 GMT"},
		{"title":"B","url":"https://example.org/b","content":"","score":0.1}],"response_time":1.1}`
)

func TestProviders(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		check  func(w wire) string
	}{
		NameSearXNG: {searXNGAnswer, func(w wire) string {
			if w.method != "GET" || w.path != "/search" || w.query != "format=json&q=site%3Aexample.org+go+queue&time_range=month" {
				return "asked otherwise"
			}
			return ""
		}},
		NameBrave: {braveAnswer, func(w wire) string {
			if w.method != "GET" || w.path != "/res/v1/web/search" || w.header.Get("X-Subscription-Token") != testKey ||
				w.query != "count=3&freshness=pm&q=site%3Aexample.org+go+queue&text_decorations=false" {
				return "asked otherwise"
			}
			return ""
		}},
		NameTavily: {tavilyAnswer, func(w wire) string {
			var body map[string]any
			if json.Unmarshal([]byte(w.body), &body) != nil || w.method != "POST" || w.path != "/search" || w.header.Get("Authorization") != "Bearer "+testKey ||
				fmt.Sprint(body) != "map[include_domains:[example.org] max_results:3 query:go queue search_depth:basic time_range:month]" {
				return "asked otherwise: " + fmt.Sprint(body)
			}
			return ""
		}},
	} {
		b := searching(t, name)
		var got wire
		b.serve(name+".test", answering(&got, 200, nil, c.answer))
		out := b.search(args{"query": "go queue", "numResults": 3, "site": "example.org", "freshness": "month"})
		want := []Found{
			{Title: "A & B", URL: "https://example.org/a", Snippet: "About a.", Date: "2025-02-03"},
			{Title: "B", URL: "https://example.org/b"},
		}
		if fmt.Sprint(out.Results) != fmt.Sprint(want) {
			t.Errorf("%s: %+v", name, out.Results)
		}
		if wrong := c.check(got); wrong != "" {
			t.Errorf("%s: %s: %+v", name, wrong, got)
		}
		if got.header.Get("User-Agent") != UserAgent {
			t.Errorf("%s: asked by %q", name, got.header.Get("User-Agent"))
		}
	}
}

func TestProviderErrors(t *testing.T) {
	for _, name := range []string{NameSearXNG, NameBrave, NameTavily} {
		for _, c := range []struct {
			status int
			header http.Header
			body   string
			code   tongs.Code
			say    string
		}{
			{401, nil, `{"detail":{"error":"Unauthorized: missing or invalid API key."}}`, tongs.CodeConfigError, ""},
			{403, nil, `Forbidden`, tongs.CodeConfigError, ""},
			{422, nil, `{"error":{"code":"SUBSCRIPTION_TOKEN_INVALID"},"type":"ErrorResponse"}`, tongs.CodeConfigError, ""},
			{429, http.Header{"Retry-After": {"17"}}, `{}`, tongs.CodeRateLimited, "17s"},
			{429, nil, `{}`, tongs.CodeRateLimited, ""},
			{432, nil, `{"detail":{"error":"This request exceeds your plan's set usage limit."}}`, tongs.CodeRateLimited, ""},
			{500, nil, ``, tongs.CodeNetworkError, "not able"},
			{400, nil, ``, tongs.CodeNetworkError, ""},
			{200, nil, `<html>not JSON`, tongs.CodeNetworkError, "JSON"},
			{200, nil, `{"results":"x","web":3}`, tongs.CodeNetworkError, "JSON"},
			{200, http.Header{"Content-Length": {"1000"}}, `{"resu`, tongs.CodeNetworkError, ""},
			{200, nil, `{"x":"` + strings.Repeat("y", 3<<20) + `"}`, tongs.CodeTooLarge, ""},
		} {
			b := searching(t, name)
			b.serve(name+".test", answering(nil, c.status, c.header, c.body))
			res := b.call("web_search", args{"query": "q"})
			if tongs.CodeOf(res.Error) != c.code || !strings.Contains(res.Content, c.say) {
				t.Errorf("%s, %d %.30s: %v", name, c.status, c.body, res.Error)
			}
			if c.say == "17s" && res.Error.Details["retryAfter"] != 17 {
				t.Errorf("details: %v", res.Error.Details)
			}
			if all, _ := json.Marshal(res); strings.Contains(string(all), testKey) {
				t.Errorf("%s, %d: the key is in the result: %s", name, c.status, all)
			}
		}
	}
}

func TestSearchFallsOver(t *testing.T) {
	b := searching(t, NameSearXNG, NameBrave, NameTavily)
	b.serve("searxng.test", answering(nil, 500, nil, ""))
	b.serve("brave.test", answering(nil, 429, http.Header{"Retry-After": {"9"}}, ""))
	b.serve("tavily.test", answering(nil, 200, nil, tavilyAnswer))
	res := b.call("web_search", args{"query": "q"})
	out, err := tongs.ValueOf[SearchOutput](res)
	if err != nil || out.Provider != "Tavily" || len(out.Results) != 2 {
		t.Fatalf("%+v, %v", out, err)
	}
	contains(t, "the result", res.Content, "SearXNG failed", "Brave failed", "1. A & B\n   https://example.org/a")
	all := searching(t, NameSearXNG, NameBrave)
	all.serve("searxng.test", answering(nil, 401, nil, ""))
	all.serve("brave.test", answering(nil, 429, nil, ""))
	if res := all.call("web_search", args{"query": "q"}); tongs.CodeOf(res.Error) != tongs.CodeRateLimited || !strings.Contains(res.Content, "every search provider") {
		t.Errorf("%v", res.Error)
	}
}

func TestSearchWithoutProvider(t *testing.T) {
	b := newBench(t, setup{})
	res := b.call("web_search", args{"query": "q"})
	if tongs.CodeOf(res.Error) != tongs.CodeConfigError || strings.Count(res.Error.Message, "\n") != 1 {
		t.Errorf("%v", res.Error)
	}
	contains(t, "the help", res.Content, "BRAVE_API_KEY", "TAVILY_API_KEY", "searxng", "toolsets.web.search")
}

// A query with a secret in it is asked about, in every mode; the key of a provider goes to nobody else.
func TestSearchKeepsSecrets(t *testing.T) {
	b := searching(t, NameTavily)
	b.serve("tavily.test", answering(nil, 200, nil, tavilyAnswer))
	res := b.call("web_search", args{"query": "what is ghp_" + strings.Repeat("a1B2", 10)})
	if tongs.CodeOf(res.Error) != tongs.CodeApprovalRequired {
		t.Errorf("%v", res.Error)
	}
	// web_fetch may not do what web_search may.
	if res := b.call("web_fetch", args{"url": "http://tavily.test/search", "method": "POST"}); tongs.CodeOf(res.Error) != tongs.CodeApprovalRequired {
		t.Errorf("%v", res.Error)
	}
	// A provider that sends the query elsewhere is not followed with it.
	away := searching(t, NameTavily)
	away.serve("evil.test", answering(nil, 200, nil, tavilyAnswer))
	away.serve("tavily.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://evil.test/", http.StatusTemporaryRedirect)
	}))
	if res := away.call("web_search", args{"query": "q"}); tongs.CodeOf(res.Error) != tongs.CodeApprovalRequired {
		t.Errorf("%v", res.Error)
	}
	for _, bad := range []string{"", "ftp://x", "http://user:pw@x", "::"} {
		if _, err := NewProvider(NameSearXNG, bad, ""); tongs.CodeOf(err) != tongs.CodeConfigError {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := NewProvider(NameBrave, "", ""); tongs.CodeOf(err) != tongs.CodeConfigError {
		t.Errorf("no key: %v", err)
	}
}

// A person who is asked about a secret in a query is told of every provider that may get it.
func TestSecretsGoToProvidersThatWereNamed(t *testing.T) {
	b := searching(t, NameBrave, NameTavily)
	e, err := b.Engine.Explain(t.Context(), &tongs.Call{Tool: "web_search", Args: []byte(`{"query":"what is ghp_` + strings.Repeat("a1B2", 9) + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Effects) != 2 || e.Decision != tongs.Ask {
		t.Fatalf("%+v", e)
	}
	for i, host := range []string{"brave.test", "tavily.test"} {
		if got := e.Effects[i]; got.Host != host || !got.MustAsk || !strings.Contains(got.Why, "secret would leave") {
			t.Errorf("%+v", got)
		}
	}
}
