package cli

import (
	"encoding/json"
	"fmt"

	"github.com/tongs-ai/tongs/internal/wire"
)

// Served shows where a server is, as people and clients want to know it.
func (p *Printer) Served(at wire.Served) {
	snippet, _ := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"tongs": map[string]any{
		"type": "http", "url": at.URL + at.Path, "headers": map[string]string{"Authorization": "Bearer " + at.Token},
	}}}, "", "  ")
	fmt.Fprintf(p.Out, "Serving MCP at %s. Ctrl-C ends. For a client:\n%s\n", at.URL+at.Path, snippet)
	fmt.Fprintf(p.Out, "\nThe console, by a link that logs one browser in:\n%s\n", at.URL+at.Link())
}
