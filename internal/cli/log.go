package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/terminal"
)

// Chain prints what was found, and returns what is wrong as an error.
func (p *Printer) Chain(chain audit.Chain, heads int) error {
	for _, l := range chain.Losses {
		switch {
		case l.Accepted:
			fmt.Fprintf(p.Out, "Accepted: %s.\n", l.Reason)
		case l.Explained:
			fmt.Fprintf(p.Out, "Warning: %s.\n", l.Reason)
		}
	}
	if chain.Broken != 0 {
		return fmt.Errorf("the log is broken at entry %d: %s", chain.Broken, chain.Reason)
	}
	if alarms := chain.Alarms(); len(alarms) > 0 {
		return errors.New(alarmText(alarms))
	}
	if heads > 0 {
		fmt.Fprintf(p.Out, "The log holds all %s.\n", terminal.Plural(heads, "checkpoint"))
	}
	_, err := fmt.Fprintf(p.Out, "The log is whole: %d entries, head %s\n", chain.Entries, chain.Head)
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

// KeptHeads reads what --checkpoint names: a hash, or a file with one head as JSON on each line.
func KeptHeads(kept string) (hash string, heads []audit.Head, err error) {
	if kept == "" {
		return "", nil, nil
	}
	data, err := os.ReadFile(kept)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := audit.ParseHash(kept); err != nil {
			return "", nil, Usagef("checkpoint %q is neither a file nor a hash", kept)
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
			return "", nil, Usagef("checkpoint file %q: head %d is not one: want lines such as {\"log\":…,\"seq\":…,\"hash\":…}", kept, len(heads)+1)
		}
		heads = append(heads, head)
	}
	if len(heads) == 0 {
		return "", nil, Usagef("checkpoint file %q holds no heads", kept)
	}
	return "", heads, nil
}

// Calls lists rows of the log.
func (p *Printer) Calls(rows []audit.Row) error {
	table := make([][]string, 0, len(rows))
	for _, r := range rows {
		ran, title := "", ""
		code := ""
		if c := r.Close; c != nil {
			ran, code, title = c.Ran.Round(10*time.Microsecond).String(), string(c.Code), c.Title
		}
		table = append(table, []string{r.Started.Format(time.DateTime), r.Call, r.Tool, r.Outcome(), code, ran, title})
	}
	return p.Table([]string{"STARTED", "CALL", "TOOL", "OUTCOME", "CODE", "RAN", "WHAT"}, table)
}
