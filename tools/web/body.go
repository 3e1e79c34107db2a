package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
)

// body is what a request carries besides its address and headers.
type body struct {
	data []byte
	kind string
	// fixed says that the kind belongs to the data: the boundary of a multipart body.
	fixed bool
	// reads are the files that are sent.
	reads []tongs.Effect
	parts []part
	shown strings.Builder
	sum   []byte
}

// version identifies what is sent. The boundary of a multipart body does not count.
func (b *body) version() tongs.Version {
	sum := b.sum
	if sum == nil {
		whole := sha256.Sum256(b.data)
		sum = whole[:]
	}
	return tongs.Version("sha256:" + hex.EncodeToString(sum))
}

// preview shows a person what is sent.
func (b *body) preview() string {
	if b == nil {
		return ""
	}
	return b.shown.String()
}

// body makes the body of a request, nil where it has none.
func (s *set) body(files tongs.FileView, in RequestInput) (*body, error) {
	kinds := 0
	for _, given := range []bool{len(in.JSON) > 0, len(in.Form) > 0, len(in.Multipart) > 0, in.Body != "", in.File != ""} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds == 0:
		return nil, nil
	case kinds > 1:
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "a request has one body; give one of json, form, multipart, body and file")
	case len(in.JSON) > 0:
		return jsonBody(in.JSON), nil
	case len(in.Form) > 0:
		fields := url.Values{}
		for name, value := range in.Form {
			fields.Set(name, value)
		}
		b := textBody(fields.Encode(), "application/x-www-form-urlencoded")
		b.shown.Reset()
		for _, name := range slices.Sorted(maps.Keys(in.Form)) {
			fmt.Fprintf(&b.shown, "%s=%s\n", name, in.Form[name])
			b.parts = append(b.parts, part{"the field " + name, name + "=" + in.Form[name]})
		}
		return b, nil
	case in.File != "":
		return s.fileBody(files, in.File)
	case len(in.Multipart) > 0:
		return s.multipartBody(files, in.Multipart)
	}
	kind := "text/plain; charset=utf-8"
	if looksJSON(in.Body) {
		kind = jsonType
	}
	return textBody(in.Body, kind), nil
}

func textBody(said, kind string) *body {
	b := &body{data: []byte(said), kind: kind, parts: []part{{"the body", said}}}
	b.shown.WriteString(said)
	return b
}

func jsonBody(value json.RawMessage) *body {
	b := textBody(string(value), jsonType)
	b.shown.Reset()
	b.shown.WriteString(prettyJSON(string(value)))
	return b
}

// file reads a file that is sent, and notes it.
func (s *set) file(b *body, files tongs.FileView, name string) (tongs.Path, []byte, error) {
	p, err := files.Resolve(name)
	if err != nil {
		return p, nil, err
	}
	f, err := files.Open(p)
	if err != nil {
		return p, nil, err
	}
	defer f.Close()
	if f.Info().Size > s.opt.Bytes {
		return p, nil, tongs.Errorf(tongs.CodeTooLarge, "%s has %s, more than the %s that are sent; raise webBytes, or send a part of it",
			p, text.Size(f.Info().Size), text.Size(s.opt.Bytes))
	}
	data, err := io.ReadAll(io.LimitReader(f, s.opt.Bytes+1))
	if err != nil {
		return p, nil, err
	}
	b.reads = append(b.reads, tongs.Effect{Kind: tongs.EffectRead, Path: p, Why: "it is sent"})
	b.parts = append(b.parts, part{"the file " + p.String(), string(data)})
	return p, data, nil
}

// showFile tells a person what is in a file: its text, or its size and hash.
func (b *body) showFile(p tongs.Path, data []byte) {
	sum := sha256.Sum256(data)
	fmt.Fprintf(&b.shown, "(file %s, %s, sha256 %x...)\n", p, text.Size(int64(len(data))), sum[:8])
	if utf8.Valid(data) && !binary(data) {
		b.shown.WriteString(strings.TrimSuffix(clean(string(data)), "\n") + "\n")
	}
}

func fileType(p tongs.Path, data []byte) string {
	if kind := mime.TypeByExtension(path.Ext(p.Rel)); kind != "" {
		return kind
	}
	return sniff("", data)
}

func (s *set) fileBody(files tongs.FileView, name string) (*body, error) {
	b := &body{}
	p, data, err := s.file(b, files, name)
	if err != nil {
		return nil, err
	}
	b.data, b.kind = data, fileType(p, data)
	b.showFile(p, data)
	return b, s.bounded(b)
}

func (s *set) multipartBody(files tongs.FileView, list []Part) (*body, error) {
	b := &body{fixed: true}
	var packed bytes.Buffer
	w := multipart.NewWriter(&packed)
	sum := sha256.New()
	for _, one := range list {
		data, kind, name := []byte(one.Value), "", ""
		if one.File == "" {
			fmt.Fprintf(&b.shown, "%s=%s\n", one.Name, one.Value)
			b.parts = append(b.parts, part{"the field " + one.Name, one.Name + "=" + one.Value})
		} else {
			if one.Value != "" {
				return nil, tongs.Errorf(tongs.CodeInvalidArgs, "the part %q has a value and a file; give one of them", short(one.Name))
			}
			p, read, err := s.file(b, files, one.File)
			if err != nil {
				return nil, err
			}
			data, kind, name = read, fileType(p, read), path.Base(p.Rel)
			b.shown.WriteString(one.Name + "=")
			b.showFile(p, read)
		}
		into, err := w.CreatePart(partHeader(one.Name, name, kind))
		if err == nil {
			_, err = into.Write(data)
		}
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(sum, "%q %q %q %d ", one.Name, name, kind, len(data))
		sum.Write(data)
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	b.data, b.kind, b.sum = packed.Bytes(), w.FormDataContentType(), sum.Sum(nil)
	return b, s.bounded(b)
}

// partHeader is the header of a part. Names are quoted, so that none can add a header or another part.
func partHeader(field, file, kind string) textproto.MIMEHeader {
	h := textproto.MIMEHeader{}
	said := `form-data; name="` + quotedName(field) + `"`
	if file != "" {
		said += `; filename="` + quotedName(file) + `"`
	}
	h.Set("Content-Disposition", said)
	if kind != "" {
		h.Set("Content-Type", kind)
	}
	return h
}

// quotedName spells a name as browsers do.
func quotedName(name string) string {
	return strings.NewReplacer("\\", "%5C", `"`, "%22", "\r", "%0D", "\n", "%0A", "\x00", "%00").Replace(name)
}

func (s *set) bounded(b *body) error {
	if int64(len(b.data)) > s.opt.Bytes {
		return tongs.Errorf(tongs.CodeTooLarge, "the body has %s, more than the %s that are sent; raise webBytes, or send less",
			text.Size(int64(len(b.data))), text.Size(s.opt.Bytes))
	}
	return nil
}

// bodies knows what body each call was planned with, so that a file that changed after it was decided is not sent. It is safe for
// concurrent use.
type bodies struct {
	mu    sync.Mutex
	calls map[string]tongs.Version
}

// maxPlanned is how many calls are remembered. One that was forgotten is not sent.
const maxPlanned = 10_000

func (b *bodies) keep(call string, v tongs.Version) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls == nil || len(b.calls) >= maxPlanned {
		b.calls = map[string]tongs.Version{}
	}
	b.calls[call] = v
}

func (b *bodies) take(call string) tongs.Version {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.calls[call]
	delete(b.calls, call)
	return v
}
