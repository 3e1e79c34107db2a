package policy

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// NewMemoryBook returns a book that forgets with the process.
func NewMemoryBook() Book { return &memoryBook{} }

type memoryBook struct {
	mu     sync.RWMutex
	grants []Grant // in the order in which they were added
}

func (b *memoryBook) Find(ctx context.Context, key Key) ([]Grant, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	var found []Grant
	for _, g := range b.grants {
		if g.Fits(key) {
			found = append(found, g.clone())
		}
	}
	return found, nil
}

func (b *memoryBook) Add(ctx context.Context, g Grant) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := g.Validate(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.grants, func(o Grant) bool { return o.ID == g.ID }) {
		return fmt.Errorf("there is a grant %s already", g.ID)
	}
	b.grants = append(b.grants, g.clone())
	return nil
}

func (b *memoryBook) List(ctx context.Context) ([]Grant, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	list := make([]Grant, 0, len(b.grants))
	for _, g := range slices.Backward(b.grants) {
		list = append(list, g.clone())
	}
	slices.SortStableFunc(list, func(x, y Grant) int { return y.At.Compare(x.At) })
	return list, nil
}

func (b *memoryBook) Revoke(ctx context.Context, id string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.grants)
	b.grants = slices.DeleteFunc(b.grants, func(g Grant) bool { return g.ID == id })
	return len(b.grants) < n, nil
}

// clone returns a grant that shares no slice with g.
func (g Grant) clone() Grant {
	g.Covers = slices.Clone(g.Covers)
	g.Key.Agents = slices.Clone(g.Key.Agents)
	return g
}
