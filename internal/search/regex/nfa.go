package regex

import (
	"encoding/binary"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// maxInsts is how many instructions an expression may have for an automaton to be made of it.
const maxInsts = 4096

type op uint8

const (
	opFail   op = iota
	opByte      // go to out by a byte from lo to hi
	opSplit     // go to out and to arg
	opJump      // go to out
	opAssert    // go to out where the conditions cond hold
	opMatch
)

type inst struct {
	op       op
	lo, hi   byte
	cond     syntax.EmptyOp
	out, arg uint32
}

// nfa is a program of package syntax as instructions over bytes. It matches at least what the program matches: see
// confirm. It does not change once it is made.
type nfa struct {
	insts []inst
	start uint32
	// anchored says that every match begins at the begin of a line.
	anchored bool
	// asserts says that there are conditions, so that what stands before and after a place matters.
	asserts bool
	// begin says that the begin of the text is asked for, end that the end of a line or of the text is.
	begin, end bool
	// ascii says that no instruction looks at a byte outside ASCII.
	ascii bool
	// wide says that non-ASCII characters are not told apart, cr that a carriage return at the end of a line may be
	// taken for a part of it.
	wide, cr bool

	// class gives each byte its class: bytes of a class are the same to every instruction. eol is the class of \n.
	class   [256]uint8
	classes int
	eol     uint8
	// sample is a byte of each class.
	sample []byte
}

func newNFA(p *syntax.Prog) *nfa {
	n := &nfa{insts: make([]inst, len(p.Inst)), start: uint32(p.Start), ascii: true}
	for i := range p.Inst {
		in := &p.Inst[i]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			n.insts[i] = inst{op: opSplit, out: in.Out, arg: in.Arg}
		case syntax.InstCapture, syntax.InstNop:
			n.insts[i] = inst{op: opJump, out: in.Out}
		case syntax.InstEmptyWidth:
			n.assert(i, syntax.EmptyOp(in.Arg), in.Out)
		case syntax.InstMatch:
			n.insts[i] = inst{op: opMatch}
		case syntax.InstFail:
		default:
			n.runes(i, ranges(in), in.Out)
		}
	}
	n.anchored = p.StartCond()&(syntax.EmptyBeginText|syntax.EmptyBeginLine) != 0
	return n
}

func (n *nfa) assert(at int, cond syntax.EmptyOp, out uint32) {
	n.insts[at] = inst{op: opAssert, cond: cond, out: out}
	n.asserts = true
	n.begin = n.begin || cond&syntax.EmptyBeginText != 0
	if cond&(syntax.EmptyEndLine|syntax.EmptyEndText) != 0 {
		n.end, n.cr = true, true
	}
	if cond&syntax.EmptyNoWordBoundary != 0 {
		n.wide, n.cr = true, true // there is one inside every character of several bytes, and between \r and \n
	}
}

// ranges returns the characters that an instruction matches, as pairs of bounds.
func ranges(in *syntax.Inst) []rune {
	switch in.Op {
	case syntax.InstRuneAny:
		return []rune{0, unicode.MaxRune}
	case syntax.InstRuneAnyNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}
	case syntax.InstRune1:
		return []rune{in.Rune[0], in.Rune[0]}
	}
	if len(in.Rune) != 1 {
		return in.Rune
	}
	r := in.Rune[0]
	list := []rune{r, r}
	if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			list = append(list, f, f)
		}
	}
	return list
}

func (n *nfa) emit(in inst) uint32 {
	n.insts = append(n.insts, in)
	return uint32(len(n.insts) - 1)
}

// maxSpelled is how many characters outside ASCII a class spells out byte by byte. A larger one is widened.
const maxSpelled = 4

// runes makes instruction at a choice between the bytes of characters, all of which lead to out.
func (n *nfa) runes(at int, rs []rune, out uint32) {
	var ways []uint32
	var beyond []rune // characters outside ASCII
	wide := false
	for i := 0; i < len(rs); i += 2 {
		lo, hi := rs[i], rs[i+1]
		if lo < utf8.RuneSelf {
			last := min(hi, utf8.RuneSelf-1)
			n.cr = n.cr || lo <= '\r' && '\r' <= last
			ways = append(ways, n.emit(inst{op: opByte, lo: byte(lo), hi: byte(last), out: out}))
			lo = utf8.RuneSelf
		}
		for ; lo <= hi && !wide; lo++ {
			beyond = append(beyond, lo)
			wide = len(beyond) > maxSpelled || lo == utf8.RuneError
		}
	}
	switch {
	case wide:
		ways = append(ways, n.anyBeyond(out))
	default:
		for _, r := range beyond {
			ways = append(ways, n.spell(r, out))
		}
	}
	if len(ways) == 0 {
		return // nothing matches: opFail
	}
	next := ways[len(ways)-1]
	for i := len(ways) - 2; i >= 0; i-- {
		next = n.emit(inst{op: opSplit, out: ways[i], arg: next})
	}
	n.insts[at] = inst{op: opJump, out: next}
}

// anyBeyond leads to out by one or more bytes outside ASCII.
func (n *nfa) anyBeyond(out uint32) uint32 {
	n.wide, n.ascii = true, false
	b := n.emit(inst{op: opByte, lo: utf8.RuneSelf, hi: 0xff})
	n.insts[b].out = n.emit(inst{op: opSplit, out: out, arg: b})
	return b
}

// spell leads to out by the bytes of one character.
func (n *nfa) spell(r rune, out uint32) uint32 {
	n.ascii = false
	var buf [utf8.UTFMax]byte
	size := utf8.EncodeRune(buf[:], r)
	for i := size - 1; i >= 0; i-- {
		out = n.emit(inst{op: opByte, lo: buf[i], hi: buf[i], out: out})
	}
	return out
}

// classify finds the classes of bytes.
func (n *nfa) classify() {
	var cut [257]bool // where a new class begins
	for _, in := range n.insts {
		if in.op == opByte {
			cut[in.lo], cut[int(in.hi)+1] = true, true
		}
	}
	for c := 1; c < 256; c++ {
		cut[c] = cut[c] || n.asserts && isWord(byte(c)) != isWord(byte(c-1))
	}
	for _, c := range []byte{'\n', '\r'} {
		cut[c], cut[c+1] = true, true
	}
	ids := map[string]uint8{}
	for c := 0; c < 256; {
		key := n.signature(byte(c))
		id, ok := ids[key]
		if !ok {
			id = uint8(len(ids))
			ids[key] = id
			n.sample = append(n.sample, byte(c))
		}
		for n.class[c] = id; c+1 < 256 && !cut[c+1]; c++ {
			n.class[c+1] = id
		}
		c++
	}
	n.classes, n.eol = len(ids), n.class['\n']
}

// signature is equal for bytes that are the same to every instruction.
func (n *nfa) signature(c byte) string {
	if c == '\n' {
		return "end of line"
	}
	var key []byte
	for i, in := range n.insts {
		if in.op == opByte && in.lo <= c && c <= in.hi {
			key = binary.AppendUvarint(key, uint64(i)+1)
		}
	}
	key = append(key, 0)
	if n.asserts && isWord(c) {
		key = append(key, 'w')
	}
	if n.end && c == '\r' {
		key = append(key, 'r')
	}
	return string(key)
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// sure reports whether the automaton is exact about a line that it matches.
func (n *nfa) sure(line []byte) bool {
	if !n.wide && !n.cr {
		return true
	}
	for _, c := range line {
		if c >= utf8.RuneSelf && n.wide || c == '\r' && n.cr {
			return false
		}
	}
	return true
}
