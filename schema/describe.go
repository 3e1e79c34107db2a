package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// describe says in a few words what a schema wants; "" where it wants nothing in particular.
func describe(s target) string { return describeTo(s, 3) }

func describeTo(s target, depth int) string {
	if s == nil || depth == 0 {
		return ""
	}
	switch {
	case s.Enum != nil:
		return describeValues(s.Enum.Values)
	case s.Const != nil:
		return show(*s.Const)
	case len(s.AnyOf) > 0:
		return describeBranches(s.AnyOf, depth)
	case len(s.OneOf) > 0:
		return describeBranches(s.OneOf, depth)
	case s.Types == nil && s.Ref != nil:
		return describeTo(s.Ref, depth)
	}
	var parts []string
	if s.Types != nil {
		for _, name := range s.Types.ToStrings() {
			parts = append(parts, describeType(s, name, depth))
		}
	}
	words := []string{strings.Join(parts, " or ")}
	words = append(words, bounds("from %s", "up to %s", "from %s to %s", number(s.Minimum), number(s.Maximum)))
	words = append(words, bounds("above %s", "below %s", "between %s and %s, both excluded",
		number(s.ExclusiveMinimum), number(s.ExclusiveMaximum)))
	if s.MultipleOf != nil {
		words = append(words, "multiple of "+number(s.MultipleOf))
	}
	words = append(words, bounds("of at least %s characters", "of at most %s characters", "of %s to %s characters",
		count(s.MinLength), count(s.MaxLength)))
	words = append(words, bounds("with at least %s items", "with at most %s items", "with %s to %s items",
		count(s.MinItems), count(s.MaxItems)))
	if s.Format != nil {
		words = append(words, "in format "+s.Format.Name)
	}
	if s.Pattern != nil {
		words = append(words, "matching "+bound(s.Pattern.String(), maxShown))
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

func describeType(s target, name string, depth int) string {
	switch name {
	case "array":
		if items := itemTargets([]target{s}, 0); len(items) > 0 {
			if of := describeTo(items[0], depth-1); of != "" {
				return "array of " + of
			}
		}
	case "object":
		if len(s.Required) > 0 {
			return "object with " + list(slices.Sorted(slices.Values(s.Required)))
		}
	}
	return name
}

func describeBranches(branches []target, depth int) string {
	var parts []string
	for _, b := range branches[:min(len(branches), maxWords)] {
		if part := describeTo(b, depth-1); part != "" && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(branches) > maxWords {
		parts = append(parts, "something else")
	}
	return strings.Join(parts, " or ")
}

func describeValues(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = show(v)
	}
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + list(words)
}

// describeProperties lists the properties of an object.
func describeProperties(s target) string {
	names := sortedKeys(properties(views([]target{s})))
	if len(names) == 0 {
		return "its properties"
	}
	return list(names)
}

func number(r *big.Rat) string {
	if r == nil {
		return ""
	}
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

func count(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// bounds words a lower and an upper bound, either of which may be missing.
func bounds(lower, upper, both, low, high string) string {
	switch {
	case low != "" && high != "":
		return fmt.Sprintf(both, low, high)
	case low != "":
		return fmt.Sprintf(lower, low)
	case high != "":
		return fmt.Sprintf(upper, high)
	}
	return ""
}
