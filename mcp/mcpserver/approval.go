package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/cleantext"
	"github.com/tongs-ai/tongs/internal/question"
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
	context.AfterFunc(ctx, func() { f.wait("") }) // the desk ends it when the question is over
	if !f.elicits || q.Elsewhere {
		return nil, f.linger(ctx, q)
	}
	f.wait("waiting for approval: the form asks you")
	var unread error
	for range maxForms {
		shown, took, err := f.show(ctx, q, unread)
		if err != nil || shown == nil {
			return nil, err
		}
		if shown.Action != "accept" && took < f.server.opt.Instant {
			return nil, f.linger(ctx, q) // nobody saw it
		}
		answer, err := read(q, shown, f.session)
		if err == nil {
			return answer, nil
		}
		unread = err
	}
	return nil, fmt.Errorf("the client's answer could not be read: %w", unread)
}

// linger tells the client how the question is answered elsewhere, and stays while the client waits for the call.
func (f *flight) linger(ctx context.Context, q approval.Question) error {
	hint := "tongs approvals approve " + approval.Short(q.ID)
	if f.server.opt.Hint != nil {
		hint = f.server.opt.Hint(q.ID)
	}
	told := f.wait(fmt.Sprintf("waiting for approval: %s · %s", hint, question.What(&q))) // the hint first: clients show the beginning of a line
	if !told || !f.server.opt.Patient {
		return nil
	}
	timer := time.NewTimer(patience(f.session.agents))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// patience is how long a client waits for a call that reports progress, as measured with the clients themselves (test/e2e/clients).
// Of one that is not known it is nothing, so that the desk decides.
func patience(agents []string) time.Duration {
	for _, known := range []struct {
		name string
		time time.Duration
	}{{"claude-code", 5 * time.Minute}, {"codex", 280 * time.Second}, {"gemini-cli", 5 * time.Minute}, {"opencode", 5 * time.Minute}} {
		if len(agents) > 0 && strings.HasPrefix(agents[0], known.name) {
			return known.time
		}
	}
	return 0
}

// show has the client show the question, and returns its answer and how long it took.
func (f *flight) show(ctx context.Context, q approval.Question, unread error) (*mcp.ElicitResult, time.Duration, error) {
	form := formOf(q, f.version, f.session.lasting, unread)
	if stopsAtEmptyFields(f.session.agents) {
		onlyAnswer(form)
	}
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

// The fields of the form. The one that is required comes first, also where a client sorts them by name.
const (
	fieldAnswer = "answer"
	fieldArgs   = "arguments"
	fieldReason = "reason"
)

// chooseNo is the choice that refuses a call.
const chooseNo = "no"

// formOf is a question as a client of that revision shows it: one field to choose from, and others that may stay empty.
func formOf(q approval.Question, version string, lasting bool, unread error) *mcp.ElicitParams {
	parts := question.Of(&q)
	var list []any
	for _, c := range choices(q, parts, lasting) {
		list = append(list, c)
	}
	fields := map[string]*jsonschema.Schema{
		fieldAnswer: {Type: "string", Title: "Answer", Enum: list},
		fieldReason: {Type: "string", Title: "Reason (optional)", Description: "The agent is told it."},
	}
	order := []string{fieldAnswer, fieldReason}
	if q.ChangeCount > 0 { // a call that already ran on a copy cannot be made with other arguments
		fields[fieldKeep] = keepField(q, version)
		order = append(order, fieldKeep)
	} else {
		fields[fieldArgs] = &jsonschema.Schema{
			Type: "string", Title: "Other arguments (optional)", Description: "A JSON object to approve once instead of those of the call.",
		}
		order = append(order, fieldArgs)
	}
	return &mcp.ElicitParams{
		Mode: "form", Message: messageOf(q, parts, unread),
		RequestedSchema: &jsonschema.Schema{Type: "object", Properties: fields, PropertyOrder: order, Required: []string{fieldAnswer}},
	}
}

// stopsAtEmptyFields reports whether a client does not let a person pass a text field that is empty, so that Enter would end nowhere.
// Codex does not, as seen in its own interface (test/e2e/clients -screens).
func stopsAtEmptyFields(agents []string) bool {
	return len(agents) > 0 && strings.HasPrefix(agents[0], "codex")
}

// onlyAnswer leaves the one field that is required. What the others are for can be answered elsewhere.
func onlyAnswer(form *mcp.ElicitParams) {
	schema := form.RequestedSchema.(*jsonschema.Schema)
	answer := schema.Properties[fieldAnswer]
	answer.Enum = slices.DeleteFunc(answer.Enum, func(choice any) bool { return choice == chooseChosen })
	schema.Properties, schema.PropertyOrder = map[string]*jsonschema.Schema{fieldAnswer: answer}, []string{fieldAnswer}
}

// choices are what a person can answer, as the form names it.
func choices(q approval.Question, parts *question.Parts, lasting bool) (list []string) {
	if q.ChangeCount > 0 {
		return []string{chooseKeep, chooseChosen, chooseDrop}
	}
	for _, c := range parts.Choices {
		switch c.Name {
		case question.Yes:
			list = append(list, c.Label)
		case question.Same, question.Files:
			if lasting {
				list = append(list, c.Label)
			}
		}
	}
	return append(list, chooseNo)
}

// The bounds of what a form shows.
const (
	maxFormLines = 40
	maxFormLine  = 400
	maxChanges   = 20
)

// messageOf tells the person what is asked, the most important first. What others wrote stands behind a bar, line by line, so that
// it cannot pass for ours.
func messageOf(q approval.Question, parts *question.Parts, unread error) string {
	var b strings.Builder
	if unread != nil {
		fmt.Fprintf(&b, "! The last answer could not be used: %s.\n", line(unread.Error()))
	}
	fmt.Fprintln(&b, parts.Headline.What())
	for _, warning := range parts.Warnings {
		fmt.Fprintf(&b, "! %s\n", cleantext.Cut(warning, maxFormLine))
	}
	writeRows(&b, commandRows(parts), maxFormLines)
	for i, change := range parts.Changes {
		if i == maxChanges {
			fmt.Fprintf(&b, "  and %d more\n", q.ChangeCount-i)
			break
		}
		fmt.Fprintf(&b, "  %s\n", cleantext.Cut(change, maxFormLine))
	}
	writeRows(&b, bodyOf(parts), maxFormLines)
	if parts.Offer != "" {
		fmt.Fprintf(&b, "To stop being asked about this: %s\n", cleantext.Cut(parts.Offer, maxFormLine))
	}
	where := parts.Headline.Workspace
	if where != "" {
		where += " · "
	}
	fmt.Fprintf(&b, "%severything: tongs approvals show %s", where, approval.Short(q.ID))
	return b.String()
}

// writeRows writes the first of the rows, and how many more there are.
func writeRows(b *strings.Builder, rows []string, most int) {
	for i, row := range rows {
		if i == most {
			fmt.Fprintf(b, "  (%d more lines)\n", len(rows)-i)
			break
		}
		fmt.Fprintln(b, cleantext.Cut(row, maxFormLine))
	}
}

// commandRows are the lines of the command: clients show the first lines of a form only, and without the command nobody knows what
// the changes are of.
func commandRows(parts *question.Parts) (rows []string) {
	if parts.Command == "" {
		return nil
	}
	for i, l := range strings.Split(parts.Command, "\n") {
		rows = append(rows, "│ "+[]string{"$ ", "  "}[min(i, 1)]+l)
	}
	return rows
}

// bodyOf are the other lines that others wrote: the difference, or the arguments.
func bodyOf(parts *question.Parts) (rows []string) {
	diff := question.Compact(parts.Diff, 0) // clients show a few lines only
	wide := question.GutterWidth(diff)
	for i, r := range diff {
		text := r.Op + r.Text
		if r.Op == "f" || r.Op == "n" || r.Op == "…" {
			text = " " + strings.TrimSpace(strings.TrimLeft(r.Op, "fn")+r.Text)
		}
		rows = append(rows, question.Gutter(diff, i, wide)+" │"+text)
	}
	if parts.Text != "" {
		for l := range strings.SplitSeq(parts.Text, "\n") {
			rows = append(rows, "│ "+l)
		}
	}
	if parts.Partial {
		rows = append(rows, "  (this is not all)")
	}
	return rows
}

// line returns text that shows on one line as what it is.
func line(s string) string { return cleantext.Line(s) }

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
	answer, _ := res.Content[fieldAnswer].(string)
	parts := question.Of(&q)
	if !slices.Contains(choices(q, parts, sess.lasting), answer) {
		return nil, fmt.Errorf("the answer %.40q is not one of the choices", answer)
	}
	if answer == chooseNo || answer == chooseDrop {
		return a, nil
	}
	a.Approved, a.Scope = true, approval.Once
	if q.ChangeCount > 0 {
		return a, keeping(q, res, a, answer)
	}
	for _, c := range parts.Choices {
		if c.Label == answer {
			a.Scope, a.Remember = c.Scope, c.Remember
		}
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
	a.Args, a.Scope, a.Remember = json.RawMessage(text), approval.Once, nil
	return nil
}
