package visibility

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// maxSteps bounds the work of matching a page. A page that needs more is not understood.
const maxSteps = 8_000_000

// matcher matches selectors with elements.
type matcher struct {
	steps int
	names map[*html.Node][]string
}

func newMatcher() *matcher { return &matcher{names: map[*html.Node][]string{}} }

func (m *matcher) spend(n int) { m.steps += n }

// overBudget reports whether the page asks for too much.
func (m *matcher) overBudget() bool { return m.steps > maxSteps }

// hasClass compares a class with those of an element.
func (m *matcher) hasClass(n *html.Node, exact, lower string) truth {
	if !slices.Contains(m.classes(n), lower) {
		return no
	}
	if slices.Contains(strings.Fields(Attr(n, "class")), exact) {
		return yes
	}
	return maybe
}

// classes are the classes of an element in lower case.
func (m *matcher) classes(n *html.Node) []string {
	list, ok := m.names[n]
	if !ok {
		list = strings.Fields(strings.ToLower(Attr(n, "class")))
		m.names[n] = list
	}
	return list
}

func (m *matcher) any(list []selector, n *html.Node) truth {
	best := no
	for i := range list {
		if best = max(best, m.match(&list[i], n)); best == yes {
			break
		}
	}
	return best
}

// match reports whether an element matches the last compound, and those around it the others.
func (m *matcher) match(s *selector, n *html.Node) truth {
	return m.from(s, len(s.compounds)-1, n, nil)
}

// from matches the compounds up to i, the i-th with n. Anchor is where a relative selector begins.
func (m *matcher) from(s *selector, i int, n, anchor *html.Node) truth {
	if m.spend(1); m.overBudget() {
		return maybe
	}
	c := &s.compounds[i]
	have := yes
	for _, one := range c.tests {
		if have = min(have, one(m, n)); have == no {
			return no
		}
	}
	if i == 0 && anchor == nil {
		return have
	}
	best := no
	for other := range reached(n, c.combinator) {
		var t truth
		if i > 0 {
			t = m.from(s, i-1, other, anchor)
		} else {
			t = truthOf(other == anchor)
		}
		if best = max(best, t); best == yes {
			break
		}
	}
	return min(have, best)
}

// reached are the elements that a combinator leads to from n, backwards.
func reached(n *html.Node, combinator byte) func(func(*html.Node) bool) {
	return func(yield func(*html.Node) bool) {
		switch combinator {
		case '>':
			if n.Parent != nil && n.Parent.Type == html.ElementNode {
				yield(n.Parent)
			}
		case '+':
			if s := sibling(n, -1, false); s != nil {
				yield(s)
			}
		case '~':
			for s := sibling(n, -1, false); s != nil; s = sibling(s, -1, false) {
				if !yield(s) {
					return
				}
			}
		default:
			for p := n.Parent; p != nil && p.Type == html.ElementNode; p = p.Parent {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// has reports whether an element has another that a relative selector leads to.
func (m *matcher) has(list []selector, n *html.Node) truth {
	best := no
	for i := range list {
		s := &list[i]
		if s.compounds[0].combinator == 0 {
			s.compounds[0].combinator = ' '
		}
		root := n
		if c := s.compounds[0].combinator; c == '+' || c == '~' {
			root = n.Parent
		}
		if root == nil {
			continue
		}
		for d := range root.Descendants() {
			if d.Type != html.ElementNode {
				continue
			}
			if m.spend(1); m.overBudget() {
				return maybe
			}
			if best = max(best, m.from(s, len(s.compounds)-1, d, n)); best == yes {
				return yes
			}
		}
	}
	return best
}

// Attr returns an attribute of an element, empty where there is none.
func Attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// Has reports whether an element has an attribute.
func Has(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}
