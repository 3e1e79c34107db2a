package registry

import (
	"errors"
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
	slot     *slot
}

// Set is a number of tools with distinct names. It never changes and is safe for concurrent use; a nil Set is empty.
type Set struct {
	all      []*slot // as registered, those that are shadowed too
	entries  []Entry // those that can be called
	words    map[string]Entry
	warnings []string
}

// NewSet returns the set of the tools, or an error that says which two of them cannot be together.
func NewSet(tools ...tongs.Tool) (*Set, error) {
	slots := make([]*slot, len(tools))
	for i, tool := range tools {
		slots[i] = &slot{tool: tool}
	}
	return build(slots)
}

// Lookup finds a tool by its name or one of its aliases.
func (s *Set) Lookup(name string) (Entry, bool) {
	if s == nil {
		return Entry{}, false
	}
	entry, ok := s.words[name]
	return entry, ok
}

// Entries returns the tools that can be called, in the order of their registration. A shadowed tool is not among them.
func (s *Set) Entries() []Entry {
	if s == nil {
		return nil
	}
	return slices.Clone(s.entries)
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

func (c claims) add(s *slot) error {
	if s.tool == nil {
		return errors.New("a tool is nil")
	}
	spec := s.tool.Spec()
	if spec == nil {
		return errors.New("a tool has no spec")
	}
	for i, word := range append([]string{spec.Name}, spec.Aliases...) {
		kind := "name"
		if i > 0 {
			kind = "alias"
		}
		if !validName.MatchString(word) {
			return fmt.Errorf("%s %q of tool %q: want 1 to 64 of letters, digits, _ and -", kind, word, spec.Name)
		}
		if other, taken := c[word]; taken {
			return fmt.Errorf("%s %q of %s is taken by %s already; rename one, or replace it explicitly",
				kind, word, describe(spec), describe(other.slot.tool.Spec()))
		}
		c[word] = claim{slot: s, alias: i > 0}
	}
	return nil
}

func describe(spec *tongs.Spec) string {
	kind := spec.Source.Kind
	if spec.Source.BuiltIn() {
		kind = "built-in"
	}
	if spec.Source.Name == "" {
		return fmt.Sprintf("the %s tool %s", kind, spec.Name)
	}
	return fmt.Sprintf("the %s tool %s (%s)", kind, spec.Name, spec.Source.Name)
}

// build makes a set. Built-in tools have distinct words among themselves, and so have all others; one of the others
// may take a word of a built-in, which shadows it.
func build(slots []*slot) (*Set, error) {
	builtin, other := claims{}, claims{}
	for _, s := range slots {
		group := other
		if s.tool != nil && s.tool.Spec() != nil && s.tool.Spec().Source.BuiltIn() {
			group = builtin
		}
		if err := group.add(s); err != nil {
			return nil, err
		}
	}
	set := &Set{all: slots, words: make(map[string]Entry, len(builtin)+len(other))}
	shadowed, successor, err := set.shadow(slots, builtin, other)
	if err != nil {
		return nil, err
	}
	entry := func(s *slot) Entry {
		if next := successor[s]; next != nil {
			s = next
		}
		return Entry{Tool: s.tool, Shadowed: shadowed[s], slot: s}
	}
	for _, s := range slots {
		if successor[s] == nil {
			set.entries = append(set.entries, entry(s))
		}
	}
	for word, c := range builtin {
		set.words[word] = entry(c.slot)
	}
	for word, c := range other {
		set.words[word] = entry(c.slot)
	}
	return set, nil
}

// shadow finds which tools take words of built-ins: what each of them shadows, and for a built-in that lost its name
// the tool that has it now, which also answers to the aliases that are left.
func (s *Set) shadow(slots []*slot, builtin, other claims) (
	shadowed map[*slot]*tongs.Spec, successor map[*slot]*slot, err error,
) {
	shadowed, successor = map[*slot]*tongs.Spec{}, map[*slot]*slot{}
	for _, slot := range slots {
		spec := slot.tool.Spec()
		if spec.Source.BuiltIn() {
			continue
		}
		for _, word := range append([]string{spec.Name}, spec.Aliases...) {
			lost, ok := builtin[word]
			if !ok {
				continue
			}
			below := lost.slot.tool.Spec()
			if err := mayShadow(spec, below, word, other[word].alias && !lost.alias); err != nil {
				return nil, nil, err
			}
			if before := shadowed[slot]; before != nil && before != below {
				return nil, nil, fmt.Errorf("%s takes words of two built-in tools, %s and %s; it may shadow one",
					describe(spec), before.Name, below.Name)
			}
			if shadowed[slot] == nil {
				s.warnings = append(s.warnings, fmt.Sprintf("%s takes the word %q of %s",
					describe(spec), word, describe(below)))
			}
			shadowed[slot] = below
			if !lost.alias {
				successor[lost.slot] = slot
			}
		}
	}
	return shadowed, successor, nil
}

func mayShadow(above, below *tongs.Spec, word string, aliasOverName bool) error {
	switch kind := above.Source.Kind; {
	case below.Control:
		return fmt.Errorf("%s cannot take the word %q: %s is a control tool, which nothing may shadow",
			describe(above), word, describe(below))
	case aliasOverName:
		return fmt.Errorf("alias %q of %s is the name of %s; an alias cannot take a name",
			word, describe(above), describe(below))
	case kind != tongs.SourceCustom && kind != tongs.SourceModule && kind != tongs.SourceMCP:
		return fmt.Errorf("%s cannot take the word %q of %s; rename it", describe(above), word, describe(below))
	}
	return nil
}
