package oauth

import (
	"context"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"time"
)

// answers receives the answer of an authorization server, which a browser brings to the loopback interface.
type answers struct {
	first  chan url.Values
	server *http.Server
}

// receive serves the address that the browser is sent back to. Only the first answer with the right state counts; any
// page can make a browser send others, so that they do not end the wait.
func receive(ln net.Listener, state string) *answers {
	a := &answers{first: make(chan url.Values, 1)}
	host := ln.Addr().String()
	a.server = &http.Server{
		ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Referrer-Policy", "no-referrer")
			q := req.URL.Query()
			switch {
			case req.Host != host || req.URL.Path != "/callback" || req.Method != http.MethodGet:
				http.Error(w, "There is nothing here.", http.StatusNotFound)
				return
			case len(q["state"]) != 1 || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1 || repeated(q):
				http.Error(w, "This is not the answer to the login that Tongs waits for.", http.StatusBadRequest)
				return
			}
			select {
			case a.first <- q:
				_, _ = w.Write([]byte("Tongs has the answer. The terminal says how it went; this page can be closed.\n"))
			default:
				http.Error(w, "This login was answered already.", http.StatusConflict)
			}
		}),
	}
	go func() { _ = a.server.Serve(ln) }()
	return a
}

// repeated reports whether something that is decided on is given more than once.
func repeated(q url.Values) bool {
	return len(q["code"]) > 1 || len(q["iss"]) > 1 || len(q["error"]) > 1
}

// close stops serving. The page that was just asked for may be finished.
func (a *answers) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if a.server.Shutdown(ctx) != nil {
		_ = a.server.Close()
	}
}
