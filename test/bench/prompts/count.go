package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs/internal/preset"
)

// Count counts.
func (r *Report) Count() preset.Count {
	c := preset.Count{Calls: len(r.Session.Calls), Refused: len(r.Refused)}
	asked := map[int]bool{}
	for _, a := range r.Asked {
		asked[a.Call] = true
		switch r.Session.Calls[a.Call].Label {
		case Needed:
			c.Needed++
		case Git:
			c.Git++
		case Network:
			c.Network++
		default:
			c.Needless++
		}
	}
	for i, call := range r.Session.Calls {
		if _, refused := r.Refused[i]; call.Label == Needed && !asked[i] && !refused {
			c.Missed++
		}
	}
	return c
}

// The table of counts in the README stands between these lines.
const tableBegin, tableEnd = "<!-- counts: begin -->\n", "<!-- counts: end -->\n"

// table is what the README shows.
func table(counts preset.Counts) string {
	var b strings.Builder
	b.WriteString("| configuration | questions | needed | git | network | needless | refused |\n|---|---|---|---|---|---|---|\n")
	names := []string{preset.Default}
	for _, p := range preset.All() {
		names = append(names, p.Name)
	}
	for _, name := range names {
		c := counts.Total(name)
		if c.Calls == 0 {
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %d in %d calls | %d | %d | %d | %d | %d |\n", name, c.Questions(), c.Calls, c.Needed, c.Git, c.Network, c.Needless, c.Refused)
	}
	return b.String()
}

// withTable returns the README with the table of these counts.
func withTable(readme string, counts preset.Counts) (string, error) {
	head, rest, ok := strings.Cut(readme, tableBegin)
	_, tail, ends := strings.Cut(rest, tableEnd)
	if !ok || !ends {
		return "", errors.New("README.md has no place for the counts")
	}
	return head + tableBegin + table(counts) + tableEnd + tail, nil
}

func (r *Report) print(w io.Writer, verbose bool) {
	c := r.Count()
	fmt.Fprintf(w, "%-12s %2d calls: %2d questions: %d needed, %d git, %d network, %d needless; %d missed, %d refused, %d failed\n", r.Session.Name,
		c.Calls, c.Questions(), c.Needed, c.Git, c.Network, c.Needless, c.Missed, c.Refused, len(r.Failed))
	for _, i := range slices.Sorted(maps.Keys(r.Failed)) {
		fmt.Fprintf(w, "   failed: %d %s: %s\n", i+1, &r.Session.Calls[i], r.Failed[i])
	}
	if !verbose {
		return
	}
	for _, a := range r.Asked {
		call := &r.Session.Calls[a.Call]
		when := "before"
		if a.Changes > 0 {
			when = fmt.Sprintf("%d changes", a.Changes)
		}
		fmt.Fprintf(w, "   %2d %-8s %-10s %s\n        %s\n", a.Call+1, call.Label, when, call, a.Why)
	}
	for _, i := range slices.Sorted(maps.Keys(r.Refused)) {
		fmt.Fprintf(w, "   %2d %-8s refused    %s: %s\n", i+1, r.Session.Calls[i].Label, &r.Session.Calls[i], r.Refused[i])
	}
}
