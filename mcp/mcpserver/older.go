//lint:file-ignore SA1019 what is deprecated here is what clients of the revisions with sessions speak

package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
)

// addOlder adds what the revisions with sessions have and the one without no longer means to: log messages and roots.
func (s *Server) addOlder(o *mcp.ServerOptions) {
	o.Capabilities.Logging = &mcp.LoggingCapabilities{}
	o.RootsListChangedHandler = func(_ context.Context, req *mcp.RootsListChangedRequest) { s.rootsChanged(req.Session) }
}

// tell logs to the client what is worth a line.
func (f *flight) tell(ctx context.Context, req *mcp.CallToolRequest) {
	log := func(level mcp.LoggingLevel, data map[string]any) {
		data["tool"] = f.tool
		_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: level, Logger: "tongs", Data: data})
	}
	if repaired, ok := f.result.Metadata["repaired"]; ok {
		log("info", map[string]any{"message": "arguments were repaired", "repaired": repaired})
	}
	switch e := f.result.Error; {
	case e == nil:
	case e.Code.Refused():
		log("notice", map[string]any{"message": e.Message, "code": e.Code})
	case e.Code == tongs.CodeInternal:
		log("error", map[string]any{"message": e.Message, "code": e.Code})
	}
}
