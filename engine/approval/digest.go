package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tongs-ai/tongs"
)

// Subject is what a question is about: everything that makes one call different from another.
type Subject struct {
	Source tongs.Source
	Tool   string
	// Args is a JSON object. The order of keys and white space do not count; everything else does.
	Args json.RawMessage
	// Effects count with their versions, in any order; Why does not count.
	Effects []tongs.Effect
	// Roots identifies the workspace and its zones, Dir the working directory in them.
	Roots, Dir string
	Agents     []string
	// Rerun is what a call already changed that would run again: it is another question each time.
	Rerun []string
}

// Digest identifies a call: two that differ in anything that matters have different digests.
func Digest(s Subject) string {
	buf := []byte("tongs question 1\n")
	for _, part := range []string{string(s.Source.Kind), s.Source.Name, s.Source.Digest, s.Tool, s.Roots, s.Dir} {
		buf = strconv.AppendQuote(buf, part)
		buf = append(buf, '\n')
	}
	buf = appendStrings(buf, s.Agents)
	buf = appendStrings(buf, s.Rerun)
	args := s.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	buf = appendCanonical(buf, args)
	effects := make([]string, len(s.Effects))
	for i := range s.Effects {
		effects[i] = string(appendEffect(nil, &s.Effects[i]))
	}
	slices.Sort(effects)
	for _, e := range effects {
		buf = append(buf, '\n')
		buf = append(buf, e...)
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:])
}

func appendStrings(buf []byte, list []string) []byte {
	buf = append(buf, '[')
	for _, s := range list {
		buf = strconv.AppendQuote(buf, s)
		buf = append(buf, ',')
	}
	return append(buf, ']')
}

// appendEffect writes every field of an effect that counts. Quoting keeps names apart that are not UTF-8.
func appendEffect(buf []byte, e *tongs.Effect) []byte {
	buf = strconv.AppendUint(buf, uint64(e.Kind), 10)
	for _, s := range []string{e.Path.Root, e.Path.Rel, e.Host, string(e.Version)} {
		buf = append(buf, ' ')
		buf = strconv.AppendQuote(buf, s)
	}
	buf = appendStrings(buf, e.Argv)
	buf = appendStrings(buf, e.Env)
	for _, flag := range []bool{e.Unknown, e.MustAsk, e.Steers, e.NoGrant, e.Sends} {
		buf = strconv.AppendBool(append(buf, ' '), flag)
	}
	if e.Private { // written only where it is set: questions that wait keep their digest
		buf = append(buf, " private"...)
	}
	if e.Repository {
		buf = append(buf, " repository"...)
	}
	return buf
}

// appendCanonical writes JSON so that two texts of the same value are the same: members sorted by key, no white
// space, strings quoted in one way. Numbers stay as they are written, and so do members of the same key, and a text that
// is not JSON.
func appendCanonical(buf []byte, raw json.RawMessage) []byte {
	if !json.Valid(raw) {
		return strconv.AppendQuote(append(buf, '!'), string(raw))
	}
	c := canonical{src: string(raw)}
	return c.value(buf)
}

// canonical goes over valid JSON.
type canonical struct {
	src string
	pos int
}

func (c *canonical) value(buf []byte) []byte {
	c.space()
	switch c.src[c.pos] {
	case '{':
		return c.object(buf)
	case '[':
		buf = append(buf, '[')
		for c.pos++; c.more(']'); {
			buf = append(c.value(buf), ',')
		}
		return append(buf, ']')
	case '"':
		return c.text(buf)
	}
	start := c.pos
	for c.pos < len(c.src) && strings.IndexByte(",]} \t\r\n", c.src[c.pos]) < 0 {
		c.pos++
	}
	return append(buf, c.src[start:c.pos]...)
}

func (c *canonical) object(buf []byte) []byte {
	type member struct{ key, value string }
	var members []member
	for c.pos++; c.more('}'); {
		key := string(c.text(nil))
		c.space()
		c.pos++ // the colon
		members = append(members, member{key, string(c.value(nil))})
	}
	slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	buf = append(buf, '{')
	for _, m := range members {
		buf = append(buf, m.key...)
		buf = append(buf, ':')
		buf = append(buf, m.value...)
		buf = append(buf, ',')
	}
	return append(buf, '}')
}

// more moves to the next element, or past the end.
func (c *canonical) more(end byte) bool {
	c.space()
	if c.src[c.pos] == ',' {
		c.pos++
		c.space()
	}
	if c.src[c.pos] == end {
		c.pos++
		return false
	}
	return true
}

func (c *canonical) space() {
	for c.pos < len(c.src) && c.src[c.pos] <= ' ' {
		c.pos++
	}
}

func (c *canonical) text(buf []byte) []byte {
	start := c.pos
	escaped := false
	for c.pos++; c.src[c.pos] != '"'; c.pos++ {
		if c.src[c.pos] == '\\' {
			escaped = true
			c.pos++
		}
	}
	c.pos++
	literal := c.src[start:c.pos]
	if !escaped {
		return strconv.AppendQuote(buf, literal[1:len(literal)-1])
	}
	var text string
	if err := json.Unmarshal([]byte(literal), &text); err != nil || strings.ContainsRune(text, '\uFFFD') {
		// Half a surrogate pair and bytes that are not UTF-8 all decode to the same: only their spelling tells them apart.
		return strconv.AppendQuote(append(buf, '='), literal)
	}
	return strconv.AppendQuote(buf, text)
}
