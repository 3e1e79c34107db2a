package forge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/forge"
	"github.com/tongs-ai/tongs/internal/workbench"
)

// marked returns the processes of this machine that have the text on their command line.
func marked(t *testing.T, text string) (found []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		if data, err := os.ReadFile(name); err == nil && bytes.Contains(data, []byte(text)) {
			found = append(found, name+": "+strings.ReplaceAll(string(data), "\x00", " "))
		}
	}
	return found
}

// gone waits until no process has the text on its command line.
func gone(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		left := marked(t, text)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("processes are left: %q", left)
		}
	}
}

// nothingLeft wants no copy for a single call, and nothing half-written, beside what was approved.
func (b *bench) nothingLeft() {
	b.Helper()
	entries, err := os.ReadDir(filepath.Join(b.state, "programs"))
	b.Must(err)
	for _, e := range entries {
		if len(e.Name()) != 64 {
			b.Errorf("left behind: %s", e.Name())
		}
	}
}

func TestADaemonDiesWithItsTool(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll})
	mark := filepath.Base(b.Dir) + "-" + filepath.Base(b.forge) + "-daemon"
	stays := fmt.Sprintf(`sh -c 'trap "" TERM HUP INT; touch up.$0; while :; do sleep 1000; done' %s`, filepath.Join("x", mark))
	stays = strings.Replace(stays, "up.$0", "up", 1)
	for name, body := range map[string]string{
		"background": stays + " & while [ ! -e up ]; do :; done; echo started",
		"session":    "setsid " + stays + " </dev/null >/dev/null 2>&1 & while [ ! -e up ]; do :; done; echo started",
		"orphan":     "( setsid " + stays + " & ) </dev/null >/dev/null 2>&1; while [ ! -e up ]; do :; done; echo started",
	} {
		_ = os.Remove(filepath.Join(b.Dir, "up"))
		b.script(name, "timeout: 20\n", body)
		b.Contains(name, b.Call(name).Content, "started") // one that holds the output open may be ended by its time
		if !b.Exists("up") {
			t.Errorf("%s: it never ran", name)
		}
		gone(t, mark)
	}
	b.nothingLeft()
}

func TestAToolThatIgnoresSignalsIsKilled(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll})
	mark := filepath.Base(b.Dir) + "-" + filepath.Base(b.forge) + "-stubborn"
	res := b.outOfTime("stubborn", fmt.Sprintf(`trap '' TERM HUP INT QUIT; echo early; while :; do sh -c 'sleep 1000' %s; done`, mark))
	if out := workbench.Value[forge.Output](b.Bench, res); !out.TimedOut || out.Stdout != "early\n" {
		t.Errorf("%+v", out)
	}
	gone(t, mark)
	b.nothingLeft()
}

func TestAFloodIsBounded(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll})
	b.script("flood", "timeout: 300\n", `head -c 1073741824 /dev/zero`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := b.Call("flood")
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("1 GiB of output took %d MiB of memory", used>>20)
	}
	data, err := json.Marshal(res)
	b.Must(err)
	if len(data) > 256<<10 {
		t.Errorf("the result has %d bytes", len(data))
	}
	b.Contains("content", res.Content, "/spill/")
	var kept int64
	b.Must(filepath.WalkDir(b.Spill.Dir(), func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, infoErr := d.Info()
			kept, err = kept+info.Size(), infoErr
		}
		return err
	}))
	if kept == 0 || kept > 65<<20 {
		t.Errorf("%d bytes are kept, want some and at most the limit of 64 MiB", kept)
	}
	b.nothingLeft()
}

func TestInvalidUTF8IsShown(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll})
	b.script("binary", "", `printf 'a\377\376\000\033[31mb'; printf '{"\377": 1}' >&2`)
	b.script("object", "", `printf '{"a": "\377"}'`)
	for _, name := range []string{"binary", "object"} {
		res := b.OK(name)
		data, err := json.Marshal(res)
		b.Must(err)
		if !utf8.Valid(data) || !utf8.ValidString(res.Content) || !utf8.Valid(res.Value) || !json.Valid(res.Value) {
			t.Errorf("%s: %q, value %q", name, res.Content, res.Value)
		}
	}
}

func TestExitCodesAreReported(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll})
	b.script("killed", "", `echo before; echo 'out of memory' >&2; exit 137`)
	res := b.OK("killed")
	b.Contains("content", res.Content, "(exit code 137)")
	if out := workbench.Value[forge.Output](b.Bench, res); out.ExitCode != 137 || out.Stdout != "before\n" || out.Signal != "" {
		t.Errorf("%+v", out)
	}
	b.script("suicide", "", `kill -9 $$`)
	res = b.OK("suicide")
	if out := workbench.Value[forge.Output](b.Bench, res); out.Signal == "" {
		t.Errorf("%+v", out)
	}
}

func TestWritesOutsideFail(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll})
	outside := workbench.RealDir(t)
	own := filepath.Join(b.forge, "vandal", "run")
	b.script("vandal", "", fmt.Sprintf(`for f in %s/made %s %s/vandal/new "$0" "${0%%/*}/new" "$HOME/made" /etc/made; do
		( echo x >> "$f" ) 2>/dev/null && echo "wrote $f"
	done; true`, outside, own, b.forge))
	before, err := os.ReadFile(own)
	b.Must(err)
	b.Call("vandal") // what it could write was in a place of its own
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Errorf("it made %v", left)
	}
	if after, err := os.ReadFile(own); err != nil || !bytes.Equal(before, after) || b.status("vandal").Status != tongs.StatusReady {
		t.Errorf("it changed itself: %v, %+v", err, b.status("vandal"))
	}
	if entries, _ := os.ReadDir(filepath.Join(b.forge, "vandal")); len(entries) != 2 {
		t.Errorf("its directory holds %v", entries)
	}
	copies, err := filepath.Glob(filepath.Join(b.state, "programs", "*", "*"))
	b.Must(err)
	if len(copies) != 2 {
		t.Errorf("the copy holds %v", copies)
	}
	if data, _ := os.ReadFile(copies[0]); !bytes.Equal(data, before) {
		t.Error("the copy that runs was changed")
	}
	for _, host := range []string{"/etc/made", filepath.Join(os.Getenv("HOME"), "made")} {
		if _, err := os.Lstat(host); err == nil {
			t.Errorf("it made %s", host)
		}
	}
	b.nothingLeft()
}

const socketPython = `#!/usr/bin/env python3
import socket, sys
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print("listens")
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1].partition("=")[2])), 5).sendall(b"hello")
    print("connected")
except OSError as e:
    sys.exit("no network: %s" % e)
`

func TestASocketReachesNobody(t *testing.T) {
	b := newBench(t, workbench.Options{Mode: tongs.ModeAll, Answer: deny})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	b.Must(err)
	defer l.Close()
	reached := make(chan struct{})
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = c.Close()
			close(reached)
		}
	}()
	b.tool("caller", "tool.yaml", "name: caller\ndescription: d\nentrypoint: run.py\nparameters:\n  - {name: port, type: integer}\n", "run.py", socketPython)
	b.approve("caller")
	res := b.Call("caller", args{"port": l.Addr().(*net.TCPAddr).Port})
	if strings.Contains(res.Content, "connected") || !strings.Contains(res.Content, "(exit code 1)") {
		t.Errorf("it reached the network: %s", res.Content)
	}
	select {
	case <-reached:
		t.Error("a connection arrived")
	default:
	}
	b.nothingLeft()
}
