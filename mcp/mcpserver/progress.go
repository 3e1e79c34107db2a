package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tongs-ai/tongs"
)

// maxChunk is how much output one notification carries at most: of what came faster than the client reads, the end.
const maxChunk = 4 << 10

// progress sends the updates of a call to the request that asked for them. Updates never wait for the client: they are
// put together until it has read the last one. None is sent after close returned.
type progress struct {
	ctx    context.Context
	cancel context.CancelFunc
	token  any
	notify func(context.Context, *mcp.ProgressNotificationParams) error
	beat   time.Duration
	begun  time.Time

	mu sync.Mutex
	// title and text are what was not sent yet; lost is how much text was thrown away.
	title, text string
	lost        int
	fresh       bool
	sent, total float64
	waits       string

	wake chan struct{}
	over chan struct{}
}

// newProgress returns the progress of a request; nil where it did not ask for it.
func newProgress(ctx context.Context, beat time.Duration, req *mcp.CallToolRequest) *progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	p := &progress{
		token: token, notify: req.Session.NotifyProgress, beat: beat, begun: time.Now(),
		wake: make(chan struct{}, 1), over: make(chan struct{}),
	}
	p.ctx, p.cancel = context.WithCancel(ctx)
	go p.run()
	return p
}

func (p *progress) add(u tongs.Update) {
	if p == nil || u.Waiting != "" { // the channel that asks tells
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if u.Title != "" {
		p.title = u.Title
	}
	if u.Text != "" {
		p.text += u.Text
		if over := len(p.text) - maxChunk; over > 0 {
			p.lost += over
			p.text = strings.ToValidUTF8(p.text[over:], "")
		}
	}
	if u.Total > 0 && u.Done > p.sent {
		p.sent, p.total = u.Done, u.Total
	}
	p.wakeSender()
}

// wait tells what the call waits for, or, where that is empty, that it goes on.
func (p *progress) wait(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits = what
	if what != "" {
		p.wakeSender()
	}
}

// wakeSender wakes the sender. It must be locked.
func (p *progress) wakeSender() {
	p.fresh = true
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *progress) run() {
	defer close(p.over)
	beat := time.NewTicker(p.beat)
	defer beat.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.wake:
		case <-beat.C:
		}
		beat.Reset(p.beat)
		if err := p.notify(p.ctx, p.next()); err != nil {
			return
		}
	}
}

// next is what the client is told now. Progress always grows, as the protocol wants it.
func (p *progress) next() *mcp.ProgressNotificationParams {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total == 0 || p.sent >= p.total {
		p.total = 0
		p.sent++
	} else if !p.fresh {
		p.sent += (p.total - p.sent) / 1000
	}
	params := &mcp.ProgressNotificationParams{ProgressToken: p.token, Progress: p.sent, Total: p.total, Message: p.message()}
	p.title, p.text, p.lost, p.fresh = "", "", 0, false
	return params
}

func (p *progress) message() string {
	took := time.Since(p.begun).Round(time.Second)
	switch {
	case p.text != "" && p.lost > 0:
		return fmt.Sprintf("[%d bytes left out]\n%s", p.lost, p.text)
	case p.text != "":
		return p.text
	case p.waits != "":
		return fmt.Sprintf("%s (%s)", p.waits, took)
	case p.title != "":
		return p.title
	default:
		return fmt.Sprintf("running (%s)", took)
	}
}

// close sends what is left, unless the request is over, and returns when nothing more will be sent.
func (p *progress) close() {
	if p == nil {
		return
	}
	p.cancel()
	<-p.over
	p.mu.Lock()
	left := p.fresh && p.text != ""
	p.mu.Unlock()
	if left {
		_ = p.notify(context.WithoutCancel(p.ctx), p.next())
	}
}
