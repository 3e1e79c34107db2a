package web

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// decode returns a body as UTF-8, by its mark, its header, what it says of itself, or what it looks like.
func decode(body []byte, contentType string) string {
	enc, name, certain := charset.DetermineEncoding(body, contentType)
	if !certain {
		if declared := declaredCharset(body); declared != nil {
			enc = declared
		} else if utf8.Valid(body) {
			name = "utf-8"
		} else {
			enc = guess(body)
		}
	}
	if certain && name != "utf-8" && !strings.Contains(strings.ToLower(contentType), "charset") && utf8.Valid(body) && !ascii(body) && !marked(body) {
		name = "utf-8" // a page that says otherwise of itself, and is wrong
	}
	if name == "utf-8" && (certain || utf8.Valid(body)) {
		return strings.ToValidUTF8(string(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))), "\uFFFD")
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return strings.ToValidUTF8(string(body), "\uFFFD")
	}
	return string(bytes.TrimPrefix(out, []byte("\xef\xbb\xbf")))
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// marked reports whether a text begins with a byte order mark of UTF-16.
func marked(b []byte) bool {
	return bytes.HasPrefix(b, []byte{0xff, 0xfe}) || bytes.HasPrefix(b, []byte{0xfe, 0xff})
}

var charsetDeclaration = regexp.MustCompile(`(?i)<(?:meta|\?xml)\b[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([a-z0-9_:-]+)`)

// declaredCharset is the encoding that a page names further down than where one should.
func declaredCharset(body []byte) encoding.Encoding {
	m := charsetDeclaration.FindSubmatch(body[:min(len(body), 16<<10)])
	if m == nil {
		return nil
	}
	enc, _ := charset.Lookup(string(m[1]))
	return enc
}

var langAttribute = regexp.MustCompile(`(?i)<html\b[^>]*?\blang\s*=\s*["']?([a-z-]+)`)

// guess is the encoding of a text that says nothing of it: the one that makes the most sense of it.
func guess(body []byte) encoding.Encoding {
	sample := body[:min(len(body), 64<<10)]
	lang := ""
	if m := langAttribute.FindSubmatch(sample); m != nil {
		lang = strings.ToLower(string(m[1]))
	}
	best, score := encoding.Encoding(charmap.Windows1252), 0.0
	for _, c := range []struct {
		enc  encoding.Encoding
		lang string
		of   *unicode.RangeTable
	}{
		{japanese.ShiftJIS, "ja", unicode.Hiragana},
		{japanese.EUCJP, "ja", unicode.Hiragana},
		{korean.EUCKR, "ko", unicode.Hangul},
		{simplifiedchinese.GB18030, "zh", unicode.Han},
		{traditionalchinese.Big5, "zh-tw", unicode.Han},
	} {
		n := plausible(c.enc, sample, c.of)
		if lang != "" && strings.HasPrefix(lang, c.lang[:2]) {
			n *= 2
		}
		if lang == c.lang || lang == "zh-hk" && c.lang == "zh-tw" {
			n *= 2
		}
		if n > score {
			best, score = c.enc, n
		}
	}
	return best
}

// plausible is how much of what is not ASCII an encoding makes characters of that its language is written with.
func plausible(enc encoding.Encoding, sample []byte, of *unicode.RangeTable) float64 {
	out, err := enc.NewDecoder().Bytes(sample)
	if err != nil {
		return 0
	}
	var good, han, other, bad float64
	for _, r := range string(out) {
		switch {
		case r < 0x80:
		case r == utf8.RuneError:
			bad++
		case unicode.Is(of, r):
			good++
		case unicode.Is(unicode.Han, r), unicode.Is(unicode.Katakana, r), r >= 0x3000 && r <= 0x303f, r >= 0xff00 && r <= 0xff60:
			han++
		default:
			other++
		}
	}
	all := good + han + other + bad
	if all < 4 || bad > all/50 || other > all/4 {
		return 0
	}
	if of == unicode.Han {
		return 0.5 * good / all
	}
	return good / all
}
