package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/audit"
	"github.com/tongs-ai/tongs/internal/terminal"
)

func (a *app) forgeExportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "export NAME [FILE]", Short: "Export a custom tool to an archive", Example: "  tongs forge export word-count word-count.tar.gz", Args: cobra.RangeArgs(1, 2),
		RunE: a.run(func(_ *cobra.Command, args []string) error {
			set, err := a.host().OpenForge()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return set.Export(args[0], a.out)
			}
			f, err := os.OpenFile(args[1], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err != nil {
				return err
			}
			if err := set.Export(args[0], f); err != nil {
				f.Close()
				os.Remove(args[1])
				return err
			}
			return f.Close()
		}),
	}
}

func (a *app) forgeImportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Import a custom tool (unapproved)", Example: "  tongs forge import word-count.tar.gz", Args: cobra.ExactArgs(1),
		RunE: a.run(func(_ *cobra.Command, args []string) error {
			set, err := a.host().OpenForge()
			if err != nil {
				return err
			}
			in := a.in
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = io.Reader(f)
			}
			name, err := set.Import(in)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.err, "Imported %s.\nNext: tongs forge approve %s\n", terminal.Clean(name), terminal.Clean(name))
			return nil
		}),
	}
}

// toolStats is how a custom tool has been used.
type toolStats struct {
	Tool     string    `json:"tool"`
	State    string    `json:"state"`
	Runs     int       `json:"runs"`
	OK       int       `json:"ok"`
	Failed   int       `json:"failed"`
	Refused  int       `json:"refused"`
	P50      int64     `json:"p50Milliseconds"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
	ran      []time.Duration
}

// forgeStats is how the forge has been used.
type forgeStats struct {
	Created      int          `json:"created"`
	BuildsTried  int          `json:"buildsTried"`
	BuildsOK     int          `json:"buildsSucceeded"`
	Reused       int          `json:"toolsUsedMoreThanOnce"`
	RefreshMicro int64        `json:"refreshMicroseconds"`
	Tools        []*toolStats `json:"tools"`
}

func (a *app) forgeStatsCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "stats", Short: "Show how custom tools were used", Example: "  tongs forge stats", Args: cobra.NoArgs,
		Long: "Show how often each custom tool ran, how often it succeeded, how long it took and when it was last used, from " +
			"the log of calls.",
	}
	formatFlag(cmd, &format, "table", "table", "json")
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		set, err := a.host().OpenForge()
		if err != nil {
			return err
		}
		if _, err := set.Scan(); err != nil { // with everything known: what a turn costs
			return err
		}
		st, err := a.host().OpenState()
		if err != nil {
			return err
		}
		defer st.Close()
		rows, err := st.Audit.Rows(cmd.Context(), audit.Filter{})
		if err != nil {
			return err
		}
		began := time.Now()
		if _, err := set.Scan(); err != nil {
			return err
		}
		stats := countForge(rows)
		stats.RefreshMicro = time.Since(began).Microseconds()
		for _, s := range set.States() {
			stats.tool(s.Name).State = string(s.Status)
		}
		if format == "json" {
			return a.json(stats)
		}
		return a.showForgeStats(stats)
	})
	return cmd
}

func (f *forgeStats) tool(name string) *toolStats {
	for _, t := range f.Tools {
		if t.Tool == name {
			return t
		}
	}
	f.Tools = append(f.Tools, &toolStats{Tool: name, State: "gone"})
	return f.Tools[len(f.Tools)-1]
}

// countForge counts the rows of the log that are about custom tools.
func countForge(rows []audit.Row) *forgeStats {
	f := &forgeStats{Tools: []*toolStats{}}
	for _, r := range rows {
		if r.Intent == nil || r.Close == nil {
			continue
		}
		ok := r.Close.Outcome == audit.OutcomeOK
		switch {
		case r.Intent.Tool == "create_custom_tool" && ok:
			f.Created++
		case r.Intent.Tool == "build_custom_tool" && r.Close.Outcome != audit.OutcomeRefused:
			f.BuildsTried++
			if ok {
				f.BuildsOK++
			}
		case r.Intent.Source.Kind == tongs.SourceForge:
			f.tool(r.Intent.Tool).add(r, ok)
		}
	}
	for _, t := range f.Tools {
		slices.Sort(t.ran)
		if len(t.ran) > 0 {
			t.P50 = t.ran[len(t.ran)/2].Milliseconds()
		}
		if t.Runs > 1 {
			f.Reused++
		}
	}
	return f
}

func (t *toolStats) add(r audit.Row, ok bool) {
	if r.Close.Outcome == audit.OutcomeRefused {
		t.Refused++
		return
	}
	t.Runs++
	if ok {
		t.OK++
	} else {
		t.Failed++
	}
	t.ran = append(t.ran, r.Close.Ran)
	if r.Started.After(t.LastUsed) {
		t.LastUsed = r.Started
	}
}

func (a *app) showForgeStats(f *forgeStats) error {
	slices.SortFunc(f.Tools, func(x, y *toolStats) int { return strings.Compare(x.Tool, y.Tool) })
	rows := make([][]string, 0, len(f.Tools))
	for _, t := range f.Tools {
		rate, p50, last := "", "", "never"
		if t.Runs > 0 {
			rate, p50 = fmt.Sprintf("%d%%", 100*t.OK/t.Runs), fmt.Sprintf("%d ms", t.P50)
			last = t.LastUsed.Format(time.DateTime)
		}
		rows = append(rows, []string{t.Tool, t.State, fmt.Sprint(t.Runs), rate, p50, last})
	}
	if err := a.table([]string{"TOOL", "STATE", "RUNS", "SUCCESS", "P50", "LAST USED"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.err, "%d created; %d of %d builds succeeded; %d of %d tools were used more than once; looking for changes takes %d µs.\n",
		f.Created, f.BuildsOK, f.BuildsTried, f.Reused, len(f.Tools), f.RefreshMicro)
	return err
}
