package grep

import (
	"bytes"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/tongs-ai/tongs/internal/text"
)

// formatOf looks at the begin of a file. It returns false for the great majority: no zero byte and no mark, so that it
// is text of some encoding that extends ASCII.
func formatOf(head []byte) (text.Format, bool) {
	head = head[:min(len(head), headSize)]
	if len(head) > 0 && head[0] < 0xef && head[0] != '%' && bytes.IndexByte(head, 0) < 0 {
		return text.Format{}, false
	}
	if zeros := bytes.Count(head, zero); zeros > 0 && zeros < len(head)/3 && head[0] < 0xef {
		return text.Format{Encoding: text.Binary}, true // text in UTF-16 has more of them
	}
	f := text.Detect(head)
	return f, f.Encoding != text.UTF8 || f.BOM
}

var zero = []byte{0}

// Form is how a search takes a file.
type Form uint8

// The forms.
const (
	// Plain is text in UTF-8 or another encoding that extends ASCII.
	Plain Form = iota
	// Binary is passed over.
	Binary
	// Decoded is text whose bytes are others than those that are searched.
	Decoded
)

// FormOf tells from the begin of a file how a search takes it. A Plain file may turn out to be binary where a line with
// control characters matches.
func FormOf(head []byte) Form {
	if len(head) == 0 {
		return Plain
	}
	switch f, special := formatOf(head); {
	case !special:
		return Plain
	case f.Encoding == text.Binary:
		return Binary
	case f.Encoding == text.UTF16LE || f.Encoding == text.UTF16BE:
		return Decoded
	default:
		return Plain
	}
}

// Uneven reports of a Plain text whether a search may take it for something else when it looks at the begin of it: a mark is
// no part of the first line, and control characters may be a sign of a binary file. Other texts can be searched in parts.
func Uneven(content []byte) bool {
	head := content[:min(len(content), headSize)]
	_, special := formatOf(head)
	return special || hasControl(head) && looksBinary(head)
}

// What a search looks at as a whole: lines up to MaxLine, and files up to MaxWhole if matches may span lines.
const (
	MaxLine  = maxLine
	MaxWhole = maxWhole
)

// hasControl reports whether a line has control characters that text rarely holds.
func hasControl(line []byte) bool {
	for _, c := range line {
		if c < ' ' && c != '\t' && c != '\r' && c != '\n' && c != '\f' {
			return true
		}
	}
	return false
}

// looksBinary reports whether a head without zero bytes is binary all the same, by its control characters. It is asked
// where such characters are about to be shown.
func looksBinary(head []byte) bool {
	return text.Detect(head[:min(len(head), headSize)]).Encoding == text.Binary
}

// fromUTF16 returns a reader of the text as UTF-8.
func fromUTF16(r io.Reader, enc text.Encoding) io.Reader {
	endian := unicode.LittleEndian
	if enc == text.UTF16BE {
		endian = unicode.BigEndian
	}
	return unicode.UTF16(endian, unicode.IgnoreBOM).NewDecoder().Reader(r)
}

// legacy returns the encoding of a block that is not valid UTF-8, nil where it is UTF-8 after all, but damaged.
func legacy(block []byte) *charmap.Charmap {
	switch text.Detect(block).Encoding {
	case text.Latin1:
		return charmap.ISO8859_1
	case text.Windows1252:
		return charmap.Windows1252
	default:
		return nil
	}
}

// appendDecoded appends text in a one-byte encoding as UTF-8.
func appendDecoded(dst, src []byte, m *charmap.Charmap) []byte {
	for _, c := range src {
		if c < utf8.RuneSelf {
			dst = append(dst, c)
			continue
		}
		dst = utf8.AppendRune(dst, m.DecodeByte(c))
	}
	return dst
}
