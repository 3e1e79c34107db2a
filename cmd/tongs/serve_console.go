package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"

	webconsole "github.com/tongs-ai/tongs/internal/console"
	"github.com/tongs-ai/tongs/internal/owned"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

// announce prints where the server is, writes it to the state directory, and opens the browser where that is wanted.
// Forget takes back what it wrote.
func (a *app) announce(web *webconsole.Server, sys *wire.System, l net.Listener, token string, f serveFlags) (forget func(), err error) {
	base := "http://" + l.Addr().String()
	data, err := json.Marshal(wire.Address{URL: base, PID: os.Getpid(), Workspace: sys.Workspace})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(sys.StateDir, wire.AddressFile)
	if err := owned.Replace(path, append(data, '\n'), 0o600); err != nil {
		return nil, err
	}
	remove := []string{}
	a.printServing(l, web.Link(), token)
	if f.open {
		page := filepath.Join(sys.StateDir, "console-open.html")
		if err := terminal.BrowseSecret(page, base+web.Link()); err != nil {
			fmt.Fprintf(a.Err, "tongs: the browser cannot be opened: %s; open the link above yourself\n", terminal.Clean(err.Error()))
		}
		remove = append(remove, page)
	}
	return func() {
		if now, err := os.ReadFile(path); err == nil && string(now) == string(data)+"\n" { // not that of another server
			remove = append(remove, path)
		}
		for _, name := range remove {
			_ = os.Remove(name)
		}
	}, nil
}
