package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/question"
)

// A question about changes: the call ran on a copy, and a person chooses which of its changes to keep.

// keepSome has the person name the changes to keep, and shows what that keeps and drops.
func (p *prompt) keepSome(ctx context.Context) (*approval.Answer, error) {
	text, err := p.line(ctx, "Keep which? Such as 1 3-5 src/a.go docs (Esc goes back): ", "")
	if err != nil {
		return nil, err
	}
	keep, err := selected(&p.q, text)
	if err != nil {
		fmt.Fprintln(p.w, p.warn.Render(Clean(err.Error())))
		return nil, errBack
	}
	p.showKept(keep)
	key, err := p.Key(ctx, "y keeps these and drops the rest, Esc goes back: ", "y\x1b")
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(p.w)
	if key != 'y' {
		return nil, errBack
	}
	return p.answer(approval.Answer{Approved: true, Scope: approval.Once, Keep: keep}), nil
}

// showKept says what a selection keeps and drops.
func (p *prompt) showKept(keep []string) {
	var kept, dropped []tongs.Change
	for _, c := range p.q.Changes {
		if slices.ContainsFunc(keep, func(path string) bool { return approval.Keeps(path, c) }) {
			kept = append(kept, c)
		} else {
			dropped = append(dropped, c)
		}
	}
	part := func(word string, changes []tongs.Change) {
		of := fmt.Sprintf("%s (%d of %d):", word, len(changes), len(p.q.Changes))
		if len(p.q.Changes) < p.q.ChangeCount {
			of = fmt.Sprintf("%s (%d of the %d that are listed):", word, len(changes), len(p.q.Changes))
		}
		fmt.Fprintln(p.w, p.title.Render(of))
		for i, line := range question.ChangeLines(changes[:min(len(changes), listLines)]) {
			style := lipgloss.NewStyle()
			if changes[i].Protected != "" {
				style = p.warn
			}
			fmt.Fprintln(p.w, "  "+style.Render(line))
		}
		if left := len(changes) - listLines; left > 0 {
			fmt.Fprintf(p.w, "  and %d more\n", left)
		}
	}
	part("Kept", kept)
	for _, path := range keep {
		if !slices.ContainsFunc(kept, func(c tongs.Change) bool { return approval.Keeps(path, c) }) {
			fmt.Fprintf(p.w, "  everything at %s, which is not listed\n", Clean(path))
		}
	}
	part("Dropped", dropped)
	if left := p.q.ChangeCount - len(p.q.Changes); left > 0 {
		fmt.Fprintf(p.w, "  %d more are not listed, and dropped unless they are below a path that is kept\n", left)
	}
}

// selected reads which changes to keep: numbers and ranges of the list, and paths.
func selected(q *approval.Question, text string) (keep []string, err error) {
	add := func(path string) {
		if !slices.Contains(keep, path) {
			keep = append(keep, path)
		}
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		if from, to, ok := numbers(word); ok {
			if from < 1 || to < from || to > len(q.Changes) {
				return nil, fmt.Errorf("%s is not in the list, which goes from 1 to %d", word, len(q.Changes))
			}
			for _, c := range q.Changes[from-1 : to] {
				add(c.Path.String())
			}
			continue
		}
		path := KeptPath(word)
		if err := known(q, path); err != nil {
			return nil, err
		}
		add(path)
	}
	if len(keep) == 0 {
		return nil, errors.New("that names no change; n drops all of them")
	}
	return keep, nil
}

// KeptPath spells a path as changes do.
func KeptPath(word string) string {
	for strings.HasPrefix(word, "./") {
		word = strings.TrimPrefix(word, "./")
	}
	if len(word) > 1 {
		word = strings.TrimRight(word, "/")
	}
	return word
}

// known says that a path is none of the changes, where all of them are known.
func known(q *approval.Question, path string) error {
	if len(q.Changes) < q.ChangeCount || slices.ContainsFunc(q.Changes, func(c tongs.Change) bool { return approval.Keeps(path, c) }) {
		return nil
	}
	return fmt.Errorf("%q is not among the changes; name one as the list does", path)
}

// numbers reads "3" and "3-5".
func numbers(word string) (from, to int, ok bool) {
	first, last, ranged := strings.Cut(word, "-")
	if !ranged {
		last = first
	}
	from, err := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	return from, to, err == nil && err2 == nil
}
