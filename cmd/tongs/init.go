package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/terminal"
)

//go:embed starter.yaml
var starter []byte

func (a *app) initCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "init", Short: "Write a commented configuration file to start from",
		Long: "Write a commented tongs.yaml into the workspace. Every rule in it is commented out: it changes nothing until you " +
			"edit it.\nWith --preset, write your own configuration file instead, which applies to every workspace. 'tongs config presets' " +
			"shows what each preset allows and how often it asks. A file that exists is left as it is.",
		Example: "  tongs init\n  tongs init --workspace ~/project\n  tongs init --preset coding", Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&name, "preset", "", "write your configuration from a preset: coding, careful, unattended, review-only")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("preset") {
			return a.initPreset(name)
		}
		return a.initWorkspace()
	})
	return cmd
}

// initWorkspace writes the file of the workspace.
func (a *app) initWorkspace() error {
	dir, _, err := config.FindWorkspace(a.flags.workspace)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, config.WorkspaceFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return tongs.Errorf(tongs.CodeAlreadyExists, "%s exists and is left as it is", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(starter)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "Wrote %s. Edit it, then run 'tongs trust' so that what it pre-approves counts.\n", terminal.Clean(path))
	return nil
}
