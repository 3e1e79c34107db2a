package model

import "encoding/json"

// gemini is the format of Google's generateContent.
type gemini struct{}

func (gemini) read(body []byte) (*Request, error) {
	var in struct {
		Contents []struct {
			Parts []struct {
				Response *struct {
					ID       string          `json:"id"`
					Response json.RawMessage `json:"response"`
				} `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			Functions []Tool `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	r := &Request{}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Functions...)
	}
	for _, c := range in.Contents {
		for _, p := range c.Parts {
			if p.Response != nil {
				r.Results = append(r.Results, geminiResult(p.Response.ID, p.Response.Response))
			}
		}
	}
	return r, nil
}

// geminiResult is a result whose response is {output: text} or {error: text}.
func geminiResult(id string, raw json.RawMessage) Result {
	var said struct{ Output, Error json.RawMessage }
	if json.Unmarshal(raw, &said) != nil {
		return Result{ID: id, Text: string(raw)}
	}
	switch {
	case len(said.Error) > 0:
		return Result{ID: id, Text: textOf(said.Error), Failed: true}
	case len(said.Output) > 0:
		return Result{ID: id, Text: textOf(said.Output)}
	default:
		return Result{ID: id, Text: string(raw)}
	}
}

func (gemini) write(w *events, r *Request, reply Reply) {
	part := object{"text": reply.Text}
	if c := reply.Call; c != nil {
		part = object{"functionCall": object{"id": c.ID, "name": c.Tool.Name, "args": c.Args}}
	}
	response := object{
		"candidates": []any{object{
			"content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0,
		}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
		"modelVersion":  "scripted",
	}
	if !r.Stream {
		w.whole(response)
		return
	}
	w.send("", response)
}
