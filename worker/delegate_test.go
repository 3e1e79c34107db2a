package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/tools/todo"
	"github.com/tongs-ai/tongs/worker"
)

// whole are zones that are the whole workspace.
func whole(writable bool) []worker.Zone {
	return []worker.Zone{{Name: "workspace", Writable: writable}}
}

// family has a parent that makes one call of its child, which makes the given calls and says what came of them.
func family(b *bench, parent, child worker.File, list ...string) *worker.Session {
	b.Helper()
	parent.Name, child.Name = "parent", "child"
	parent.Trusted, child.Trusted = true, true
	parent.Workers = []string{"child"}
	b.worker(child, lines(calls(list...)))
	p := b.worker(parent, lines(calls("child", args("input", "do it"))))
	b.offer()
	s := b.run(p, "go")
	if s.State != worker.Done {
		b.Fatalf("%s: %s", s.State, s.Why)
	}
	return s
}

func (b *bench) told(s *worker.Session, want string) {
	b.Helper()
	if !strings.Contains(s.Answer, want) {
		b.Errorf("the child was told:\n%s\nwant %q", s.Answer, want)
	}
}

// A child can do what both files allow.
func TestChildDoesWhatBothMay(t *testing.T) {
	b := newBench(t)
	b.write("src/a.txt", "one\n")
	s := family(b, worker.File{Zones: whole(true), Zoned: true}, worker.File{Zones: whole(true), Zoned: true},
		"read_file", args("path", "src/a.txt"), "write_file", args("path", "src/b.txt", "content", "x"), "run", args("command", "ls"), "fetch", args("host", "example.com"))
	for _, want := range []string{"one", "ran ls", "fetched example.com"} {
		b.told(s, want)
	}
	if b.read("src/b.txt") != "x" || len(b.asked) != 0 {
		t.Errorf("b is %q, asked %+v", b.read("src/b.txt"), b.asked)
	}
	list, err := b.store.List(t.Context(), worker.Filter{Root: s.ID})
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	child := list[slices.IndexFunc(list, func(s worker.Session) bool { return s.Parent != "" })]
	if child.Parent != s.ID || child.Log != s.ID || child.Call == "" || strings.Join(child.Agents, ">") != "parent>child" || child.Prompt != "do it" {
		t.Errorf("%+v", child)
	}
	// What the child used and changed counts for its parent.
	if s.Usage.Input != 200 || s.Total.Input != 400 || s.Files != 1 || child.Files != 1 {
		t.Errorf("parent %+v, child %+v", s, child)
	}
	_, entries, _ := b.store.Load(t.Context(), s.ID, 0)
	if note := entries[2].Calls[0]; note.Session != child.ID || note.Call != child.Call {
		t.Errorf("note %+v", note)
	}
}

// A child cannot read, write, run, fetch or spend what its parent could not. What the child's own file says does not matter.
func TestChildCannotDoWhatItsParentCannot(t *testing.T) {
	all := worker.File{Zones: whole(true), Zoned: true}
	blocked := func(r tongs.Rule) worker.File {
		r.Layer, r.Decision = tongs.LayerWorker, tongs.Blocked
		return worker.File{Zones: whole(true), Zoned: true, Rules: []tongs.Rule{r}}
	}
	free := all
	free.Rules = []tongs.Rule{{Layer: tongs.LayerWorker, Decision: tongs.PreApproved}}
	src := worker.File{Zones: []worker.Zone{{Name: "src", Path: "src", Writable: true}}, Zoned: true}
	for name, c := range map[string]struct {
		parent worker.File
		call   []string
		want   string
	}{
		"read outside its zones":  {src, []string{"read_file", args("path", "secret.txt")}, `BLOCKED: read secret.txt is outside what the agent "parent" may touch`},
		"search outside":          {src, []string{"grep", args("pattern", "hidden")}, "BLOCKED"},
		"read by a rule":          {blocked(tongs.Rule{Effects: tongs.Kinds(tongs.EffectRead), Pattern: "secret.txt"}), []string{"read_file", args("path", "secret.txt")}, "BLOCKED"},
		"write outside its zones": {src, []string{"write_file", args("path", "new.txt", "content", "x")}, `BLOCKED: write new.txt is outside`},
		"write where it may read": {worker.File{Zones: whole(false), Zoned: true}, []string{"write_file", args("path", "new.txt", "content", "x")}, `BLOCKED`},
		"move out":                {src, []string{"move_file", args("from", "src/a.txt", "to", "new.txt")}, `BLOCKED`},
		"run by a rule":           {blocked(tongs.Rule{Effects: tongs.Kinds(tongs.EffectExecute), Pattern: "rm"}), []string{"run", args("command", "rm -rf x")}, "BLOCKED"},
		"run without the toolset": {worker.File{Zones: whole(true), Zoned: true, Toolsets: []string{"filesystem"}}, []string{"run", args("command", "ls")}, `UNKNOWN_TOOL: there is no tool "run"`},
		"fetch by a rule":         {blocked(tongs.Rule{Effects: tongs.Kinds(tongs.EffectNetwork), Pattern: "example.com"}), []string{"fetch", args("host", "example.com")}, "BLOCKED"},
		"call by an alias":        {blocked(tongs.Rule{Tool: "run"}), []string{"execute", args("command", "ls")}, "BLOCKED"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("secret.txt", "hidden\n")
			b.write("src/a.txt", "one\n")
			s := family(b, c.parent, free, c.call...)
			b.told(s, c.want)
			if strings.Contains(s.Answer, "hidden\n") || b.read("new.txt") != "!no such file or directory" || b.read("src/a.txt") != "one\n" || len(b.asked) != 0 {
				t.Errorf("it was done: %s\nasked %+v", s.Answer, b.asked)
			}
		})
	}
}

// What a parent must ask for, its child must ask for, with the whole chain shown.
func TestApprovalsOfAChildShowTheChain(t *testing.T) {
	b := newBench(t)
	b.write("a.txt", "one\n")
	s := family(b, worker.File{Zones: whole(true), Zoned: true, Rules: []tongs.Rule{{Layer: tongs.LayerWorker, Tool: "run", Decision: tongs.Ask}}},
		worker.File{Zones: whole(true), Zoned: true, Rules: []tongs.Rule{{Layer: tongs.LayerWorker, Decision: tongs.PreApproved}}},
		"run", args("command", "ls"))
	b.told(s, "ran ls")
	if len(b.asked) != 1 || strings.Join(b.asked[0].Agents, " > ") != "parent > child" {
		t.Errorf("asked %+v", b.asked)
	}
}

func TestChildCannotSpendWhatItsParentCannot(t *testing.T) {
	price := &model.Price{Input: 10, Output: 50}
	for name, limits := range map[string]worker.Limits{"tokens": {Tokens: 9000}, "cost": {Cost: 0.05}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.worker(worker.File{Name: "child", Trusted: true, Price: price, Limits: worker.Limits{Tokens: 1e9, Cost: 1e5, Turns: 1e6}}, forever)
			p := b.worker(worker.File{Name: "parent", Trusted: true, Workers: []string{"child"}, Limits: limits, Price: price}, lines(calls("child", args("input", "x"))))
			b.offer()
			s := b.run(p, "go")
			if s.State != worker.Done && s.State != worker.Limited {
				t.Errorf("%s: %s", s.State, s.Why)
			}
			if used := s.Total.Input + s.Total.Output; name == "tokens" && used > 9000 || name == "cost" && s.Cost > 0.05 {
				t.Errorf("spent %d tokens, $%f", used, s.Cost)
			}
			results := b.seen(worker.EventResult)
			last := results[len(results)-1].Call
			if last.Tool != "child" || last.Code != tongs.CodeExecutionError || !strings.Contains(last.Content, "the worker child did not finish (limited): the limit "+name+" of the worker parent") {
				t.Errorf("the parent was told %q %s", last.Content, last.Code)
			}
		})
	}
	// A child whose price is not known cannot be started by a parent whose cost is limited.
	b := newBench(t)
	b.worker(worker.File{Name: "child", Trusted: true}, forever)
	p := b.worker(worker.File{Name: "parent", Trusted: true, Workers: []string{"child"}, Limits: worker.Limits{Cost: 100}, Price: price}, lines(calls("child", args("input", "x"))))
	b.offer()
	b.want(b.run(p, "go"), worker.Done, "the price of \"child\" is not known")
	// The files and lines that it changes count, too, and a time limit ends it.
	b = newBench(t)
	b.worker(worker.File{Name: "child", Trusted: true, Zones: whole(true), Zoned: true}, lines(
		calls("write_file", args("path", "1", "content", "x"), "write_file", args("path", "2", "content", "x"))))
	p = b.worker(worker.File{Name: "parent", Trusted: true, Workers: []string{"child"}, Limits: worker.Limits{FilesChanged: 1}}, lines(calls("child", args("input", "x"))))
	b.offer()
	b.run(p, "go")
	if b.read("1") != "x" || b.read("2") != "!no such file or directory" {
		t.Errorf("1 is %q, 2 is %q", b.read("1"), b.read("2"))
	}
}

// Zones are places, not spellings: a path that leads out of them by .. or by a link is outside, and one that leads back in is
// inside. What a file does not declare it cannot touch.
func TestZonesOfAChild(t *testing.T) {
	zone := func(path string) worker.File {
		return worker.File{Zoned: true, Zones: []worker.Zone{{Name: "src", Path: path, Writable: true}}}
	}
	for name, c := range map[string]struct {
		child worker.File
		path  string
		want  string
	}{
		"inside":                   {zone("src"), "src/a.txt", "one"},
		"back in":                  {zone("src"), "src/../src/./a.txt", "one"},
		"zone spelled with ..":     {zone("./docs/../src"), "src/a.txt", "one"},
		"out by ..":                {zone("src"), "src/../secret.txt", "BLOCKED"},
		"out by a zone with ..":    {zone("docs/../src"), "docs/b.txt", "BLOCKED"},
		"out by a link":            {zone("src"), "src/link", "BLOCKED"},
		"sibling of the same name": {zone("src"), "src2/c.txt", "BLOCKED"},
		"undeclared zone":          {zone("src"), "/cache/x", "BLOCKED"},
		"declared zone":            {worker.File{Zoned: true, Zones: []worker.Zone{{Name: "cache"}}}, "/cache/x", "cached"},
		"zone without another":     {worker.File{Zoned: true, Zones: []worker.Zone{{Name: "cache"}}}, "src/a.txt", "BLOCKED"},
		"others' output":           {zone("src"), "/spill/c_other/content.txt", "BLOCKED"},
		"all output":               {zone("src"), "/spill", "BLOCKED"},
		"no zones":                 {worker.File{}, "src/a.txt", "BLOCKED"},
		"empty zones":              {worker.File{Zoned: true}, "src/a.txt", "BLOCKED"},
		"host path":                {zone("src"), "HOST/secret.txt", "BLOCKED"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("src/a.txt", "one\n")
			b.write("src2/c.txt", "hidden\n")
			b.write("docs/b.txt", "hidden\n")
			b.write("secret.txt", "hidden\n")
			b.must(os.Symlink("../secret.txt", filepath.Join(b.dir, "src/link")))
			cache, err := b.ws.Resolve(tongs.Path{Rel: "."}, "/cache")
			b.must(err)
			b.must(os.WriteFile(filepath.Join(b.ws.Host(cache), "x"), []byte("cached\n"), 0o600))
			s := family(b, worker.File{}, c.child, "read_file", args("path", strings.Replace(c.path, "HOST", b.dir, 1)))
			b.told(s, c.want)
			if strings.Contains(s.Answer, "hidden") {
				t.Error(s.Answer)
			}
		})
	}
	// A zone that leads outside every root is an error, not an empty one.
	b := newBench(t)
	s := family(b, worker.File{}, zone("../elsewhere"), "read_file", args("path", "a"))
	b.told(s, "CONFIG_ERROR")
	b.told(s, `zone "src" of the worker child`)
}

// A child reads what did not fit of its own calls, and of nobody else's.
func TestChildReadsItsOwnOutput(t *testing.T) {
	b := newBench(t)
	b.write("src/big.txt", strings.Repeat("0123456789 line\n", 600)+"the end\n")
	child := worker.File{Name: "child", Trusted: true, Zoned: true, Zones: []worker.Zone{{Name: "src", Path: "src"}}}
	b.worker(child, played(func(turn int, told string) model.Message {
		switch turn {
		case 0:
			return calls("read_file", args("path", "src/big.txt"))
		case 1:
			at := strings.Index(told, "/spill/")
			if at < 0 {
				return say("no spill: " + told)
			}
			return calls("read_file", args("path", strings.FieldsFunc(told[at:], func(r rune) bool { return strings.ContainsRune(" ,;\n])", r) })[0], "offset", -1))
		}
		return say(told)
	}))
	p := b.worker(worker.File{Name: "parent", Trusted: true, Workers: []string{"child"}}, lines(calls("child", args("input", "x"))))
	b.offer()
	b.told(b.run(p, "go"), "the end")
}

func TestUntrustedWorkersAreAskedFor(t *testing.T) {
	for _, tool := range []string{"child", "task"} {
		t.Run(tool, func(t *testing.T) {
			b := newBench(t)
			dir := t.TempDir()
			child := b.worker(worker.File{Name: "child"}, lines(say("worked")))
			child.Path = filepath.Join(dir, "child.worker")
			b.must(os.WriteFile(child.Path, []byte("the whole file"), 0o600))
			in := args("input", "do it")
			if tool == "task" {
				in = args("worker", "child", "prompt", "do it")
			}
			p := b.worker(worker.File{Name: "parent", Workers: []string{"child"}}, lines(calls(tool, in)))
			b.offer()
			b.told(b.run(p, "go"), "worked")
			if len(b.asked) != 1 {
				t.Fatalf("asked %+v", b.asked)
			}
			q := b.asked[0]
			if !strings.Contains(q.Preview, "the whole file") || len(q.Scopes) != 1 || q.Scopes[0] != approval.Once || !strings.Contains(q.Why, child.Path+" is not trusted") {
				t.Errorf("%+v", q)
			}
			b.say = func(approval.Question) bool { return false }
			b.told(b.run(p, "go"), "DENIED")
			// Once somebody vouched for it nobody is asked.
			child.Trusted, b.asked = true, nil
			b.told(b.run(p, "go"), "worked")
			if len(b.asked) != 0 {
				t.Errorf("asked %+v", b.asked)
			}
		})
	}
}

func TestCyclesAndDepth(t *testing.T) {
	b := newBench(t)
	// a calls b, which calls a.
	b.worker(worker.File{Name: "b", Trusted: true, Workers: []string{"a"}}, lines(calls("a", args("input", "x"))))
	a := b.worker(worker.File{Name: "a", Trusted: true, Workers: []string{"b"}}, lines(calls("b", args("input", "x"))))
	b.offer()
	b.told(b.run(a, "go"), "a worker cannot call itself, also not through others: a > b > a (/w/a.worker)")

	// Five are deep enough; the name does not matter, the file does.
	b = newBench(t)
	for i := range 7 {
		f := worker.File{Name: fmt.Sprint("w", i), Trusted: true}
		m := lines(say("the bottom"))
		if i < 6 {
			f.Workers, m = []string{fmt.Sprint("w", i+1)}, lines(calls("task", args("worker", fmt.Sprint("w", i+1), "prompt", "x")))
		}
		b.worker(f, m)
	}
	b.offer()
	b.told(b.run(b.files["w0"], "go"), "workers may call each other 5 deep: w0 > w1 > w2 > w3 > w4 > w5 is deeper")
	if b.told(b.run(b.files["w2"], "go"), "the bottom"); len(b.asked) != 0 {
		t.Errorf("asked %+v", b.asked)
	}
}

// A worker calls those that it lists, and nobody else, by whichever name.
func TestOnlyListedWorkers(t *testing.T) {
	b := newBench(t)
	b.worker(worker.File{Name: "grandchild", Trusted: true}, lines(say("reached")))
	b.worker(worker.File{Name: "child", Trusted: true, Workers: []string{"grandchild"}}, lines(calls("grandchild", args("input", "x"))))
	b.worker(worker.File{Name: "other", Trusted: true}, lines(say("reached")))
	p := b.worker(worker.File{Name: "parent", Trusted: true, Workers: []string{"child"}}, lines(
		calls("other", args("input", "x"), "task", args("worker", "other", "prompt", "x"), "grandchild", args("input", "x"), "task", args("worker", "grandchild", "prompt", "x"))))
	b.offer()
	s := b.run(p, "go")
	if strings.Contains(s.Answer, "reached") {
		t.Error(s.Answer)
	}
	b.told(s, `UNKNOWN_TOOL: there is no tool "other"`)
	b.told(s, `the worker parent may not call "other"; those that it may are: child`)
	b.told(s, `the worker parent may not call "grandchild"`)
	p2 := b.worker(worker.File{Name: "parent", Trusted: true, Workers: []string{"child"}}, lines(calls("child", args("input", "x"))))
	b.told(b.run(p2, "go"), "reached")
}

// Several children of a turn run at the same time; their failures are results.
func TestChildrenAtTheSameTime(t *testing.T) {
	b := newBench(t)
	var met sync.WaitGroup
	met.Add(3)
	meeting := make(chan struct{})
	go func() { met.Wait(); close(meeting) }()
	for _, name := range []string{"a", "b", "c"} {
		b.worker(worker.File{Name: name, Trusted: true}, modelFunc(func(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
			met.Done()
			<-meeting
			if name == "b" {
				return nil, fmt.Errorf("b broke")
			}
			return lines(say("from "+name)).Turn(ctx, req, stream)
		}))
	}
	p := b.worker(worker.File{Name: "parent", Trusted: true, Workers: []string{"a", "b", "c"}}, lines(
		calls("a", args("input", "x"), "task", args("worker", "b", "prompt", "x"), "c", args("input", "x"))))
	b.offer()
	s := b.run(p, "go")
	for _, want := range []string{"[a] from a", "EXECUTION_ERROR: the worker b did not finish (failed): b broke", "[c] from c"} {
		b.told(s, want)
	}
}

// Each child has todos of its own.
func TestTodosOfChildren(t *testing.T) {
	b := newBench(t)
	items := func(text string) string { return args("items", []todo.Item{{Content: text, Status: todo.Pending}}) }
	b.worker(worker.File{Name: "child", Trusted: true}, lines(calls("todo_write", items("theirs")), say("ok")))
	p := b.worker(worker.File{Name: "parent", Trusted: true, Workers: []string{"child"}}, lines(
		calls("todo_write", items("mine")), calls("child", args("input", "x")), calls("todo_read", "{}")))
	b.offer()
	b.told(b.run(p, "go"), "[todo_read] [ ] mine")
}

// A child is handed files that its parent may read, as text and pictures, within its policy.
func TestAttachmentsOfAChild(t *testing.T) {
	b := newBench(t)
	b.write("src/a.txt", "from a file\n")
	b.write("secret.txt", "hidden\n")
	b.worker(worker.File{Name: "child", Trusted: true, Attachments: worker.Attachments{Count: 1}}, lines())
	p := b.worker(worker.File{Name: "parent", Trusted: true, Workers: []string{"child"}, Zoned: true, Zones: []worker.Zone{{Name: "src", Path: "src"}}}, lines(
		calls("child", args("input", "look", "instructions", "Be quick.", "attachments", []string{"src/a.txt"}),
			"child", args("input", "look", "attachments", []string{"secret.txt"}),
			"child", args("input", "look", "attachments", []string{"src/a.txt", "src/a.txt"}),
			"child", args("input", "look", "attachments", []string{"src/none"}))))
	b.offer()
	s := b.run(p, "go")
	for _, want := range []string{"Attachment src/a.txt:\nfrom a file", "Be quick.", "BLOCKED: read secret.txt", "2 attachments are more than the 1", "FILE_NOT_FOUND"} {
		b.told(s, want)
	}
	if strings.Contains(s.Answer, "hidden") {
		t.Error(s.Answer)
	}
}

// A model outside of our loop that calls task where no model is configured gets what it needs to do the task itself.
func TestAssist(t *testing.T) {
	b := newBench(t)
	f := b.worker(worker.File{Name: "reviewer", Instructions: "Review with care."}, nil)
	delete(b.models, "reviewer")
	b.offer()
	for tool, in := range map[string]string{"task": args("worker", "reviewer", "prompt", "review it"), "reviewer": args("input", "review it")} {
		res := b.engine.Call(t.Context(), &tongs.Call{Tool: tool, Args: json.RawMessage(in)})
		if res.Error == nil || res.Error.Code != tongs.CodeLLMAssistRequired || res.Metadata["error"] != "LLM_ASSIST_REQUIRED" ||
			!strings.Contains(res.Content, "Review with care.") || !strings.Contains(res.Content, "review it") || res.Metadata["instructions"] != f.Instructions {
			t.Errorf("%s: %+v", tool, res)
		}
	}
	// With a model it is run, for whoever may start it.
	b.models["reviewer"] = lines(say("reviewed"))
	b.files["reviewer"].Trusted = true
	if res := b.engine.Call(t.Context(), &tongs.Call{Tool: "task", Args: json.RawMessage(args("worker", "reviewer", "prompt", "x"))}); res.Content != "reviewed" {
		t.Errorf("%+v", res)
	}
	if res := b.engine.Call(t.Context(), &tongs.Call{Tool: "task", Args: json.RawMessage(args("worker", "nobody", "prompt", "x"))}); res.OK() || !strings.Contains(res.Content, `there is no worker "nobody"`) {
		t.Errorf("%+v", res)
	}
}

// A worker that has a tool call other workers for it may call no more of them than by itself, also where that tool keeps
// nothing of the context that it was called with.
func TestOnlyListedWorkersThroughATool(t *testing.T) {
	type in struct {
		Worker string `json:"worker" jsonschema:"Which."`
	}
	relay, err := tongs.New(tongs.Def[in, string]{
		Spec: tongs.Spec{Name: "relay", Description: "Calls a worker.", Toolset: "relays", Default: tongs.PreApproved},
		Run: func(_ context.Context, env *tongs.Env, in in) (string, error) {
			res := env.Caller.Call(context.Background(), &tongs.Call{
				Tool: "task", Args: json.RawMessage(fmt.Sprintf(`{"worker":%q,"prompt":"x"}`, in.Worker)),
			})
			return res.Content, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, relay)
	b.worker(worker.File{Name: "child", Trusted: true}, lines(say("the child was reached")))
	b.worker(worker.File{Name: "other", Trusted: true}, lines(say("the other was reached")))
	p := b.worker(worker.File{Name: "parent", Trusted: true, Toolsets: []string{"relays"}, Workers: []string{"child"}}, lines(
		calls("relay", args("worker", "other"), "relay", args("worker", "child"))))
	b.offer()
	s := b.run(p, "go")
	b.told(s, `the worker parent may not call "other"`)
	b.told(s, "the child was reached")
	if strings.Contains(s.Answer, "the other was reached") {
		t.Error(s.Answer)
	}
}
