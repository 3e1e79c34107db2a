package shell

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// serves starts a server as a job of a session, and returns its job once it listens.
func (b *bench) serves(session, dir string, port int) string {
	b.Helper()
	res := b.callAs(b.Context(), session, "shell", args{
		"command": fmt.Sprintf("cd %s && exec python3 -m http.server %d", dir, port), "background": true,
	}, nil)
	if res.Error != nil {
		b.Fatal(res.Content)
	}
	job := value[Output](b, res).Job
	for range 200 {
		list := value[JobsOutput](b, b.callAs(b.Context(), session, "shell_jobs", args{"action": "list"}, nil))
		for _, j := range list.Jobs {
			if j.ID == job && len(j.Ports) == 1 && j.Ports[0] == port {
				return job
			}
		}
		time.Sleep(50 * time.Millisecond) // the server takes a while to listen
	}
	b.Fatalf("%s never listened on %d", job, port)
	return ""
}

// get asks a port of localhost for a file, from a later command of a session.
func (b *bench) get(session string, port int) string {
	b.Helper()
	res := b.callAs(b.Context(), session, "shell", args{
		"command": fmt.Sprintf("python3 -c 'import urllib.request as r; print(r.urlopen(\"http://localhost:%d/name.txt\").read().decode())'", port),
	}, nil)
	return res.Content
}

// A server that a session started in the background is reached by its later commands, and by nobody else; what listens on the
// same port of the machine is not reached instead.
func TestPortsOfJobs(t *testing.T) {
	b := newBench(t, setup{Options: Options{Background: true}})
	b.Put("one/name.txt", "the first", 0o644)
	b.Put("two/name.txt", "the second", 0o644)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	b.Must(err)
	machine := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the machine") })}
	go func() { _ = machine.Serve(l) }()
	t.Cleanup(func() { _ = machine.Close() })
	port := l.Addr().(*net.TCPAddr).Port

	refused := func(what, got string) {
		t.Helper()
		if !strings.Contains(got, "Connection refused") || strings.Contains(got, "the machine") || strings.Contains(got, "the first") {
			t.Errorf("%s: %s", what, got)
		}
	}
	refused("before anything listens", b.get("a", port))
	one := b.serves("a", "one", port)
	if got := b.get("a", port); !strings.Contains(got, "the first") {
		t.Errorf("a later command: %s", got)
	}
	refused("another session", b.get("b", port))
	two := b.serves("b", "two", port)
	if got := b.get("b", port) + b.get("a", port); !strings.Contains(got, "the second") || !strings.Contains(got, "the first") {
		t.Errorf("each session has its own: %s", got)
	}
	for session, job := range map[string]string{"a": one, "b": two} {
		if res := b.callAs(t.Context(), session, "shell_jobs", args{"action": "kill", "job": job}, nil); res.Error != nil {
			t.Fatal(res.Content)
		}
		refused("after the job ended", b.get(session, port))
	}
}

// The proxy of a job is no port that others reach: what was decided for the job is not decided for them.
func TestProxyOfAJobIsNotReached(t *testing.T) {
	b := newBench(t, setup{Options: Options{Background: true}})
	b.Put("one/name.txt", "the first", 0o644)
	b.serves("a", "one", 8123)
	res := b.callAs(t.Context(), "a", "shell_jobs", args{"action": "list"}, nil)
	if strings.Contains(res.Content, "3128") || !strings.Contains(res.Content, "localhost:8123") {
		t.Errorf("the list of jobs: %s", res.Content)
	}
}

// A job that listens on the port of the proxy, at another address of its own, does not take the place of the proxy of later commands.
func TestAttackPortOfTheProxy(t *testing.T) {
	b := newBench(t, setup{Options: Options{Background: true}})
	b.Put("one/name.txt", "the job", 0o644)
	res := b.callAs(t.Context(), "a", "shell", args{
		"command": "cd one; for a in 127.0.0.2 ::1 0.0.0.0; do python3 -m http.server 3128 --bind $a & done; exec python3 -m http.server 8124", "background": true,
	}, nil)
	if res.Error != nil {
		t.Fatal(res.Content)
	}
	for range 200 {
		if strings.Contains(b.callAs(t.Context(), "a", "shell_jobs", args{"action": "list"}, nil).Content, "localhost:8124") {
			break
		}
		time.Sleep(50 * time.Millisecond) // the servers take a while to listen
	}
	if list := b.callAs(t.Context(), "a", "shell_jobs", args{"action": "list"}, nil).Content; strings.Contains(list, "localhost:3128") || !strings.Contains(list, "localhost:8124") {
		t.Errorf("the list of jobs: %s", list)
	}
	for _, address := range []string{"127.0.0.1", "localhost", "[::1]", "127.0.0.2"} {
		got := b.callAs(t.Context(), "a", "shell", args{
			"command": "python3 -c 'import urllib.request as r; print(r.build_opener(r.ProxyHandler({})).open(\"http://" + address + ":3128/name.txt\").read().decode())'",
		}, nil).Content
		if strings.Contains(got, "the job") {
			t.Errorf("%s:3128 is the job: %s", address, got)
		}
	}
}
