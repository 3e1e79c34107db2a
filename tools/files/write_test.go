package files

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

func TestWriteCreatesFreelyAndAsksToOverwrite(t *testing.T) {
	b := newBench(t, setup{})
	res := b.OK("write_file", args{"path": "a/b/c.txt", "content": "one\n"})
	v := value[WriteOutput](b, res)
	if !v.Created || v.Size != 4 || v.Path != "a/b/c.txt" || len(b.Asked()) != 0 {
		t.Errorf("value %s, asked %v", res.Value, b.Asked())
	}
	b.Contains("content", res.Content, "Created a/b/c.txt (1 line, 4 bytes).")
	b.Equal("file", b.Get("a/b/c.txt"), "one\n")

	res = b.OK("write_file", args{"path": "a/b/c.txt", "content": "two\n"})
	if len(b.Asked()) != 1 || value[WriteOutput](b, res).Created {
		t.Fatalf("asked %v", b.Asked())
	}
	b.Contains("preview", b.Asked()[0].Preview, "--- a/a/b/c.txt\n+++ b/a/b/c.txt\n@@ -1 +1 @@\n-one\n+two\n")
	b.Contains("message", b.Asked()[0].Message, "Overwrite a/b/c.txt (4 bytes) with 4 bytes")
	b.Contains("display", res.Display, "-one\n+two\n")

	res = b.OK("write_file", args{"path": "a/b/c.txt", "content": "two\n"})
	if len(b.Asked()) != 1 || value[WriteOutput](b, res).Changed {
		t.Errorf("writing what is there: %s, asked %d times", res.Value, len(b.Asked()))
	}
	b.Contains("content", res.Content, "nothing was written")
}

func TestWriteWithoutDirectories(t *testing.T) {
	b := newBench(t, setup{})
	b.fails(tongs.CodeFileNotFound, "the directory a does not exist; set createDirs to make it", "write_file", args{"path": "a/b", "content": "", "createDirs": false})
	if b.Exists("a") {
		t.Error("a was created")
	}
	b.OK("write_file", args{"path": "a/b", "content": "", "createDirectories": true})
	b.Equal("empty", b.Get("a/b"), "")
}

func TestWriteKeepsTheFormat(t *testing.T) {
	tests := []struct {
		name, old, content, want, kept string
	}{
		{"crlf", "a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n", "utf-8, crlf"},
		{"crlf given", "a\r\nb\r\n", "x\r\ny\r\n", "x\r\ny\r\n", "utf-8, crlf"},
		{"mixed is not kept", "a\r\nb\n", "x\ny\n", "x\ny\n", "utf-8, mixed"},
		{"lf, crlf given", "a\n", "x\r\n", "x\r\n", ""},
		{"bom", "\xef\xbb\xbfa\n", "x\n", "\xef\xbb\xbfx\n", "utf-8 with BOM"},
		{"bom given", "\xef\xbb\xbfa\n", "\uFEFFx\n", "\xef\xbb\xbfx\n", "utf-8 with BOM"},
		{"utf-16", utf16le("a\r\n"), "€\n", utf16le("€\r\n"), "utf-16le with BOM, crlf"},
		{"latin-1", "gr\xfc\xdfe an alle\n", "Grüße\n", "Gr\xfc\xdfe\n", "iso-8859-1"},
		{"empty", "", "x\n", "x\n", ""},
		{"binary", "\x00\x01", "x\n", "x\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, setup{mode: tongs.ModeAll})
			b.Put("f", tt.old)
			res := b.OK("write_file", args{"path": "f", "content": tt.content})
			b.Equal("file", b.Get("f"), tt.want)
			if kept, _ := res.Metadata["kept"].(string); kept != tt.kept && tt.name != "mixed is not kept" {
				t.Errorf("kept %q, want %q", kept, tt.kept)
			}
		})
	}
}

func TestWriteWhatTheEncodingLacks(t *testing.T) {
	b := newBench(t, setup{mode: tongs.ModeAll})
	old := "gr\xfc\xdfe an alle\n"
	b.Put("f", old)
	b.fails(tongs.CodeInvalidArgs, "line 2 holds '€' (U+20AC), which iso-8859-1 cannot represent", "write_file", args{"path": "f", "content": "a\n€\n"})
	b.Equal("untouched", b.Get("f"), old)
	res := b.OK("write_file", args{"path": "f", "content": "a\n€\n", "encoding": "utf-8"})
	b.Equal("converted", b.Get("f"), "a\n€\n")
	b.Contains("content", res.Content, "converted to utf-8")
}

func TestWriteBase64(t *testing.T) {
	b := newBench(t, setup{})
	data := "\x00\x01\xff\r\n"
	b.OK("write_file", args{"path": "bin", "content": base64.StdEncoding.EncodeToString([]byte(data)), "encoding": "base64"})
	b.Equal("file", b.Get("bin"), data)
	b.OK("write_file", args{"path": "bin", "content": "AAEC\nAw==", "encoding": "base64"})
	b.Equal("wrapped", b.Get("bin"), "\x00\x01\x02\x03")
	b.Contains("preview", b.Asked()[0].Preview, "bin: binary data, 5 bytes → binary data, 4 bytes")
	b.fails(tongs.CodeInvalidArgs, "not base64", "write_file", args{"path": "bin", "content": "?!", "encoding": "base64"})
}

func TestWriteRefuses(t *testing.T) {
	b := newBench(t, setup{mode: tongs.ModeAll})
	b.Put("d/f", "x\n")
	b.Put("code.go", "package main\n\nfunc main() {}\n")
	b.Must(os.Symlink("d", filepath.Join(b.Dir, "link")))
	b.Must(os.Symlink("../outside", filepath.Join(b.Dir, "out")))
	b.fails(tongs.CodeInvalidPath, "is a directory", "write_file", args{"path": "d", "content": ""})
	b.fails(tongs.CodeInvalidPath, "", "write_file", args{"path": ".", "content": ""})
	b.fails(tongs.CodeInvalidPath, "", "write_file", args{"path": "../x", "content": ""})
	b.fails(tongs.CodeInvalidPath, "link", "write_file", args{"path": "out", "content": ""})
	b.fails(tongs.CodeInvalidPath, "", "write_file", args{"path": "d/f/g", "content": ""})
	b.fails(tongs.CodeInvalidArgs, "line 2 of content (\"// ... existing code ...\")", "write_file",
		args{"path": "code.go", "content": "package main\n// ... existing code ...\n"})
	b.OK("write_file", args{"path": "new.go", "content": "// ... existing code ...\n"}) // nothing is lost in a new file
	b.OK("write_file", args{"path": "link/f", "content": "y\n"})
	b.Equal("through the link", b.Get("d/f"), "y\n")
	b.fails(tongs.CodeInvalidArgs, "path", "write_file", args{"content": "x"})
	b.fails(tongs.CodeInvalidArgs, "content", "write_file", args{"path": "x"})
}

func TestStaleFile(t *testing.T) {
	b := newBench(t, setup{mode: tongs.ModeAll})
	b.Put("f", "one\n")
	b.OK("read_file", args{"path": "f"})
	b.Put("f", "one more\n")
	for tool, a := range map[string]args{
		"write_file": {"path": "f", "content": "mine\n"},
		"edit":       {"path": "f", "oldString": "one", "newString": "two"},
	} {
		b.fails(tongs.CodeStaleFile, "it had 4 bytes and now has 9 bytes; read it again", tool, a)
	}
	b.Equal("untouched", b.Get("f"), "one more\n")
	b.OK("read_file", args{"path": "f", "limit": 1})
	b.OK("edit", args{"path": "f", "oldString": "more", "newString": "time"})
	b.OK("edit", args{"path": "f", "oldString": "time", "newString": "day"}) // our own change is known
	b.OK("write_file", args{"path": "f", "content": "x\n"})
	b.OK("edit", args{"path": "f", "oldString": "x", "newString": "y"})

	// The same size, and the same content again.
	b.Put("f", "z\n")
	b.fails(tongs.CodeStaleFile, "", "edit", args{"path": "f", "oldString": "z", "newString": "w"})
	b.Put("f", "y\n")
	b.OK("edit", args{"path": "f", "oldString": "y", "newString": "w"})
	b.Must(os.Chmod(filepath.Join(b.Dir, "f"), 0o600))
	b.OK("edit", args{"path": "f", "oldString": "w", "newString": "v"})

	// A file that the session never saw, and one that went away.
	b.Put("unseen", "a\n")
	b.OK("edit", args{"path": "unseen", "oldString": "a", "newString": "b"})
	b.Must(os.Remove(filepath.Join(b.Dir, "unseen")))
	b.OK("write_file", args{"path": "unseen", "content": "c\n"})
}

func TestStaleFollowsMoves(t *testing.T) {
	b := newBench(t, setup{mode: tongs.ModeAll})
	b.Put("a", "one\n")
	b.OK("read_file", args{"path": "a"})
	b.OK("move_file", args{"from": "a", "to": "b"})
	b.OK("edit", args{"path": "b", "oldString": "one", "newString": "two"})
	b.Put("b", "three\n")
	b.OK("move_file", args{"from": "b", "to": "c"})
	b.fails(tongs.CodeStaleFile, "c changed", "edit", args{"path": "c", "oldString": "three", "newString": "four"})
	b.Put("a", "new\n")
	b.OK("edit", args{"path": "a", "oldString": "new", "newString": "newer"}) // what was seen there has moved away
	b.Put("unseen", "u\n")
	b.OK("move_file", args{"from": "unseen", "to": "a", "overwrite": true})
	b.OK("edit", args{"path": "a", "oldString": "u", "newString": "v"})
}

func TestStaleLargeFileBySizeAndTime(t *testing.T) {
	b := newBench(t, setup{mode: tongs.ModeAll})
	big := strings.Repeat("0123456789abcdef\n", maxVersioned/17+1)
	b.Put("big", big)
	b.OK("read_file", args{"path": "big", "limit": 1})
	b.OK("write_file", args{"path": "big", "content": "small\n"})
	b.Put("big", big)
	b.fails(tongs.CodeStaleFile, "", "write_file", args{"path": "big", "content": "small\n"})
	b.OK("read_file", args{"path": "big", "limit": 1})
	b.Put("big", big+"more")
	b.fails(tongs.CodeStaleFile, "bytes and now has", "write_file", args{"path": "big", "content": "small\n"})
	b.fails(tongs.CodeTooLarge, "", "edit", args{"path": "big", "oldString": "0", "newString": "1"})
}
