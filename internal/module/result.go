package module

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

// maxAttachments is how many attachments a result may have.
const maxAttachments = 100

// given is a value that a tool returned in one of the forms of a result: {ok, value}, {ok, error}, or {title, output, metadata,
// attachments}. Any other value is just that.
type given struct {
	OK          *bool           `json:"ok"`
	Value       json.RawMessage `json:"value"`
	Error       *failure        `json:"error"`
	Title       *string         `json:"title"`
	Output      json.RawMessage `json:"output"`
	Metadata    map[string]any  `json:"metadata"`
	Attachments []attached      `json:"attachments"`
}

type failure struct {
	Code    tongs.Code     `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// attached is an attachment, with the usual spellings of its type. Data is base64.
type attached struct {
	Name      string `json:"name"`
	Filename  string `json:"filename"`
	MIME      string `json:"mime"`
	MIMEType  string `json:"mimeType"`
	MediaType string `json:"mediaType"`
	Data      []byte `json:"data"`
}

// failures are the codes that a tool can fail with. Others are the walk's own: no tool can say that a person refused.
var failures = []tongs.Code{
	tongs.CodeInvalidArgs, tongs.CodeInvalidPath, tongs.CodeFileNotFound, tongs.CodeAlreadyExists, tongs.CodePermissionDenied, tongs.CodeNotEmpty,
	tongs.CodeBinaryFile, tongs.CodeTooLarge, tongs.CodeNoMatch, tongs.CodeAmbiguousMatch, tongs.CodeTimeout, tongs.CodeExecutionError,
	tongs.CodeNetworkError, tongs.CodeRateLimited, tongs.CodeLLMAssistRequired,
}

// shape gives a result what its value says of it, and leaves the value itself.
func shape(res *tongs.Result, tool string) error {
	var g given
	var keys map[string]json.RawMessage
	if json.Unmarshal(res.Value, &keys) != nil || keys == nil {
		return nil
	}
	only := func(names ...string) bool {
		for key := range keys {
			if !slices.Contains(names, key) {
				return false
			}
		}
		return true
	}
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return keys[n] == nil })
	}
	formed := has("ok") && only("ok", "value", "error") || has("title", "output", "metadata") && only("title", "output", "metadata", "attachments")
	if !formed {
		return nil
	}
	if err := json.Unmarshal(res.Value, &g); err != nil {
		return tongs.Errorf(tongs.CodeExecutionError, "what %s returned cannot be read as a result: %w", tool, err)
	}
	switch {
	case g.OK != nil && *g.OK && has("value"):
		res.Value, res.Content = g.Value, contentOf(g.Value)
	case g.OK != nil && !*g.OK && g.Error != nil && g.Error.Message != "":
		res.Value, res.Content, res.Error = nil, "", g.Error.error(tool)
	case g.Title != nil && g.Metadata != nil:
		res.Title, res.Value, res.Content = mcpclient.Readable(*g.Title, 200), g.Output, contentOf(g.Output)
		for key, value := range g.Metadata {
			res.SetMeta(key, value)
		}
		return attach(res, g.Attachments, tool)
	}
	return nil
}

// contentOf is a value as a model reads it: a text as it is, anything else as JSON.
func contentOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func (f *failure) error(tool string) *tongs.Error {
	e := tongs.Errorf(tongs.CodeExecutionError, "%s failed: %s", tool, mcpclient.Readable(f.Message, 2000))
	if slices.Contains(failures, f.Code) {
		e.Code = f.Code
	} else if f.Code != "" {
		e = e.With("code", mcpclient.Readable(string(f.Code), 100))
	}
	for key, value := range f.Details {
		e = e.With(key, value)
	}
	return e
}

func attach(res *tongs.Result, list []attached, tool string) error {
	if len(list) > maxAttachments {
		return tongs.Errorf(tongs.CodeExecutionError, "%s returned %d attachments; at most %d are taken", tool, len(list), maxAttachments)
	}
	for i, a := range list {
		at := tongs.Attachment{MIME: "application/octet-stream", Name: fmt.Sprintf("attachment%d", i+1), Data: a.Data, Size: int64(len(a.Data))}
		for _, name := range []string{a.Name, a.Filename} {
			if name != "" {
				at.Name = mcpclient.Readable(name, 200)
			}
		}
		for _, kind := range []string{a.MIME, a.MIMEType, a.MediaType} {
			if kind != "" {
				at.MIME = mcpclient.Readable(kind, 200)
			}
		}
		if len(a.Data) == 0 {
			return tongs.Errorf(tongs.CodeExecutionError, "the attachment %s of %s has no data; give it bytes, or base64 as data", at.Name, tool)
		}
		res.Attachments = append(res.Attachments, at)
	}
	return nil
}

// returned is the schema of what a tool returns, out of that of what its host answers, which has it as value.
func returned(answer *jsonschema.Schema) *jsonschema.Schema {
	if answer == nil || answer.Properties["value"] == nil {
		return nil
	}
	own := *answer.Properties["value"]
	own.Defs = answer.Defs
	return &own
}
