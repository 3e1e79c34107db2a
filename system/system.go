// Package system gives a Go program all of Tongs in one call: the configuration and its rules, the sandbox, durable state, and
// every tool that is built in or configured (files, search, shell, code, web, undo, workers, MCP servers, modules, custom tools).
//
// It links SQLite and every tool. A program that needs a few tools only, and no database, uses package engine
// with the tool families that it wants.
package system

import (
	"context"
	"errors"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/sandbox"
)

// Main makes the program usable as the launcher of its own sandbox. Call it first in main, before flags are parsed, and in the
// TestMain of tests. It returns at once, except in helper processes of the sandbox, which it never leaves. In a program that does
// not call it, tools that run programs ask before every command that no rule allows, and then fail with SANDBOX_UNAVAILABLE; all
// others work. Builds with the tag tongslauncher, which embed a launcher, need no call.
func Main() { sandbox.Main() }

// Options configure a system. The zero value is what the command tongs mcp does in the current directory.
type Options struct {
	// Workspace is the directory that tools work in. Empty is the current directory.
	Workspace string
	// Config, State and CustomTools are absolute paths: the directory of config.yaml, the directory of the log, questions, grants
	// and undo, and the directory of custom tools. A directory named here counts as the user's own, so do not take it from input
	// that you do not trust. An empty one is found as the command finds it, by the environment and the home directory. The locks of
	// files are in the user's cache directory, so that all programs share them, or in State where nothing can be written there.
	Config, State, CustomTools string
	// Mode overrides the configured approval mode. Without Attended it can only make that stricter. Nil leaves it as configured.
	Mode *tongs.Mode
	// Attended says that a person started this program. Without it, directories that environment variables name can only narrow
	// what is allowed, and approvals remembered there do not count.
	Attended bool
	// Channels ask people about calls that need approval. Without one, such a call waits for Wait for an answer from 'tongs
	// approvals' over the same state directory, and is refused with APPROVAL_REQUIRED otherwise.
	Channels []approval.Channel
	Wait     time.Duration
	// Observers are told what happens to each call. They must return soon and cannot stop a call.
	Observers []func(engine.Event)
	// Tools are offered beside all others. Their names must be free, and have no __: such names are those of tools of MCP servers.
	Tools []tongs.Tool
	// Warn is told what stops no call and a person should know. Nil drops it.
	Warn func(string)
	// Version is what this program tells MCP servers and telemetry about itself. Empty is "dev".
	Version string
}

// System is Tongs, wired. It is safe for concurrent use.
type System struct{ wired *wire.System }

var _ tongs.Caller = (*System)(nil)

// Open wires a system. Close it when the program is done with it.
func Open(ctx context.Context, opt Options) (*System, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	version := opt.Version
	if version == "" {
		version = "dev"
	}
	host := wire.Host{
		Workspace: opt.Workspace, ConfigDir: opt.Config, StateDir: opt.State, ForgeDir: opt.CustomTools,
		Attended: opt.Attended, Version: version, Warn: opt.Warn,
	}
	wired, err := host.Open(ctx, wire.Options{
		Mode: opt.Mode, Channels: opt.Channels, Wait: opt.Wait, Lives: true, Observe: all(opt.Observers), Tools: opt.Tools,
	})
	if err != nil {
		return nil, err
	}
	return &System{wired}, nil
}

// all tells each observer; nil where there is none.
func all(observers []func(engine.Event)) func(engine.Event) {
	if len(observers) == 0 {
		return nil
	}
	return func(e engine.Event) {
		for _, observe := range observers {
			observe(e)
		}
	}
}

// Call makes a call. It never returns nil; a failure is in the result.
func (s *System) Call(ctx context.Context, call *tongs.Call) *tongs.Result {
	return s.wired.Engine.Call(ctx, call)
}

// Explain shows what a call would do and which rule decides, without running it.
func (s *System) Explain(ctx context.Context, call *tongs.Call) (*tongs.Explanation, error) {
	return s.wired.Engine.Explain(ctx, call)
}

// Within returns a caller that can do no more than the scope allows.
func (s *System) Within(scope tongs.Scope) tongs.Caller { return s.wired.Engine.Within(scope) }

// Tools returns the specs of the tools that can be called, by name. The error joins what keeps others from being offered; the
// specs are right all the same.
func (s *System) Tools(ctx context.Context) ([]*tongs.Spec, error) {
	specs, broken := s.wired.Engine.Tools(ctx)
	var errs []error
	for _, err := range broken {
		errs = append(errs, err)
	}
	for _, text := range s.wired.Warnings() {
		errs = append(errs, errors.New(text))
	}
	return specs, errors.Join(errs...)
}

// LastResults returns the newest result of each tool that was called, by the tool's name.
func (s *System) LastResults() map[string]*tongs.Result { return s.wired.Engine.LastResults() }

// EndSession ends what the calls of a session left running: background jobs, and changes kept on copies.
func (s *System) EndSession(session string) { s.wired.Ended(session) }

// Close ends everything the system started and closes its state. Calls must not be made afterwards.
func (s *System) Close() error { return s.wired.Close() }
