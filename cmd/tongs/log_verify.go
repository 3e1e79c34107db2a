package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/terminal"
)

func (a *app) logVerifyCommand() *cobra.Command {
	var kept, format string
	cmd := &cobra.Command{
		Use: "verify", Short: "Check that the log was not changed",
		Long: "Check the hash chain of the log, compare it with the head file beside the database, and print its head. The head " +
			"file detects accidents: a log that was cut off, emptied, deleted or restored from an old copy. It belongs to the " +
			"same user, so it does not stop somebody who has that user's rights. Heads stored elsewhere do: check them with " +
			"--checkpoint.",
		Example: "  tongs log verify\n  tongs log verify --checkpoint heads.jsonl\n  tongs log verify --checkpoint 5f0c…", Args: cobra.NoArgs,
	}
	formatFlag(cmd, &format, "text", "text", "json")
	cmd.Flags().StringVar(&kept, "checkpoint", "", "a `file` of heads stored elsewhere, or one hash: the log must contain them")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		hash, heads, err := keptHeads(kept)
		if err != nil {
			return err
		}
		sys, err := a.host().OpenState()
		if err != nil {
			return err
		}
		defer sys.Close()
		log := sys.DB.Audit()
		chain, err := log.Verify(cmd.Context(), hash)
		if err != nil {
			return err
		}
		for _, head := range heads {
			loss, err := log.Lacks(cmd.Context(), head)
			if err != nil {
				return err
			}
			if loss != nil {
				loss.Reason = fmt.Sprintf("checkpoint of %s: %s", head.At.Format("2006-01-02 15:04"), loss.Reason)
				chain.Losses = append(chain.Losses, *loss)
			}
		}
		if !chain.OK() {
			a.exit = exitFailed
		}
		if format == "json" {
			return a.json(chain)
		}
		return a.showChain(chain, len(heads))
	})
	return cmd
}

// showChain prints what was found, and returns what is wrong as an error.
func (a *app) showChain(chain audit.Chain, heads int) error {
	for _, l := range chain.Losses {
		switch {
		case l.Accepted:
			fmt.Fprintf(a.out, "Accepted: %s.\n", l.Reason)
		case l.Explained:
			fmt.Fprintf(a.out, "Warning: %s.\n", l.Reason)
		}
	}
	if chain.Broken != 0 {
		return fmt.Errorf("the log is broken at entry %d: %s", chain.Broken, chain.Reason)
	}
	if alarms := chain.Alarms(); len(alarms) > 0 {
		return errors.New(alarmText(alarms))
	}
	if heads > 0 {
		fmt.Fprintf(a.out, "The log holds all %s.\n", terminal.Plural(heads, "checkpoint"))
	}
	_, err := fmt.Fprintf(a.out, "The log is whole: %d entries, head %s\n", chain.Entries, chain.Head)
	return err
}

func alarmText(alarms []audit.Loss) string {
	var b bytes.Buffer
	b.WriteString("the log is not what it was")
	for _, l := range alarms {
		fmt.Fprintf(&b, "\n  %s", l.Reason)
		if l.Missing > 0 {
			fmt.Fprintf(&b, " (%d missing)", l.Missing)
		}
		if l.Seq > 0 {
			fmt.Fprintf(&b, "; noticed %s, entry %d", l.At.Format("2006-01-02 15:04"), l.Seq)
		}
	}
	b.WriteString("\nIf you know why, run \"tongs log accept\"")
	return b.String()
}

// keptHeads reads what --checkpoint names: a hash, or a file with one head as JSON on each line.
func keptHeads(kept string) (hash string, heads []audit.Head, err error) {
	if kept == "" {
		return "", nil, nil
	}
	data, err := os.ReadFile(kept)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := audit.ParseHash(kept); err != nil {
			return "", nil, usagef("checkpoint %q is neither a file nor a hash", kept)
		}
		return kept, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	for dec.More() {
		var head audit.Head
		if err := dec.Decode(&head); err != nil || head.Seq <= 0 || head.Log == "" {
			return "", nil, usagef("checkpoint file %q: head %d is not one: want lines such as {\"log\":…,\"seq\":…,\"hash\":…}", kept, len(heads)+1)
		}
		heads = append(heads, head)
	}
	if len(heads) == 0 {
		return "", nil, usagef("checkpoint file %q holds no heads", kept)
	}
	return "", heads, nil
}

func (a *app) logAcceptCommand() *cobra.Command {
	return &cobra.Command{
		Use: "accept", Short: "Accept that log entries are missing",
		Long: "Record in the log that you know about the losses that 'log verify' reports, for example because you restored a " +
			"copy. The log still shows them; verify no longer fails because of them.",
		Example: "  tongs log accept", Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			sys, err := a.host().OpenState()
			if err != nil {
				return err
			}
			defer sys.Close()
			list, err := sys.DB.Audit().Accept(cmd.Context(), terminal.Whoami())
			if err != nil {
				return err
			}
			for _, l := range list {
				fmt.Fprintf(a.out, "Accepted: %s.\n", l.Reason)
			}
			if len(list) == 0 {
				fmt.Fprintln(a.out, "Nothing is missing.")
			}
			return nil
		}),
	}
}
