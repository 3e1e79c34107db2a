// Package ran holds what the tools that run programs share: how a program's end is told to a model and to a person.
package ran

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tongs-ai/tongs"
)

// Usage is what a program used up, as a value shows it.
type Usage struct {
	User   int64 `json:"user" jsonschema:"Processor time of the program, in milliseconds."`
	System int64 `json:"system" jsonschema:"Processor time of the system for it, in milliseconds."`
	Memory int64 `json:"memory" jsonschema:"Peak of its memory, in bytes."`
}

// report is what is read of Exit.Report. Everything in it is optional.
type report struct {
	LimitsHit   []string `json:"limitsHit"`
	Planted     []string `json:"planted"`
	DeniedHosts []string `json:"deniedHosts"`
	Leftover    int      `json:"leftover"`
	Usage       *struct {
		User   time.Duration `json:"user"`
		System time.Duration `json:"system"`
		MaxRSS int64         `json:"maxRSS"`
		Memory int64         `json:"memory"`
	} `json:"usage"`
}

// Read returns what a report says that a model should know, one sentence each, and what was used up. A report that
// cannot be read says nothing: the whole of it is in the metadata all the same.
func Read(exit *tongs.Exit) (notes []string, usage *Usage) {
	var r report
	data, err := json.Marshal(exit.Report)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return nil, nil
	}
	for _, limit := range r.LimitsHit {
		if limit != "wall" { // the time-out is said by the error
			notes = append(notes, "ended by the sandbox: the limit of "+limit+" was reached")
		}
	}
	if len(r.DeniedHosts) > 0 {
		notes = append(notes, "not reachable from the sandbox: "+strings.Join(r.DeniedHosts, ", "))
	}
	if len(r.Planted) > 0 {
		notes = append(notes, "protected names appeared and should be looked at by a person before anything obeys them: "+
			strings.Join(r.Planted, ", "))
	}
	if u := r.Usage; u != nil {
		usage = &Usage{User: u.User.Milliseconds(), System: u.System.Milliseconds(), Memory: max(u.Memory, u.MaxRSS)}
	}
	return notes, usage
}

// Ended says how a program ended, where it did not end well.
func Ended(exit *tongs.Exit) string {
	switch {
	case exit.TimedOut:
		return ""
	case exit.Signal != "":
		return fmt.Sprintf("ended by a signal: %s (exit code %d)", exit.Signal, exit.Code)
	case exit.Code != 0:
		return fmt.Sprintf("exit code %d", exit.Code)
	}
	return ""
}

// Text is what a model reads: both outputs, and remarks in parentheses.
func Text(stdout, stderr string, remarks ...string) string {
	var b strings.Builder
	b.WriteString(stdout)
	if stderr != "" {
		line(&b)
		if stdout != "" {
			b.WriteString("[stderr]\n")
		}
		b.WriteString(stderr)
	}
	if b.Len() == 0 {
		b.WriteString("(no output)")
	}
	for _, remark := range remarks {
		if remark != "" {
			line(&b)
			b.WriteString("(" + remark + ")")
		}
	}
	return b.String()
}

func line(b *strings.Builder) {
	if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
}

// Short cuts a text to its first line and at most n runes, for a title.
func Short(text string, n int) string {
	text = strings.TrimSpace(text)
	first, _, more := strings.Cut(text, "\n")
	runes := []rune(strings.TrimSpace(first))
	if len(runes) > n {
		runes, more = runes[:n], true
	}
	short := Plain(string(runes))
	if more {
		short += " ..."
	}
	return short
}
