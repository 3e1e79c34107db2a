package project

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

func planCargo(opt Options, p *place, in TestInput) (*testPlan, error) {
	if err := opt.installed("cargo", "install Rust from rustup.rs"); err != nil {
		return nil, err
	}
	if err := notOption("filter", in.Filter); err != nil {
		return nil, err
	}
	argv := []string{"cargo", "test", "--no-fail-fast", "--color=never"}
	if in.Filter != "" {
		argv = append(argv, "--", in.Filter)
	}
	return &testPlan{
		runner: "cargo test", main: program{argv: argv},
		parse: func(r *report, out io.Writer) (func(string), func(string), func() error) {
			c := &cargoTests{report: r, out: out}
			return c.line, c.compiler, c.end
		},
	}, nil
}

// cargoTests reads what cargo test prints: there is no report of it that a stable compiler writes.
type cargoTests struct {
	*report
	out io.Writer
	// failed are the tests that failed and whose output is yet to come. Block is that whose output is read.
	failed []string
	block  string
	text   []string
	// broken is what the compiler says is wrong, once at is known.
	broken string
}

var (
	cargoTest   = regexp.MustCompile(`^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b`)
	cargoBlock  = regexp.MustCompile(`^---- (.+) stdout ----$`)
	cargoPlace  = regexp.MustCompile(`panicked at (?:'.*', )?([^\s:]+\.rs):(\d+):\d+`)
	cargoTotal  = regexp.MustCompile(`^running (\d+) tests?$`)
	cargoError  = regexp.MustCompile(`^error(?:\[E\d+\])?: (.+)$`)
	cargoSource = regexp.MustCompile(`^\s*--> ([^\s:]+):(\d+):\d+$`)
)

func (c *cargoTests) line(line string) {
	fmt.Fprintln(c.out, line)
	if m := cargoBlock.FindStringSubmatch(line); m != nil {
		c.flush()
		c.block = m[1]
		return
	}
	if c.block != "" {
		if line == "failures:" || strings.HasPrefix(line, "test result:") {
			c.flush()
		} else if len(c.text) < 200 {
			c.text = append(c.text, line)
		}
		return
	}
	if m := cargoTotal.FindStringSubmatch(line); m != nil {
		c.expect(atoi(m[1]))
	}
	if strings.HasPrefix(line, "test result:") {
		c.rest()
	}
	m := cargoTest.FindStringSubmatch(line)
	switch {
	case m == nil:
	case m[2] == "ok":
		c.pass()
	case m[2] == "ignored":
		c.skip()
	default:
		c.failed = append(c.failed, m[1])
	}
}

// flush ends the output of a test that failed.
func (c *cargoTests) flush() {
	if c.block == "" {
		return
	}
	text := strings.Trim(strings.Join(c.text, "\n"), "\n")
	f := Failure{Name: c.block, Message: text}
	if m := cargoPlace.FindStringSubmatch(text); m != nil {
		f.File, f.Line = m[1], atoi(m[2])
	}
	for i, name := range c.failed {
		if name == c.block {
			c.failed = append(c.failed[:i], c.failed[i+1:]...)
			c.fail(f)
			break
		}
	}
	c.block, c.text = "", nil
}

// rest counts the tests that failed without any output.
func (c *cargoTests) rest() {
	for _, name := range c.failed {
		c.fail(Failure{Name: name})
	}
	c.failed = nil
}

// compiler reads the errors of the compiler, each with the place that follows it.
func (c *cargoTests) compiler(line string) {
	if m := cargoError.FindStringSubmatch(line); m != nil {
		if c.broken = m[1]; strings.HasPrefix(c.broken, "could not compile") || strings.Contains(c.broken, "target failed") || strings.Contains(c.broken, "test failed") {
			c.broken = ""
		}
		return
	}
	if m := cargoSource.FindStringSubmatch(line); m != nil && c.broken != "" {
		c.fail(Failure{Name: "build", File: m[1], Line: atoi(m[2]), Message: c.broken})
		c.broken = ""
	}
}

func (c *cargoTests) end() error {
	c.flush()
	c.rest()
	return nil
}
