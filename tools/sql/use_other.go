//go:build !linux

package sql

import "context"

func unused(_ string, d database) error { return untold(d) }

// bounded leaves it to the time: what a statement uses of the memory of this process cannot be told here.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}
