package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
)

// checkOutput holds an answer against the output schema.
func checkOutput(schema *jsonschema.Schema, text string) error {
	var value any
	if err := json.Unmarshal([]byte(Unfence(text)), &value); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return fmt.Errorf("the schema cannot be used: %w", err)
	}
	return resolved.Validate(value)
}

// Unfence takes the fence of a block of code off an answer that is nothing else: models put JSON into one.
func Unfence(text string) string {
	text = strings.TrimSpace(text)
	body, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	_, body, ok = strings.Cut(body, "\n")
	body, closed := strings.CutSuffix(strings.TrimRight(body, " \n"), "```")
	if !ok || !closed || strings.Contains(body, "```") {
		return text
	}
	return strings.TrimSpace(body)
}

// Attachment is something that a worker is given besides text.
type Attachment struct {
	Name string
	Data []byte
}

// The defaults of Attachments.
const (
	defaultCount = 10
	defaultBytes = 5 << 20
)

// size is how large an attachment may be.
func (a Attachments) size() int64 {
	if a.Bytes == 0 {
		return defaultBytes
	}
	return a.Bytes
}

// parts makes the first message of a prompt and what comes with it.
func (a Attachments) parts(prompt string, list []Attachment) ([]model.Part, error) {
	count := a.Count
	if count == 0 {
		count = defaultCount
	}
	switch {
	case a.None && len(list) > 0:
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "this worker takes no attachments")
	case len(list) > count:
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%d attachments are more than the %d that this worker takes", len(list), count)
	}
	parts := []model.Part{{Text: prompt}}
	for _, at := range list {
		p, err := a.part(at)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func (a Attachments) part(at Attachment) (model.Part, error) {
	if int64(len(at.Data)) > a.size() {
		return model.Part{}, tongs.Errorf(tongs.CodeTooLarge,
			"the attachment %s has %d bytes; this worker takes %d", at.Name, len(at.Data), a.size())
	}
	mime, _, _ := strings.Cut(http.DetectContentType(at.Data), ";")
	if !a.takes(mime) {
		return model.Part{}, tongs.Errorf(tongs.CodeInvalidArgs,
			"the attachment %s is %s, which this worker does not take", at.Name, mime)
	}
	if strings.HasPrefix(mime, "image/") {
		return model.Part{Image: &model.Image{MIME: mime, Data: at.Data}}, nil
	}
	if !utf8.Valid(at.Data) {
		return model.Part{}, tongs.Errorf(tongs.CodeBinaryFile, "the attachment %s is neither text nor a picture", at.Name)
	}
	return model.Part{Text: fmt.Sprintf("\n\nAttachment %s:\n%s", at.Name, at.Data)}, nil
}

func (a Attachments) takes(mime string) bool {
	if len(a.Types) == 0 {
		return strings.HasPrefix(mime, "text/") || strings.HasPrefix(mime, "image/")
	}
	for _, pattern := range a.Types {
		if ok, _ := path.Match(pattern, mime); ok {
			return true
		}
	}
	return false
}

// instructions are what the model is told to be, and where it is.
func (x *run) instructions(delegated bool) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(x.file.Instructions))
	b.WriteString("\n\n")
	fmt.Fprintf(&b, "You are the worker %s.", x.file.Name)
	if delegated {
		b.WriteString(" Another agent called you; your last answer goes back to it, so say there all that it needs.")
	}
	b.WriteString(" Paths are relative to the workspace. A call may be refused by a rule or a person: take that as an answer, and do not make it again unchanged.")
	if x.zones == nil {
		return b.String()
	}
	if len(x.zones) == 0 {
		b.WriteString(" You have no access to files.")
		return b.String()
	}
	b.WriteString(" You may touch these paths and no others:")
	for _, z := range x.zones {
		how := "read only"
		if z.Writable {
			how = "read and write"
		}
		fmt.Fprintf(&b, "\n- %s (%s)", z.Path, how)
	}
	return b.String()
}

// hints are what the model is told of the tools that it is offered and can use.
func (x *run) hints(ctx context.Context) string {
	var b strings.Builder
	for _, spec := range x.offered(ctx) {
		h, ok := x.opt.Hints[spec.Name]
		writes := func(z tongs.Zone) bool { return z.Writable && z.Path.Root == h.Root }
		if ok && (h.Root == "" || x.zones == nil || slices.ContainsFunc(x.zones, writes)) {
			b.WriteString("\n\n" + h.Text)
		}
	}
	return b.String()
}
