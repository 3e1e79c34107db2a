package registry_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/registry"
)

func TestDescribe(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	write("over.txt", "From ${workspace}, in ${cwd} = ${directory}, not ${HOME} nor $workspace.\n")
	write("large.txt", strings.Repeat("x", registry.MaxDescription+1))
	write("most.txt", strings.Repeat("x", registry.MaxDescription))
	write("latin.txt", "caf\xe9")
	write("bom.txt", "\ufeffText")
	if err := os.Mkdir(filepath.Join(folder, "dir.txt"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(folder, "link.txt")); err != nil {
		t.Fatal(err)
	}
	embedded := fstest.MapFS{
		"over.txt": {Data: []byte("embedded")}, "inner.txt": {Data: []byte("  Embedded in ${cwd}.\n")},
	}
	texts := registry.Texts{Folder: folder, Embedded: embedded}
	vars := registry.Vars{Workspace: "/w ${cwd}", Directory: "/w/d", Cwd: "/c"}
	for _, test := range []struct {
		texts            registry.Texts
		name, want, fail string
	}{
		{texts, "over", "From /w ${cwd}, in /c = /w/d, not ${HOME} nor $workspace.", ""},
		{texts, "inner", "Embedded in /c.", ""},
		{texts, "absent", "Short in /c.", ""},
		{registry.Texts{}, "over", "Short in /c.", ""},
		{registry.Texts{Folder: filepath.Join(folder, "nowhere"), Embedded: embedded}, "over", "embedded", ""},
		{texts, "bom", "Text", ""},
		{texts, "most", strings.Repeat("x", registry.MaxDescription), ""},
		{texts, "large", "", "more than 65536 bytes"},
		{texts, "latin", "", "not UTF-8"},
		{texts, "dir", "", "not a regular file"},
		{texts, "link", "", "escapes"},
		{texts, "../over", "", "tool name"},
	} {
		got, err := test.texts.Describe(&tongs.Spec{Name: test.name, Description: "Short in ${cwd}."}, vars)
		if got != test.want || (err != nil) != (test.fail != "") || err != nil && !strings.Contains(err.Error(), test.fail) {
			t.Errorf("%s: got %.80q, %v", test.name, got, err)
		}
	}
}
