package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/specs"
)

// offer makes the tools of the engine those of the server. Clients are told where something changed.
func (s *Server) offer(ctx context.Context) error {
	list, broken := s.opt.Engine.Tools(ctx)
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		s.opt.Logger.Warn("a tool is broken and not offered", "tool", name, "error", broken[name])
	}
	list = engine.Usable(list, broken)
	if s.opt.Describe != nil {
		var err error
		if list, err = s.opt.Describe(list); err != nil {
			return err
		}
	}
	offered, names := map[string]string{}, map[string]string{}
	var fresh []*mcp.Tool
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, spec := range list {
		tool := Definition(spec)
		tool.Name = s.opt.Prefix + spec.Name
		data, err := json.Marshal(tool)
		if err != nil {
			return fmt.Errorf("definition of %s: %w", spec.Name, err)
		}
		offered[tool.Name] = string(data)
		if s.offered[tool.Name] != string(data) {
			fresh = append(fresh, tool)
		}
		names[spec.Name] = tool.Name
		for _, alias := range spec.Aliases {
			names[alias] = tool.Name
		}
	}
	gone := slices.DeleteFunc(slices.Collect(maps.Keys(s.offered)), func(name string) bool { return offered[name] != "" })
	s.offered, s.names = offered, names
	if len(gone) > 0 {
		s.mcp.RemoveTools(gone...)
	}
	for _, tool := range fresh {
		s.mcp.AddTool(tool, s.callTool)
	}
	return nil
}

// Definition returns a spec as MCP clients see it, in the types of the SDK.
func Definition(spec *tongs.Spec) *mcp.Tool {
	small := specs.Compact(spec)
	t := &mcp.Tool{
		Name: small.Name, Title: small.Title, Description: small.Description, Annotations: (*mcp.ToolAnnotations)(small.Annotations),
		InputSchema: small.InputSchema,
	}
	if small.OutputSchema != nil {
		t.OutputSchema = small.OutputSchema
	}
	return t
}

// receive is the middleware of every request: calls by an alias reach the tool, unknown tools leave a row, and what is
// listed is the session's own.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.CallToolRequest:
			if !s.known(r) {
				return s.callUnknown(ctx, r)
			}
		case *mcp.ListToolsRequest:
			if err := s.opt.Engine.Refresh(ctx); err != nil {
				return nil, err
			}
			if err := s.update(ctx); err != nil {
				return nil, err
			}
		case *mcp.ListResourcesRequest:
			return s.listResources(ctx, method, r, next)
		}
		return next(ctx, method, req)
	}
}

// known reports whether a tool is offered. A name that it also goes by becomes its own.
func (s *Server) known(req *mcp.CallToolRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.names[req.Params.Name]; own != "" && s.offered[req.Params.Name] == "" {
		req.Params.Name = own
	}
	return s.offered[req.Params.Name] != "" || s.opt.Extend != nil
}

// callUnknown takes the call of an unknown tool on the walk: it leaves a row, and the error names the nearest tools.
func (s *Server) callUnknown(ctx context.Context, req *mcp.CallToolRequest) (mcp.Result, error) {
	res, err := s.callTool(ctx, req)
	if err != nil {
		return nil, err
	}
	if code, _ := res.Meta[MetaError].(tongs.Code); code == tongs.CodeUnknownTool {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: strings.TrimPrefix(textOf(res), string(code)+": ")}
	}
	return res, nil
}

func textOf(res *mcp.CallToolResult) string {
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			return text.Text
		}
	}
	return ""
}
