package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// codexServers reads the tables [mcp_servers.NAME] of Codex' config.toml.
func codexServers(data []byte) (map[string]json.RawMessage, error) {
	var doc struct {
		Servers map[string]any `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal(data, &doc); err != nil {
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := at.Position()
			err = fmt.Errorf("line %d: %w", line, err)
		}
		return nil, err
	}
	servers := map[string]json.RawMessage{}
	for name, table := range doc.Servers {
		if _, ok := table.(map[string]any); !ok {
			continue
		}
		raw, err := json.Marshal(table)
		if err != nil {
			return nil, err
		}
		servers[name] = raw
	}
	return servers, nil
}

const tomlHeader = "[mcp_servers.tongs]"

// setTOML adds the table of the server at the end of a file of TOML, or puts it in the place of the one that is there.
// The library for TOML writes whole documents and drops comments, so that the lines are edited here.
func setTOML(data []byte, command []string) ([]byte, error) {
	rest, at, err := removeTOML(data)
	if err != nil {
		return nil, err
	}
	name, err := json.Marshal(command[0])
	if err != nil {
		return nil, err
	}
	args, err := json.Marshal(command[1:])
	if err != nil {
		return nil, err
	}
	table := fmt.Sprintf("%s\ncommand = %s\nargs = %s\n", tomlHeader, name, args)
	if at >= 0 {
		if at == len(rest) && at > 0 {
			table = "\n" + table
		}
		return slices.Concat(rest[:at], []byte(table), rest[at:]), nil
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return []byte(table), nil
	}
	text := string(data)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return []byte(text + "\n" + table), nil
}

// removeTOML returns a file without the table of the server, and where it stood, -1 where there was none. A file in
// which the server is written in another way is an error.
func removeTOML(data []byte) (rest []byte, at int, err error) {
	servers, err := codexServers(data)
	if err != nil {
		return nil, -1, err
	}
	if _, ok := servers["tongs"]; !ok {
		return data, -1, nil
	}
	lines := strings.SplitAfter(string(data), "\n")
	var kept strings.Builder
	at = -1
	inside := false
	for i, line := range lines {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "[") {
			inside = strings.HasPrefix(trimmed, tomlHeader) || strings.HasPrefix(trimmed, "[mcp_servers.tongs.")
			if inside && at < 0 {
				at = kept.Len()
			}
		}
		if inside && (strings.TrimSpace(line) != "" || i == len(lines)-1) {
			continue
		}
		kept.WriteString(line)
	}
	rest = []byte(kept.String())
	if again, err := codexServers(rest); err != nil || at < 0 || again["tongs"] != nil {
		return nil, -1, errors.New("the server tongs is written in a way that cannot be edited; change it by hand")
	}
	if at == len(rest) { // it was the last: the empty line before it goes too
		rest = append(bytes.TrimRight(rest, "\n"), '\n')
		if len(bytes.TrimSpace(rest)) == 0 {
			rest = nil
		}
		at = len(rest)
	}
	return rest, at, nil
}
