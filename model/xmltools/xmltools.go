// Package xmltools gives calls to models that have none of their own. The tools are described in the system prompt, the
// model writes calls as XML in its text, and results are told as text:
//
//	<tool>
//	<server_name>local</server_name>
//	<tool_name>read_file</tool_name>
//	<arguments>
//	  <path>main.go</path>
//	</arguments>
//	</tool>
//
// Values are escaped by entities or stand in CDATA; an ampersand that is neither is taken as itself. Elements that repeat
// are arrays.
package xmltools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/internal/wire"
)

// Server is the server_name of calls. Tongs offers all tools under one.
const Server = "local"

// Model speaks with a model in XML. It is safe for concurrent use.
type Model struct{ inner model.Model }

var _ model.Model = (*Model)(nil)

// New wraps a model that has no calls of its own.
func New(m model.Model) *Model { return &Model{m} }

// Turn sends the conversation without tools, and reads the calls out of the answer's text.
func (m *Model) Turn(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
	if stream == nil {
		stream = func(model.Delta) {}
	}
	told := *req
	told.Tools = nil
	told.System = Prompt(req.System, req.Tools)
	told.Messages = nil
	for _, said := range req.Messages {
		told.Messages = append(told.Messages, plain(said))
	}
	f := &filter{stream: stream}
	resp, err := m.inner.Turn(ctx, &told, f.delta)
	if resp == nil {
		return nil, err
	}
	out := *resp
	message, broken := calls(resp.Message, req.Tools, err == nil)
	if broken != nil {
		return nil, broken
	}
	wire.Unique(&message, req.Messages)
	out.Message = message
	f.rest(message)
	if len(message.Calls()) > 0 && out.Stop != model.StopLength && out.Stop != model.StopRefuse {
		out.Stop = model.StopCalls
	}
	return &out, err
}

// Prompt returns the system prompt with the tools described after it.
func Prompt(system string, tools []*tongs.Spec) string {
	if len(tools) == 0 {
		return system
	}
	var b strings.Builder
	if system != "" {
		b.WriteString(system + "\n\n")
	}
	b.WriteString(`# Tools

You can use tools. To use one, write its call in your answer, exactly in this form:

<tool>
<server_name>local</server_name>
<tool_name>NAME</tool_name>
<arguments>
<PARAMETER>value</PARAMETER>
</arguments>
</tool>

- Write &, < and > in values as &amp;, &lt; and &gt;, or put the value into <![CDATA[ and ]]>.
- For a list, repeat the element once for each item. For an object, nest elements.
- You may write several calls after each other. Then end your answer: the results come in the next message.
- Do not write such a call unless you mean it.

The tools, each with the JSON Schema of its arguments:
`)
	for _, t := range tools {
		schema, err := json.Marshal(t.Input)
		if err != nil || t.Input == nil {
			schema = []byte(`{"type":"object"}`)
		}
		fmt.Fprintf(&b, "\n## %s\n%s\n%s\n", t.Name, t.Description, schema)
	}
	return b.String()
}

// plain returns a message without calls and results: they become text.
func plain(said model.Message) model.Message {
	out := model.Message{Role: said.Role}
	text := ""
	flush := func() {
		if text != "" {
			out.Parts = append(out.Parts, model.Part{Text: text})
			text = ""
		}
	}
	for _, p := range said.Parts {
		switch {
		case p.Call != nil:
			text += Write(p.Call)
		case p.Result != nil:
			text += result(p.Result)
			flush()
			for i := range p.Result.Images {
				out.Parts = append(out.Parts, model.Part{Image: &p.Result.Images[i]})
			}
		case p.Image != nil || p.Thinking != nil:
			flush()
			out.Parts = append(out.Parts, p)
		default:
			text += p.Text
		}
	}
	flush()
	return out
}

func result(r *model.Result) string {
	status := "ok"
	if r.Failed {
		status = "failed"
	}
	said := strings.ReplaceAll(r.Text, "</tool_result", "<\\/tool_result")
	return fmt.Sprintf("<tool_result>\n<tool_name>%s</tool_name>\n<status>%s</status>\n<output>\n%s\n</output>\n</tool_result>\n",
		escape(r.Name), status, said)
}

// calls returns a message whose text was read for calls. Of an answer that was cut off, only calls that are whole count.
func calls(said model.Message, tools []*tongs.Spec, whole bool) (model.Message, error) {
	out := model.Message{Role: said.Role}
	for _, p := range said.Parts {
		if p.Text == "" {
			out.Parts = append(out.Parts, p)
			continue
		}
		parts, err := Read(p.Text, tools, whole)
		if err != nil {
			return out, &model.Error{Provider: "xml", Message: err.Error(), Err: err}
		}
		out.Parts = append(out.Parts, parts...)
	}
	return out, nil
}

// filter streams text up to the first call. What comes then is streamed when it is understood.
type filter struct {
	stream func(model.Delta)
	held   string
	// sent is how many bytes of text went out; begun says that a call began.
	sent  int
	begun bool
}

func (f *filter) delta(d model.Delta) {
	if d.Text == "" {
		f.stream(d)
		return
	}
	if f.begun {
		return
	}
	f.held += d.Text
	out := f.held
	if i := strings.Index(f.held, begin); i >= 0 {
		out, f.begun = f.held[:i], true
	} else {
		out = out[:len(out)-overlap(out)]
	}
	f.held = f.held[len(out):]
	f.text(out)
}

func (f *filter) text(s string) {
	if s != "" {
		f.sent += len(s)
		f.stream(model.Delta{Text: s})
	}
}

// overlap returns how many bytes at the end may be the beginning of a call.
func overlap(s string) int {
	for n := min(len(s), len(begin)-1); n > 0; n-- {
		if strings.HasSuffix(s, begin[:n]) {
			return n
		}
	}
	return 0
}

// rest streams what was held back.
func (f *filter) rest(m model.Message) {
	skip := f.sent
	for _, p := range m.Parts {
		switch {
		case p.Call != nil:
			f.stream(model.Delta{Call: p.Call.Name})
		case p.Text != "":
			n := min(skip, len(p.Text))
			skip -= n
			f.text(p.Text[n:])
		}
	}
}
