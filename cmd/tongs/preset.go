package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/cli"
	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/doctor"
	"github.com/tongs-ai/tongs/internal/owned"
	"github.com/tongs-ai/tongs/internal/preset"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// userFile is the user's own configuration file, which may not exist yet.
func (a *app) userFile() (path string, exists bool, err error) {
	p, err := a.host().Locate()
	if err != nil {
		return "", false, err
	}
	path = filepath.Join(p.ConfigDir, config.UserFile)
	_, err = os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, false, nil
	}
	return path, err == nil, err
}

// initPreset writes the user configuration of a preset. One that is there is left alone.
func (a *app) initPreset(name string) error {
	p, err := preset.Find(name)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	path, exists, err := a.userFile()
	if err != nil {
		return err
	}
	if exists {
		return tongs.Errorf(tongs.CodeAlreadyExists, "%s exists and is left as it is; compare it with the preset, or move it away first", path)
	}
	data, err := p.YAML()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := owned.Create(path, data, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "Wrote %s with the preset %s:\n%s", terminal.Clean(path), p.Name, allows(p))
	return nil
}

// allows prints what a preset allows, one sentence on each line.
func allows(p preset.Preset) string {
	var b strings.Builder
	for _, line := range p.Allows {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

// offerPreset offers the preset for coding to somebody who has no configuration: it asks at a terminal, and names the command
// elsewhere.
func (a *app) offerPreset(ctx context.Context, ask bool) error {
	path, exists, err := a.userFile()
	if err != nil || exists {
		return err
	}
	p, err := preset.Find(preset.Coding)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "\nYou have no configuration yet. The preset %s:\n%s", p.Name, allows(p))
	if ask {
		if t, err := terminal.Open(); err == nil {
			defer t.Close()
			key, err := t.Key(ctx, "write "+terminal.Clean(path)+" with it? y yes, n no: ", "yn")
			if err != nil || key != 'y' {
				return err
			}
			return a.initPreset(p.Name)
		}
	}
	fmt.Fprintf(a.Err, "To use it: tongs init --preset %s. 'tongs config presets' shows the others.\n", p.Name)
	return nil
}

// shownPreset is a preset as it is listed.
type shownPreset struct {
	preset.Preset
	// Counts are those of all sessions of test/bench/prompts.
	Counts preset.Count `json:"counts"`
	// Problems are why it does not work on this machine.
	Problems []string `json:"problems,omitempty"`
}

func (a *app) configPresetsCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "presets", Short: "Show the presets, and how often each asks",
		Long: "Show what each preset allows, how often it asks in five recorded coding sessions (make bench-prompts), and why it does " +
			"not work on this machine. 'tongs init --preset NAME' writes one to your configuration file.",
		Example: "  tongs config presets\n  tongs init --preset coding", Args: cobra.NoArgs,
	}
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		counts, err := preset.Measured()
		if err != nil {
			return err
		}
		place, err := a.host().Locate()
		if err != nil {
			return err
		}
		var list []shownPreset
		problems := doctor.Contained(cmd.Context(), place)
		for _, p := range preset.All() {
			s := shownPreset{Preset: p, Counts: counts.Total(p.Name)}
			if p.Copies {
				s.Problems = problems
			}
			list = append(list, s)
		}
		if format == "json" {
			return a.JSON(list)
		}
		fmt.Fprintf(a.Out, "%-12s %s\n\n", preset.Default, asks(counts.Total(preset.Default)))
		for _, s := range list {
			fmt.Fprintf(a.Out, "%-12s %s\n%s", s.Name, asks(s.Counts), allows(s.Preset))
			for _, text := range s.Problems {
				fmt.Fprintf(a.Out, "  On this machine: %s\n", terminal.CleanLines(text))
			}
			fmt.Fprintln(a.Out)
		}
		return nil
	})
	return cmd
}

// asks is how often a configuration asks, in one line.
func asks(c preset.Count) string {
	if c.Calls == 0 {
		return "not measured"
	}
	text := fmt.Sprintf("%d questions in %d calls: %d needed, %d git, %d network, %d needless", c.Questions(), c.Calls, c.Needed, c.Git, c.Network, c.Needless)
	if c.Refused > 0 {
		text += fmt.Sprintf("; %d calls refused", c.Refused)
	}
	return text
}
