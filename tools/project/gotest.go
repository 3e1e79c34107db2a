package project

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// maxOutput is how much of the output of one test is kept until it is known how it ended.
const maxOutput = 16 << 10

// planGo runs go test for the packages below the target.
func planGo(opt Options, p *place, in TestInput) (*testPlan, error) {
	if err := opt.installed("go", "install Go from go.dev/dl"); err != nil {
		return nil, err
	}
	argv := []string{"go", "test", "-json"}
	if in.Filter != "" {
		argv = append(argv, "-run="+in.Filter)
	}
	pattern := p.below() + "/..."
	if p.isFile {
		pattern = below(p.root, p.target.Dir())
	}
	module := modulePath(p.read("go.mod"))
	return &testPlan{
		runner: "go test", main: program{argv: append(argv, pattern)},
		looks: goLooks, narrow: goAffected(p, argv, pattern),
		parse: func(r *report, out io.Writer) (func(string), func(string), func() error) {
			g := &goTests{report: r, out: out, module: module, running: map[string]*goTest{}}
			return g.line, nil, nil
		},
	}, nil
}

var moduleLine = regexp.MustCompile(`(?m)^module[ \t]+"?([^\s"]+)`)

func modulePath(gomod string) string {
	if m := moduleLine.FindStringSubmatch(gomod); m != nil {
		return m[1]
	}
	return ""
}

// goTests reads the events of go test -json.
type goTests struct {
	*report
	out     io.Writer
	module  string
	running map[string]*goTest
}

// goTest is a test that runs, or a package.
type goTest struct {
	output string
	// parent is set for one that has subtests, failed for one of which some failed.
	parent, failed bool
}

type goEvent struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
}

func (g *goTests) line(line string) {
	var e goEvent
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprintln(g.out, line)
		return
	}
	switch e.Action {
	case "output", "build-output":
		io.WriteString(g.out, e.Output)
		t := g.test(e)
		if t.output += e.Output; len(t.output) > 2*maxOutput {
			t.output = t.output[len(t.output)-maxOutput:]
		}
	case "run":
		g.test(e)
		if at := strings.LastIndexByte(e.Test, '/'); at > 0 {
			up := e
			up.Test = e.Test[:at]
			g.test(up).parent = true
		}
	case "pass", "skip", "fail":
		g.ended(e)
	}
}

// test is what is known of the test or package of an event. The output of a build is that of its package.
func (g *goTests) test(e goEvent) *goTest {
	key := e.key()
	if g.running[key] == nil {
		g.running[key] = &goTest{}
	}
	return g.running[key]
}

func (e goEvent) key() string {
	if e.ImportPath != "" {
		return "build " + e.ImportPath
	}
	return e.Package + " " + e.Test
}

func (g *goTests) ended(e goEvent) {
	t := g.test(e)
	delete(g.running, e.key())
	if e.Test == "" {
		g.packageEnded(e, t)
		return
	}
	if e.Action == "fail" {
		up := e
		if at := strings.LastIndexByte(e.Test, '/'); at > 0 {
			up.Test = e.Test[:at]
			g.test(up).failed = true
		}
		up.Test = ""
		g.test(up).failed = true
	}
	switch {
	case t.parent && (e.Action != "fail" || t.failed): // its subtests were counted
	case e.Action == "pass":
		g.pass()
	case e.Action == "skip":
		g.skip()
	default:
		f := g.failure(e.Package, t.output)
		f.Name = e.Package + "." + e.Test
		g.fail(f)
	}
}

// packageEnded counts a package that failed otherwise than by a test of it: it does not build, or ended early.
func (g *goTests) packageEnded(e goEvent, t *goTest) {
	if e.Action != "fail" || t.failed {
		return
	}
	output := t.output
	if build := g.running["build "+e.FailedBuild]; build != nil && e.FailedBuild != "" {
		output = build.output
	}
	f := g.failure(e.Package, output)
	f.Name = e.Package
	g.fail(f)
}

var (
	goNoise = regexp.MustCompile(`(?m)^\s*(?:=== |--- |PASS$|FAIL\b|exit status \d|ok\s).*\n?`)
	goPlace = regexp.MustCompile(`(?m)^\s*(?:\./)?([^\s:]+\.go):(\d+)(?::\d+)?: `)
	goFrame = regexp.MustCompile(`(?m)^\t([^\s:]+_test\.go):(\d+) `)
)

// failure makes a failure of output: the place is the first one that it names.
func (g *goTests) failure(pkg, output string) (f Failure) {
	f.Message = strings.ReplaceAll(strings.TrimSpace(goNoise.ReplaceAllString(output, "")), "\n    ", "\n")
	m := goPlace.FindStringSubmatch(f.Message)
	if m == nil {
		m = goFrame.FindStringSubmatch(output)
	}
	if m == nil {
		return f
	}
	f.File, f.Line = strings.TrimPrefix(m[1], g.module+"/"), atoi(m[2]) // with -trimpath files are named by their package
	dir := strings.TrimPrefix(strings.TrimPrefix(pkg, g.module), "/")
	if !strings.Contains(f.File, "/") {
		f.File = path.Join(dir, f.File)
	}
	return f
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
