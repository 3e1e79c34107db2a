package regex

import "bytes"

// span are the bounds of a line, without its \n.
type span struct{ start, end int }

// line reports whether the automaton matches one line.
func (d *dfa) line(line []byte) bool {
	s := d.begin
	for _, c := range line {
		class := d.class[c]
		next := d.table[s+state(class)]
		if next == unknown {
			next = d.step(s, class)
		}
		switch next {
		case d.matched:
			return true
		case d.dead:
			return false
		}
		s = next
	}
	return d.atEnd(s)
}

// atEnd reports whether a line that ends in state s matches.
func (d *dfa) atEnd(s state) bool {
	next := d.table[s+state(d.eol)]
	if next == unknown {
		next = d.step(s, d.eol)
	}
	return next == d.matched
}

// lanes is how many parts of a text are walked through at the same time. A single walk waits for the table at every
// byte; four of them wait together.
const lanes = 4

// lane is one walk: through text[start:end], now at position at in state s.
type lane struct {
	start, at, end int
	s              state
	found          []span
}

// walker holds the lanes of a text.
type walker struct {
	*dfa
	lanes [lanes]lane
}

// appendLines appends the bounds of the matching lines of text[from:to], which are whole lines.
func (w *walker) appendLines(found []span, text []byte, from, to int) []span {
	start := from
	for i := range w.lanes {
		end := to
		if i < lanes-1 {
			end = lineAfter(text, max(start, from+(to-from)*(i+1)/lanes), to)
		}
		w.lanes[i] = lane{start: start, at: start, end: end, s: w.begin, found: w.lanes[i].found[:0]}
		start = end
	}
	for emptied := w.emptied; w.emptied == emptied; { // lanes that void each other's states would not come ahead
		n := to
		for i := range w.lanes {
			n = min(n, w.lanes[i].end-w.lanes[i].at)
		}
		if n == 0 {
			break
		}
		w.together(text, n)
	}
	for i := range w.lanes {
		l := &w.lanes[i]
		for l.at < l.end {
			w.one(text, l)
		}
		w.finish(text, l)
		found = append(found, l.found...)
	}
	return found
}

// lineAfter returns the begin of the first line that starts after from, at most to.
func lineAfter(text []byte, from, to int) int {
	i := bytes.IndexByte(text[from:to], '\n')
	if i < 0 {
		return to
	}
	return from + i + 1
}

// together walks all lanes n bytes ahead, or until one of them needs a closer look, which all of them then get.
func (w *walker) together(text []byte, n int) {
	l0, l1, l2, l3 := &w.lanes[0], &w.lanes[1], &w.lanes[2], &w.lanes[3]
	t0 := text[l0.at:][:n]
	t1, t2, t3 := text[l1.at:][:n], text[l2.at:][:n], text[l3.at:][:n]
	s0, s1, s2, s3 := l0.s, l1.s, l2.s, l3.s
	class, table, dead := &w.class, w.table, w.dead
	i := 0
	for i < len(t0) && i < len(t1) && i < len(t2) && i < len(t3) {
		n0 := table[s0+state(class[t0[i]])]
		n1 := table[s1+state(class[t1[i]])]
		n2 := table[s2+state(class[t2[i]])]
		n3 := table[s3+state(class[t3[i]])]
		if min(n0, n1, n2, n3) < dead {
			break
		}
		s0, s1, s2, s3 = n0, n1, n2, n3
		i++
	}
	l0.s, l1.s, l2.s, l3.s = s0, s1, s2, s3
	for k := range w.lanes {
		w.lanes[k].at += i
	}
	if i == n {
		return
	}
	for k := range w.lanes {
		w.one(text, &w.lanes[k])
	}
}

// one walks one byte ahead with a lane, or to the next line where this one is settled.
func (w *walker) one(text []byte, l *lane) {
	if l.at == l.end {
		return // by a match in the last line
	}
	class := w.class[text[l.at]]
	next := w.table[l.s+state(class)]
	if next == unknown {
		emptied := w.emptied
		if next = w.step(l.s, class); w.emptied != emptied {
			w.restart(text, l)
		}
	}
	switch next {
	case w.matched:
		start := lineStart(text, l.at)
		l.at = lineAfter(text, l.at, l.end)
		l.found = append(l.found, span{start, withoutEnd(text, start, l.at)})
		l.s = w.begin
	case w.dead:
		l.at = lineAfter(text, l.at, l.end)
		l.s = w.begin
		if l.at == l.end && text[l.end-1] != '\n' {
			l.s = w.dead
		}
	default:
		l.at++
		l.s = next
	}
}

// restart sends every lane but one back to the begin of its line, because its state is void.
func (w *walker) restart(text []byte, but *lane) {
	for i := range w.lanes {
		l := &w.lanes[i]
		if l != but && l.at < l.end {
			l.at, l.s = lineStart(text, l.at), w.begin
		}
	}
}

// finish settles the last line of a lane, where it has no end.
func (w *walker) finish(text []byte, l *lane) {
	if l.start == l.end || text[l.end-1] == '\n' || l.s == w.dead {
		return
	}
	start := lineStart(text, l.end)
	if n := len(l.found); n > 0 && l.found[n-1].start == start {
		return
	}
	if w.line(text[start:l.end]) {
		l.found = append(l.found, span{start, l.end})
	}
}

func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

// withoutEnd returns the end of the line text[start:next] without its \n.
func withoutEnd(text []byte, start, next int) int {
	if next > start && text[next-1] == '\n' {
		return next - 1
	}
	return next
}
