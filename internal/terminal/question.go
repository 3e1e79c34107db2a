package terminal

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/tongs-ai/tongs/engine/approval"
)

// WriteQuestion prints all of a question.
func WriteQuestion(w io.Writer, q approval.Question, previews *approval.Previews) error {
	var b strings.Builder
	plain := func(string) lipgloss.Style { return lipgloss.NewStyle() }
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-10s %s\n", label, Clean(text))
		}
	}
	line("question:", q.ID)
	line("state:", string(q.StateAt(time.Now())))
	line("tool:", q.Tool)
	line("what:", q.Message)
	line("because:", q.Why)
	line("reason:", q.Reason)
	line("agents:", strings.Join(q.Agents, " > "))
	line("session:", q.Session)
	line("workspace:", q.Workspace)
	line("asked:", q.Created.Format(time.DateTime))
	line("expires:", q.Expires.Format(time.DateTime))
	for _, note := range q.Notes {
		line("note:", note)
	}
	if q.ChangeCount > 0 {
		line("approving:", "it ran on a copy, and an approval is for exactly these changes")
		for _, c := range changeLines(q.Changes) {
			line("changed:", c)
		}
		if left := q.ChangeCount - len(q.Changes); left > 0 {
			line("changed:", fmt.Sprintf("and %d more", left))
		}
	} else {
		for _, e := range EffectLines(q.Effects) {
			line("would:", e)
		}
	}
	for _, r := range q.Remember {
		line("rule:", r)
	}
	if q.Answer != nil {
		word := "denied"
		if q.Answer.Approved {
			word = "approved (" + string(q.Answer.Scope) + ")"
		}
		line("answer:", fmt.Sprintf("%s by %s at the %s, %s", word, q.Answer.By, q.Answer.Channel, q.Answer.At.Format(time.DateTime)))
		line("said:", q.Answer.Reason)
	}
	b.WriteString("arguments:\n")
	quoted(&b, Indented(q.Args), 120, 0, plain)
	if q.Preview != "" {
		b.WriteString("preview:\n")
	}
	if q.PreviewBytes == 0 && q.Preview != "" {
		quoted(&b, q.Preview, 120, 0, plain)
	}
	if _, err := lipgloss.Fprint(w, b.String()); err != nil || q.PreviewBytes == 0 {
		return err
	}
	f, err := previews.Open(q.ID)
	if err != nil {
		return err
	}
	defer f.Close()
	u := &untrusted{ReaderAt: f, size: q.PreviewBytes, style: plain}
	for at := (spot{}); at.at < u.size; {
		var rows []string
		if rows, at, err = u.rows(at, 500, 120); err != nil {
			return err
		}
		if _, err := lipgloss.Fprintln(w, strings.Join(rows, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// ConfirmAnswer shows a question and what an answer would allow, and has the person confirm it.
func ConfirmAnswer(ctx context.Context, previews *approval.Previews, q approval.Question, answer approval.Answer) error {
	t, err := Open()
	if err != nil {
		return fmt.Errorf("approving needs a person at a real terminal, and this process has none; run 'tongs approvals approve %s' in one", q.ID)
	}
	defer t.Close()
	p := &prompt{Terminal: t, Asker: &Asker{Previews: previews}, q: q, palette: newPalette()}
	if q.ChangeCount > 0 {
		p.fold()
		if q.PreviewBytes > 0 {
			if err := p.pageAll(ctx); err != nil {
				return err
			}
		}
		p.showOutcome(q.PreviewBytes == 0, 0)
	} else {
		p.show(0)
	}
	switch {
	case answer.Keep != nil:
		p.showKept(answer.Keep)
	case len(answer.Args) > 0:
		fmt.Fprintln(t.w, "You approve it with these arguments instead:")
		quoted(t.w, Indented(answer.Args), t.width(), 0, func(string) lipgloss.Style { return lipgloss.NewStyle() })
	case answer.Scope != approval.Once:
		fmt.Fprintf(t.w, "%s will be allowed (%s) to:\n", Clean(q.Tool), answer.Scope)
		for _, line := range q.Remember {
			fmt.Fprintln(t.w, "  "+Clean(line))
		}
	}
	return t.Confirm(ctx, "approve it")
}
