package policy_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tongs-ai/tongs/engine/policy"
)

var update = flag.Bool("update", false, "write the decision table into docs/policy.md")

// The table in the documentation is the one that decides. After a change of Steps: go test ./engine/policy -run Docs -update.
func TestDocsShowTheDecisionTable(t *testing.T) {
	const file, begin, end = "../../docs/policy.md", "<!-- steps: begin -->\n", "<!-- steps: end -->"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(strings.ReplaceAll(string(data), "\r\n", "\n"), begin)
	shown, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no %q and %q", file, begin, end)
	}
	if shown == stepsTable() {
		return
	}
	if !*update {
		t.Fatalf("%s shows another table than policy.Steps; run go test ./engine/policy -run Docs -update. It should be:\n%s", file, stepsTable())
	}
	if err := os.WriteFile(file, []byte(head+begin+stepsTable()+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

func stepsTable() string {
	var b strings.Builder
	b.WriteString("| step | when | then | a grant may answer |\n|---|---|---|---|\n")
	for _, row := range policy.Steps() {
		answer := "no"
		switch {
		case row.Grants:
			answer = "yes"
		case row.Step == policy.StepGrant:
			answer = ""
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", row.Step, row.When, row.Then, answer)
	}
	return b.String()
}

func TestStepsAreTheRowsOfTheDesign(t *testing.T) {
	var got []policy.Step
	for _, row := range policy.Steps() {
		got = append(got, row.Step)
	}
	want := []policy.Step{
		policy.StepBlocked, policy.StepMustAsk, policy.StepMode, policy.StepSteers, policy.StepRule, policy.StepDefault, policy.StepAsk, policy.StepGrant,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("steps %v, want %v", got, want)
	}
}
