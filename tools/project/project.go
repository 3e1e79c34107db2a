// Package project holds the tools run_tests, format_code and install_package: the programs that a project is tested,
// formatted and extended with, run in the sandbox.
//
// Each tool finds out from the files of the project which program is meant, and starts it with a list of arguments. There is
// no shell between, and nothing of a call can become an option: values are attached to their option, checked against
// what they may look like, or refused. What the programs change is changed on a copy and decided by what it is, as for shell; hosts
// are decided as for shell, too.
package project

import (
	"context"
	"os/exec"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/registries"
)

// Toolset is the name that configuration knows the tools by.
const Toolset = "project"

// Options are those of the tools. A zero field means the default that its comment names.
type Options struct {
	// LookPath finds the program that a bare name runs in the sandbox: exec.LookPath of this process.
	LookPath func(name string) (string, bool)
	// Copies reports whether programs can be run on a copy of the workspace. Nil is a sandbox that cannot: install scripts
	// are not run then.
	Copies func(ctx context.Context) bool
	// Registries returns the package registries that the configuration of the user and of the project in a directory of this
	// machine names. Nil knows none but the public ones.
	Registries func(dir string) []registries.Named
	// Timeout is how long a call may take that names no timeout: 300 s. MaxTimeout is the most that it can name: 1,800 s.
	Timeout, MaxTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.LookPath == nil {
		o.LookPath = func(name string) (string, bool) {
			found, err := exec.LookPath(name)
			return found, err == nil
		}
	}
	if o.Copies == nil {
		o.Copies = func(context.Context) bool { return false }
	}
	if o.Registries == nil {
		o.Registries = func(string) []registries.Named { return nil }
	}
	if o.Timeout <= 0 {
		o.Timeout = 300 * time.Second
	}
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = max(1800*time.Second, o.Timeout)
	}
	o.Timeout = min(o.Timeout, o.MaxTimeout)
	return o
}

// timeout is how long a call may take that names so many seconds.
func (o Options) timeout(seconds int) time.Duration {
	if seconds <= 0 {
		return o.Timeout
	}
	return min(time.Duration(seconds)*time.Second, o.MaxTimeout)
}

// Tools returns format_code, install_package and run_tests.
func Tools(opt Options) (list []tongs.Tool, err error) {
	opt = opt.withDefaults()
	for _, makeTool := range []func(Options) (tongs.Tool, error){newFormat, newInstall, newTests} {
		tool, err := makeTool(opt)
		if err != nil {
			return nil, err
		}
		list = append(list, tool)
	}
	return list, nil
}

// Rules are the defaults that belong to the tools: looking at the files of a project is free. Any explicit rule beats them.
func Rules() (rules []tongs.Rule) {
	for _, pattern := range []string{"**", "/**"} {
		rules = append(rules, tongs.Rule{
			Layer: tongs.LayerUser, Origin: "built in", Toolset: Toolset, Effects: tongs.Kinds(tongs.EffectRead), Pattern: pattern,
			Decision: tongs.PreApproved, Fallback: true,
		})
	}
	return rules
}
