package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
)

// spillURI is where the files of /spill are: output that was too long to show, and attachments that were too large.
const spillURI = "tongs:///spill/"

const (
	// maxListed is how many resources of a session are listed, the newest; all can be read.
	maxListed = 100
	// readBytes is how much one call reads of a resource: as text it fits a result. maxResource is how much of one is
	// given out.
	readBytes   = 64 << 10
	maxResource = 4 << 20
)

func uriOf(spillPath string) string {
	return "tongs://" + pathEscape(path.Clean("/"+spillPath))
}

func pathEscape(p string) string { return (&url.URL{Path: p}).EscapedPath() }

// remember lists a resource in the session from now on.
func (s *session) remember(r *mcp.Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.files, func(o *mcp.Resource) bool { return o.URI == r.URI }) {
		return
	}
	s.files = append(s.files, r)
	if over := len(s.files) - maxListed; over > 0 {
		s.files = slices.Delete(s.files, 0, over)
	}
}

func (s *Server) offerResources() {
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "spill", Title: "Kept output", URITemplate: spillURI + "{+path}",
		Description: "Output and attachments too large for a result; results name them as /spill/...",
	}, s.readResource)
}

// listResources lists what the results of this session named, beside what the program added.
func (s *Server) listResources(ctx context.Context, method string, req *mcp.ListResourcesRequest, next mcp.MethodHandler) (
	mcp.Result, error,
) {
	res, err := next(ctx, method, req)
	list, ok := res.(*mcp.ListResourcesResult)
	if err != nil || !ok || list.NextCursor != "" {
		return res, err
	}
	var meta mcp.Meta
	if req.Params != nil {
		meta = req.Params.Meta
	}
	sess, err := s.sessionOf(req.Session, req, meta)
	if err != nil {
		return nil, err
	}
	defer sess.release()
	sess.mu.Lock()
	defer sess.mu.Unlock()
	list.Resources = append(list.Resources, sess.files...)
	return list, nil
}

// readResource reads a file of /spill by the tool that reads files, so that the read is decided and leaves a row.
func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	where, ok := spillPath(req.Params.URI)
	if !ok {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	sess, err := s.sessionOf(req.Session, req, req.Params.Meta)
	if err != nil {
		return nil, err
	}
	defer sess.release()
	ctx, unbind := s.bind(ctx, req)
	defer unbind()
	data, err := s.readSpill(ctx, sess, where)
	switch code := tongs.CodeOf(err); {
	case err == nil:
	case code == tongs.CodeFileNotFound || code == tongs.CodeInvalidPath || code == tongs.CodeUnknownTool:
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	default:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	contents := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: mime.TypeByExtension(path.Ext(where))}
	if utf8.Valid(data) && !slices.Contains(data, 0) {
		contents.Text = string(data)
		if contents.MIMEType == "" {
			contents.MIMEType = "text/plain"
		}
	} else {
		contents.Blob = data
		if contents.MIMEType == "" {
			contents.MIMEType = "application/octet-stream"
		}
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
}

// spillPath returns the path that a URI of ours stands for. Nothing outside /spill has one.
func spillPath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "tongs" || u.Host != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	where := path.Clean(u.Path)
	return where, strings.HasPrefix(where, "/spill/") && where == u.Path
}

func (s *Server) readSpill(ctx context.Context, sess *session, where string) ([]byte, error) {
	var data []byte
	for offset := int64(1); ; {
		args, err := json.Marshal(map[string]any{"path": where, "encoding": "base64", "offset": offset, "limit": readBytes})
		if err != nil {
			return nil, err
		}
		res := s.inSlot(ctx, func() *tongs.Result {
			return s.opt.Engine.Call(ctx, &tongs.Call{
				Tool: "read_file", Args: args, Session: sess.name, Agents: sess.agents, Reason: "the client reads a resource",
			})
		})
		value, err := tongs.ValueOf[struct {
			Content    string `json:"content"`
			Size       int64  `json:"size"`
			NextOffset int64  `json:"nextOffset"`
		}](res)
		if err != nil {
			return nil, err
		}
		if value.Size > maxResource {
			return nil, fmt.Errorf("%s has %d bytes, more than the %d that a resource may have; page through it with read_file",
				where, value.Size, maxResource)
		}
		chunk, err := base64.StdEncoding.DecodeString(value.Content)
		if err != nil {
			return nil, err
		}
		data = append(data, chunk...)
		if value.NextOffset <= offset || len(data) > maxResource {
			return data, nil
		}
		offset = value.NextOffset
	}
}
