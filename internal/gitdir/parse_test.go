package gitdir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

// asGit lists a configuration as git reads it, and reports whether it does.
func asGit(t *testing.T, text string) (string, bool) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "config", "--list", "-z", "--no-includes", "--file", file)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	return string(out), err == nil
}

// listed spells settings as git config --list -z does.
func listed(list []gitdir.Setting) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(strings.TrimPrefix(s.Key(), ".") + "\n" + s.Value + "\x00")
	}
	return b.String()
}

// bare spells a name without a value as one with an empty value, and an empty subsection as none: we do not tell them apart.
func bare(list string) string {
	var b strings.Builder
	for item := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if item == "" {
			continue
		}
		key, value, _ := strings.Cut(item, "\n")
		if first := strings.IndexByte(key, '.'); first >= 0 && strings.LastIndexByte(key, '.') == first+1 {
			key = key[:first] + key[first+1:]
		}
		b.WriteString(strings.TrimPrefix(key, ".") + "\n" + value + "\x00")
	}
	return b.String()
}

var configs = []string{
	"[core]\n\thooksPath = .githooks\n",
	"[core] hooksPath=x # comment\n[a] b",
	"[Core]\n\tHooksPath = \"a b\"  c  ; d\n",
	"[filter \"Lfs\"]\nclean = git-lfs clean -- %f\n process=\\\n  x \\\n y\n",
	"[filter.Lfs]\nclean = x\n",
	"[a \"b\\\"c\\\\d\"]\n e = \"\\t\\b\\n\\\"\\\\\"\n",
	"\ufeff[core]\r\n\tpager = less\r\n\tx = a\rb\r\n",
	"[core]\nx = a\\\r\nb\n", "[core]\nx = \" a \" \n", "[core]\nx =\n", "[core]\nx\n", "[core]\nx = \"a;b#c\";d\n",
	"[core]\nx = \"a\nb\"\n", "[core]\nx = \\q\n", "x = 1\n", "[core\nx = 1", "[core]x=1", "[core]]\n", "[ core]\nx=1\n", "[core \"a\" ]\nx=1\n",
	"[core]\nx-1 = a\n1x = b\n", "[core]\nx y\n", "[core]\n x \t = 1\n", "[core]\nx\v= 1\n", "[.a]\nx=1\n", "[a.]\nx=1\n", "[a.b.c]\nx=1\n", "[]\nx=1\n",
	"[a \"\"]\nx=1\n", "[a \"x\" \"y\"]\nz=1\n", "#[core]\n;x\n[core]\n;x=1\nx=2 \\\n", "[core]\nx = a \\\n# b\n", "[core]\nx = \\\n", "[alias]\nx = \"!f() { ./run.sh; }; f\"\n",
	"[ \"b\"]\nx=1\n", "[core]\nx = a\\", "[.c.]b", "[.]b", "[a.b \"c\"]\nx=1\n", "[a.b \"\"]\nx=1\n", "[a. \"b\"]\nx=1\n", "\f", "[core]\nx =\v1\f\n", "[ \"b\\\"c\\\\d\"]\n e = \"\\t\\b\"b\\\"c\\",
}

func TestParseReadsWhatGitReads(t *testing.T) {
	for _, text := range configs {
		compare(t, text)
	}
}

func compare(t *testing.T, text string) {
	t.Helper()
	want, ok := asGit(t, text)
	list, err := gitdir.Parse(text)
	if ok != (err == nil) {
		t.Errorf("%q: git reads it: %v; we: %v", text, ok, err)
		return
	}
	if got := listed(list); ok && got != bare(want) {
		t.Errorf("%q: git reads %q, we %q", text, bare(want), got)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range configs {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.ContainsRune(text, 0) && len(text) <= 2000 { // -z could not spell it, and git would take long
			compare(t, text)
		}
	})
}
