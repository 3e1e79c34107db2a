package regex

import (
	"bytes"

	"github.com/tongs-ai/tongs/internal/search/literal"
)

// Scanner finds the matching lines of texts, one text after the other. It is for one goroutine at a time.
type Scanner struct {
	m    *Matcher
	text []byte
	// at is the begin of the first line that nobody looked at yet.
	at  int
	dfa *dfa
	// walk looks at many lines at once; found are the matching ones that were not returned yet.
	walk  walker
	found []span
	taken int
	// slow says that the automaton does not pay: its states do not fit the table. looked counts the bytes that it
	// looked at, filled those until its table was emptied last.
	slow           bool
	looked, filled int64
	// vain counts lines that held a literal and did not match, skipped the bytes that nobody had to look at because
	// there was no literal, and unaided is how many bytes are to be looked at without literals.
	vain, skipped, unaided int
	// must are finders of all the literals that a multiline match needs.
	must [][]*literal.Finder
	// all are further matches of a multiline search, from base on; last says that there are no more behind them.
	all  [][]int
	base int
	last bool
}

// Scanner returns a scanner. Release gives it back, which saves making another one.
func (m *Matcher) Scanner() *Scanner {
	if s, ok := m.pool.Get().(*Scanner); ok {
		return s
	}
	s := &Scanner{m: m, slow: m.nfa == nil}
	if m.opt.Multiline {
		for _, clause := range m.need.clauses {
			s.must = append(s.must, findersOf(clause))
		}
	}
	return s
}

// Release ends the use of a scanner.
func (s *Scanner) Release() {
	s.Reset(nil)
	s.m.pool.Put(s)
}

// Reset starts a new text: whole lines, of which the last may lack its end. The text must not change until the next
// Reset.
func (s *Scanner) Reset(text []byte) {
	s.text, s.at = text, 0
	s.found, s.taken = s.found[:0], 0
	s.all, s.last = nil, false
}

// Next returns the bounds of the next matching line, without its end. In a multiline search they are the bounds of all
// the lines that a match touches.
func (s *Scanner) Next() (start, end int, ok bool) {
	if s.m.opt.Multiline {
		return s.nextMultiline()
	}
	for {
		if start, end, ok = s.take(); ok {
			return start, end, true
		}
		switch {
		case s.at >= len(s.text) || s.m.need.never:
			return 0, 0, false
		case s.m.literals != nil && s.unaided <= 0:
			start, end, ok = s.byLiteral()
		case s.slow:
			start, end, ok = s.byLine()
		default:
			s.byAutomaton()
		}
		if ok {
			return start, end, true
		}
	}
}

// take returns the next line that the automaton found, if package regexp agrees where it must.
func (s *Scanner) take() (start, end int, ok bool) {
	for s.taken < len(s.found) {
		line := s.found[s.taken]
		s.taken++
		end = trimmed(s.text, line.start, line.end)
		if s.dfa.sure(s.text[line.start:line.end]) || s.m.re.Match(s.text[line.start:end]) {
			return line.start, end, true
		}
	}
	return 0, 0, false
}

const (
	// Looking for literals pays if it skips more than minSkip bytes for each line that held one in vain, or minNear where
	// a look at the borders of a literal is enough to know. That is judged after every maxVain of them; where it does
	// not pay, the next unaidedSize bytes are looked at without.
	minSkip     = 192
	minNear     = 24
	maxVain     = 64
	unaidedSize = 1 << 20
)

// byLiteral looks for literals, and at the lines that hold one.
func (s *Scanner) byLiteral() (start, end int, ok bool) {
	text, from := s.text, s.at
	for s.at < len(text) {
		left, right, next := s.m.literals.Find(text, from)
		if left < 0 {
			s.skipped += len(text) - from
			s.at = len(text)
			break
		}
		s.skipped += left - from
		start = s.at + bytes.LastIndexByte(text[s.at:left], '\n') + 1
		follow := lineAfter(text, left, len(text))
		end = trimmed(text, start, withoutEnd(text, start, follow))
		least := minSkip
		if s.m.need.pure {
			if s.m.need.fits(text[start:end], left-start, right-start) {
				s.at = follow
				return start, end, true
			}
			s.at, from, least = start, next, minNear // there may be another one in the same line
		} else {
			s.at, from = follow, follow
			if s.matches(text[start:end]) {
				return start, end, true
			}
		}
		if !s.worthwhile(least) {
			break
		}
	}
	return 0, 0, false
}

// worthwhile counts a literal that was found in vain, and reports whether to go on looking for them.
func (s *Scanner) worthwhile(least int) bool {
	if s.vain++; s.vain < maxVain {
		return true
	}
	pays := s.skipped >= maxVain*least || s.slow
	s.vain, s.skipped = 0, 0
	if !pays {
		s.unaided = unaidedSize
	}
	return pays
}

// trimmed returns the end of a line without the carriage return of a \r\n. A line ends before its \n, or with the text.
func trimmed(text []byte, start, end int) int {
	if start < end && end < len(text) && text[end-1] == '\r' {
		return end - 1
	}
	return end
}

// matches decides about one line.
func (s *Scanner) matches(line []byte) bool {
	if s.slow {
		return s.m.re.Match(line)
	}
	d := s.automaton()
	matches := d.line(line)
	s.watch(len(line))
	return matches && (d.sure(line) || s.m.re.Match(line))
}

func (s *Scanner) automaton() *dfa {
	if s.dfa == nil {
		s.dfa = newDFA(s.m.nfa)
		s.walk.dfa = s.dfa
	}
	return s.dfa
}

// minLooked is how many bytes an automaton should look at before its table is full. An expression that fills it faster
// is better left to package regexp.
const minLooked = 1 << 20

// watch counts bytes that the automaton looked at, and turns to package regexp where its table is emptied too often.
func (s *Scanner) watch(n int) {
	s.looked += int64(n)
	if s.dfa.emptied == 0 {
		return
	}
	if s.looked-s.filled < minLooked*int64(s.dfa.emptied) {
		s.slow = true
	}
	s.filled, s.dfa.emptied = s.looked, 0
}

// chunk is how much text the automaton looks at before the lines that it found there are returned.
const chunk = 64 << 10

// byAutomaton looks at the next chunk as a whole.
func (s *Scanner) byAutomaton() {
	s.automaton()
	from, to := s.at, len(s.text)
	if to-from > chunk+chunk/4 {
		to = lineAfter(s.text, from+chunk, to)
	}
	s.found, s.taken = s.walk.appendLines(s.found[:0], s.text, from, to), 0
	s.at = to
	s.unaided -= to - from
	s.watch(to - from)
}

// byLine asks package regexp about every line.
func (s *Scanner) byLine() (start, end int, ok bool) {
	for s.at < len(s.text) {
		start = s.at
		s.at = lineAfter(s.text, start, len(s.text))
		s.unaided -= s.at - start
		end = trimmed(s.text, start, withoutEnd(s.text, start, s.at))
		if s.m.re.Match(s.text[start:end]) {
			return start, end, true
		}
	}
	return 0, 0, false
}
