// Package wire is what all model providers have in common: a request by HTTP, a stream of events as the answer, and errors
// that say what failed without saying a key.
package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// The limits of a stream. A provider that sends more is at fault.
const (
	MaxEvent  = 16 << 20
	MaxStream = 128 << 20
)

// Event is one event of a stream.
type Event struct {
	// Name is empty where the event has none.
	Name string
	Data []byte
}

// errTooMuch is a stream beyond the limits.
var errTooMuch = errors.New("the answer is larger than any answer should be")

// Events reads a stream of server-sent events and hands each to yield until the stream ends, yield returns an error, or a
// limit is met. An event that the end of the stream cut off is dropped, as the format wants it. Data is valid until yield
// returns.
func Events(r io.Reader, yield func(Event) error) error {
	return bounded(r, MaxEvent, MaxStream, yield)
}

func bounded(r io.Reader, maxEvent, maxStream int, yield func(Event) error) error {
	lines := &lineReader{in: bufio.NewReaderSize(r, 32<<10), maxLine: maxEvent + 64, maxTotal: maxStream}
	var name string
	var data []byte
	seen := false
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(line) == 0 {
			if seen {
				if err := yield(Event{name, bytes.TrimSuffix(data, []byte("\n"))}); err != nil {
					return err
				}
			}
			name, data, seen = "", data[:0], false
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if len(data)+len(value) > maxEvent {
				return fmt.Errorf("%w: an event over %d bytes", errTooMuch, maxEvent)
			}
			data, seen = append(append(data, value...), '\n'), true
		}
	}
}

// lineReader reads lines that end in LF, CRLF or CR.
type lineReader struct {
	in                *bufio.Reader
	maxLine, maxTotal int
	line              []byte
	total             int
	begun             bool
	// skip is set after a CR: an LF that follows belongs to it. Waiting for it would hold back the line.
	skip bool
}

// next returns the next line without its end, valid until the next call. A last line without an end is io.EOF: nothing
// that it says counts.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		c, err := l.in.ReadByte()
		if err != nil {
			return nil, err
		}
		if l.total++; l.total > l.maxTotal {
			return nil, fmt.Errorf("%w: over %d bytes", errTooMuch, l.maxTotal)
		}
		skip := l.skip && c == '\n'
		l.skip = c == '\r'
		switch {
		case skip:
		case c == '\n' || c == '\r':
			return l.first(l.line), nil
		default:
			if l.line = append(l.line, c); len(l.line) > l.maxLine {
				return nil, fmt.Errorf("%w: a line over %d bytes", errTooMuch, l.maxLine)
			}
		}
	}
}

// first takes the byte order mark off the first line.
func (l *lineReader) first(line []byte) []byte {
	if l.begun {
		return line
	}
	l.begun = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}
