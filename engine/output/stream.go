package output

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"unicode/utf8"
)

// Stream takes output of any size in bounded memory: it keeps the head and the tail, and the whole in a spill file
// once it is longer than both. It is safe for concurrent use; writing to it never fails, since a program must not
// die because we could not keep what it printed.
type Stream struct {
	mu      sync.Mutex
	limit   int
	max     int64
	spill   *Spill
	call    string
	name    string
	onChunk func(string)

	head    []byte // everything while it fits, the first half of the limit afterwards
	tail    ring
	size    int64
	lines   int64
	file    *os.File
	path    string // as read_file spells it
	kept    int64  // bytes in the file
	lost    error  // why the file ends early
	partial []byte // an incomplete rune at the end of the last chunk
	closed  bool
}

// Write keeps p and passes it on as an update. After Close it does neither.
func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(p) == 0 || s.closed {
		return len(p), nil
	}
	s.keep(p)
	if s.onChunk != nil {
		if text := s.whole(p); text != "" {
			s.onChunk(text)
		}
	}
	return len(p), nil
}

func (s *Stream) keep(p []byte) {
	s.size += int64(len(p))
	s.lines += int64(bytes.Count(p, []byte{'\n'}))
	if !s.overflowed() {
		n := min(len(p), s.limit-len(s.head))
		s.head = append(s.head, p[:n]...)
		if p = p[n:]; len(p) == 0 {
			return
		}
		s.overflow()
	}
	s.tail.write(p)
	s.store(p)
}

func (s *Stream) overflowed() bool { return s.tail.buf != nil }

// overflow starts the spill file and moves what no longer belongs to the head to the tail.
func (s *Stream) overflow() {
	s.tail.buf = make([]byte, max(s.limit/2, 1))
	if s.spill != nil {
		s.file, s.path, s.lost = s.spill.create(s.call, s.name)
	}
	s.store(s.head)
	half := s.limit - s.limit/2
	if len(s.head) > half {
		s.tail.write(s.head[half:])
		s.head = s.head[:half:half]
	}
}

// store appends to the spill file until it is full or fails; from then on the rest is only counted.
func (s *Stream) store(p []byte) {
	if s.file == nil || s.lost != nil {
		return
	}
	if s.kept+int64(len(p)) > s.max {
		s.lost = fmt.Errorf("the file is limited to %s", Bytes(s.max))
		p = p[:s.max-s.kept]
	}
	n, err := s.file.Write(p)
	s.kept += int64(n)
	if err != nil {
		s.lost = err
	}
}

// whole returns p as text that does not end within a rune; the rest waits for the next chunk.
func (s *Stream) whole(p []byte) string {
	chunk := append(s.partial, p...)
	s.partial = nil
	for i := 1; i <= min(utf8.UTFMax-1, len(chunk)); i++ {
		if c := chunk[len(chunk)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(chunk[len(chunk)-i:]) {
				s.partial = append([]byte(nil), chunk[len(chunk)-i:]...)
				chunk = chunk[:len(chunk)-i]
			}
			break
		}
	}
	return Valid(string(chunk))
}

// Size returns how many bytes were written.
func (s *Stream) Size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// Path returns where read_file finds the whole output, empty while it fits.
func (s *Stream) Path() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.path
}

// Excerpt returns what the model should see: all of it where it fits, else head and tail with a sentence between
// them that says how much is left out and where it is.
func (s *Stream) Excerpt() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.overflowed() {
		return Clean(s.head)
	}
	head, tail := cutHead(s.head), cutTail(s.tail.bytes())
	left := s.size - int64(len(head)) - int64(len(tail))
	if left <= 0 {
		return Clean(append(head, tail...))
	}
	return fmt.Sprintf("%s\n[%s of %s left out%s]\n%s", Clean(head), Bytes(left), Bytes(s.size), s.where(), Clean(tail))
}

func (s *Stream) where() string {
	switch {
	case s.path == "" && s.lost == nil:
		return "; it was not kept"
	case s.path == "":
		return fmt.Sprintf("; it could not be kept: %v", s.lost)
	case s.lost != nil:
		return fmt.Sprintf("; read_file %s has the first %s (%v)", s.path, Bytes(s.kept), s.lost)
	default:
		return fmt.Sprintf("; read_file %s has all %d lines", s.path, s.lines)
	}
}

// Close closes the spill file. Excerpt still works.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onChunk, s.closed = nil, true
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return file.Close()
}

// ring keeps the last bytes written to it.
type ring struct {
	buf  []byte
	next int
	full bool
}

func (r *ring) write(p []byte) {
	if len(p) >= len(r.buf) {
		copy(r.buf, p[len(p)-len(r.buf):])
		r.next, r.full = 0, true
		return
	}
	n := copy(r.buf[r.next:], p)
	if n < len(p) {
		copy(r.buf, p[n:])
		r.full = true
	}
	r.next += len(p)
	if r.next >= len(r.buf) {
		r.next -= len(r.buf)
		r.full = true
	}
}

func (r *ring) bytes() []byte {
	if !r.full {
		return append([]byte(nil), r.buf[:r.next]...)
	}
	return append(append([]byte(nil), r.buf[r.next:]...), r.buf[:r.next]...)
}
