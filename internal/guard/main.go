package guard

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/tongs-ai/tongs/internal/config"
)

const (
	// patience is how long a hook works before it lets the call go on. Only the first state of a large project takes so long.
	patience = 20 * time.Second
	// maxInput bounds what a client tells a hook.
	maxInput = 64 << 20
	// fillTime bounds the first state of a project that is made in the background.
	fillTime = 30 * time.Minute
)

// Main runs a hook where the arguments ask for one, and reports whether they did. It opens no database and reads no configuration,
// and what it returns with lets the client go on, whatever happened: nothing is blocked.
func Main(args []string, in io.Reader, out, errs io.Writer) (ran bool) {
	if len(args) < 3 || args[0] != "guard" {
		return false
	}
	switch args[1] {
	case "hook":
		debug.SetGCPercent(400) // it lives for a moment
		hook(args[2], in, out, errs)
	case "fill":
		ctx, cancel := context.WithTimeout(context.Background(), fillTime)
		defer cancel()
		k, err := keeper()
		if err == nil {
			err = k.First(ctx, args[2])
		}
		if err != nil {
			fmt.Fprintln(errs, "tongs:", err)
		}
	default:
		return false
	}
	return true
}

func hook(name string, in io.Reader, out, errs io.Writer) {
	c, err := ClientNamed(name)
	if err != nil {
		fmt.Fprintln(errs, "tongs:", err)
		return
	}
	say := func(text string) { _, _ = out.Write(c.Note(text)) }
	defer func() {
		if p := recover(); p != nil {
			say(fmt.Sprintf("Tongs could not keep the project before this call, so 'tongs undo' may not restore it: %v.", p))
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	data, err := io.ReadAll(io.LimitReader(in, maxInput))
	if err == nil {
		var ev Event
		if ev, err = c.Decode(data); err == nil {
			var k *Keeper
			if k, err = keeper(); err == nil {
				say(k.Handle(ctx, c, ev))
				return
			}
		}
	}
	say(fmt.Sprintf("Tongs could not keep the project: %v.", err))
}

func keeper() (*Keeper, error) {
	dir, err := config.FindStateDir()
	return &Keeper{StateDir: dir, Fill: background}, err
}

// background makes the first state of a project in a process of its own.
func background(top string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "guard", "fill", top)
	cmd.Dir = string(filepath.Separator)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
