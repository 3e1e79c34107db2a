package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/internal/terminal"
	"github.com/tongs-ai/tongs/internal/wire"
	"github.com/tongs-ai/tongs/sandbox"
)

// RunAtTerminal runs a command with a terminal of its own where we have one, so that shells and editors work in it.
func (p *Printer) RunAtTerminal(ctx context.Context, own *confine.Own, stdin io.Reader) (*sandbox.Result, error) {
	cmd := &sandbox.Cmd{Stdin: stdin, Stdout: p.Out, Stderr: p.Err}
	in, ok := stdin.(*os.File)
	if !ok || runtime.GOOS != "linux" || !term.IsTerminal(int(in.Fd())) || !terminal.IsTerminal(p.Out) {
		proc, err := own.Start(ctx, cmd)
		if err != nil {
			return nil, err
		}
		return proc.Wait()
	}
	size := func() (rows, cols uint16) {
		c, r, err := term.GetSize(int(in.Fd()))
		if err != nil {
			return 24, 80
		}
		return uint16(r), uint16(c)
	}
	rows, cols := size()
	cmd.PTY = &sandbox.PTY{Rows: rows, Cols: cols}
	// Every key is the command's from here on, control-C too.
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	defer func() { _ = term.Restore(int(in.Fd()), old) }()
	proc, err := own.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	defer terminal.OnResize(func() { _ = proc.Resize(size()) })()
	return proc.Wait()
}

// SandboxReport says what was enforced, used and denied.
func (p *Printer) SandboxReport(res *sandbox.Result) error {
	r := res.Report
	lines := []string{
		fmt.Sprintf("tier %s, full: %t, exit code %d after %s", r.Tier, r.Full, res.ExitCode, res.Duration.Round(time.Millisecond)),
		"enforced: " + strings.Join(r.Layers, ", "),
	}
	for _, part := range []struct {
		label string
		list  []string
	}{{"missing", r.Missing}, {"limits hit", r.LimitsHit}, {"planted", r.Planted}} {
		if len(part.list) > 0 {
			lines = append(lines, part.label+": "+strings.Join(part.list, "; "))
		}
	}
	for _, d := range r.Denied {
		lines = append(lines, "denied: "+d.Kind+" "+d.Path+d.Host)
	}
	_, err := fmt.Fprintln(p.Err, terminal.CleanLines(strings.Join(lines, "\n")))
	return err
}

// Held says which protected names a program made, and where they are.
func (p *Printer) Held(held []tongs.Held, left []string) {
	for _, h := range held {
		fmt.Fprintln(p.Err, "tongs: "+terminal.Clean(fmt.Sprintf("the command made %s, which other programs run or obey; it is in %s now", h.Path, h.Host)))
	}
	for _, why := range left {
		fmt.Fprintln(p.Err, "tongs: "+terminal.Clean("the command made a protected name that is still there: "+why))
	}
}

// Wrapped says what the program was kept from.
func (p *Printer) Wrapped(w *wire.Wrapped) {
	var lines []string
	for _, host := range w.Hosts {
		lines = append(lines, "kept from reaching "+host+"; --network "+host+" would allow it")
	}
	for _, d := range w.Result.Report.Denied {
		if d.Path != "" {
			lines = append(lines, "kept from "+d.Path+" ("+d.Kind+"); --read or --write would allow it")
		}
	}
	for _, limit := range w.Result.Report.LimitsHit {
		lines = append(lines, "ended by the limit: "+limit)
	}
	if !w.Result.Report.Full {
		lines = append(lines, "the sandbox of this machine does not enforce everything; see 'tongs doctor'")
	}
	for _, line := range lines {
		fmt.Fprintln(p.Err, "tongs: "+terminal.Clean(line))
	}
	p.Held(w.Held, w.Left)
}
