package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) approvalsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "Answer the questions that calls wait for",
		Long: "List and answer the questions that calls wait for. Approving needs a person at a real terminal, who confirms by " +
			"typing; a pipe does not count.",
		Example: "  tongs approvals list\n  tongs approvals approve q7h2 --scope session\n  tongs approvals watch",
	}
	cmd.AddCommand(a.approvalsListCommand(), a.approvalsShowCommand(), a.approveCommand(), a.denyCommand(), a.approvalsWatchCommand())
	return cmd
}

func (a *app) approvalsListCommand() *cobra.Command {
	var format string
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List questions that wait for an answer",
		Example: "  tongs approvals list\n  tongs approvals list --all --format json", Args: cobra.NoArgs,
	}
	cli.FormatFlag(cmd, &format, "table", "table", "json")
	cmd.Flags().BoolVar(&all, "all", false, "include answered, expired and withdrawn questions")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		sys, err := a.host().OpenState()
		if err != nil {
			return err
		}
		defer sys.Close()
		questions, err := sys.Questions.List(cmd.Context(), !all)
		if err != nil {
			return err
		}
		if format == "json" {
			return a.JSON(cli.List(questions))
		}
		return a.Questions(questions, sys.Waiting.Attended)
	})
	return cmd
}

func (a *app) approvalsShowCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a question, what the call would do, and its preview",
		Example: "  tongs approvals show q7h2", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeQuestions,
	}
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		sys, err := a.host().OpenState()
		if err != nil {
			return err
		}
		defer sys.Close()
		q, err := sys.Questions.Get(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if format == "json" {
			return a.JSON(q)
		}
		return terminal.WriteQuestion(a.Out, q, sys.Previews)
	})
	return cmd
}

func (a *app) approveCommand() *cobra.Command {
	var scope, args, reason string
	var keep []string
	cmd := &cobra.Command{
		Use: "approve ID", Short: "Approve a question",
		Long: "Approve a question. The call runs when the agent makes it again. The question is shown, and you confirm by " +
			"typing at a real terminal.\n\n" +
			"A command that ran on a copy asks which changes to keep: all of them, or those you name with --keep. If the call " +
			"has ended, its changes wait: approving makes them at once, exactly as shown, and nothing runs again. If one of the " +
			"files changed since, none of them is made, and the same call asks again.",
		Example: "  tongs approvals approve q7h2\n  tongs approvals approve q7h2 --scope always\n  tongs approvals approve q7h2 --args '{\"path\":\"other.txt\"}'\n" +
			"  tongs approvals approve q7h2 --keep src/a.go --keep docs",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeQuestions,
	}
	cli.ChoiceFlag(cmd, &scope, "scope", "once", "how long the approval lasts", "once", "session", "always")
	cmd.Flags().StringVar(&args, "args", "", "approve the call with these arguments instead, a `JSON` object")
	cmd.Flags().StringArrayVar(&keep, "keep", nil, "keep only the changes at or below this `path` and drop the rest (repeatable; for commands that ran on a copy)")
	cmd.Flags().StringVar(&reason, "reason", "", "a `note` to store with the answer")
	cmd.RunE = a.run(func(cmd *cobra.Command, ids []string) error {
		answer := approval.Answer{Approved: true, Scope: approval.Scope(scope), Reason: reason}
		if args != "" {
			raw, err := terminal.ParseObject([]byte(args))
			if err != nil {
				return cli.Usage(err)
			}
			if answer.Scope != approval.Once {
				return cli.Usagef("edited arguments are approved once; leave out --scope %s", scope)
			}
			answer.Args = raw
		}
		for _, path := range keep {
			answer.Keep = append(answer.Keep, terminal.KeptPath(path))
		}
		return a.answer(cmd.Context(), ids[0], answer)
	})
	return cmd
}

func (a *app) denyCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "deny ID", Short: "Deny a question",
		Example: "  tongs approvals deny q7h2 --reason \"use the staging file\"", Args: cobra.ExactArgs(1),
		ValidArgsFunction: a.completeQuestions,
	}
	cmd.Flags().StringVar(&reason, "reason", "", "the `reason` to give the agent")
	cmd.RunE = a.run(func(cmd *cobra.Command, ids []string) error {
		return a.answer(cmd.Context(), ids[0], approval.Answer{Reason: reason})
	})
	return cmd
}

// answer shows the question at the terminal, has the person confirm the answer, and keeps it. A refusal is safe, and
// needs no confirmation.
func (a *app) answer(ctx context.Context, id string, answer approval.Answer) error {
	sys, err := a.host().OpenState()
	if err != nil {
		return err
	}
	defer sys.Close()
	q, err := sys.Questions.Get(ctx, id)
	if err != nil {
		return err
	}
	answer.Channel, answer.By = "terminal", terminal.Whoami()
	if _, err := approval.Admit(&q, answer, time.Now()); err != nil {
		return err
	}
	if len(answer.Args) > 0 {
		if err := a.validateArgs(ctx, q.Tool, answer.Args); err != nil {
			return err
		}
	}
	if answer.Approved {
		if err := terminal.ConfirmAnswer(ctx, sys.Previews, q, answer); err != nil {
			return err
		}
	} else {
		answer.Channel = "command"
	}
	waits := sys.Waiting.Attended(q.ID)
	if err := sys.Questions.Answer(ctx, q.ID, answer); err != nil {
		return err
	}
	if !answer.Approved {
		fmt.Fprintf(a.Err, "Denied %s.\n", terminal.Clean(q.ID))
		return nil
	}
	if now, err := sys.Questions.Get(ctx, q.ID); err == nil && now.Late != nil && now.Late.State == approval.Made {
		fmt.Fprintf(a.Err, "Approved %s. The changes are made; 'tongs undo %s' undoes them.\n", terminal.Clean(q.ID), now.Late.Call)
		return nil
	}
	if waits {
		fmt.Fprintf(a.Err, "Approved %s. The call was waiting and goes on.\n", terminal.Clean(q.ID))
		return nil
	}
	if q.ChangeCount > 0 {
		fmt.Fprintf(a.Err, "Approved %s. It counts when the same call is made again, and changes exactly the same.\n", terminal.Clean(q.ID))
		return nil
	}
	fmt.Fprintf(a.Err, "Approved %s. It counts when the same call is made again.\n", terminal.Clean(q.ID))
	return nil
}

func (a *app) approvalsWatchCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "watch", Short: "Show questions as they arrive, and answer them",
		Long: "Show questions as they arrive. At a terminal you answer each one. Elsewhere each is printed as one line (or one " +
			"object with --format json) and stays open.",
		Example: "  tongs approvals watch\n  tongs approvals watch --format json", Args: cobra.NoArgs,
	}
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		sys, err := a.host().OpenState()
		if err != nil {
			return err
		}
		defer sys.Close()
		ctx, cancel := context.WithCancel(cmd.Context())
		defer cancel()
		ask := &terminal.Asker{Cancel: cancel, Validate: a.validateArgs, Previews: sys.Previews}
		ask.Bell, ask.Notify = a.notified()
		return a.Watch(ctx, ask, sys.Questions, format, sys.Waiting.Attended)
	})
	return cmd
}

// notified reports whether the terminal rings for a question, and shows it on the desktop. A configuration that cannot be read is
// told elsewhere.
func (a *app) notified() (bell, desktop bool) {
	sys, err := a.open(context.Background(), wire.Options{Memory: true})
	if err != nil {
		return false, false
	}
	defer sys.Close()
	return sys.Config.Notify.Bell(), sys.Config.Notify.Desktop()
}

// validateArgs checks edited arguments against the tool's schema.
func (a *app) validateArgs(ctx context.Context, tool string, args json.RawMessage) error {
	sys, err := a.open(ctx, wire.Options{Memory: true})
	if err != nil {
		return err
	}
	defer sys.Close()
	_, err = sys.Engine.Validate(ctx, tool, args)
	return err
}

func (a *app) completeQuestions(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	sys, err := a.host().OpenState()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer sys.Close()
	questions, err := sys.Questions.List(context.Background(), true)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, q := range questions {
		words = append(words, q.ID+"\t"+terminal.Clean(q.Message))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
