package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tongs-ai/tongs/model"
)

type responsesCodec struct{}

type responsesRequest struct {
	Model        string            `json:"model"`
	Instructions string            `json:"instructions"`
	Input        []json.RawMessage `json:"input"`
	Tools        []functionTool    `json:"tools"`
	Temperature  *float64          `json:"temperature"`
	MaxOutput    int               `json:"max_output_tokens"`
	Store        *bool             `json:"store"`
	Stream       bool              `json:"stream"`
	Include      []string          `json:"include"`
	Reasoning    json.RawMessage   `json:"reasoning"`
	Text         *responsesText    `json:"text"`
}

type responsesText struct {
	Format schemaFormat `json:"format"`
}

type responsesItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   []responsesPart `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Encrypted string          `json:"encrypted_content"`
	Summary   []responsesPart `json:"summary"`
}

type responsesPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL string `json:"image_url"`
}

func (responsesCodec) decode(s *Server, r *http.Request, body []byte) (*model.Request, error) {
	if r.URL.Path != "/v1/responses" {
		return nil, &model.Error{Status: 404, Message: "there is no " + r.URL.Path}
	}
	if err := checkKey(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); err != nil {
		return nil, err
	}
	var in responsesRequest
	if err := strictly(body, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Model == "" || !in.Stream || in.Store == nil || *in.Store || len(in.Input) == 0:
		return nil, errors.New("model, input, stream and store: false are expected")
	case in.MaxOutput != 0 && in.MaxOutput < 16:
		return nil, errors.New("max_output_tokens: at least 16")
	case in.Text != nil && (in.Text.Format.Type != "json_schema" || in.Text.Format.Name == ""):
		return nil, errors.New("text.format is not as documented")
	case in.Text != nil && in.Text.Format.Strict:
		if err := strict(in.Text.Format.Schema, "text.format"); err != nil {
			return nil, err
		}
	}
	out := &model.Request{System: in.Instructions, MaxTokens: in.MaxOutput, Temperature: in.Temperature}
	seen := map[string]bool{}
	for _, t := range in.Tools {
		if t.Type != "function" || t.Strict == nil {
			return nil, fmt.Errorf("tools: %s: type function and strict are expected", t.Name)
		}
		spec, err := t.spec(seen)
		if err != nil {
			return nil, err
		}
		out.Tools = append(out.Tools, spec)
	}
	d := &responsesDecoder{s: s, out: out}
	for i, raw := range in.Input {
		if err := d.item(raw); err != nil {
			return nil, fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	if d.reasoning != "" && d.bare {
		return nil, errors.New("a reasoning item must be followed by what it was for")
	}
	names(out.Messages)
	return out, d.waiting.none()
}

// responsesDecoder reads the items of a conversation.
type responsesDecoder struct {
	s       *Server
	out     *model.Request
	waiting pending
	// reasoning is that of the turn; bare says that nothing followed it yet.
	reasoning string
	bare      bool
}

func (d *responsesDecoder) item(raw json.RawMessage) error {
	var it responsesItem
	if err := strictly(raw, &it); err != nil {
		return err
	}
	if it.Type != "function_call" && it.Type != "function_call_output" {
		if err := d.waiting.none(); err != nil {
			return err
		}
	}
	switch it.Type {
	case "reasoning":
		if it.ID == "" || !strings.HasPrefix(it.Encrypted, "encrypted ") || it.Summary == nil {
			return errors.New("a reasoning item must come back as it was")
		}
		d.reasoning, d.bare = it.Encrypted, true
		add(d.out, model.Assistant, model.Part{Thinking: &model.Thinking{Text: strings.TrimPrefix(it.Encrypted, "encrypted ")}})
		return nil
	case "message":
		return d.message(&it)
	case "function_call":
		d.bare = false
		if !toolName.MatchString(it.Name) || !json.Valid([]byte(it.Arguments)) {
			return fmt.Errorf("the call of %q is not as documented", it.Name)
		}
		if !d.s.signedBy(it.Name, json.RawMessage(it.Arguments), d.reasoning) {
			return fmt.Errorf("the call of %s needs its reasoning item", it.Name)
		}
		add(d.out, model.Assistant, model.Part{Call: &model.Call{ID: it.CallID, Name: it.Name, Args: it.Arguments}})
		return d.waiting.call(it.CallID)
	case "function_call_output":
		return d.result(&it)
	}
	return fmt.Errorf("the type %q is not known", it.Type)
}

func (d *responsesDecoder) message(it *responsesItem) error {
	kinds := map[string][]string{"user": {"input_text", "input_image"}, "assistant": {"output_text"}}[it.Role]
	if kinds == nil || len(it.Content) == 0 {
		return errors.New("a message has a role and content")
	}
	d.bare = false
	if it.Role == "user" {
		d.reasoning = ""
	}
	for _, c := range it.Content {
		if !slices.Contains(kinds, c.Type) {
			return fmt.Errorf("%s is not allowed in a message of the %s", c.Type, it.Role)
		}
		p, err := responsesContent(&c)
		if err != nil {
			return err
		}
		add(d.out, model.Role(it.Role), p)
	}
	return nil
}

func (d *responsesDecoder) result(it *responsesItem) error {
	if err := d.waiting.result(it.CallID); err != nil {
		return err
	}
	d.reasoning = ""
	r := &model.Result{ID: it.CallID}
	if json.Unmarshal(it.Output, &r.Text) != nil {
		var list []responsesPart
		if err := strictly(it.Output, &list); err != nil {
			return fmt.Errorf("output: %w", err)
		}
		for _, c := range list {
			p, err := responsesContent(&c)
			if err != nil {
				return err
			}
			r.Text += p.Text
			if p.Image != nil {
				r.Images = append(r.Images, *p.Image)
			}
		}
	}
	failed(r)
	add(d.out, model.User, model.Part{Result: r})
	return nil
}

func responsesContent(c *responsesPart) (p model.Part, err error) {
	switch c.Type {
	case "input_text", "output_text":
		if c.Text == "" {
			return p, errors.New("a text is empty")
		}
		p.Text = c.Text
	case "input_image":
		p.Image, err = imageURL(c.ImageURL)
	default:
		err = fmt.Errorf("the type %q is not known", c.Type)
	}
	return p, err
}

func (responsesCodec) encode(s *Server, w *events, resp *model.Response, cut bool) {
	sequence := 0
	send := func(kind string, v object) {
		v["type"], v["sequence_number"] = kind, sequence
		sequence++
		w.send(kind, v)
	}
	state := func(status string) object {
		return object{"id": "resp_1", "object": "response", "status": status, "model": resp.Model, "output": []any{}, "error": nil, "incomplete_details": nil, "usage": nil}
	}
	send("response.created", object{"response": state("in_progress")})
	send("response.in_progress", object{"response": state("in_progress")})
	thought := ""
	for i, p := range resp.Message.Parts {
		if p.Thinking != nil {
			thought = "encrypted " + p.Thinking.Text
		}
		responsesSend(i, &p, cut && i == len(resp.Message.Parts)-1, send)
		if p.Call != nil {
			s.remember(p.Call.Name, json.RawMessage(p.Call.Args), thought)
		}
	}
	if cut {
		return
	}
	u := resp.Usage
	end := state("completed")
	end["usage"] = object{
		"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"input_tokens_details":  object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"output_tokens_details": object{"reasoning_tokens": 0},
	}
	reason := map[model.Stop]string{model.StopLength: "max_output_tokens", model.StopRefuse: "content_filter"}[resp.Stop]
	if reason == "" {
		send("response.completed", object{"response": end})
		return
	}
	end["status"], end["incomplete_details"] = "incomplete", object{"reason": reason}
	send("response.incomplete", object{"response": end})
}

// responsesSend streams one item; the last one of an answer that is cut off has no end.
func responsesSend(i int, p *model.Part, last bool, send func(string, object)) {
	id := strconv.Itoa(i)
	stream := func(kind, text string, more object) {
		for _, piece := range pieces(text) {
			v := object{"output_index": i, "item_id": "item_" + id, "delta": piece}
			for k, m := range more {
				v[k] = m
			}
			send(kind, v)
		}
	}
	var item object
	added := func() { send("response.output_item.added", object{"output_index": i, "item": item}) }
	switch {
	case p.Thinking != nil:
		item = object{"type": "reasoning", "id": "rs_" + id, "summary": []any{}, "encrypted_content": "not yet"}
		added()
		stream("response.reasoning_summary_text.delta", p.Thinking.Text, object{"summary_index": 0})
		item["summary"] = []any{object{"type": "summary_text", "text": p.Thinking.Text}}
		item["encrypted_content"] = "encrypted " + p.Thinking.Text
	case p.Call != nil:
		item = object{"type": "function_call", "id": "fc_" + id, "call_id": p.Call.ID, "name": p.Call.Name, "arguments": "", "status": "in_progress"}
		added()
		stream("response.function_call_arguments.delta", p.Call.Args, nil)
		send("response.function_call_arguments.done", object{"output_index": i, "item_id": "fc_" + id, "arguments": p.Call.Args})
		item["arguments"], item["status"] = p.Call.Args, "completed"
	default:
		item = object{"type": "message", "id": "msg_" + id, "role": "assistant", "status": "in_progress", "content": []any{}}
		added()
		part := object{"type": "output_text", "text": "", "annotations": []any{}}
		send("response.content_part.added", object{"output_index": i, "content_index": 0, "part": part})
		stream("response.output_text.delta", p.Text, object{"content_index": 0})
		item["content"], item["status"] = []any{object{"type": "output_text", "text": p.Text, "annotations": []any{}}}, "completed"
	}
	if !last {
		send("response.output_item.done", object{"output_index": i, "item": item})
	}
}

func (responsesCodec) failure(e *model.Error) (any, string) {
	body := openaiFailure(e)
	if !e.Partial {
		return body, ""
	}
	in := body["error"].(object)
	return object{"type": "error", "sequence_number": 99, "code": in["type"], "message": in["message"], "param": nil}, "error"
}
