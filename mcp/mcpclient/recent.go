package mcpclient

import "slices"

// recent keeps the newest of what calls left, and forgets the rest: not every call that is planned is made.
type recent[T any] struct {
	keys   []string
	values map[string]T
}

const maxRecent = 256

func (r *recent[T]) put(key string, value T) {
	if r.values == nil {
		r.values = map[string]T{}
	}
	if _, ok := r.values[key]; !ok {
		r.keys = append(r.keys, key)
	}
	r.values[key] = value
	for len(r.keys) > maxRecent {
		delete(r.values, r.keys[0])
		r.keys = r.keys[1:]
	}
}

func (r *recent[T]) take(key string) (value T, ok bool) {
	if value, ok = r.values[key]; ok {
		delete(r.values, key)
		r.keys = slices.DeleteFunc(r.keys, func(k string) bool { return k == key })
	}
	return value, ok
}
