package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/owned"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// ruleFlags select what new rules are for. Commands are the arguments, not flags.
type ruleFlags struct {
	edits, hosts, networks, pushes, tools []string
	yes                                   bool
}

func (f *ruleFlags) register(cmd *cobra.Command, verb string) {
	cmd.Flags().StringArrayVar(&f.edits, "edits", nil, verb+" changes of files that match the `pattern`")
	cmd.Flags().StringArrayVar(&f.hosts, "host", nil, verb+" requests of the web tools to the `host`")
	cmd.Flags().StringArrayVar(&f.networks, "network", nil, verb+" connections of commands to the `host` or registry: npm, pypi, go, ...")
	cmd.Flags().StringArrayVar(&f.pushes, "push", nil, verb+" pushes of git: `'host branch'`, as in 'github.com agent/*'")
	cmd.Flags().StringArrayVar(&f.tools, "tool", nil, verb+" the `tool`, whatever it does")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask for confirmation")
}

func (a *app) allowRuleCommand() *cobra.Command {
	var f ruleFlags
	cmd := &cobra.Command{
		Use: "allow [COMMAND ...]", Short: "Add a rule that allows a command, edits, a host or a tool",
		Long: "Add rules to your own configuration file that let agents do something without asking. You see the change and confirm it. " +
			"Each argument is one command pattern of whole words: 'git commit' covers 'git commit -m x'. An allowed command runs " +
			"directly, so 'tongs undo' cannot undo its changes; without a rule it runs on a copy. A command can also send data to a host " +
			"that --network allows. --push allows pushes that only add to a remote of the repository; force pushes and deletions always ask. Blocked and ask rules, secrets " +
			"and protected names take precedence. docs/policy.md describes patterns.",
		Example: "  tongs allow 'git commit'\n  tongs allow --edits 'src/**'\n  tongs allow --network npm\n  tongs allow --push 'github.com agent/*'\n  tongs allow --host api.example.com --yes",
	}
	f.register(cmd, "allow")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		return a.addRules(cmd.Context(), tongs.PreApproved, args, &f)
	})
	return cmd
}

func (a *app) denyRuleCommand() *cobra.Command {
	var f ruleFlags
	cmd := &cobra.Command{
		Use: "deny [COMMAND ...]", Short: "Add a rule that blocks a command, edits, a host or a tool",
		Long: "Add rules to your own configuration file that keep agents from doing something. Nothing overrides them, and you are not asked about it. " +
			"You see the change and confirm it. --edits also blocks deleting.",
		Example: "  tongs deny 'git push --force'\n  tongs deny --edits 'migrations/**'",
	}
	f.register(cmd, "block")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		return a.addRules(cmd.Context(), tongs.Blocked, args, &f)
	})
	return cmd
}

// lines returns the rules to add, one for each pattern.
func (f *ruleFlags) lines(d tongs.Decision, commands []string) (list []config.RuleLine, err error) {
	add := func(kind string, patterns ...string) {
		for _, p := range patterns {
			if err != nil {
				return
			}
			var r config.RuleLine
			if r, err = config.ParseRuleLine(fmt.Sprintf("%s %s %s", d, kind, p)); err == nil {
				r.Pattern = p // quotes at its ends are part of it
				if _, err = r.Rules(); err == nil {
					err = r.Narrow()
				}
			}
			list = append(list, r)
		}
	}
	add("command", commands...)
	if d == tongs.Blocked {
		add("write", f.edits...)
		add("delete", f.edits...)
	} else {
		add("edit", f.edits...)
	}
	add("host", f.hosts...)
	add("network", f.networks...)
	add("push", f.pushes...)
	add("tool", f.tools...)
	if err == nil && len(list) == 0 {
		err = cli.Usagef("name what the rule is for: a command, as in 'git commit', or --edits, --host, --network, --push or --tool")
	}
	return list, err
}

// addRules writes rules into the user's own configuration file, after a person saw the change.
func (a *app) addRules(ctx context.Context, d tongs.Decision, commands []string, f *ruleFlags) error {
	lines, err := f.lines(d, commands)
	if err != nil {
		return cli.Usage(err)
	}
	place, err := a.host().Locate()
	if err != nil {
		return err
	}
	cfg, err := a.host().Configure(place, nil)
	if err != nil {
		return err
	}
	path := filepath.Join(place.ConfigDir, config.UserFile)
	before, err := config.ReadUser(path)
	if err != nil {
		return err
	}
	after := before
	for _, line := range lines {
		if err := overruled(cfg.Rules, line); err != nil {
			return err
		}
		if after, err = config.AddRule(after, line); err != nil {
			return err
		}
	}
	fmt.Fprint(a.Out, terminal.CleanLines(udiff.Unified(path, path, string(before), string(after))))
	if err := a.agree(ctx, f.yes, "change "+path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if now, err := config.ReadUser(path); err != nil || string(now) != string(before) {
		return tongs.Errorf(tongs.CodeStaleFile, "%s changed since the rule was shown; run the command again", path)
	}
	if err := owned.Rewrite(path, after, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "Changed %s. It counts from the next call on, also in running servers.\n", terminal.Clean(path))
	return nil
}

// overruled refuses a rule that would change nothing, because a stricter one about exactly the same is there.
func overruled(rules []tongs.Rule, line config.RuleLine) error {
	meant, err := line.Rules()
	if err != nil {
		return err
	}
	want := meant[0]
	for _, r := range rules {
		same := r.Tool == want.Tool && r.Pattern == want.Pattern && r.Branch == want.Branch && (r.Tool != "" || r.Effects&want.Effects != 0) && !r.Undoable
		if same && !r.Fallback && r.Decision > want.Decision {
			return tongs.Errorf(tongs.CodeConfigError, "%s is stricter, so this rule would change nothing: %s; remove that line first", r.Origin, r.String())
		}
	}
	return nil
}
