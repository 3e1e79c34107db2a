package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
)

// choice is a flag that takes one of a few words.
type choice struct {
	to    *string
	words []string
}

func (c choice) String() string { return *c.to }

// Type is what help shows for the value: the words, where they are few.
func (c choice) Type() string {
	if len(c.words) > 3 {
		return "word"
	}
	return strings.Join(c.words, "|")
}

func (c choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("want one of %s", strings.Join(c.words, ", "))
	}
	*c.to = s
	return nil
}

func choiceFlag(cmd *cobra.Command, to *string, name, def, help string, words ...string) {
	*to = def
	cmd.Flags().Var(choice{to, words}, name, help)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func formatFlag(cmd *cobra.Command, to *string, def string, words ...string) {
	help := "output format"
	if len(words) > 3 {
		help += ": " + strings.Join(words, ", ")
	}
	choiceFlag(cmd, to, "format", def, help, words...)
}

// modeFlag adds --mode; the returned function gives what the person asked for, nil for nothing.
func modeFlag(cmd *cobra.Command) func() *tongs.Mode {
	var word string
	choiceFlag(cmd, &word, "mode", "", "approval mode: safe (follow the rules), none (always ask), all (ask only where required)", "none", "safe", "all")
	return func() *tongs.Mode {
		if word == "" {
			return nil
		}
		mode, err := tongs.ParseMode(word)
		if err != nil {
			return nil
		}
		return &mode
	}
}
