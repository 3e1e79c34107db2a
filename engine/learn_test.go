package engine

import (
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
)

func TestGeneralise(t *testing.T) {
	argv := func(lines ...[]string) (list []lesson) {
		for _, l := range lines {
			list = append(list, lesson{argv: l})
		}
		return list
	}
	files := func(lines ...[]string) (list []lesson) {
		for _, l := range lines {
			list = append(list, lesson{paths: l})
		}
		return list
	}
	for name, c := range map[string]struct {
		same []lesson
		want string
	}{
		"the same command":            {argv([]string{"make", "test"}, []string{"make", "test"}), "= make test"},
		"one sub-command":             {argv([]string{"git", "commit", "-m", "a"}, []string{"git", "commit", "-m", "b"}), "git commit -m"},
		"an option is none":           {argv([]string{"tar", "-x", "a"}, []string{"tar", "-x", "b"}), ""},
		"a program is too wide":       {argv([]string{"git", "commit"}, []string{"git", "push"}), ""},
		"what runs others":            {argv([]string{"sudo", "apt", "a"}, []string{"sudo", "apt", "b"}), ""},
		"also the same one":           {argv([]string{"env", "x"}, []string{"env", "x"}), ""},
		"a runner that nobody listed": {argv([]string{"nice", "rm", "a"}, []string{"nice", "rm", "b"}), ""},
		"a runner of packages":        {argv([]string{"npx", "x"}, []string{"npx", "x"}), ""},
		"a runner by its sub-command": {argv([]string{"uv", "run", "a"}, []string{"uv", "run", "b"}), ""},
		"containers":                  {argv([]string{"docker", "run", "a"}, []string{"docker", "run", "b"}), ""},
		"what finds and runs":         {argv([]string{"find", ".", "-exec", "a"}, []string{"find", ".", "-exec", "b"}), ""},
		"code of the workspace":       {argv([]string{"go", "run", "./a"}, []string{"go", "run", "./b"}), ""},
		"an option names a program":   {argv([]string{"go", "test", "./a"}, []string{"go", "test", "./a", "-exec", "x"}), ""},
		"a place to send to":          {argv([]string{"git", "push", "a"}, []string{"git", "push", "b"}), ""},
		"commands from its input":     {argv([]string{"python3", "-"}, []string{"python3", "-"}), ""},
		"the same tests":              {argv([]string{"go", "test", "./..."}, []string{"go", "test", "./..."}), "= go test ./..."},
		"the same, by a path":         {argv([]string{"bin/make", "x"}, []string{"bin/make", "x"}), ""},
		"a path":                      {argv([]string{"./x", "a", "b"}, []string{"./x", "a", "c"}), ""},
		"a word with a star":          {argv([]string{"ls", "*", "a"}, []string{"ls", "*", "b"}), ""},
		"a directory":                 {files([]string{"src/a", "src/b/c"}, []string{"src/d"}), "src/**"},
		"a deeper one":                {files([]string{"src/x/a"}, []string{"src/x/y/b"}), "src/x/**"},
		"not a common prefix":         {files([]string{"src/ab/x"}, []string{"src/abc/y"}), "src/**"},
		"the workspace":               {files([]string{"src/a"}, []string{"lib/b"}), ""},
		"one file":                    {files([]string{"a.txt"}, []string{"a.txt"}), "a.txt"},
		"a name with a star":          {files([]string{"a*/x"}, []string{"a*/y"}), ""},
	} {
		if _, got := generalise(c.same); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What an MCP client answers for its own calls, and what a person approved otherwise than shown, is no lesson.
func TestWhichAnswersCount(t *testing.T) {
	for name, c := range map[string]struct {
		answer           *approval.Answer
		approved, refuse bool
	}{
		"yes":              {&approval.Answer{Approved: true}, true, false},
		"by the caller":    {&approval.Answer{Approved: true, ByCaller: true}, false, false},
		"no":               {&approval.Answer{}, false, true},
		"no of the caller": {&approval.Answer{ByCaller: true}, false, true},
		"edited":           {&approval.Answer{Approved: true, Args: []byte("{}")}, false, true},
		"kept in part":     {&approval.Answer{Approved: true, Keep: []string{"a"}}, false, true},
		"unanswered":       {nil, false, false},
	} {
		q := &approval.Question{Answer: c.answer, Effects: []tongs.Effect{{Kind: tongs.EffectWrite, Path: tongs.Path{Root: tongs.WorkspaceRoot, Rel: "src/a"}}}}
		if got := approvedAsShown(q); got != c.approved {
			t.Errorf("%s: counts as approved: %v", name, got)
		}
		if got := covers(tongs.EffectWrite, "src/**", refusedIn(q)); got != c.refuse {
			t.Errorf("%s: counts as refused: %v", name, got)
		}
	}
}

// No rule for files covers what git records.
func TestCommitsAreNoLesson(t *testing.T) {
	change := tongs.Change{Path: tongs.Path{Rel: ".git"}, Kind: tongs.Modified, Repository: true, Does: []string{"commit 1 file to main: x"}}
	q := &approval.Question{Source: tongs.Source{Kind: tongs.SourceBuiltin}, Changes: []tongs.Change{change}, ChangeCount: 1}
	if l, ok := lessonOf(q); ok {
		t.Errorf("a rule for %v is offered", l.paths)
	}
	q.Answer = &approval.Answer{}
	if !covers(tongs.EffectWrite, ".git", refusedIn(q)) {
		t.Error("a refused commit does not count as refused")
	}
}
