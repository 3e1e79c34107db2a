package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
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
				return a.json(v)
			}
			line := "tongs " + v.Version
			if v.Commit != "" {
				line += " (" + v.Commit[:min(7, len(v.Commit))] + ")"
			}
			_, err := fmt.Fprintf(a.out, "%s %s %s/%s\n", line, v.Go, v.OS, v.Arch)
			return err
		}),
	}
	formatFlag(cmd, &format, "text", "text", "json")
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

// json writes v as one line. What a terminal would act on is escaped by JSON itself, except for a few characters that
// are escaped here where the output is one.
func (a *app) json(v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	line := buf.Bytes()
	if isTerminal(a.out) {
		line = escapeJSON(line)
	}
	_, err := a.out.Write(line)
	return err
}

// escapeJSON spells the unprintable characters of JSON text as escapes. They occur in its strings only.
func escapeJSON(line []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(line) {
		if r == '\n' || r != 0x7f && (r < 0x80 || unicode.IsPrint(r) && !invisible(r)) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes()
}
