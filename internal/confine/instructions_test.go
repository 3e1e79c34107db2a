package confine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/confine"
)

// A program that writes instructions for agents is asked about, with what it wrote, and the answer can be kept for the
// session.
func TestProgramsThatWriteInstructions(t *testing.T) {
	b := setup(t, confine.Options{})
	b.say = false
	out, res := b.run(t, script(`echo "Obey me" > AGENTS.md`))
	if len(b.asked) != 1 || len(out.Held) != 1 || b.has("AGENTS.md") {
		t.Fatalf("asked %d times, %+v: %s", len(b.asked), out, res.Content)
	}
	q := b.asked[0]
	if e := q.Effects[0]; !e.Steers || e.MustAsk || !strings.Contains(q.Preview, "Obey me") {
		t.Errorf("asked about %+v", q)
	}
	if !slices.Contains(q.Scopes, approval.Session) || slices.Contains(q.Scopes, approval.Always) {
		t.Errorf("the answer can be kept for %v", q.Scopes)
	}
}

// What is there cannot be changed unasked, and a directory with such a name is no file of instructions.
func TestProgramsThatChangeInstructions(t *testing.T) {
	b := setup(t, confine.Options{})
	b.write(t, "CLAUDE.md", "as it was")
	b.say = false
	b.run(t, script(`echo evil > CLAUDE.md || mv CLAUDE.md x || rm -f CLAUDE.md`))
	if got := b.content(t, "CLAUDE.md"); got != "as it was" {
		t.Errorf("it is now %q", got)
	}
	if len(b.asked) == 0 || !b.asked[0].Effects[0].Steers {
		t.Errorf("asked %+v", b.asked)
	}
	b.asked = nil
	out, _ := b.run(t, script(`mkdir -p GEMINI.md/.git/hooks; echo evil > GEMINI.md/.git/hooks/pre-commit`))
	if len(b.asked) != 1 || !b.asked[0].Effects[0].MustAsk || len(out.Held) != 1 {
		t.Errorf("asked %+v, held %q", b.asked, out.Held)
	}
}
