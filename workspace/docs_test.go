package workspace

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/internal/gitdir"
)

var updateDocs = flag.Bool("update", false, "write the lists into docs/protected-names.md")

// The lists in the documentation are those that decide. After a change: go test ./workspace -run Docs -update.
func TestDocsShowTheProtectedNames(t *testing.T) {
	const file = "../docs/protected-names.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	var names, parts strings.Builder
	names.WriteString("| name | kind | reason |\n|---|---|---|\n")
	for _, n := range ProtectedNames() {
		fmt.Fprintf(&names, "| `%s` | %s | %s |\n", n.Pattern, n.Kind, n.Why)
	}
	parts.WriteString("| part | git |\n|---|---|\n")
	for _, p := range gitdir.Parts() {
		fmt.Fprintf(&parts, "| `%s` | %s |\n", p.Name, p.Why)
	}
	want := text
	for section, table := range map[string]string{"names": names.String(), "parts": parts.String()} {
		begin, end := "<!-- "+section+": begin -->\n", "<!-- "+section+": end -->"
		head, rest, ok := strings.Cut(want, begin)
		_, tail, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no %q and %q", file, begin, end)
		}
		want = head + begin + table + end + tail
	}
	switch {
	case want == text:
	case !*updateDocs:
		t.Fatalf("%s shows other lists than the code has; run go test ./workspace -run Docs -update", file)
	default:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
