package worker_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/model"
	"github.com/tongs-ai/tongs/worker"
)

// forever calls something else each turn, and never ends by itself.
var forever = played(func(turn int, _ string) model.Message {
	m := calls("run", args("command", fmt.Sprint("step ", turn)))
	m.Parts = append([]model.Part{{Text: fmt.Sprint("step ", turn)}}, m.Parts...)
	return m
})

// Every limit ends the run cleanly, with what was done so far.
func TestLimits(t *testing.T) {
	writes := played(func(turn int, _ string) model.Message {
		m := calls("write_file", args("path", fmt.Sprintf("f%d.txt", turn), "content", "a\nb\nc\n"))
		m.Parts = append([]model.Part{{Text: fmt.Sprint("step ", turn)}}, m.Parts...)
		return m
	})
	for name, c := range map[string]struct {
		limits worker.Limits
		model  model.Model
		turns  int
		files  int
		why    string
	}{
		"turns":  {worker.Limits{Turns: 3}, forever, 3, 0, "the limit turns of the worker w is reached (3)"},
		"unsaid": {worker.Limits{}, forever, worker.DefaultTurns, 0, "the limit turns"},
		"tokens": {worker.Limits{Tokens: 3000}, forever, -1, 0, "the limit tokens"},
		"cost":   {worker.Limits{Cost: 0.03}, forever, -1, 0, "the limit cost"},
		"files":  {worker.Limits{FilesChanged: 2}, writes, 3, 2, "the limit filesChanged of the worker w is reached (3 files would be changed; 2 may be)"},
		"lines":  {worker.Limits{LinesChanged: 6}, writes, 3, 2, "the limit linesChanged of the worker w is reached (6 lines"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			s := b.run(b.worker(worker.File{Name: "w", Limits: c.limits, Price: &model.Price{Input: 10, Output: 50}}, c.model), "go")
			b.want(s, worker.Limited, c.why)
			if c.turns >= 0 && s.Turns != c.turns || s.Files != c.files || !strings.HasPrefix(s.Answer, "step") {
				t.Errorf("%+v", s)
			}
			if l := c.limits; l.Tokens > 0 && s.Total.Input+s.Total.Output > l.Tokens || l.Cost > 0 && (s.Cost > l.Cost || !s.Priced) {
				t.Errorf("spent %+v, $%f", s.Total, s.Cost)
			}
			if c.files > 0 && (b.read("f1.txt") == "" || b.read("f2.txt") != "!no such file or directory") {
				t.Errorf("f1 %q, f2 %q", b.read("f1.txt"), b.read("f2.txt"))
			}
		})
	}
}

func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		s := b.run(b.worker(worker.File{Name: "w", Limits: worker.Limits{Time: time.Minute}}, blocking{}), "go")
		b.want(s, worker.Limited, "the limit time of the worker w is reached (1m0s)")
	})
}

// A limit on cost needs a price, and one on changes something that counts them.
func TestLimitsThatCannotBeKept(t *testing.T) {
	b := newBench(t)
	_, err := b.runner.Run(t.Context(), worker.Job{File: b.worker(worker.File{Name: "w", Limits: worker.Limits{Cost: 1}}, forever), Prompt: "go"})
	if tongs.CodeOf(err) != tongs.CodeConfigError || !strings.Contains(err.Error(), "price") {
		t.Error(err)
	}
	runner, err := worker.New(worker.Options{Caller: b.engine, Tools: b.engine.Tools, Open: openPlayed(forever)})
	b.must(err)
	f := &worker.File{Name: "w", Model: "m", Limits: worker.Limits{FilesChanged: 1}}
	if _, err := runner.Run(t.Context(), worker.Job{File: f, Prompt: "go"}); tongs.CodeOf(err) != tongs.CodeConfigError {
		t.Error(err)
	}
}

// An answer may be no longer than what is left of the tokens.
func TestAnswersAreBoundByWhatIsLeft(t *testing.T) {
	b := newBench(t)
	var most []int
	m := recording{forever, func(req *model.Request) { most = append(most, req.MaxTokens) }}
	b.run(b.worker(worker.File{Name: "w", MaxTokens: 5000, Limits: worker.Limits{Tokens: 4000}}, m), "go")
	for i, n := range most {
		if n <= 0 || n >= 4000 || i > 0 && n >= most[i-1] {
			t.Errorf("turn %d may answer %d tokens, after %v", i, n, most[:i])
		}
	}
}

func TestModels(t *testing.T) {
	b := newBench(t)
	f := b.worker(worker.File{Name: "w", Compatible: []string{"anthropic:*", "gpt-*-mini"}}, lines(say("x")))
	for name, fits := range map[string]bool{
		"anthropic:claude": true, "openai:gpt-5-mini": true, "xml+anthropic:x": true, "openai:gpt-5": false, "w": false, "gpt-5-mini": true, "": false,
	} {
		if f.Fits(name) != fits {
			t.Errorf("%q fits: %t", name, !fits)
		}
	}
	if _, err := b.runner.Run(t.Context(), worker.Job{File: f, Prompt: "go"}); err == nil || !strings.Contains(err.Error(), "does not work with the model \"w\"") {
		t.Error(err)
	}
	f.Compatible, f.Model = nil, ""
	if _, err := b.runner.Run(t.Context(), worker.Job{File: f, Prompt: "go"}); err == nil || !strings.Contains(err.Error(), "TONGS_MODEL") {
		t.Error(err)
	}
	if _, err := b.runner.Run(t.Context(), worker.Job{File: f, Prompt: "go", Model: "none"}); err == nil || !strings.Contains(err.Error(), `the model "none" of the worker w cannot be used`) {
		t.Error(err)
	}
}

func TestAttachments(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n0000")
	for name, c := range map[string]struct {
		policy worker.Attachments
		list   []worker.Attachment
		want   string
	}{
		"text and picture": {worker.Attachments{}, []worker.Attachment{{"a.txt", []byte("hello")}, {"b.png", png}}, ""},
		"none":             {worker.Attachments{None: true}, []worker.Attachment{{"a.txt", []byte("hello")}}, "takes no attachments"},
		"many":             {worker.Attachments{Count: 1}, []worker.Attachment{{"a", nil}, {"b", nil}}, "2 attachments are more than the 1"},
		"large":            {worker.Attachments{Bytes: 3}, []worker.Attachment{{"a", []byte("hello")}}, "has 5 bytes"},
		"type":             {worker.Attachments{Types: []string{"image/*"}}, []worker.Attachment{{"a", []byte("hello")}}, "is text/plain, which"},
		"binary":           {worker.Attachments{}, []worker.Attachment{{"a", []byte{0, 1, 2, 255}}}, "application/octet-stream"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			var first model.Message
			m := recording{lines(say("done")), func(req *model.Request) { first = req.Messages[0] }}
			s, err := b.runner.Run(t.Context(), worker.Job{File: b.worker(worker.File{Name: "w", Attachments: c.policy}, m), Prompt: "look", Attachments: c.list})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
				return
			}
			b.must(err)
			b.want(s, worker.Done, "done")
			if len(first.Parts) != 3 || !strings.Contains(first.Parts[1].Text, "Attachment a.txt:\nhello") || first.Parts[2].Image.MIME != "image/png" {
				t.Errorf("%+v", first.Parts)
			}
		})
	}
}
