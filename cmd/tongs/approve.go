package main

import (
	"context"
	"fmt"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// approvalText is how one kind of source is approved.
type approvalText struct {
	// noun is what is approved, with its article; command approves it.
	noun, command string
	// first and changed introduce what is shown; %s is the name.
	first, changed string
}

// approve shows a review to the person at the terminal, and approves exactly that.
func (a *app) approve(ctx context.Context, p engine.Reviewable, v *tongs.Review, text approvalText) error {
	name := v.State.Name
	t, err := terminal.Open()
	if err != nil {
		fmt.Fprintln(a.out, terminal.CleanLines(v.Text))
		return tongs.Errorf(tongs.CodeApprovalRequired, "approving %s needs a person at a real terminal, and this process has none; "+
			"run '%s %s' in one", text.noun, text.command, name)
	}
	defer t.Close()
	what, quote := text.first, t.Quote
	if v.Before {
		what, quote = text.changed, t.QuoteDiff
	}
	fmt.Fprintf(t, what+":\n", terminal.Clean(name))
	quote(v.Text)
	if err := t.Confirm(ctx, "approve this"); err != nil {
		return err
	}
	if err := p.Approve(ctx, v, terminal.Whoami()); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "%s is approved as it is now.\n", terminal.Clean(name))
	return nil
}
