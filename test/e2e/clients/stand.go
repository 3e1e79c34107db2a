//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/tongs-ai/tongs/test/e2e/clients/internal/model"
)

// stand is where one client runs: its home, its workspace, and what is known about the run.
type stand struct {
	opt    options
	client client
	// home and workspace are the client's; bin is first on its path, logs is where everything is written down.
	home, workspace, bin, tmp, logs string
	// url is where the model is.
	url    string
	model  *model.Server
	person *person
}

// wait is how long a call waits for a person: long enough to answer the first, short enough to let the second run out.
const wait = "10s"

// alone runs a client in this process's network namespace, and checks what it did.
func alone(ctx context.Context, opt options, c client) error {
	if err := errors.Join(loopbackOnly(), adopt()); err != nil {
		return err
	}
	dir, remove, err := place(opt.keep, c.name)
	if err != nil {
		return err
	}
	defer remove()
	s := &stand{opt: opt, client: c}
	for name, at := range map[string]*string{"home": &s.home, "workspace": &s.workspace, "bin": &s.bin, "tmp": &s.tmp, "logs": &s.logs} {
		*at = filepath.Join(dir, name)
		if err := os.Mkdir(*at, 0o700); err != nil {
			return err
		}
	}
	if opt.screens != "" { // people see the path
		s.workspace = filepath.Join(s.home, "src", "shop")
		if err := os.MkdirAll(s.workspace, 0o700); err != nil {
			return err
		}
	}
	s.person = &person{stand: s}
	s.model = &model.Server{Script: &model.Script{Refused: s.person.late, Validates: c.validates, Sleep: opt.sleep, Observe: opt.guarded, Shown: opt.screens != ""}, Dir: s.logs}
	stop, err := s.serve()
	if err != nil {
		return err
	}
	defer stop()
	if opt.undo {
		return s.undone(ctx)
	}
	if err := s.prepare(); err != nil {
		return err
	}
	if opt.screens != "" {
		return s.show(ctx)
	}
	o, err := s.play(ctx)
	if err != nil {
		return err
	}
	switch {
	case opt.sleep > 0:
		return s.slept(o)
	case opt.guarded:
		return s.observed(o)
	}
	return s.report(o)
}

// play has the client configured and run.
func (s *stand) play(ctx context.Context) (outcome, error) {
	if err := s.client.configure(s); err != nil {
		return outcome{}, err
	}
	var end func() error
	if s.opt.http {
		r, err := s.serveRemote(ctx)
		if err != nil {
			return outcome{}, err
		}
		end = r.stop
		if err := s.client.remote(s, r); err != nil {
			return outcome{}, errors.Join(err, end())
		}
	} else if err := s.setUp(ctx); err != nil {
		return outcome{}, err
	}
	o := s.drive(ctx)
	if end != nil {
		o.err = errors.Join(o.err, end())
	}
	ended := time.Now()
	o.left = leftBehind(5 * time.Second)
	o.gone = time.Since(ended)
	return o, nil
}

// place makes the directory of a run. One that was not asked for is removed afterwards.
func place(keep, name string) (dir string, remove func(), err error) {
	if keep == "" {
		dir, err = os.MkdirTemp("", "tongs-client-")
		return dir, func() { _ = os.RemoveAll(dir) }, err
	}
	if dir, err = filepath.Abs(filepath.Join(keep, name)); err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return "", nil, err
	}
	return dir, func() {}, os.Mkdir(dir, 0o700)
}

// serve starts the model.
func (s *stand) serve() (stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.url = "http://" + l.Addr().String()
	server := &http.Server{Handler: s.model, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	return func() { _ = server.Close() }, nil
}

// prepare writes the workspace, and a tongs for the client's path that logs what the client and the server say.
func (s *stand) prepare() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	how := "tap"
	if s.opt.mute {
		how = "mute"
	}
	limit := "--wait " + wait
	if s.opt.screens != "" {
		limit = ""
	}
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' %s '%s' '%s' \"$@\" %s\n", self, how, s.tapLog(), s.opt.tongs, limit)
	return errors.Join(
		os.WriteFile(filepath.Join(s.bin, "tongs"), []byte(script), 0o700),
		os.WriteFile(filepath.Join(s.workspace, model.File), []byte(model.Content), 0o600),
	)
}

// setUp has 'tongs setup' put the server into the client's configuration.
func (s *stand) setUp(ctx context.Context) error {
	args := []string{"setup", s.client.setup, "--write", "--user", "--yes", "--command", "tongs"}
	if s.opt.exclusive {
		args = append(args, "--exclusive")
	}
	cmd := s.command(ctx, s.opt.tongs, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("tongs setup %s: %w: %s", s.client.setup, err, out)
	}
	if err := os.WriteFile(filepath.Join(s.logs, "setup.txt"), out, 0o600); err != nil {
		return err
	}
	if s.client.unattended == nil || s.opt.guarded || s.opt.exclusive {
		return nil
	}
	return s.client.unattended(s)
}

func (s *stand) tapLog() string { return filepath.Join(s.logs, "mcp.jsonl") }

// command is a command in the workspace with the environment of the stand, and nothing of that of this process.
func (s *stand) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = s.workspace
	path := s.bin + ":" + filepath.Join(s.opt.npm, "node_modules", ".bin") + ":/usr/local/bin:/usr/bin:/bin"
	cmd.Env = []string{"HOME=" + s.home, "TMPDIR=" + s.tmp, "PATH=" + path, "LANG=C.UTF-8", "USER=root", "SHELL=/bin/sh", "TERM=dumb", "NO_COLOR=1"}
	return cmd
}

// outcome is what a run of the client came to.
type outcome struct {
	// err is why the client did not end well, answers what went wrong with approvals.
	err, answers error
	left         []string
	// took is how long the client ran, gone how long its processes outlived it.
	took, gone time.Duration
}

// drive runs the client to its end, while a person answers.
func (s *stand) drive(ctx context.Context) outcome {
	ctx, cancel := context.WithTimeout(ctx, s.opt.limit)
	defer cancel()
	stop := func() error { return nil }
	if !s.client.forms && !s.opt.guarded {
		var err error
		if stop, err = s.person.watch(ctx); err != nil {
			return outcome{err: err}
		}
	}
	argv := s.client.argv(s)
	cmd := s.command(ctx, filepath.Join(s.opt.npm, "node_modules", ".bin", argv[0]), argv[1:]...)
	cmd.Env = append(cmd.Env, s.client.env(s)...)
	cmd.WaitDelay = 5 * time.Second
	out, err := os.Create(filepath.Join(s.logs, "client.txt"))
	if err != nil {
		return outcome{err: errors.Join(err, stop())}
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	began := time.Now()
	o := outcome{err: s.execute(cmd), took: time.Since(began)}
	o.answers = stop()
	return o
}

// execute runs the client to its end.
func (s *stand) execute(cmd *exec.Cmd) error {
	if s.client.talk == nil {
		return cmd.Run()
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	talked := s.client.talk(s, in, bufio.NewReader(out))
	return errors.Join(talked, in.Close(), cmd.Wait())
}
