package regex

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
)

// tableSize is how many transitions an automaton keeps: 128 KiB of them.
const tableSize = 1 << 16

// A state is its number times the number of classes: the place of its first transition in the table.
type state = uint16

// dfa is the automaton over bytes, built while it runs. A state is a set of instructions that are next; a transition is
// worked out when it is first taken, and then kept in the table. When the table is full it is emptied and begun anew.
// A dfa is for one goroutine.
type dfa struct {
	*nfa
	// table has a transition for each state and class: table[state+class] is the next state. Indexing by 16 bits needs
	// no check of bounds.
	table *[tableSize]state
	// The first three states are special: unknown (0) is a transition not yet worked out, matched means that the line
	// matches, dead that it cannot match any more. begin is the state at the begin of a line.
	matched, dead, begin state
	sets                 []set
	numbers              map[string]state
	// room is how many states the table has room for.
	room int
	// emptied counts how often the table was emptied; states from before are void.
	emptied int

	key   []byte
	seen  []uint32 // per instruction: the last round that met it
	round uint32
	stack []uint32
	ready []uint32 // instructions of the current round that wait for a byte
}

// set is what a state stands for: the instructions that are next, sorted, and what stands before.
type set struct {
	insts  []uint32
	before before
}

type before uint8

const (
	atBegin   before = 1 << iota // the begin of the line
	afterWord                    // a word character
)

const unknown state = 0

func newDFA(n *nfa) *dfa {
	d := &dfa{nfa: n, table: new([tableSize]state), seen: make([]uint32, len(n.insts))}
	d.room = tableSize / n.classes
	d.matched, d.dead = state(n.classes), state(2*n.classes)
	d.empty()
	return d
}

// empty forgets all states but the special ones and the begin.
func (d *dfa) empty() {
	clear(d.table[:])
	d.sets = make([]set, 3, 64)
	d.numbers = map[string]state{}
	d.begin = d.intern(nil, atBegin)
	for c := range state(d.classes) {
		d.table[d.dead+c] = d.dead
	}
	d.table[d.dead+state(d.eol)] = d.begin
}

// intern returns the state of a set of instructions. There must be room for one more.
func (d *dfa) intern(insts []uint32, b before) state {
	d.key = append(d.key[:0], byte(b))
	for _, i := range insts {
		d.key = binary.LittleEndian.AppendUint32(d.key, i)
	}
	if s, ok := d.numbers[string(d.key)]; ok {
		return s
	}
	s := state(len(d.sets) * d.classes)
	d.sets = append(d.sets, set{slices.Clone(insts), b})
	d.numbers[string(d.key)] = s
	return s
}

// step works out the transition of s by class c. It may empty the table; what it returns is valid in any case.
func (d *dfa) step(s state, c uint8) state {
	from := d.sets[int(s)/d.classes]
	if d.follow(from, c) {
		d.table[s+state(c)] = d.matched
		return d.matched
	}
	if c == d.eol {
		d.table[s+state(c)] = d.begin
		return d.begin
	}
	next, b := d.move(d.sample[c])
	if len(next) == 0 && d.anchored {
		d.table[s+state(c)] = d.dead
		return d.dead
	}
	if len(d.sets) >= d.room {
		d.emptied++
		d.empty()
		return d.intern(next, b)
	}
	to := d.intern(next, b)
	d.table[s+state(c)] = to
	return to
}

// follow collects in ready what the instructions of a set lead to before a byte of class c, and reports whether one of
// them is a match.
func (d *dfa) follow(from set, c uint8) (match bool) {
	holds := d.conditions(from.before, c)
	d.nextRound()
	d.ready = d.ready[:0]
	d.stack = append(d.stack[:0], from.insts...)
	if !d.anchored || from.before&atBegin != 0 {
		d.stack = append(d.stack, d.start)
	}
	for len(d.stack) > 0 {
		i := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if d.seen[i] == d.round {
			continue
		}
		d.seen[i] = d.round
		switch in := &d.insts[i]; in.op {
		case opMatch:
			return true
		case opByte:
			d.ready = append(d.ready, i)
		case opSplit:
			d.stack = append(d.stack, in.arg, in.out)
		case opJump:
			d.stack = append(d.stack, in.out)
		case opAssert:
			if in.cond&^holds == 0 {
				d.stack = append(d.stack, in.out)
			}
		}
	}
	return false
}

// conditions returns what holds between what stands before and a byte of class c. Before a carriage return the end of
// the line may come or not: it is said to hold.
func (d *dfa) conditions(b before, c uint8) (holds syntax.EmptyOp) {
	if !d.asserts {
		return 0
	}
	sample := d.sample[c]
	if b&atBegin != 0 {
		holds |= syntax.EmptyBeginLine | syntax.EmptyBeginText
	}
	if c == d.eol || sample == '\r' {
		holds |= syntax.EmptyEndLine | syntax.EmptyEndText
	}
	if (b&afterWord != 0) != isWord(sample) {
		return holds | syntax.EmptyWordBoundary
	}
	return holds | syntax.EmptyNoWordBoundary
}

// move returns where the ready instructions go by byte c.
func (d *dfa) move(c byte) (next []uint32, b before) {
	d.nextRound()
	for _, i := range d.ready {
		in := &d.insts[i]
		if in.lo <= c && c <= in.hi && d.seen[in.out] != d.round {
			d.seen[in.out] = d.round
			next = append(next, in.out)
		}
	}
	slices.Sort(next)
	if d.asserts && isWord(c) {
		b = afterWord
	}
	return next, b
}

func (d *dfa) nextRound() {
	if d.round++; d.round == 0 {
		clear(d.seen)
		d.round = 1
	}
}
