package module

import (
	"slices"
	"sync"
)

// maxRecent is how many calls are remembered; not every one that is planned is made.
const maxRecent = 256

// recent keeps something of the newest calls, by their IDs.
type recent[T any] struct {
	mu    sync.Mutex
	order []string
	calls map[string]T
}

func (r *recent[T]) put(call string, value T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = map[string]T{}
	}
	r.order = append(slices.DeleteFunc(r.order, func(c string) bool { return c == call }), call)
	r.calls[call] = value
	for len(r.order) > maxRecent {
		delete(r.calls, r.order[0])
		r.order = r.order[1:]
	}
}

func (r *recent[T]) get(call string) (value T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	value, ok = r.calls[call]
	return value, ok
}
