package english

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/allowed.txt; no phrase may become more frequent")

const (
	root    = "../.."
	allowed = "testdata/allowed.txt"
)

// place is a phrase in a file.
type place struct{ file, phrase string }

func TestPlainEnglish(t *testing.T) {
	found, where := map[place]int{}, map[place]string{}
	for _, file := range readable(t) {
		for _, text := range texts(t, file) {
			for _, p := range phrases {
				for _, hit := range p.re.FindAllString(text, -1) {
					at := place{file, p.name}
					found[at]++
					where[at] = fmt.Sprintf("%q (%q in %.120q)", p.instead, hit, text[max(0, strings.Index(text, hit)-40):])
				}
			}
		}
	}
	listed := readAllowed(t)
	if *update {
		writeAllowed(t, listed, found)
		return
	}
	for at, n := range found {
		if n > listed[at] {
			t.Errorf("%s: %q is there %d times, and %d are allowed; write rather: %s", at.file, at.phrase, n, listed[at], where[at])
		}
	}
	for at, n := range listed {
		if found[at] < n {
			t.Errorf("%s: %q is there %d times by now; run 'go test ./test/english -update' so that it does not come back", at.file, at.phrase, found[at])
		}
	}
}

// Each phrase is found in the sentence that it is there for, and not in what to write instead.
func TestPhrases(t *testing.T) {
	for bad, good := range map[string]string{
		"New files alone hold without a question":                 "New files are kept without asking",
		"No rule speaks of X, and edit makes it ask":              "No rule covers X; edit asks by default",
		"Which changes may hold?":                                 "Which changes do you want to keep?",
		"What it changed does not hold yet":                       "Your workspace is unchanged so far",
		"nothing that it changed holds":                           "none of its changes were kept",
		"A workspace has no word in it":                           "Workspace files cannot set this",
		"Any word of yours goes before them":                      "Your rules take precedence",
		"No change is known":                                      "No changes yet",
		"turns (50 by itself)":                                    "turns (default 50)",
		"nobody vouched for FILE as it is now":                    "FILE is not trusted, or it changed since you trusted it",
		"a worker that it has help it can do no more than itself": "a sub-worker never has more permissions than its caller",
		"how long people were waited for":                         "approval wait times",
		"With how many of the 131 calls each decided something":   "Calls each rule applied to",
		"are told by others and mapped back":                      "are renamed and mapped back",
		"a word about the tool as a whole does":                   "only a setting for the whole tool does",
		"so links neither a database nor a user interface":        "adds no database and no UI",
		"take back the last change, of whichever tool":            "undo the last change by any tool",
		"takes back what calls changed, and brings it again":      "undoes or redoes changes",
		"you see what your agents do while they do it":            "you watch your agents live",
		"and asks nothing of any other":                           "It runs locally and contacts no other server",
		"finds the place also when the indentation is off":        "tolerates wrong indentation",
		"regular expressions as Go has them, with pages":          "Go regular expressions, paginated",
		"an agent that is a file":                                 "an agent defined in a file",
		"Say what a call would do, without making it":             "Show what a call would do, without running it",
		"would have decided otherwise":                            "would have decided differently",
		"Make a custom tool of an archive":                        "Import a custom tool (unapproved)",
		"a change of one byte has it asked about again":           "any change needs a new approval",
		"how much is asked: none pre-approves nothing":            "approval mode: safe (follow the rules)",
		"what it was decided by could not be recorded":            "the decision could not be logged",
		"and %s does so otherwise":                                "and %s defines it differently",
		"noSchema could not be made ready":                        "tool noSchema: no schema; add one",
		`cannot stat "nope": it does not exist`:                   `path "nope" does not exist`,
		"needs approval and nobody could be asked":                "needs a person's approval: reading .env (secrets)",
		"9 mores below":                                           "9 more below",
	} {
		if !banned(bad) {
			t.Errorf("%q is not found", bad)
		}
		if banned(good) {
			t.Errorf("%q is found", good)
		}
	}
}

func banned(text string) bool {
	return slices.ContainsFunc(phrases, func(p phrase) bool { return p.re.MatchString(text) })
}

// readable are the files with text for people, by their path from the root.
func readable(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		if d.IsDir() {
			if hidden := strings.HasPrefix(d.Name(), ".") && path != root; hidden || slices.Contains([]string{"testdata", "node_modules", "vendor"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if isReadable(name) {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Fatalf("only %d files were found", len(files))
	}
	return files
}

// isReadable reports production code, pages of the documentation, and texts and pages that are part of the program.
func isReadable(name string) bool {
	_, _, below := strings.Cut(name, "/")
	switch ext := filepath.Ext(name); {
	case strings.HasPrefix(name, "test/english/"), strings.HasPrefix(name, "docs/decisions/"):
		return false
	case ext == ".go":
		return !strings.HasSuffix(name, "_test.go")
	case !below:
		return slices.Contains([]string{"README.md", "SECURITY.md", "CONTRIBUTING.md"}, name)
	case ext == ".md", ext == ".tmpl":
		return true
	case ext == ".html", ext == ".js", ext == ".txt":
		return strings.Contains(name, "/assets/") || strings.Contains(name, "/texts/")
	}
	return strings.HasSuffix(name, "/starter.yaml")
}

// texts are what people read of a file: the strings of a program, joined where they are added, or all of it. White space is
// one blank, so that a line end does not hide anything.
func texts(t *testing.T, file string) []string {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(file))
	if filepath.Ext(file) != ".go" {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return []string{spaced(string(data))}
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BinaryExpr:
			if text, ok := joined(n); ok {
				list = append(list, spaced(text))
				return false
			}
		case *ast.BasicLit:
			if text, ok := joined(n); ok {
				list = append(list, spaced(text))
			}
		}
		return true
	})
	return list
}

// joined is the value of a string, or of strings that are added.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		x, ok := joined(e.X)
		y, also := joined(e.Y)
		return x + y, ok && also && e.Op == token.ADD
	}
	return "", false
}

func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

func readAllowed(t *testing.T) map[place]int {
	t.Helper()
	data, err := os.ReadFile(allowed)
	if err != nil {
		t.Fatal(err)
	}
	list := map[place]int{}
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		n, err := strconv.Atoi(parts[len(parts)-1])
		if err != nil || len(parts) != 3 || n < 1 {
			t.Fatalf("%s: %q is not a file, a phrase and a count", allowed, line)
		}
		list[place{parts[0], parts[1]}] = n
	}
	return list
}

// writeAllowed lists what is found. A file may have been renamed; a phrase that is there more often than before is an error.
func writeAllowed(t *testing.T, before, found map[place]int) {
	t.Helper()
	was, is := totals(before), totals(found)
	for name, n := range is {
		if n > was[name] {
			t.Errorf("%q is there %d times, and %d were allowed: mend the new ones, the list only shrinks", name, n, was[name])
		}
	}
	if t.Failed() {
		return
	}
	var b strings.Builder
	b.WriteString("# Places that still use a turn of phrase that is not plain English: file, phrase, count. The list only shrinks.\n")
	at := slices.SortedFunc(maps.Keys(found), func(a, b place) int {
		return strings.Compare(a.file+"\t"+a.phrase, b.file+"\t"+b.phrase)
	})
	for _, p := range at {
		fmt.Fprintf(&b, "%s\t%s\t%d\n", p.file, p.phrase, found[p])
	}
	if err := os.WriteFile(allowed, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func totals(list map[place]int) map[string]int {
	sum := map[string]int{}
	for at, n := range list {
		sum[at.phrase] += n
	}
	return sum
}
