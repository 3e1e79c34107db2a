package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
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

// ChoiceFlag adds a flag that takes one of a few words.
func ChoiceFlag(cmd *cobra.Command, to *string, name, def, help string, words ...string) {
	*to = def
	cmd.Flags().Var(choice{to, words}, name, help)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// FormatFlag adds --format.
func FormatFlag(cmd *cobra.Command, to *string, def string, words ...string) {
	help := "output format"
	if len(words) > 3 {
		help += ": " + strings.Join(words, ", ")
	}
	ChoiceFlag(cmd, to, "format", def, help, words...)
}

// ModeFlag adds --mode; the returned function gives what the person asked for, nil for nothing.
func ModeFlag(cmd *cobra.Command) func() *tongs.Mode {
	var word string
	ChoiceFlag(cmd, &word, "mode", "", "approval mode: safe (follow the rules), none (always ask), all (ask only where required)", "none", "safe", "all")
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

// FilterFlags adds the flags that select rows.
func FilterFlags(cmd *cobra.Command, limit int) func() (audit.Filter, error) {
	var f audit.Filter
	var code string
	var since string
	SelectFlags(cmd, &f, &code)
	cmd.Flags().StringVar(&since, "since", "", "only calls since this `time`: 2h, or 2026-01-31")
	cmd.Flags().IntVar(&f.Limit, "limit", limit, "list at most `N`, 0 for all")
	return func() (audit.Filter, error) {
		var err error
		if f.Code, err = Code(code); err != nil {
			return f, err
		}
		f.Since, err = Moment(since, time.Now())
		return f, err
	}
}

// SelectFlags adds the flags that select calls, wherever calls are listed or summed up.
func SelectFlags(cmd *cobra.Command, f *audit.Filter, code *string) {
	cmd.Flags().StringVar(&f.Session, "session", "", "only calls of this session `ID`")
	cmd.Flags().StringVar(&f.Tool, "tool", "", "only calls of this `tool`")
	cmd.Flags().StringVar(&f.Outcome, "outcome", "", "only calls with this `outcome`: ok, error, refused, cancelled, running, interrupted")
	cmd.Flags().StringVar(code, "code", "", "only calls that ended with this error `code`")
}
