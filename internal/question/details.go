package question

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/cleantext"
)

// Fact is a line of the details of a question.
type Fact struct {
	Label string `json:"label"`
	Text  string `json:"text"`
}

// Facts are everything that is known about a question, except its arguments and its preview.
func Facts(q *approval.Question) (list []Fact) {
	fact := func(label, text string) {
		if text != "" {
			list = append(list, Fact{label, cleantext.Line(text)})
		}
	}
	fact("question", q.ID)
	fact("state", string(q.StateAt(time.Now())))
	fact("tool", q.Tool)
	if !q.Source.BuiltIn() {
		fact("from", strings.TrimSpace(string(q.Source.Kind)+" "+q.Source.Name))
	}
	fact("what", q.Message)
	fact("because", q.Why)
	fact("reason", q.Reason)
	fact("agents", strings.Join(q.Agents, " > "))
	fact("session", q.Session)
	fact("workspace", q.Workspace)
	fact("asked", q.Created.Format(time.DateTime))
	fact("expires", q.Expires.Format(time.DateTime))
	for _, note := range q.Notes {
		fact("note", note)
	}
	if q.ChangeCount > 0 {
		fact("approving", "it ran on a copy, and an approval is for exactly these changes")
		for i, c := range ChangeLines(q.Changes) {
			fact("changed", fmt.Sprintf("%3d  %s", i+1, c))
		}
		if left := q.ChangeCount - len(q.Changes); left > 0 {
			fact("changed", fmt.Sprintf("and %d more, too many to list; to keep them, name a directory", left))
		}
	} else {
		for _, e := range approval.ByGravity(q.Effects) {
			fact("effect", Words(&e)+why(&e))
		}
	}
	for _, r := range q.Remember {
		fact("rule", r)
	}
	if q.Answer != nil {
		word := "denied"
		if q.Answer.Approved {
			word = "approved (" + string(q.Answer.Scope) + ")"
		}
		fact("answer", fmt.Sprintf("%s by %s at the %s, %s", word, q.Answer.By, q.Answer.Channel, q.Answer.At.Format(time.DateTime)))
		fact("said", q.Answer.Reason)
	}
	return list
}

// Lines prints facts, one on each line. Where width is not zero, longer ones are broken between words and go on below their text.
func Lines(facts []Fact, width int) string {
	const margin = 11
	var b strings.Builder
	for _, f := range facts {
		text := f.Text
		if width > margin {
			text = strings.ReplaceAll(ansi.Wrap(text, max(20, width-margin), ""), "\n", "\n"+strings.Repeat(" ", margin))
		}
		fmt.Fprintf(&b, "%-*s%s\n", margin, f.Label+":", text)
	}
	return b.String()
}

// Indented writes JSON on several lines; text that is not JSON stays as it is.
func Indented(raw json.RawMessage) string {
	var buf bytes.Buffer
	if len(raw) == 0 {
		return "{}"
	}
	if err := json.Indent(&buf, raw, "", "  "); err != nil {
		return string(raw)
	}
	return unescaped.Replace(buf.String())
}

// unescaped writes <, > and & as they are: encoding/json escapes them, for HTML. An escaped backslash is left alone.
var unescaped = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
