package script

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tongs-ai/tongs/model"
)

const provider = "script"

// Model plays a script. It is safe for concurrent use: where a conversation stands is read from the conversation, and
// only failed attempts are counted, for each conversation by itself.
type Model struct {
	name  string
	talks []talk

	mu    sync.Mutex
	tries map[string]int
}

var _ model.Model = (*Model)(nil)

// Turn says what the script has for this point of the conversation.
func (m *Model) Turn(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, &model.Error{Provider: provider, Message: err.Error(), Err: err}
	}
	if stream == nil {
		stream = func(model.Delta) {}
	}
	turns := m.pick(req)
	at := 0
	for _, said := range req.Messages {
		if said.Role == model.Assistant {
			at++
		}
	}
	if at >= len(turns) {
		return nil, fault("the script has %d turns, and this would be turn %d; the model was told: %s",
			len(turns), at+1, head(told(req.Messages, at)))
	}
	t := turns[at]
	values, err := match(turns[:at+1], req, at)
	if err != nil {
		return nil, err
	}
	resp := m.response(t, at, req, values)
	if n := m.attempt(t, at, req); n < len(t.Failures) {
		return fail(t, n, resp, stream)
	}
	play(resp.Message.Parts, stream)
	return resp, nil
}

func fault(format string, args ...any) *model.Error {
	return &model.Error{Provider: provider, Message: fmt.Sprintf(format, args...)}
}

// pick returns the turns for the conversation.
func (m *Model) pick(req *model.Request) []*turn {
	begin := req.System
	for _, said := range req.Messages {
		if said.Role == model.User {
			begin += "\n" + said.Text()
			break
		}
	}
	for _, t := range m.talks {
		if t.when.MatchString(begin) {
			return t.turns
		}
	}
	return nil
}

// told returns what the model was told before it spoke for the nth time, counted from 0.
func told(messages []model.Message, n int) string {
	var b strings.Builder
	for _, said := range messages {
		if said.Role == model.Assistant {
			if n--; n < 0 {
				break
			}
			continue
		}
		if n > 0 {
			continue
		}
		for _, p := range said.Parts {
			switch {
			case p.Result != nil && p.Result.Failed:
				fmt.Fprintf(&b, "%s failed: %s\n", p.Result.Name, p.Result.Text)
			case p.Result != nil:
				fmt.Fprintf(&b, "%s: %s\n", p.Result.Name, p.Result.Text)
			case p.Image != nil:
				fmt.Fprintf(&b, "[%s, %d bytes]\n", p.Image.MIME, len(p.Image.Data))
			case p.Text != "":
				b.WriteString(p.Text + "\n")
			}
			if p.Result == nil {
				continue
			}
			for _, i := range p.Result.Images {
				fmt.Fprintf(&b, "[%s, %d bytes]\n", i.MIME, len(i.Data))
			}
		}
	}
	return b.String()
}

// match checks the last turn against the request, and returns what the groups of all turns matched.
func match(turns []*turn, req *model.Request, at int) (map[string]string, error) {
	values := map[string]string{}
	for n, t := range turns {
		said := told(req.Messages, n)
		for _, re := range t.expect {
			found := re.FindStringSubmatch(said)
			if found == nil && n == at {
				return nil, fault("turn %d expects %q, but the model was told: %s", n+1, source(re), head(said))
			}
			for i, name := range re.SubexpNames() {
				if name != "" && found != nil {
					values[name] = found[i]
				}
			}
		}
		for _, re := range t.refute {
			if n == at && re.MatchString(said) {
				return nil, fault("turn %d must not be told %q, but was told: %s", n+1, source(re), head(said))
			}
		}
	}
	last := turns[at]
	var names []string
	for _, spec := range req.Tools {
		names = append(names, spec.Name)
	}
	for _, name := range last.Offered {
		if !slices.Contains(names, name) {
			return nil, fault("turn %d wants the tool %s, but was offered %s", at+1, name, strings.Join(names, ", "))
		}
	}
	for _, name := range last.Withheld {
		if slices.Contains(names, name) {
			return nil, fault("turn %d must not be offered the tool %s, but was", at+1, name)
		}
	}
	return values, nil
}

func source(re *regexp.Regexp) string { return strings.TrimPrefix(re.String(), "(?m)") }

func head(s string) string {
	const limit = 2000
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return strconv.Quote(s)
}

var variable = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// fill puts values in place of their names; other names stay.
func fill(s string, values map[string]string) string {
	return variable.ReplaceAllStringFunc(s, func(v string) string {
		if value, ok := values[v[2:len(v)-1]]; ok {
			return value
		}
		return v
	})
}

func fillAll(v any, values map[string]string) any {
	switch v := v.(type) {
	case string:
		return fill(v, values)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = fillAll(v[i], values)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = fillAll(v[k], values)
		}
		return out
	}
	return v
}

func (m *Model) response(t *turn, at int, req *model.Request, values map[string]string) *model.Response {
	resp := &model.Response{Model: m.name, Stop: t.Stop, Message: model.Message{Role: model.Assistant}}
	add := func(p model.Part) { resp.Message.Parts = append(resp.Message.Parts, p) }
	if t.Thinking != "" {
		add(model.Part{Thinking: &model.Thinking{Text: fill(t.Thinking, values)}})
	}
	if t.Text != "" {
		add(model.Part{Text: fill(t.Text, values)})
	}
	for i, c := range t.Calls {
		call := &model.Call{ID: c.ID, Name: c.Tool, Args: fill(c.Raw, values)}
		if call.ID == "" {
			call.ID = fmt.Sprintf("call_%d_%d", at+1, i+1)
		}
		if c.Raw == "" {
			call.Args = argsOf(c.Args, values)
		}
		add(model.Part{Call: call})
	}
	if resp.Stop == "" {
		resp.Stop = model.StopEnd
		if len(t.Calls) > 0 {
			resp.Stop = model.StopCalls
		}
	}
	resp.Usage = usage(t, req, resp)
	return resp
}

func argsOf(args map[string]any, values map[string]string) string {
	if args == nil {
		return "{}"
	}
	b, err := json.Marshal(fillAll(args, values))
	if err != nil {
		return "{}" // compile made sure that they can be written
	}
	return string(b)
}

// usage is what the script says, or about a token for four bytes.
func usage(t *turn, req *model.Request, resp *model.Response) model.Usage {
	if t.Usage != nil {
		return model.Usage(*t.Usage)
	}
	size := func(v any) int64 {
		b, err := json.Marshal(v)
		if err != nil {
			return 0
		}
		return int64(len(b)/4 + 1)
	}
	return model.Usage{Input: size(req.Messages) + int64(len(req.System)/4), Output: size(resp.Message.Parts)}
}

// attempt counts the attempts at a turn of this very conversation.
func (m *Model) attempt(t *turn, at int, req *model.Request) int {
	if len(t.Failures) == 0 {
		return 0
	}
	b, err := json.Marshal(struct {
		At       int
		System   string
		Messages []model.Message
	}{at, req.System, req.Messages})
	if err != nil {
		return 0
	}
	sum := sha256.Sum256(b)
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.tries[string(sum[:])]
	m.tries[string(sum[:])] = n + 1
	return n
}

// fail plays the nth failure of a turn.
func fail(t *turn, n int, resp *model.Response, stream func(model.Delta)) (*model.Response, error) {
	f := t.Failures[n]
	e := &model.Error{Provider: provider, Status: f.Status, Message: f.Message, After: t.after[n], Partial: f.Cut, TooLong: f.TooLong}
	if e.Message == "" {
		e.Message = "the script has it fail"
	}
	switch f.Status {
	case 0, 408, 409, 429, 500, 502, 503, 504, 529:
		e.Retry = !f.TooLong
	}
	if !f.Cut {
		return nil, e
	}
	half := *resp
	half.Message.Parts = nil
	for _, p := range resp.Message.Parts {
		if p.Call != nil {
			break
		}
		if r := []rune(p.Text); len(r) > 0 {
			p.Text = string(r[:(len(r)+1)/2])
			half.Message.Parts = append(half.Message.Parts, p)
			break
		}
		half.Message.Parts = append(half.Message.Parts, p)
	}
	half.Stop = model.StopEnd
	play(half.Message.Parts, stream)
	return &half, e
}

// play streams the parts word by word.
func play(parts []model.Part, stream func(model.Delta)) {
	for _, p := range parts {
		switch {
		case p.Call != nil:
			stream(model.Delta{Call: p.Call.Name})
		case p.Thinking != nil:
			stream(model.Delta{Thinking: p.Thinking.Text})
		default:
			for word := range strings.SplitAfterSeq(p.Text, " ") {
				stream(model.Delta{Text: word})
			}
		}
	}
}
