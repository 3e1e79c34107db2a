package wire

import (
	"errors"
	"path/filepath"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/owned"
)

// userConfig returns the path and the content of the user's own configuration file, which may not exist yet.
func userConfig() (path string, data []byte, err error) {
	dir, err := config.FindConfigDir()
	if err != nil {
		return "", nil, tongs.Errorf(tongs.CodeConfigError, "%w", err)
	}
	path = filepath.Join(dir, config.UserFile)
	data, err = config.ReadUser(path)
	return path, data, err
}

// AddServers writes servers into the user's configuration, all or none, and returns its path.
func AddServers(list []config.MCPServer) (path string, err error) {
	path, data, err := userConfig()
	if err != nil {
		return "", err
	}
	for _, m := range list {
		if err := AsServer(m).Check(); err != nil {
			return "", err
		}
		if data, err = config.AddMCP(data, m); err != nil {
			return "", err
		}
	}
	return path, owned.Rewrite(path, data, 0o600)
}

// NewServers divides servers into those that can be added and those that are configured already.
func NewServers(list []config.MCPServer) (fresh, known []config.MCPServer, err error) {
	_, data, err := userConfig()
	if err != nil {
		return nil, nil, err
	}
	for _, m := range list {
		_, err := config.AddMCP(data, m)
		switch e, _ := errors.AsType[*tongs.Error](err); {
		case e != nil && e.Code == tongs.CodeAlreadyExists:
			known = append(known, m)
		case err != nil:
			return nil, nil, err
		default:
			fresh = append(fresh, m)
		}
	}
	return fresh, known, nil
}

// RemoveServer removes a server from the user's configuration, with its approval and the login to it.
func (h Host) RemoveServer(name string) (path string, err error) {
	path, data, err := userConfig()
	if err != nil {
		return "", err
	}
	data, found, err := config.RemoveMCP(data, name)
	if err != nil {
		return "", err
	}
	if !found {
		return "", tongs.Errorf(tongs.CodeInvalidArgs, "%s names no MCP server %q; 'tongs mcp list' shows where each is configured", path, name)
	}
	if err := owned.Rewrite(path, data, 0o600); err != nil {
		return "", err
	}
	p, err := h.StatePlace()
	if err != nil {
		return "", err
	}
	return path, p.ForgetServer(name)
}
