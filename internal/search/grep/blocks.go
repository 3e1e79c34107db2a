package grep

import (
	"bytes"
	"context"
	"io"
	"unicode/utf8"

	"github.com/tongs-ai/tongs/internal/text"
)

// blocks takes a file through the buffer of its worker.
type blocks struct {
	w   *worker
	src io.Reader
	// n is how many bytes are in the buffer, from skip on what counts; more says that the file may go on.
	n, skip int
	more    bool
	binary  bool
}

// decode prepares for a file in UTF-16, or with a byte order mark.
func (b *blocks) decode(f text.Format) {
	b.skip = int(f.Mark())
	if f.Encoding != text.UTF16LE && f.Encoding != text.UTF16BE {
		return
	}
	head := bytes.Clone(b.w.slot.buf[b.skip:b.n])
	var raw io.Reader = bytes.NewReader(head)
	if b.more {
		raw = io.MultiReader(raw, b.src)
	}
	b.src, b.n, b.skip, b.more = fromUTF16(raw, f.Encoding), 0, 0, true
}

// each gives the file to c, block by block.
func (b *blocks) each(ctx context.Context, c *content) error {
	for {
		if err := b.read(); err != nil {
			return err
		}
		buf := b.w.slot.buf
		end := b.n
		if b.more {
			end = bytes.LastIndexByte(buf[b.skip:b.n], '\n') + 1 + b.skip
		}
		switch {
		case end > b.skip || !b.more:
			b.block(c, buf[b.skip:end])
		case len(buf) < maxLine:
			b.w.slot.buf = append(buf, make([]byte, len(buf))...)
			continue
		case !b.w.s.q.Binary && bytes.IndexByte(buf[b.skip:b.n], 0) >= 0:
			b.w.countBinary() // text, with something else behind it: a hole, as likely as not
			return nil
		default:
			end = b.skip + b.piece(c, buf[b.skip:b.n])
		}
		if !b.more || c.done() {
			return nil
		}
		b.n = copy(buf, buf[end:b.n])
		b.skip = 0
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
}

// read fills the buffer.
func (b *blocks) read() error {
	buf := b.w.slot.buf
	if !b.more || b.n == len(buf) {
		return nil
	}
	n, err := fill(b.src, buf[b.n:])
	b.n += n
	b.more = b.n == len(buf)
	return err
}

// block gives whole lines to c, decoded where that can make a difference.
func (b *blocks) block(c *content, block []byte) {
	if !b.binary && !b.w.s.q.Matcher.ASCII() && !utf8.Valid(block) {
		if m := legacy(block); m != nil {
			b.w.slot.decoded = appendDecoded(b.w.slot.decoded[:0], block, m)
			block = b.w.slot.decoded
		}
	}
	c.block(block, b.more)
}

// overlap is how much of a piece of a line is looked at again with the next piece, for matches across the border.
const overlap = 64 << 10

// piece gives a part of a line to c that is too long to be looked at as a whole. It returns where the next part starts.
func (b *blocks) piece(c *content, part []byte) (next int) {
	c.piece(part)
	next = len(part) - overlap
	for next < len(part) && !utf8.RuneStart(part[next]) {
		next++
	}
	return next
}

// whole gives the whole file to c, with \n for line ends.
func (b *blocks) whole(ctx context.Context, c *content) error {
	for {
		if err := b.read(); err != nil {
			return err
		}
		if !b.more {
			break
		}
		if b.n >= maxWhole {
			return ErrTooLarge
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		b.w.slot.buf = append(b.w.slot.buf, make([]byte, len(b.w.slot.buf))...)
	}
	text := b.w.slot.buf[b.skip:b.n]
	if bytes.Contains(text, []byte("\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	b.block(c, text)
	return nil
}
