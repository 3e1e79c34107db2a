package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
)

type geminiCodec struct{}

type geminiRequest struct {
	System   *geminiContent  `json:"systemInstruction"`
	Contents []geminiContent `json:"contents"`
	Tools    []struct {
		Functions []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Config *struct {
		MaxOutput   int             `json:"maxOutputTokens"`
		Temperature *float64        `json:"temperature"`
		MIME        string          `json:"responseMimeType"`
		Schema      json.RawMessage `json:"responseSchema"`
		Thinking    json.RawMessage `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text      *string     `json:"text"`
	Thought   bool        `json:"thought"`
	Signature string      `json:"thoughtSignature"`
	Inline    *geminiBlob `json:"inlineData"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string                     `json:"id"`
		Name     string                     `json:"name"`
		Response map[string]json.RawMessage `json:"response"`
		Parts    []geminiPart               `json:"parts"`
	} `json:"functionResponse"`
}

type geminiBlob struct {
	MIME string `json:"mimeType"`
	Data string `json:"data"`
}

func (geminiCodec) decode(s *Server, r *http.Request, body []byte) (*model.Request, error) {
	name, ok := strings.CutPrefix(r.URL.Path, "/v1beta/models/")
	name, method, _ := strings.Cut(name, ":")
	if !ok || method != "streamGenerateContent" || r.URL.Query().Get("alt") != "sse" {
		return nil, &model.Error{Status: 404, Message: "there is no " + r.URL.String()}
	}
	if r.URL.Query().Has("key") {
		return nil, errors.New("a key in an address ends up in logs")
	}
	if err := checkKey(r.Header.Get("X-Goog-Api-Key")); err != nil {
		return nil, err
	}
	var in geminiRequest
	if err := strictly(body, &in); err != nil {
		return nil, err
	}
	out := &model.Request{}
	if in.System != nil {
		for _, p := range in.System.Parts {
			out.System += *p.Text
		}
	}
	newer := strings.HasPrefix(name, "gemini-3")
	if c := in.Config; c != nil {
		out.MaxTokens, out.Temperature = c.MaxOutput, c.Temperature
		if c.MIME != "" && len(in.Tools) > 0 && !newer {
			return nil, errors.New("function calling with a response mime type: 'application/json' is unsupported")
		}
		if c.Schema != nil {
			if err := geminiSchema(c.Schema, "generationConfig.responseSchema"); err != nil {
				return nil, err
			}
		}
	}
	if err := geminiTools(&in, out); err != nil {
		return nil, err
	}
	return out, geminiTalk(s, &in, out, newer)
}

func geminiTools(in *geminiRequest, out *model.Request) error {
	seen := map[string]bool{}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			if !geminiName.MatchString(f.Name) || seen[f.Name] {
				return fmt.Errorf("the function name %q is invalid or there twice", f.Name)
			}
			seen[f.Name] = true
			spec := &tongs.Spec{Name: f.Name, Description: f.Description, Input: &jsonschema.Schema{Type: "object"}}
			if f.Parameters != nil {
				if err := geminiSchema(f.Parameters, f.Name); err != nil {
					return err
				}
			}
			out.Tools = append(out.Tools, spec)
		}
	}
	return nil
}

func geminiTalk(s *Server, in *geminiRequest, out *model.Request, newer bool) error {
	role := "model"
	var calls []string
	for i, c := range in.Contents {
		if c.Role == role || c.Role != "user" && c.Role != "model" || len(c.Parts) == 0 {
			return fmt.Errorf("contents[%d]: the roles alternate between user and model, and there are parts; this is %q", i, c.Role)
		}
		role = c.Role
		g := &geminiDecoder{s: s, said: model.Message{Role: map[string]model.Role{"user": model.User, "model": model.Assistant}[role]}, newer: newer, calls: calls}
		for j := range c.Parts {
			if err := g.part(&c.Parts[j], i, j); err != nil {
				return fmt.Errorf("contents[%d].parts[%d]: %w", i, j, err)
			}
		}
		if len(g.calls) != g.answered {
			return fmt.Errorf("contents[%d]: the number of function response parts must equal that of the function call parts: "+
				"%d calls, %d answers", i, len(g.calls), g.answered)
		}
		calls = g.made
		out.Messages = append(out.Messages, g.said)
	}
	if role != "user" {
		return errors.New("contents: the last one must be the user's, and there must be one")
	}
	return nil
}

// geminiDecoder reads one content.
type geminiDecoder struct {
	s     *Server
	said  model.Message
	newer bool
	// calls are those of the content before, made those of this one, by name.
	calls, made []string
	answered    int
}

func (g *geminiDecoder) part(p *geminiPart, i, j int) (err error) {
	var out model.Part
	switch {
	case p.Call != nil:
		if g.said.Role != model.Assistant || !geminiName.MatchString(p.Call.Name) || len(p.Call.Args) > 0 && p.Call.Args[0] != '{' {
			return errors.New("a function call is the model's, has a name, and args that are an object")
		}
		if g.newer && len(g.made) == 0 && p.Signature == "" {
			return fmt.Errorf("function call `%s` in the %d. content block is missing a thought_signature", p.Call.Name, i)
		}
		if !g.s.signedBy(p.Call.Name, p.Call.Args, p.Signature) {
			return fmt.Errorf("the thought signature of %s is not the one that was sent: %q", p.Call.Name, p.Signature)
		}
		g.made = append(g.made, p.Call.Name)
		out.Call = &model.Call{ID: geminiID(p.Call.ID, i, len(g.made)-1), Name: p.Call.Name, Args: string(p.Call.Args)}
	case p.Response != nil:
		if g.said.Role != model.User || g.answered >= len(g.calls) || g.calls[g.answered] != p.Response.Name {
			return fmt.Errorf("the response of %s answers no call of the content before, or not in its order", p.Response.Name)
		}
		out.Result, err = geminiResult(p, geminiID(p.Response.ID, i-1, g.answered), g.newer)
		g.answered++
	case p.Inline != nil:
		out.Image, err = imageOf(p.Inline.MIME, p.Inline.Data)
	case p.Text != nil && (*p.Text != "" || p.Signature != ""):
		out.Text = *p.Text
	default:
		return fmt.Errorf("part %d holds nothing", j)
	}
	if out.Text != "" || p.Text == nil {
		g.said.Parts = append(g.said.Parts, out)
	}
	return err
}

// geminiID is the ID of a call: its own, or its place.
func geminiID(id string, content, n int) string {
	if id != "" {
		return id
	}
	return fmt.Sprintf("at-%d-%d", content, n)
}

func geminiResult(p *geminiPart, id string, newer bool) (*model.Result, error) {
	r := &model.Result{ID: id, Name: p.Response.Name}
	said := p.Response.Response["output"]
	if e := p.Response.Response["error"]; e != nil {
		said, r.Failed = e, true
	}
	if err := json.Unmarshal(said, &r.Text); err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	if len(p.Response.Parts) > 0 && !newer {
		return nil, errors.New("multimodal function responses are not supported by this model")
	}
	for _, part := range p.Response.Parts {
		if part.Inline == nil {
			return nil, errors.New("a part of a response is inlineData")
		}
		image, err := imageOf(part.Inline.MIME, part.Inline.Data)
		if err != nil {
			return nil, err
		}
		r.Images = append(r.Images, *image)
	}
	return r, nil
}

func (geminiCodec) encode(s *Server, w *events, resp *model.Response, cut bool) {
	u := resp.Usage
	chunk := func(part object, reason string) {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": []any{part}}}
		if reason != "" {
			candidate["finishReason"] = reason
		}
		w.send("", object{
			"candidates": []any{candidate}, "modelVersion": resp.Model,
			"usageMetadata": object{
				"promptTokenCount": u.Input, "candidatesTokenCount": u.Output, "totalTokenCount": u.Input + u.Output,
				"cachedContentTokenCount": u.CacheRead,
			},
		})
	}
	first := true
	for _, p := range resp.Message.Parts {
		switch {
		case p.Thinking != nil:
			for _, piece := range pieces(p.Thinking.Text) {
				chunk(object{"text": piece, "thought": true}, "")
			}
		case p.Call != nil:
			args := json.RawMessage(p.Call.Args)
			if !json.Valid(args) || args[0] != '{' {
				args, _ = json.Marshal(object{"value": p.Call.Args})
			}
			part := object{"functionCall": object{"id": p.Call.ID, "name": p.Call.Name, "args": args}}
			signature := ""
			if first {
				signature = base64.StdEncoding.EncodeToString([]byte("signed " + p.Call.ID))
				part["thoughtSignature"] = signature
			}
			s.remember(p.Call.Name, args, signature)
			first = false
			chunk(part, "")
		default:
			for _, piece := range pieces(p.Text) {
				chunk(object{"text": piece}, "")
			}
		}
	}
	if cut {
		return
	}
	reasons := map[model.Stop]string{model.StopLength: "MAX_TOKENS", model.StopRefuse: "SAFETY", model.StopEnd: "STOP", model.StopCalls: "STOP"}
	chunk(object{"text": ""}, reasons[resp.Stop])
}

func (geminiCodec) failure(e *model.Error) (any, string) {
	status := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}[e.Status]
	if status == "" {
		status = "INTERNAL"
	}
	message := e.Message
	if e.TooLong {
		message = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
	}
	return object{"error": object{"code": e.Status, "message": message, "status": status}}, ""
}
