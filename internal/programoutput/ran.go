// Package programoutput holds what the tools that run programs share: how a program's end is told to a model and to a person.
package programoutput

import (
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs"
)

// Usage is what a program used up, as a value shows it.
type Usage struct {
	User   int64 `json:"user" jsonschema:"Processor time of the program, in milliseconds."`
	System int64 `json:"system" jsonschema:"Processor time of the system for it, in milliseconds."`
	Memory int64 `json:"memory" jsonschema:"Peak of its memory, in bytes."`
}

// changeNotes says which changes were kept, and which were not.
func changeNotes(c *tongs.Changed) (notes []string) {
	switch {
	case c == nil:
		return nil
	case c.Preview != "":
		return []string{"dry run, none of these changes were kept:\n" + strings.TrimRight(c.Preview, "\n") + "\n"}
	}
	if c.Made != "" {
		notes = append(notes, "changed: "+Plain(strings.Join(c.Paths, ", ")))
	}
	if c.Dropped != "" {
		notes = append(notes, "ran on a copy; dropped: "+c.Dropped)
	}
	if c.Waiting != "" {
		notes = append(notes, "ran on a copy; these changes wait for approval: "+c.Waiting)
	}
	for _, why := range c.Refused {
		notes = append(notes, Plain(why))
	}
	return notes
}

// Read returns what a report says that a model should know, one sentence each, and what was used up.
func Read(exit *tongs.Exit) (notes []string, usage *Usage) {
	r := exit.Report
	if r == nil {
		return nil, nil
	}
	for _, limit := range r.LimitsHit {
		if limit != "wall" { // the time-out is said by the error
			notes = append(notes, "ended by the sandbox: the limit of "+limit+" was reached")
		}
	}
	if len(r.DeniedHosts) > 0 {
		notes = append(notes, "not reachable from the sandbox: "+strings.Join(r.DeniedHosts, ", ")+
			"; a person can allow a host with 'tongs allow --network "+r.DeniedHosts[0]+"'")
	}
	for _, why := range r.Refused {
		notes = append(notes, "no connection: "+Plain(why))
	}
	notes = append(notes, r.Outside...)
	u := r.Usage
	return notes, &Usage{User: u.User.Milliseconds(), System: u.System.Milliseconds(), Memory: max(u.Memory, u.MaxRSS)}
}

// Settled returns what became of what programs did, one sentence each.
func Settled(s *tongs.Settled) (notes []string) {
	if len(s.Planted) > 0 {
		notes = append(notes, "protected names appeared and should be looked at by a person before anything obeys them: "+
			strings.Join(s.Planted, ", "))
	}
	notes = append(notes, heldNotes(s.Held)...)
	notes = append(notes, changeNotes(s.Changes)...)
	if len(s.Approved) > 0 {
		var names []string
		for _, h := range s.Approved {
			names = append(names, h.Path)
		}
		notes = append(notes, "a person approved the protected names that it made: "+strings.Join(names, ", "))
	}
	return notes
}

// maxHeld is how many held names are told one by one.
const maxHeld = 20

// heldNotes says what is not where the program made it, and how to get it there.
func heldNotes(list []tongs.Held) (notes []string) {
	for i, h := range list {
		if i == maxHeld {
			return append(notes, fmt.Sprintf("and %d more names are held beside it", len(list)-i))
		}
		note := fmt.Sprintf("%s is a protected name and is held for a person: it is now %s", Plain(h.Path), Plain(h.At))
		switch {
		case h.Question != "":
			note += "; once question " + h.Question + " is approved, the same call puts it in its place"
		case h.Why != "":
			note += " (" + strings.TrimSuffix(Plain(h.Why), ".") + ")"
			fallthrough
		default:
			note += fmt.Sprintf("; copying %s there by a command asks for it", Plain(h.Host))
		}
		notes = append(notes, note)
	}
	return notes
}

// Killed is the error of a program that a limit of the sandbox ended; nil for any other. One that ended on its own is a result,
// whatever its exit code: what that means is for whoever called it to say.
func Killed(what string, exit *tongs.Exit) *tongs.Error {
	if exit.Report == nil || exit.Code == 0 {
		return nil
	}
	for _, limit := range exit.Report.LimitsHit {
		if limit != "wall" { // a time-out is another error
			return tongs.Errorf(tongs.CodeExecutionError, "%s was ended by the sandbox: the limit of %s was reached; its output until then is kept", what, limit)
		}
	}
	return nil
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
	return Remark(b.String(), remarks...)
}

// Remark adds remarks to a text, in parentheses.
func Remark(text string, remarks ...string) string {
	var b strings.Builder
	b.WriteString(text)
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
