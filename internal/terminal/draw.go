package terminal

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tongs-ai/tongs/internal/question"
)

const (
	// minBody is how many rows of a question are shown on the smallest screen; aroundBody are the rows of everything else,
	// warnings apart.
	minBody, aroundBody = 6, 7
	// listLines is how many changes are listed at once.
	listLines = 20
	// maxWarning is how much of a warning is shown.
	maxWarning = 400
	// around is how many unchanged lines are shown beside a change.
	around = 1
)

// draw prints a question except its choices. On a screen it leaves out what would push the headline off it, and whole shows
// everything.
func (p *prompt) draw(whole bool) {
	fmt.Fprintln(p.w)
	p.headline()
	room := p.height() - aroundBody
	for _, text := range p.parts.Warnings {
		mark := "! "
		for _, row := range p.flowed(ansi.Truncate(text, maxWarning, "…"), 3) {
			fmt.Fprintln(p.w, " "+p.warn.Render(mark+strings.TrimLeft(row, " ")))
			mark = "  "
			room--
		}
	}
	rows := p.body(max(minBody, room), whole)
	if limit := max(minBody, room); !whole && len(rows) > limit {
		left := len(rows) - limit + 1
		rows = append(rows[:limit-1], p.faint.Render(fmt.Sprintf("   … %s; ? shows everything", Plural(left, "more line"))))
	} else if p.parts.Partial && !whole {
		rows = append(rows, p.faint.Render("   … this is not all; ? shows everything"))
	}
	for _, row := range rows {
		fmt.Fprintln(p.w, " "+row)
	}
}

// headline prints what is asked on the left, and who asks on the right where there is room.
func (p *prompt) headline() {
	h := p.parts.Headline
	target := p.title
	if h.Grave {
		target = p.warn.Bold(true)
	}
	var left []string
	for _, part := range []struct {
		text  string
		style lipgloss.Style
	}{{h.Tool, p.title}, {h.Source, p.faint}, {h.Target, target}, {h.Size, lipgloss.NewStyle()}} {
		if part.text != "" {
			left = append(left, part.style.Render(part.text))
		}
	}
	what, where := strings.Join(left, "  "), h.Where()
	gap := p.width() - 2 - ansi.StringWidth(what) - ansi.StringWidth(where)
	if where == "" || gap < 2 {
		fmt.Fprintln(p.w, " "+what)
		if where != "" {
			fmt.Fprintln(p.w, "   "+p.faint.Render(where))
		}
		return
	}
	fmt.Fprintln(p.w, " "+what+strings.Repeat(" ", gap)+p.faint.Render(where))
}

// wrapped breaks a clean text into rows that fit beside a margin.
func (p *prompt) wrapped(text string, margin int) []string {
	text = strings.ReplaceAll(text, "\t", "    ")
	return strings.Split(ansi.Hardwrap(text, max(20, p.width()-1-margin), true), "\n")
}

// flowed breaks a clean text of ours into rows that fit beside a margin, between words where that is possible.
func (p *prompt) flowed(text string, margin int) []string {
	return strings.Split(ansi.Wrap(text, max(20, p.width()-1-margin), ""), "\n")
}

// body returns the rows of what would happen, or happened. Of a long list of changes it shows half a room full.
func (p *prompt) body(room int, whole bool) (rows []string) {
	bar := p.faint.Render("│")
	quote := func(mark, text string, style lipgloss.Style) {
		for line := range strings.SplitSeq(text, "\n") {
			for _, row := range p.wrapped(line, 2+len(mark)) {
				rows = append(rows, bar+" "+mark+style.Render(row))
				mark = strings.Repeat(" ", len(mark))
			}
		}
	}
	if p.parts.Command != "" {
		quote("$ ", p.parts.Command, lipgloss.NewStyle())
	}
	limit := min(listLines, max(3, room/2))
	if whole {
		limit = 0
	}
	rows = append(rows, p.changeRows(limit)...)
	if p.parts.Text != "" {
		quote("", p.parts.Text, lipgloss.NewStyle())
	}
	diff := question.Compact(p.parts.Diff, around)
	wide := question.GutterWidth(diff)
	styles := map[string]lipgloss.Style{"-": p.removed, "+": p.added, "f": p.title, "…": p.faint, "n": p.faint}
	for i, r := range diff {
		gutter, text := question.Gutter(diff, i, wide), r.Op+r.Text
		switch r.Op {
		case "f", "n":
			text = " " + r.Text
		case "…":
			text = " …"
		}
		for _, row := range p.wrapped(text, wide+2) {
			rows = append(rows, p.faint.Render(gutter)+" "+bar+styles[r.Op].Render(row))
			gutter = strings.Repeat(" ", wide)
		}
	}
	return rows
}

// changeRows list the changes with their numbers, at most limit of them, zero meaning all that are known.
func (p *prompt) changeRows(limit int) (rows []string) {
	shown := p.parts.Changes
	if limit > 0 && len(shown) > limit {
		shown = shown[:min(limit, max(p.listed, 1))]
	}
	for i, line := range shown {
		style := lipgloss.NewStyle()
		if p.q.Changes[i].Protected != "" {
			style = p.warn
		}
		for j, row := range p.wrapped(line, 6) {
			number := fmt.Sprintf("%3d", i+1)
			if j > 0 {
				number = "   "
			}
			rows = append(rows, number+"  "+style.Render(row))
		}
	}
	switch left := p.listed - len(shown); {
	case limit > 0 && left > 0:
		rows = append(rows, fmt.Sprintf("     and %d more; ? lists them", left))
	case limit > 0 && len(p.parts.Changes) > len(shown):
		rows = append(rows, "     ? lists what is in the directories")
	case p.q.ChangeCount > len(p.parts.Changes):
		rows = append(rows, fmt.Sprintf("     and %d more, too many to list; to keep them, name a directory",
			p.q.ChangeCount-len(p.parts.Changes)))
	}
	return rows
}

// choices prints the keys, as many on a line as fit.
func (p *prompt) choices() {
	if p.parts.Offer != "" {
		fmt.Fprintln(p.w, " "+p.faint.Render("To stop being asked about this: ")+p.parts.Offer)
	}
	line, used := "", 0
	for _, c := range p.parts.Choices {
		item := p.hotkey.Render(c.Key) + " " + c.Label
		if wide := ansi.StringWidth(item); used > 0 && used+3+wide > p.width()-2 {
			fmt.Fprintln(p.w, " "+line)
			line, used = "", 0
		}
		if used > 0 {
			line, used = line+"   ", used+3
		}
		line, used = line+item, used+ansi.StringWidth(item)
	}
	fmt.Fprintln(p.w, " "+line)
}

// accepted are the keys that answer.
func (p *prompt) accepted() string {
	keys := ""
	for _, c := range p.parts.Choices {
		keys += c.Key
	}
	return keys
}
