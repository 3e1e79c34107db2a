package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/config"
)

// Only the user's own file and the administrator's let a client approve what must be asked of its own calls.
func TestWhoLetsClientsApprove(t *testing.T) {
	const all, ordinary = "approval: {clients: all}\n", "approval: {clients: ordinary}\n"
	for name, tt := range map[string]struct {
		managed, user, workspace string
		trust, want, ignored     bool
	}{
		"nobody":                      {},
		"the user":                    {user: all, want: true},
		"the administrator":           {managed: all, want: true},
		"the administrator forbids":   {managed: ordinary, user: all, ignored: true},
		"the workspace":               {workspace: all, ignored: true},
		"a trusted workspace":         {workspace: all, trust: true, ignored: true},
		"the workspace takes it back": {user: all, workspace: ordinary},
		"the user, and the workspace": {user: all, workspace: all, want: true, ignored: true},
		"the user forbids":            {managed: all, user: ordinary},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			if tt.managed != "" {
				s.managed(tt.managed)
			}
			if tt.user != "" {
				s.user(tt.user)
			}
			if tt.workspace != "" {
				s.workspace(tt.workspace)
			}
			if tt.trust {
				s.trust()
			}
			if c := s.load(); c.ClientsApprove != tt.want || (len(c.Ignored) > 0) != tt.ignored {
				t.Errorf("clients approve: %t, ignored %v", c.ClientsApprove, c.Ignored)
			}
		})
	}
}

// Unattended, a directory that the environment names cannot say so, and a worker file never can.
func TestTheEnvironmentDoesNotLetClientsApprove(t *testing.T) {
	s := newSite(t)
	s.opt.Unattended, s.opt.ConfigDir = true, t.TempDir()
	s.write(filepath.Join(s.opt.ConfigDir, "config.yaml"), "approval: {clients: all}\n")
	if c := s.load(); c.ClientsApprove || len(c.Ignored) != 1 {
		t.Errorf("clients approve: %t, ignored %v", c.ClientsApprove, c.Ignored)
	}
	path := filepath.Join(t.TempDir(), "w.worker")
	if err := os.WriteFile(path, []byte("---\napproval: {clients: all}\n---\nDo it.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := config.LoadWorker(path, config.WorkerOptions{Own: true}); err == nil || !strings.Contains(err.Error(), `unknown key "clients"`) {
		t.Errorf("%v", err)
	}
}
