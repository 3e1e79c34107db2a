package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) workerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "worker", Short: "Check, list and trust workers",
		Example: "  tongs worker list\n" +
			"  tongs worker check reviewer.worker\n" +
			"  tongs worker trust workers/reviewer.worker",
		Long: "Manage workers: agents defined in files that set their model, tools, rules, limits and instructions. 'tongs run' " +
			"runs one.",
	}
	cmd.AddCommand(a.workerListCommand(), a.workerCheckCommand(), a.workerSchemaCommand(), a.workerTrustCommand())
	return cmd
}

// workerRow is one line of 'tongs worker list'.
type workerRow struct {
	Name        string   `json:"name"`
	Path        string   `json:"path"`
	Description string   `json:"description,omitempty"`
	Model       string   `json:"model,omitempty"`
	Toolsets    []string `json:"toolsets,omitempty"`
	Trusted     bool     `json:"trusted"`
	Problem     string   `json:"problem,omitempty"`
	// Hidden says that another one of the same name is meant.
	Hidden bool `json:"hidden,omitempty"`
}

func (a *app) workerListCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "list", Short: "List the workers of this workspace and your own", Args: cobra.NoArgs,
		Example: "  tongs worker list\n  tongs worker list --format json",
	}
	cli.FormatFlag(cmd, &format, "table", "table", "json")
	cmd.RunE = a.run(func(*cobra.Command, []string) error {
		list, err := a.listWorkers()
		if err != nil {
			return err
		}
		if format == "json" {
			return a.JSON(list)
		}
		if len(list) == 0 {
			fmt.Fprintln(a.Err, "There are no workers. They are .worker files in workers/ of the workspace, or of your configuration directory.")
			return nil
		}
		var rows [][]string
		for _, w := range list {
			state := "trusted"
			switch {
			case w.Problem != "":
				state = "broken: " + terminal.OneLine(w.Problem, 100)
			case w.Hidden:
				state = "hidden by another of this name"
			case !w.Trusted:
				state = "not trusted"
			}
			rows = append(rows, []string{w.Name, state, w.Description, w.Path})
		}
		return a.Table([]string{"NAME", "STATE", "DESCRIPTION", "FILE"}, rows)
	})
	return cmd
}

func (a *app) listWorkers() ([]workerRow, error) {
	p, err := a.host().Locate()
	if err != nil {
		return nil, err
	}
	files := a.host().WorkerFiles(p)
	found, err := config.FindWorkers(p.Workspace, p.ConfigDir)
	if err != nil {
		return nil, err
	}
	list := []workerRow{}
	seen := map[string]bool{}
	for _, at := range found {
		f, err := files.Load(at.Path)
		if err != nil {
			name := strings.TrimSuffix(filepath.Base(at.Path), filepath.Ext(at.Path))
			problem := strings.ReplaceAll(err.Error(), "CONFIG_ERROR: "+at.Path+":", "line ")
			list = append(list, workerRow{Name: name, Path: at.Path, Problem: problem})
			continue
		}
		list = append(list, workerRow{
			Name: f.Name, Path: f.Path, Description: f.Description, Model: f.Model, Toolsets: f.File.Toolsets,
			Trusted: f.Trusted, Hidden: seen[f.Name],
		})
		seen[f.Name] = true
	}
	return list, nil
}

func (a *app) workerCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "check FILE ...", Short: "Check worker files and their sub-workers", Args: cobra.MinimumNArgs(1),
		Long: "Check worker files: every key must be known, every toolset must exist, zones must be inside the workspace or a " +
			"configured zone, modules must bundle and export the tools listed, and their sub-workers must exist and be valid.",
		Example: "  tongs worker check reviewer.worker",
	}
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		for _, path := range args {
			if err := a.checkWorker(cmd.Context(), path); err != nil {
				a.fail(err)
				a.exit = exitUsage
			}
		}
		return nil
	})
	return cmd
}

// checkWorker opens a system as a run would, without running anything.
func (a *app) checkWorker(ctx context.Context, path string) error {
	f, err := a.findWorker(path)
	if err != nil {
		return err
	}
	sys, err := a.open(ctx, wire.Options{Worker: f})
	if err != nil {
		return err
	}
	defer sys.Close()
	if err := sys.CheckModules(); err != nil {
		return err
	}
	for _, w := range slices.Concat(f.Warnings, f.Advice) {
		fmt.Fprintf(a.Err, "warning: %s: %s\n", terminal.Clean(f.Path), terminal.Clean(w))
	}
	trust := "trusted"
	if !f.Trusted {
		trust = "not trusted: what it pre-approves does not count, and starting it must be approved"
	}
	var names []string
	specs, _ := sys.Engine.Tools(ctx)
	for _, spec := range specs {
		if f.Offers(spec) {
			names = append(names, spec.Name)
		}
	}
	_, err = fmt.Fprintf(a.Out, "%s: ok (%s)\n  tools: %s\n", terminal.Clean(f.Name), trust, terminal.Clean(strings.Join(names, ", ")))
	return err
}

func (a *app) workerSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of worker files, for editors", Args: cobra.NoArgs,
		Example: "  tongs worker schema > worker.schema.json",
		RunE: a.run(func(*cobra.Command, []string) error {
			_, err := a.Out.Write(config.WorkerSchema())
			return err
		}),
	}
}

func (a *app) workerTrustCommand() *cobra.Command {
	var revoke bool
	cmd := &cobra.Command{
		Use: "trust FILE", Short: "Trust a worker file in its current form", Args: cobra.ExactArgs(1),
		Long: "Trust a worker file, so that it starts without a question and its pre-approvals count. Trust is bound to the " +
			"content: any change needs a new approval. The file is shown, and you confirm by typing at a real terminal.",
		Example: "  tongs worker trust workers/reviewer.worker\n  tongs worker trust --revoke workers/reviewer.worker",
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "stop trusting the file")
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		if revoke {
			return a.distrust(cmd.Context(), args[0])
		}
		f, err := a.findWorker(args[0])
		if err != nil {
			return err
		}
		if f.Trusted {
			fmt.Fprintf(a.Err, "%s is trusted already.\n", terminal.Clean(f.Path))
			return nil
		}
		t, err := terminal.Open()
		if err != nil {
			return errors.New("trusting a worker needs a person at a real terminal, and this process has none; run 'tongs worker trust' in one")
		}
		defer t.Close()
		if err := showWorker(t, f); err != nil {
			return err
		}
		if err := t.Confirm(cmd.Context(), "trust this worker"); err != nil {
			return err
		}
		return a.rememberTrust(cmd.Context(), f)
	})
	return cmd
}

// rememberTrust keeps that a person trusts the file as it was read.
func (a *app) rememberTrust(ctx context.Context, f *config.Worker) error {
	st, err := a.host().OpenState()
	if err != nil {
		return err
	}
	defer st.Close()
	if err := st.DB.Trust().Set(ctx, f.Path, f.Hash, terminal.Whoami()); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "%s is trusted as it is now (%.19s).\n", terminal.Clean(f.Path), f.Hash)
	return nil
}

func (a *app) distrust(ctx context.Context, name string) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	st, err := a.host().OpenState()
	if err != nil {
		return err
	}
	defer st.Close()
	known, err := st.DB.Trust().Remove(ctx, path)
	if err != nil {
		return err
	}
	if !known {
		if _, err := os.Stat(path); err != nil {
			return tongs.Errorf(tongs.CodeFileNotFound, "there is no %s", path)
		}
	}
	fmt.Fprintf(a.Err, "%s is no longer trusted.\n", terminal.Clean(path))
	return nil
}
