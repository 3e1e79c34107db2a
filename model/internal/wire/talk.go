package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs/internal/id"
	"github.com/tongs-ai/tongs/model"
)

// Talk returns the conversation as every API wants it: sides alternate, the user begins, no message or part is empty,
// every call is answered in the next message, and every result answers a call of the message before. A call that nobody
// answered gets a failed result that says so; a result without its call becomes text. Thinking that is not marked as the
// provider's is left out.
func Talk(provider string, messages []model.Message) []model.Message {
	var talk []model.Message
	for _, m := range messages {
		parts := slices.DeleteFunc(slices.Clone(m.Parts), func(p model.Part) bool { return empty(provider, p) })
		if len(parts) == 0 {
			continue
		}
		if n := len(talk); n > 0 && talk[n-1].Role == m.Role {
			talk[n-1].Parts = append(slices.Clip(talk[n-1].Parts), parts...)
			continue
		}
		talk = append(talk, model.Message{Role: m.Role, Parts: parts})
	}
	if len(talk) > 0 && talk[0].Role == model.Assistant {
		talk = slices.Insert(talk, 0, model.Message{Role: model.User, Parts: []model.Part{{Text: "(The beginning is missing.)"}}})
	}
	for i := 0; i < len(talk); i++ {
		var calls []model.Call
		if i > 0 && talk[i].Role == model.User {
			calls = talk[i-1].Calls()
		}
		if talk[i].Role == model.User {
			talk[i].Parts = answered(calls, talk[i].Parts)
		}
	}
	if n := len(talk); n > 0 && talk[n-1].Role == model.Assistant && len(talk[n-1].Calls()) > 0 {
		talk = append(talk, model.Message{Role: model.User, Parts: answered(talk[n-1].Calls(), nil)})
	}
	return talk
}

func empty(provider string, p model.Part) bool {
	if p.Thinking != nil {
		var own json.RawMessage
		return !Marked(provider, p.Thinking.Opaque, &own)
	}
	return p.Image == nil && p.Call == nil && p.Result == nil && strings.TrimSpace(p.Text) == ""
}

// answered returns the parts of a user's message with one result for each call, in the order of the calls, first.
func answered(calls []model.Call, parts []model.Part) []model.Part {
	results := map[string]*model.Result{}
	var rest []model.Part
	for _, p := range parts {
		switch {
		case p.Result == nil:
			rest = append(rest, p)
		case results[p.Result.ID] == nil && slices.ContainsFunc(calls, func(c model.Call) bool { return c.ID == p.Result.ID }):
			results[p.Result.ID] = p.Result
		default:
			rest = append(rest, model.Part{Text: "Result of an earlier call of " + p.Result.Name + ":\n" + p.Result.Text})
		}
	}
	var first []model.Part
	for _, c := range calls {
		r := results[c.ID]
		if r == nil {
			r = &model.Result{ID: c.ID, Name: c.Name, Text: "This call was not run.", Failed: true}
		}
		named := *r
		named.Name = c.Name
		first = append(first, model.Part{Result: &named})
	}
	return append(first, rest...)
}

// Object returns arguments as a JSON object: as they are, or, where a model wrote something else, as the value of a
// telling name, since the APIs take nothing else back.
func Object(args string) json.RawMessage {
	raw := bytes.TrimSpace([]byte(args))
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	if raw[0] == '{' && json.Valid(raw) {
		return raw
	}
	b, _ := encode(map[string]string{"invalid_json": args})
	return bytes.TrimSpace(b)
}

// Unique gives each call of a message an ID that no other call of the conversation has.
func Unique(m *model.Message, before []model.Message) {
	used := map[string]bool{}
	for _, b := range before {
		for _, c := range b.Calls() {
			used[c.ID] = true
		}
	}
	for _, p := range m.Parts {
		if p.Call == nil {
			continue
		}
		if p.Call.ID == "" || used[p.Call.ID] || len(p.Call.ID) > 64 {
			p.Call.ID = id.New("call")
		}
		used[p.Call.ID] = true
	}
}

// Mark returns what a provider wants back, marked as its own, so that no other provider is given it.
func Mark(provider string, v any) json.RawMessage {
	b, err := encode(map[string]any{provider: v})
	if err != nil {
		return nil
	}
	return bytes.TrimSpace(b)
}

// Marked decodes what Mark made for the provider into v, and reports whether it was that.
func Marked(provider string, raw json.RawMessage, v any) bool {
	var by map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &by) != nil || len(by[provider]) == 0 {
		return false
	}
	return json.Unmarshal(by[provider], v) == nil
}

// Base64 is how images are sent.
func Base64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// DataURL returns an image as an address.
func DataURL(i *model.Image) string { return "data:" + i.MIME + ";base64," + Base64(i.Data) }

// FailedText returns what a failed result says, for an API that has no flag for it.
func FailedText(r *model.Result) string {
	if !r.Failed {
		return r.Text
	}
	return "Error: " + r.Text
}

// InWords asks for output of the schema in a system prompt, for an API that cannot be told otherwise.
func InWords(system string, s *jsonschema.Schema) string {
	b, err := encode(s)
	if err != nil {
		return system
	}
	ask := "When you are done, your final answer must be one JSON value without any other text, valid against this JSON Schema:\n" + string(bytes.TrimSpace(b))
	if system == "" {
		return ask
	}
	return system + "\n\n" + ask
}
