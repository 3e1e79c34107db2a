package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// ErrDamaged means that a file cannot be decoded so that encoding would give it back.
var ErrDamaged = errors.New("the file holds bytes that are not valid in its encoding")

// UnencodableError is a character that the encoding of a file does not have.
type UnencodableError struct {
	Char     rune
	Line     int // 1-based
	Encoding Encoding
}

// Error names the character and its line.
func (e *UnencodableError) Error() string {
	return fmt.Sprintf("line %d holds %q (%U), which %s cannot represent", e.Line, e.Char, e.Char, e.Encoding)
}

// Decode returns the text of a file, without its byte order mark; line ends stay as they are. Encoding it again in
// the same format gives data back; where that is not so, it fails with ErrDamaged.
func Decode(data []byte, f Format) (string, error) {
	mark := f.mark()
	if !bytes.HasPrefix(data, mark) {
		return "", ErrDamaged
	}
	data = data[len(mark):]
	switch f.Encoding {
	case UTF8:
		return string(data), nil
	case UTF16LE, UTF16BE:
		return decode16(data, f.Encoding)
	case Latin1, Windows1252:
		s, err := f.charmap().NewDecoder().Bytes(data)
		if err != nil || bytes.ContainsRune(s, utf8.RuneError) {
			return "", ErrDamaged
		}
		return string(s), nil
	default:
		return "", fmt.Errorf("%w: it is binary", ErrDamaged)
	}
}

// Encode returns the bytes of s in a format. It fails with an *UnencodableError where the encoding lacks a character.
func Encode(s string, f Format) ([]byte, error) {
	out := append(make([]byte, 0, len(s)*f.unit()+3), f.mark()...)
	switch f.Encoding {
	case UTF8:
		return append(out, s...), nil
	case UTF16LE, UTF16BE:
		return encode16(out, s, f.Encoding)
	case Latin1, Windows1252:
		cm := f.charmap()
		for i, r := range s {
			b, ok := cm.EncodeRune(r)
			if !ok || r == utf8.RuneError {
				return nil, unencodable(s, i, r, f.Encoding)
			}
			out = append(out, b)
		}
		return out, nil
	default:
		return nil, fmt.Errorf("text cannot be written as %s", f.Encoding)
	}
}

func unencodable(s string, at int, r rune, enc Encoding) error {
	return &UnencodableError{Char: r, Line: 1 + strings.Count(s[:at], "\n"), Encoding: enc}
}

func (f Format) mark() []byte {
	switch {
	case !f.BOM:
		return nil
	case f.Encoding == UTF16LE:
		return []byte{0xff, 0xfe}
	case f.Encoding == UTF16BE:
		return []byte{0xfe, 0xff}
	default:
		return []byte{0xef, 0xbb, 0xbf}
	}
}

func (f Format) charmap() *charmap.Charmap {
	if f.Encoding == Windows1252 {
		return charmap.Windows1252
	}
	return charmap.ISO8859_1
}

func decode16(data []byte, enc Encoding) (string, error) {
	if len(data)%2 != 0 {
		return "", ErrDamaged
	}
	var b strings.Builder
	b.Grow(len(data) / 2)
	high := uint16(0)
	for i := 0; i < len(data); i += 2 {
		u := uint16(data[i]) | uint16(data[i+1])<<8
		if enc == UTF16BE {
			u = uint16(data[i])<<8 | uint16(data[i+1])
		}
		low := u >= 0xdc00 && u < 0xe000
		switch {
		case low != (high != 0):
			return "", ErrDamaged
		case low:
			b.WriteRune(utf16.DecodeRune(rune(high), rune(u)))
			high = 0
		case u >= 0xd800 && u < 0xdc00:
			high = u
		default:
			b.WriteRune(rune(u))
		}
	}
	if high != 0 {
		return "", ErrDamaged
	}
	return b.String(), nil
}

func encode16(out []byte, s string, enc Encoding) ([]byte, error) {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return nil, unencodable(s, i, r, enc)
			}
		}
		for _, u := range utf16.AppendRune(nil, r) {
			if enc == UTF16BE {
				out = append(out, byte(u>>8), byte(u))
			} else {
				out = append(out, byte(u), byte(u>>8))
			}
		}
	}
	return out, nil
}

// reader returns r, which starts after the byte order mark, as UTF-8. Bytes that are not valid become U+FFFD, except
// in UTF-8, which is passed on as it is.
func (f Format) reader(r io.Reader) io.Reader {
	var dec *encoding.Decoder
	switch f.Encoding {
	case UTF16LE:
		dec = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder()
	case UTF16BE:
		dec = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder()
	case Latin1, Windows1252:
		dec = f.charmap().NewDecoder()
	default:
		return r
	}
	return dec.Reader(r)
}
