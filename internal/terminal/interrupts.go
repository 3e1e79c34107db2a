package terminal

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/tongs-ai/tongs/engine/approval"
)

// Paused returns a channel that keeps the screen still while it asks.
func Paused(c approval.Channel, show screen) approval.Channel { return pausing{c, show} }

// pausing keeps the screen still while a question is on it.
type pausing struct {
	approval.Channel
	show screen
}

// Ask implements approval.Channel.
func (p pausing) Ask(ctx context.Context, q approval.Question) (*approval.Answer, error) {
	defer p.show.pause()()
	return p.Channel.Ask(ctx, q)
}

// interrupts are the Ctrl-C of a run: the first stops the turn, the second quits.
type interrupts struct {
	quit    context.CancelFunc
	show    screen
	Turn    chan struct{}
	signals chan os.Signal
	done    chan struct{}
	mu      sync.Mutex
	pressed bool
}

func NewInterrupts(quit context.CancelFunc, show screen) *interrupts {
	i := &interrupts{quit: quit, show: show, Turn: make(chan struct{}, 1), signals: make(chan os.Signal, 4), done: make(chan struct{})}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for {
			select {
			case sig := <-i.signals:
				if sig == syscall.SIGTERM {
					quit()
					continue
				}
				i.Press()
			case <-i.done:
				return
			}
		}
	}()
	return i
}

// Press is a Ctrl-C, wherever it was read.
func (i *interrupts) Press() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.pressed {
		i.quit()
		return
	}
	i.pressed = true
	i.show.Note("Stopping this turn. Ctrl-C again quits.")
	select {
	case i.Turn <- struct{}{}:
	default:
	}
}

func (i *interrupts) End() {
	signal.Stop(i.signals)
	close(i.done)
}

// Further asks what to do instead of the turn that was stopped.
func (i *interrupts) Further(ctx context.Context) (string, error) {
	defer i.show.pause()()
	t, err := Open()
	if err != nil {
		return "", nil
	}
	defer t.Close()
	text, err := t.line(ctx, "Stopped. What should it do instead? (Enter quits) ", "")
	if errors.Is(err, errBack) || errors.Is(err, ErrCancelled) {
		return "", nil
	}
	i.mu.Lock()
	i.pressed = false
	i.mu.Unlock()
	return text, err
}
