package files

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/text"
)

const (
	// maxDiffed is the size of changed text above which no difference is computed.
	maxDiffed = 2 << 20
	// diffLines and diffBytes are how much of a difference a model is shown, valueDiff how much of it the value holds,
	// previewDiff how much a person is shown before they approve.
	diffLines   = 60
	diffBytes   = 6000
	valueDiff   = 64 << 10
	previewDiff = 256 << 10
)

// unified returns the difference of two texts as a unified diff, ignoring how lines end.
func unified(p tongs.Path, old, new string, created bool) string {
	from, to := "a/"+strings.TrimPrefix(p.String(), "/"), "b/"+strings.TrimPrefix(p.String(), "/")
	if created {
		from = "/dev/null"
	}
	old, new = text.ToLF(old), text.ToLF(new)
	head := commonHead(old, new)
	tail := commonTail(old[head:], new[head:])
	before, after := old[head:len(old)-tail], new[head:len(new)-tail]
	if len(before)+len(after) > maxDiffed {
		return fmt.Sprintf("--- %s\n+++ %s\n%s replaced by %s, from line %d on; too much to show\n",
			from, to, count(text.Count(before), "line"), count(text.Count(after), "line"), 1+strings.Count(old[:head], "\n"))
	}
	edits := udiff.Lines(before, after)
	for i := range edits {
		edits[i].Start += head
		edits[i].End += head
	}
	diff, err := udiff.ToUnified(from, to, old, edits, udiff.DefaultContextLines)
	if err != nil {
		return fmt.Sprintf("--- %s\n+++ %s\nthe difference cannot be shown: %v\n", from, to, err)
	}
	if diff == "" && old != new {
		return fmt.Sprintf("--- %s\n+++ %s\nonly the end of the last line differs\n", from, to)
	}
	return diff
}

// commonHead returns the length of the whole lines that both texts start with.
func commonHead(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	return strings.LastIndexByte(a[:i], '\n') + 1
}

// commonTail returns the length of the whole lines that both texts end with.
func commonTail(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	// The common part must start after a line end in both, or be the whole of one that the other's line end precedes.
	at := strings.IndexByte(a[len(a)-i:], '\n')
	if at < 0 {
		return 0
	}
	return i - at - 1
}

// bounded cuts a diff to whole lines, and says how much is left out.
func bounded(diff string, lines, bytes int) string {
	end, n := 0, 0
	for n < lines && end < len(diff) {
		i := strings.IndexByte(diff[end:], '\n')
		if i < 0 {
			i = len(diff) - end - 1
		}
		if end+i+1 > bytes {
			break
		}
		end += i + 1
		n++
	}
	if end == len(diff) {
		return diff
	}
	return diff[:end] + fmt.Sprintf("[%s of the difference left out]\n", count(text.Count(diff[end:]), "more line"))
}
