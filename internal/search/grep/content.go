package grep

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/tongs-ai/tongs/internal/search/regex"
)

// content collects what a search returns of one file.
type content struct {
	q    *Query
	scan *regex.Scanner
	// binary says that lines are not to be returned, notText that the file turned out not to be text.
	binary, notText bool

	// number is that of the first line of the block, counted the position in the block up to which lines were counted.
	number, counted int
	count, pieces   int
	// text holds the texts of lines, one behind the other.
	text  []byte
	lines []rawLine
	// shown is the end of the last line of the block that was returned, after how many lines behind it are still to be.
	shown, after int
	// history are the last lines of the blocks before, where lines before matches are wanted.
	history []string
	// head is the begin of the file until it is known to be text. inPiece says that the last line goes on in the next
	// block, matched that it matched already.
	head             []byte
	inPiece, matched bool
}

// rawLine is a Line whose text is still in content.text.
type rawLine struct {
	number, from, to, column int
	match                    bool
}

// done reports whether nothing further is needed of the file.
func (c *content) done() bool {
	if c.notText {
		return true
	}
	if c.q.Mode == Files || c.binary {
		return c.count > 0
	}
	return c.enough() && c.after == 0
}

func (c *content) enough() bool {
	need := c.q.need()
	return need > 0 && c.count >= need
}

// block searches whole lines. more says that others follow.
func (c *content) block(block []byte, more bool) {
	c.start(block)
	if c.inPiece { // the rest of a line of which pieces were searched already
		rest := lineEnd(block, 0)
		if !c.matched {
			c.search(block[:rest])
		}
		c.number += bytes.Count(block[c.counted:rest], newline)
		c.counted, c.shown, c.inPiece, c.matched = 0, 0, false, false
		block = block[rest:]
	}
	c.search(block)
	c.tail(block, more)
}

// start begins a block or a piece.
func (c *content) start(block []byte) {
	c.counted, c.shown, c.head = 0, 0, nil
	if c.number == 0 {
		c.number, c.head = 1, block[:min(len(block), headSize)]
	}
}

var newline = []byte{'\n'}

// search returns what is wanted of the matching lines of a block.
func (c *content) search(block []byte) {
	if c.enough() {
		return
	}
	c.scan.Reset(block)
	for {
		start, end, ok := c.scan.Next()
		if !ok {
			return
		}
		if c.head != nil && !c.binary && hasControl(block[start:end]) {
			if looksBinary(c.head) {
				c.binary, c.notText = c.q.Binary, !c.q.Binary
			}
			c.head = nil
		}
		if c.notText {
			return
		}
		c.count++
		switch {
		case c.q.Mode == Files || c.binary:
			return
		case c.q.Mode == Count:
		default:
			c.match(block, start, end)
			if c.enough() {
				return
			}
		}
	}
}

// match takes a matching line, and the lines around it.
func (c *content) match(block []byte, start, end int) {
	c.behind(block, start)
	for _, at := range c.linesBefore(block, start) {
		c.line(block, at, trimEnd(block, at, lineEnd(block, at)), false)
	}
	c.line(block, start, end, true)
	c.shown, c.after = lineEnd(block, end), c.q.After
}

// behind takes lines that stand behind a match, up to limit.
func (c *content) behind(block []byte, limit int) {
	for c.after > 0 && c.shown < limit {
		next := lineEnd(block, c.shown)
		c.line(block, c.shown, trimEnd(block, c.shown, next), false)
		c.shown = next
		c.after--
	}
}

// linesBefore returns the starts of the lines before a match that were not returned yet, and takes those of them that
// are in the block before.
func (c *content) linesBefore(block []byte, start int) (starts []int) {
	at := start
	for len(starts) < c.q.Before && at > c.shown {
		at = bytes.LastIndexByte(block[:at-1], '\n') + 1
		starts = append(starts, at)
	}
	for i, j := 0, len(starts)-1; i < j; i, j = i+1, j-1 {
		starts[i], starts[j] = starts[j], starts[i]
	}
	if at > 0 || c.shown > 0 {
		return starts
	}
	n := min(c.q.Before-len(starts), len(c.history))
	for i, line := range c.history[len(c.history)-n:] {
		from := len(c.text)
		c.text = append(c.text, line...)
		c.lines = append(c.lines, rawLine{number: c.number - n + i, from: from, to: len(c.text)})
	}
	return starts
}

// tail ends a block: it takes lines behind the last match, counts lines and keeps those that may stand before a match in
// the next block.
func (c *content) tail(block []byte, more bool) {
	if c.notText || c.binary {
		return
	}
	c.behind(block, len(block))
	if !more || c.done() {
		return
	}
	c.keep(block)
	c.number += bytes.Count(block[c.counted:], newline)
}

// keep remembers the last lines of a block that were not returned.
func (c *content) keep(block []byte) {
	if c.q.Before == 0 {
		return
	}
	var last []string
	for at := len(block); len(last) < c.q.Before && at > c.shown; {
		start := bytes.LastIndexByte(block[:at-1], '\n') + 1
		text, _ := c.excerpt(block[start:trimEnd(block, start, at)], false)
		last = append(last, string(text))
		at = start
	}
	for i, j := 0, len(last)-1; i < j; i, j = i+1, j-1 {
		last[i], last[j] = last[j], last[i]
	}
	if c.shown > 0 || len(last) >= c.q.Before {
		c.history = c.history[:0]
	}
	c.history = append(c.history, last...)
	if n := len(c.history) - c.q.Before; n > 0 {
		c.history = c.history[n:]
	}
}

// piece searches a part of a line.
func (c *content) piece(part []byte) {
	c.start(part)
	if !c.inPiece {
		c.inPiece, c.matched = true, false
		c.pieces++
	}
	if c.matched {
		return
	}
	before := c.count
	c.search(part)
	c.matched = c.count > before
	c.history = nil
}

// line takes one line of the block.
func (c *content) line(block []byte, start, end int, match bool) {
	c.number += bytes.Count(block[c.counted:start], newline)
	c.counted = start
	text, column := c.excerpt(block[start:end], match)
	from := len(c.text)
	c.text = append(c.text, text...)
	c.lines = append(c.lines, rawLine{c.number, from, len(c.text), column, match})
}

// lineEnd returns the position behind the line that holds position at.
func lineEnd(block []byte, at int) int {
	if at >= len(block) {
		return len(block)
	}
	if i := bytes.IndexByte(block[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(block)
}

// trimEnd returns the end of the line block[start:next] without its \n or \r\n.
func trimEnd(block []byte, start, next int) int {
	if next > start && block[next-1] == '\n' {
		if next--; next > start && block[next-1] == '\r' {
			next--
		}
	}
	return next
}

// file returns what was collected, and whether there is anything.
func (c *content) file() (File, bool) {
	if c.count == 0 || c.notText {
		return File{}, false
	}
	f := File{Count: c.count, Binary: c.binary}
	if c.binary {
		f.Count = 1
		return f, true
	}
	all := string(c.text)
	if len(c.lines) > 0 {
		f.Lines = make([]Line, len(c.lines))
	}
	for i, l := range c.lines {
		f.Lines[i] = Line{Number: l.number, Text: all[l.from:l.to], Match: l.match, Column: l.column}
	}
	return f, true
}

// excerpt returns what is shown of a line: valid UTF-8, of the wanted length, around the match.
func (c *content) excerpt(line []byte, match bool) (text []byte, column int) {
	if !utf8.Valid(line) {
		if m := legacy(line); m != nil {
			line = appendDecoded(nil, line, m)
		} else {
			line = []byte(strings.ToValidUTF8(string(line), "\ufffd"))
		}
	}
	limit := c.q.LineChars
	long := limit > 0 && len(line) > limit && utf8.RuneCount(line) > limit
	if !long && !(match && c.q.Columns) {
		return line, 0
	}
	at := 0
	if match {
		if at, _ = c.q.Matcher.Locate(line); at < 0 {
			at = 0
		}
	}
	if match && c.q.Columns {
		column = 1 + utf8.RuneCount(line[:at])
	}
	if long {
		line = around(line, at, limit)
	}
	return line, column
}

// around cuts a line to limit characters, of which a quarter stands before position at, and marks where it was cut.
func around(line []byte, at, limit int) []byte {
	from := at
	for n := 0; n < limit/4 && from > 0; n++ {
		_, size := utf8.DecodeLastRune(line[:from])
		from -= size
	}
	to, n := from, 0
	for ; n < limit && to < len(line); n++ {
		_, size := utf8.DecodeRune(line[to:])
		to += size
	}
	for ; n < limit && from > 0; n++ {
		_, size := utf8.DecodeLastRune(line[:from])
		from -= size
	}
	var out []byte
	if from > 0 {
		out = append(out, "…"...)
	}
	out = append(out, line[from:to]...)
	if to < len(line) {
		out = append(out, "…"...)
	}
	return out
}
