package files

import "strings"

// indentLike returns the new text indented as the matched lines are: part are the lines of the file, want those of
// the old text that matched them, ignoring indentation.
//
// A line of the new text that stands unchanged in the file is taken from there. Others get the indentation that the
// file has where the old text has theirs; what the old text does not have is made from the nearest it has.
func indentLike(part []fileLine, want []string, text string) string {
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	pairs := align(want, lines)
	rule := newIndentRule(part, want, lines)
	for j, line := range lines {
		if trim(line) == "" {
			lines[j] = ""
			continue
		}
		indent, body := cutIndent(line)
		if i := pairs[j]; i >= 0 {
			oldIndent, oldBody := cutIndent(want[i])
			fileIndent, _ := cutIndent(part[i].text)
			if oldIndent == indent {
				if strings.TrimRight(oldBody, blanks) == strings.TrimRight(body, blanks) {
					lines[j] = part[i].text
				} else {
					lines[j] = fileIndent + body
				}
				rule.last[indent] = fileIndent
				continue
			}
		}
		lines[j] = rule.convert(indent) + body
	}
	return strings.Join(lines, "\n")
}

func cutIndent(line string) (indent, body string) {
	body = strings.TrimLeft(line, blanks)
	return line[:len(line)-len(body)], body
}

// align says for each new line which old line it stands for, -1 for none: line by line where there are equally many,
// otherwise those that are the same from the start and from the end.
func align(old, lines []string) []int {
	pairs := make([]int, len(lines))
	same := func(i, j int) bool { return trim(old[i]) == trim(lines[j]) }
	head := 0
	for head < len(old) && head < len(lines) && same(head, head) {
		head++
	}
	tail := 0
	for tail < min(len(old), len(lines))-head && same(len(old)-1-tail, len(lines)-1-tail) {
		tail++
	}
	for j := range lines {
		switch {
		case j < head || len(old) == len(lines):
			pairs[j] = j
		case j >= len(lines)-tail:
			pairs[j] = len(old) - len(lines) + j
		default:
			pairs[j] = -1
		}
	}
	return pairs
}

// indentRule turns indentation of the old text into that of the file.
type indentRule struct {
	// last is the file's indentation where the old text has the key's, as seen last.
	last map[string]string
	// prefix is what the file's lines have more (added) or less, where that is the same for all.
	prefix         string
	added, removed bool
	// tab is how many spaces of one side are a tab of the other, 0 where both are written alike.
	tab    int
	toTabs bool
	// spaces and tabs are the first such pair of indentations.
	spaces, tabs int
}

func newIndentRule(part []fileLine, want, lines []string) *indentRule {
	r := &indentRule{last: map[string]string{}, added: true, removed: true}
	first := true
	for i, line := range want {
		if trim(line) == "" {
			continue
		}
		old, _ := cutIndent(line)
		file, _ := cutIndent(part[i].text)
		if _, ok := r.last[old]; !ok {
			r.last[old] = file
		}
		more, isMore := strings.CutSuffix(file, old)
		less, isLess := strings.CutSuffix(old, file)
		r.added = r.added && isMore && (first || more == r.prefix)
		r.removed = r.removed && isLess && (first || less == r.prefix)
		if r.added {
			r.prefix = more
		} else if r.removed {
			r.prefix = less
		}
		r.learnTab(old, file)
		first = false
	}
	if r.tabs > 0 && r.tab == 0 {
		r.tab = r.guessTab(want, lines)
	}
	return r
}

// learnTab finds how wide a tab is from two indentations, written in spaces on one side and in tabs on the other.
func (r *indentRule) learnTab(old, file string) {
	spaces, tabs, toTabs := old, file, true
	if strings.Contains(old, "\t") {
		spaces, tabs, toTabs = file, old, false
	}
	if r.tab != 0 || spaces == "" || tabs == "" || strings.Trim(spaces, " ") != "" || strings.Trim(tabs, "\t") != "" {
		return
	}
	if r.tabs == 0 {
		r.spaces, r.tabs, r.toTabs = len(spaces), len(tabs), toTabs
		return
	}
	wide, deep := len(spaces)-r.spaces, len(tabs)-r.tabs
	if toTabs == r.toTabs && deep != 0 && wide/deep > 0 && wide%deep == 0 {
		r.tab = wide / deep
	}
}

// guessTab is learnTab with a single pair: the step in which the call's own text is indented, or the pair's ratio.
func (r *indentRule) guessTab(texts ...[]string) int {
	step := 0
	for _, lines := range texts {
		for _, line := range lines {
			if indent, body := cutIndent(line); body != "" && r.toTabs {
				for wide := max(len(indent)-r.spaces, r.spaces-len(indent)); wide > 0; {
					step, wide = wide, step%wide
				}
			}
		}
	}
	if step == 0 {
		step = r.spaces / r.tabs
	}
	return step
}

// convert returns the file's form of an indentation.
func (r *indentRule) convert(indent string) string {
	if file, ok := r.last[indent]; ok {
		return file
	}
	switch {
	case r.added:
		return r.prefix + indent
	case r.removed:
		rest, ok := strings.CutPrefix(indent, r.prefix)
		if !ok {
			return ""
		}
		return rest
	}
	for n := len(indent) - 1; n >= 0; n-- {
		if file, ok := r.last[indent[:n]]; ok {
			return file + r.retab(indent[n:])
		}
	}
	return r.retab(indent)
}

func (r *indentRule) retab(s string) string {
	switch {
	case r.tab == 0:
		return s
	case r.toTabs:
		return strings.ReplaceAll(s, strings.Repeat(" ", r.tab), "\t")
	default:
		return strings.ReplaceAll(s, "\t", strings.Repeat(" ", r.tab))
	}
}
