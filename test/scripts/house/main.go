// House measures the shape of the module against its goals: how many rooms there are, how much of each is public, and
// how large the pieces are. It prints numbers and names, and it never fails because of them.
//
//	go run ./test/scripts/house [DIRECTORY]
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
)

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	h, err := read(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	report(os.Stdout, h.measures(), reasons)
}

// measure is one number with its goal. A number below its goal, or at it, is fine.
type measure struct {
	name  string
	value float64
	goal  float64 // below 0: there is none
	// misses are what to look at where the goal is missed.
	misses []miss
}

// miss is one thing that makes a measure miss its goal.
type miss struct {
	name   string // what it is called, without its line or size: reasons are found by it
	detail string
}

func (m measure) missed() bool { return m.goal >= 0 && m.value > m.goal }

// report prints every measure, then what misses a goal with the reason for it. A reason for something that no longer
// misses its goal is printed too, so that it is removed.
func report(w io.Writer, measures []measure, reasons map[string]string) {
	fmt.Fprintf(w, "%-52s %9s %7s\n", "measure", "today", "goal")
	used := map[string]bool{}
	why := func(name string) string {
		key, why := reason(reasons, name)
		used[key] = true
		return why
	}
	for _, m := range measures {
		goal, mark := "-", ""
		if m.goal >= 0 {
			goal = number(m.goal)
		}
		if m.missed() {
			mark = "  missed"
		}
		fmt.Fprintf(w, "%-52s %9s %7s%s\n", m.name, number(m.value), goal, mark)
	}
	for _, m := range measures {
		if !m.missed() {
			continue
		}
		if len(m.misses) == 0 {
			fmt.Fprintf(w, "\n%s: %s\n", m.name, why(m.name))
			continue
		}
		fmt.Fprintf(w, "\n%s:\n", m.name)
		for _, x := range m.misses {
			fmt.Fprintf(w, "  %s (%s): %s\n", x.name, x.detail, why(x.name))
		}
	}
	var stale []string
	for name := range reasons {
		if !used[name] {
			stale = append(stale, name)
		}
	}
	slices.Sort(stale)
	for _, name := range stale {
		fmt.Fprintf(w, "\nremove this reason from test/scripts/house/reasons.go, its goal is met: %s\n", name)
	}
}

func number(f float64) string {
	if f == float64(int(f)) {
		return strconv.Itoa(int(f))
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}
