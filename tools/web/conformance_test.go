package web

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network/egress"
	"github.com/tongs-ai/tongs/tools/tooltest"
)

func TestConformance(t *testing.T) {
	gone := make(chan struct{})
	t.Cleanup(func() { close(gone) })
	hosts := newBench(t, setup{})
	hosts.serve("site.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			select {
			case <-r.Context().Done():
			case <-gone:
			}
			return
		}
		saying("text/html", "<title>x</title><p>hello")(w, r)
	}))
	hosts.serve("brave.test", answering(nil, 200, nil, braveAnswer))
	p, err := NewProvider(NameBrave, "http://brave.test", "key-0123456789")
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Providers: []Provider{p}}
	tools, err := Tools(opt)
	if err != nil {
		t.Fatal(err)
	}
	caller := func(_ tooltest.TB, tool tongs.Tool, _ string) tongs.Caller {
		b := newBench(t, setup{Options: opt, tool: tool, egress: egress.Options{Configured: func(tool, _ string) bool { return tool == SearchTool }}})
		b.names, b.ends = hosts.names, hosts.ends
		return b.Engine
	}
	tooltest.Run(t, tools[0], tooltest.Options{
		Caller: caller,
		Valid: []string{
			`{"url":"http://site.test/"}`, `{"url":"http://site.test/","format":"text","timeout":20,"find":"hello"}`,
			`{"url":"http://site.test/","method":"POST","body":"x","headers":{"X-A":"b"},"format":"raw"}`,
			`{"url":"http://site.test/","selector":"p","offset":1,"format":"html"}`,
		},
		Blocking: []string{`{"url":"http://site.test/hang"}`},
	})
	tooltest.Run(t, tools[1], tooltest.Options{
		Caller: caller, Valid: []string{`{"query":"x"}`, `{"query":"x","numResults":20,"site":"example.org","freshness":"week"}`},
	})
	tooltest.Run(t, tools[2], tooltest.Options{
		Caller: caller,
		Valid: []string{
			`{"url":"http://site.test/"}`, `{"url":"http://site.test/","method":"PUT","json":{"a":[1,null]},"headers":{"X-A":"b"},"timeout":20}`,
			`{"url":"http://site.test/","method":"POST","form":{"a":"b"}}`, `{"url":"http://site.test/","method":"POST","body":"x"}`,
			`{"url":"http://site.test/","method":"POST","multipart":[{"name":"a","value":"b"}]}`,
		},
		Blocking: []string{`{"url":"http://site.test/hang","method":"DELETE"}`}, AnyValue: []string{"json"},
	})
	tooltest.Snapshot(t, "testdata/specs", tools...)
}

// Definitions are paid for in each turn.
func TestDefinitionsAreSmall(t *testing.T) {
	tools, err := Tools(Options{})
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, tool := range tools {
		spec := tool.Spec()
		data, err := json.Marshal(map[string]any{"name": spec.Name, "description": spec.Description, "inputSchema": spec.Input})
		if err != nil {
			t.Fatal(err)
		}
		size += len(data)
	}
	t.Logf("%d bytes", size)
	if size > 3300 {
		t.Errorf("the three definitions have %d bytes", size)
	}
}

func BenchmarkPages(b *testing.B) {
	list := pages(b)
	size := 0
	for _, data := range list {
		size += len(data)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, data := range list {
			if _, err := convertHTML(context.Background(), Input{Format: "markdown"}, answerOf(b, data, "text/html"), &Output{}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkFetch(b *testing.B) {
	bench := newBench(b, setup{rules: allow("site.test"), Options: Options{CacheBytes: -1}})
	bench.serve("site.test", saying("text/html", string(pages(b)["docs-api"])))
	in := json.RawMessage(`{"url":"http://site.test/"}`)
	for b.Loop() {
		if res := bench.Engine.Call(context.Background(), &tongs.Call{Tool: "web_fetch", Args: in, Session: "s"}); !res.OK() {
			b.Fatal(res.Error)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	bench := newBench(b, setup{rules: allow("site.test")})
	in := json.RawMessage(`{"url":"http://site.test/a/long/path?with=some&query=and+words"}`)
	for b.Loop() {
		if _, err := bench.Engine.Explain(context.Background(), &tongs.Call{Tool: "web_fetch", Args: in}); err != nil {
			b.Fatal(err)
		}
	}
}
