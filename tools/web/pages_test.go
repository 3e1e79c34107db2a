package web

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tongs-ai/tongs/internal/visibility"
)

// pages are the corpus: one file each of testdata/pages, with the Markdown that it becomes beside it.
func pages(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("testdata/pages/*.html")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d pages, %v", len(names), err)
	}
	list := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		list[strings.TrimSuffix(filepath.Base(name), ".html")] = data
	}
	return list
}

// answerOf is what a server would have said.
func answerOf(t testing.TB, body []byte, contentType string) *answer {
	t.Helper()
	u, err := url.Parse("https://example.org/docs/page.html")
	if err != nil {
		t.Fatal(err)
	}
	return &answer{url: u, status: http.StatusOK, header: http.Header{"Content-Type": {contentType}}, body: body}
}

func shown(t testing.TB, in Input, a *answer) Output {
	t.Helper()
	s := &set{opt: Options{Page: 10 << 20}.withDefaults()}
	out, err := s.show(context.Background(), in, a)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tokens is a rough count, at four bytes each.
func tokens(n int) int { return (n + 3) / 4 }

func TestPagesBecomeMarkdown(t *testing.T) {
	raw, made := 0, 0
	var table strings.Builder
	list := pages(t)
	for _, name := range sorted(list) {
		out := shown(t, Input{Format: "markdown"}, answerOf(t, list[name], "text/html"))
		got := fmt.Sprintf("title: %s\n\n%s\n", out.Title, out.Body)
		raw, made = raw+tokens(len(list[name])), made+tokens(len(out.Body))
		fmt.Fprintf(&table, "%-24s %6d -> %6d\n", name, tokens(len(list[name])), tokens(len(out.Body)))
		golden := filepath.Join("testdata", "pages", name+".md")
		if updating() {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is now:\n%s\nwant:\n%s", name, got, want)
		}
	}
	t.Logf("%d pages, %d tokens of HTML became %d of Markdown (%.0f%%)\n%s", len(list), raw, made, 100*float64(made)/float64(raw), table.String())
}

// What a reader does not see, the model does not see, in any format but raw; and nothing else is lost.
func TestWhatIsHiddenIsGone(t *testing.T) {
	list := pages(t)
	for _, name := range sorted(list) {
		for _, format := range []string{"markdown", "text", "html"} {
			out := shown(t, Input{Format: format}, answerOf(t, list[name], "text/html"))
			for _, text := range []string{out.Body, out.Title} {
				if i := strings.Index(text, "INJECTED"); i >= 0 {
					t.Errorf("%s as %s shows what is hidden: %q", name, format, text[max(0, i-40):min(len(text), i+60)])
				}
			}
			if strings.HasPrefix(name, "injection-") {
				want := strings.Count(string(list[name]), "VISIBLE")
				if got := strings.Count(out.Body, "VISIBLE"); got != want {
					t.Errorf("%s as %s shows %d of %d visible parts: %s", name, format, got, want, out.Body)
				}
			}
		}
	}
	out := shown(t, Input{Format: "raw"}, answerOf(t, list["injection-hidden"], "text/html; charset=utf-8"))
	if out.Body != string(list["injection-hidden"]) {
		t.Error("raw is not what was sent")
	}
}

func TestLinksAreAbsoluteAndHarmless(t *testing.T) {
	list := pages(t)
	for _, name := range sorted(list) {
		out := shown(t, Input{Format: "html"}, answerOf(t, list[name], "text/html"))
		p, err := parsePage(out.Body, answerOf(t, nil, "").url)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"<script", "javascript:", "data:", "onload", "<iframe", "<style", "<form"} {
			if strings.Contains(strings.ToLower(out.Body), bad) {
				t.Errorf("%s has %s in it", name, bad)
			}
		}
		for n := range p.doc.Descendants() {
			if href := visibility.Attr(n, "href"); href != "" {
				if u, err := url.Parse(href); err != nil || u.Scheme == "" {
					t.Errorf("%s links to %q", name, href)
				}
			}
		}
	}
}

// A page of the largest size that is read is converted whole, and can be paged through to its end.
func TestLargePage(t *testing.T) {
	var b strings.Builder
	b.WriteString("<html><head><title>Large</title></head><body><h1>Large</h1>")
	rows := 0
	for ; b.Len() < 5<<20-4096; rows++ {
		fmt.Fprintf(&b, "<h2>Part %d</h2><p>Some text with <b>bold</b> and a <a href=\"/p/%d\">link</a>, number %d.</p><ul><li>one</li><li>two</li></ul>", rows, rows, rows)
		if rows%50 == 0 {
			b.WriteString("<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>")
		}
	}
	b.WriteString("<p>THE END</p></body></html>")
	s := &set{opt: Options{Page: 500_000}.withDefaults()}
	a := answerOf(t, []byte(b.String()), "text/html")
	began := time.Now()
	whole, err := convertHTML(context.Background(), Input{Format: "markdown"}, a, &Output{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes became %d in %s", b.Len(), len(whole), time.Since(began))
	if !strings.Contains(whole, fmt.Sprintf("## Part %d\n", rows-1)) || !strings.HasSuffix(whole, "THE END") {
		t.Error("its end is missing")
	}
	var read strings.Builder
	for at := 0; ; {
		out, err := s.page(Input{Offset: at}, whole, Output{})
		if err != nil {
			t.Fatal(err)
		}
		read.WriteString(out.Body)
		if out.NextOffset == 0 {
			break
		}
		if out.NextOffset <= at {
			t.Fatalf("offset %d goes on at %d", at, out.NextOffset)
		}
		at = out.NextOffset
	}
	if read.String() != whole {
		t.Error("the pages do not make up the whole")
	}
}

// updating reports whether golden files are to be written: the flag is that of tooltest.
func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func sorted[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
