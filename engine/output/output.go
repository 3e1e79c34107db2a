// Package output bounds what a model is shown. Tools write any amount into streams that the engine owns; what does
// not fit is kept in files that read_file can page through, and every cut says how much is left and how to get it.
package output

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
)

// Limits bound what is shown and kept. Zero fields mean the default, which the comment names.
type Limits struct {
	Stream     int   // bytes of one stream: 30,000
	Content    int   // bytes of a result's content: 120,000
	Value      int   // bytes of a result's value: 4 MiB
	Attachment int   // bytes of an attachment that travels with the result: 8 MiB
	Spill      int64 // bytes of one spilled file: 4 GiB
}

// WithDefaults returns the limits with every zero field set to its default.
func (l Limits) WithDefaults() Limits {
	set := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	set(&l.Stream, 30_000)
	set(&l.Content, 120_000)
	set(&l.Value, 4<<20)
	set(&l.Attachment, 8<<20)
	if l.Spill == 0 {
		l.Spill = 4 << 30
	}
	return l
}

// Bounds makes streams and fits results for one engine. Its zero value has default limits and keeps no files.
type Bounds struct {
	Limits Limits
	// Spill keeps what does not fit; nil drops it, and says so.
	Spill *Spill
}

// Stream returns a stream of the named call. Each chunk is passed to onChunk, which may be nil and must not block.
func (b Bounds) Stream(call, name string, onChunk func(string)) *Stream {
	limits := b.Limits.WithDefaults()
	return &Stream{limit: limits.Stream, max: limits.Spill, spill: b.Spill, call: call, name: name, onChunk: onChunk}
}

// The most bytes of what is shown on one line, and of an error's message.
const (
	maxTitle = 500
	maxError = 16_000
)

// Fit bounds a result in place.
func (b Bounds) Fit(call string, r *tongs.Result) {
	limits := b.Limits.WithDefaults()
	r.Title = cut(Valid(r.Title), maxTitle)
	if r.Error != nil && len(r.Error.Message) > maxError {
		short := *r.Error
		short.Message = cut(Valid(short.Message), maxError)
		r.Error = &short
	}
	r.Content = b.fitText(call, "content", r.Content, limits.Content)
	r.Display = b.fitText(call, "display", r.Display, 4*limits.Content)
	if len(r.Value) > limits.Value {
		r.SetMeta("valueLeftOut", fmt.Sprintf("value of %s is over the limit of %s%s",
			Bytes(int64(len(r.Value))), Bytes(int64(limits.Value)), b.save(call, "value", r.Value)))
		r.Value = nil
	}
	for i := range r.Attachments {
		a := &r.Attachments[i]
		if len(a.Data) <= limits.Attachment {
			continue
		}
		if a.Size == 0 {
			a.Size = int64(len(a.Data))
		}
		if b.Spill != nil {
			if where, err := b.Spill.Save(call, "attachment", a.Data); err == nil {
				a.Path = where
			}
		}
		if a.Path == "" {
			r.SetMeta("attachmentLeftOut", fmt.Sprintf("%s of %s is over the limit of %s and was not kept",
				a.Name, Bytes(a.Size), Bytes(int64(limits.Attachment))))
		}
		a.Data = nil
	}
}

func (b Bounds) fitText(call, name, said string, limit int) string {
	said = Valid(said)
	if len(said) <= limit {
		return said
	}
	whole := []byte(said)
	head, tail := cutHead(whole[:limit-limit/4]), cutTail(whole[len(whole)-limit/4:])
	left := len(whole) - len(head) - len(tail)
	return fmt.Sprintf("%s\n[%s of %s left out%s]\n%s",
		head, Bytes(int64(left)), Bytes(int64(len(whole))), b.save(call, name, whole), tail)
}

// cut returns the start of a text that is too long for its place, and says how long it was.
func cut(said string, limit int) string {
	if len(said) <= limit {
		return said
	}
	return fmt.Sprintf("%s... (%s)", cutHead([]byte(said[:limit])), Bytes(int64(len(said))))
}

func (b Bounds) save(call, name string, data []byte) string {
	if b.Spill == nil {
		return "; it was not kept"
	}
	where, err := b.Spill.Save(call, name, data)
	if err != nil {
		return fmt.Sprintf("; it could not be kept: %v", err)
	}
	return "; read_file " + where + " has all of it"
}

// cutHead cuts p to end with a whole line, or a whole rune where it is one long line.
func cutHead(p []byte) []byte {
	if i := bytes.LastIndexByte(p, '\n'); i >= len(p)/2 {
		return p[:i+1]
	}
	for i := 1; i <= min(utf8.UTFMax, len(p)); i++ {
		if utf8.RuneStart(p[len(p)-i]) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return p[:len(p)-i]
			}
			break
		}
	}
	return p
}

// cutTail cuts p to start with a whole line, or a whole rune where it is one long line.
func cutTail(p []byte) []byte {
	if i := bytes.IndexByte(p, '\n'); i >= 0 && i < len(p)/2 {
		return p[i+1:]
	}
	for i := range min(utf8.UTFMax, len(p)) {
		if utf8.RuneStart(p[i]) {
			return p[i:]
		}
	}
	return p
}

// Valid returns s with every invalid byte sequence replaced.
func Valid(s string) string {
	if utf8.ValidString(s) { // much faster than looking for what to replace
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// escapes are the terminal sequences: CSI, OSC (ended by BEL or ST), and the two-byte ones.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[PX^_][^\x1b]*(?:\x1b\\\\)?|[ -/]*[0-~])")

// Clean returns output as a model should read it: valid UTF-8 without terminal sequences and control characters, and
// with only the last state of a line that was overwritten by carriage returns. Binary output is named, not shown.
func Clean(p []byte) string {
	if Binary(p) {
		return fmt.Sprintf("[binary output, %s]", Bytes(int64(len(p))))
	}
	s := Valid(string(p))
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }) {
		return s
	}
	s = escapes.ReplaceAllString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if at := strings.LastIndexByte(strings.TrimRight(line, "\r"), '\r'); at >= 0 {
			line = line[at+1:]
		}
		lines[i] = strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' || r == 0x7f {
				return -1
			}
			return r
		}, line)
	}
	return strings.Join(lines, "\n")
}

// Binary reports whether p looks like something other than text: it has a NUL byte near its start.
func Binary(p []byte) bool { return bytes.IndexByte(p[:min(len(p), 8000)], 0) >= 0 }

// Bytes writes a size for people: "1.5 MB".
func Bytes(n int64) string { return text.Size(n) }
