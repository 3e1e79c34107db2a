package confine_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine/approval"
	"github.com/tongs-ai/tongs/internal/confine"
	"github.com/tongs-ai/tongs/workspace/journal"
)

func copyOf(script string, out io.Writer) *tongs.Command {
	return &tongs.Command{Argv: []string{"sh", "-c", script}, Dir: tongs.Path{Rel: "."}, OnCopy: true, Stdout: out, Stderr: out}
}

// does calls the tool, which does something else than run a script.
func (b *bench) does(ctx context.Context, do func(context.Context, *tongs.Env) error) *tongs.Result {
	b.instead = do
	return b.Call(ctx, &tongs.Call{Tool: "run", Args: []byte(`{"script":"x","copy":true}`)})
}

// untouched checks that nothing is left of a copy, and that nobody was asked more than so many times.
func (b *bench) untouched(t *testing.T, opt confine.Options, asked int) {
	t.Helper()
	if b.content(t, "a.txt") != "a" || b.has("new.txt") || len(b.asked) != asked {
		t.Errorf("a.txt is %q, new.txt is there: %t, asked %d times", b.content(t, "a.txt"), b.has("new.txt"), len(b.asked))
	}
	if left, _ := os.ReadDir(opt.Layers); len(left) != 0 {
		t.Errorf("left in the layers: %v", left)
	}
}

func copies(t *testing.T) (*bench, confine.Options) {
	opt := withCopies(t)
	b := setup(t, opt)
	b.write(t, "a.txt", "a")
	return b, opt
}

// The programs of a call share one copy. What all of them did is one question and one entry of the journal.
func TestProgramsOfACallAreSettledOnce(t *testing.T) {
	for _, say := range []bool{false, true} {
		b, opt := copies(t)
		b.say = say
		var out bytes.Buffer
		res := b.does(t.Context(), func(ctx context.Context, env *tongs.Env) error {
			for _, script := range []string{`echo one > a.txt; echo x > new.txt`, `cat a.txt; echo two >> a.txt`, `cat a.txt; exit 3`} {
				if _, err := env.Commands.Run(ctx, copyOf(script, &out)); err != nil {
					return err
				}
				if len(b.asked) != 0 || b.content(t, "a.txt") != "a" {
					t.Errorf("before the tool returned: asked %d times, a.txt is %q", len(b.asked), b.content(t, "a.txt"))
				}
			}
			return nil
		})
		if out.String() != "one\none\ntwo\n" || len(b.asked) != 1 || b.asked[0].ChangeCount != 2 {
			t.Fatalf("asked %d times, they saw %q: %s", len(b.asked), out.String(), res.Content)
		}
		if !say {
			if b.untouched(t, opt, 1); res.Error == nil || res.Error.Code != tongs.CodeDenied {
				t.Errorf("%s", res.Content)
			}
			continue
		}
		entries, err := opt.Changes.List(journal.Filter{})
		if res.Error != nil || b.content(t, "a.txt") != "one\ntwo\n" || !b.has("new.txt") || err != nil || len(entries) != 1 {
			t.Errorf("a.txt is %q, %d entries: %s", b.content(t, "a.txt"), len(entries), res.Content)
		}
		if !strings.Contains(res.Content, "(changed: ") {
			t.Errorf("what was kept is not said: %s", res.Content)
		}
	}
}

// Programs that are started at once run on the copy one after another.
func TestConcurrentProgramsOfACall(t *testing.T) {
	b, _ := copies(t)
	res := b.does(t.Context(), func(ctx context.Context, env *tongs.Env) error {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := env.Commands.Run(ctx, copyOf(`n=$(cat a.txt); sleep 0.05; echo "$n." > a.txt`, nil)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return nil
	})
	if res.Error != nil || len(b.asked) != 1 || b.content(t, "a.txt") != "a....\n" {
		t.Errorf("asked %d times, a.txt is %q: %s", len(b.asked), b.content(t, "a.txt"), res.Content)
	}
}

// started is written to by a program that has done what it should.
type started struct {
	once sync.Once
	c    chan struct{}
}

func (s *started) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.c) })
	return len(p), nil
}

const changesAndStays = `echo x > a.txt; echo x > new.txt; echo started; sleep 1000`

// A program that still runs when the tool returns is killed, and nothing of what it did on a copy is kept.
func TestProgramsThatRunWhenTheToolReturns(t *testing.T) {
	b, opt := copies(t)
	var kept tongs.Commands
	gone := make(chan error, 1)
	b.does(t.Context(), func(ctx context.Context, env *tongs.Env) error {
		kept = env.Commands
		if _, err := env.Commands.Run(ctx, copyOf(`echo before > new.txt`, nil)); err != nil {
			return err
		}
		s := &started{c: make(chan struct{})}
		go func() {
			_, err := env.Commands.Run(context.Background(), copyOf(changesAndStays, s))
			gone <- err
		}()
		<-s.c
		return nil
	})
	select {
	case err := <-gone:
		if tongs.CodeOf(err) != tongs.CodeCancelled {
			t.Errorf("the program ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the program is still there after the call")
	}
	b.untouched(t, opt, 0)
	for _, cmd := range []*tongs.Command{copyOf(`echo late > new.txt`, nil), {Argv: []string{"sh", "-c", `echo late > new.txt`}, Dir: tongs.Path{Rel: "."}}} {
		if _, err := kept.Run(t.Context(), cmd); err == nil {
			t.Error("a program ran after the call")
		}
		if _, err := kept.Start(t.Context(), cmd); err == nil {
			t.Error("a program was started after the call")
		}
	}
	b.untouched(t, opt, 0)
}

// What a killed program planted directly is taken away all the same.
func TestPlantedNamesOfProgramsThatAreKilledWithTheTool(t *testing.T) {
	b := setup(t, confine.Options{})
	b.say = false
	b.does(t.Context(), func(_ context.Context, env *tongs.Env) error {
		s := &started{c: make(chan struct{})}
		go env.Commands.Run(context.Background(), &tongs.Command{
			Argv: []string{"sh", "-c", `echo EVIL > .envrc; echo started; sleep 1000`}, Dir: env.Dir, Stdout: s,
		})
		<-s.c
		return nil
	})
	if b.has(".envrc") {
		t.Error("it is still there")
	}
}

// A call that is cancelled, or whose tool does not return, fails unexpectedly or meets something undecided, drops the copy.
func TestCopiesThatAreDropped(t *testing.T) {
	const changes = `echo x > a.txt; echo x > new.txt`
	t.Run("cancelled while it runs", func(t *testing.T) {
		b, opt := copies(t)
		ctx, cancel := context.WithCancel(t.Context())
		res := b.does(ctx, func(ctx context.Context, env *tongs.Env) error {
			s := &started{c: make(chan struct{})}
			go func() { <-s.c; cancel() }()
			_, _ = env.Commands.Run(ctx, copyOf(changesAndStays, s))
			return nil // as if nothing had happened
		})
		if b.untouched(t, opt, 0); res.Error == nil || res.Error.Code != tongs.CodeCancelled {
			t.Errorf("%s", res.Content)
		}
	})
	t.Run("cancelled between program and return", func(t *testing.T) {
		b, opt := copies(t)
		ctx, cancel := context.WithCancel(t.Context())
		res := b.does(ctx, func(ctx context.Context, env *tongs.Env) error {
			_, err := env.Commands.Run(ctx, copyOf(changes, nil))
			cancel()
			return err
		})
		if b.untouched(t, opt, 0); res.Error == nil || res.Error.Code != tongs.CodeCancelled {
			t.Errorf("%s", res.Content)
		}
	})
	t.Run("cancelled while a person is asked", func(t *testing.T) {
		b, opt := copies(t)
		ctx, cancel := context.WithCancel(t.Context())
		b.answer = func(approval.Question) approval.Answer {
			cancel()
			return approval.Answer{Approved: true}
		}
		res := b.does(ctx, func(ctx context.Context, env *tongs.Env) error {
			_, err := env.Commands.Run(ctx, copyOf(changes, nil))
			return err
		})
		if b.untouched(t, opt, 1); res.Error == nil {
			t.Errorf("%s", res.Content)
		}
	})
	t.Run("timed out", func(t *testing.T) {
		b, opt := copies(t)
		b.instead = func(ctx context.Context, env *tongs.Env) error {
			_, err := env.Commands.Run(ctx, copyOf(changes, nil))
			<-ctx.Done()
			return err
		}
		res := b.Call(t.Context(), &tongs.Call{Tool: "run", Args: []byte(`{"script":"x","copy":true}`), Timeout: 3 * time.Second})
		if b.untouched(t, opt, 0); res.Error == nil || res.Error.Code != tongs.CodeTimeout {
			t.Errorf("%s", res.Content)
		}
	})
	t.Run("left behind", func(t *testing.T) {
		b, opt := copies(t)
		ctx, cancel := context.WithCancel(t.Context())
		late := make(chan error)
		goOn := make(chan struct{})
		res := b.does(ctx, func(_ context.Context, env *tongs.Env) error {
			if _, err := env.Commands.Run(context.Background(), copyOf(changes, nil)); err != nil {
				t.Error(err)
			}
			cancel()
			<-goOn
			_, err := env.Commands.Run(context.Background(), copyOf(changes, nil))
			late <- err
			return nil
		})
		if b.untouched(t, opt, 0); res.Error == nil || res.Error.Code != tongs.CodeCancelled {
			t.Errorf("%s", res.Content)
		}
		close(goOn)
		if err := <-late; err == nil {
			t.Error("the tool that was left behind ran a program")
		}
		b.untouched(t, opt, 0)
	})
	t.Run("panicked", func(t *testing.T) {
		b, opt := copies(t)
		res := b.does(t.Context(), func(ctx context.Context, env *tongs.Env) error {
			if _, err := env.Commands.Run(ctx, copyOf(changes, nil)); err != nil {
				return err
			}
			panic("oh")
		})
		if b.untouched(t, opt, 0); res.Error == nil || res.Error.Code != tongs.CodeInternal {
			t.Errorf("%s", res.Content)
		}
	})
	t.Run("needs more", func(t *testing.T) {
		b, opt := copies(t)
		b.say = false
		runs := 0
		res := b.does(t.Context(), func(ctx context.Context, env *tongs.Env) error {
			runs++
			if _, err := env.Commands.Run(ctx, copyOf(changes, nil)); err != nil {
				return err
			}
			return &tongs.Need{Reason: "met", Effects: []tongs.Effect{{Kind: tongs.EffectNetwork, Host: "example.com"}}}
		})
		if b.untouched(t, opt, 1); res.Error == nil || runs != 1 || b.asked[0].ChangeCount != 0 {
			t.Errorf("ran %d times: %s", runs, res.Content)
		}
	})
}

// What a run did that met something undecided is dropped; the next run starts from the files as they are.
func TestNeedsAfterChanges(t *testing.T) {
	b, opt := copies(t)
	runs := 0
	var out bytes.Buffer
	res := b.does(t.Context(), func(ctx context.Context, env *tongs.Env) error {
		runs++
		if _, err := env.Commands.Run(ctx, copyOf(`cat a.txt; echo "$(cat a.txt)x" > a.txt`, &out)); err != nil {
			return err
		}
		if runs == 1 {
			return &tongs.Need{Reason: "met", Effects: []tongs.Effect{{Kind: tongs.EffectNetwork, Host: "example.com"}}}
		}
		return nil
	})
	if res.Error != nil || runs != 2 || len(b.asked) != 2 || out.String() != "aa" || b.content(t, "a.txt") != "ax\n" {
		t.Errorf("ran %d times, asked %d times, saw %q, a.txt is %q: %s", runs, len(b.asked), out.String(), b.content(t, "a.txt"), res.Content)
	}
	if left, _ := os.ReadDir(opt.Layers); len(left) != 0 {
		t.Errorf("left in the layers: %v", left)
	}
}

// A process that is killed while a person is asked leaves the files as they were, and its copy to the next process.
func TestKilledWhileAPersonIsAsked(t *testing.T) {
	dir, layers, asked := t.TempDir(), filepath.Join(t.TempDir(), "layers"), filepath.Join(t.TempDir(), "asked")
	open := func(dir, layers string) *bench {
		opt := withCopies(t)
		opt.Layers = layers
		return setupIn(t, dir, opt)
	}
	const change = `{"copy":true,"script":"echo x > a.txt; echo x > new.txt"}`
	if args := os.Getenv("TONGS_TEST_SETTLE"); args != "" {
		parts := strings.Split(args, "\n")
		b := open(parts[0], parts[1])
		b.meanwhile = func() {
			if err := os.WriteFile(parts[2], nil, 0o600); err != nil {
				t.Error(err)
			}
			<-t.Context().Done() // until it is killed
		}
		b.run(t, change)
		return
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWhileAPersonIsAsked$")
	cmd.Env = append(os.Environ(), "TONGS_TEST_SETTLE="+dir+"\n"+layers+"\n"+asked)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitFile(t, asked)
	if left, _ := os.ReadDir(layers); len(left) == 0 {
		t.Error("there is no copy")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	b := open(dir, layers)
	if b.content(t, "a.txt") != "a" || b.has("new.txt") {
		t.Errorf("a.txt is %q", b.content(t, "a.txt"))
	}
	b.say = false
	b.run(t, change)
	if left, _ := os.ReadDir(layers); len(left) != 0 {
		t.Errorf("left in the layers: %v", left)
	}
}

// The call that meets the end of a job decides what the job planted. If it is cancelled first, the next one does.
func TestEndedProcessesAreAdopted(t *testing.T) {
	b := setup(t, confine.Options{})
	var job tongs.Process
	must := func(res *tongs.Result) *tongs.Result {
		t.Helper()
		if res.Error != nil {
			t.Fatal(res.Content)
		}
		return res
	}
	must(b.does(t.Context(), func(ctx context.Context, env *tongs.Env) (err error) {
		job, err = env.Commands.Start(ctx, &tongs.Command{Argv: []string{"sh", "-c", `echo x > .envrc; cat`}, Dir: env.Dir})
		env.Commands.Adopt(job) // it runs
		return err
	}))
	if endJob(t, job); b.has(".envrc") || len(b.asked) != 0 {
		t.Fatalf("asked %d times", len(b.asked))
	}
	adopt := func(then func()) func(context.Context, *tongs.Env) error {
		return func(_ context.Context, env *tongs.Env) error {
			env.Commands.Adopt(job)
			env.Commands.Adopt(job)
			then()
			return nil
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.does(ctx, adopt(cancel))
	if len(b.asked) != 0 || b.has(".envrc") {
		t.Errorf("asked %d times for a call that was cancelled", len(b.asked))
	}
	res := must(b.does(t.Context(), adopt(func() {})))
	if len(b.asked) != 1 || !b.has(".envrc") || !strings.Contains(res.Content, "a person approved the protected names that it made: .envrc") {
		t.Errorf("asked %d times: %s", len(b.asked), res.Content)
	}
	if must(b.does(t.Context(), adopt(func() {}))); len(b.asked) != 1 {
		t.Errorf("asked %d times", len(b.asked))
	}
}

// endJob ends a job and waits for it.
func endJob(t *testing.T, job tongs.Process) {
	t.Helper()
	if err := job.CloseInput(); err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// stuck is a writer of a tool that does not take what a program writes.
type stuck struct {
	began started
	until chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	_, _ = s.began.Write(p)
	<-s.until
	return len(p), nil
}

// A tool cannot keep its call from ending by not taking the output of a program: the copy is dropped once the program is gone.
func TestProgramsWhoseOutputIsStuck(t *testing.T) {
	b, opt := copies(t)
	out := &stuck{began: started{c: make(chan struct{})}, until: make(chan struct{})}
	gone := make(chan struct{})
	res := b.does(t.Context(), func(_ context.Context, env *tongs.Env) error {
		go func() {
			defer close(gone)
			_, _ = env.Commands.Run(context.Background(), copyOf(changesAndStays, out))
		}()
		<-out.began.c
		return nil
	})
	if res.Error == nil || b.content(t, "a.txt") != "a" || len(b.asked) != 0 {
		t.Errorf("asked %d times: %s", len(b.asked), res.Content)
	}
	close(out.until)
	<-gone
	b.untouched(t, opt, 0)
}
