package main

import (
	"fmt"

	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the manual page", Args: cobra.NoArgs,
		Example: "  tongs man | man -l -\n  tongs man > /usr/local/share/man/man1/tongs.1",
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			page, err := mango.NewManPage(1, cmd.Root())
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.Out, page.Build(roff.NewDocument()))
			return err
		}),
	}
}
