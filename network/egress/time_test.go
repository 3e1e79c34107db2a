package egress_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network"
	"github.com/tongs-ai/tongs/network/egress"
)

// pipes is a network of one server, in memory, so that its time can be made up.
func pipes(answer func(net.Conn)) *network.Guard {
	return &network.Guard{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		},
		Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
					answer(theirs)
				}
			}()
			return ours, nil
		},
	}
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := egress.New(egress.Options{
			Guard: pipes(func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }), Rate: 1, Burst: 2, Timeout: time.Hour,
		})
		began := time.Now()
		for range 5 {
			if got, err := get(t, e.HTTP(decided("a.test").permit()), "http://a.test/"); err != nil || got != "200 ok" {
				t.Fatalf("%q %v", got, err)
			}
		}
		if took := time.Since(began); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("5 requests took %s", took)
		}
	})
}

// The time of a request does not run while somebody is asked, and runs otherwise, whatever the server does.
func TestClockIsHeldWhileSomebodyIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := false
		e := egress.New(egress.Options{Timeout: 10 * time.Second, Guard: pipes(func(c net.Conn) {
			if hang {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
				for range 1000 { // a byte each second, for ever
					time.Sleep(time.Second)
					if _, err := io.WriteString(c, "x"); err != nil {
						return
					}
				}
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		})})
		slow := &grant{tool: "t", extend: func(string, tongs.Effect) error {
			time.Sleep(time.Hour)
			return nil
		}}
		req, _ := http.NewRequest(http.MethodGet, "http://a.test/", http.NoBody)
		res, err := e.HTTP(slow.permit()).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(res.Body); err != nil || string(text) != "ok" {
			t.Errorf("%q %v", text, err)
		}
		res.Body.Close()
		hang = true
		began := time.Now()
		req, _ = http.NewRequestWithContext(egress.WithTimeout(context.Background(), 5*time.Second), http.MethodGet, "http://a.test/", http.NoBody)
		if res, err = e.HTTP(decided("a.test").permit()).Do(req); err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(res.Body)
		res.Body.Close()
		if took := time.Since(began); tongs.CodeOf(err) != tongs.CodeTimeout || took != 5*time.Second {
			t.Errorf("%v after %s", err, took)
		}
		time.Sleep(time.Minute) // until the server found out
	})
}

// Whoever forgets to close a body keeps a host from nobody once the time is over.
func TestForgottenBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := egress.New(egress.Options{
			Timeout: time.Minute, Concurrent: 1, Guard: pipes(func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }),
		})
		for range 3 {
			req, _ := http.NewRequestWithContext(egress.WithTimeout(context.Background(), 30*time.Second), http.MethodGet, "http://a.test/", http.NoBody)
			if _, err := e.HTTP(decided("a.test").permit()).Do(req); err != nil && tongs.CodeOf(err) != tongs.CodeTimeout {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if got, err := get(t, e.HTTP(decided("a.test").permit()), "http://a.test/"); err != nil || got != "200 ok" {
			t.Errorf("%q %v", got, err)
		}
	})
}
