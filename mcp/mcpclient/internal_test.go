package mcpclient

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

func TestQualifiedNames(t *testing.T) {
	long := strings.Repeat("x", 80)
	for tool, want := range map[string]string{
		"read": "s__read", "a.b/c": "s__a_b_c", "größe": "s__gr__e", "": "s__", long: "s__" + strings.Repeat("x", 52) + "_" + digest([]byte(long))[7:15],
	} {
		if got := qualified("s", tool); got != want || len(got) > maxName {
			t.Errorf("%q: %q, want %q", tool, got, want)
		}
	}
	if qualified("s", long+"a") == qualified("s", long+"b") {
		t.Error("two long names are one")
	}
}

// Two tools whose names become one here are not both there.
func TestNamesThatCollide(t *testing.T) {
	set, err := New(Options{Servers: []Server{{Name: "s", Command: "x", Tools: []string{"*"}}}})
	if err != nil {
		t.Fatal(err)
	}
	h := set.hosts[0]
	defs := &Definitions{Tools: []Definition{{Name: "a.b"}, {Name: "a_b"}}}
	if err := set.opt.Store.Update("s", h.identity, func(r *Record) { r.Seen, r.Approved = defs, defs }); err != nil {
		t.Fatal(err)
	}
	tools := set.Tools()
	st := set.States()[0].Tools
	if len(tools) != 1 || len(st) != 2 || st[1].Status != tongs.StatusBroken || !strings.Contains(st[1].Detail, "a.b") {
		t.Errorf("%d tools, %+v", len(tools), st)
	}
}

func TestReadable(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n": "plain\ttext\n", "a\x00b\x1b[31mc": "ab[31mc", "a\u200bb\u202ec\U000e0041d": "abcd", "\xff": "\uFFFD", "ünïcödé 漢字": "ünïcödé 漢字",
	} {
		if got := cleantext.Text(in, 100); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	if got := cleantext.Text(strings.Repeat("ä", 100), 11); got != strings.Repeat("ä", 5)+" … (cut)" {
		t.Errorf("%q", got)
	}
}

func TestDefinitionsThatCannotBeUsed(t *testing.T) {
	for name, tt := range map[string]struct {
		tool mcp.Tool
		want string
	}{
		"large":      {mcp.Tool{Description: strings.Repeat("x", maxDefinition)}, "more than"},
		"not object": {mcp.Tool{InputSchema: map[string]any{"type": "string"}}, "not object"},
		"bad schema": {mcp.Tool{InputSchema: map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"pattern": "("}}}}, "cannot"},
		"elsewhere":  {mcp.Tool{InputSchema: map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"$ref": "http://a.test/s.json"}}}}, "cannot"},
		"no schema":  {mcp.Tool{}, ""},
	} {
		if d := define(&tt.tool); (d.Broken == "") != (tt.want == "") || !strings.Contains(d.Broken, tt.want) {
			t.Errorf("%s: %q", name, d.Broken)
		}
	}
}

// Any change of what a model would read is another definition; the order of keys is none.
func TestDigests(t *testing.T) {
	base := mcp.Tool{Name: "t", Description: "d", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
	same := base
	same.InputSchema = json.RawMessage(`{"properties": {"a": {"type": "string"}}, "type": "object"}`)
	first, second := define(&base), define(&same)
	if first.Digest() != second.Digest() {
		t.Error("the order of keys counts")
	}
	for name, change := range map[string]func(*mcp.Tool){
		"description": func(t *mcp.Tool) { t.Description += " " },
		"title":       func(t *mcp.Tool) { t.Title = "x" },
		"schema":      func(t *mcp.Tool) { t.InputSchema = json.RawMessage(`{"type":"object"}`) },
		"output":      func(t *mcp.Tool) { t.OutputSchema = json.RawMessage(`{"type":"object"}`) },
		"hints":       func(t *mcp.Tool) { t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true} },
	} {
		other := base
		change(&other)
		if d := define(&other); d.Digest() == first.Digest() {
			t.Errorf("%s does not count", name)
		}
	}
}

func TestTooLargeMessages(t *testing.T) {
	for line, id := range map[string]any{
		`{"jsonrpc":"2.0","id":7,"result":{"x`:        int64(7),
		`{"id":"a-b","jsonrpc":"2.0","result":{`:      "a-b",
		`{"result":{"x":"y"},"jsonrpc":"2.0","id":9}`: int64(9),
		`{"result":{"x":"y"},"id":3,"jsonrpc":"2.0"}`: int64(3),
	} {
		msgs, err := parse([]byte(line), maxMessage+1)
		if err != nil || len(msgs) != 1 {
			t.Errorf("%s: %v", line, err)
			continue
		}
		res, ok := msgs[0].(*jsonrpc.Response)
		if !ok || res.ID.Raw() != id || res.Error == nil {
			t.Errorf("%s: %+v", line, msgs[0])
		}
	}
	if _, err := parse([]byte(`{"result":{"jsonrpc":"2.0","id":1,`), maxMessage+1); err == nil {
		t.Error("the id inside a result was taken for that of the message")
	}
}

func TestLinesOfAnyLength(t *testing.T) {
	text := strings.Repeat("a", 100_000) + "\n" + "short\r\n\n" + "last"
	r := bufio.NewReaderSize(strings.NewReader(text), 16)
	for _, want := range []string{strings.Repeat("a", 2*keptOfLong-1), "short", "", "last"} {
		line, _, err := readLine(r, 50_000)
		if err != nil || string(line) != want {
			t.Errorf("%d bytes, %v, want %d", len(line), err, len(want))
		}
	}
	if _, _, err := readLine(r, 10); err == nil {
		t.Error("no end")
	}
}

func TestDirectoryIsPrivateAndWhole(t *testing.T) {
	d := Directory(filepath.Join(t.TempDir(), "mcp"))
	identity := digest([]byte("x"))
	if r, err := d.Load("s", identity); r != nil || err != nil {
		t.Fatalf("%v %v", r, err)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			err := d.Update("s", identity, func(r *Record) {
				if r.Seen == nil {
					r.Seen = &Definitions{}
				}
				r.Seen.Tools = append(r.Seen.Tools, Definition{Name: fmt.Sprint(i)})
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	r, err := d.Load("s", identity)
	if err != nil || len(r.Seen.Tools) != 20 {
		t.Fatalf("%+v %v", r, err)
	}
	path, _ := d.path("s", identity)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("%v %v", info.Mode(), err)
	}
	// What somebody else wrote there is an error, never an absent record: that would lift a quarantine.
	for _, text := range []string{"", "{", `{"server":"other","identity":"` + identity + `"}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := d.Load("s", identity); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
	if found, err := d.Remove("s"); !found || err != nil {
		t.Errorf("%v %v", found, err)
	}
	if _, err := d.Load("../s", identity); err == nil {
		t.Error("a name left the directory")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `[{"jsonrpc":"2.0","method":"x"}]`, "[info] x", `{"id":}`} {
		f.Add([]byte(s), 10)
		f.Add([]byte(s), maxMessage+1)
	}
	f.Fuzz(func(_ *testing.T, line []byte, size int) { _, _ = parse(line, size) })
}
