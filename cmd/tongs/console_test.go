//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// desk is a workspace, a state and a configuration to run commands in.
type desk struct {
	t   *testing.T
	dir string
	env []string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, dir: dir}
	for _, sub := range []string{"ws", "home/config", "etc"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(dir, "home")
	d.env = append(os.Environ(), "HOME="+home, "TONGS_CONFIG_DIR="+home+"/config", "TONGS_STATE_DIR="+home+"/state",
		"XDG_CACHE_HOME="+home+"/cache", "TEST_MANAGED="+dir+"/etc/policy.yaml", "TEST_HOME="+home, "NO_COLOR=1", "GORACE="+raceOptions, "TERM=dumb", "EDITOR=false", "VISUAL=")
	d.write("a.txt", "one\n")
	return d
}

func (d *desk) write(name, text string) string {
	d.t.Helper()
	path := filepath.Join(d.dir, "ws", name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
	return path
}

func (d *desk) read(name string) string {
	d.t.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, "ws", name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

func (d *desk) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tongs", args...)
	cmd.Dir, cmd.Env = filepath.Join(d.dir, "ws"), d.env
	return cmd
}

// run runs a command without a terminal.
func (d *desk) run(args ...string) (stdout, stderr string, code int) {
	d.t.Helper()
	cmd := d.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	code = exitStatus(d.t, cmd.Run())
	return out.String(), errs.String(), code
}

func exitStatus(t *testing.T, err error) int {
	t.Helper()
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		return ee.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}

// console is a command at a terminal, and the person who looks at it.
type console struct {
	t   *testing.T
	cmd *exec.Cmd
	tty *os.File

	mu   sync.Mutex
	more *sync.Cond
	text string // what was written and not yet expected
	all  string
	eof  bool
}

func (d *desk) terminal(args ...string) *console { return d.start(d.command(args...)) }

// start runs cmd with a new terminal that controls it; streams that are set stay as they are.
func (d *desk) start(cmd *exec.Cmd) *console {
	d.t.Helper()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 100})
	if err != nil {
		d.t.Fatal(err)
	}
	c := &console{t: d.t, cmd: cmd, tty: tty}
	c.more = sync.NewCond(&c.mu)
	d.t.Cleanup(func() { _, _ = tty.Close(), cmd.Process.Kill() })
	go c.watch()
	return c
}

func (c *console) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := c.tty.Read(buf)
		c.mu.Lock()
		c.text += string(buf[:n])
		c.all += string(buf[:n])
		c.eof = c.eof || err != nil
		c.more.Broadcast()
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// expect waits until the screen shows the pattern, and returns what it matched.
func (c *console) expect(pattern string) []string {
	c.t.Helper()
	re := regexp.MustCompile(pattern)
	guard := time.AfterFunc(3*time.Minute, func() {
		c.mu.Lock()
		c.eof = true
		c.more.Broadcast()
		c.mu.Unlock()
	})
	defer guard.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if loc := re.FindStringSubmatchIndex(c.text); loc != nil {
			found := re.FindStringSubmatch(c.text)
			c.text = c.text[loc[1]:]
			return found
		}
		if c.eof {
			c.t.Fatalf("the screen never showed %q; it shows:\n%s", pattern, c.all)
		}
		c.more.Wait()
	}
}

// typing sends text as one key or one paste. The prompt it answers must be expected first: what is typed before that
// is thrown away.
func (c *console) typing(text string) *console {
	c.t.Helper()
	if _, err := c.tty.WriteString(text); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// screen is everything that was shown until now.
func (c *console) screen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

func (c *console) exit() int {
	c.t.Helper()
	guard := time.AfterFunc(3*time.Minute, func() { _ = c.cmd.Process.Kill() })
	defer guard.Stop()
	return exitStatus(c.t, c.cmd.Wait())
}

// eventually tries until it holds; each try is a whole command, so that it needs no pause.
func (d *desk) eventually(holds func() bool) {
	d.t.Helper()
	for range 200 {
		if holds() {
			return
		}
	}
	d.t.Fatal("it never happened")
}
