package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/audit"
	webconsole "github.com/tongs-ai/tongs/console"
	"github.com/tongs-ai/tongs/custom"
	"github.com/tongs-ai/tongs/mcpclient"
)

// console makes the console of a system.
func (s *system) console(hub *webconsole.Hub, token string, f serveFlags) (*webconsole.Server, error) {
	return webconsole.New(webconsole.Options{
		Engine: s.engine, Audit: s.audit, Questions: s.questions, Previews: previewsIn(s.stateDir), Grants: s.grants, Hub: hub, Mode: s.cfg.Mode,
		Rules: s.rules, Spill: filepath.Join(s.stateDir, "spill"), Tools: s.toolStates, MetricsToken: token, StateDir: s.stateDir,
		Files: func(dir string) (tongs.FileView, error) {
			at, err := s.workspace.Resolve(tongs.Path{Rel: "."}, dir)
			if dir == "" {
				at, err = tongs.Path{Rel: "."}, nil
			}
			if err != nil {
				return nil, err
			}
			return s.workspace.View(at), nil
		},
		Hosts: f.hosts, Workspace: s.place.workspace, Version: version, User: whoami(), Insight: s.insight(),
	})
}

// toolStates tells of the tools that are not built in how far they can be used.
func (s *system) toolStates(context.Context) []webconsole.ToolState {
	var list []webconsole.ToolState
	for _, st := range s.forge.States() {
		t := webconsole.ToolState{
			Name: st.Name, Status: string(st.Status), Detail: st.Detail, Description: st.Description,
			Source: tongs.Source{Kind: tongs.SourceCustom, Name: st.Name, Digest: st.Digest},
		}
		if st.Status == custom.Changed || st.Status == custom.Unreviewed {
			t.Next = "tongs forge approve " + st.Name
			if v, err := s.forge.Look(st.Name); err == nil {
				t.Diff = v.Text
			}
		}
		list = append(list, t)
	}
	for _, server := range s.mcp.States() {
		for _, st := range server.Tools {
			t := webconsole.ToolState{
				Name: st.Name, Status: string(st.Status), Detail: st.Detail, Source: tongs.Source{Kind: tongs.SourceMCP, Name: server.Name},
			}
			if st.Status != mcpclient.Ready {
				t.Next = "tongs mcp review " + server.Name
			}
			list = append(list, t)
		}
	}
	return list
}

// addressFile tells other programs of the same user where the console is.
const addressFile = "console.json"

// address is what stands in it.
type address struct {
	URL       string `json:"url"`
	PID       int    `json:"pid"`
	Workspace string `json:"workspace"`
}

// answerHint says how a question is answered: at a terminal and, where one runs, in the console.
func answerHint(stateDir string) func(q string) string {
	return func(q string) string {
		path := filepath.Join(stateDir, addressFile)
		var at address
		data, err := os.ReadFile(path)
		info, missing := os.Stat(path)
		if err != nil || missing != nil || json.Unmarshal(data, &at) != nil || !audit.Alive(at.PID, info.ModTime()) {
			return howToAnswer(q)
		}
		return "A person can answer it at " + at.URL + "/approvals#" + q + ", or with 'tongs approvals approve " + q + "' in a terminal; " +
			"then make the same call again"
	}
}

// announce prints where the server is, writes it to the state directory, and opens the browser where that is wanted.
// Forget takes back what it wrote.
func (a *app) announce(web *webconsole.Server, sys *system, l net.Listener, token string, f serveFlags) (forget func(), err error) {
	base := "http://" + l.Addr().String()
	data, err := json.Marshal(address{URL: base, PID: os.Getpid(), Workspace: sys.place.workspace})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(sys.stateDir, addressFile)
	if err := writePrivate(path, append(data, '\n')); err != nil {
		return nil, err
	}
	remove := []string{}
	a.printServing(l, web.Link(), token)
	if f.open {
		page := filepath.Join(sys.stateDir, "console-open.html")
		if err := openBrowser(page, base+web.Link()); err != nil {
			fmt.Fprintf(a.err, "tongs: the browser cannot be opened: %s; open the link above yourself\n", clean(err.Error()))
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

// writePrivate writes a file that only its owner can read, whole.
func writePrivate(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // made with 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// openBrowser opens a link in the user's browser. Other users can see the arguments of processes, so the link stands in a
// page that only this one can read, and the browser is given the page.
func openBrowser(page, link string) error {
	text := "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\"><title>Tongs</title>" +
		"<meta http-equiv=\"refresh\" content=\"0; url=" + html.EscapeString(link) + "\">"
	if err := writePrivate(page, []byte(text)); err != nil {
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
