package console

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// route is one request of the API: its types are what the OpenAPI file says of it.
type route struct {
	method, path, summary string
	// in is what is read from the query (GET) or the body, out what is returned. Nil out is a stream or a file.
	in, out reflect.Type
	// media is the type of what is returned.
	media string
	serve http.HandlerFunc
}

// request is a request of the API, checked: it is of somebody who logged in.
type request struct {
	*http.Request
	// who made it, for people.
	who string
}

// get makes a route that changes nothing. In is a struct whose fields have "query" tags; they are strings, ints and
// bools.
func get[In, Out any](path, summary string, f func(ctx context.Context, r request, in In) (Out, error)) route {
	return typed(http.MethodGet, path, summary, decodeQuery[In], f)
}

// post makes a route that does something. In is read from a JSON body; unknown fields are refused.
func post[In, Out any](path, summary string, f func(ctx context.Context, r request, in In) (Out, error)) route {
	return typed(http.MethodPost, path, summary, decodeBody[In], f)
}

func typed[In, Out any](
	method, path, summary string, decode func(*http.Request) (In, error),
	f func(ctx context.Context, r request, in In) (Out, error),
) route {
	return route{
		method: method, path: path, summary: summary, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](), media: "application/json",
		serve: func(w http.ResponseWriter, r *http.Request) {
			in, err := decode(r)
			if err != nil {
				writeError(w, tongs.Errorf(tongs.CodeInvalidArgs, "%w", err))
				return
			}
			out, err := f(r.Context(), request{r, browser(r)}, in)
			if err != nil {
				writeError(w, err)
				return
			}
			writePacked(w, r, out)
		},
	}
}

// worthPacking is the size from which an answer is compressed, in bytes.
const worthPacking = 2 << 10

// writePacked writes an answer, compressed where it is long: rows of the log are mostly the same words.
func writePacked(w http.ResponseWriter, r *http.Request, v any) {
	data, err := json.Marshal(v)
	if err != nil || len(data) < worthPacking || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		writeJSON(w, http.StatusOK, v)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Encoding", "gzip")
	packed, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is one that there is
	_, _ = packed.Write(data)
	_ = packed.Close()
}

// maxBody bounds a request, in bytes.
const maxBody = 8 << 20

func decodeBody[In any](r *http.Request) (in In, err error) {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/json" {
		return in, fmt.Errorf("the body is %q; send application/json", kind)
	}
	dec := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return in, fmt.Errorf("the body cannot be read: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return in, errors.New("there is more than one value in the body")
	}
	return in, nil
}

func decodeQuery[In any](r *http.Request) (in In, err error) {
	v := reflect.ValueOf(&in).Elem()
	if v.Kind() != reflect.Struct {
		return in, nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return in, err
	}
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("query")
		text := values.Get(name)
		if name == "" || text == "" {
			continue
		}
		if err := setField(v.Field(i), text); err != nil {
			return in, fmt.Errorf("%s is %q: %w", name, text, err)
		}
	}
	return in, nil
}

func setField(field reflect.Value, text string) error {
	switch field.Kind() {
	case reflect.String:
		field.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("write true or false")
		}
		field.SetBool(b)
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return errors.New("write a whole number that is not negative")
		}
		field.SetInt(n)
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":{"code":"INTERNAL","message":"the answer cannot be written as JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// problem is the body of every request that failed.
type problem struct {
	Error *tongs.Error `json:"error"`
	// Answered is the answer that was first, where a question was answered already.
	Answered *approval.Answer `json:"answered,omitempty"`
}

func writeError(w http.ResponseWriter, err error) {
	body := problem{Error: tongs.Failure(err).Error}
	if first, ok := errors.AsType[*approval.AnsweredError](err); ok {
		body.Answered = &first.Answer
	}
	writeJSON(w, statusOf(err), body)
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, approval.ErrAnswered), errors.Is(err, approval.ErrExpired), errors.Is(err, approval.ErrWithdrawn),
		errors.Is(err, approval.ErrNotMade):
		return http.StatusConflict
	case errors.Is(err, approval.ErrNotFound), errors.Is(err, errNotFound):
		return http.StatusNotFound
	case errors.Is(err, approval.ErrInvalid):
		return http.StatusUnprocessableEntity
	}
	switch tongs.CodeOf(err) {
	case tongs.CodeUnknownTool, tongs.CodeFileNotFound:
		return http.StatusNotFound
	case tongs.CodeInternal:
		return http.StatusInternalServerError
	default:
		return http.StatusUnprocessableEntity
	}
}

// errNotFound is wrapped by what names something that is not there.
var errNotFound = errors.New("not found")
