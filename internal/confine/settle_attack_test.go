package confine_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/engine"
	"github.com/tongs-ai/tongs/internal/confine"
)

// Half a repository each is a whole one.
func TestTwoProgramsMakeARepository(t *testing.T) {
	b := setup(t, withCopies(t))
	b.say = false
	res := b.does(t.Context(), func(ctx context.Context, env *tongs.Env) error {
		for _, s := range []string{"mkdir -p d/objects; echo 'ref: refs/heads/main' > d/HEAD", "mkdir -p d/refs; printf '[core]\n\tfsmonitor = ./evil\n' > d/config"} {
			if _, err := env.Commands.Run(ctx, copyOf(s, nil)); err != nil {
				return err
			}
		}
		return nil
	})
	if len(b.asked) != 1 || b.has("d/config") {
		t.Errorf("asked %d, config %t: %s", len(b.asked), b.has("d/config"), res.Content)
	}
}

// What a user writes between two programs of a call is neither overwritten nor mixed with what they wrote.
func TestUserEditsBetweenPrograms(t *testing.T) {
	b := setup(t, withCopies(t))
	b.write(t, "a.txt", "a")
	res := b.does(t.Context(), func(ctx context.Context, env *tongs.Env) error {
		if _, err := env.Commands.Run(ctx, copyOf("echo x > a.txt", nil)); err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
		b.write(t, "a.txt", "the user's")
		_, err := env.Commands.Run(ctx, copyOf("echo y >> a.txt; echo n > n.txt", nil))
		return err
	})
	if b.content(t, "a.txt") != "the user's" || b.has("n.txt") || res.Error == nil || res.Error.Code != tongs.CodeStaleFile {
		t.Errorf("a.txt is %q: %s", b.content(t, "a.txt"), res.Content)
	}
}

// A secret that appears between two programs of a call, also below what the first one replaced, is hidden from the second.
func TestSecretBetweenPrograms(t *testing.T) {
	b := setup(t, withCopies(t))
	b.write(t, "d/x", "a")
	var out strings.Builder
	res := b.does(t.Context(), func(ctx context.Context, env *tongs.Env) error {
		if _, err := env.Commands.Run(ctx, copyOf("mkdir -p n; echo x > n/x; rm -r d; mkdir d; ln -s d l", nil)); err != nil {
			return err
		}
		b.write(t, "n/.env", "SECRET")
		b.write(t, "l/.env", "SECRET")
		b.write(t, "d/.env", "SECRET")
		_, err := env.Commands.Run(ctx, copyOf("cat n/.env d/.env l/.env; true", &out))
		return err
	})
	if strings.Contains(out.String(), "SECRET") || b.content(t, "d/.env") != "SECRET" {
		t.Errorf("it saw %q, d/.env is %q: %s", out.String(), b.content(t, "d/.env"), res.Content)
	}
}

// A copy that is lost is told.
func TestLostCopyIsTold(t *testing.T) {
	b := setup(t, withCopies(t))
	res := b.does(t.Context(), func(ctx context.Context, env *tongs.Env) error {
		if _, err := env.Commands.Run(ctx, copyOf("echo x > new.txt", nil)); err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		_, _ = env.Commands.Run(short, copyOf("sleep 100", nil))
		return nil
	})
	if b.has("new.txt") || !strings.Contains(res.Content, "copy") {
		t.Errorf("%q", res.Content)
	}
}

// Names that a run planted before it met something undecided are not forgotten.
func TestPlantedBeforeANeed(t *testing.T) {
	b := setup(t, confine.Options{})
	runs := 0
	res := b.does(t.Context(), func(ctx context.Context, env *tongs.Env) error {
		runs++
		if runs == 1 {
			if _, err := env.Commands.Run(ctx, &tongs.Command{Argv: []string{"sh", "-c", "echo x > .envrc"}, Dir: env.Dir}); err != nil {
				return err
			}
			return &tongs.Need{Reason: "met", Effects: []tongs.Effect{{Kind: tongs.EffectNetwork, Host: "example.com"}}}
		}
		return nil
	})
	if !b.has(".envrc") && !strings.Contains(res.Content, ".envrc") {
		t.Errorf("runs %d, asked %d: %s %v", runs, len(b.asked), res.Content, res.Metadata["settled"])
	}
}

// Who cancels while what a program did is settled is told so.
func TestCancelledWhileSettling(t *testing.T) {
	opt := withCopies(t)
	b := setup(t, opt)
	ctx, cancel := context.WithCancel(t.Context())
	b.observe = func(e engine.Event) {
		if e.Kind == engine.Staged && e.Stage == "run" {
			cancel()
		}
	}
	res := b.does(ctx, func(ctx context.Context, env *tongs.Env) error {
		_, err := env.Commands.Run(ctx, copyOf("echo x > new.txt", nil))
		return err
	})
	if b.has("new.txt") || res.Error == nil || res.Error.Code != tongs.CodeCancelled {
		t.Errorf("%s", res.Content)
	}
	if left, _ := os.ReadDir(opt.Layers); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// Calls that meet the end of one job at the same time ask about what it left once.
func TestJobIsAdoptedByTwoCallsAtOnce(t *testing.T) {
	b := setup(t, confine.Options{})
	var job tongs.Process
	b.does(t.Context(), func(ctx context.Context, env *tongs.Env) (err error) {
		job, err = env.Commands.Start(ctx, &tongs.Command{Argv: []string{"sh", "-c", "echo x > .envrc"}, Dir: env.Dir})
		return err
	})
	if _, err := job.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.has(".envrc") || len(b.asked) != 0 {
		t.Fatalf("asked %d times before", len(b.asked))
	}
	b.instead = func(_ context.Context, env *tongs.Env) error {
		env.Commands.Adopt(job)
		env.Commands.Adopt(job)
		return nil
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { b.Call(t.Context(), &tongs.Call{Tool: "run", Args: []byte(`{"script":"x"}`)}) })
	}
	wg.Wait()
	if !b.has(".envrc") || len(b.asked) != 1 {
		t.Errorf("asked %d times, .envrc is there: %t", len(b.asked), b.has(".envrc"))
	}
}

// The time of a call does not pass while somebody is asked what to keep.
func TestTimeoutWhileChangesAreAsked(t *testing.T) {
	b, _ := copies(t)
	b.meanwhile = func() { time.Sleep(2500 * time.Millisecond) }
	b.instead = func(ctx context.Context, env *tongs.Env) error {
		_, err := env.Commands.Run(ctx, copyOf("echo x > a.txt", nil))
		return err
	}
	res := b.Call(t.Context(), &tongs.Call{Tool: "run", Args: []byte(`{"script":"x","copy":true}`), Timeout: 2 * time.Second})
	if res.Error != nil || b.content(t, "a.txt") != "x\n" {
		t.Errorf("a.txt is %q: %s", b.content(t, "a.txt"), res.Content)
	}
}

// A program that is killed right after it began, whether or not the sandbox said so already, takes the copy with it.
func TestProgramKilledAsItStarts(t *testing.T) {
	b, opt := copies(t)
	for range 40 {
		b.does(t.Context(), func(ctx context.Context, env *tongs.Env) error {
			if _, err := env.Commands.Run(ctx, copyOf("true", nil)); err != nil {
				return err
			}
			s := &started{c: make(chan struct{})}
			go env.Commands.Run(context.Background(), copyOf(changesAndStays, s))
			<-s.c
			return nil
		})
		if b.untouched(t, opt, 0); t.Failed() {
			return
		}
	}
}
