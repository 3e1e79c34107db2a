//go:build !linux && !darwin

package sandbox

import (
	"context"
	"os"
	"runtime"

	"github.com/tongs-ai/tongs"
)

// machine is what a Runner holds on this platform: nothing.
type machine struct{}

func (m *machine) close() error { return nil }

// running is a Process on this platform. There are none.
type running struct{}

func (run *running) kill(string) {}

func (p *Process) terminal() *os.File { return nil }

// Resize fails: there is no sandbox on this platform.
func (p *Process) Resize(rows, cols uint16) error {
	return tongs.Errorf(tongs.CodeSandboxUnavailable, "there is no sandbox for %s", runtime.GOOS)
}

func (r *Runner) try(context.Context) Probe {
	return Probe{Platform: runtime.GOOS + "/" + runtime.GOARCH, User: os.Geteuid()}
}

func (r *Runner) start(context.Context, string, *Cmd) (*Process, error) {
	return nil, tongs.Errorf(tongs.CodeSandboxUnavailable,
		"there is no sandbox for %s; run Tongs in WSL 2 or in a Linux virtual machine", runtime.GOOS)
}

// DefaultRequire returns what Default requires on this platform: everything, which nothing here enforces.
func DefaultRequire() []Property { return Properties() }
