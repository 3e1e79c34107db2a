package main

import "github.com/spf13/cobra"

// mcpCommands are the commands below 'tongs mcp', which by itself serves.
func (a *app) mcpCommands() []*cobra.Command { return nil }
