package text

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
)

func u16(s string, big bool) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return out
}

func TestDetect(t *testing.T) {
	long := strings.Repeat("plain ASCII text, line after line\n", 1000)
	tests := []struct {
		name string
		data string
		want Format
	}{
		{"empty", "", Format{Encoding: UTF8, Ending: NoEnding}},
		{"one line", "hello", Format{Encoding: UTF8, Ending: NoEnding}},
		{"lf", "a\nb\n", Format{Encoding: UTF8, Ending: LF}},
		{"crlf", "a\r\nb\r\n", Format{Encoding: UTF8, Ending: CRLF}},
		{"mixed", "a\r\nb\n", Format{Encoding: UTF8, Ending: Mixed}},
		{"lone cr is no line end", "a\rb\n", Format{Encoding: UTF8, Ending: LF}},
		{"utf-8", "zwölf Boxkämpfer €\n", Format{Encoding: UTF8, Ending: LF}},
		{"bom", "\xef\xbb\xbfa\n", Format{Encoding: UTF8, BOM: true, Ending: LF}},
		{"bom only", "\xef\xbb\xbf", Format{Encoding: UTF8, BOM: true, Ending: NoEnding}},
		{"escape sequences are text", "\x1b[31mred\x1b[0m\n", Format{Encoding: UTF8, Ending: LF}},
		{"latin-1", "zw\xf6lf\n", Format{Encoding: Latin1, Ending: LF}},
		{"windows-1252", "\x93quoted\x94 and caf\xe9\n", Format{Encoding: Windows1252, Ending: LF}},
		{"undefined in windows-1252", "caf\xe9 \x81 and more text\n", Format{Encoding: Binary, Ending: LF}},
		{"damaged utf-8", "zwölf grüße \xff\n", Format{Encoding: UTF8, Damaged: true, Ending: LF}},
		{"cut utf-8", "grüße zwö\xe2\x82", Format{Encoding: UTF8, Damaged: true, Ending: NoEnding}},
		{"latin-1 far behind", long + "zw\xf6lf\n", Format{Encoding: Latin1, Ending: LF}},
		{"utf-16le", "\xff\xfe" + string(u16("a\r\nb\r\n", false)), Format{Encoding: UTF16LE, BOM: true, Ending: CRLF}},
		{"utf-16be", "\xfe\xff" + string(u16("a\nb", true)), Format{Encoding: UTF16BE, BOM: true, Ending: LF}},
		{"utf-16le unmarked", string(u16("hello world\n", false)), Format{Encoding: UTF16LE, Ending: LF}},
		{"utf-16be unmarked", string(u16("hello world\n", true)), Format{Encoding: UTF16BE, Ending: LF}},
		{"utf-16 odd", "\xff\xfea\x00b", Format{Encoding: UTF16LE, BOM: true, Damaged: true, Ending: NoEnding}},
		{"utf-16 lone surrogate", "\xff\xfe\x00\xd8a\x00", Format{Encoding: UTF16LE, BOM: true, Damaged: true, Ending: NoEnding}},
		{"U+0A0A is no line end", "\xff\xfe\x0a\x0aa\x00", Format{Encoding: UTF16LE, BOM: true, Ending: NoEnding}},
		{"small integers are not utf-16", "\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00", Format{Encoding: Binary, Ending: NoEnding}},
		{"nul", "text\x00text", Format{Encoding: Binary, Ending: NoEnding}},
		{"controls", "\x01\x02\x03\x04text", Format{Encoding: Binary, Ending: NoEnding}},
		{"pdf", "%PDF-1.7\nall ASCII so far\n", Format{Encoding: Binary, Ending: LF}},
		{"utf-32", "\xff\xfe\x00\x00a\x00\x00\x00", Format{Encoding: Binary, Ending: NoEnding}},
		{"starts like a bitmap", "BMW is a make of cars\n", Format{Encoding: UTF8, Ending: LF}},
		{"mostly high bytes", "\xd0\xd1\xd2\xd3\xd4\xd5", Format{Encoding: Binary, Ending: NoEnding}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Detect([]byte(tt.data)); got != tt.want {
				t.Errorf("Detect = %+v, want %+v", got, tt.want)
			}
			var d Detector
			for i := range len(tt.data) {
				_, _ = d.Write([]byte(tt.data[i : i+1]))
			}
			if got := d.Format(); got != tt.want {
				t.Errorf("byte by byte = %+v, want %+v", got, tt.want)
			}
			roundTrip(t, []byte(tt.data))
		})
	}
}

// roundTrip checks that what can be decoded comes back byte by byte, and reports whether it could.
func roundTrip(t *testing.T, data []byte) {
	t.Helper()
	f := Detect(data)
	s, err := Decode(data, f)
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("Decode(%q): %v", data, err)
		}
		if f.Encoding != Binary && !f.Damaged {
			t.Fatalf("%v is neither binary nor damaged, but: %v", f, err)
		}
		return
	}
	back, err := Encode(s, f)
	if err != nil || !bytes.Equal(back, data) {
		t.Fatalf("%v: %q came back as %q, %v", f, data, back, err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	_, err := Encode("a\nb €\n", Format{Encoding: Latin1})
	var un *UnencodableError
	if !errors.As(err, &un) || un.Char != '€' || un.Line != 2 {
		t.Fatalf("err = %v", err)
	}
	if b, err := Encode("€", Format{Encoding: Windows1252}); err != nil || string(b) != "\x80" {
		t.Errorf("windows-1252: %q, %v", b, err)
	}
	if _, err := Encode("\xff", Format{Encoding: UTF16LE}); !errors.As(err, &un) {
		t.Errorf("invalid UTF-8 as UTF-16: %v", err)
	}
	if _, err := Encode("a", Format{Encoding: Binary}); err == nil {
		t.Error("binary was encoded")
	}
}

func TestDescribe(t *testing.T) {
	tests := map[string]string{
		"\x89PNG\r\n\x1a\n": "PNG image", "GIF89a": "GIF image", "\xff\xd8\xff": "JPEG image", "\x7fELF\x02": "ELF executable",
		"%PDF-1.7": "PDF document", "PK\x03\x04": "ZIP archive", "\x00\x01\x02": "binary data", "plain": "binary data",
		"RIFF\x00\x00\x00\x00WEBPVP": "WebP image", "ID3\x03": "mpeg audio", "\xff\xfe\x00\x00": "UTF-32 text",
	}
	for head, want := range tests {
		if _, got := Describe([]byte(head)); got != want {
			t.Errorf("Describe(%q) = %q, want %q", head, got, want)
		}
	}
}

// lineCases are files in every encoding whose lines are known.
func lineCases() map[string]string {
	cases := map[string]string{
		"empty": "", "one": "a", "ended": "a\n", "two": "a\nb", "blank lines": "\n\n\n", "crlf": "a\r\nb\r\n",
		"long": strings.Repeat("x", 3*blockSize) + "\n" + strings.Repeat("ü", blockSize) + "\nend",
		"many": strings.Repeat("line of text\n", 20000), "edge": strings.Repeat("x", blockSize-1) + "\n" + "y\n",
		"edge crlf": strings.Repeat("x", blockSize-1) + "\r\n" + "y\r\n",
	}
	return cases
}

func TestLines(t *testing.T) {
	formats := []Format{
		{Encoding: UTF8},
		{Encoding: UTF8, BOM: true},
		{Encoding: UTF16LE, BOM: true},
		{Encoding: UTF16BE},
		{Encoding: Latin1},
	}
	for name, s := range lineCases() {
		for _, f := range formats {
			t.Run(fmt.Sprintf("%s %v", name, f), func(t *testing.T) {
				data, err := Encode(s, f)
				if err != nil {
					t.Fatal(err)
				}
				checkLines(t, s, data, f)
			})
		}
	}
}

func checkLines(t *testing.T, s string, data []byte, f Format) {
	t.Helper()
	ctx := context.Background()
	want := strings.Split(strings.TrimSuffix(ToLF(s), "\n"), "\n")
	if s == "" {
		want = nil
	}
	total := int64(len(want))
	r, size := bytes.NewReader(data), int64(len(data))
	for _, n := range []int64{1, 2, 3, total - 1, total, total + 1, total + 100, 9000} {
		if n < 1 {
			continue
		}
		at, line, err := LineStart(ctx, r, size, f, n)
		if err != nil || line != min(n, total) || (n > total) != (at == size) {
			t.Fatalf("LineStart(%d) = %d, %d, %v; size %d, lines %d", n, at, line, err, size, total)
		}
		if n <= total {
			expectLines(t, data[at:], f, want[n-1:])
		}
		at, lines, err := TailStart(ctx, r, size, f, n)
		if err != nil || lines != min(n, total) {
			t.Fatalf("TailStart(%d) = %d, %d, %v; lines %d", n, at, lines, err, total)
		}
		expectLines(t, data[at:], f, want[total-lines:])
	}
}

func expectLines(t *testing.T, data []byte, f Format, want []string) {
	t.Helper()
	const most = 100
	sc := NewScanner(bytes.NewReader(data), f, most)
	i := 0
	for ; sc.Scan(); i++ {
		line := sc.Line()
		if i >= len(want) {
			t.Fatalf("line %d too many: %.40q", i, line.Text)
		}
		w := []rune(want[i])
		if line.Text != string(w[:min(most, len(w))]) || line.Cut != max(0, len(w)-most) {
			t.Fatalf("line %d = %.40q, cut %d; want %d characters of %.40q", i, line.Text, line.Cut, len(w), want[i])
		}
	}
	if sc.Err() != nil || i != len(want) {
		t.Fatalf("%d lines, %v; want %d", i, sc.Err(), len(want))
	}
}

func TestLinesCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	data := strings.Repeat("x\n", blockSize)
	f := Format{Encoding: UTF8}
	if _, _, err := LineStart(ctx, strings.NewReader(data), int64(len(data)), f, 1000); !errors.Is(err, context.Canceled) {
		t.Errorf("LineStart: %v", err)
	}
	if _, _, err := TailStart(ctx, strings.NewReader(data), int64(len(data)), f, 1000); !errors.Is(err, context.Canceled) {
		t.Errorf("TailStart: %v", err)
	}
}

// TestDetectorInPieces compares pieces of every size with the whole.
func TestDetectorInPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "ü", "€", "\U0001f600", "\r", "\n", "\r\n", "\xff", "\xe9", " ", "\t"}
	for range 300 {
		var b strings.Builder
		for range rng.IntN(3000) {
			b.WriteString(alphabet[rng.IntN(len(alphabet))])
		}
		data := []byte(b.String())
		var d Detector
		for rest := data; len(rest) > 0; {
			n := min(1+rng.IntN(40), len(rest))
			_, _ = d.Write(rest[:n])
			rest = rest[n:]
		}
		if got, want := d.Format(), Detect(data); got != want {
			t.Fatalf("pieces of %q: %+v, whole: %+v", data, got, want)
		}
		if got, want := d.Lines(), int64(Count(b.String())); got != want {
			t.Fatalf("%d lines, want %d", got, want)
		}
		roundTrip(t, data)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a\r\nb\n", "zw\xf6lf", "\xff\xfea\x00", "\xfe\xff\xd8\x00", "\x00", "\xef\xbb\xbfx\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		roundTrip(t, data)
		format := Detect(data)
		if format.Encoding == Binary {
			return
		}
		var d Detector
		half := len(data) / 2
		_, _ = d.Write(data[:half])
		_, _ = d.Write(data[half:])
		if d.Format() != format {
			t.Fatalf("in two pieces %+v, whole %+v", d.Format(), format)
		}
		ctx, r, size := context.Background(), bytes.NewReader(data), int64(len(data))
		_, lines, err := LineStart(ctx, r, size, format, 1<<40)
		if err != nil || lines != d.Lines() {
			t.Fatalf("LineStart counts %d lines, %v; the detector %d", lines, err, d.Lines())
		}
		if !format.Damaged {
			if _, tail, err := TailStart(ctx, r, size, format, 1<<40); err != nil || tail != lines {
				t.Fatalf("TailStart counts %d lines, %v; want %d", tail, err, lines)
			}
		}
	})
}

func BenchmarkDetect(b *testing.B) {
	data := []byte(strings.Repeat("a line of mostly ASCII text, with an ü now and then\n", 20000))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Detect(data)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1.0 kB", 1_550_000: "1.6 MB", 4 << 30: "4.3 GB", 1 << 60: "1152921.5 TB",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
