package web

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/tongs-ai/tongs/network/egress"

	"github.com/tongs-ai/tongs/internal/visibility"
)

// FuzzPage converts whatever a server may send, in each format: it ends, what comes out is text, and marks of what is hidden
// are not in it.
func FuzzPage(f *testing.F) {
	for _, data := range pages(f) {
		f.Add(data, "text/html")
	}
	f.Add([]byte(strings.Repeat("<div>", 600)), "text/html")
	f.Add([]byte("<table><tr><td colspan=99999999 rowspan=9999>x"), "text/html; charset=utf-16")
	f.Add([]byte("<a><div><a><div>x</a></div><h1><p><h2>"), "text/html")
	f.Add([]byte("<style>*{display:none}</style><svg><style><p>x"), "text/html")
	f.Add([]byte(`{"a":`), "application/json")
	f.Add(pdfOf("x"), "application/pdf")
	s := &set{opt: Options{}.withDefaults()}
	f.Fuzz(func(t *testing.T, data []byte, kind string) {
		if len(data) > 64<<10 {
			return
		}
		for _, format := range []string{"markdown", "text", "html", "raw"} {
			a := answerOf(t, bytes.Clone(data), kind)
			out, err := s.show(context.Background(), Input{Format: format}, a)
			if err != nil {
				continue
			}
			for _, text := range []string{out.Body, out.Title} {
				if !utf8.ValidString(text) {
					t.Errorf("%s: not text: %q", format, text)
				}
				if format != "raw" && out.ContentType == htmlType && strings.ContainsFunc(text, func(r rune) bool { return r >= 0xe0000 && r <= 0xe007f }) {
					t.Errorf("%s: invisible characters: %q", format, text)
				}
			}
		}
	})
}

// FuzzHidden puts a mark into an element that is hidden, whatever stands around it.
func FuzzHidden(f *testing.F) {
	f.Add("<p>before", "</p><b>after")
	f.Add("<table><tr><td>", "</table>")
	f.Add("<div style='display:none'>", "")
	f.Add("<style>p{", "}</style>")
	f.Add("e><td ", "</C>")
	f.Fuzz(func(t *testing.T, before, after string) {
		if len(before)+len(after) > 8<<10 || strings.Contains(before+after, "INJECTED") {
			return
		}
		page := before + `<div hidden aria-hidden="true" style="display:none">INJECTED</div>` + after
		p, err := parsePage(page, answerOf(t, nil, "").url)
		if err != nil {
			return
		}
		said, err := markdown(context.Background(), p.content())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(said, "INJECTED") && concealed(t, page) {
			t.Errorf("%q shows %q", page, said)
		}
	})
}

// concealed reports whether the mark is in the element that is hidden. What stands before can make that element part of a text or
// of another tag, and then a reader sees the mark as well.
func concealed(t *testing.T, page string) bool {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.TextNode || !strings.Contains(n.Data, "INJECTED") {
			continue
		}
		inside := false
		for above := range n.Ancestors() {
			inside = inside || above.Data == "div" && visibility.Has(above, "hidden")
		}
		if !inside {
			return false
		}
	}
	return true
}

func FuzzURL(f *testing.F) {
	for _, address := range inward {
		f.Add(address)
	}
	f.Add("https://example.org/a?b=c#d")
	f.Add("A://:")
	f.Fuzz(func(t *testing.T, address string) {
		req, err := request(context.Background(), Input{URL: address, Method: http.MethodGet})
		if err != nil {
			return
		}
		target, err := egress.TargetOf(req.URL)
		if err != nil {
			return
		}
		if u, err := url.Parse(req.URL.Scheme + "://" + target.String() + "/"); err != nil || u.Hostname() != target.Host || req.URL.User != nil {
			t.Errorf("%q leads to %s", address, target)
		}
	})
}
