package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Server is an http.Handler that answers in the wire format of the path it is asked at. It is safe for concurrent use.
type Server struct {
	Script *Script
	// Dir is where the bodies of requests and the transcript are written.
	Dir string

	mu       sync.Mutex
	count    int
	final    bool
	problems []error
	results  []Result
	native   map[string]bool
}

// wire is a wire format.
type wire interface {
	// read understands a request.
	read(body []byte) (*Request, error)
	// write answers it.
	write(w *events, r *Request, reply Reply)
}

// wireOf returns the format that is spoken at a path, nil for none.
func wireOf(path string) (wire, string) {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}, "chat"
	case strings.HasSuffix(path, "/responses"):
		return responses{}, "responses"
	case strings.HasSuffix(path, "/messages"):
		return messages{}, "messages"
	case strings.HasSuffix(path, ":streamGenerateContent"), strings.HasSuffix(path, ":generateContent"):
		return gemini{}, "gemini"
	}
	return nil, ""
}

// line is a line of the transcript.
type line struct {
	Request int      `json:"request"`
	Path    string   `json:"path"`
	Status  int      `json:"status"`
	Offered []string `json:"offered,omitempty"`
	Result  *Result  `json:"result,omitempty"`
	Reply   *Reply   `json:"reply,omitempty"`
	Problem string   `json:"problem,omitempty"`
}

// maxBody bounds a request.
const maxBody = 16 << 20

func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	l := line{Request: s.keep(body), Path: req.Method + " " + req.URL.Path, Status: http.StatusOK}
	defer func() { s.note(l) }()
	refuse := func(status int, err error) {
		l.Status, l.Problem = status, err.Error()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": err.Error()},
		})
	}
	format, _ := wireOf(req.URL.Path)
	if format == nil || req.Method != http.MethodPost {
		refuse(http.StatusNotFound, errors.New("the scripted model has no such path"))
		return
	}
	r, err := format.read(body)
	if err != nil {
		s.failed(fmt.Errorf("request %d: %w", l.Request, err))
		refuse(http.StatusBadRequest, err)
		return
	}
	r.Stream = r.Stream || strings.Contains(req.URL.Path, ":stream")
	for _, t := range r.Tools {
		l.Offered = append(l.Offered, t.Namespace+t.Name+t.Hosted)
	}
	s.offered(r.Tools)
	if n := len(r.Results); n > 0 {
		l.Result = &r.Results[n-1]
	}
	reply, err := s.Script.Next(req.Context(), r)
	if err != nil {
		s.failed(err)
		refuse(http.StatusBadRequest, err)
		return
	}
	l.Reply = &reply
	s.finished(r, reply)
	out := &events{w: w, stream: r.Stream}
	format.write(out, r, reply)
	out.end()
}

// offered notes the tools of the client's own.
func (s *Server) offered(tools []Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tools {
		if !t.ours() {
			if s.native == nil {
				s.native = map[string]bool{}
			}
			s.native[t.Namespace+t.Name+t.Hosted] = true
		}
	}
}

// Native returns the names of all tools that a client offered and that are not those of Tongs.
func (s *Server) Native() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.native))
}

// Problems returns what went wrong so far.
func (s *Server) Problems() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.problems...)
}

// Finished reports whether the model said its last word.
func (s *Server) Finished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.final
}

// Results returns the results of the longest conversation so far.
func (s *Server) Results() []Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.results
}

func (s *Server) finished(r *Request, reply Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.final = s.final || reply.Text == Final
	if len(r.Results) > len(s.results) {
		s.results = r.Results
	}
}

func (s *Server) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, err)
}

// keep writes the body of a request and returns its number.
func (s *Server) keep(body []byte) int {
	s.mu.Lock()
	s.count++
	n := s.count
	s.mu.Unlock()
	if err := os.WriteFile(filepath.Join(s.Dir, fmt.Sprintf("request-%02d.json", n)), body, 0o600); err != nil {
		s.failed(err)
	}
	return n
}

func (s *Server) note(l line) {
	data, err := json.Marshal(l)
	if err == nil {
		err = s.append(append(data, '\n'))
	}
	if err != nil {
		s.failed(err)
	}
}

func (s *Server) append(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(s.Dir, "transcript.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// events writes a response, as server-sent events or as one object.
type events struct {
	w      http.ResponseWriter
	stream bool
	body   bytes.Buffer
}

// send writes one event; an empty name leaves it out.
func (e *events) send(name string, data any) {
	raw, ok := data.(string)
	if !ok {
		b, err := json.Marshal(data)
		if err != nil {
			b = []byte("null")
		}
		raw = string(b)
	}
	if name != "" {
		fmt.Fprintf(&e.body, "event: %s\n", name)
	}
	fmt.Fprintf(&e.body, "data: %s\n\n", raw)
}

// whole writes the one object of a response that is no stream.
func (e *events) whole(data any) {
	if err := json.NewEncoder(&e.body).Encode(data); err != nil {
		e.body.WriteString("null")
	}
}

func (e *events) end() {
	kind := "application/json"
	if e.stream {
		kind = "text/event-stream"
	}
	e.w.Header().Set("Content-Type", kind)
	_, _ = e.w.Write(e.body.Bytes())
}

// object is a JSON object.
type object = map[string]any
