package shell

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// host is a name that means the machine itself, for the guard of the tests.
const host = "service.test"

func server(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "answer") }))
	t.Cleanup(s.Close)
	return fmt.Sprintf("http://%s:%d/", host, s.Listener.Addr().(*net.TCPAddr).Port)
}

// A script reaches for a host that nobody decided: it fails, somebody is asked for exactly that host, and it runs again.
func TestHostsAreAskedForAsTheyAreMet(t *testing.T) {
	url := server(t)
	b := newBench(t, setup{private: []string{host}})
	b.Put("fetch.py", "import sys, urllib.request\nprint(urllib.request.urlopen(sys.argv[1]).read().decode())\n", 0o644)
	out := b.sh("python3 fetch.py " + url)
	b.Equal("stdout", out.Stdout, "answer\n")
	b.Equal("stderr of the run that failed", out.Stderr, "")
	asked := b.Questions()
	if len(asked) != 2 {
		t.Fatalf("%d questions", len(asked))
	}
	found := false
	for _, e := range asked[1].Effects {
		found = found || e.Kind == tongs.EffectNetwork && strings.HasPrefix(e.Host, host+":")
	}
	if !found || !strings.Contains(strings.Join(asked[1].Notes, " "), "ran before") {
		t.Errorf("the second question: effects %v, notes %v", asked[1].Effects, asked[1].Notes)
	}
}

func TestHostThatWasRefused(t *testing.T) {
	url := server(t)
	b := newBench(t, setup{private: []string{host}, answer: func(q approval.Question) approval.Answer {
		for _, e := range q.Effects {
			if e.Kind == tongs.EffectNetwork {
				return approval.Answer{}
			}
		}
		return approval.Answer{Approved: true}
	}})
	b.Put("fetch.py", "import sys, urllib.request\nprint(urllib.request.urlopen(sys.argv[1]).read().decode())\n", 0o644)
	res := b.fails(tongs.CodeDenied, "", "shell", args{"command": "python3 fetch.py " + url})
	if strings.Contains(res.Content, "answer") {
		t.Error("it was reached")
	}
}
