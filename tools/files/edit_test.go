package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs"
)

func TestEditAsksWithADiff(t *testing.T) {
	b := newBench(t, setup{})
	b.Put("src/a.go", "a\nb\nc\nd\n")
	res := b.OK("edit", args{"path": "src/a.go", "oldString": "b\nc", "newString": "B"})
	if len(b.Asked()) != 1 {
		t.Fatalf("asked %d times", len(b.Asked()))
	}
	q := b.Asked()[0]
	b.Equal("message", q.Message, "Replace 2 lines in src/a.go")
	b.Contains("preview", q.Preview, "--- a/src/a.go\n+++ b/src/a.go\n@@ -1,4 +1,3 @@\n a\n-b\n-c\n+B\n d\n")
	v := value[EditOutput](b, res)
	if v.Replacements != 1 || v.FirstLine != 2 || v.Diff != q.Preview {
		t.Errorf("value %s", res.Value)
	}
	b.Contains("content", res.Content, "Edited src/a.go: 1 replacement.\n--- a/src/a.go")
	b.Equal("file", b.Get("src/a.go"), "a\nB\nd\n")
}

func TestEditThatFailsAsksNobodyAndOnlyReads(t *testing.T) {
	b := newBench(t, setup{})
	b.Put("f", "alpha beta\nalpha gamma\n")
	b.Put("greek", "")
	b.Put(".env", "SECRET=topsecret\n")
	b.fails(tongs.CodeNoMatch, "alpha beta", "edit", args{"path": "f", "oldString": "alpha bta", "newString": "x"})
	b.fails(tongs.CodeAmbiguousMatch, "lines 1, 2", "edit", args{"path": "f", "oldString": "alpha", "newString": "x"})
	b.fails(tongs.CodeFileNotFound, "did you mean greek?", "edit", args{"path": "grek", "oldString": "alpha", "newString": "x"})
	if len(b.Asked()) != 0 {
		t.Errorf("asked %v", b.Asked())
	}
	e := b.Explain("edit", args{"path": "f", "oldString": "nope", "newString": "x"})
	if len(e.Effects) != 1 || e.Effects[0].Kind != tongs.EffectRead || e.Decision != tongs.PreApproved {
		t.Errorf("explained %+v", e)
	}

	// The error would show what is in the file: that needs the same word as reading it.
	strict := newBench(t, setup{nope: true, mode: tongs.ModeAll})
	strict.Put(".env", "SECRET=topsecret\n")
	res := strict.fails(tongs.CodeApprovalRequired, "", "edit", args{"path": ".env", "oldString": "SECRET=topsecrex", "newString": "x"})
	if strings.Contains(res.Content, "topsecret") {
		t.Errorf("the secret was shown: %q", res.Content)
	}
	blocked := newBench(t, setup{rules: []tongs.Rule{{Effects: tongs.Kinds(tongs.EffectRead), Pattern: "private/**", Decision: tongs.Blocked}}})
	blocked.Put("private/f", "classified\n")
	res = blocked.fails(tongs.CodeBlocked, "", "edit", args{"path": "private/f", "oldString": "classifies", "newString": "x"})
	if strings.Contains(res.Content, "classified") {
		t.Errorf("shown: %q", res.Content)
	}
}

func TestEditKeepsTheFormat(t *testing.T) {
	tests := []struct{ name, old, from, to, want string }{
		{"crlf", "a\r\nb\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\n"},
		{"bom", "\xef\xbb\xbfa\n", "a", "b", "\xef\xbb\xbfb\n"},
		{"utf-16", utf16le("a\r\nb\r\n"), "a\n", "€\n", utf16le("€\r\nb\r\n")},
		{"latin-1", "gr\xfc\xdfe an alle\n", "grüße", "Größe", "Gr\xf6\xdfe an alle\n"},
		{"damaged", "grüße \xff\n", "grüße", "x", "x \xff\n"},
		{"no final newline", "a\nb", "b", "c", "a\nc"},
		{"literal", "x", "x", "$& $1 \\1 %s", "$& $1 \\1 %s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, setup{mode: tongs.ModeAll})
			b.Put("f", tt.old)
			b.OK("edit_file", args{"path": "f", "old_str": tt.from, "newString": tt.to})
			b.Equal("file", b.Get("f"), tt.want)
		})
	}
}

func TestEditSeveral(t *testing.T) {
	b := newBench(t, setup{mode: tongs.ModeAll})
	b.Put("f", "one two three\n")
	pair := func(old, new string) args { return args{"oldString": old, "newString": new} }
	b.fails(tongs.CodeNoMatch, "edits[1]: ", "edit", args{"path": "f", "edits": []args{pair("one", "1"), pair("four", "4")}})
	b.Equal("nothing changed", b.Get("f"), "one two three\n")
	res := b.OK("apply_diff", args{"path": "f", "edits": []args{pair("one", "1"), pair("1 two", "2"), {"oldString": "e", "newString": "E", "replaceAll": true}}})
	b.Equal("file", b.Get("f"), "2 thrEE\n")
	b.Equal("replacements", value[EditOutput](b, res).Replacements, 4)
	res = b.OK("edit", args{"path": "f", "oldString": "     1\t2 thrEE", "newString": "done"})
	b.Contains("metadata", strings.Join(res.Metadata["matched"].([]string), ","), byNumbers)
}

func TestEditRefuses(t *testing.T) {
	b := newBench(t, setup{mode: tongs.ModeAll})
	b.Put("f", "a\nb\n")
	b.Put("bin", "\x00a")
	b.Put("odd", "\xff\xfea\x00b")
	b.Put("latin", "gr\xfc\xdfe an alle\n")
	b.Put("d/x", "")
	b.Put("empty", "")
	tests := []struct {
		code tongs.Code
		says string
		args args
	}{
		{tongs.CodeInvalidArgs, "the same", args{"path": "f", "oldString": "a", "newString": "a"}},
		{tongs.CodeInvalidArgs, "the same", args{"path": "f", "oldString": "a\r\nb", "newString": "a\nb"}},
		{tongs.CodeInvalidArgs, "newString is missing", args{"path": "f", "oldString": "a"}},
		{tongs.CodeInvalidArgs, "oldString is missing", args{"path": "f", "newString": "a"}},
		{tongs.CodeInvalidArgs, "nothing to replace", args{"path": "f"}},
		{tongs.CodeInvalidArgs, "not both", args{"path": "f", "oldString": "a", "newString": "b", "edits": []args{{"oldString": "a", "newString": "b"}}}},
		{tongs.CodeInvalidArgs, "oldString is empty", args{"path": "f", "oldString": "", "newString": "b"}},
		{tongs.CodeInvalidArgs, "changes nothing", args{"path": "f", "edits": []args{{"oldString": "a", "newString": "c"}, {"oldString": "c", "newString": "a"}}}},
		{tongs.CodeInvalidArgs, "line 2 of newString (\"# rest of file unchanged\")", args{"path": "f", "oldString": "a", "newString": "x\n# rest of file unchanged"}},
		{tongs.CodeInvalidArgs, "iso-8859-1 cannot represent", args{"path": "latin", "oldString": "alle", "newString": "€"}},
		{tongs.CodeBinaryFile, "binary", args{"path": "bin", "oldString": "a", "newString": "b"}},
		{tongs.CodeBinaryFile, "not valid utf-16le", args{"path": "odd", "oldString": "a", "newString": "b"}},
		{tongs.CodeInvalidPath, "is a directory", args{"path": "d", "oldString": "a", "newString": "b"}},
		{tongs.CodeInvalidArgs, "diff", args{"path": "f", "diff": "--- a"}},
	}
	for _, tt := range tests {
		b.fails(tt.code, tt.says, "edit", tt.args)
	}
	b.Equal("untouched", b.Get("f"), "a\nb\n")
	b.OK("edit", args{"path": "empty", "oldString": "", "newString": "x\n"})
	b.Equal("empty file", b.Get("empty"), "x\n")
	b.OK("edit", args{"path": "new/file", "oldString": "", "newString": "y\n"})
	b.Equal("new file", b.Get("new/file"), "y\n")
}

func TestEditThroughLinkKeepsItAndTheMode(t *testing.T) {
	b := newBench(t, setup{mode: tongs.ModeAll})
	b.Put("real", "a\n")
	b.Must(os.Chmod(filepath.Join(b.Dir, "real"), 0o751))
	b.Must(os.Symlink("real", filepath.Join(b.Dir, "link")))
	res := b.OK("edit", args{"path": "link", "oldString": "a", "newString": "b"})
	b.Equal("path", value[EditOutput](b, res).Path, "real")
	b.Equal("file", b.Get("real"), "b\n")
	info, err := os.Lstat(filepath.Join(b.Dir, "link"))
	b.Must(err)
	if info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	info, err = os.Stat(filepath.Join(b.Dir, "real"))
	b.Must(err)
	b.Equal("mode", info.Mode().Perm(), os.FileMode(0o751))
}

// TestEditBoundsTheDiff shows the model a part, and a person all of it.
func TestEditBoundsTheDiff(t *testing.T) {
	b := newBench(t, setup{mode: tongs.ModeAll})
	b.Put("f", strings.Repeat("x\n", 500))
	res := b.OK("edit", args{"path": "f", "oldString": "x", "newString": "y", "replaceAll": true})
	if n := strings.Count(res.Content, "\n"); n > diffLines+3 {
		t.Errorf("%d lines for the model", n)
	}
	b.Contains("content", res.Content, "more lines of the difference left out]")
	if n := strings.Count(res.Display, "\n+y"); n != 500 {
		t.Errorf("%d new lines for the person", n)
	}
}

func BenchmarkEdit1MB(b *testing.B) {
	t := newBench(b, setup{mode: tongs.ModeAll})
	t.Put("f", strings.Repeat("a line of text that is all alike\n", 15_000)+"the only one\n"+strings.Repeat("a line of text that is all alike\n", 15_000))
	from, to := "the only one", "the only 1"
	for b.Loop() {
		t.OK("edit", args{"path": "f", "oldString": from, "newString": to})
		from, to = to, from
	}
}
