package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
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

// once runs the program and returns how long it took.
func (p *program) once(dir string) (float64, error) {
	if err := p.run(dir); err != nil {
		return 0, fmt.Errorf("%s: %w", p.argv[0], err)
	}
	return p.took[len(p.took)-1], nil
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

// What the table is made of.
const (
	header = "%-24s%18s%12s%10s%7s%8s%12s%10s\n"
	line   = "%-24s%18s%12.0f%10.0f%7.2f%8.2f%12d%10d\n"
	means  = "%-24s%47.2f%8.2f\n"
)

func measure(self string, opt options) error {
	fmt.Printf(header, "query", "lines", "ripgrep ms", "Tongs ms", "ratio", "of CPU", "ripgrep MB", "Tongs MB")
	logs, cpu, n := 0.0, 0.0, 0
	for _, q := range opt.wanted() {
		rg := &program{argv: ripgrep(opt, q)}
		own := &program{argv: []string{self, ownName}}
		if q.fold {
			own.argv = append(own.argv, "-i")
		}
		own.argv = append(own.argv, "--", q.pattern)
		if err := interleave(opt.tree, opt.rounds, rg, own); err != nil {
			return err
		}
		row(q.name, rg, own)
		logs += math.Log(ratio(own.took, rg.took))
		cpu += math.Log(ratio(own.cpu, rg.cpu))
		n++
	}
	if n > 0 {
		fmt.Printf(means, "geometric mean", math.Exp(logs/float64(n)), math.Exp(cpu/float64(n)))
	}
	if opt.everything() {
		return listings(self, opt)
	}
	return nil
}

// ripgrep returns the command for a query.
func ripgrep(opt options, q query) []string {
	argv := []string{opt.rg, "-n", "--no-heading", "--no-messages", "--no-require-git", "--color=never"}
	if q.fold {
		argv = append(argv, "-i")
	}
	return append(argv, "-e", q.pattern)
}

func row(name string, base, own *program) {
	lines := fmt.Sprint(own.lines)
	if base.lines != own.lines {
		lines = fmt.Sprintf("%d (%+d)", own.lines, own.lines-base.lines)
	}
	fmt.Printf(line, name, lines,
		1000*median(base.took), 1000*median(own.took), ratio(own.took, base.took), ratio(own.cpu, base.cpu), base.rss>>10, own.rss>>10)
}

// listings compares listing the files.
func listings(self string, opt options) error {
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
	row("list files", rg, own)
	if fd != nil {
		row("list files, beside fd", fd, own)
	}
	return nil
}
