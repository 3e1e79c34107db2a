package files

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/tongs-ai/tongs"
)

func utf16le(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestReadShowsLines(t *testing.T) {
	b := newBench(t, setup{nope: true})
	b.Put("ten", numbered(10))
	b.Put("crlf", "a\r\nb\r\n")
	b.Put("open", "a\nb")
	b.Put("bom", "\xef\xbb\xbfa\n")
	b.Put("utf16", utf16le("grüße\r\n€\r\n"))
	b.Put("latin", "gr\xfc\xdfe\n")
	b.Put("damaged", "grüße \xff\n")
	b.Put("empty", "")
	b.Put("onlybom", "\xef\xbb\xbf")
	tests := []struct {
		name          string
		args          args
		shown         string
		content       string
		total, next   int64
		encoding, end string
	}{
		{"all", args{"path": "ten", "limit": 2}, "     1\tline 1\n     2\tline 2\n[lines 1 to 2 of 10; 8 lines left; read on with offset=3]", "line 1\nline 2\n", 10, 3, "utf-8", "lf"},
		{"offset", args{"path": "ten", "offset": 9}, "     9\tline 9\n    10\tline 10", "line 9\nline 10\n", 10, 0, "utf-8", "lf"},
		{"offset zero", args{"path": "ten", "offset": 0, "limit": 1}, "     1\tline 1\n[lines 1 to 1", "line 1\n", 10, 2, "utf-8", "lf"},
		{"from the end", args{"path": "ten", "offset": -2}, "     9\tline 9\n    10\tline 10", "line 9\nline 10\n", 10, 0, "utf-8", "lf"},
		{"from before the start", args{"path": "ten", "offset": -99, "limit": 1}, "     1\tline 1\n", "line 1\n", 10, 2, "utf-8", "lf"},
		{"alias and spelling", args{"file_path": "ten", "offset": "10"}, "    10\tline 10", "line 10\n", 10, 0, "utf-8", "lf"},
		{"crlf", args{"path": "crlf"}, "     1\ta\n     2\tb", "a\nb\n", 2, 0, "utf-8", "crlf"},
		{"no end", args{"path": "open"}, "     1\ta\n     2\tb", "a\nb", 2, 0, "utf-8", "lf"},
		{"bom", args{"path": "bom"}, "     1\ta", "a\n", 1, 0, "utf-8", "lf"},
		{"utf-16", args{"path": "utf16"}, "     1\tgrüße\n     2\t€", "grüße\n€\n", 2, 0, "utf-16le", "crlf"},
		{"utf-16 from the end", args{"path": "utf16", "offset": -1}, "     2\t€", "€\n", 2, 0, "utf-16le", "crlf"},
		{"latin-1", args{"path": "latin"}, "     1\tgrüße", "grüße\n", 1, 0, "iso-8859-1", "lf"},
		{"damaged", args{"path": "damaged"}, "     1\tgrüße \uFFFD\n[some bytes are not valid utf-8", "grüße \uFFFD\n", 1, 0, "utf-8", "lf"},
		{"empty", args{"path": "empty"}, "[empty is empty]", "", 0, 0, "utf-8", "none"},
		{"bom only", args{"path": "onlybom"}, "[onlybom is empty]", "", 0, 0, "utf-8", "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &bench{b.In(t)}
			res := b.OK("read_file", tt.args)
			if !strings.HasPrefix(res.Content, tt.shown) {
				t.Errorf("shown %q, want %q", res.Content, tt.shown)
			}
			v := value[ReadOutput](b, res)
			if v.Content != tt.content || v.TotalLines == nil || *v.TotalLines != tt.total || v.NextOffset != tt.next ||
				v.Encoding != tt.encoding || v.LineEnding != tt.end || v.Modified.IsZero() {
				t.Errorf("value %s", res.Value)
			}
		})
	}
}

func TestReadLimits(t *testing.T) {
	b := newBench(t, setup{nope: true, Options: Options{ReadLines: 5, LineChars: 10, ReadBytes: 90}})
	b.Put("many", numbered(8))
	b.Put("long", strings.Repeat("ü", 25)+"\nshort\n")
	b.Put("wide", strings.Repeat("0123456789\n", 8))
	b.Put("wider", strings.Repeat("0123456789abcdef\n", 8))
	v := value[ReadOutput](b, b.OK("read_file", args{"path": "many", "limit": 100}))
	b.Equal("next", v.NextOffset, int64(6))
	res := b.OK("read_file", args{"path": "long"})
	b.Contains("content", res.Content, "     1\t"+strings.Repeat("ü", 10)+" … [15 characters left out]\n     2\tshort\n[1 line cut at 10 characters")
	v = value[ReadOutput](b, b.OK("read_file", args{"path": "wide"}))
	b.Equal("next by bytes", v.NextOffset, int64(6)) // 5 lines of 18 bytes fit into 90
	v = value[ReadOutput](b, b.OK("read_file", args{"path": "wider"}))
	b.Equal("next by bytes", v.NextOffset, int64(2)) // with what is said of the rest of a line

	// Paging by nextOffset gives the whole file.
	var all strings.Builder
	for offset := int64(1); offset != 0; {
		v := value[ReadOutput](b, b.OK("read_file", args{"path": "many", "offset": offset}))
		all.WriteString(v.Content)
		offset = v.NextOffset
	}
	b.Equal("paged", all.String(), numbered(8))
}

func TestReadRefuses(t *testing.T) {
	b := newBench(t, setup{nope: true})
	b.Put("src/main.go", "package main\n")
	b.Put("zip", "PK\x03\x04\x00\x00")
	b.Put("prog", "\x7fELF\x02\x01\x00")
	b.Must(os.Symlink("/etc/passwd", filepath.Join(b.Dir, "out")))
	b.Must(os.Symlink("loop", filepath.Join(b.Dir, "loop")))
	b.fails(tongs.CodeFileNotFound, "did you mean src/main.go?", "read_file", args{"path": "src/mian.go"})
	b.fails(tongs.CodeFileNotFound, "there is no scr; did you mean src?", "read_file", args{"path": "scr/main.go"})
	b.fails(tongs.CodeFileNotFound, "did you mean src/main.go?", "read_file", args{"path": "src/main"})
	b.fails(tongs.CodeFileNotFound, "list_directory shows", "read_file", args{"path": "quite-another-name"})
	b.fails(tongs.CodeInvalidPath, "list_directory", "read_file", args{"path": "src"})
	b.fails(tongs.CodeInvalidArgs, "offset 5 is past the end: src/main.go has 1 line", "read_file", args{"path": "src/main.go", "offset": 5})
	b.fails(tongs.CodeBinaryFile, "ZIP archive, 6 bytes", "read_file", args{"path": "zip"})
	b.fails(tongs.CodeBinaryFile, "ELF executable", "read_file", args{"path": "prog"})
	for _, path := range []string{"../x", "/etc/passwd", "out", "loop", "a\x00b", "src/../../x", "~/.ssh/id_rsa", ""} {
		b.fails(tongs.CodeInvalidPath, "", "read_file", args{"path": path})
	}
	b.fails(tongs.CodeInvalidArgs, "encoding", "read_file", args{"path": "zip", "encoding": "utf-7"})
	b.fails(tongs.CodeInvalidArgs, "limit", "read_file", args{"path": "zip", "limit": 0})
}

func TestReadImagesAndBytes(t *testing.T) {
	b := newBench(t, setup{nope: true, Options: Options{ImageBytes: 100, RawMax: 8, RawBytes: 4}})
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	b.Put("a.png", png)
	b.Put("big.png", png+strings.Repeat("\x00", 100))
	res := b.OK("read_file", args{"path": "a.png"})
	if len(res.Attachments) != 1 || res.Attachments[0].MIME != "image/png" || string(res.Attachments[0].Data) != png {
		t.Errorf("attachments %+v", res.Attachments)
	}
	b.Contains("content", res.Content, "PNG image, 16 bytes, attached")
	b.fails(tongs.CodeTooLarge, "PNG image, 116 bytes, the limit is 100 bytes", "read_file", args{"path": "big.png"})

	var all []byte
	for offset := int64(1); offset != 0; {
		v := value[ReadOutput](b, b.OK("read_file", args{"path": "a.png", "encoding": "base64", "offset": offset, "limit": 100}))
		data, err := base64.StdEncoding.DecodeString(v.Content)
		b.Must(err)
		if len(data) > 8 {
			t.Fatalf("%d bytes at once", len(data))
		}
		all = append(all, data...)
		offset = v.NextOffset
	}
	b.Equal("paged", string(all), png)
	v := value[ReadOutput](b, b.OK("read_file", args{"path": "a.png", "encoding": "base64", "offset": -4}))
	b.Equal("last bytes", v.Content, base64.StdEncoding.EncodeToString([]byte("IHDR")))
	b.fails(tongs.CodeInvalidArgs, "past the end", "read_file", args{"path": "a.png", "encoding": "base64", "offset": 17})
}

// sparse makes a file of the given size that ends with ten lines.
func sparse(b *bench, name string, size int64) {
	f, err := os.Create(filepath.Join(b.Dir, name))
	b.Must(err)
	defer f.Close()
	tail := numbered(10)
	_, err = f.WriteString("the first line\n")
	b.Must(err)
	// The head must be text: the hole begins after what decides that.
	_, err = f.WriteString(strings.Repeat("text\n", headBytes/5+1))
	b.Must(err)
	_, err = f.WriteAt([]byte("\n"+tail), size-int64(len(tail))-1)
	b.Must(err)
}

func TestReadTailOfHugeFileInConstantMemory(t *testing.T) {
	b := newBench(t, setup{nope: true})
	sparse(b, "huge.log", 2<<30)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	res := b.OK("read_file", args{"path": "huge.log", "offset": -10})
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("%d bytes were allocated", got)
	}
	b.Contains("content", res.Content, "   -10\tline 1\n")
	b.Contains("content", res.Content, "    -1\tline 10\n[the lines are numbered from the end")
	v := value[ReadOutput](b, res)
	if v.TotalLines != nil || v.Content != numbered(10) || v.NextOffset != 0 {
		t.Errorf("value %s", res.Value)
	}
	v = value[ReadOutput](b, b.OK("read_file", args{"path": "huge.log", "offset": -10, "limit": 4}))
	b.Equal("next", v.NextOffset, int64(-6))
	res = b.OK("read_file", args{"path": "huge.log", "limit": 1})
	b.Contains("content", res.Content, "     1\tthe first line\n[lines 1 to 1 of a file of 2.1 GB; read on with offset=2]")
}

func TestReadCancelled(t *testing.T) {
	b := newBench(t, setup{nope: true})
	sparse(b, "huge.log", 2<<30)
	b.Put("small", "x")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for tool, a := range map[string]string{
		"read_file": `{"path":"huge.log","offset":900000000}`, "list_directory": `{}`, "write_file": `{"path":"new","content":"x"}`,
		"delete_file": `{"path":"small"}`,
	} {
		res := b.Engine.Call(ctx, &tongs.Call{Tool: tool, Args: json.RawMessage(a)})
		if res.OK() || res.Error.Code != tongs.CodeCancelled {
			t.Errorf("%s: %v", tool, res.Error)
		}
	}
	if b.Exists("new") || !b.Exists("small") {
		t.Error("a cancelled call changed something")
	}
}

func BenchmarkRead2000LinesOf50MB(b *testing.B) {
	t := newBench(b, setup{nope: true})
	t.Put("large", strings.Repeat("a line of text, as long as lines usually are\n", 1_100_000))
	for b.Loop() {
		t.OK("read_file", args{"path": "large", "offset": 500_000})
	}
}

func BenchmarkTailOf2GB(b *testing.B) {
	t := newBench(b, setup{nope: true})
	sparse(t, "huge", 2<<30)
	for b.Loop() {
		t.OK("read_file", args{"path": "huge", "offset": -10})
	}
}
