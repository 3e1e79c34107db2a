package files

import (
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs"
)

const (
	// maxClosest is how many lines of the closest region are shown, maxShown how many characters of each.
	maxClosest = 20
	maxShown   = 200
	// maxCompared bounds the lines that are compared letter by letter.
	maxCompared = 50_000
)

// noMatch says that the old text is nowhere, and what comes closest to it.
func noMatch(lines []fileLine, old string, numbered bool) error {
	msg := "oldString is not in the file"
	if numbered {
		msg += ", with or without the line numbers in it (leave them out: they are not part of the file)"
	}
	want := strings.Split(strings.TrimSuffix(old, "\n"), "\n")
	first, count := closest(lines, want)
	if count == 0 {
		return tongs.Errorf(tongs.CodeNoMatch, "%s, and nothing in it comes close; read the file again", msg)
	}
	shown, marked := region(lines[first:first+count], first, want)
	where := fmt.Sprintf("lines %d to %d", first+1, first+count)
	if count == 1 {
		where = fmt.Sprintf("line %d", first+1)
	}
	if marked {
		where += " (it differs in white space: · is a space, → a tab, ⍽ another space)"
	}
	return tongs.Errorf(tongs.CodeNoMatch, "%s; copy the text exactly. Closest is %s:\n%s", msg, where, shown).
		With("firstLine", first+1).With("lastLine", first+count)
}

// closest returns the lines that share most with want: most equal lines in a window as long as want, or where no line
// is equal, the line most like the longest of want. Its time is linear in the text.
func closest(lines []fileLine, want []string) (first, count int) {
	count = min(len(want), len(lines))
	if first, score := bestWindow(lines, want, count); score > 0 {
		return first, count
	}
	longest := 0
	for i, line := range want {
		if len(trim(line)) > len(trim(want[longest])) {
			longest = i
		}
	}
	at := mostAlike(lines, trim(want[longest]))
	if at < 0 {
		return 0, 0
	}
	first = max(0, min(at-longest, len(lines)-count))
	return first, count
}

// bestWindow slides a window over the lines and counts those it has in common with want, ignoring white space.
func bestWindow(lines []fileLine, want []string, size int) (first, best int) {
	need := map[string]int{}
	for _, line := range want {
		if key := squeeze(line); len(key) > 1 { // a blank line or a brace is no likeness
			need[key]++
		}
	}
	score := 0
	step := func(line string, d int) {
		key := squeeze(line)
		left, ok := need[key]
		if !ok {
			return
		}
		if d > 0 && left > 0 {
			score++
		} else if d < 0 && left >= 0 {
			score--
		}
		need[key] = left - d
	}
	for i := range lines {
		step(lines[i].text, 1)
		if i >= size {
			step(lines[i-size].text, -1)
		}
		if score > best {
			first, best = max(0, i+1-size), score
		}
	}
	return first, best
}

// squeeze returns the line with every run of white space as one space, and none at its ends.
func squeeze(line string) string { return strings.Join(strings.Fields(line), " ") }

// mostAlike returns the line that shares most pairs of letters with want, -1 where none has a third in common.
func mostAlike(lines []fileLine, want string) int {
	if want = cutText(want, maxShown); len(want) < 3 {
		return -1
	}
	pairs := map[[2]byte]int{}
	for i := range len(want) - 1 {
		pairs[[2]byte{want[i], want[i+1]}]++
	}
	best, at := len(want)*2/3, -1
	for i, line := range lines[:min(len(lines), maxCompared)] {
		text := cutText(trim(line.text), maxShown)
		common := 0
		used := map[[2]byte]int{}
		for k := range max(0, len(text)-1) {
			pair := [2]byte{text[k], text[k+1]}
			if n := pairs[pair]; n > used[pair] {
				used[pair]++
				common++
			}
		}
		// Dice's coefficient, scaled by twice the length of want: likeness counts, length alone does not.
		if score := 4 * common * len(want) / (len(want) + len(text) + 1); score > best {
			best, at = score, i
		}
	}
	return at
}

// region shows lines of the file with their numbers. Those that differ from want only in white space have it marked.
func region(part []fileLine, first int, want []string) (shown string, marked bool) {
	wanted := map[string]map[string]bool{}
	for _, line := range want {
		key := squeeze(line)
		if wanted[key] == nil {
			wanted[key] = map[string]bool{}
		}
		wanted[key][line] = true
	}
	var b strings.Builder
	for i, line := range part[:min(len(part), maxClosest)] {
		text := line.text
		if same := wanted[squeeze(text)]; same != nil && !same[text] && trim(text) != "" {
			text, marked = visible(text), true
		}
		if cut := cutText(text, maxShown); cut != text {
			text = cut + "…"
		}
		fmt.Fprintf(&b, "%6d\t%s\n", first+1+i, text)
	}
	if left := len(part) - maxClosest; left > 0 {
		fmt.Fprintf(&b, "... %d more lines\n", left)
	}
	return strings.TrimSuffix(b.String(), "\n"), marked
}

var marks = strings.NewReplacer(
	" ", "·", "\t", "→", "\u00a0", "⍽", "\u2007", "⍽", "\u202f", "⍽", "\u3000", "⍽", "\u200b", "⍽",
)

// visible marks the white space of a line.
func visible(line string) string { return marks.Replace(line) }

// cutText returns the first n characters of s, at most.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for at := range s {
		if n == 0 {
			return s[:at]
		}
		n--
	}
	return s
}
