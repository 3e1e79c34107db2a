package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// line is a line of code that counts, and where it stands.
type line struct {
	text string
	at   int
}

// shares finds the pairs of places whose lines are the same for more than sharedLines in a row. Blank lines, comments,
// imports and lone punctuation do not count, and neither does white space at the ends of a line.
func shares(sources []source) (list []miss) {
	type place struct{ file, line int }
	var files [][]line
	first := map[string][]place{}
	done := map[[4]int]bool{}
	for f, s := range sources {
		if ast.IsGenerated(s.tree) {
			files = append(files, nil)
			continue
		}
		lines := counting(s)
		files = append(files, lines)
		for i := 0; i+sharedLines < len(lines); i++ {
			var key strings.Builder
			for _, l := range lines[i : i+sharedLines+1] {
				key.WriteString(l.text + "\n")
			}
			for _, p := range first[key.String()] {
				if p.file == f && i-p.line <= sharedLines {
					continue // it overlaps itself
				}
				// A run is reported where it starts.
				was := [4]int{p.file, p.line, f, i}
				done[was] = true
				if done[[4]int{p.file, p.line - 1, f, i - 1}] {
					continue
				}
				n := same(files[p.file][p.line:], lines[i:])
				list = append(list, miss{
					sources[p.file].path + " ~ " + s.path,
					fmt.Sprintf("%d lines, at %d and %d", n, files[p.file][p.line].at, lines[i].at),
				})
			}
			first[key.String()] = append(first[key.String()], place{f, i})
		}
	}
	slices.SortStableFunc(list, func(a, b miss) int { return strings.Compare(a.name, b.name) })
	return list
}

// same counts the lines that two places share.
func same(a, b []line) (n int) {
	for n < len(a) && n < len(b) && a[n].text == b[n].text {
		n++
	}
	return n
}

// counting returns the lines of a file that count.
func counting(s source) (list []line) {
	imports := 0
	for _, i := range s.tree.Imports {
		imports = max(imports, int(i.End()-s.tree.FileStart))
	}
	imports = strings.Count(s.text[:imports], "\n") + 1
	if len(s.tree.Imports) == 0 {
		imports = 0
	}
	for i, text := range strings.Split(s.text, "\n") {
		text = strings.TrimSpace(text)
		if i < imports || strings.HasPrefix(text, "//") || strings.Trim(text, "(){}[],;") == "" {
			continue
		}
		list = append(list, line{text, i + 1})
	}
	return list
}
