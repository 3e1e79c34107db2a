package cli

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/secrets"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

// ServersAdded says what a person should know of servers that were added to the configuration.
func (p *Printer) ServersAdded(path string, list []config.MCPServer) {
	for _, m := range list {
		fmt.Fprintf(p.Err, "Added %s to %s.\n", terminal.Clean(m.Name), terminal.Clean(path))
		if hosts := strings.Join(m.Network, ", "); hosts != "" {
			fmt.Fprintf(p.Err, "  It may reach %s.\n", terminal.Clean(hosts))
		} else if mcpclient.Fetches(m.Command) && !m.Unconfined {
			fmt.Fprintln(p.Err, "  "+fetchNote(m))
		}
		values := maps.Clone(m.Env)
		if values == nil {
			values = map[string]string{}
		}
		maps.Copy(values, m.Headers)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if v := values[key]; secrets.SecretName(key) && !strings.Contains(v, "${") && v != "" {
				fmt.Fprintf(p.Err, "  %s is a credential, which stands in the file now; ${VAR} would take it from the environment.\n", terminal.Clean(key))
			}
		}
		fmt.Fprintf(p.Err, "  Next: tongs mcp review %s\n", terminal.Clean(m.Name))
	}
}

// fetchNote says what becomes of a server that fetches what it runs.
func fetchNote(m config.MCPServer) string {
	switch name := strings.TrimSuffix(filepath.Base(m.Command), ".exe"); {
	case m.Unpinned:
		return "It fetches what it runs: name the host of its packages under network, or approve it when you are asked."
	case name == "npx":
		return "The review installs its package into a private directory, where it runs from."
	default:
		return name + " fetches what it runs, which cannot be pinned: install the server and name its program, or set 'pin: none' for it."
	}
}
