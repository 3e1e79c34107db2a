package main

import (
	"encoding/json"
	"errors"
	"fmt"

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
