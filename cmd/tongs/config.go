package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/terminal"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Look at the configuration", Example: "  tongs config show"}
	cmd.AddCommand(a.configShowCommand())
	return cmd
}

func (a *app) configShowCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "show", Short: "Print the merged configuration and where each value comes from",
		Example: "  tongs config show\n  tongs config show --format json", Args: cobra.NoArgs,
	}
	mode := modeFlag(cmd)
	formatFlag(cmd, &format, "table", "table", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		place, err := a.host().Locate()
		if err != nil {
			return err
		}
		cfg, err := a.host().Configure(place, mode())
		if err != nil {
			return err
		}
		if format == "json" {
			return a.json(configJSON(cfg))
		}
		return a.printConfig(cfg)
	})
	return cmd
}

type configFile struct {
	Layer   string `json:"layer"`
	Path    string `json:"path"`
	Found   bool   `json:"found"`
	Trusted bool   `json:"trusted"`
}

func configFiles(cfg *config.Config) []configFile {
	files := make([]configFile, len(cfg.Files))
	for i, f := range cfg.Files {
		files[i] = configFile{f.Layer.String(), f.Path, f.Found, f.Found && !f.Narrows}
	}
	return files
}

func configJSON(cfg *config.Config) any {
	ignored := cfg.Ignored
	if ignored == nil {
		ignored = []config.Ignored{}
	}
	return struct {
		Files    []configFile     `json:"files"`
		Settings []config.Setting `json:"settings"`
		Ignored  []config.Ignored `json:"ignored"`
	}{configFiles(cfg), cfg.Settings(), ignored}
}

func (a *app) printConfig(cfg *config.Config) error {
	for _, f := range configFiles(cfg) {
		state := "not there"
		switch {
		case f.Trusted:
			state = "read"
		case f.Found:
			state = "read; not trusted, so that it can only narrow"
		}
		fmt.Fprintf(a.out, "# %s: %s (%s)\n", f.Layer, terminal.Clean(f.Path), state)
	}
	fmt.Fprintln(a.out)
	var rows [][]string
	for _, s := range cfg.Settings() {
		value := fmt.Sprint(s.Value)
		if list, ok := s.Value.([]string); ok {
			value = strings.Join(list, ", ")
		}
		rows = append(rows, []string{s.Key, value, s.Origin})
	}
	if err := a.table([]string{"KEY", "VALUE", "FROM"}, rows); err != nil {
		return err
	}
	for _, i := range cfg.Ignored {
		fmt.Fprintf(a.out, "# ignored: %s (%s): %s\n", terminal.Clean(i.What), terminal.Clean(i.Origin), terminal.Clean(i.Why))
	}
	return nil
}
