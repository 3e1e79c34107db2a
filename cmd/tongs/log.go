package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/terminal"
)

func (a *app) logCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "log", Short: "Read and verify the log of calls",
		Example: "  tongs log list --limit 20\n  tongs log verify\n  tongs log export --jsonl > calls.jsonl",
	}
	cmd.AddCommand(a.logListCommand(), a.logShowCommand(), a.logVerifyCommand(), a.logAcceptCommand(),
		a.logCheckpointCommand(), a.logExportCommand())
	return cmd
}

// filterFlags adds the flags that select rows.
func filterFlags(cmd *cobra.Command, limit int) func() (audit.Filter, error) {
	var f audit.Filter
	var code string
	var since string
	selectFlags(cmd, &f, &code)
	cmd.Flags().StringVar(&since, "since", "", "only calls since this `time`: 2h, or 2026-01-31")
	cmd.Flags().IntVar(&f.Limit, "limit", limit, "list at most `N`, 0 for all")
	return func() (audit.Filter, error) {
		var err error
		if f.Code, err = codeOf(code); err != nil {
			return f, err
		}
		f.Since, err = moment(since, time.Now())
		return f, err
	}
}

// selectFlags adds the flags that select calls, wherever calls are listed or summed up.
func selectFlags(cmd *cobra.Command, f *audit.Filter, code *string) {
	cmd.Flags().StringVar(&f.Session, "session", "", "only calls of this session `ID`")
	cmd.Flags().StringVar(&f.Tool, "tool", "", "only calls of this `tool`")
	cmd.Flags().StringVar(&f.Outcome, "outcome", "", "only calls with this `outcome`: ok, error, refused, cancelled, running, interrupted")
	cmd.Flags().StringVar(code, "code", "", "only calls that ended with this error `code`")
}

// codeOf reads an error code in any case, empty for none.
func codeOf(text string) (tongs.Code, error) {
	code := tongs.Code(strings.ToUpper(text))
	if code != "" && !slices.Contains(tongs.Codes(), code) {
		return "", usagef("%q is not a code; the codes are %v", text, tongs.Codes())
	}
	return code, nil
}

// moment reads a point in time as people write it.
func moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, ok := span(text); ok {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("%q is no time; write a duration like 2h or 7d, or a date like 2026-01-31", text)
}

// span reads a length of time as people write it: 90m, 2h, 7d, 2w.
func span(text string) (time.Duration, bool) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, ok := strings.CutSuffix(text, unit); ok {
			count, err := strconv.Atoi(n)
			return time.Duration(count) * length, err == nil && count >= 0 && count < 10000
		}
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}

func (a *app) logListCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "list", Short: "List calls, newest first", Args: cobra.NoArgs,
		Example: "  tongs log list\n  tongs log list --tool edit --outcome refused --since 24h",
	}
	formatFlag(cmd, &format, "table", "table", "json")
	filter := filterFlags(cmd, 50)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		f, err := filter()
		if err != nil {
			return err
		}
		sys, err := a.host().OpenState()
		if err != nil {
			return err
		}
		defer sys.Close()
		rows, err := sys.Audit.Rows(cmd.Context(), f)
		if err != nil {
			return err
		}
		if format == "json" {
			if rows == nil {
				rows = []audit.Row{}
			}
			return a.json(rows)
		}
		table := make([][]string, 0, len(rows))
		for _, r := range rows {
			ran, title := "", ""
			code := ""
			if c := r.Close; c != nil {
				ran, code, title = c.Ran.Round(10*time.Microsecond).String(), string(c.Code), c.Title
			}
			table = append(table, []string{r.Started.Format(time.DateTime), r.Call, r.Tool, r.Outcome(), code, ran, title})
		}
		return a.table([]string{"STARTED", "CALL", "TOOL", "OUTCOME", "CODE", "RAN", "WHAT"}, table)
	})
	return cmd
}

func (a *app) logShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show CALL", Short: "Show everything logged about a call", Example: "  tongs log show c_19f2", Args: cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			sys, err := a.host().OpenState()
			if err != nil {
				return err
			}
			defer sys.Close()
			rows, err := sys.Audit.Rows(cmd.Context(), audit.Filter{Call: args[0]})
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				return tongs.Errorf(tongs.CodeInvalidArgs, "there is no call %q; 'tongs log list' shows them", args[0])
			}
			data, err := json.Marshal(rows[0])
			if err != nil {
				return err
			}
			return a.printContent(terminal.Indented(data))
		}),
	}
}

func (a *app) logExportCommand() *cobra.Command {
	var jsonl bool
	cmd := &cobra.Command{
		Use: "export --jsonl", Short: "Export calls as JSON lines, newest first",
		Example: "  tongs log export --jsonl > calls.jsonl", Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&jsonl, "jsonl", false, "JSON, one object per line (the only format)")
	filter := filterFlags(cmd, 0)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		if !jsonl {
			return usagef("say the format: tongs log export --jsonl")
		}
		f, err := filter()
		if err != nil {
			return err
		}
		sys, err := a.host().OpenState()
		if err != nil {
			return err
		}
		defer sys.Close()
		return audit.Export(cmd.Context(), sys.Audit, f, a.out)
	})
	return cmd
}
