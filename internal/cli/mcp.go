package cli

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
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

// ServerTools says how many tools a server has.
func (p *Printer) ServerTools(v *tongs.Review) {
	fmt.Fprintf(p.Err, "It has %s.\n", terminal.Plural(len(mcpclient.Said(v).Tools), "tool"))
}

// ServerAnswer shows what a server said when it was started, and after what time.
func (p *Printer) ServerAnswer(v *tongs.Review, took time.Duration, unconfined bool) error {
	n := mcpclient.Said(v)
	lines := []string{
		fmt.Sprintf("%s answers: %s %s, protocol %s, after %s", v.State.Name, n.Title, n.Version, n.Protocol, took.Round(time.Millisecond)),
		fmt.Sprintf("%s, %s, %s of instructions", terminal.Plural(len(n.Tools), "tool"), terminal.Plural(len(n.Prompts), "prompt"), terminal.Plural(len(n.Instructions), "byte")),
	}
	for _, t := range v.State.Tools {
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("  %s: %s %s", t.Name, t.Status, t.Detail), " "))
	}
	if unconfined {
		lines = append(lines, "it runs outside the sandbox")
	}
	if v.Changed {
		lines = append(lines, "next: tongs mcp review "+v.State.Name)
	}
	_, err := fmt.Fprintln(p.Out, terminal.CleanLines(strings.Join(lines, "\n")))
	return err
}
