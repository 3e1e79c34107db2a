package project

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/tongs-ai/tongs"
)

// planJest and planVitest run the runner that is installed in the project, which reports when it has ended.
func planJest(opt Options, p *place, in TestInput) (*testPlan, error) {
	argv := []string{"node", "node_modules/jest/bin/jest.js", "--json", "--testLocationInResults"}
	if in.Filter != "" {
		argv = append(argv, "--testNamePattern="+in.Filter)
	}
	if in.Changed {
		argv = append(argv, "--changedSince=HEAD")
	}
	return planJS(opt, p, "jest", argv)
}

func planVitest(opt Options, p *place, in TestInput) (*testPlan, error) {
	argv := []string{"node", "node_modules/vitest/vitest.mjs", "run", "--reporter=json", "--includeTaskLocation"}
	if in.Filter != "" {
		argv = append(argv, "--testNamePattern="+in.Filter)
	}
	if in.Changed {
		argv = append(argv, "--changed")
	}
	return planJS(opt, p, "vitest", argv)
}

func planJS(opt Options, p *place, name string, argv []string) (*testPlan, error) {
	if err := opt.installed("node", "install Node.js (the package is usually called nodejs)"); err != nil {
		return nil, err
	}
	if p.read(argv[1]) == "" {
		return nil, tongs.Errorf(tongs.CodeConfigError, "the project is tested with %s, which is not installed in it; install its packages first, as with 'npm ci'", name)
	}
	given := p.scriptWords(name)
	if name == "vitest" && len(given) > 0 && given[0] == "run" {
		given = given[1:]
	}
	argv = append(argv, given...)
	if target := p.below(); target != "." {
		if plain := strings.TrimPrefix(target, "./"); !strings.HasPrefix(plain, "-") {
			target = plain
		}
		argv = append(argv, target)
	}
	p.bind("package.json", argv[1])
	return &testPlan{
		runner: name, main: program{argv: argv, env: []string{"CI=1"}}, document: readJest,
		narrow: func(context.Context, *session, *program) (bool, error) { return true, nil },
	}, nil
}

// readJest reads what jest and vitest report: their form is the same.
func readJest(r *report, text string) error {
	var all struct {
		TestResults []struct {
			Name, Status, Message string
			AssertionResults      []struct {
				FullName, Status string
				FailureMessages  []string
				Location         *struct{ Line int }
			}
		}
	}
	at := strings.IndexByte(text, '{')
	if at < 0 || json.NewDecoder(strings.NewReader(text[at:])).Decode(&all) != nil {
		return nil // it ended before it could report, and says why
	}
	for _, file := range all.TestResults {
		failed := false
		for _, c := range file.AssertionResults {
			switch c.Status {
			case "passed":
				r.pass()
			case "failed":
				failed = true
				f := Failure{Name: c.FullName, File: file.Name, Message: strings.Join(c.FailureMessages, "\n")}
				if c.Location != nil {
					f.Line = c.Location.Line
				}
				r.fail(f)
			default:
				r.skip()
			}
		}
		if file.Status == "failed" && !failed {
			r.fail(Failure{Name: file.Name, File: file.Name, Message: file.Message})
		}
	}
	return nil
}
