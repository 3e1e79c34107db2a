package secrets

import (
	"slices"
	"strings"
)

// A text can hold commands anywhere: in a script, in a string of a program, in JSON inside JSON. They are found by the
// names of programs that take secrets, and read from there on by the rules of a shell, as far as a text that may not be
// one allows.

// argument is a word in a text: what it says, and where each of its bytes stands.
type argument struct {
	text []byte
	at   []int
}

// quoteMark is a quotation mark and how often it is escaped: in JSON inside JSON the inner one is \" or \\\".
type quoteMark struct {
	char  byte
	depth int
}

// reader reads words from a text, and ends where the command does.
type reader struct {
	text string
	pos  int
	// stop is where it must end at the latest; around is the quotation mark that the command stands in, zero for none.
	stop   int
	around quoteMark
	// looked is how many bytes were looked at for the end of a quotation.
	looked int
}

const maxWords = 512

// commands returns the secrets in the commands of a text.
func commands(text string) (found []Match) {
	budget := 4*len(text) + 64<<10 // what may be read again: a program may stand in the arguments of another
	open := quoting{text: text}
	for i := 0; i < len(text); i++ {
		if !starts[text[i]] || i > 0 && nameByte(text[i-1]) && !escape(text, i-1) || escape(text, i) {
			continue
		}
		end := i
		for end < len(text) && nameByte(text[end]) {
			end++
		}
		if !endsName(text, end) {
			i = max(i, end-1)
			continue
		}
		kind := kindOf(strings.TrimSuffix(text[i:end], ".exe"))
		if kind == noProgram {
			i = max(i, end-1)
			continue
		}
		if budget <= 0 { // not a text that anybody wrote: what cannot be checked is not kept
			line := lineEnd(text[end:])
			found = append(found, Match{end, end + line, "unchecked"})
			i = end + line
			continue
		}
		r := reader{text: text, pos: i, stop: len(text), around: open.at(i)}
		budget -= r.find(kind, &found)
		i = end - 1
	}
	return found
}

// escape reports whether the byte at i is the second of a line end or tab inside a string of another language: \\n.
func escape(text string, i int) bool {
	return i > 0 && text[i-1] == '\\' && strings.IndexByte("nrt", text[i]) >= 0
}

func lineEnd(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}

type programKind int

const (
	noProgram programKind = iota
	taker                 // takes secrets as arguments
	feeder                // writes what the next program reads
)

func kindOf(name string) programKind {
	switch name {
	case "echo", "printf":
		return feeder
	case "htpasswd", "mkpasswd", "wpa_passphrase":
		return taker
	}
	if programs[name] != nil || hasReader(name) {
		return taker
	}
	return noProgram
}

func hasReader(name string) bool { _, ok := readers[name]; return ok }

func nameByte(c byte) bool { return classes[c]&dashed != 0 || c == '.' || c == '+' }

// endsName reports whether what follows a name leaves it one: a space, a quotation mark, a redirection, or nothing.
func endsName(text string, end int) bool {
	return end < len(text) && strings.IndexByte(" \t\\\"'<", text[end]) >= 0
}

// find adds the secrets of the command at pos, and returns how many bytes it read.
func (r *reader) find(kind programKind, found *[]Match) int {
	start := r.pos
	words, here := r.command()
	if kind == feeder {
		if r.pos < r.stop && r.text[r.pos] == '|' {
			r.pos++
			if next, _ := r.command(); readsSecret(strs(next)) {
				for _, w := range words[1:] {
					addWhole(found, w)
				}
			}
		}
		return r.pos - start + r.looked
	}
	argv := strs(words)
	for _, s := range programSecrets(argv) {
		w := words[s.arg]
		last := w.at[s.end-1] + 1
		*found = append(*found, Match{w.at[s.start], last, "secret"})
	}
	if here != nil && readsSecret(argv) {
		addWhole(found, *here)
	}
	return r.pos - start + r.looked
}

func addWhole(found *[]Match, w argument) {
	if text := string(w.text); text != "" && text[0] != '%' && !isFlag(text) && !reference(text) {
		*found = append(*found, Match{w.at[0], w.at[len(w.at)-1] + 1, "secret"})
	}
}

func strs(words []argument) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w.text)
	}
	return list
}

// command reads the words up to the end of a command, and the word that stands behind <<<.
func (r *reader) command() (words []argument, here *argument) {
	for len(words) < maxWords {
		r.blanks()
		if strings.HasPrefix(r.text[r.pos:r.stop], "<<<") {
			r.pos += 3
			r.blanks()
			if w, ok := r.word(); ok {
				here = &w
			}
			continue
		}
		w, ok := r.word()
		if !ok {
			break
		}
		words = append(words, w)
		if !r.listed() && len(words) == 1 {
			r.quotedName()
		}
	}
	return words, here
}

// blanks moves over spaces, and over the end of a line that goes on.
func (r *reader) blanks() {
	for r.pos < r.stop {
		switch c := r.text[r.pos]; {
		case c == ' ' || c == '\t':
			r.pos++
		case c == '\\' && r.pos+1 < r.stop && r.text[r.pos+1] == '\n':
			r.pos += 2
		default:
			return
		}
	}
}

// listed moves over what divides the strings of a list in a program, ["curl", "-u", "a:b"] or {"command": "curl", "args":
// ["-u", "a:b"]}, and reports whether that was there.
func (r *reader) listed() bool {
	mark, width := r.mark(r.pos)
	if width == 0 || mark != r.around {
		return false
	}
	i, comma := r.divided(r.pos + width)
	next, width := r.mark(i)
	if !comma || width == 0 || next.depth != r.around.depth {
		return false
	}
	i += width
	for _, key := range [...]string{"args", "arguments", "argv"} {
		if !strings.HasPrefix(r.text[i:r.stop], key) {
			continue
		}
		end := i + len(key)
		if m, width := r.mark(end); width > 0 && m == next {
			at, _ := r.divided(end + width)
			if m, width := r.mark(at); width > 0 && m.depth == next.depth {
				i, next = at+width, m
			}
		}
		break
	}
	r.pos, r.around = i, next
	return true
}

// divided moves over what stands between strings, and reports whether a comma was there.
func (r *reader) divided(i int) (at int, comma bool) {
	for ; i < r.stop && strings.IndexByte(" \t\n,:[(", r.text[i]) >= 0; i++ {
		comma = comma || r.text[i] == ','
	}
	return i, comma
}

// quotedName moves over a quotation mark that ends the name of the program and not the command: "/opt/my curl" -u a:b.
func (r *reader) quotedName() {
	mark, width := r.mark(r.pos)
	if end := r.pos + width; width > 0 && mark == r.around && end < r.stop && (r.text[end] == ' ' || r.text[end] == '\t') {
		r.pos, r.around = end, quoteMark{}
	}
}

// mark returns the quotation mark at i and its width with its backslashes, 0 where there is none.
func (r *reader) mark(i int) (quoteMark, int) { return markAt(r.text[:r.stop], i) }

func markAt(text string, i int) (quoteMark, int) {
	depth := 0
	for i+depth < len(text) && depth < 16 && text[i+depth] == '\\' {
		depth++
	}
	if k := i + depth; k < len(text) && (text[k] == '"' || text[k] == '\'') {
		return quoteMark{text[k], depth}, depth + 1
	}
	return quoteMark{}, 0
}

// word reads one word. It reports false at the end of the command.
func (r *reader) word() (w argument, ok bool) {
	for r.pos < r.stop {
		if q, width := r.mark(r.pos); width > 0 {
			if r.ends(q) {
				break
			}
			closing := r.closing(q, r.pos+width)
			if closing < 0 {
				break
			}
			ok = true
			for k := r.pos + width; k < closing; k++ {
				w.text, w.at = append(w.text, r.text[k]), append(w.at, k)
			}
			r.pos = closing + width
			continue
		}
		c := r.text[r.pos]
		if c == '$' && r.pos+1 < r.stop && (r.text[r.pos+1] == '\'' || r.text[r.pos+1] == '"') {
			r.pos++ // $'...'
			continue
		}
		if mark := markEnd(r.text[:r.stop], r.pos); mark > 0 { // one word, though it has a space
			for ; r.pos < mark; r.pos++ {
				w.text, w.at, ok = append(w.text, r.text[r.pos]), append(w.at, r.pos), true
			}
			continue
		}
		if c == '\\' && r.pos+1 < r.stop {
			next := r.text[r.pos+1]
			if next == '\n' || r.around.char != 0 && strings.IndexByte("nrt", next) >= 0 {
				break // a line end inside a string of another language
			}
			r.pos++
			c = next
		} else if strings.IndexByte(" \t\r\n;|&)`", c) >= 0 || c == '<' && len(w.text) == 0 {
			break
		}
		w.text, w.at, ok = append(w.text, c), append(w.at, r.pos), true
		r.pos++
	}
	return w, ok
}

// markEnd returns the end of the mark of ours at i, 0 where there is none.
func markEnd(text string, i int) int {
	if text[i] != markPrefix[0] || !strings.HasPrefix(text[i:], markPrefix) {
		return 0
	}
	end := strings.IndexByte(text[i:min(len(text), i+maxName)], ']')
	if end < 0 {
		return 0
	}
	return i + end + 1
}

// ends reports whether a quotation mark is the end of the string that the command stands in.
func (r *reader) ends(q quoteMark) bool {
	return r.around.char != 0 && (q.depth < r.around.depth || q.depth == r.around.depth && q.char == r.around.char)
}

// closing returns where the quotation mark is that ends what one opens, negative where there is none before the end.
func (r *reader) closing(q quoteMark, from int) int {
	for i := from; i < r.stop; i++ {
		r.looked++
		c := r.text[i]
		if c != '\\' && c != '"' && c != '\'' {
			continue
		}
		m, width := r.mark(i)
		switch {
		case width == 0:
			if q.char == '"' {
				i++ // an escaped character
			}
		case m == q:
			return i
		case r.ends(m):
			return -1
		default:
			i += width - 1
		}
	}
	return -1
}

// quoting knows which quotation mark is open at a place of a text. Places are asked for in order.
type quoting struct {
	text string
	pos  int
	open quoteMark
}

func (c *quoting) at(at int) quoteMark {
	for c.pos < at {
		ch := c.text[c.pos]
		switch {
		case ch == '\n':
			c.open = quoteMark{}
		case ch == '\\' || ch == '"' || ch == '\'':
			m, width := markAt(c.text, c.pos)
			if width == 0 {
				c.pos++
				break
			}
			apostrophe := m.char == '\'' && c.pos > 0 && classes[c.text[c.pos-1]]&alnum != 0 &&
				c.pos+1 < len(c.text) && classes[c.text[c.pos+1]]&alnum != 0
			switch {
			case apostrophe:
			case c.open.char == 0:
				c.open = m
			case m == c.open || m.depth < c.open.depth:
				c.open = quoteMark{}
			}
			c.pos += width - 1
		}
		c.pos++
	}
	return c.open
}

// merge puts matches in order and joins those that overlap.
func merge(found []Match) []Match {
	if len(found) < 2 {
		return found
	}
	slices.SortStableFunc(found, func(a, b Match) int { return a.Start - b.Start })
	merged := found[:1]
	for _, m := range found[1:] {
		last := &merged[len(merged)-1]
		if m.Start < last.End {
			last.End = max(last.End, m.End)
			continue
		}
		merged = append(merged, m)
	}
	return merged
}
