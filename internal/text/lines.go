package text

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// blockSize is how much is read at a time when lines are looked for.
const blockSize = 64 << 10

// Line is one line of a file, without its end.
type Line struct {
	Text string
	// Cut is how many characters were left out at its end.
	Cut int
	// Ended says that the line had an end, which the last one may lack.
	Ended bool
}

// Scanner reads lines forward, in memory bounded by the longest line that it keeps.
type Scanner struct {
	r    *bufio.Reader
	max  int
	line Line
	err  error
}

// NewScanner returns a scanner over r, which starts at a line after the byte order mark. Of each line it keeps at most
// maxChars characters.
func NewScanner(r io.Reader, f Format, maxChars int) *Scanner {
	return NewScannerOf(r, blockSize, f, maxChars)
}

// NewScannerOf is NewScanner for a reader of about size bytes, for which it takes no more memory than it needs.
func NewScannerOf(r io.Reader, size int64, f Format, maxChars int) *Scanner {
	return &Scanner{r: bufio.NewReaderSize(f.reader(r), int(max(512, min(blockSize, size+1)))), max: maxChars}
}

// Scan reads the next line and reports whether there was one.
func (s *Scanner) Scan() bool {
	var kept []byte
	chars, cut := 0, 0 // characters kept and left out
	any, lastCR := false, false
	for {
		piece, err := s.r.ReadSlice('\n')
		any = any || len(piece) > 0
		ended := err == nil
		if ended {
			piece = piece[:len(piece)-1]
		}
		if len(piece) > 0 {
			lastCR = piece[len(piece)-1] == '\r'
		}
		if chars >= s.max {
			cut += runeStarts(piece)
		} else {
			kept = append(kept, piece...)
			chars = runeStarts(kept)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			s.err = err
			return false
		}
		if !any {
			return false
		}
		s.line = s.finish(kept, cut, ended, ended && lastCR)
		return true
	}
}

// finish cuts what was kept to the limit; crlf says that the last character is the first half of the line's end.
func (s *Scanner) finish(kept []byte, cut int, ended, crlf bool) Line {
	if crlf {
		if cut > 0 {
			cut--
		} else {
			kept = kept[:len(kept)-1]
		}
	}
	at, n := 0, 0
	for at < len(kept) && n < s.max {
		_, size := utf8.DecodeRune(kept[at:])
		at += size
		n++
	}
	return Line{Text: string(kept[:at]), Cut: cut + runeStarts(kept[at:]), Ended: ended}
}

// Line returns the line that Scan read.
func (s *Scanner) Line() Line { return s.line }

// Err returns the error that ended the scan, nil at the end of the file.
func (s *Scanner) Err() error { return s.err }

// runeStarts counts characters; it can be given pieces of a sequence.
func runeStarts(p []byte) (n int) {
	for _, b := range p {
		if b&0xc0 != 0x80 {
			n++
		}
	}
	return n
}

// LineStart returns where line n (1-based) starts in a file of the given size, and n; where the file has fewer
// lines, it returns size and the number of lines it has.
func LineStart(ctx context.Context, r io.ReaderAt, size int64, f Format, n int64) (offset, line int64, err error) {
	offset, line = f.Mark(), 1
	var buf []byte
	for line < n && offset < size {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		if buf == nil {
			buf = make([]byte, min(blockSize, size-offset))
		}
		block, err := readBlock(r, buf[:min(blockSize, size-offset)], offset)
		if err != nil {
			return 0, 0, err
		}
		if len(block) == 0 {
			size = offset // the file became shorter
			break
		}
		if ends := countEnds(block, f); line+ends < n {
			line, offset = line+ends, offset+int64(len(block))
			continue
		}
		for at := 0; line < n; line++ {
			at += nextEnd(block[at:], f)
			if line+1 == n {
				offset += int64(at)
			}
		}
	}
	if line == n && offset < size {
		return offset, n, nil
	}
	ended, err := endsLine(r, size, f)
	if err != nil {
		return 0, 0, err
	}
	if ended || size <= f.Mark() {
		line--
	}
	return size, line, nil
}

// TailStart returns where the last n lines start, and how many there are: n, or all that the file has. It reads
// backwards, no more than it must.
func TailStart(ctx context.Context, r io.ReaderAt, size int64, f Format, n int64) (offset, lines int64, err error) {
	mark := f.Mark()
	end := size - (size-mark)%int64(f.unit())
	if end <= mark || n <= 0 {
		return end, 0, nil
	}
	ended, err := endsLine(r, size, f)
	if err != nil {
		return 0, 0, err
	}
	if ended {
		end -= int64(f.unit()) // the last line's own end
	}
	buf := make([]byte, blockSize)
	for end > mark {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		start := max(mark, end-blockSize)
		block, err := readBlock(r, buf[:end-start], start)
		if err != nil {
			return 0, 0, err
		}
		if int64(len(block)) < end-start {
			return 0, 0, io.ErrUnexpectedEOF
		}
		for {
			at := lastEnd(block, f)
			if at < 0 {
				break
			}
			if lines++; lines == n {
				return start + int64(at+f.unit()), n, nil
			}
			block = block[:at]
		}
		end = start
	}
	return mark, lines + 1, nil
}

// endsLine reports whether the last unit of the file is a line end.
func endsLine(r io.ReaderAt, size int64, f Format) (bool, error) {
	unit := int64(f.unit())
	if size < f.Mark()+unit || (size-f.Mark())%unit != 0 {
		return false, nil
	}
	last, err := readBlock(r, make([]byte, unit), size-unit)
	return err == nil && len(last) == int(unit) && nextEnd(last, f) > 0, err
}

func readBlock(r io.ReaderAt, buf []byte, at int64) ([]byte, error) {
	n, err := r.ReadAt(buf, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], err
}

// newline returns the line end of a format.
func newline(f Format) []byte {
	switch f.Encoding {
	case UTF16LE:
		return []byte{'\n', 0}
	case UTF16BE:
		return []byte{0, '\n'}
	default:
		return []byte{'\n'}
	}
}

// countEnds counts the line ends in a block that starts at a unit.
func countEnds(block []byte, f Format) int64 {
	if f.unit() == 1 {
		return int64(bytes.Count(block, newline(f)))
	}
	n := int64(0)
	for len(block) > 0 {
		at := nextEnd(block, f)
		if at == 0 {
			break
		}
		n, block = n+1, block[at:]
	}
	return n
}

// nextEnd returns the position after the first line end, 0 where there is none.
func nextEnd(block []byte, f Format) int {
	nl := newline(f)
	for at := 0; ; {
		i := bytes.Index(block[at:], nl)
		if i < 0 {
			return 0
		}
		if at += i; at%len(nl) == 0 {
			return at + len(nl)
		}
		at++
	}
}

// lastEnd returns the position of the last line end, -1 where there is none.
func lastEnd(block []byte, f Format) int {
	nl := newline(f)
	for end := len(block); ; {
		i := bytes.LastIndex(block[:end], nl)
		if i < 0 || i%len(nl) == 0 {
			return i
		}
		end = i + len(nl) - 1
	}
}

// Count returns the number of lines in s; a last line without an end counts.
func Count(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
