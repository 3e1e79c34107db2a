package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// ReviewText is how one kind of source is approved.
type ReviewText struct {
	// Noun is what is approved, with its article; Command approves it.
	Noun, Command string
	// First and Changed introduce what is shown; %s is the name.
	First, Changed string
}

// Approve shows a review to the person at the terminal, and approves exactly that.
func (p *Printer) Approve(ctx context.Context, source engine.Reviewable, v *tongs.Review, text ReviewText) error {
	name := v.State.Name
	t, err := terminal.Open()
	if err != nil {
		fmt.Fprintln(p.Out, terminal.CleanLines(v.Text))
		return tongs.Errorf(tongs.CodeApprovalRequired, "approving %s needs a person at a real terminal, and this process has none; "+
			"run '%s %s' in one", text.Noun, text.Command, name)
	}
	defer t.Close()
	what, quote := text.First, t.Quote
	if v.Before {
		what, quote = text.Changed, t.QuoteDiff
	}
	fmt.Fprintf(t, what+":\n", terminal.Clean(name))
	quote(v.Text)
	if err := t.Confirm(ctx, "approve this"); err != nil {
		return err
	}
	if err := source.Approve(ctx, v, terminal.Whoami()); err != nil {
		return err
	}
	fmt.Fprintf(p.Err, "%s is approved as it is now.\n", terminal.Clean(name))
	return nil
}

// Review shows the state of a source, and its text or how that changed.
func (p *Printer) Review(v *tongs.Review) error {
	s := v.State
	fmt.Fprintf(p.Err, "%s is %s. %s\n", terminal.Clean(s.Name), s.Status, terminal.Clean(s.Detail))
	if s.ApprovedBy != "" {
		fmt.Fprintf(p.Err, "Approved by %s on %s.\n", terminal.Clean(s.ApprovedBy), s.ApprovedAt.Format("2006-01-02 15:04"))
	}
	return p.Lines(v.Text)
}

// CustomTools lists custom tools, and says why some cannot be used.
func (p *Printer) CustomTools(states []tongs.SourceState) error {
	rows := make([][]string, 0, len(states))
	for _, s := range states {
		description, _, _ := strings.Cut(strings.TrimSpace(s.Description), "\n")
		rows = append(rows, []string{s.Name, string(s.Status), s.Version, s.Language, description})
	}
	if err := p.Table([]string{"TOOL", "STATE", "VERSION", "LANGUAGE", "DESCRIPTION"}, rows); err != nil {
		return err
	}
	for _, s := range states {
		if s.Detail != "" {
			fmt.Fprintf(p.Err, "%s is %s: %s\n", terminal.Clean(s.Name), s.Status, terminal.Clean(s.Detail))
		}
	}
	return nil
}

// Modules lists modules, and says why some of their tools cannot be used.
func (p *Printer) Modules(states []tongs.SourceState) error {
	rows := make([][]string, 0, len(states))
	for _, s := range states {
		names := make([]string, len(s.Tools))
		for i, t := range s.Tools {
			names[i] = t.Name
		}
		rows = append(rows, []string{s.Name, string(s.Status), s.Language, strings.Join(names, ", "), s.Origin})
	}
	if err := p.Table([]string{"MODULE", "STATE", "LANGUAGE", "TOOLS", "FROM"}, rows); err != nil {
		return err
	}
	for _, s := range states {
		if s.Detail != "" {
			fmt.Fprintf(p.Err, "%s is %s: %s\n", terminal.Clean(s.Name), s.Status, terminal.CleanLines(s.Detail))
		}
		for _, t := range s.Tools {
			if t.Detail != "" {
				fmt.Fprintf(p.Err, "%s is %s: %s\n", terminal.Clean(t.Name), t.Status, terminal.CleanLines(t.Detail))
			}
		}
	}
	return nil
}

// Servers lists MCP servers, and says what a person should know of them.
func (p *Printer) Servers(states []tongs.SourceState) error {
	rows := make([][]string, 0, len(states))
	for _, s := range states {
		ready := 0
		for _, t := range s.Tools {
			if t.Status == tongs.StatusReady {
				ready++
			}
		}
		rows = append(rows, []string{s.Name, string(s.Status), fmt.Sprintf("%d of %d", ready, len(s.Tools)), s.Origin, s.Where})
	}
	if err := p.Table([]string{"SERVER", "STATE", "TOOLS READY", "FROM", "COMMAND OR URL"}, rows); err != nil {
		return err
	}
	for _, note := range ServerNotes(states) {
		fmt.Fprintln(p.Err, terminal.Clean(note))
	}
	return nil
}
