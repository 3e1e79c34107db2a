package project

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tongs-ai/tongs"
)

//go:embed programs/tests.py
var pythonTests string

//go:embed programs/tests.mjs
var nodeReporter string

// event is a line of what our own reporters write.
type event struct {
	Event, Name, File, Message string
	Line, Total                int
}

// readEvents counts the lines of our own reporters; other takes those that are about something else than a test. What is no such
// line is output.
func readEvents(r *report, out io.Writer, other func(event)) func(string) {
	return func(line string) {
		var e event
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
			fmt.Fprintln(out, line)
			return
		}
		switch e.Event {
		case "plan":
			r.expect(e.Total)
		case "pass":
			r.pass()
		case "skip":
			r.skip()
		case "fail":
			r.fail(Failure{Name: e.Name, File: e.File, Line: e.Line, Message: e.Message})
		default:
			other(e)
		}
	}
}

var pythonTest = regexp.MustCompile(`^(test_.*|.*_test|conftest)\.py$`)

// isPython reports whether the place says that it is a project of Python; hasPython whether it has tests of it.
func (p *place) isPython() bool {
	return p.has("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "setup.py", "requirements.txt", ".venv")
}

func (p *place) hasPython() bool { return len(p.names(pythonTest)) > 0 }

// planPython runs pytest, or unittest where pytest is neither configured nor installed.
func planPython(opt Options, p *place, in TestInput) (*testPlan, error) {
	python := p.python()
	if err := opt.installed(python, "install Python 3 (the package is usually called python3)"); err != nil {
		return nil, err
	}
	if strings.IndexByte(in.Filter, 0) >= 0 {
		return nil, notOption("filter", in.Filter)
	}
	how := "auto"
	if p.has("pytest.ini", "conftest.py") || strings.Contains(p.read("pyproject.toml"), "[tool.pytest") || strings.Contains(p.read("setup.cfg"), "[tool:pytest]") {
		how = "pytest"
	}
	argv, says := []string{python, "-", how, in.Filter}, []string{python, "-m", "pytest"}
	if in.Filter != "" {
		says = append(says, "-k"+in.Filter)
	}
	if target := p.below(); target != "." {
		argv, says = append(argv, target), append(says, target)
	}
	plan := &testPlan{
		runner: "python", none: []int{5},
		main: program{argv: argv, says: says, input: pythonTests, env: []string{"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1"}},
	}
	plan.parse = func(r *report, out io.Writer) (func(string), func(string), func() error) {
		missing := false
		read := readEvents(r, out, func(e event) {
			switch e.Event {
			case "runner":
				plan.runner = e.Name
			case "missing":
				missing = true
			}
		})
		return read, nil, func() error {
			if missing {
				return tongs.Errorf(tongs.CodeConfigError, "the project is tested with pytest, which is not installed for %s; "+
					"install it with install_package (pytest) or as the system's package python3-pytest", python)
			}
			return nil
		}
	}
	return plan, nil
}

// jsRunner is how a project of JavaScript is tested: by a runner whose reports can be read, or by its script.
func (p *place) jsRunner() string {
	m, ok := p.manifest()
	if !ok {
		return ""
	}
	script := m.Scripts["test"]
	if script == "" || strings.Contains(script, "no test specified") {
		switch {
		case m.depends("vitest"):
			return "vitest"
		case m.depends("jest"):
			return "jest"
		case len(p.names(nodeTest)) > 0:
			return "node"
		}
		return ""
	}
	words, plain := plainWords(script)
	if !plain || m.Scripts["pretest"]+m.Scripts["posttest"] != "" {
		return "script"
	}
	switch {
	case words[0] == "jest", words[0] == "vitest":
		return words[0]
	case words[0] == "node" && slices.Contains(words, "--test"):
		return "node"
	}
	return "script"
}

var nodeTest = regexp.MustCompile(`\.test\.[cm]?js$|^test\.[cm]?js$|^tests?$`)

// scriptWords are the arguments that the test script gives a runner, none where it is another one's.
func (p *place) scriptWords(runner string) []string {
	m, _ := p.manifest()
	words, plain := plainWords(m.Scripts["test"])
	if !plain || words[0] != runner {
		return nil
	}
	return words[1:]
}

func planNode(opt Options, p *place, in TestInput) (*testPlan, error) {
	if err := opt.installed("node", "install Node.js (the package is usually called nodejs)"); err != nil {
		return nil, err
	}
	p.bind("package.json")
	given := slices.DeleteFunc(p.scriptWords("node"), func(w string) bool { return w == "--test" || strings.HasPrefix(w, "--test-reporter") })
	says := []string{"node", "--test"}
	if in.Filter != "" {
		says = append(says, "--test-name-pattern="+in.Filter)
	}
	reporter := []string{"--test-reporter=data:text/javascript," + url.PathEscape(nodeReporter), "--test-reporter-destination=stdout"}
	if target := p.below(); target != "." {
		options := slices.DeleteFunc(given, func(w string) bool { return !strings.HasPrefix(w, "-") })
		given = append(options, target)
	}
	return &testPlan{
		runner: "node --test", main: program{argv: slices.Concat(says, reporter, given), says: append(says, given...)},
		parse: func(r *report, out io.Writer) (func(string), func(string), func() error) {
			return readEvents(r, out, func(event) {}), nil, nil
		},
	}, nil
}

// planScript runs the test script with the package manager, and reads a report where the call names one.
func planScript(opt Options, p *place, in TestInput) (*testPlan, error) {
	m, ok := p.manifest()
	if !ok || m.Scripts["test"] == "" {
		return nil, tongs.Errorf(tongs.CodeConfigError, "package.json in %s has no script test", p.root)
	}
	manager := p.javascript(m)
	if err := opt.installed(manager, "install it, with 'npm install -g "+manager+"' or your system's packages"); err != nil {
		return nil, err
	}
	if in.Filter != "" || p.target != p.root && in.Path != "" && p.below() != "." {
		return nil, tongs.Errorf(tongs.CodeInvalidArgs, "the test script (%s) is run as a whole: leave out filter, and name the project with path", m.Scripts["test"])
	}
	p.bind("package.json")
	return &testPlan{runner: manager + " run test", main: program{argv: []string{manager, "run", "test"}}}, nil
}
