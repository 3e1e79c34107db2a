//go:build linux

package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/mcp/mcpclient"
)

func TestServerThatCrashesIsStartedAgain(t *testing.T) {
	d := newDesk(t, nil)
	d.review(t)
	first := d.ok(t, "pid", "").Content
	d.fails(t, "crash", "", tongs.CodeExecutionError, "exit code 9", "out of cheese", "srv")
	if again := d.ok(t, "pid", "").Content; again == "" || first == "" {
		t.Error("not started again")
	}
}

func TestServerThatKeepsCrashingIsLeftAlone(t *testing.T) {
	d := newDesk(t, func(o *mcpclient.Options) { o.Backoff = time.Hour })
	d.review(t)
	d.fails(t, "crash", "", tongs.CodeExecutionError, "exit code 9")
	d.fails(t, "pid", "", tongs.CodeExecutionError, "is not started again for", "out of cheese")
	if st := d.set.States()[0]; st.Status != "failed" || !strings.Contains(st.Detail, "exit code 9") {
		t.Errorf("%+v", st)
	}
}

func TestServersThatDoNotStart(t *testing.T) {
	d := newDesk(t, nil)
	for mode, want := range map[string]string{"crash": "no licence found"} {
		d.opt.Servers[0].Env = map[string]string{"MCP_TEST_SERVER": mode}
		d.restart(t)
		_, err := d.set.Look(t.Context(), "srv")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "exit code 7") {
			t.Errorf("%s: %v", mode, err)
		}
	}
	d.opt.Servers[0].Command = "/no/such/program"
	d.restart(t)
	if _, err := d.set.Look(t.Context(), "srv"); err == nil {
		t.Error("a program that is not there was started")
	}
	// One that never answers is given up with its caller, and nothing of it is left.
	d.opt.Servers[0].Command, d.opt.Servers[0].Env = link(t, t.TempDir()), nil
	d.opt.Servers[0].Command = d.dir + "/server"
	d.opt.Grace = 200 * time.Millisecond
	for _, mode := range []string{"silent", "deaf"} {
		d.opt.Servers[0].Env = map[string]string{"MCP_TEST_SERVER": mode}
		d.restart(t)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if _, err := d.set.Look(ctx, "srv"); err == nil {
			t.Errorf("%s: connected", mode)
		}
		cancel()
	}
}

func TestNoiseIsPassedOver(t *testing.T) {
	d := newDesk(t, func(o *mcpclient.Options) { o.Servers[0].Env["MCP_TEST_SERVER"] = "noisy" })
	d.review(t)
	d.ok(t, "echo", "hello")
}

func TestWhatAServerMayNotSend(t *testing.T) {
	d := newDesk(t, func(o *mcpclient.Options) { o.Grace, o.Servers[0].Timeout = 200*time.Millisecond, 2*time.Minute })
	d.review(t)
	d.fails(t, "invalid", "", tongs.CodeExecutionError, "no message of the protocol")
	d.ok(t, "echo", "still there")
	d.fails(t, "flood", "requests", tongs.CodeExecutionError, "requests in a second")
	d.ok(t, "echo", "still there")
	if res := d.ok(t, "flood", ""); res.Content != "done" {
		t.Errorf("%s", res.Content)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	size := "a little too much"
	if os.Getenv("TONGS_LONG_TESTS") != "" {
		size = "" // 100 MB
	}
	d.fails(t, "huge", size, tongs.CodeTooLarge, "more than")
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("%d bytes are kept", grown)
	}
	d.ok(t, "echo", "the same connection goes on")
}

func TestHangingCallTimesOut(t *testing.T) {
	d := newDesk(t, func(o *mcpclient.Options) { o.Servers[0].Timeout = 3 * time.Second })
	d.review(t)
	pid := d.ok(t, "pid", "").Content
	d.fails(t, "hang", "", tongs.CodeTimeout, "did not answer within 3s")
	if again := d.ok(t, "pid", "").Content; again != pid {
		t.Error("a server that still answers was ended")
	}
	ctx, cancel := context.WithCancel(t.Context())
	context.AfterFunc(ctx, func() {})
	go cancel()
	res := d.engine.Call(ctx, &tongs.Call{Tool: "srv__hang", Args: []byte("{}")})
	if res.Error == nil || res.Error.Code != tongs.CodeCancelled {
		t.Errorf("%s", res.Content)
	}
}

// Nothing of a server is left when its Set is closed, whatever it does about it, nor of what it started.
func TestNothingIsLeft(t *testing.T) {
	for _, unconfined := range []bool{false, true} {
		d := newDesk(t, func(o *mcpclient.Options) {
			o.Grace = 200 * time.Millisecond // all of which it takes
			o.Servers[0].Env["MCP_TEST_SERVER"] = "stubborn"
			o.Servers[0].Unconfined = unconfined
		})
		d.review(t)
		mark := "TONGS_TEST_MARK_" + strconv.Itoa(os.Getpid()) + fmt.Sprint(unconfined)
		d.opt.Servers[0].Env[mark] = "1"
		d.restart(t)
		d.review(t)
		res := d.ok(t, "child", "")
		if unconfined != (res.Metadata["sandbox"] == "off") {
			t.Errorf("unconfined %v, result says %v", unconfined, res.Metadata)
		}
		if n := marked(mark); n < 2 {
			t.Errorf("%d processes run, want the server and its child", n)
		}
		d.set.Close()
		if n := marked(mark); n != 0 {
			t.Errorf("unconfined %v: %d processes are left", unconfined, n)
		}
		d.fails(t, "echo", "x", tongs.CodeCancelled, "ending")
	}
}

// marked counts the processes that have a variable in their environment.
func marked(name string) (n int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && strings.Contains(string(env), name+"=") {
			n++
		}
	}
	return n
}

// A server ends with this process, even if that is killed and the server does not mind the end of its input.
func TestServersDieWithTheirParent(t *testing.T) {
	if mark := os.Getenv("MCP_TEST_PARENT"); mark != "" {
		d := newDesk(t, func(o *mcpclient.Options) {
			o.Servers[0].Unconfined = strings.HasSuffix(mark, "true")
			o.Servers[0].Env = map[string]string{"MCP_TEST_SERVER": "stubborn", mark: "1"}
		})
		d.review(t)
		if marked(mark) == 0 {
			t.Fatal("it does not run")
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	for _, unconfined := range []bool{false, true} {
		mark := fmt.Sprintf("TONGS_TEST_ORPHAN_%d_%t", os.Getpid(), unconfined)
		run(t, "MCP_TEST_PARENT="+mark, "-test.run=^TestServersDieWithTheirParent$")
		for deadline := time.Now().Add(2 * time.Minute); marked(mark) > 0; runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatalf("unconfined %v: the server outlived its parent", unconfined)
			}
		}
	}
}

// run runs the test binary, which is expected to be killed.
func run(t *testing.T, env string, args ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.StartProcess(self, append([]string{self}, args...), &os.ProcAttr{Env: append(os.Environ(), env), Files: []*os.File{nil, nil, os.Stderr}})
	if err != nil {
		t.Fatal(err)
	}
	state, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if status, ok := state.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("it was not killed: %v", state)
	}
}

func TestManyCallersShareOneServer(t *testing.T) {
	d := newDesk(t, nil)
	d.review(t)
	d.restart(t)
	d.rules = []tongs.Rule{{Tool: "srv__*", Decision: tongs.PreApproved, Layer: tongs.LayerUser}}
	pids := make(chan string, 16)
	var all sync.WaitGroup
	for range cap(pids) {
		all.Go(func() { pids <- d.call("pid", "").Content })
	}
	all.Wait()
	close(pids)
	first := ""
	for pid := range pids {
		if first == "" {
			first = pid
		}
		if pid != first {
			t.Fatalf("%q and %q", first, pid)
		}
	}
}

// A host that nobody decided is refused, asked for by name once the call failed for it, and reached after that.
func TestDeniedHostIsAskedFor(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "from the web") }))
	defer web.Close()
	d := newDesk(t, nil)
	d.guard.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	d.guard.Dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", web.Listener.Addr().String())
	}
	d.review(t)
	d.questions()
	d.say = func(q approval.Question) bool { return len(q.Effects) == 1 }
	d.fails(t, "fetch", "http://files.test/", tongs.CodeDenied)
	if q := d.questions(); len(q) != 2 || !slices.ContainsFunc(q[1].Effects, func(e tongs.Effect) bool { return e.Host == "files.test" }) || !strings.Contains(strings.Join(q[1].Notes, " "), "could not reach files.test") {
		t.Fatalf("%+v", q)
	}
	d.say = func(approval.Question) bool { return true }
	if res := d.ok(t, "fetch", "http://files.test/"); res.Content != "from the web" {
		t.Errorf("%s", res.Content)
	}
	// What was approved for the server is part of the plan from now on.
	d.questions()
	d.ok(t, "fetch", "http://files.test/")
	if q := d.questions(); len(q) != 1 || len(q[0].Effects) != 2 {
		t.Errorf("%+v", q)
	}
}

func TestUnsetVariablesAndSecrets(t *testing.T) {
	d := newDesk(t, func(o *mcpclient.Options) {
		o.Servers[0].Env["TOKEN"] = "${SRV_TOKEN}"
		o.Lookup = func(name string) (string, bool) { return "s3cret-value", name == "SRV_TOKEN" }
	})
	d.review(t)
	if res := d.ok(t, "env", "TOKEN"); res.Content != "s3cret-value" {
		t.Errorf("%s", res.Content)
	}
	for _, q := range d.questions() {
		if strings.Contains(fmt.Sprint(q), "s3cret") {
			t.Errorf("the question shows it: %+v", q)
		}
	}
	d.opt.Lookup = func(string) (string, bool) { return "", false }
	d.restart(t)
	d.fails(t, "env", "TOKEN", tongs.CodeConfigError, "SRV_TOKEN, which is not set")
}

func TestCallerWhoGivesUpWhileItStarts(t *testing.T) {
	d := newDesk(t, nil)
	d.review(t)
	d.restart(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gave up"))
	if res := d.engine.Call(ctx, &tongs.Call{Tool: "srv__echo", Args: []byte("{}")}); res.Error == nil {
		t.Error("called")
	}
	d.ok(t, "echo", "others are served")
}
