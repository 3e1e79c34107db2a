package cli

import (
	"fmt"
	"strings"

	"github.com/tongs-ai/tongs/internal/config"
	"github.com/tongs-ai/tongs/internal/terminal"
)

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

// ConfigJSON is the configuration as --format json prints it.
func ConfigJSON(cfg *config.Config) any {
	return struct {
		Files    []configFile     `json:"files"`
		Settings []config.Setting `json:"settings"`
		Ignored  []config.Ignored `json:"ignored"`
	}{configFiles(cfg), cfg.Settings(), List(cfg.Ignored)}
}

// Config shows the merged configuration and where each value comes from.
func (p *Printer) Config(cfg *config.Config) error {
	for _, f := range configFiles(cfg) {
		state := "not there"
		switch {
		case f.Trusted:
			state = "read"
		case f.Found:
			state = "read; not trusted, so that it can only narrow"
		}
		fmt.Fprintf(p.Out, "# %s: %s (%s)\n", f.Layer, terminal.Clean(f.Path), state)
	}
	fmt.Fprintln(p.Out)
	var rows [][]string
	for _, s := range cfg.Settings() {
		value := fmt.Sprint(s.Value)
		if list, ok := s.Value.([]string); ok {
			value = strings.Join(list, ", ")
		}
		rows = append(rows, []string{s.Key, value, s.Origin})
	}
	if err := p.Table([]string{"KEY", "VALUE", "FROM"}, rows); err != nil {
		return err
	}
	for _, i := range cfg.Ignored {
		fmt.Fprintf(p.Out, "# ignored: %s (%s): %s\n", terminal.Clean(i.What), terminal.Clean(i.Origin), terminal.Clean(i.Why))
	}
	return nil
}
