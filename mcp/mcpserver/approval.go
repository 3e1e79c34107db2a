package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

// Channel shows a question to the MCP client whose call asks it, as a form. It belongs to the callers of the approval desk
// of the engine that a [Server] offers, and to the options of that server. It answers for calls of that server only: of all
// others it says that it cannot show them. An answer reaches the session at most, never further. What must be approved
// elsewhere is not shown: a client that answers by itself would approve its own call. The zero value is ready; it is safe for
// concurrent use.
type Channel struct {
	flights sync.Map // *flight by the ID of its call
}

var _ approval.CallerChannel = (*Channel)(nil)

// enter makes a flight the one that is asked about its call, and about those made within it, until leave is called.
func (c *Channel) enter(call string, f *flight) (leave func()) {
	if c == nil {
		return func() {}
	}
	c.flights.Store(call, f)
	return func() { c.flights.Delete(call) }
}

// flight returns the flight that a call belongs to, nil where it did not come in here.
func (c *Channel) flight(call tongs.CallInfo) *flight {
	for id := range call.Lineage() {
		if f, ok := c.flights.Load(id); ok {
			return f.(*flight)
		}
	}
	return nil
}

// maxForms is how often a client is shown the same question, where its answer cannot be read.
const maxForms = 3

// AskCaller implements approval.CallerChannel.
func (c *Channel) AskCaller(ctx context.Context, q approval.Question) (*approval.Answer, error) {
	f := c.flight(q.Asker)
	if f == nil {
		return nil, nil
	}
	f.wait(q.ID)
	context.AfterFunc(ctx, func() { f.wait("") }) // the desk ends it when the question is over
	if !f.elicits || q.Elsewhere {
		return nil, nil
	}
	var unread error
	for range maxForms {
		shown, took, err := f.show(ctx, q, unread)
		if err != nil || shown == nil {
			return nil, err
		}
		if shown.Action != "accept" && took < f.server.opt.Instant {
			return nil, nil // nobody saw it
		}
		answer, err := read(q, shown, f.session)
		if err == nil {
			return answer, nil
		}
		unread = err
	}
	return nil, fmt.Errorf("the client's answer could not be read: %w", unread)
}

// show has the client show the question, and returns its answer and how long it took.
func (f *flight) show(ctx context.Context, q approval.Question, unread error) (*mcp.ElicitResult, time.Duration, error) {
	form := formOf(q, f.version, f.session.lasting, unread)
	began := time.Now()
	if !f.byRounds {
		res, err := f.client.Elicit(ctx, form)
		return res, time.Since(began), err
	}
	a := &asking{question: q, form: form, answer: make(chan *mcp.ElicitResult, 1)}
	select {
	case f.asked <- a:
		began = time.Now()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	select {
	case res := <-a.answer:
		return res, time.Since(began), nil
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// asking is a question that waits for a client to come back with its answer.
type asking struct {
	question approval.Question
	form     *mcp.ElicitParams
	answer   chan *mcp.ElicitResult
}

// inputKey is the name of the input that a call needs.
const inputKey = "approval"

// deliver hands over what a client came back with. Without an answer the question counts as not shown.
func (a *asking) deliver(responses mcp.InputResponseMap) {
	res, _ := responses[inputKey].(*mcp.ElicitResult)
	select {
	case a.answer <- res:
	default: // it has one
	}
}

// The choices and fields of the form.
const (
	chooseOnce    = "approve once"
	chooseSession = "approve for this session"
	chooseDeny    = "deny"

	fieldDecision = "decision"
	fieldReason   = "reason"
	fieldArgs     = "arguments"
)

// formOf is a question as a client of that revision shows it.
func formOf(q approval.Question, version string, lasting bool, unread error) *mcp.ElicitParams {
	session := lasting && slices.Contains(q.Scopes, approval.Session)
	fields := map[string]any{
		fieldDecision: map[string]any{"type": "string", "title": "Decision", "enum": choices(q, session)},
		fieldReason: map[string]any{
			"type": "string", "title": "Reason", "description": "Optional. The agent is told it.", "maxLength": maxReason,
		},
	}
	if q.ChangeCount > 0 { // a call that already ran on a copy cannot be made with other arguments
		fields[fieldKeep] = keepField(q, version)
	} else {
		fields[fieldArgs] = map[string]any{
			"type": "string", "title": "Edited arguments",
			"description": "Optional. A JSON object to approve once instead of the arguments shown; empty approves those.",
		}
	}
	return &mcp.ElicitParams{
		Mode: "form", Message: messageOf(q, session, unread),
		RequestedSchema: map[string]any{"type": "object", "properties": fields, "required": []string{fieldDecision}},
	}
}

// choices are what a person can decide.
func choices(q approval.Question, session bool) []string {
	list, no := []string{chooseOnce}, chooseDeny
	if q.ChangeCount > 0 {
		list, no = []string{chooseKeep, chooseChosen}, chooseDrop
	}
	if session {
		list = append(list, chooseSession)
	}
	return append(list, no)
}

// The bounds of what a form shows.
const (
	maxPreview  = 6000
	maxFormArgs = 3000
	maxChanges  = 50
)

// messageOf tells the person what is asked. What others wrote is quoted line by line, so that it cannot pass for ours.
func messageOf(q approval.Question, session bool, unread error) string {
	var b strings.Builder
	if unread != nil {
		fmt.Fprintf(&b, "The last answer could not be used: %s.\n", line(unread.Error()))
	}
	fmt.Fprintf(&b, "Tongs: %s asks for approval (question %s).\n", line(q.Tool), q.ID)
	fmt.Fprintf(&b, "What: %s\nAsked because: %s\n", line(q.Message), line(q.Why))
	if !q.Source.BuiltIn() {
		fmt.Fprintf(&b, "The tool comes from: %s %s\n", q.Source.Kind, line(q.Source.Name))
	}
	for _, note := range q.Notes {
		fmt.Fprintf(&b, "Note: %s\n", line(note))
	}
	b.WriteString("It would:\n")
	for _, e := range q.Effects {
		text := e.String()
		if e.Why != "" {
			text += " (" + e.Why + ")"
		}
		fmt.Fprintf(&b, "  - %s\n", line(text))
	}
	if q.ChangeCount > 0 {
		fmt.Fprintf(&b, "It ran on a copy already. Keeping its %d changes makes them hold:\n", q.ChangeCount)
		for _, c := range q.Changes[:min(len(q.Changes), maxChanges)] {
			fmt.Fprintf(&b, "  - %s\n", shownChange(c))
		}
		if left := q.ChangeCount - min(len(q.Changes), maxChanges); left > 0 {
			fmt.Fprintf(&b, "  (%d more: tongs approvals show)\n", left)
		}
	}
	if session {
		fmt.Fprintf(&b, "Approving for this session allows: %s\n", line(strings.Join(q.Remember, "; ")))
	}
	if q.Reason != "" {
		quote(&b, "The agent says", q.Reason, maxReason)
	}
	quote(&b, "Arguments", indented(q.Args), maxFormArgs)
	if q.Preview != "" {
		quote(&b, "What would change", q.Preview, maxPreview)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return string(raw)
	}
	return b.String()
}

// quote writes text with a bar before each line.
func quote(b *strings.Builder, title, text string, limit int) {
	left := 0
	if len(text) > limit {
		left = len(text) - limit
		text = strings.ToValidUTF8(text[:limit], "")
	}
	fmt.Fprintf(b, "%s:\n", title)
	for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		fmt.Fprintf(b, "  | %s\n", line(l))
	}
	if left > 0 {
		fmt.Fprintf(b, "  (%d bytes more: tongs approvals show)\n", left)
	}
}

// line returns text that shows on one line as what it is: control characters and those that change the order in which
// text is shown are written out.
func line(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t':
			b.WriteByte(' ')
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0x061c || r == 0xfeff ||
			r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// read makes an answer of what the client returned. An error means that it is none.
func read(q approval.Question, res *mcp.ElicitResult, sess *session) (*approval.Answer, error) {
	a := &approval.Answer{Channel: "mcp", By: strings.Join(sess.agents, " ")}
	switch res.Action {
	case "decline":
		a.Reason = "declined in the client"
		return a, nil
	case "cancel":
		a.Reason = "dismissed in the client"
		return a, nil
	case "accept":
	default:
		return nil, fmt.Errorf("the action %.40q is not one of accept, decline, cancel", res.Action)
	}
	reason, _ := res.Content[fieldReason].(string)
	a.Reason = reason[:min(len(reason), maxReason)]
	decision, _ := res.Content[fieldDecision].(string)
	session := sess.lasting && slices.Contains(q.Scopes, approval.Session)
	if !slices.Contains(choices(q, session), decision) {
		return nil, fmt.Errorf("the decision %.40q is not one of the choices", decision)
	}
	switch decision {
	case chooseDeny, chooseDrop:
		return a, nil
	case chooseSession:
		a.Approved, a.Scope = true, approval.Session
	default:
		a.Approved, a.Scope = true, approval.Once
	}
	if q.ChangeCount > 0 {
		return a, keeping(q, res, a, decision)
	}
	return a, edited(q, res, a)
}

// edited puts the arguments that a person wrote into the answer. They are approved once, whatever was chosen.
func edited(q approval.Question, res *mcp.ElicitResult, a *approval.Answer) error {
	text, _ := res.Content[fieldArgs].(string)
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return errors.New("the edited arguments are not a JSON object")
	}
	if sumOf(json.RawMessage(text)) == sumOf(q.Args) {
		return nil
	}
	a.Args, a.Scope = json.RawMessage(text), approval.Once
	return nil
}
