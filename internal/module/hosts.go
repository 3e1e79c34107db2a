package module

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/owned"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

const (
	// maxHosts is how many hosts are kept that nobody uses.
	maxHosts = 16
	// protocol is the revision that hosts speak.
	protocol = "2025-06-18"
	// serverName is the name of a host among one.
	serverName = "module"
	// goProgram is what a Go module is built to; buildTime is how long that may take.
	goProgram = "program"
	buildTime = 5 * time.Minute
	maxBuild  = 256 << 20
)

// hosts are the hosts that run, by what they run and what they may do.
type hosts struct {
	set  *Set
	mu   sync.Mutex
	live map[string]*host
	done bool
}

// host is a module that runs.
type host struct {
	*mcpclient.Set
	module *mod
	digest string
	users  int
	last   time.Time
	once   bool
}

// launch is what a module is started with.
type launch struct {
	mcpclient.Launch
	// key identifies what the sandbox lets the host do; empty has it end with the call.
	key string
}

// take returns the host of a module, which is started when it is used. Release gives it back.
func (h *hosts) take(m *mod, s *snapshot, l *launch) (*host, error) {
	program, err := m.set.materialise(s.bundled, m.lang, m.name)
	if err != nil {
		return nil, err
	}
	key := ""
	if l.key != "" {
		key = strings.Join([]string{m.key, program, strings.Join(m.cfg.Tools, " "), l.key, strings.Join(l.Hosts, " "), fmt.Sprint(l.ReadOnly)}, "\n")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done {
		return nil, tongs.Errorf(tongs.CodeCancelled, "the program is ending, and starts no more modules")
	}
	if found := h.live[key]; found != nil && key != "" {
		found.users++
		return found, nil
	}
	made, err := m.host(program, s)
	if err != nil {
		return nil, err
	}
	made.users, made.once = 1, key == ""
	if key == "" {
		key = fmt.Sprintf("%p", made)
	}
	if h.live == nil {
		h.live = map[string]*host{}
	}
	h.live[key] = made
	return made, nil
}

// retire has a host end once nobody uses it: a call of it was given up, so that it may be stuck.
func (h *hosts) retire(used *host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, o := range h.live {
		if o == used && !used.once {
			used.once = true
			delete(h.live, key)
			h.live[fmt.Sprintf("%p", used)] = used
		}
	}
}

// release gives a host back. Those that are of no more use end.
func (h *hosts) release(used *host) {
	h.mu.Lock()
	used.users--
	used.last = time.Now()
	idle := 0
	for _, o := range h.live {
		if o.users == 0 {
			idle++
		}
	}
	var ended []*host
	for key, o := range h.live {
		stale := o.module == used.module && o.digest != used.digest
		if o.users == 0 && (o.once || stale || idle > maxHosts && o != used) {
			ended = append(ended, o)
			delete(h.live, key)
			idle--
		}
	}
	h.mu.Unlock()
	for _, o := range ended {
		o.Close()
	}
}

// close ends all hosts.
func (h *hosts) close() {
	h.mu.Lock()
	h.done = true
	live := h.live
	h.live = nil
	h.mu.Unlock()
	var all sync.WaitGroup
	for _, o := range live {
		all.Go(func() { _ = o.Close() })
	}
	all.Wait()
}

// host makes a host, and starts nothing.
func (m *mod) host(program string, s *snapshot) (*host, error) {
	tools, err := json.Marshal(m.cfg.Tools)
	if err != nil {
		return nil, err
	}
	timeout := m.cfg.Timeout
	if timeout <= 0 {
		timeout = m.set.opt.Timeout
	}
	set, err := mcpclient.New(mcpclient.Options{
		Servers: []mcpclient.Server{{
			Name: serverName, Command: filepath.Join(m.set.opt.Programs, program, "host"), Tools: []string{"*"}, Timeout: timeout,
			Env: map[string]string{
				"TONGS_LANGUAGE": string(m.lang), "TONGS_TOOLS": string(tools), "AGENT_WORKSPACE_ROOT": m.set.opt.Workspace, "FORGE_WORKSPACE": m.set.opt.Workspace,
			},
			Label: "the module " + m.name, Review: m.review(), Origin: m.cfg.Origin,
		}},
		Lookup:   func(name string) (string, bool) { return "${" + name + "}", true }, // these values are not a person's
		Protocol: protocol, Version: m.set.opt.Version, Root: m.set.opt.Workspace,
		Backoff: time.Nanosecond, // the next call starts it again
		Grace:   time.Second / 2,
	})
	if err != nil {
		return nil, err
	}
	return &host{Set: set, module: m, digest: s.digest}, nil
}

// open starts the host, unless it runs, and returns what the module says of its tools.
func (m *mod) open(ctx context.Context, h *host, s *snapshot, l *launch) (*mcpclient.Definitions, error) {
	if m.lang == golang {
		if err := m.build(ctx, s, l); err != nil {
			return nil, err
		}
	}
	inner, cancel := context.WithTimeout(ctx, m.set.opt.LoadTime)
	defer cancel()
	defs, err := h.Open(inner, serverName, l.Launch)
	if err != nil && inner.Err() != nil && ctx.Err() == nil {
		return nil, tongs.Errorf(tongs.CodeTimeout, "the module %s did not finish loading within %s; does something at its top level wait? %s",
			m.name, m.set.opt.LoadTime, message(err))
	}
	return defs, err
}

// build makes the program of a Go module, unless it is there, in the sandbox and without a network.
func (m *mod) build(ctx context.Context, s *snapshot, l *launch) error {
	dir := filepath.Join(m.set.opt.Programs, s.program)
	to := filepath.Join(dir, goProgram)
	m.builds.Lock()
	defer m.builds.Unlock()
	if isFile(to) {
		return nil
	}
	if s.settings == nil { // it was made by another process, and its program is gone
		return tongs.Errorf(tongs.CodeExecutionError, "the program of the module %s is gone; review it again: %s", m.name, m.review())
	}
	var out, errs bytes.Buffer
	module, _ := s.settings["goModule"].(string)
	pkg, _ := s.settings["goPackage"].(string)
	exit, err := l.Commands.Run(ctx, &tongs.Command{
		Argv: []string{filepath.Join(dir, "build")}, Dir: tongs.Path{Rel: "."}, ReadOnly: true, Build: true, Timeout: buildTime, Effects: l.Effects,
		Env:    []string{"TONGS_GO_MODULE=" + module, "TONGS_GO_PACKAGE=" + pkg},
		Stdout: &limited{Buffer: &out, left: maxBuild}, Stderr: &limited{Buffer: &errs, left: 64 << 10},
	})
	if exit == nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case exit.TimedOut:
		return tongs.Errorf(tongs.CodeTimeout, "building the module %s took longer than %s", m.name, buildTime)
	case exit.Code != 0 || out.Len() == 0 || out.Len() >= maxBuild:
		return tongs.Errorf(tongs.CodeExecutionError, "the module %s does not compile:\n%s", m.name, mcpclient.Readable(strings.TrimSpace(errs.String()), 4000))
	}
	return owned.Replace(to, out.Bytes(), 0o500)
}

// limited is a buffer that takes no more than it has room for.
type limited struct {
	*bytes.Buffer
	left int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.Buffer.Write(p[:n])
	return len(p), nil
}

// inspect is the launch of a host that changes nothing and reaches nothing: to say what the tools are, and whether a call
// needs approval.
func (m *mod) inspect(s *snapshot) (*launch, error) {
	if m.set.opt.Commands == nil {
		return nil, errors.New("this program cannot run modules aside")
	}
	effects := []tongs.Effect{m.effect(s, "load")}
	// Nobody is asked about more, and where there are rules about paths it is kept from every path.
	permit := tongs.NewPermit(m.set.life, &tongs.Call{ID: "module-" + m.key, Tool: "module"}, effects, m.set.opt.Zones, nil)
	return &launch{key: "aside", Launch: mcpclient.Launch{
		Commands: m.set.opt.Commands(permit), Effects: effects, Dir: m.set.opt.Workspace, ReadOnly: true,
	}}, nil
}

// effect is that of running a tool of the module.
func (m *mod) effect(s *snapshot, tool string) tongs.Effect {
	return tongs.Effect{Kind: tongs.EffectExecute, Argv: []string{m.name, tool}, Version: tongs.Version("module:" + s.digest)}
}

// sweep removes copies that no record names any more, and that are not new.
func (s *Set) sweep(now time.Time) {
	used := map[string]bool{}
	records, _ := os.ReadDir(s.opt.State)
	for _, e := range records {
		if key, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			r, err := s.store.load(key)
			if err != nil {
				return
			}
			used[r.Program] = true
		}
	}
	entries, _ := os.ReadDir(s.opt.Programs)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !used[e.Name()] && now.Sub(info.ModTime()) > 7*24*time.Hour {
			_ = os.RemoveAll(filepath.Join(s.opt.Programs, e.Name()))
		}
	}
}
