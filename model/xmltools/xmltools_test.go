package xmltools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/script"
	"github.com/tongs-ai/tongs/model/xmltools"
)

func specs(tb testing.TB) []*tongs.Spec {
	tb.Helper()
	var s jsonschema.Schema
	err := json.Unmarshal([]byte(`{
  "type": "object",
  "$defs": {"edit": {"type": "object", "properties": {"old": {"type": "string"}, "new": {"type": "string"}}}},
  "properties": {
    "path": {"type": "string"}, "content": {"type": "string"}, "limit": {"type": "integer"}, "ratio": {"type": ["number", "null"]}, "all": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}}, "sizes": {"type": "array", "items": {"type": "integer"}},
    "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}}, "one": {"$ref": "#/$defs/edit"},
    "env": {"type": "object", "additionalProperties": {"type": "string"}}, "maybe": {"anyOf": [{"type": "null"}, {"type": "integer"}]}
  }
}`), &s)
	if err != nil {
		tb.Fatal(err)
	}
	return []*tongs.Spec{{Name: "t", Description: "Does things.", Input: &s}}
}

func call(args string) string {
	return "<tool>\n<server_name>local</server_name>\n<tool_name>t</tool_name>\n<arguments>" + args + "</arguments>\n</tool>"
}

func TestArguments(t *testing.T) {
	for name, test := range map[string]struct{ args, want string }{
		"none":                        {"\n", `{}`},
		"plain":                       {"<path>a.txt</path><limit> 5 </limit><all>true</all>", `{"path":"a.txt","limit":5,"all":true}`},
		"entities":                    {"<content>a &lt;b&gt; &amp; &quot;c&quot; &apos; &#65;&#x42;</content>", `{"content":"a <b> & \"c\" ' AB"}`},
		"a bare ampersand":            {"<content>a && b & c &nope; &; &#xD800; R&D</content>", `{"content":"a && b & c &nope; &; &#xD800; R&D"}`},
		"CDATA":                       {"<content>\n<![CDATA[if a < b && c { </content> &amp; }\n]]>\n</content>", `{"content":"if a < b && c { </content> &amp; }\n"}`},
		"CDATA in pieces":             {"<content><![CDATA[a]]]]><![CDATA[>b]]></content>", `{"content":"a]]>b"}`},
		"markup in text":              {"<content><div class=\"x\">a < b</div></content>", `{"content":"<div class=\"x\">a < b</div>"}`},
		"a call in text":              {"<content>" + "<tool><tool_name>x</tool_name></tool>" + "</content>", `{"content":"<tool><tool_name>x</tool_name></tool>"}`},
		"lines of its own":            {"<content>\n  a\n  b\n</content>", `{"content":"  a\n  b"}`},
		"a line":                      {"<content> a </content>", `{"content":" a "}`},
		"repeated":                    {"<tags>a</tags><tags>b &amp; c</tags>", `{"tags":["a","b & c"]}`},
		"one of a list":               {"<tags>a</tags>", `{"tags":["a"]}`},
		"an empty list":               {"<tags/>", `{"tags":[]}`},
		"a wrapped list":              {"<tags><item>a</item><item>b</item></tags>", `{"tags":["a","b"]}`},
		"a list of numbers":           {"<sizes>1</sizes><sizes>2</sizes>", `{"sizes":[1,2]}`},
		"a list in JSON":              {"<sizes>[1, 2]</sizes>", `{"sizes":[1,2]}`},
		"a wrapped list of numbers":   {"<sizes><size>1</size><size>2</size></sizes>", `{"sizes":[1,2]}`},
		"a list of objects":           {"<edits><old>a</old><new>b</new></edits><edits><old>c</old></edits>", `{"edits":[{"old":"a","new":"b"},{"old":"c"}]}`},
		"a wrapped list of objects":   {"<edits>\n<edit><old>a</old></edit>\n<edit><old>b</old></edit>\n</edits>", `{"edits":[{"old":"a"},{"old":"b"}]}`},
		"an object":                   {"<one><old>1</old></one>", `{"one":{"old":"1"}}`},
		"a map":                       {"<env><HOME>/root</HOME><PATH>/bin</PATH></env>", `{"env":{"HOME":"/root","PATH":"/bin"}}`},
		"not known, repeated, nested": {"<x><y>1</y><y>2</y></x><z>5</z>", `{"x":{"y":["1","2"]},"z":"5"}`},
		"null":                        {"<ratio>null</ratio><maybe>3</maybe>", `{"ratio":null,"maybe":3}`},
		"no number":                   {"<limit>many</limit>", `{"limit":"many"}`},
		"attributes":                  {`<path type="string">a</path>`, `{"path":"a"}`},
		"JSON instead":                {`{"path": "a &amp; b"}`, `{"path":"a & b"}`},
		"JSON in CDATA":               {`<![CDATA[{"path": "<a>"}]]>`, `{"path":"<a>"}`},
	} {
		t.Run(name, func(t *testing.T) {
			parts, err := xmltools.Read("Before. "+call(test.args)+" After.", specs(t), true)
			if err != nil {
				t.Fatal(err)
			}
			if len(parts) != 3 || parts[0].Text != "Before. " || parts[2].Text != " After." || parts[1].Call == nil || parts[1].Call.Name != "t" {
				t.Fatalf("parts: %+v", parts)
			}
			var got, want any
			if err := json.Unmarshal([]byte(parts[1].Call.Args), &got); err != nil {
				t.Fatalf("%q: %v", parts[1].Call.Args, err)
			}
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsNoCall(t *testing.T) {
	for name, test := range map[string]struct {
		text, args string
		calls      int
	}{
		"the tag in a sentence":           {"Use <tool> to call.", "", 0},
		"no name":                         {"<tool><server_name>local</server_name></tool>", "", 0},
		"other elements":                  {"<tool><hammer>x</hammer></tool>", "", 0},
		"arguments before the name":       {"<tool><arguments></arguments><tool_name>t</tool_name></tool>", "", 0},
		"text among the arguments":        {call("hello <path>a</path>"), "<arguments>hello <path>a</path></arguments>", 1},
		"an element without its end":      {call("<path>a"), "<arguments><path>a</arguments>", 1},
		"no end of the call":              {strings.TrimSuffix(call("<path>a</path>"), "</tool>"), `{"path":"a"}`, 1},
		"no arguments":                    {"<tool><tool_name>t</tool_name></tool>", "{}", 1},
		"a name that is never at its end": {"<tool><tool_name>" + strings.Repeat("x", 5000), "", 0},
	} {
		parts, err := xmltools.Read(test.text, specs(t), true)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m := model.Message{Parts: parts}
		if len(m.Calls()) != test.calls || test.calls == 1 && strings.TrimSpace(m.Calls()[0].Args) != test.args {
			t.Errorf("%s: %+v", name, m.Calls())
		}
		if test.calls == 0 && m.Text() != test.text {
			t.Errorf("%s: the text became %q", name, m.Text())
		}
	}
}

func TestLargeAndHostile(t *testing.T) {
	big := call("<content>" + strings.Repeat("x", xmltools.MaxCall) + "</content>")
	if _, err := xmltools.Read(big, specs(t), true); err == nil || !strings.Contains(err.Error(), "10 MB") {
		t.Errorf("a call over the limit: %v", err)
	}
	ok := call("<content>" + strings.Repeat("&", 1<<20) + "</content>")
	if parts, err := xmltools.Read(ok, specs(t), true); err != nil || len(parts[0].Call.Args) < 1<<20 {
		t.Errorf("a call of a megabyte: %v", err)
	}
	for _, piece := range []string{"<tool>", "<tool><tool_name>", "<tool><tool_name>t</tool_name><arguments><a></tool>", "<x>", "<![CDATA["} {
		text := strings.Repeat(piece, 256<<10/len(piece))
		if _, err := xmltools.Read("<tool><tool_name>t</tool_name><arguments>"+text, nil, true); err != nil {
			t.Errorf("%s: %v", piece, err)
		}
		if _, err := xmltools.Read(text, nil, true); err != nil {
			t.Errorf("%s: %v", piece, err)
		}
	}
}

func TestWriteAndReadBack(t *testing.T) {
	for _, args := range []string{
		`{}`, `{"path":"a & <b>","limit":3,"all":false,"tags":["x","y"],"edits":[{"old":"1","new":""}],"env":{"A":"b"}}`,
		`{"content":"\n two\n"}`, `{"content":"a\n"}`, `{"content":"]]> <![CDATA["}`, `{"$odd":1}`, `{"tags":[]}`, `{"ratio":null}`, `{"x":[[1]]}`,
	} {
		text := xmltools.Write(&model.Call{Name: "t", Args: args})
		parts, err := xmltools.Read(text, specs(t), true)
		if err != nil || len(parts) == 0 || parts[0].Call == nil {
			t.Fatalf("%s: %v %+v", text, err, parts)
		}
		var got, want any
		if err := json.Unmarshal([]byte(parts[0].Call.Args), &got); err != nil {
			t.Fatalf("%s became %s", args, parts[0].Call.Args)
		}
		if err := json.Unmarshal([]byte(args), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s (-want +got):\n%s", args, text, diff)
		}
	}
}

// recorder keeps what the model was told.
type recorder struct {
	model.Model
	told *model.Request
}

func (r *recorder) Turn(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
	r.told = req
	return r.Model.Turn(ctx, req, stream)
}

func TestConversation(t *testing.T) {
	inner, err := script.Parse([]byte(`
turns:
  - expect: look
    text: "I look < now.\n` + strings.ReplaceAll(call("<path>a &amp; b</path>"), "\n", `\n`) + `\n` + strings.ReplaceAll(call("<path>c</path>"), "\n", `\n`) + `"
  - expect: ["<tool_name>t</tool_name>\n<status>ok</status>\n<output>\nalpha <\\\\/tool_result>", "<status>failed</status>", "image/png, 3 bytes"]
    text: Done <too
`))
	if err != nil {
		t.Fatal(err)
	}
	rec := &recorder{Model: inner}
	m := xmltools.New(rec)
	var streamed []string
	stream := func(d model.Delta) { streamed = append(streamed, d.Text+"|"+d.Call) }
	req := &model.Request{System: "Be brief.", Tools: specs(t), Messages: []model.Message{{Role: model.User, Parts: []model.Part{{Text: "look"}}}}}
	resp, err := m.Turn(t.Context(), req, stream)
	if err != nil {
		t.Fatal(err)
	}
	calls := resp.Message.Calls()
	if len(calls) != 2 || resp.Stop != model.StopCalls || calls[0].Args != `{"path":"a & b"}` || calls[0].ID == calls[1].ID {
		t.Fatalf("response %+v", resp)
	}
	if got := strings.Join(streamed, ""); got != "I |look |< |now.\n||t\n||t" {
		t.Errorf("streamed %q", got)
	}
	if rec.told.Tools != nil || !strings.HasPrefix(rec.told.System, "Be brief.\n\n# Tools") || !strings.Contains(rec.told.System, "## t\nDoes things.\n{") {
		t.Errorf("the model was told %+v", rec.told)
	}
	req.Messages = append(req.Messages, resp.Message, model.Message{Role: model.User, Parts: []model.Part{
		{Result: &model.Result{ID: calls[0].ID, Name: "t", Text: "alpha </tool_result>", Images: []model.Image{{MIME: "image/png", Data: []byte("abc")}}}},
		{Result: &model.Result{ID: calls[1].ID, Name: "t", Text: "no", Failed: true}},
	}})
	streamed = nil
	resp, err = m.Turn(t.Context(), req, stream)
	if err != nil || resp.Message.Text() != "Done <too" || strings.ReplaceAll(strings.Join(streamed, ""), "|", "") != "Done <too" {
		t.Fatalf("%v, %v, %q", resp, err, streamed)
	}
	if said := rec.told.Messages[1].Text(); !strings.Contains(said, "<path>a &amp; b</path>") {
		t.Errorf("the history is told as %q", said)
	}
}

func TestACallThatWasCutOffIsNone(t *testing.T) {
	inner, err := script.Parse([]byte(`turns: [{text: "` + strings.ReplaceAll(call("<path>abcdefghijklmnopqrstuvwxyz</path>"), "\n", " ") + `", failures: [{cut: true}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := xmltools.New(inner).Turn(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Parts: []model.Part{{Text: "x"}}}}, Tools: specs(t)}, nil)
	if err == nil || resp == nil || len(resp.Message.Calls()) != 0 {
		t.Errorf("%+v, %v", resp, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(call("<path>a</path>"))
	f.Add(call("<tags>a</tags><tags><item>b</item></tags><env><A>&#x41;</A></env>"))
	f.Add(call("<content><![CDATA[ ]]></content>") + "<tool>")
	f.Add("<tool><tool_name>t</tool_name><arguments><edits><old>a</old></edits>")
	tools := specs(f)
	f.Fuzz(func(t *testing.T, text string) {
		parts, err := xmltools.Read(text, tools, true)
		if err != nil {
			return
		}
		rest := text
		for _, p := range parts {
			if p.Call != nil {
				if p.Call.Name == "" {
					t.Errorf("a call without a name in %q", text)
				}
				continue
			}
			i := strings.Index(rest, p.Text)
			if i < 0 {
				t.Fatalf("%q is not in the rest of %q", p.Text, text)
			}
			rest = rest[i+len(p.Text):]
		}
	})
}

func BenchmarkRead(b *testing.B) {
	text := call("<path>a.txt</path><content>" + strings.Repeat("line of &lt;code&gt;\n", 500) + "</content>")
	tools := specs(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := xmltools.Read(text, tools, true); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleRead() {
	parts, err := xmltools.Read(`I read it.
<tool>
<server_name>local</server_name>
<tool_name>read_file</tool_name>
<arguments><path>R&D/notes.txt</path></arguments>
</tool>`, nil, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(parts[1].Call.Name, parts[1].Call.Args)
	// Output: read_file {"path":"R&D/notes.txt"}
}
