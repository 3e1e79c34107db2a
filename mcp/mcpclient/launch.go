package mcpclient

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
)

// passed are the variables that a server outside the sandbox gets of this process: enough to find programs and its
// user's files, and no credentials.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "TEMP", "TMP", "XDG_CONFIG_HOME",
	"XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
	"PROGRAMFILES", "PROGRAMDATA", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR",
}

func plainEnviron(environ []string) (env []string) {
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if slices.Contains(passed, strings.ToUpper(name)) || strings.HasPrefix(name, "LC_") {
			env = append(env, e)
		}
	}
	return env
}

// plain is a program outside the sandbox.
type plain struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{}
	exit  *tongs.Exit
}

// startPlain starts a program outside the sandbox. It is in a group of its own, which ends with it.
func startPlain(argv []string, dir string, env []string, stdout, stderr io.Writer) (*plain, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(plainEnviron(os.Environ()), env...), stdout, stderr
	cmd.WaitDelay = 2 * time.Second // for what it left behind with its output open
	group(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p := &plain{cmd: cmd, stdin: stdin, done: make(chan struct{})}
	started := make(chan error, 1)
	began := time.Now()
	go func() {
		// Where the system ends a program with its parent, the parent is the thread that started it: this one stays.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		_ = cmd.Wait()
		killGroup(cmd)
		p.exit = &tongs.Exit{Code: cmd.ProcessState.ExitCode(), Duration: time.Since(began)}
		if p.exit.Code < 0 {
			p.exit.Signal = cmd.ProcessState.String()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return nil, tongs.Errorf(tongs.CodeExecutionError, "there is no program %q: %w", argv[0], err)
		}
		return nil, tongs.Errorf(tongs.CodeExecutionError, "%s could not be started: %w", argv[0], err)
	}
	return p, nil
}

// Write implements tongs.Process.
func (p *plain) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// CloseInput implements tongs.Process.
func (p *plain) CloseInput() error { return p.stdin.Close() }

// Wait implements tongs.Process.
func (p *plain) Wait(ctx context.Context) (*tongs.Exit, error) {
	select {
	case <-p.done:
		return p.exit, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Kill implements tongs.Process.
func (p *plain) Kill() {
	select {
	case <-p.done:
	default:
		_ = p.cmd.Process.Kill() // the rest of the group follows
		<-p.done
	}
}
