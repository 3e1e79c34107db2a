package clientconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/jsonc"
)

// foreign is a server as other clients write it. Each has its own subset.
type foreign struct {
	Type        string            `json:"type"`
	Command     json.RawMessage   `json:"command"` // text, or a list in opencode
	Args        []string          `json:"args"`
	Env         map[string]string `json:"env"`
	Environment map[string]string `json:"environment"`
	URL         string            `json:"url"`
	HTTPURL     string            `json:"httpUrl"`
	ServerURL   string            `json:"serverUrl"`
	Headers     map[string]string `json:"headers"`
	Enabled     *bool             `json:"enabled"`
	Disabled    bool              `json:"disabled"`
	// What follows is Codex.
	HTTPHeaders    map[string]string `json:"http_headers"`
	EnvHTTPHeaders map[string]string `json:"env_http_headers"`
	BearerVariable string            `json:"bearer_token_env_var"`
	EnabledTools   []string          `json:"enabled_tools"`
	IncludeTools   []string          `json:"includeTools"`
}

const maxImport = 32 << 20

// Import reads the servers of a file, and notes about those that are imported or not. Servers that check refuses are left out.
func Import(path string, check func(config.MCPServer) error) (list []config.MCPServer, notes []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, tongs.Errorf(tongs.CodeFileNotFound, "%w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxImport {
		return nil, nil, tongs.Errorf(tongs.CodeInvalidArgs, "%s is no configuration file", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var servers map[string]json.RawMessage
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		servers, err = codexServers(data)
	} else {
		servers, err = jsonServers(data)
	}
	if err != nil {
		return nil, nil, tongs.Errorf(tongs.CodeInvalidArgs, "%s: %w", path, err)
	}
	if len(servers) == 0 {
		return nil, nil, tongs.Errorf(tongs.CodeInvalidArgs, "%s names no MCP servers: it has none of the keys mcpServers, servers, mcp and mcp_servers", path)
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		var f foreign
		if err := json.Unmarshal(servers[name], &f); err != nil {
			notes = append(notes, fmt.Sprintf("%s is left out: %v", name, err))
			continue
		}
		m, said, ok := f.take(name, check)
		notes = append(notes, said...)
		if ok {
			list = append(list, m)
		}
	}
	return list, notes, nil
}

// jsonServers finds the servers in the forms that clients have for them.
func jsonServers(data []byte) (map[string]json.RawMessage, error) {
	var doc struct {
		MCPServers map[string]json.RawMessage `json:"mcpServers"`
		Servers    map[string]json.RawMessage `json:"servers"`
		MCP        map[string]json.RawMessage `json:"mcp"`
	}
	if err := jsonc.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	if inner, ok := doc.MCP["servers"]; ok { // settings.json of VS Code
		doc.MCP = nil
		if err := json.Unmarshal(inner, &doc.MCP); err != nil {
			return nil, err
		}
	}
	all := map[string]json.RawMessage{}
	for _, set := range []map[string]json.RawMessage{doc.MCPServers, doc.Servers, doc.MCP} {
		maps.Copy(all, set)
	}
	return all, nil
}

var badInName = regexp.MustCompile(`[^A-Za-z0-9-]+`)

// take makes a server of ours of it.
func (f *foreign) take(name string, check func(config.MCPServer) error) (m config.MCPServer, notes []string, ok bool) {
	say := func(format string, args ...any) { notes = append(notes, name+": "+fmt.Sprintf(format, args...)) }
	m.Name = strings.Trim(badInName.ReplaceAllString(name, "-"), "-")
	if m.Name = m.Name[:min(len(m.Name), 32)]; m.Name != name {
		say("is named %s here", m.Name)
	}
	if f.Type == "sse" {
		say("is left out: it speaks the older HTTP+SSE transport, which Tongs does not")
		return m, notes, false
	}
	var words []string
	if json.Unmarshal(f.Command, &words) != nil {
		words = []string{""}
		_ = json.Unmarshal(f.Command, &words[0])
	}
	if len(words) > 0 && words[0] != "" {
		m.Command, m.Args = words[0], append(words[1:], f.Args...)
	}
	for _, url := range []string{f.HTTPURL, f.ServerURL, f.URL} {
		if m.URL == "" && m.Command == "" {
			m.URL = url
		}
	}
	if m.Command != "" {
		m.Env = translate(bothOf(f.Env, f.Environment), say)
	} else {
		m.Headers = translate(bothOf(f.Headers, f.HTTPHeaders), say)
		for header, variable := range f.EnvHTTPHeaders {
			m.Headers[header] = "${" + variable + "}"
		}
		if f.BearerVariable != "" {
			m.Headers["Authorization"] = "Bearer ${" + f.BearerVariable + "}"
		}
	}
	if m.Tools = append(f.EnabledTools, f.IncludeTools...); len(m.Tools) == 0 {
		m.Tools = []string{"*"}
	}
	if slices.ContainsFunc(m.Args, func(s string) bool { return strings.Contains(s, "${") }) {
		say("has a variable in its arguments, which is passed as it is written: use env")
	}
	if f.Disabled || f.Enabled != nil && !*f.Enabled {
		say("is switched off in that file")
	}
	if err := check(m); err != nil {
		say("is left out: %v", err)
		return m, notes, false
	}
	return m, notes, true
}

// translate writes variables as they are written here.
func translate(values map[string]string, say func(string, ...any)) map[string]string {
	for key, v := range values {
		if strings.Contains(v, "${input:") {
			say("asks for %s when it starts; here that is an environment variable", key)
		}
		v = prefixed.ReplaceAllStringFunc(v, func(s string) string {
			return "${" + strings.ReplaceAll(prefixed.FindStringSubmatch(s)[1], "-", "_") + "}"
		})
		if withDefault.MatchString(v) {
			say("has a default for a variable in %s, which is left out", key)
			v = withDefault.ReplaceAllString(v, "$${$1}")
		}
		values[key] = bare.ReplaceAllString(v, "$${$1}")
	}
	return values
}

// Only keeps the servers that were named, all where none was.
func Only(list []config.MCPServer, names []string) ([]config.MCPServer, error) {
	for _, name := range names {
		if !slices.ContainsFunc(list, func(m config.MCPServer) bool { return m.Name == name }) {
			return nil, fmt.Errorf("the file has no MCP server %q that can be imported", name)
		}
	}
	return slices.DeleteFunc(list, func(m config.MCPServer) bool { return len(names) > 0 && !slices.Contains(names, m.Name) }), nil
}

var (
	prefixed    = regexp.MustCompile(`\$\{(?:env|input):([A-Za-z0-9_-]+)\}`)
	withDefault = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*):-[^}]*\}`)
	bare        = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)`)
)

func bothOf(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}
