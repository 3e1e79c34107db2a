package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/internal/cli"
)

func (a *app) versionCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  tongs version\n  tongs version --format json",
		Args:    cobra.NoArgs,
		RunE: a.run(func(*cobra.Command, []string) error {
			v := struct {
				Version string `json:"version"`
				Commit  string `json:"commit,omitempty"`
				Go      string `json:"go"`
				OS      string `json:"os"`
				Arch    string `json:"arch"`
			}{version, commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			if format == "json" {
				return a.JSON(v)
			}
			line := "tongs " + v.Version
			if v.Commit != "" {
				line += " (" + v.Commit[:min(7, len(v.Commit))] + ")"
			}
			_, err := fmt.Fprintf(a.Out, "%s %s %s/%s\n", line, v.Go, v.OS, v.Arch)
			return err
		}),
	}
	cli.FormatFlag(cmd, &format, "text", "text", "json")
	return cmd
}

func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
