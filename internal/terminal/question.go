package terminal

import (
	"context"
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/question"
)

// WriteQuestion prints all of a question.
func WriteQuestion(w io.Writer, q approval.Question, previews *approval.Previews) error {
	var b strings.Builder
	plain := func(string) lipgloss.Style { return lipgloss.NewStyle() }
	b.WriteString(question.Lines(question.Facts(&q), 0))
	b.WriteString("arguments:\n")
	quoted(&b, question.Indented(q.Args), 120, 0, plain)
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
	p := newPrompt(t, &Asker{Previews: previews}, q)
	if q.PreviewBytes > 0 {
		if err := p.pageAll(ctx); err != nil {
			return err
		}
	}
	p.draw(true)
	switch {
	case answer.Keep != nil:
		p.showKept(answer.Keep)
	case len(answer.Args) > 0:
		fmt.Fprintln(t.w, "You approve it with these arguments instead:")
		quoted(t.w, question.Indented(answer.Args), t.width(), 0, func(string) lipgloss.Style { return lipgloss.NewStyle() })
	case answer.Scope != approval.Once:
		fmt.Fprintf(t.w, "%s will be allowed (%s) to:\n", Clean(q.Tool), answer.Scope)
		for _, line := range q.Remember {
			fmt.Fprintln(t.w, "  "+Clean(line))
		}
	}
	return t.Confirm(ctx, "approve it")
}
