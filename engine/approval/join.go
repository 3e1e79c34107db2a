package approval

import (
	"context"
	"fmt"
	"time"

	"github.com/tongs-ai/tongs"
)

// Join waits for the answer to a question that another call left open, and returns it. It takes no answer: the question has
// none, or what it asked about is settled by whoever answered. Errors are those of Ask.
func (d *Desk) Join(ctx context.Context, id string, asker tongs.CallInfo) (Question, error) {
	if d.Store == nil {
		return Question{}, fmt.Errorf("question %s: %w", id, ErrNotFound)
	}
	q, err := d.Store.Get(ctx, id)
	if err != nil || q.StateAt(time.Now()) != Pending {
		return q, err
	}
	opened, err := d.Store.Open(ctx, q)
	if err != nil {
		return q, cancelled(ctx, q.Tool, err)
	}
	if opened.ID != q.ID { // it was answered a moment ago
		err := d.Store.Withdraw(context.WithoutCancel(ctx), opened.ID)
		if err == nil {
			q, err = d.Store.Get(ctx, id)
		}
		return q, err
	}
	opened.Asker = asker
	return d.await(ctx, opened)
}
