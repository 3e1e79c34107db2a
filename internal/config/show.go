package config

import (
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs"
)

// Setting is one value of the merged configuration and where it comes from.
type Setting struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	// Origin is "config.yaml:12", "--mode" or "default".
	Origin string `json:"origin"`
}

// Settings returns every value of the merged configuration in a fixed order, rules last.
func (c *Config) Settings() []Setting {
	var list []Setting
	add := func(key string, value any) {
		origin := c.origins[key]
		if origin == "" {
			origin = "default"
		}
		list = append(list, Setting{Key: key, Value: value, Origin: origin})
	}
	add("approval.mode", c.Mode.String())
	clients := "ordinary"
	if c.ClientsApprove {
		clients = "all"
	}
	add("approval.clients", clients)
	ask := "now"
	if c.AskLater {
		ask = "later"
	}
	add("approval.ask", ask)
	add("approval.notify", string(c.Notify))
	add("permissions", c.Granted.List())
	add("sandbox.writes", string(c.Sandbox.Writes))
	if len(c.Sandbox.Through) > 0 {
		add("sandbox.through", c.Sandbox.Through)
	}
	for _, m := range c.Sandbox.Methods {
		list = append(list, Setting{"sandbox.network.methods." + m.Host, strings.Join(m.Methods, ", "), m.Origin})
	}
	for _, s := range limitSettings {
		add("limits."+s.key, s.show(*c.Limits.fields()[s.key]))
	}
	for _, s := range retentionSettings {
		add("retention."+s.key, s.show(*c.Retention.fields()[s.key]))
	}
	if p := c.Audit.Checkpoint; p != nil {
		add("audit.checkpoint", p.String())
	}
	if c.Descriptions != "" {
		add("descriptions", c.Descriptions)
	}
	if len(c.Offer) > 0 {
		add("offer", c.Offer)
	}
	c.webSettings(add)
	c.sqlSettings(add)
	for _, z := range c.Zones {
		mode := "ro"
		if z.Writable {
			mode = "rw"
		}
		list = append(list, Setting{"zones." + z.Name, z.Dir + " (" + mode + ")", z.Origin})
	}
	list = append(list, c.Toolsets.settings()...)
	for i, r := range c.Rules {
		if r.Untrusted && r.Decision == tongs.PreApproved {
			continue
		}
		list = append(list, Setting{fmt.Sprintf("rules[%d]", i), ruleText(r), r.Origin})
	}
	return list
}

// ruleText is the rule without its origin, which is shown beside it.
func ruleText(r tongs.Rule) string {
	r.Origin = ""
	return r.String()
}

func (t Toolsets) settings() (list []Setting) {
	add := func(e Entry, key, value string) {
		if e.Untrusted {
			value += " (not trusted)"
		}
		list = append(list, Setting{"toolsets." + key, value, e.Origin})
	}
	for _, e := range t.Custom {
		add(e.Entry, "custom", e.Module+": "+strings.Join(e.Tools, ", "))
	}
	for _, e := range t.External {
		add(e.Entry, "external", e.Package+": "+strings.Join(e.Tools, ", "))
	}
	for _, e := range t.MCP {
		add(e.Entry, "mcp."+e.Name, strings.TrimSpace(e.URL+" "+strings.Join(append([]string{e.Command}, e.Args...), " ")))
	}
	for _, e := range t.Workers {
		add(e.Entry, "workers", strings.Join(e.Workers, ", "))
	}
	return list
}
