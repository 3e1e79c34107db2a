package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"text/tabwriter"
	"time"
)

// program is something to time.
type program struct {
	argv  []string
	took  []float64 // seconds, by round
	cpu   []float64
	lines int
	rss   int64 // KiB, the most
}

func (p *program) run(dir string) error {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	if p.lines, err = countLines(out); err != nil {
		return err
	}
	_ = cmd.Wait() // ripgrep's 1 means that nothing was found
	p.took = append(p.took, time.Since(began).Seconds())
	p.cpu = append(p.cpu, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	p.rss = max(p.rss, maxRSS(cmd.ProcessState))
	return nil
}

func countLines(r io.Reader) (n int, err error) {
	buf := make([]byte, 256<<10)
	for {
		m, err := r.Read(buf)
		n += bytes.Count(buf[:m], []byte{'\n'})
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// ratio is the median of a[i]/b[i].
func ratio(a, b []float64) float64 {
	var all []float64
	for i := range a {
		all = append(all, a[i]/b[i])
	}
	return median(all)
}

// interleave runs all programs so many times, in random order each time, and once before that is not counted.
func interleave(dir string, rounds int, programs ...*program) error {
	for round := range rounds + 1 {
		for _, i := range rand.Perm(len(programs)) {
			if err := programs[i].run(dir); err != nil {
				return fmt.Errorf("%s: %w", programs[i].argv[0], err)
			}
		}
		if round == 0 {
			for _, p := range programs {
				p.took, p.cpu = nil, nil
			}
		}
	}
	return nil
}

func measure(self string, opt options) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "query\tlines\tripgrep ms\tTongs ms\tratio\tof CPU\tripgrep MB\tTongs MB\t")
	logs, cpu, n := 0.0, 0.0, 0
	for _, q := range queries {
		if opt.only != "" && opt.only != q.name {
			continue
		}
		rg := &program{argv: []string{opt.rg, "-n", "--no-heading", "--no-messages", "--no-require-git", "--color=never"}}
		own := &program{argv: []string{self, ownName}}
		if q.fold {
			rg.argv, own.argv = append(rg.argv, "-i"), append(own.argv, "-i")
		}
		rg.argv, own.argv = append(rg.argv, "-e", q.pattern), append(own.argv, "--", q.pattern)
		if err := interleave(opt.tree, opt.rounds, rg, own); err != nil {
			return err
		}
		row(table, q.name, rg, own)
		logs += math.Log(ratio(own.took, rg.took))
		cpu += math.Log(ratio(own.cpu, rg.cpu))
		n++
	}
	if n > 0 {
		fmt.Fprintf(table, "geometric mean\t\t\t\t%.2f\t%.2f\t\t\t\n", math.Exp(logs/float64(n)), math.Exp(cpu/float64(n)))
	}
	if opt.only == "" {
		if err := listings(table, self, opt); err != nil {
			return err
		}
	}
	return table.Flush()
}

func row(w io.Writer, name string, base, own *program) {
	lines := fmt.Sprint(own.lines)
	if base.lines != own.lines {
		lines = fmt.Sprintf("%d (%+d)", own.lines, own.lines-base.lines)
	}
	fmt.Fprintf(w, "%s\t%s\t%.0f\t%.0f\t%.2f\t%.2f\t%d\t%d\t\n", name, lines,
		1000*median(base.took), 1000*median(own.took), ratio(own.took, base.took), ratio(own.cpu, base.cpu), base.rss>>10, own.rss>>10)
}

// listings compares listing the files.
func listings(w io.Writer, self string, opt options) error {
	own := &program{argv: []string{self, ownName, "-files"}}
	rg := &program{argv: []string{opt.rg, "--files", "--no-require-git", "--no-messages"}}
	programs := []*program{own, rg}
	var fd *program
	if opt.fd != "" {
		fd = &program{argv: []string{opt.fd, "--type", "f", "."}}
		programs = append(programs, fd)
	}
	if err := interleave(opt.tree, opt.rounds, programs...); err != nil {
		return err
	}
	row(w, "list files", rg, own)
	if fd != nil {
		row(w, "list files, beside fd", fd, own)
	}
	return nil
}
