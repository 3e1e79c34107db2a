package registry

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/nearest"
)

// Entry is a tool as it was found.
type Entry struct {
	Tool tongs.Tool
	// Shadowed is the built-in whose name or alias the tool took, nil for none. Its ask and blocked go on to hold.
	Shadowed *tongs.Spec
	// From is what the offer with the tool came from, and Kind that of its source, whatever the tool itself claims.
	From any
	Kind tongs.SourceKind
	slot *slot
}

// Set is a number of tools with distinct names. It never changes and is safe for concurrent use; a nil Set is empty.
type Set struct {
	offered  []*slot // in order of precedence, those with a fault too
	entries  []Entry // those that can be called
	words    map[string]Entry
	warnings []string
	faults   []Fault
}

// Lookup finds a tool by its name or one of its aliases.
func (s *Set) Lookup(name string) (Entry, bool) {
	if s == nil {
		return Entry{}, false
	}
	entry, ok := s.words[name]
	return entry, ok
}

// Entries returns the tools that can be called, in the order of their offers. A shadowed tool is not among them.
func (s *Set) Entries() []Entry {
	if s == nil {
		return nil
	}
	return slices.Clone(s.entries)
}

// Definitions returns the specs of the tools that can be called. Of a lazy tool it is the stand-in until the tool was
// made.
func (s *Set) Definitions() (specs []*tongs.Spec) {
	for _, entry := range s.Entries() {
		specs = append(specs, entry.slot.spec())
	}
	return specs
}

// Faults are the tools that were offered and cannot be called.
func (s *Set) Faults() []Fault {
	if s == nil {
		return nil
	}
	return slices.Clone(s.faults)
}

// Warnings says which built-in tools are shadowed, and by what.
func (s *Set) Warnings() []string {
	if s == nil {
		return nil
	}
	return slices.Clone(s.warnings)
}

// Nearest returns the names of up to three tools that somebody may have meant by name, the likeliest first.
func (s *Set) Nearest(name string) []string {
	if s == nil {
		return nil
	}
	words := make([]string, 0, len(s.words))
	for word := range s.words {
		words = append(words, word)
	}
	var names []string
	for _, word := range nearest.Words(name, words, len(words)) {
		if found := s.words[word].Tool.Spec().Name; !slices.Contains(names, found) {
			names = append(names, found)
		}
	}
	return names[:min(3, len(names))]
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// claim is a word that a tool is called by.
type claim struct {
	slot  *slot
	alias bool
}

// claims maps words to the tool that has them.
type claims map[string]claim

// check returns why the tool cannot have its words.
func (c claims) check(spec *tongs.Spec) error {
	for i, word := range words(spec) {
		kind := "name"
		if i > 0 {
			kind = "alias"
		}
		if !validName.MatchString(word) {
			return fmt.Errorf("%s %q of tool %q: want 1 to 64 of letters, digits, _ and -", kind, word, spec.Name)
		}
		taken := ""
		if other, ok := c[word]; ok {
			taken = describe(other.slot.tool.Spec())
		} else if i > 0 && slices.Contains(words(spec)[:i], word) {
			taken = describe(spec)
		}
		if taken != "" {
			return fmt.Errorf("%s %q of %s is taken by %s already; rename one, or replace it explicitly", kind, word, describe(spec), taken)
		}
	}
	return nil
}

func (c claims) add(s *slot) {
	for i, word := range words(s.tool.Spec()) {
		c[word] = claim{slot: s, alias: i > 0}
	}
}

// words are all that a tool is called by, its name first.
func words(spec *tongs.Spec) []string { return append([]string{spec.Name}, spec.Aliases...) }

func describe(spec *tongs.Spec) string {
	name := spec.Name
	if !spec.Source.BuiltIn() {
		return fmt.Sprintf("the %s tool %s (%s)", spec.Source.Kind, name, spec.Source.Name)
	}
	return "the tool " + name // ours, or one of the program that uses this package
}

// builder makes a set. Built-in tools have distinct words among themselves, and so have all others; one of the others
// may take a word of a built-in, which shadows it.
type builder struct {
	builtin, other claims
	slots          []*slot
	// shadowed is what a tool shadows; successor is the tool that has the name of a built-in now, which also answers to the
	// aliases that are left.
	shadowed  map[*slot]*tongs.Spec
	successor map[*slot]*slot
	warnings  []string
}

// build makes a set of the tools that are offered, the built-in ones before all others. Each is left out where it cannot
// be with those before it.
func build(offered []*slot) *Set {
	b := &builder{builtin: claims{}, other: claims{}, shadowed: map[*slot]*tongs.Spec{}, successor: map[*slot]*slot{}}
	var faults []Fault
	for _, builtIn := range []bool{true, false} {
		for _, s := range offered {
			if SameKind(s.kind, tongs.SourceBuiltin) != builtIn {
				continue
			}
			if err := b.admit(s); err != nil {
				faults = append(faults, faultOf(s, err))
			}
		}
	}
	set := b.set()
	set.offered, set.faults = offered, faults
	return set
}

// admit adds an offered tool, or returns why it cannot be offered.
func (b *builder) admit(s *slot) error {
	spec, err := specOf(s.tool)
	if err != nil {
		return err
	}
	if !SameKind(spec.Source.Kind, s.kind) {
		return fmt.Errorf("%s claims to be from a source of the kind %q, and is offered as one of the kind %q", spec.Name, spec.Source.Kind, s.kind)
	}
	if err := b.shadow(s, false); err != nil {
		return err
	}
	if err := b.claim(s, spec); err != nil {
		return err
	}
	return b.shadow(s, true)
}

func (b *builder) set() *Set {
	set := &Set{words: make(map[string]Entry, len(b.builtin)+len(b.other)), warnings: b.warnings}
	entry := func(s *slot) Entry {
		if next := b.successor[s]; next != nil {
			s = next
		}
		return Entry{Tool: s.tool, Shadowed: b.shadowed[s], From: s.from, Kind: s.kind, slot: s}
	}
	for _, s := range b.slots {
		if b.successor[s] == nil {
			set.entries = append(set.entries, entry(s))
		}
	}
	for word, c := range b.builtin {
		set.words[word] = entry(c.slot)
	}
	for word, c := range b.other {
		set.words[word] = entry(c.slot)
	}
	return set
}

// claim gives a tool its words, all or none.
func (b *builder) claim(s *slot, spec *tongs.Spec) error {
	group := b.other
	if spec.Source.BuiltIn() {
		group = b.builtin
	}
	if err := group.check(spec); err != nil {
		return err
	}
	group.add(s)
	b.slots = append(b.slots, s)
	return nil
}

// shadow returns why a tool cannot take the words of built-ins that it has, and notes what it takes where commit says so.
func (b *builder) shadow(s *slot, commit bool) error {
	spec := s.tool.Spec()
	if spec.Source.BuiltIn() {
		return nil
	}
	var below *tongs.Spec
	for i, word := range words(spec) {
		lost, ok := b.builtin[word]
		if !ok {
			continue
		}
		before := below
		below = lost.slot.tool.Spec()
		if err := mayShadow(spec, below, word, i > 0 && !lost.alias); err != nil {
			return err
		}
		if before != nil && before != below {
			return fmt.Errorf("%s takes words of two built-in tools, %s and %s; it may shadow one", describe(spec), before.Name, below.Name)
		}
		if !s.reviewed {
			return fmt.Errorf("%w; until it is, %s means the built-in tool", ErrUnapproved, word)
		}
		if !commit {
			continue
		}
		if before == nil {
			b.warnings = append(b.warnings, fmt.Sprintf("%s takes the word %q of %s", describe(spec), word, describe(below)))
		}
		b.shadowed[s] = below
		if !lost.alias {
			b.successor[lost.slot] = s
		}
	}
	return nil
}

func mayShadow(above, below *tongs.Spec, word string, aliasOverName bool) error {
	switch kind := above.Source.Kind; {
	case below.Control:
		return fmt.Errorf("%s cannot take the word %q: %s is a control tool, which nothing may shadow",
			describe(above), word, describe(below))
	case aliasOverName:
		return fmt.Errorf("alias %q of %s is the name of %s; an alias cannot take a name",
			word, describe(above), describe(below))
	case kind != tongs.SourceForge && kind != tongs.SourceModule && kind != tongs.SourceMCP:
		return fmt.Errorf("%s cannot take the word %q of %s; rename it", describe(above), word, describe(below))
	}
	return nil
}
