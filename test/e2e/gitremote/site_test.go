package gitremote

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/system"
)

func TestMain(m *testing.M) {
	system.Main()
	os.Exit(m.Run())
}

// site is a person's machine: a home with git settings, a workspace, and Tongs over it.
type site struct {
	*testing.T
	home, ws string
	sys      *system.System

	mu     sync.Mutex
	asked  []approval.Question
	answer func(q approval.Question) approval.Answer
}

// newSite opens Tongs over a new workspace. The hosts may be addresses of this machine, as the person's configuration says.
func newSite(t *testing.T, s *server, hosts ...string) *site {
	t.Helper()
	x := &site{T: t, home: realDir(t), ws: realDir(t)}
	t.Setenv("HOME", x.home)
	for _, name := range []string{"XDG_CONFIG_HOME", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "")
		must(t, os.Unsetenv(name))
	}
	settings := "[user]\n\tname = Ada\n\temail = ada@example.com\n"
	if s != nil {
		hosts = append(hosts, s.host())
		settings += "[http]\n\tsslCAInfo = " + s.ca + "\n[credential]\n\thelper = store\n"
		x.put(filepath.Join(x.home, ".git-credentials"), fmt.Sprintf("https://%s:%s@%s\n", login, password, strings.ReplaceAll(s.host(), ":", "%3a")))
	}
	x.put(filepath.Join(x.home, ".gitconfig"), settings)
	rules := "toolsets:\n  web:\n    hosts:\n"
	for _, host := range hosts {
		rules += fmt.Sprintf("      - %q\n", host)
	}
	x.put(filepath.Join(x.home, "config", "config.yaml"), rules)
	x.answer = func(approval.Question) approval.Answer { return approval.Answer{Approved: true} }
	return x
}

// open starts Tongs.
func (x *site) open() *site {
	x.Helper()
	sys, err := system.Open(x.Context(), system.Options{
		Workspace: x.ws, Config: filepath.Join(x.home, "config"), State: filepath.Join(x.home, "state"), Attended: true,
		Channels: []approval.Channel{x},
	})
	must(x.T, err)
	x.sys = sys
	x.Cleanup(func() { _ = sys.Close() })
	return x
}

// Ask implements approval.Channel.
func (x *site) Ask(_ context.Context, q approval.Question) (*approval.Answer, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = append(x.asked, q)
	a := x.answer(q)
	return &a, nil
}

// forSession approves for the session what can be.
func forSession(q approval.Question) approval.Answer {
	a := approval.Answer{Approved: true}
	if slices.Contains(q.Scopes, approval.Session) && q.Effects[0].Kind == tongs.EffectNetwork {
		a.Scope = approval.Session
	}
	return a
}

// questions returns those that were asked since the last time.
func (x *site) questions() []approval.Question {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := x.asked
	x.asked = nil
	return list
}

// shell runs a command as an agent does.
func (x *site) shell(command string) *tongs.Result {
	x.Helper()
	args, err := json.Marshal(map[string]any{"command": command})
	must(x.T, err)
	return x.sys.Call(x.Context(), &tongs.Call{Tool: "shell", Args: args, Session: "s"})
}

// sh runs a command that must succeed, and returns what it printed.
func (x *site) sh(command string) string {
	x.Helper()
	res := x.shell(command)
	if res.Error != nil || res.Metadata["exitCode"] != 0 {
		x.Fatalf("%s: %v (exit %v)\n%s", command, res.Error, res.Metadata["exitCode"], res.Content)
	}
	return res.Content
}

func (x *site) put(name, text string) {
	x.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(x.ws, name)
	}
	must(x.T, os.MkdirAll(filepath.Dir(name), 0o755))
	must(x.T, os.WriteFile(name, []byte(text), 0o600))
}
