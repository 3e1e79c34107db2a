package walk

import "slices"

// chunkSize is how many entries of a directory are read before they are visited.
const chunkSize = 4096

// ref is a part of a text: a path or a name, and the type of what is there.
type ref struct {
	from, to uint32
	typ      Type
}

func (r ref) path(text string) string { return text[r.from:r.to] }

// maxText keeps places in a text within a ref.
const maxText = 1 << 31

// chunk is a part of the entries of a directory. It is used again for the next one.
type chunk struct {
	// buf is what the system writes entries to.
	buf []byte
	// text holds the paths one behind the other, from the common top of the rules on; each begins with the first prefix
	// bytes. Where prefix is 0 they are names alone.
	text   []byte
	prefix int
	refs   []ref
	found  special
	hidden bool
	// full is set where entries were left out, since there are too many.
	full bool
}

// reset empties the chunk for the entries of the directory at rel.
func (c *chunk) reset(above, rel string, hidden bool) {
	c.text = append(append(c.text[:0], above...), rel...)
	if rel != "" {
		c.text = append(c.text, '/')
	}
	c.prefix, c.refs, c.found, c.hidden, c.full = len(c.text), c.refs[:0], 0, hidden, false
}

// add takes up an entry. Hidden names are only looked at for what they say about the directory.
func (c *chunk) add(name []byte, typ Type) {
	if name[0] == '.' {
		if c.found |= specialName(string(name)); !c.hidden {
			return
		}
	}
	from := len(c.text)
	if from > maxText {
		c.full = true
		return
	}
	c.text = append(c.text, c.text[:c.prefix]...)
	c.text = append(c.text, name...)
	c.refs = append(c.refs, ref{uint32(from), uint32(len(c.text)), typ})
}

// sort puts entries, of which the text holds the names alone, in the order of their paths.
func (c *chunk) sort(text string) {
	slices.SortFunc(c.refs, func(a, b ref) int {
		return Order(a.path(text), a.typ == Directory, b.path(text), b.typ == Directory)
	})
}
