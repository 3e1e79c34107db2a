package web

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// words is text of so many bytes as addresses have it: nothing about it looks encoded.
func someWords(n int) string { return strings.Repeat("some-words-of-mine/", n/19+1)[:n] }

// told is a host that notes what reaches it.
type told struct {
	mu    sync.Mutex
	lines []string
	bytes int
}

func (h *told) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	if r.URL.Path != "/robots.txt" {
		h.lines = append(h.lines, r.Host+r.URL.RequestURI())
		h.bytes += len(r.URL.RequestURI()) + len(r.Header.Get("X-Note"))
	}
	h.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	_, _ = fmt.Fprintf(w, `<p>Hello. <a href="/given?%s">a long link</a>`, someWords(1500))
}

func (h *told) requests() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.lines)
}

// An address of an allowed host is free as long as it is one; beyond, it carries data out, and a person is asked.
func TestWhatAnAddressMayCarry(t *testing.T) {
	packed := base64.RawURLEncoding.EncodeToString([]byte("The quick brown fox jumps over the lazy dog, 42 times a day."))
	for name, c := range map[string]struct {
		in    args
		asked bool
	}{
		"an ordinary address":     {args{"url": "http://site.test/en/latest/library/stdtypes.html?highlight=bytes#bytes"}, false},
		"a commit":                {args{"url": "http://site.test/o/r/blob/5b4acb3a59c1d1c8a1f4a5d0e2b7ad3d0a0e5a11/src/main.go"}, false},
		"a digest":                {args{"url": "http://site.test/blobs/sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}, false},
		"a long title":            {args{"url": "http://site.test/posts/2026/" + someWords(300)}, false},
		"a search":                {args{"url": "http://site.test/search?q=how+to+read+a+file+in+go+without+loading+all+of+it&page=2&sort=newest"}, false},
		"kilobytes of query":      {args{"url": "http://site.test/?q=" + someWords(3000)}, true},
		"kilobytes of path":       {args{"url": "http://site.test/" + someWords(700)}, true},
		"many small parameters":   {args{"url": "http://site.test/?" + strings.Repeat("a=some&", 120)}, true},
		"a header":                {args{"url": "http://site.test/", "headers": map[string]any{"X-Note": someWords(600)}}, true},
		"address and header":      {args{"url": "http://site.test/" + someWords(300), "headers": map[string]any{"X-Note": someWords(300)}}, true},
		"a small header":          {args{"url": "http://site.test/", "headers": map[string]any{"Accept-Language": "en, de;q=0.5"}}, false},
		"a fragment stays here":   {args{"url": "http://site.test/page#" + someWords(3000)}, false},
		"packed data":             {args{"url": "http://site.test/?d=" + packed}, true},
		"packed data in the path": {args{"url": "http://site.test/" + packed + "/x.png"}, true},
		"packed data in a label":  {args{"url": "http://" + strings.ToLower(strings.Repeat("k7q2zx9vb4", 5)) + ".wild.test/"}, true},
		"hexadecimal data":        {args{"url": "http://site.test/?d=" + fmt.Sprintf("%x", strings.Repeat("secret plans", 8))}, true},
		"bytes":                   {args{"url": "http://site.test/?d=" + strings.Repeat("%f3%9a%01", 20)}, true},
		"words in labels":         {args{"url": "http://" + strings.Repeat("some-words-that-leave.", 9) + "wild.test/"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := &told{}
			b := newBench(t, setup{
				Options: Options{IgnoreRobots: true}, rules: allow("site.test", "*.wild.test"),
				answer: func(approval.Question) approval.Answer { return approval.Answer{} },
			})
			b.serve("site.test", h)
			b.anywhere = b.ends[b.names["site.test"]]
			b.resolveAll()
			res := b.call("web_fetch", c.in)
			asked := b.Asked()
			if (len(asked) > 0) != c.asked || (res.Error != nil) != c.asked || (h.requests() == 0) != c.asked {
				t.Fatalf("%d questions, %v, %d requests", len(asked), res.Error, h.requests())
			}
			if c.asked && (!asked[0].Effects[0].Sends || !strings.Contains(asked[0].Effects[0].Why, "carries")) {
				t.Errorf("the question is %+v", asked[0].Effects)
			}
		})
	}
}

// Addresses that an answer named carry nothing out but the choice, and the same address again not even that.
func TestLinksAreFree(t *testing.T) {
	h := &told{}
	b := newBench(t, setup{Options: Options{IgnoreRobots: true, CacheBytes: -1}, rules: allow("site.test"), nobody: true})
	b.serve("site.test", h)
	link := "http://site.test/given?" + someWords(1500)
	if res := b.call("web_fetch", args{"url": link}); codeOf(res) != tongs.CodeApprovalRequired {
		t.Fatalf("before it was named: %v", res.Error)
	}
	b.fetch(args{"url": "http://site.test/"})
	for range 30 {
		b.fetch(args{"url": link})
	}
	if res := b.call("web_fetch", args{"url": link + "x"}); codeOf(res) != tongs.CodeApprovalRequired {
		t.Errorf("one byte more: %v", res.Error)
	}
}

// Many small requests are bounded as one large one is, for all hosts of a site together, also when they are made at once. Who is
// asked, and agrees, is not asked at each of the next.
func TestSmallRequestsAddUp(t *testing.T) {
	for _, parallel := range []bool{false, true} {
		h := &told{}
		var mu sync.Mutex
		asked := 0
		b := newBench(t, setup{
			Options: Options{IgnoreRobots: true, FreeTotal: 2000}, rules: allow("*.wild.test"),
			answer: func(approval.Question) approval.Answer {
				mu.Lock()
				defer mu.Unlock()
				asked++
				return approval.Answer{}
			},
		})
		b.serve("site.test", h)
		b.anywhere = b.ends[b.names["site.test"]]
		b.resolveAll()
		var wg sync.WaitGroup
		for i := range 60 {
			one := func() {
				b.call("web_fetch", args{"url": fmt.Sprintf("http://h%d.wild.test/%d/%s", i%7, i, someWords(100))})
			}
			if parallel {
				wg.Go(one)
			} else {
				one()
			}
		}
		wg.Wait()
		if h.bytes > 2000 || h.requests() < 10 || asked != 60-h.requests() {
			t.Errorf("parallel %v: %d bytes left in %d requests without a question; %d questions", parallel, h.bytes, h.requests(), asked)
		}
	}
	h := &told{}
	b := newBench(t, setup{Options: Options{IgnoreRobots: true, FreeTotal: 2000}, rules: allow("site.test")})
	b.serve("site.test", h)
	for i := range 60 {
		b.fetch(args{"url": fmt.Sprintf("http://site.test/%d/%s", i, someWords(100))})
	}
	if n := len(b.Asked()); n < 2 || n > 4 || h.requests() != 60 {
		t.Errorf("%d questions for %d requests", n, h.requests())
	}
}

// Names below a suffix that a company has, such as github.io, are chosen as those of any host are, and so are ports.
func TestNamesAndPortsAreCarried(t *testing.T) {
	l := newLedger(100, 1000)
	for address, want := range map[string]int{
		"https://some-words.github.io/": 11, "https://a.b.github.io/": 4, "https://x.compute.amazonaws.com/": 10, "https://example.co.uk/": 0,
		"https://www.example.com/": 4, "https://example.com:8443/": 4, "https://b.a.test/": 2, "https://localhost/": 0,
	} {
		req, err := http.NewRequest(http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if n, why := l.carries("", req); n != want || why != "" {
			t.Errorf("%s carries %d bytes, want %d (%s)", address, n, want, why)
		}
	}
}

// Headers that were given for one host do not follow a redirect to another.
func TestGivenHeadersStay(t *testing.T) {
	b := newBench(t, setup{Options: Options{IgnoreRobots: true}, rules: allow("site.test", "other.test")})
	var there http.Header
	b.serve("other.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { there = r.Header.Clone() }))
	b.serve("site.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://other.test/", http.StatusFound)
	}))
	b.fetch(args{"url": "http://site.test/", "headers": map[string]any{"X-Note": "mine"}})
	if there == nil || there.Get("X-Note") != "" || there.Get("User-Agent") != UserAgent {
		t.Errorf("the other host got %v", there)
	}
}

// resolveAll makes every name lead somewhere.
func (b *bench) resolveAll() { b.wild = true }

func codeOf(res *tongs.Result) tongs.Code {
	if res.Error == nil {
		return ""
	}
	return res.Error.Code
}
