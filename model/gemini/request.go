package gemini

import (
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs/internal/specs"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/dialect"
	"github.com/tongs-ai/tongs/model/internal/wire"
)

// unsigned stands where a call needs the signature of a thought and has none, since another model made it.
const unsigned = "skip_thought_signature_validator"

type request struct {
	System   *content            `json:"systemInstruction,omitempty"`
	Contents []content           `json:"contents"`
	Tools    []specs.GeminiTools `json:"tools,omitempty"`
	Config   *genConfig          `json:"generationConfig,omitempty"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	// Text nil is none; an empty one may carry a signature.
	Text      *string       `json:"text,omitempty"`
	Thought   bool          `json:"thought,omitempty"`
	Signature string        `json:"thoughtSignature,omitempty"`
	Inline    *blob         `json:"inlineData,omitempty"`
	Call      *functionCall `json:"functionCall,omitempty"`
	Response  *funcResponse `json:"functionResponse,omitempty"`
}

type blob struct {
	MIME string `json:"mimeType"`
	Data string `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type funcResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
	Parts    []part            `json:"parts,omitempty"`
}

type genConfig struct {
	MaxOutput   int                `json:"maxOutputTokens,omitempty"`
	Temperature *float64           `json:"temperature,omitempty"`
	MIME        string             `json:"responseMimeType,omitempty"`
	Schema      *jsonschema.Schema `json:"responseSchema,omitempty"`
	Thinking    *thinkingConfig    `json:"thinkingConfig,omitempty"`
}

type thinkingConfig struct {
	Include bool `json:"includeThoughts"`
}

func (m *Model) request(req *model.Request, set *dialect.Set) (*request, []string) {
	lost := slices.Clone(set.Lost)
	config := &genConfig{MaxOutput: req.MaxTokens, Temperature: req.Temperature}
	out := &request{Config: config}
	system := req.System
	if req.Output != nil {
		schema, _, cost := dialect.Output(req.Output, dialect.Gemini)
		switch {
		case len(set.Tools) > 0 && !m.newer():
			system = wire.InWords(system, req.Output)
			lost = append(lost, "the output: its schema is asked for in words, since the model takes none beside tools")
		case schema == nil:
			config.MIME = "application/json"
		default:
			config.MIME, config.Schema = "application/json", schema
			lost = append(lost, cost...)
		}
	}
	if m.opt.Thoughts {
		config.Thinking = &thinkingConfig{Include: true}
	}
	if system != "" {
		out.System = &content{Parts: []part{{Text: &system}}}
	}
	if len(set.Tools) > 0 {
		out.Tools = []specs.GeminiTools{{Functions: specs.Declarations(set)}}
	}
	w := &writer{newer: m.newer(), set: set, unnamed: map[string]bool{}}
	for _, said := range wire.Talk(provider, req.Messages) {
		if said.Role == model.Assistant {
			out.Contents = append(out.Contents, content{"model", w.assistant(said)})
		} else {
			out.Contents = append(out.Contents, content{"user", w.user(said)})
		}
	}
	return out, lost
}

// back is what comes back of a thought or a call.
type back struct {
	Signature string `json:"signature,omitempty"`
	// Text says that the signature stood on text.
	Text bool `json:"text,omitempty"`
	// Unnamed says that the provider gave the call no ID; ours is not sent.
	Unnamed bool `json:"unnamed,omitempty"`
}

type writer struct {
	newer bool
	set   *dialect.Set
	// unnamed are the calls whose ID the provider does not know.
	unnamed map[string]bool
}

func (w *writer) assistant(said model.Message) (parts []part) {
	first := true
	for _, p := range said.Parts {
		var own back
		switch {
		case p.Thinking != nil:
			wire.Marked(provider, p.Thinking.Opaque, &own)
			if n := len(parts); own.Text && n > 0 && parts[n-1].Text != nil && parts[n-1].Signature == "" {
				parts[n-1].Signature = own.Signature
			} else if own.Signature != "" {
				parts = append(parts, part{Text: new(string), Signature: own.Signature})
			}
		case p.Call != nil:
			ours := !wire.Marked(provider, p.Call.Opaque, &own)
			if ours && w.newer && first {
				own.Signature = unsigned
			}
			first = false
			call := &functionCall{ID: p.Call.ID, Name: w.set.Wire(p.Call.Name), Args: w.set.Forth(p.Call.Name, wire.Object(p.Call.Args))}
			if own.Unnamed || ours {
				call.ID, w.unnamed[p.Call.ID] = "", true
			}
			parts = append(parts, part{Call: call, Signature: own.Signature})
		default:
			parts = append(parts, part{Text: &p.Text})
		}
	}
	if len(parts) == 0 {
		parts = []part{{Text: new(string)}}
	}
	return parts
}

func (w *writer) user(said model.Message) (parts []part) {
	var images []part
	for _, p := range said.Parts {
		switch {
		case p.Result != nil:
			r := p.Result
			response := &funcResponse{ID: r.ID, Name: w.set.Wire(r.Name), Response: map[string]string{"output": r.Text}}
			if r.Failed {
				response.Response = map[string]string{"error": r.Text}
			}
			if w.unnamed[r.ID] {
				response.ID = ""
			}
			for i := range r.Images {
				if w.newer {
					response.Parts = append(response.Parts, imageOf(&r.Images[i]))
				} else {
					images = append(images, imageOf(&r.Images[i]))
				}
			}
			parts = append(parts, part{Response: response})
		case p.Image != nil:
			images = append(images, imageOf(p.Image))
		default:
			images = append(images, part{Text: &p.Text})
		}
	}
	return append(parts, images...)
}

func imageOf(i *model.Image) part { return part{Inline: &blob{i.MIME, wire.Base64(i.Data)}} }
