//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// remote is a server that a client reaches by its address: 'tongs serve', behind a proxy that logs what is said.
type remote struct {
	url, token string
	stop       func() error
}

// serving finds the address and the token in what 'tongs serve' prints.
var (
	servingURL   = regexp.MustCompile(`"url": "([^"]+)"`)
	servingToken = regexp.MustCompile(`"Authorization": "Bearer ([^"]+)"`)
)

// serveRemote starts the server in the workspace.
func (s *stand) serveRemote(ctx context.Context) (*remote, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := s.command(ctx, s.opt.tongs, "serve", "--addr", "127.0.0.1:0", "--wait", wait)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	end := func() error {
		cancel()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("tongs serve: %w", err)
		}
		return nil
	}
	var printed []byte
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadBytes('\n')
		printed = append(printed, line...)
		address, token := servingURL.FindSubmatch(printed), servingToken.FindSubmatch(printed)
		if address != nil && token != nil {
			proxy, stop, err := s.proxy(string(address[1]))
			if err != nil {
				return nil, errors.Join(err, end())
			}
			return &remote{url: proxy, token: string(token[1]), stop: func() error { stop(); return end() }}, nil
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("tongs serve printed %q: %w", printed, err), end())
		}
	}
}

// proxy passes requests on to a server, and logs the messages that go either way. It returns the address to use.
func (s *stand) proxy(server string) (address string, stop func(), err error) {
	target, err := url.Parse(server)
	if err != nil {
		return "", nil, err
	}
	log, err := os.OpenFile(s.tapLog(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, errors.Join(err, log.Close())
	}
	j := &journal{log: log}
	p := &httputil.ReverseProxy{
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, target.Host
		},
		ModifyResponse: func(r *http.Response) error {
			r.Body = &heard{ReadCloser: r.Body, journal: j, from: "server"}
			return nil
		},
	}
	listener := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		j.note("client", body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.ServeHTTP(w, r)
	})}
	go func() { _ = listener.Serve(l) }()
	here := url.URL{Scheme: "http", Host: l.Addr().String(), Path: target.Path}
	return here.String(), func() { _, _ = listener.Close(), log.Close() }, nil
}

// journal is the log of a proxy.
type journal struct {
	mu  sync.Mutex
	log io.Writer
}

// note logs a message, or nothing where there is none.
func (j *journal) note(from string, text []byte) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || !json.Valid(text) {
		return
	}
	data, err := json.Marshal(message{From: from, At: time.Now(), Message: text})
	if err != nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, _ = j.log.Write(append(data, '\n'))
}

// heard is a body whose messages are logged as they are read: one as a whole, or the data of events.
type heard struct {
	io.ReadCloser
	journal *journal
	from    string
	rest    []byte
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	h.rest = append(h.rest, p[:n]...)
	for {
		line, rest, found := bytes.Cut(h.rest, []byte("\n"))
		if !found {
			break
		}
		h.rest = rest
		h.say(line)
	}
	if err != nil {
		h.say(h.rest)
		h.rest = nil
	}
	return n, err
}

func (h *heard) say(line []byte) {
	h.journal.note(h.from, bytes.TrimPrefix(line, []byte("data:")))
}

// addRemote puts the server into a configuration file of JSON, under the given key.
func (s *stand) addRemote(name, key string, entry object) error {
	data, err := os.ReadFile(filepath.Join(s.home, name))
	if err != nil {
		return err
	}
	var config object
	if err := json.Unmarshal(data, &config); err != nil {
		return err
	}
	config[key] = object{"tongs": entry}
	return s.writeJSON(name, config)
}
