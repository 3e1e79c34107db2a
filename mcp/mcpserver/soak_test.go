package mcpserver_test

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
)

// Soak: 200 sessions at a time call for TONGS_SOAK (such as 1m; without it for a moment), come and go, cancel and are cut
// off. Afterwards nothing is left of them.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("TONGS_SOAK"))
	sessions := 200
	if err != nil {
		length, sessions = 500*time.Millisecond, 20
	}
	w := newWorld(t, setup{mode: tongs.ModeAll, durable: true})
	w.write("a.txt", "one\n")
	client := &http.Client{Transport: bearer{token}}
	mark := fmt.Sprintf("39%d", time.Now().UnixNano()%1e9)
	var calls atomic.Int64
	round := func(ends time.Time) {
		var all sync.WaitGroup
		for i := range sessions {
			all.Go(func() {
				for n := 0; time.Now().Before(ends); n++ {
					w.soakSession(i, mark, client, ends, &calls)
				}
			})
		}
		all.Wait()
	}
	round(time.Now().Add(length / 5)) // what is made once is made
	before := w.settle(client)
	round(time.Now().Add(length))
	after := w.settle(client)
	t.Logf("%d calls; goroutines %d, then %d; descriptors %d, then %d; heap %d KiB, then %d KiB",
		calls.Load(), before.goroutines, after.goroutines, before.descriptors, after.descriptors, before.heap>>10, after.heap>>10)
	if after.goroutines > before.goroutines+20 {
		t.Errorf("%d goroutines, then %d", before.goroutines, after.goroutines)
	}
	if after.descriptors > before.descriptors+20 {
		t.Errorf("%d descriptors, then %d", before.descriptors, after.descriptors)
	}
	eventually(t, func() bool { return running(t, mark) == 0 })
	if after.heap > before.heap+16<<20 {
		t.Errorf("the heap grew from %d to %d KiB in %d calls", before.heap>>10, after.heap>>10, calls.Load())
	}
}

// soakSession is one client: it connects, calls, and leaves, in one of several ways.
func (w *world) soakSession(i int, mark string, client *http.Client, ends time.Time, calls *atomic.Int64) {
	transport := w.transport()
	transport.HTTPClient = client
	version := []string{withSessions, "2025-06-18", withoutSessions}[i%3]
	c, err := mcp.NewClient(&mcp.Implementation{Name: "soak", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}).
		Connect(w.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.Error(err)
		return
	}
	defer c.Close()
	for n := 0; n < 20 && time.Now().Before(ends); n++ {
		params := &mcp.CallToolParams{Name: "read_file", Arguments: args{"path": "a.txt"}}
		if runtime.GOOS == "linux" && i%20 == 0 && n == 10 {
			params = &mcp.CallToolParams{Name: "shell", Arguments: args{"command": "sleep " + mark, "background": true}}
		}
		if res, err := c.CallTool(w.Context(), params); err != nil || res.IsError {
			w.Errorf("%s: %v", params.Name, err)
			return
		}
		calls.Add(1)
	}
}

type held struct {
	goroutines, descriptors int
	heap                    uint64
}

// settle waits until what is over is gone, and tells what is left.
func (w *world) settle(client *http.Client) (h held) {
	w.Helper()
	client.CloseIdleConnections()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	last, same := 0, 0
	eventually(w, func() bool { // quiet for a while
		now := runtime.NumGoroutine()
		if same++; now != last {
			same = 0
		}
		last = now
		return same == 20
	})
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	list, _ := os.ReadDir("/proc/self/fd")
	return held{goroutines: last, descriptors: len(list), heap: m.HeapAlloc}
}
