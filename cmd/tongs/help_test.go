package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/terminal"
)

var update = flag.Bool("update", false, "rewrite testdata/help.golden")

// The help of every command is one file, so that a change of its words is seen where it is reviewed.
func TestHelp(t *testing.T) {
	var all strings.Builder
	commands(newApp().root(), func(cmd *cobra.Command) {
		fmt.Fprintf(&all, "$ %s --help\n%s\n", cmd.CommandPath(), terminal.Help(cmd))
	})
	const golden = "testdata/help.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if all.String() != string(want) {
		t.Errorf("help differs from %s; look at the difference after 'go test ./cmd/tongs -run TestHelp -update'", golden)
	}
}

func TestHelpFitsInEightyColumns(t *testing.T) {
	commands(newApp().root(), func(cmd *cobra.Command) {
		for line := range strings.Lines(terminal.Help(cmd)) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
	})
}

func TestHelpHasExamplesAndGroups(t *testing.T) {
	root := newApp().root()
	commands(root, func(cmd *cobra.Command) {
		switch {
		case !cmd.HasExample() && !generated(cmd):
			t.Errorf("%s has no example", cmd.CommandPath())
		case cmd.Short == "":
			t.Errorf("%s does not say what it does", cmd.CommandPath())
		case cmd.Parent() == root && cmd.GroupID == "":
			t.Errorf("%s is in no group", cmd.CommandPath())
		}
	})
}

// generated reports commands that cobra makes.
func generated(cmd *cobra.Command) bool {
	return strings.HasPrefix(cmd.CommandPath(), "tongs completion") || cmd.Name() == "help"
}

// commands visits a command and all below it, but for those that cobra makes of a shell.
func commands(cmd *cobra.Command, visit func(*cobra.Command)) {
	if cmd.HasParent() && cmd.Parent().Name() == "completion" {
		return
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	visit(cmd)
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			commands(sub, visit)
		}
	}
}
