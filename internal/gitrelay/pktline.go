package gitrelay

import (
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Git's lines have their length before them, in four hexadecimal digits. A length of zero is a flush, which ends a section.

const maxLine = 65520

var errLine = errors.New("what git sent cannot be read: a line has no valid length")

// readLine reads one line; nil is a flush.
func readLine(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(string(size[:]), 16, 16)
	switch {
	case err != nil || n > maxLine || n > 0 && n < 4:
		return nil, errLine
	case n == 0:
		return nil, nil
	}
	line := make([]byte, n-4)
	if _, err := io.ReadFull(r, line); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return line, nil
}

// section reads lines up to a flush: at most limit bytes of them.
func section(r io.Reader, limit int) (lines [][]byte, err error) {
	for {
		line, err := readLine(r)
		if err != nil || line == nil {
			return lines, err
		}
		if limit -= len(line) + 4; limit < 0 {
			return nil, errors.New("what git sent cannot be read: there are too many lines")
		}
		lines = append(lines, line)
	}
}

const flush = "0000"

func appendLine(buf []byte, line string) []byte {
	return fmt.Appendf(buf, "%04x%s", len(line)+4, line)
}
