package main

import (
	"encoding/json"
	"fmt"
	"html"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

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
		if err := openBrowser(page, base+web.Link()); err != nil {
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

// openBrowser opens a link in the user's browser. Other users can see the arguments of processes, so the link stands in a
// page that only this one can read, and the browser is given the page.
func openBrowser(page, link string) error {
	text := "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\"><title>Tongs</title>" +
		"<meta http-equiv=\"refresh\" content=\"0; url=" + html.EscapeString(link) + "\">"
	if err := owned.Replace(page, []byte(text), 0o600); err != nil {
		return err
	}
	argv := []string{"xdg-open", page}
	switch runtime.GOOS {
	case "darwin":
		argv = []string{"open", page}
	case "windows":
		argv = []string{"rundll32", "url.dll,FileProtocolHandler", page}
	}
	if custom := os.Getenv("BROWSER"); custom != "" && runtime.GOOS != "windows" {
		argv = []string{custom, page}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
