package text

import (
	"bytes"
	"net/http"
	"strings"
)

// classify says what the head of a file is: a Unicode encoding, UTF8 (which stands for every one-byte encoding until
// the whole file is known) or Binary.
func classify(head []byte, whole bool) Format {
	switch {
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		return Format{Encoding: bytesOrBinary(head), BOM: bytesOrBinary(head) == UTF8}
	case bytes.HasPrefix(head, []byte{0xff, 0xfe, 0, 0}), bytes.HasPrefix(head, []byte{0, 0, 0xfe, 0xff}):
		return Format{Encoding: Binary} // UTF-32
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return Format{Encoding: UTF16LE, BOM: true}
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return Format{Encoding: UTF16BE, BOM: true}
	}
	if !whole || len(head)%2 == 0 {
		if enc := unmarked16(head); enc != "" {
			return Format{Encoding: enc}
		}
	}
	return Format{Encoding: bytesOrBinary(head)}
}

func bytesOrBinary(head []byte) Encoding {
	if bytes.HasPrefix(head, []byte("%PDF-")) || bytes.IndexByte(head, 0) >= 0 {
		return Binary
	}
	controls := 0
	for _, b := range head {
		if isControl(b) {
			controls++
		}
	}
	if controls*100 > len(head)*maxControls {
		return Binary
	}
	return UTF8
}

// isControl reports whether b is a control character that text rarely holds.
func isControl(b byte) bool {
	return b < 0x20 && (b < '\b' || b > '\r') && b != 0x1b || b == 0x7f
}

// tooHigh reports whether a head that is not UTF-8 has too many non-ASCII bytes, or any control, to be Latin-1.
func tooHigh(head []byte) bool {
	high := 0
	for _, b := range head {
		if isControl(b) {
			return true
		}
		if b >= 0x80 {
			high++
		}
	}
	return high*100 > len(head)*maxHigh
}

// unmarked16 recognises UTF-16 without a byte order mark, only where it is beyond doubt: nine of ten units are
// printable ASCII or white space, and none is a control character.
func unmarked16(head []byte) Encoding {
	units := len(head) / 2
	if units < 4 {
		return ""
	}
	var little, big int
	for i := range units {
		a, b := head[2*i], head[2*i+1]
		if a == 0 && b == 0 {
			return ""
		}
		if b == 0 && plain(a) {
			little++
		}
		if a == 0 && plain(b) {
			big++
		}
		if b == 0 && !plain(a) && a < 0xa0 || a == 0 && !plain(b) && b < 0xa0 {
			return ""
		}
	}
	switch {
	case little*10 >= units*9 && big == 0:
		return UTF16LE
	case big*10 >= units*9 && little == 0:
		return UTF16BE
	default:
		return ""
	}
}

func plain(b byte) bool { return b >= 0x20 && b < 0x7f || b == '\t' || b == '\n' || b == '\r' }

// kinds are magic numbers that net/http does not know or names less well.
var kinds = []struct{ magic, mime, name string }{
	{"\x7fELF", "application/x-elf", "ELF executable"},
	{"MZ", "application/vnd.microsoft.portable-executable", "Windows executable"},
	{"\xcf\xfa\xed\xfe", "application/x-mach-binary", "Mach-O executable"},
	{"\xca\xfe\xba\xbe", "application/java-vm", "Java class or Mach-O executable"},
	{"SQLite format 3\x00", "application/vnd.sqlite3", "SQLite database"},
	{"\x00asm", "application/wasm", "WebAssembly module"},
	{"\xfd7zXZ\x00", "application/x-xz", "xz archive"},
	{"\x28\xb5\x2f\xfd", "application/zstd", "zstd archive"},
	{"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed", "7z archive"},
	{"BZh", "application/x-bzip2", "bzip2 archive"},
	{"!<arch>\n", "application/x-archive", "static library"},
	{"\xff\xfe\x00\x00", "text/plain; charset=utf-32le", "UTF-32 text"},
	{"\x00\x00\xfe\xff", "text/plain; charset=utf-32be", "UTF-32 text"},
}

var mimeNames = map[string]string{
	"application/pdf":              "PDF document",
	"application/postscript":       "PostScript document",
	"application/zip":              "ZIP archive",
	"application/x-gzip":           "gzip archive",
	"application/x-rar-compressed": "RAR archive",
	"image/x-icon":                 "icon",
	"image/bmp":                    "BMP image",
	"image/gif":                    "GIF image",
	"image/webp":                   "WebP image",
	"image/png":                    "PNG image",
	"image/jpeg":                   "JPEG image",
	"font/ttf":                     "TrueType font",
	"font/otf":                     "OpenType font",
	"font/woff":                    "WOFF font",
	"font/woff2":                   "WOFF2 font",
}

// Describe names binary data by its first bytes: its media type, and a name for people such as "PNG image".
func Describe(head []byte) (mime, name string) {
	for _, k := range kinds {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return k.mime, k.name
		}
	}
	mime, _, _ = strings.Cut(http.DetectContentType(head), ";")
	if name := mimeNames[mime]; name != "" {
		return mime, name
	}
	class, sub, _ := strings.Cut(mime, "/")
	switch class {
	case "audio", "video", "font", "image":
		return mime, strings.TrimPrefix(sub, "x-") + " " + class
	default:
		return "application/octet-stream", "binary data"
	}
}
