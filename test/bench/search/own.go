package main

import (
	"bufio"
	"context"
	"flag"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"

	"github.com/tongs-ai/tongs/internal/search/grep"
	"github.com/tongs-ai/tongs/internal/search/regex"
	"github.com/tongs-ai/tongs/internal/search/walk"
)

// ownName is the first argument of the process that is timed.
const ownName = "own"

// own searches the current directory and prints every matching line as ripgrep would, or lists the files.
func own(args []string) error {
	set := flag.NewFlagSet(ownName, flag.ContinueOnError)
	fold := set.Bool("i", false, "ignore case")
	files := set.Bool("files", false, "list files")
	limit := set.Int("limit", 0, "stop after so many matches")
	profile := set.String("cpuprofile", "", "write a profile there")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	defer out.Flush()
	if *files {
		return listFiles(out)
	}
	m, err := regex.Compile(set.Arg(0), regex.Options{Fold: *fold})
	if err != nil {
		return err
	}
	tree := grep.Tree{Options: walk.Options{Root: "."}}
	res, err := grep.New(0).Search(context.Background(), tree, grep.Query{Matcher: m, Limit: *limit})
	if err != nil {
		return err
	}
	var number []byte
	for _, f := range res.Files {
		for _, l := range f.Lines {
			number = strconv.AppendInt(number[:0], int64(l.Number), 10)
			_, _ = out.WriteString(f.Path)
			_ = out.WriteByte(':')
			_, _ = out.Write(number)
			_ = out.WriteByte(':')
			_, _ = out.WriteString(l.Text)
			_ = out.WriteByte('\n')
		}
	}
	return nil
}

func listFiles(out *bufio.Writer) error {
	workers := max(2, runtime.GOMAXPROCS(0))
	lists := make([][]byte, workers)
	err := walk.Walk(context.Background(), walk.Options{Root: ".", Workers: workers}, func(e *walk.Entry) error {
		if e.Type == walk.File {
			lists[e.Worker] = append(append(lists[e.Worker], e.Rel...), '\n')
		}
		return nil
	})
	for _, list := range lists {
		_, _ = out.Write(list)
	}
	return err
}
