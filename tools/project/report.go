package project

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/programoutput"
)

const (
	// maxFailures is how many failures are told one by one, maxMessage how much of the message of each.
	maxFailures = 50
	maxMessage  = 4 << 10
	// maxLine is how much of a line of a report is read: the rest cannot be needed.
	maxLine = 256 << 10
	// updateEvery is how often progress is told.
	updateEvery = 300 * time.Millisecond
)

// Failure is a test that failed, or something that kept tests from running.
type Failure struct {
	Name    string `json:"name"`
	File    string `json:"file,omitempty" jsonschema:"Relative to the workspace where it is in it."`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message" jsonschema:"The end of it where it is long."`
}

// report counts tests while they run. It is safe for concurrent use.
type report struct {
	mu                      sync.Mutex
	passed, failed, skipped int
	total                   int
	failures                []Failure
	update                  func(tongs.Update)
	told                    time.Time
}

func (r *report) pass() { r.add(&r.passed, nil) }
func (r *report) skip() { r.add(&r.skipped, nil) }

func (r *report) fail(f Failure) {
	f.Message = tail(f.Message, maxMessage)
	r.add(&r.failed, &f)
}

// expect says how many tests there will be.
func (r *report) expect(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total += n
}

func (r *report) add(count *int, f *Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*count++
	if f != nil && len(r.failures) < maxFailures {
		r.failures = append(r.failures, *f)
	}
	if now := time.Now(); r.update != nil && now.Sub(r.told) >= updateEvery {
		r.told = now
		r.update(tongs.Update{Title: r.counts(), Done: float64(r.passed + r.failed + r.skipped), Total: float64(r.total)})
	}
}

// counted reports whether any test was counted.
func (r *report) counted() bool { return r.passed+r.failed+r.skipped > 0 }

// counts are the figures in words.
func (r *report) counts() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", r.passed, r.failed, r.skipped)
}

// String tells of a failure in a line and its message below.
func (f Failure) String() string {
	at := ""
	if f.File != "" {
		at = " (" + f.File
		if f.Line > 0 {
			at += fmt.Sprintf(":%d", f.Line)
		}
		at += ")"
	}
	head := "FAIL " + programoutput.Plain(f.Name+at)
	if f.Message == "" {
		return head
	}
	return head + "\n    " + strings.ReplaceAll(programoutput.Colours(f.Message), "\n", "\n    ")
}

// lines gives what is written to it to a function, line by line. Of a long line it gives the beginning.
type lines struct {
	each func(line string)
	buf  []byte
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if room := maxLine - len(l.buf); room > 0 {
			l.buf = append(l.buf, line[:min(len(line), room)]...)
		}
		if p = rest; ended {
			l.flush()
		}
	}
	return n, nil
}

// flush gives away what is left of a line without an end.
func (l *lines) flush() {
	l.each(strings.TrimSuffix(string(l.buf), "\r"))
	l.buf = l.buf[:0]
}

// end flushes what the program left without an end of line.
func (l *lines) end() {
	if len(l.buf) > 0 {
		l.flush()
	}
}
