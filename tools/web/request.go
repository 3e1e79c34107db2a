package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/network/egress"
)

// RequestInput are the arguments of http_request.
type RequestInput struct {
	URL       string            `json:"url" jsonschema:"http or https." minLength:"1" maxLength:"8000" alias:"uri,address"`
	Method    string            `json:"method,omitempty" jsonschema:"GET, POST, PUT, PATCH, DELETE or any other but CONNECT and TRACE." default:"GET" minLength:"1" maxLength:"20"`
	Headers   map[string]string `json:"headers,omitempty" jsonschema:"To send."`
	JSON      json.RawMessage   `json:"json,omitempty" jsonschema:"A body, as an object of JSON; any other JSON goes into body. Give one kind of body at most."`
	Form      map[string]string `json:"form,omitempty" jsonschema:"A body, as fields of a form."`
	Multipart []Part            `json:"multipart,omitempty" jsonschema:"A body, as fields and files." maxItems:"50"`
	Body      string            `json:"body,omitempty" jsonschema:"A body, as text." maxLength:"1000000" alias:"data"`
	File      string            `json:"file,omitempty" jsonschema:"A body, from a file of the workspace." maxLength:"4096"`
	Timeout   int               `json:"timeout,omitempty" jsonschema:"Seconds." min:"1"`
}

// Part is one of a multipart body: a value or a file.
type Part struct {
	Name  string `json:"name" jsonschema:"Field." minLength:"1" maxLength:"200"`
	Value string `json:"value,omitempty" jsonschema:"Its text." maxLength:"1000000"`
	File  string `json:"file,omitempty" jsonschema:"A file of the workspace to send instead." maxLength:"4096"`
}

// RequestOutput is the value of http_request.
type RequestOutput struct {
	URL         string            `json:"url" jsonschema:"After redirects."`
	Status      int               `json:"status"`
	ContentType string            `json:"contentType"`
	Headers     map[string]string `json:"headers"`
	Body        string            `json:"body"`
	Size        int64             `json:"size"`
	Path        string            `json:"path,omitempty" jsonschema:"Where read_file finds all of a body that is no text, or too long."`

	remarks []string
}

// Present shows the answer, and that it is not ours.
func (o *RequestOutput) Present(r *tongs.Result) {
	r.Title = fmt.Sprintf("%d %s", o.Status, shortURL(o.URL))
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s\n%s\n", o.Status, http.StatusText(o.Status), o.URL)
	for _, name := range slices.Sorted(maps.Keys(o.Headers)) {
		fmt.Fprintf(&b, "%s: %s\n", name, o.Headers[name])
	}
	if o.Body != "" {
		b.WriteString("\n" + o.Body)
	}
	for _, remark := range o.remarks {
		b.WriteString("\n[" + remark + "]")
	}
	r.Content = b.String()
	r.SetMeta("url", o.URL)
	r.SetMeta("status", o.Status)
}

func (s *set) requestTool() (tongs.Tool, error) {
	in, aliases, err := tongs.SchemaOf[RequestInput]()
	if err != nil {
		return nil, err
	}
	most := s.opt.MaxTimeout.Seconds()
	in.Properties["json"].Type = "object"
	in.Properties["timeout"].Maximum = &most
	in.Properties["timeout"].Default = fmt.Appendf(nil, "%d", int(min(s.opt.Timeout, s.opt.MaxTimeout).Seconds()))
	return tongs.New(tongs.Def[RequestInput, RequestOutput]{
		Spec: tongs.Spec{
			Name: RequestTool, Title: "Send an HTTP request", Toolset: Toolset,
			Description: "Sends an HTTP request of any method to an API. What is sent is asked about.",
			Needs:       tongs.Network, Optional: tongs.Read, Input: in, ArgAliases: aliases, Extra: true,
			Hints: tongs.Hints{OpenWorld: true, Destructive: true},
		},
		Plan: s.planRequest,
		Run:  s.send,
	})
}

// newRequest makes the request of a call.
func newRequest(ctx context.Context, in RequestInput, body *body) (*http.Request, error) {
	method := strings.ToUpper(in.Method)
	switch {
	case strings.ContainsFunc(method, func(r rune) bool { return (r < 'A' || r > 'Z') && r != '-' }):
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%q is no HTTP method; write one like POST", short(in.Method))
	case method == http.MethodConnect || method == http.MethodTrace:
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "the method %s is for proxies and not sent; use GET, POST, PUT, PATCH, DELETE or HEAD", method)
	case body != nil && (method == http.MethodGet || method == http.MethodHead):
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "a %s request has no body; use another method, or leave the body out", method)
	}
	u, err := parseURL(in.URL)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), http.NoBody)
	if body != nil {
		req, err = http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body.data))
	}
	if err != nil {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "%q is no address that a request can go to", short(in.URL))
	}
	if err := setHeaders(req, in.Headers); err != nil {
		return nil, err
	}
	if body != nil && (req.Header.Get("Content-Type") == "" || body.fixed) {
		req.Header.Set("Content-Type", body.kind)
	}
	return req, nil
}

// parts are what the request carries out, file by file.
func (in *RequestInput) parts(b *body) []part {
	parts := []part{{"the address", in.URL}}
	if b != nil {
		parts = append(parts, b.parts...)
	}
	for name, value := range in.Headers {
		parts = append(parts, headerPart(name, value))
	}
	return parts
}

func (s *set) planRequest(ctx context.Context, v *tongs.View, in RequestInput) (*tongs.Plan, error) {
	b, err := s.body(v.Files, in)
	if err != nil {
		return nil, err
	}
	req, err := newRequest(ctx, in, b)
	if err != nil {
		return nil, err
	}
	effect, found, err := s.judge(ctx, v.State, req, in.parts(b))
	if err != nil {
		return nil, err
	}
	plan := &tongs.Plan{
		Effects: []tongs.Effect{effect}, Kind: tongs.KindRead,
		Message: fmt.Sprintf("%s %s", req.Method, s.secrets().text(shortURL(in.URL))),
	}
	if b != nil {
		effect.Version = b.version()
		plan.Effects = append([]tongs.Effect{effect}, b.reads...)
		s.bodies.keep(v.Call.ID, effect.Version)
	}
	if effect.Sends || len(found) > 0 {
		plan.Kind = tongs.KindWrite
		plan.Message += ", sending " + in.describe(b)
		plan.Preview = func(context.Context) (string, error) { return s.previewRequest(req, in.URL, b.preview()), nil }
	}
	if req.Method == http.MethodDelete {
		plan.Kind = tongs.KindDestructive
	}
	return plan, nil
}

// describe says what a request carries.
func (in *RequestInput) describe(b *body) string {
	said := describeRequest(Input{Headers: in.Headers})
	if b == nil {
		return said
	}
	what := fmt.Sprintf("a body of %d bytes", len(b.data))
	switch n := len(b.reads); {
	case n == 1:
		what += " with the file " + b.reads[0].Path.String()
	case n > 1:
		what += fmt.Sprintf(" with %d files", n)
	}
	if len(in.Headers) > 0 {
		what += " and " + said
	}
	return what
}

// send runs a call.
func (s *set) send(ctx context.Context, env *tongs.Env, in RequestInput) (RequestOutput, error) {
	b, err := s.body(env.Files, in)
	if err != nil {
		return RequestOutput{}, err
	}
	if planned := s.bodies.take(env.Call.ID); b != nil && planned != b.version() {
		return RequestOutput{}, tongs.Errorf(tongs.CodeStaleFile, "a file of the body changed after the request was decided; call again")
	}
	ctx = egress.WithTimeout(ctx, s.timeout(in.Timeout))
	w := watched{headers: in.Headers, secret: len(s.secrets().find(in.parts(b)...)) > 0}
	if b != nil {
		w.body = string(b.data)
	}
	reads := in.Method == "" || strings.EqualFold(in.Method, http.MethodGet)
	if reads && !s.opt.IgnoreRobots {
		w.asking = egress.WithTimeout(ctx, min(robotsTime, s.timeout(in.Timeout)))
	}
	ctx = s.watch(ctx, env, &w)
	req, err := newRequest(ctx, in, b)
	if err != nil {
		return RequestOutput{}, err
	}
	weighed, err := s.ledger.charge(ctx, env.State, req)
	if err != nil {
		return RequestOutput{}, err
	}
	w.first = req.URL
	req = req.WithContext(weighed)
	if w.asking != nil {
		if err := s.robots.allow(egress.WithTimeout(weighed, min(robotsTime, s.timeout(in.Timeout))), env.HTTP, req.URL); err != nil {
			return RequestOutput{}, err
		}
	}
	res, err := env.HTTP.Do(req)
	if err != nil {
		return RequestOutput{}, err
	}
	defer res.Body.Close()
	if weighed != ctx {
		s.ledger.agreed(ctx, env.State, req)
	}
	data, err := s.read(res)
	if err != nil {
		return RequestOutput{}, err
	}
	a := &answer{url: res.Request.URL, status: res.StatusCode, header: res.Header, body: data}
	out := s.answered(a)
	s.ledger.learn(sessionOf(ctx, env.State), a.links...)
	return out, nil
}

// answered makes the value of an answer: text as it is, JSON indented, and the rest as a file.
func (s *set) answered(a *answer) RequestOutput {
	kind, _ := a.mediaType()
	kind = sniff(kind, a.body)
	out := RequestOutput{URL: a.url.String(), Status: a.status, ContentType: kind, Size: int64(len(a.body)), Headers: map[string]string{}}
	for name, values := range a.header {
		out.Headers[strings.ToLower(name)] = clean(strings.ToValidUTF8(cut(strings.Join(values, ", "), maxHeader), "?"))
	}
	if len(a.body) == 0 {
		return out
	}
	whole := ""
	switch {
	case kind == jsonType:
		whole = prettyJSON(decode(a.body, a.header.Get("Content-Type")))
	case kind == htmlType, textual(kind), !binary(a.body) && utf8.Valid(a.body):
		whole = clean(strings.ReplaceAll(decode(a.body, a.header.Get("Content-Type")), "\r\n", "\n"))
	default:
		s.stored(a, fmt.Sprintf("a body of %d bytes of %s, which is no text", len(a.body), kind), &out)
		return out
	}
	a.links = textLinks(whole)
	end := runeAt(whole, s.opt.Page)
	out.Body = whole[:end]
	if end < len(whole) {
		s.stored(a, fmt.Sprintf("the first %d of %d characters", s.opt.Page, utf8.RuneCountInString(whole)), &out)
	}
	return out
}

// maxHeader is how much of a header of an answer is shown.
const maxHeader = 1000

func cut(text string, most int) string {
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// stored keeps a body that is not shown, or not whole.
func (s *set) stored(a *answer, what string, out *RequestOutput) {
	where, remark := s.save(a)
	out.Path = where
	out.remarks = append(out.remarks, what+"; "+remark)
}
