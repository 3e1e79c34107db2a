package ignore

import "strings"

// set is a set of bytes.
type set [4]uint64

func (s *set) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func (s *set) add(c byte) { s[c>>6] |= 1 << (c & 63) }

// parseClass reads the class that begins at s[i], which is "[". It returns the place behind it, and false where the
// class does not end or names a kind of character that there is none of.
func parseClass(s string, i int, fold bool) (*set, int, bool) {
	i++
	negated := i < len(s) && (s[i] == '!' || s[i] == '^')
	if negated {
		i++
	}
	in := &set{}
	// previous is the byte that a range could begin with, 0 where there is none. The first byte is in the class even
	// if it is "]".
	previous := byte(0)
	for first := true; ; first = false {
		if i >= len(s) {
			return nil, 0, false
		}
		if s[i] == ']' && !first {
			break
		}
		next, ok := 0, true
		switch {
		case s[i] == '-' && previous != 0 && i+1 < len(s) && s[i+1] != ']':
			next, ok = addRange(in, s, i+1, previous, fold)
			previous = 0
		case strings.HasPrefix(s[i:], "[:"):
			if next, ok = addNamed(in, s, i+2, fold); next == 0 && ok {
				in.add('[')
				previous, next = '[', i+1
			} else {
				previous = 0
			}
		default:
			if s[i] == '\\' {
				if i++; i == len(s) {
					return nil, 0, false
				}
			}
			in.add(s[i])
			previous, next = s[i], i+1
		}
		if !ok {
			return nil, 0, false
		}
		i = next
	}
	return finish(in, negated, fold), i + 1, true
}

// finish turns the set of what the class says into the set of the bytes it matches. Text is folded before it is
// looked up, so that an upper-case letter that stands in a class by itself matches nothing then.
func finish(in *set, negated, fold bool) *set {
	out := &set{}
	for c := range 256 {
		b := byte(c)
		if fold {
			b = lowerByte(b)
		}
		if in.has(b) != negated {
			out.add(byte(c))
		}
	}
	return out
}

// addRange adds the bytes from low to the one at s[i].
func addRange(in *set, s string, i int, low byte, fold bool) (next int, ok bool) {
	if s[i] == '\\' {
		if i++; i == len(s) {
			return 0, false
		}
	}
	for c := int(low); c <= int(s[i]); c++ {
		in.add(byte(c))
		if fold {
			in.add(lowerByte(byte(c)))
		}
	}
	return i + 1, true
}

// addNamed adds the kind of character whose name begins at s[i], behind "[:". It returns 0, true where there is no
// such name but a plain "[".
func addNamed(in *set, s string, i int, fold bool) (next int, ok bool) {
	end := strings.IndexByte(s[i:], ']')
	if end < 0 {
		return 0, false
	}
	name, found := strings.CutSuffix(s[i:i+end], ":")
	if !found {
		return 0, true
	}
	is := kind(name, fold)
	if is == nil {
		return 0, false
	}
	for c := range byte(128) {
		if is(c) {
			in.add(c)
		}
	}
	return i + end + 1, true
}

// kind returns what tells whether an ASCII character is of the named kind, nil for an unknown name.
func kind(name string, fold bool) func(c byte) bool {
	digit := func(c byte) bool { return '0' <= c && c <= '9' }
	small := func(c byte) bool { return 'a' <= c && c <= 'z' }
	large := func(c byte) bool { return 'A' <= c && c <= 'Z' }
	alpha := func(c byte) bool { return small(c) || large(c) }
	// Git knows four characters as space: not the vertical tab, not the form feed.
	space := func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
	switch name {
	case "alnum":
		return func(c byte) bool { return alpha(c) || digit(c) }
	case "alpha":
		return alpha
	case "blank":
		return func(c byte) bool { return c == ' ' || c == '\t' }
	case "cntrl":
		return func(c byte) bool { return c < ' ' || c == 0x7f }
	case "digit":
		return digit
	case "graph":
		return func(c byte) bool { return c > ' ' && c < 0x7f }
	case "lower":
		return small
	case "print":
		return func(c byte) bool { return c >= ' ' && c < 0x7f }
	case "punct":
		return func(c byte) bool { return c > ' ' && c < 0x7f && !alpha(c) && !digit(c) }
	case "space":
		return space
	case "upper":
		return func(c byte) bool { return large(c) || fold && small(c) }
	case "xdigit":
		return func(c byte) bool { return digit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
	default:
		return nil
	}
}
