package mcpclient

import (
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cleantext"
	"github.com/tongs-ai/tongs/schema"
)

// maxParts is how many pieces of content a result may have.
const maxParts = 1000

// result turns what a server answered into a result. Everything in it is bounded by the walk, like any other. A link to
// a resource is named, never followed.
func result(spec *tongs.Spec, validator *schema.Validator, from *mcp.CallToolResult) (*tongs.Result, error) {
	res := &tongs.Result{}
	var text []string
	for i, c := range from.Content {
		if i == maxParts {
			text = append(text, fmt.Sprintf("(%d more parts were left out)", len(from.Content)-maxParts))
			break
		}
		if s := part(res, c); s != "" {
			text = append(text, s)
		}
	}
	res.Content = strings.Join(text, "\n")
	if from.IsError {
		said := cleantext.Cut(strings.TrimSpace(res.Content), 2000)
		if said == "" {
			said = "it gives no reason"
		}
		res.Error = tongs.Errorf(tongs.CodeExecutionError, "%s failed: %s", spec.Name, said)
		res.Content = ""
		return res, nil
	}
	if from.StructuredContent == nil {
		return res, nil
	}
	value, err := json.Marshal(from.StructuredContent)
	if err != nil {
		return nil, err
	}
	if err := validator.CheckOutput(spec, value); err != nil {
		return nil, tongs.Errorf(tongs.CodeExecutionError, "the server of %s returned a value that does not fit the schema it gave: %w", spec.Name, err)
	}
	res.Value = value
	if res.Content == "" {
		res.Content = string(value)
	}
	return res, nil
}

// part returns the text of a piece of content; what is not text becomes an attachment.
func part(res *tongs.Result, c mcp.Content) string {
	attach := func(kind, name, mimeType string, data []byte) string {
		if name == "" {
			name = fmt.Sprintf("%s%d%s", kind, len(res.Attachments)+1, extension(mimeType))
		}
		res.Attachments = append(res.Attachments, tongs.Attachment{Name: cleantext.Cut(name, 200), MIME: cleantext.Cut(mimeType, 200), Size: int64(len(data)), Data: data})
		return ""
	}
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent:
		return attach("image", "", c.MIMEType, c.Data)
	case *mcp.AudioContent:
		return attach("audio", "", c.MIMEType, c.Data)
	case *mcp.ResourceLink:
		line := fmt.Sprintf("resource %s: %s", c.URI, c.Name)
		if c.Description != "" {
			line += " (" + c.Description + ")"
		}
		return line
	case *mcp.EmbeddedResource:
		switch {
		case c.Resource == nil:
			return ""
		case len(c.Resource.Blob) > 0:
			attach("resource", "", c.Resource.MIMEType, c.Resource.Blob)
			return "resource " + c.Resource.URI + " is attached"
		}
		return fmt.Sprintf("resource %s:\n%s", c.Resource.URI, c.Resource.Text)
	}
	return fmt.Sprintf("(content of a kind that is not known here: %T)", c)
}

// extension is the usual end of a name of that type.
func extension(mimeType string) string {
	switch mimeType {
	case "image/jpeg":
		return ".jpg"
	case "image/png":
		return ".png"
	case "audio/wav":
		return ".wav"
	}
	if list, err := mime.ExtensionsByType(mimeType); err == nil && len(list) > 0 {
		return list[0]
	}
	return ""
}
