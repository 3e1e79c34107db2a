package project

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/tongs-ai/tongs"
)

// buildDirs are where CMake usually builds.
var buildDirs = []string{"build", "cmake-build-debug", "cmake-build-release", "out"}

// planCTest builds and runs the tests of CMake: in the project's build directory, or in one that is gone afterwards.
func planCTest(opt Options, p *place, in TestInput) (*testPlan, error) {
	for _, name := range []string{"ctest", "cmake"} {
		if err := opt.installed(name, "install CMake (the package is usually called cmake)"); err != nil {
			return nil, err
		}
	}
	run := []string{"--output-on-failure", "--no-tests=error"}
	if in.Filter != "" {
		if err := notOption("filter", in.Filter); err != nil {
			return nil, err
		}
		run = append(run, "-R", in.Filter)
	}
	plan := &testPlan{runner: "ctest", none: []int{8}}
	plan.main = program{argv: append([]string{
		"ctest", "--build-and-test", p.host("."), "/tmp/build", "--build-generator", "Unix Makefiles", "--test-command", "ctest",
	}, run...)}
	for _, dir := range buildDirs {
		if p.has(dir + "/CTestTestfile.cmake") {
			plan.before = []program{{argv: []string{"cmake", "--build", dir}}}
			plan.main = program{argv: append([]string{"ctest", "--test-dir", dir}, run...)}
			break
		}
	}
	plan.parse = func(r *report, out io.Writer) (func(string), func(string), func() error) {
		c := &cTests{report: r, out: out}
		return c.line, nil, c.end
	}
	return plan, nil
}

// cTests reads what ctest prints while it runs.
type cTests struct {
	*report
	out    io.Writer
	failed string
	text   []string
}

var (
	cTest  = regexp.MustCompile(`^\s*\d+/\d+ Test\s+#\d+: (\S+) \.*\s*(.*?)\s+[\d.]+ sec`)
	cPlace = regexp.MustCompile(`(?m)([\w./+-]+\.(?:c|cc|cpp|cxx|h|hpp)):(\d+)`)
)

func (c *cTests) line(line string) {
	fmt.Fprintln(c.out, line)
	m := cTest.FindStringSubmatch(line)
	if m == nil {
		if c.failed != "" && len(c.text) < 200 && !strings.HasPrefix(strings.TrimSpace(line), "Start ") {
			c.text = append(c.text, line)
		}
		if strings.Contains(line, "% tests passed,") {
			_ = c.end()
		}
		return
	}
	_ = c.end()
	switch state := strings.Trim(m[2], "* "); {
	case state == "Passed":
		c.pass()
	case strings.HasPrefix(state, "Skipped"), strings.HasPrefix(state, "Not Run (Disabled)"):
		c.skip()
	default:
		c.failed, c.text = m[1], []string{state}
	}
}

// end counts the test that failed last, with what it wrote.
func (c *cTests) end() error {
	if c.failed == "" {
		return nil
	}
	text := strings.TrimSpace(strings.Join(c.text, "\n"))
	if at := strings.LastIndex(text, "\n\n\n"); at > 0 && strings.Contains(text[at:], "tests passed") {
		text = text[:at]
	}
	f := Failure{Name: c.failed, Message: text}
	if m := cPlace.FindStringSubmatch(text); m != nil {
		f.File, f.Line = m[1], atoi(m[2])
	}
	c.failed, c.text = "", nil
	c.fail(f)
	return nil
}

var makeTarget = regexp.MustCompile(`(?m)^(test|check)[ \t]*:(?:[^=]|$)`)

var makefiles = []string{"GNUmakefile", "makefile", "Makefile"}

// makeTarget is the target of the makefile that tests, test before check.
func (p *place) makeTarget() (target string) {
	for _, name := range makefiles {
		text := p.read(name)
		if text == "" {
			continue
		}
		for _, m := range makeTarget.FindAllStringSubmatch(text, -1) {
			if target == "" || m[1] == "test" {
				target = m[1]
			}
		}
		return target
	}
	return ""
}

func planMake(opt Options, p *place, in TestInput) (*testPlan, error) {
	if err := opt.installed("make", "install make"); err != nil {
		return nil, err
	}
	if in.Filter != "" {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "make runs its tests as a whole: leave out filter")
	}
	p.bind(makefiles...)
	target := p.makeTarget()
	return &testPlan{runner: "make " + target, main: program{argv: []string{"make", target}}}, nil
}

// junitSuite is a suite of a JUnit report, or the whole of it.
type junitSuite struct {
	Suites []junitSuite `xml:"testsuite"`
	Cases  []struct {
		Name    string     `xml:"name,attr"`
		Class   string     `xml:"classname,attr"`
		File    string     `xml:"file,attr"`
		Line    int        `xml:"line,attr"`
		Failure *junitText `xml:"failure"`
		Error   *junitText `xml:"error"`
		Skipped *junitText `xml:"skipped"`
	} `xml:"testcase"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// readJUnit counts what a JUnit report says.
func readJUnit(r *report, text string) error {
	var all junitSuite
	if err := xml.Unmarshal([]byte(text), &all); err != nil {
		return tongs.Errorf(tongs.CodeExecutionError, "the report is no JUnit file: %w", err)
	}
	all.count(r, 0)
	return nil
}

// maxNested is how deep suites may be nested.
const maxNested = 50

func (s junitSuite) count(r *report, depth int) {
	for _, c := range s.Cases {
		bad := c.Failure
		if bad == nil {
			bad = c.Error
		}
		switch {
		case bad != nil:
			name := strings.TrimPrefix(c.Class+"."+c.Name, ".")
			message := strings.TrimSpace(bad.Message + "\n" + strings.TrimSpace(bad.Text))
			r.fail(Failure{Name: name, File: c.File, Line: c.Line, Message: message})
		case c.Skipped != nil:
			r.skip()
		default:
			r.pass()
		}
	}
	for _, inner := range s.Suites {
		if depth < maxNested {
			inner.count(r, depth+1)
		}
	}
}
