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
	return &cobra.Command{
		Use: "init", Short: "Write a commented tongs.yaml to start from",
		Long: "Write a commented tongs.yaml into the workspace. Every rule in it is commented out: it changes nothing until you " +
			"edit it.",
		Example: "  tongs init\n  tongs init --workspace ~/project", Args: cobra.NoArgs,
		RunE: a.run(func(*cobra.Command, []string) error {
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
		}),
	}
}
