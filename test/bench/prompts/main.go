// Command prompts counts how often a person is asked in five coding sessions: scripts of calls, each labelled beforehand with
// whether a question about it is needed, that run through the whole system with its sandbox and with real programs.
//
//	go run ./test/bench/prompts [-session go] [-config FILE] [-v]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

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
	config := flag.String("config", "", "a configuration file; the default configuration when empty")
	verbose := flag.Bool("v", false, "show each question")
	undo := flag.Bool("undo", false, "undo each session and redo it, and compare the files")
	flag.Parse()
	var text []byte
	if *config != "" {
		var err error
		if text, err = os.ReadFile(*config); err != nil {
			return err
		}
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
	for i := range all {
		if s := &all[i]; *only == "" || *only == s.Name {
			rep, err := b.run(context.Background(), s, string(text), *undo)
			if rep != nil {
				rep.print(os.Stdout, *verbose)
			}
			if err != nil {
				fmt.Println("  ", err)
			}
		}
	}
	return nil
}

// newBench makes a directory for sessions. The home and the caches of the person who runs the bench are left alone.
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
