package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
)

func (a *app) trustCommand() *cobra.Command {
	var revoke bool
	cmd := &cobra.Command{
		Use: "trust", Short: "Trust the workspace's tongs.yaml in its current form",
		Long: "Trust the workspace's tongs.yaml, so that its pre-approvals count. Trust is bound to the content: after any " +
			"change the file can only narrow again. The file is shown, and you confirm by typing at a real terminal.",
		Example: "  tongs trust\n  tongs trust --revoke", Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "stop trusting the file")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		p, err := a.host().Locate()
		if err != nil {
			return err
		}
		path := filepath.Join(p.Workspace, config.WorkspaceFile)
		st, err := wire.OpenState(p.StateDir, nil)
		if err != nil {
			return err
		}
		defer st.Close()
		if revoke {
			if _, err := st.DB.Trust().Remove(cmd.Context(), path); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "%s is no longer trusted.\n", terminal.Clean(path))
			return nil
		}
		hash, err := a.confirmTrust(cmd, p, path)
		if err != nil || hash == "" {
			return err
		}
		if err := st.DB.Trust().Set(cmd.Context(), path, hash, terminal.Whoami()); err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "%s is trusted as it is now (%.19s).\n", terminal.Clean(path), hash)
		return nil
	})
	return cmd
}

// confirmTrust shows the file and has a person vouch for exactly what was shown. It returns the hash of that.
func (a *app) confirmTrust(cmd *cobra.Command, p wire.Place, path string) (string, error) {
	cfg, err := a.host().Configure(p, nil) // a broken file cannot be trusted
	if err != nil {
		return "", err
	}
	file := cfg.Files[len(cfg.Files)-1]
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", tongs.Errorf(tongs.CodeFileNotFound, "there is no %s; 'tongs init' writes one", path)
	}
	if err != nil {
		return "", err
	}
	hash := config.Hash(data)
	if file.Found && !file.Narrows && file.Hash == hash {
		fmt.Fprintf(a.Err, "%s is trusted already.\n", terminal.Clean(path))
		return "", nil
	}
	t, err := terminal.Open()
	if err != nil {
		return "", errors.New("trusting a file needs a person at a real terminal, and this process has none; run 'tongs trust' in one")
	}
	defer t.Close()
	fmt.Fprintln(t, terminal.Clean(path)+":")
	t.Quote(string(data))
	for _, i := range cfg.Ignored {
		if file.Narrows {
			fmt.Fprintf(t, "This would count: %s (%s)\n", terminal.Clean(i.What), terminal.Clean(i.Origin))
		}
	}
	return hash, t.Confirm(cmd.Context(), "trust this file")
}
