// Package modeltest serves any model, usually a scripted one, over the wire format of each provider, on the loopback
// interface. It is as strict as the real services: a request that they would refuse is refused, and fails the test.
package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/model/script"
)

// Format is a wire format.
type Format string

// The formats.
const (
	Anthropic Format = "anthropic"
	Chat      Format = "openai"
	Responses Format = "openai-responses"
	Gemini    Format = "gemini"
)

// Formats are all of them.
var Formats = []Format{Anthropic, Chat, Responses, Gemini}

// Key is the one key that the servers accept.
const Key = "key-of-modeltest-2f9c61d07b"

// Server serves a model.
type Server struct {
	// URL is the address without a path.
	URL string
	// Format is what it speaks.
	Format Format

	tb    testing.TB
	model model.Model
	codec codec

	mu       sync.Mutex
	requests []Request
	// signed are the thoughts that were handed out, by the call that followed them: they must come back.
	signed  map[string][]string
	lenient bool
	hold    bool
}

// Request is what arrived, as it was written and as it was understood.
type Request struct {
	Body    json.RawMessage
	Decoded *model.Request
}

// codec is one wire format.
type codec interface {
	// decode reads a request, as strictly as the service does.
	decode(s *Server, r *http.Request, body []byte) (*model.Request, error)
	// encode writes a response as events. Of one that is cut off, nothing is written that would end it.
	encode(s *Server, w *events, resp *model.Response, cut bool)
	// failure is the body of a refusal, and the event of one in a stream.
	failure(e *model.Error) (body any, event string)
}

// Serve starts a server for the model in the format. It ends with the test.
func Serve(tb testing.TB, f Format, m model.Model) *Server {
	tb.Helper()
	codecs := map[Format]codec{Anthropic: anthropicCodec{}, Chat: chatCodec{}, Responses: responsesCodec{}, Gemini: geminiCodec{}}
	if codecs[f] == nil {
		tb.Fatalf("there is no format %q", f)
	}
	s := &Server{Format: f, tb: tb, model: m, codec: codecs[f], signed: map[string][]string{}}
	server := httptest.NewServer(s)
	tb.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// ServeScript is Serve for a script in YAML.
func ServeScript(tb testing.TB, f Format, yaml string) *Server {
	tb.Helper()
	m, err := script.Parse([]byte(yaml))
	if err != nil {
		tb.Fatal(err)
	}
	return Serve(tb, f, m)
}

// Lenient has refused requests not fail the test, for tests of refusals.
func (s *Server) Lenient() *Server {
	s.lenient = true
	return s
}

// Hold has answers that are cut off stay open, saying nothing more, until the client goes.
func (s *Server) Hold() *Server {
	s.hold = true
	return s
}

// BaseURL is the address as the provider's options want it.
func (s *Server) BaseURL() string {
	if s.Format == Chat || s.Format == Responses {
		return s.URL + "/v1"
	}
	return s.URL
}

// Spec names a model of the server for model/open. Gemini's is one that wants its signatures back.
func (s *Server) Spec() string {
	if s.Format == Gemini {
		return "gemini:gemini-3-test"
	}
	return string(s.Format) + ":test-model"
}

// Env are the variables that lead a program to the server, as KEY=value.
func (s *Server) Env() []string {
	prefix := map[Format]string{Anthropic: "ANTHROPIC", Chat: "OPENAI", Responses: "OPENAI", Gemini: "GEMINI"}[s.Format]
	return []string{prefix + "_API_KEY=" + Key, prefix + "_BASE_URL=" + s.BaseURL()}
}

// Requests returns what arrived and was accepted so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	req, err := s.decode(r, body)
	if err != nil {
		e, ok := errors.AsType[*model.Error](err)
		if !ok {
			e = &model.Error{Status: http.StatusBadRequest, Message: err.Error()}
		}
		if !s.lenient {
			s.tb.Errorf("the %s server refuses a request: %v\n%s", s.Format, e.Message, indent(body))
		}
		s.refuse(w, e)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, Request{body, req})
	s.mu.Unlock()
	resp, err := s.model.Turn(r.Context(), req, nil)
	e, failed := errors.AsType[*model.Error](err)
	if err != nil && !failed {
		e = &model.Error{Status: http.StatusInternalServerError, Message: err.Error()}
	}
	if e != nil && e.Status == 0 && !e.Partial {
		e.Status = http.StatusBadRequest // the script does not expect this
		s.tb.Errorf("%v", e)
	}
	if e != nil && !e.Partial {
		s.refuse(w, e)
		return
	}
	s.answer(w, r, resp, e)
}

func (s *Server) decode(r *http.Request, body []byte) (*model.Request, error) {
	if r.Method != http.MethodPost {
		return nil, &model.Error{Status: http.StatusMethodNotAllowed, Message: "only POST is served"}
	}
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		return nil, &model.Error{Status: http.StatusUnsupportedMediaType, Message: "the content type is " + kind}
	}
	return s.codec.decode(s, r, body)
}

func (s *Server) refuse(w http.ResponseWriter, e *model.Error) {
	body, _ := s.codec.failure(e)
	b, _ := json.Marshal(body)
	if e.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.After.Seconds())))
		if e.After.Milliseconds()%1000 != 0 {
			w.Header().Set("Retry-After-Ms", strconv.FormatInt(e.After.Milliseconds(), 10))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	w.Write(b) //nolint:errcheck // the client may be gone
}

// answer streams the response. One that is cut off ends in an error event where the failure has a status, else by a
// connection that breaks.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, resp *model.Response, e *model.Error) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	out := &events{w: w}
	s.codec.encode(s, out, resp, e != nil)
	if e == nil {
		return
	}
	if e.Status != 0 {
		body, event := s.codec.failure(e)
		out.send(event, body)
		return
	}
	out.flush()
	if s.hold {
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler)
}

// remember keeps a thought that must come back with the call.
func (s *Server) remember(name string, args json.RawMessage, signature string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signed[key(name, args)] = append(s.signed[key(name, args)], signature)
}

// signedBy reports whether the thought is one that was handed out with such a call, or none was.
func (s *Server) signedBy(name string, args json.RawMessage, signature string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.signed[key(name, args)]
	return len(known) == 0 || slices.Contains(known, signature)
}

func key(name string, args json.RawMessage) string {
	var v any
	if json.Unmarshal(args, &v) == nil {
		args, _ = json.Marshal(v)
	}
	return name + " " + string(args)
}

// events writes server-sent events.
type events struct{ w http.ResponseWriter }

func (e *events) send(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", b)
	e.flush()
}

func (e *events) raw(text string) {
	io.WriteString(e.w, text) //nolint:errcheck // the client may be gone
	e.flush()
}

func (e *events) flush() {
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

func indent(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return string(body)
	}
	const limit = 8000
	if b.Len() > limit {
		return b.String()[:limit] + "…"
	}
	return b.String()
}

// object is JSON in the making.
type object = map[string]any

// strictly decodes JSON whose every field is known.
func strictly(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("there is something after the JSON")
	}
	return nil
}

// checkKey refuses every other key.
func checkKey(got string) error {
	if got != Key {
		return &model.Error{Status: http.StatusUnauthorized, Message: "invalid API key: " + strings.TrimSpace(got)}
	}
	return nil
}

// pieces splits a text as a model streams it.
func pieces(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}
