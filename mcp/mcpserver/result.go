package mcpserver

import (
	"encoding/json"
	"mime"
	"path"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
)

// The keys of a result's metadata.
const (
	// MetaError is the code of what went wrong, MetaDetails what is known beside it: of APPROVAL_REQUIRED the question.
	MetaError   = "ai.tongs/error"
	MetaDetails = "ai.tongs/details"
	// MetaTitle is a summary of the result, for lists.
	MetaTitle = "ai.tongs/title"
	// MetaDisplay is what a person should see instead of the content: a diff, or output with its colours.
	MetaDisplay = "ai.tongs/display"
)

// result is a result as a client sees it.
func (s *Server) result(sess *session, tool string, res *tongs.Result) *mcp.CallToolResult {
	out := &mcp.CallToolResult{IsError: res.Error != nil, Meta: mcp.Meta{}}
	if res.Title != "" {
		out.Meta[MetaTitle] = res.Title
	}
	if strings.TrimSpace(res.Display) != "" && strings.TrimSpace(res.Display) != strings.TrimSpace(res.Content) {
		out.Meta[MetaDisplay] = res.Display
	}
	if res.Error != nil {
		out.Meta[MetaError] = res.Error.Code
		if len(res.Error.Details) > 0 {
			out.Meta[MetaDetails] = res.Error.Details
		}
	}
	if res.Content != "" || len(res.Attachments) == 0 {
		out.Content = append(out.Content, &mcp.TextContent{Text: res.Content})
	}
	for i := range res.Attachments {
		out.Content = append(out.Content, attached(sess, &res.Attachments[i]))
	}
	if res.Error == nil && len(res.Value) > 0 && s.structured(tool) {
		out.StructuredContent = json.RawMessage(res.Value)
	}
	return out
}

// structured reports whether the tool is offered with the schema of its value.
func (s *Server) structured(tool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.offered[tool], `"outputSchema":`)
}

// attached is an attachment as content: images and sounds as such, other data as a resource, files by a link.
func attached(sess *session, a *tongs.Attachment) mcp.Content {
	kind, _, _ := mime.ParseMediaType(a.MIME)
	switch {
	case a.Path != "" && len(a.Data) == 0:
		r := &mcp.Resource{URI: uriOf(a.Path), Name: nameOf(a), MIMEType: a.MIME, Size: a.Size}
		sess.remember(r)
		return &mcp.ResourceLink{URI: r.URI, Name: r.Name, MIMEType: r.MIMEType, Size: &r.Size}
	case strings.HasPrefix(kind, "image/"):
		return &mcp.ImageContent{Data: a.Data, MIMEType: a.MIME}
	case strings.HasPrefix(kind, "audio/"):
		return &mcp.AudioContent{Data: a.Data, MIMEType: a.MIME}
	default:
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: "tongs:///attachment/" + pathEscape(nameOf(a)), MIMEType: a.MIME, Blob: a.Data,
		}}
	}
}

func nameOf(a *tongs.Attachment) string {
	if a.Name != "" {
		return a.Name
	}
	return path.Base(a.Path)
}
