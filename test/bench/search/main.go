// Command search measures Tongs' search beside ripgrep and fd, on a tree of real files, and prints one table.
//
//	go run ./test/bench/search                      # builds a tree of Go's source and the module cache, then measures
//	go run ./test/bench/search -tree DIR -rounds 15
//	go run ./test/bench/search -rg ~/node_modules/@vscode/ripgrep/bin/rg
//
// Each round runs every program once, in random order, so that what disturbs the machine disturbs all of them. A ratio
// is the median over the rounds of the time that Tongs took over the time that ripgrep took in the same round: below 1 Tongs
// is faster. What is timed of Tongs is a process that starts, searches and prints every line, as ripgrep's is.
//
// The second table is about a process that knows the tree from before, as a server does: what is timed is a search in it,
// from the pattern to the lines, beside a run of ripgrep. There a number above 1 says how many times faster it is.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

type options struct {
	tree, rg, fd string
	rounds       int
	only         *regexp.Regexp
	mode         string
	profile      string
	strict       bool
	limit        int
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == ownName {
		if err := own(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	opt := options{only: &regexp.Regexp{}}
	flag.StringVar(&opt.tree, "tree", "", "the tree to search (default: built from Go's source and the module cache)")
	flag.StringVar(&opt.rg, "rg", "rg", "the ripgrep to compare with")
	flag.StringVar(&opt.fd, "fd", "", "the fd to compare listings with (default: fdfind or fd)")
	flag.IntVar(&opt.rounds, "rounds", 9, "how often each query is run")
	flag.TextVar(opt.only, "only", regexp.MustCompile(""), "run only the queries whose names match this regular expression")
	flag.StringVar(&opt.mode, "mode", "all", "cold, warm, or all")
	flag.StringVar(&opt.profile, "cpuprofile", "", "write a profile of the warm queries that -only names there, instead of measuring")
	flag.BoolVar(&opt.strict, "strict", false, "profile strict mode")
	flag.IntVar(&opt.limit, "limit", 100, "profile searches for so many lines; 0 means all")
	flag.Parse()
	if err := run(opt); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(opt options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if opt.rg, err = exec.LookPath(opt.rg); err != nil {
		return fmt.Errorf("ripgrep is missing (install the package ripgrep, or name another with -rg): %w", err)
	}
	if opt.fd == "" {
		for _, name := range []string{"fdfind", "fd"} {
			if found, err := exec.LookPath(name); err == nil {
				opt.fd = found
			}
		}
	}
	if opt.tree == "" {
		if opt.tree, err = buildTree(filepath.Join(os.TempDir(), "tongs-search-tree")); err != nil {
			return err
		}
	}
	if _, err := os.Stat(opt.tree); err != nil {
		return errors.Join(errors.New("the tree cannot be searched"), err)
	}
	if opt.tree, err = filepath.EvalSymlinks(opt.tree); err != nil {
		return err
	}
	if opt.tree, err = filepath.Abs(opt.tree); err != nil {
		return err
	}
	if opt.mode != "warm" {
		if err := measure(self, opt); err != nil {
			return err
		}
	}
	if opt.mode == "cold" {
		return nil
	}
	return measureWarm(opt)
}

// wanted returns the queries to run.
func (o *options) wanted() (list []query) {
	for _, q := range queries {
		if o.only.MatchString(q.name) {
			list = append(list, q)
		}
	}
	return list
}

// everything says that no query is left out.
func (o *options) everything() bool { return o.only.String() == "" }
