package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/engine/output"
)

// A question about changes: the call ran on a copy, and a person says which of its changes may hold.

const (
	// inlineLines is up to how many lines a difference is shown at once, if the screen has no room for more; aroundLines are
	// those of the rest of a question, and listLines is how many changes are shown at once.
	inlineLines = 10
	aroundLines = 16
	listLines   = 20
)

// runOutcome asks which changes may hold.
func (p *prompt) runOutcome(ctx context.Context) (*approval.Answer, error) {
	p.fold()
	room := p.height() - aroundLines - min(len(p.q.Changes), listLines)
	inline := p.q.PreviewBytes == 0 && lineCount(p.q.Preview) <= max(inlineLines, room)
	p.showOutcome(inline, listLines)
	for {
		p.outcomeChoices(inline)
		key, err := p.Key(ctx, "Your choice (Ctrl-C cancels the call): ", p.outcomeKeys())
		if err != nil {
			return nil, err
		}
		answer, err := p.chooseOutcome(ctx, key)
		if errors.Is(err, errBack) {
			fmt.Fprintln(p.w)
			continue
		}
		if answer != nil || err != nil {
			return answer, err
		}
	}
}

// fold lets a directory stand for what is in it, where there is much.
func (p *prompt) fold() {
	p.outer = len(p.q.Changes)
	if p.q.ChangeCount > listLines {
		p.q.Changes = slices.Clone(p.q.Changes)
		p.outer = approval.Fold(p.q.Changes)
	}
}

// outcomeKeys are the keys of a question about changes. Those that mean more than once elsewhere are not among them.
func (p *prompt) outcomeKeys() string {
	keys := "yknqdv"
	if p.q.ChangeCount > listLines {
		keys += "l"
	}
	return keys
}

func (p *prompt) outcomeChoices(inline bool) {
	if p.q.ChangeCount == 1 {
		p.Option("y", "keep the change")
	} else {
		p.Option("y", fmt.Sprintf("keep all %d changes", p.q.ChangeCount))
		p.Option("k", "keep some of them, by number or path")
	}
	if p.q.ChangeCount > listLines {
		p.Option("l", "list all the changes")
	}
	if !inline {
		size := Plural(lineCount(p.q.Preview), "line")
		if p.q.PreviewBytes > 0 {
			size = output.Bytes(p.q.PreviewBytes)
		}
		p.Option("d", "show the whole difference, "+size)
	}
	p.Option("n", "drop all, with a reason that the agent sees")
}

// chooseOutcome acts on a key. A nil answer without an error asks again.
func (p *prompt) chooseOutcome(ctx context.Context, key byte) (*approval.Answer, error) {
	fmt.Fprintf(p.w, "%c\n", key)
	switch key {
	case 'y':
		return p.answer(approval.Answer{Approved: true, Scope: approval.Once}), nil
	case 'k':
		return p.keepSome(ctx)
	case 'n':
		return p.deny(ctx)
	case 'l':
		return nil, p.page(ctx, func(w io.Writer) { p.changeList(w, p.q.Changes, 0) })
	case 'd', 'v':
		err := p.pageAll(ctx)
		if err == nil {
			fmt.Fprintln(p.w, p.title.Render("It changed:"))
			p.changeList(p.w, p.q.Changes, listLines)
		}
		return nil, err
	default:
		return nil, ErrCancelled
	}
}

// showOutcome prints the question: the changes last, beside the choices. Of the changes it lists so many, and with zero
// everything whole.
func (p *prompt) showOutcome(inline bool, list int) {
	fmt.Fprintf(p.w, "\n%s %s\n", p.title.Render(Clean(p.q.Tool)), "ran on a copy of the files. Your workspace is unchanged so far.")
	fmt.Fprintln(p.w, p.faint.Render("Arguments:"))
	quoted(p.w, Indented(p.q.Args), p.width(), min(list, 10), func(string) lipgloss.Style { return lipgloss.NewStyle() })
	if inline && p.q.Preview != "" {
		fmt.Fprintln(p.w, p.faint.Render("The difference:"))
		quoted(p.w, p.q.Preview, p.width(), max(inlineLines, p.height()), diffStyle(p.palette))
	}
	p.about(list)
	fmt.Fprintln(p.w, p.title.Render("It changed:"))
	p.changeList(p.w, p.q.Changes, list)
}

// changeList prints changes with their numbers, at most limit of them, zero meaning all that are known.
func (p *prompt) changeList(w io.Writer, changes []tongs.Change, limit int) {
	shown := changes
	if limit > 0 && len(shown) > limit {
		shown = shown[:min(limit, max(p.outer, 1))]
	}
	for i, line := range changeLines(shown) {
		style := lipgloss.NewStyle()
		if shown[i].Protected != "" {
			style = p.warn
		}
		fmt.Fprintf(w, "  %3d  %s\n", i+1, style.Render(line))
	}
	if left := p.outer - len(shown); limit > 0 && left > 0 {
		fmt.Fprintf(w, "       and %d more; l lists them\n", left)
	} else if limit > 0 && len(changes) > len(shown) {
		fmt.Fprintln(w, "       l lists what is in the directories")
	} else if left := p.q.ChangeCount - len(changes); left > 0 {
		fmt.Fprintf(w, "       and %d more, which are too many to list; they can be kept by the name of a directory\n", left)
	}
}

// changeLines describes changes in plain words, one on each line.
func changeLines(changes []tongs.Change) []string {
	names, wide := make([]string, len(changes)), 0
	for i, c := range changes {
		names[i] = Clean(c.Path.String())
		if c.From != nil {
			names[i] = Clean(c.From.String()) + " → " + names[i]
		}
		if w := ansi.StringWidth(names[i]); w <= 48 {
			wide = max(wide, w)
		}
	}
	for i, c := range changes {
		pad := strings.Repeat(" ", max(0, wide-ansi.StringWidth(names[i])))
		names[i] = fmt.Sprintf("%-8s  %s%s  %s", c.Kind, names[i], pad, changeSize(c))
		if c.Protected != "" {
			names[i] += "  (" + Clean(c.Protected) + ")"
		}
	}
	return names
}

// changeSize says how large what changed is.
func changeSize(c tongs.Change) string {
	switch {
	case c.Type == tongs.FileDirectory && c.Kind == tongs.Deleted && c.Before > 0:
		return "directory with " + output.Bytes(c.Before)
	case c.Type == tongs.FileDirectory && c.Below > 0:
		return fmt.Sprintf("directory with %s, %s", Plural(c.Below, "path"), output.Bytes(c.After))
	case c.Type == tongs.FileDirectory:
		return "directory"
	case c.Type == tongs.FileSymlink:
		return "link"
	case c.Kind == tongs.Deleted:
		return output.Bytes(c.Before)
	case c.Kind == tongs.Modified:
		return output.Bytes(c.Before) + " → " + output.Bytes(c.After)
	default:
		return output.Bytes(c.After)
	}
}

// keepSome has the person name the changes that may hold, and shows what that comes to.
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
		for i, line := range changeLines(changes[:min(len(changes), listLines)]) {
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
			fmt.Fprintf(p.w, "  what there is at %s, which is not listed\n", Clean(path))
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

// page shows text that may be longer than the screen, one screen at a time.
func (p *prompt) page(ctx context.Context, show func(io.Writer)) error {
	var buf bytes.Buffer
	show(&buf)
	lines := strings.SplitAfter(strings.TrimRight(buf.String(), "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	size := max(5, p.height()-1)
	for at := 0; ; {
		end := min(len(lines), at+size)
		if len(lines)-end == 1 { // the last line fits where the prompt would stand
			end++
		}
		for _, line := range lines[at:end] {
			fmt.Fprint(p.w, line)
		}
		if at = end; at == len(lines) {
			return nil
		}
		key, err := p.Key(ctx, fmt.Sprintf("(%d of %d lines; Space goes on, q ends) ", at, len(lines)), " q\r\n\x1b")
		if err != nil {
			return err
		}
		fmt.Fprint(p.w, "\r"+strings.Repeat(" ", min(60, p.width()-1))+"\r")
		if key == 'q' || key == 0x1b {
			return nil
		}
	}
}

func lineCount(text string) int {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return 0
	}
	return strings.Count(text, "\n") + 1
}
