package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) callCommand() *cobra.Command {
	var in callFlags
	var format string
	cmd := &cobra.Command{
		Use:   "call TOOL [key=value ...] [--json JSON | -]",
		Short: "Call a tool",
		Long: "Call a tool. Arguments are key=value words, typed by the tool's schema, or a JSON object.\n\n" +
			"Updates go to standard error and the content to standard output. The exit code is 0 if the call succeeded, 1 if " +
			"it failed, 2 for wrong usage, invalid arguments or an unknown tool, and 3 if it was refused.\n\n" +
			"A call that needs approval asks at the terminal. Without a terminal it fails with APPROVAL_REQUIRED and the ID " +
			"of a question; answer it with 'tongs approvals', then make the same call again.\n\n" +
			"With --dry-run a command runs on a copy of the files. Its changes are shown and dropped. The call is decided and " +
			"logged like any other.",
		Example: "  tongs call read_file path=go.mod limit=5\n" +
			"  tongs call shell command=./migrate.sh --dry-run\n" +
			"  tongs call write_file --json '{\"path\":\"notes.txt\",\"content\":\"hello\"}'\n" +
			"  jq -n '{path: \"go.mod\"}' | tongs call read_file - --format json",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeTools,
	}
	mode := modeFlag(cmd)
	formatFlag(cmd, &format, "text", "text", "json")
	cmd.Flags().BoolVar(&in.dry, "dry-run", false, "run a command on a copy, show its changes, and drop them")
	cmd.Flags().StringVar(&in.json, "json", "", "the arguments as a `JSON` object, or - for standard input")
	cmd.Flags().StringVar(&in.session, "session", "", "the session `ID` of the call (default: $TONGS_SESSION, or a new one)")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		in.mode, in.tool, in.words = mode(), args[0], args[1:]
		res, err := a.call(cmd.Context(), in, format)
		if err != nil {
			if format != "json" {
				return err
			}
			res = tongs.Failure(asError(err))
			a.exit = exitCode(err)
		}
		return a.printResult(res, format)
	})
	return cmd
}

// callFlags are what a call is made of.
type callFlags struct {
	mode                *tongs.Mode
	tool, json, session string
	words               []string
	dry                 bool
}

// call makes the call. An error means that it could not be made.
func (a *app) call(ctx context.Context, in callFlags, format string) (*tongs.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sys, err := a.openAsking(ctx, wire.Options{Mode: in.mode, Tool: in.tool}, cancel, nil)
	if err != nil {
		return nil, err
	}
	defer sys.Close()
	args, err := arguments(ctx, sys.Spec(in.tool), in.json, in.words, a.in)
	if err != nil {
		return nil, err
	}
	return sys.Engine.Call(ctx, &tongs.Call{
		Tool: in.tool, Args: args, Session: sessionOr(in.session), DryRun: in.dry, Sink: a.sink(format),
	}), nil
}

// sessionOr returns the session that was named, or the environment's; empty means a new one.
func sessionOr(named string) string {
	if named != "" {
		return named
	}
	return os.Getenv("TONGS_SESSION")
}

// maxShown is how much of what a call streamed to a terminal is remembered, so as not to show it twice.
const maxShown = 64 << 10

// sink shows the updates of a running call on standard error.
func (a *app) sink(format string) func(tongs.Update) {
	if format == "json" {
		return nil
	}
	live := terminal.IsTerminal(a.err)
	both := live && terminal.IsTerminal(a.out)
	return func(u tongs.Update) {
		switch {
		case u.Text != "" && live:
			text := terminal.CleanLines(u.Text)
			fmt.Fprint(a.err, text)
			if both && a.shown.Len()+len(text) <= maxShown {
				a.shown.WriteString(text)
			}
		case u.Text != "":
			fmt.Fprint(a.err, u.Text)
		case u.Waiting != "": // the question itself is shown by whoever asks it
		case u.Title != "" && u.Total > 0:
			fmt.Fprintf(a.err, "%s (%g of %g)\n", terminal.Clean(u.Title), u.Done, u.Total)
		case u.Title != "":
			fmt.Fprintln(a.err, terminal.Clean(u.Title))
		}
	}
}

// asError returns err as an error with a code, as JSON output shows it.
func asError(err error) *tongs.Error {
	if _, ok := err.(usage); ok {
		return tongs.Errorf(tongs.CodeInvalidArgs, "%w", err)
	}
	return tongs.Failure(err).Error
}

// printResult shows the result and sets the exit code.
func (a *app) printResult(res *tongs.Result, format string) error {
	if res.Error != nil && a.exit == exitOK {
		a.exit = exitCode(res.Error)
	}
	if format == "json" {
		return a.json(resultJSON(res))
	}
	if res.Error != nil {
		if partial := strings.TrimPrefix(res.Content, res.Error.Error()); strings.TrimSpace(partial) != "" {
			a.printContent(strings.TrimPrefix(partial, "\n"))
		}
		fmt.Fprintf(a.err, "tongs: %s\n", terminal.CleanLines(res.Error.Error()))
		return nil
	}
	if err := a.printContent(res.Content); err != nil {
		return err
	}
	for _, at := range res.Attachments {
		where := ""
		if at.Path != "" {
			where = ", " + at.Path
		}
		fmt.Fprintf(a.err, "attachment: %s (%s, %d bytes%s)\n", terminal.Clean(at.Name), terminal.Clean(at.MIME), at.Size, terminal.Clean(where))
	}
	return nil
}

// printContent writes content as it is, or, to a terminal, without what the terminal would act on.
func (a *app) printContent(content string) error {
	if terminal.IsTerminal(a.out) {
		content = strings.TrimPrefix(terminal.CleanLines(content), strings.TrimSuffix(a.shown.String(), "\n"))
		content = strings.TrimPrefix(content, "\n")
	}
	if content != "" && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	_, err := fmt.Fprint(a.out, content)
	return err
}

// resultJSON is the one object of --format json.
func resultJSON(res *tongs.Result) any {
	metadata := res.Metadata
	if metadata == nil {
		metadata = map[string]any{}
	}
	if res.Error == nil {
		attachments := res.Attachments
		if attachments == nil {
			attachments = []tongs.Attachment{}
		}
		return struct {
			OK          bool               `json:"ok"`
			Title       string             `json:"title"`
			Content     string             `json:"content"`
			Value       any                `json:"value"`
			Metadata    map[string]any     `json:"metadata"`
			Attachments []tongs.Attachment `json:"attachments"`
		}{true, res.Title, res.Content, rawOrNil(res.Value), metadata, attachments}
	}
	details := res.Error.Details
	if details == nil {
		details = map[string]any{}
	}
	failure := struct {
		Code    tongs.Code     `json:"code"`
		Message string         `json:"message"`
		Details map[string]any `json:"details"`
	}{res.Error.Code, res.Error.Message, details}
	failed := struct {
		OK    bool `json:"ok"`
		Error any  `json:"error"`
		// Value is what a call made before it failed, such as the partial output of a command; Metadata is of that.
		Value    any            `json:"value,omitempty"`
		Metadata map[string]any `json:"metadata,omitempty"`
	}{OK: false, Error: failure}
	if len(res.Value) > 0 {
		failed.Value, failed.Metadata = rawOrNil(res.Value), metadata
	}
	return failed
}

func rawOrNil(raw []byte) any {
	if len(raw) == 0 {
		return nil
	}
	return rawJSON(raw)
}

type rawJSON []byte

func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }
