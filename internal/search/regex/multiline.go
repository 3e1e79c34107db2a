package regex

// nextMultiline finds the lines that the next match touches. A text that lacks a literal is not looked at further.
func (s *Scanner) nextMultiline() (start, end int, ok bool) {
	if s.at == 0 && !s.holdsAll() {
		s.at = len(s.text)
	}
	for s.at < len(s.text) {
		from, to := s.nextMatch()
		if from < 0 || from == len(s.text) && s.text[from-1] == '\n' {
			s.at = len(s.text) // behind the last line end there is no line
			break
		}
		next := lineAfter(s.text, max(from, to-1), len(s.text))
		if next <= s.at {
			continue // all its lines were found already
		}
		start = max(s.at, lineStart(s.text, from))
		s.at = next
		return start, trimmed(s.text, start, withoutEnd(s.text, start, next)), true
	}
	return 0, 0, false
}

// holdsAll reports whether the text holds a literal of every clause.
func (s *Scanner) holdsAll() bool {
	for _, clause := range s.must {
		found := false
		for _, f := range clause {
			if found = f.Index(s.text) >= 0; found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// batch is how many matches are found at a time, so that a text of nothing but matches costs little memory. The next
// batch starts with the line after the last match.
const batch = 4096

// nextMatch returns the bounds of the next match, or -1.
func (s *Scanner) nextMatch() (from, to int) {
	if len(s.all) == 0 && !s.last {
		n := batch
		if s.m.begin {
			n = -1 // only the text as a whole has the right begin
		}
		s.base = s.at
		s.all = s.m.re.FindAllSubmatchIndex(s.text[s.at:], n)
		s.last = len(s.all) != n
	}
	if len(s.all) == 0 {
		return -1, -1
	}
	at, group := s.all[0], 2*s.m.group
	s.all = s.all[1:]
	return s.base + at[group], s.base + at[group+1]
}
