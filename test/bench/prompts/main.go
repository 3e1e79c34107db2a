// Command prompts counts how often a person is asked in five coding sessions: scripts of calls, each labelled beforehand with
// whether a question about it is needed, that run through the whole system with its sandbox and with real programs. With -update
// it writes the counts to internal/preset/counts.json, which 'tongs config presets' shows, and to the README.
//
//	go run ./test/bench/prompts [-session go] [-preset coding] [-config FILE] [-undo] [-update] [-v]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/tongs-ai/tongs/internal/preset"
	"github.com/tongs-ai/tongs/system"
)

func main() {
	system.Main()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "test/bench/prompts:", err)
		os.Exit(1)
	}
}

func run() error {
	only := flag.String("session", "", "one session only")
	name := flag.String("preset", "", "one preset only, or default for none")
	file := flag.String("config", "", "a configuration file instead of the presets")
	verbose := flag.Bool("v", false, "show each question")
	undo := flag.Bool("undo", false, "undo each session and redo it, and compare the files")
	update := flag.Bool("update", false, "write the counts to internal/preset/counts.json")
	flag.Parse()
	configs, err := configurations(*name, *file)
	if err != nil {
		return err
	}
	all, err := Sessions()
	if err != nil {
		return err
	}
	b, clean, err := newBench()
	if err != nil {
		return err
	}
	defer clean()
	counts, err := preset.Measured()
	if err != nil {
		return err
	}
	for _, c := range configs {
		fmt.Println(c.name)
		if counts[c.name] == nil {
			counts[c.name] = map[string]preset.Count{}
		}
		for i := range all {
			if s := &all[i]; *only == "" || *only == s.Name {
				rep, err := b.run(context.Background(), s, c.text, *undo)
				if rep != nil {
					rep.print(os.Stdout, *verbose)
					counts[c.name][s.Name] = rep.Count()
				}
				if err != nil {
					fmt.Println("  ", err)
				}
			}
		}
	}
	if !*update {
		return nil
	}
	return write(counts)
}

// write makes the counts the snapshot, and shows them in the README.
func write(counts preset.Counts) error {
	data, err := json.MarshalIndent(counts, "", "  ")
	if err != nil {
		return err
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		return err
	}
	text, err := withTable(string(readme), counts)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join("internal", "preset", "counts.json"), append(data, '\n'), 0o644),
		os.WriteFile("README.md", []byte(text), 0o644),
	)
}

// configuration is a user's configuration, with a name.
type configuration struct{ name, text string }

// configurations are those to run: all presets after the default, or one, or that of a file.
func configurations(name, file string) ([]configuration, error) {
	if file != "" {
		data, err := os.ReadFile(file)
		return []configuration{{file, string(data)}}, err
	}
	var list []configuration
	if name == "" || name == preset.Default {
		list = append(list, configuration{name: preset.Default})
	}
	for _, p := range preset.All() {
		if name == "" || name == p.Name {
			data, err := p.YAML()
			if err != nil {
				return nil, err
			}
			list = append(list, configuration{p.Name, string(data)})
		}
	}
	if len(list) == 0 {
		_, err := preset.Find(name)
		return nil, err
	}
	return list, nil
}

// newBench makes a directory for sessions: their workspaces, configuration and state are in it.
func newBench() (*bench, func(), error) {
	dir, err := os.MkdirTemp("", "tongs-bench-")
	if err != nil {
		return nil, nil, err
	}
	clean := func() { _ = os.RemoveAll(dir) }
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		clean()
		return nil, nil, err
	}
	program := filepath.Join(dir, "esbuild")
	build := sync.OnceValues(func() (string, error) {
		out, err := exec.Command("go", "build", "-o", program, "github.com/evanw/esbuild/cmd/esbuild").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("building esbuild: %w\n%s", err, out)
		}
		return program, nil
	})
	return &bench{dir: dir, esbuild: build}, clean, nil
}
