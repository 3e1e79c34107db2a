package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
)

// MemoryOptions configure a Memory. Zero values have the defaults named.
type MemoryOptions struct {
	// Entries is how many entries are kept, three a call; 0 is 3000. The oldest are dropped first.
	Entries int
	// Redactor nil knows the shapes and names of secrets only.
	Redactor *Redactor
}

// Memory is a Log that lasts as long as the process: hash-chained like a durable one, and bounded.
type Memory struct {
	opts  MemoryOptions
	calls OpenCalls

	mu   sync.Mutex
	ring []Entry // of fixed size; entry n is at (n-1) % size
	last int64
	head Hash
	// before is the hash of the newest dropped entry.
	before Hash
}

// NewMemory returns a Memory with default options.
func NewMemory() *Memory { return NewMemoryWith(MemoryOptions{}) }

// NewMemoryWith returns a Memory with the given options.
func NewMemoryWith(opts MemoryOptions) *Memory {
	if opts.Entries <= 0 {
		opts.Entries = 3000
	}
	return &Memory{opts: opts}
}

var (
	_ Log      = (*Memory)(nil)
	_ Streamer = (*Memory)(nil)
	_ Follower = (*Memory)(nil)
)

// Open implements Log.
func (m *Memory) Open(_ context.Context, row *Row) error {
	data, err := m.opts.Redactor.Open(row)
	if err != nil {
		return err
	}
	return m.calls.Begin(row.Call, func() (int64, error) {
		row.Seq = m.add(EntryOpen, 0, data)
		return row.Seq, nil
	})
}

// Intent implements Log.
func (m *Memory) Intent(_ context.Context, call string, in *Intent) error {
	data, err := m.opts.Redactor.Intent(in)
	if err != nil {
		return err
	}
	row, err := m.calls.Row(call)
	if err != nil {
		return err
	}
	m.add(EntryIntent, row, data)
	return nil
}

// Close implements Log.
func (m *Memory) Close(_ context.Context, call string, c *Closing) error {
	data, err := m.opts.Redactor.Close(c)
	if err != nil {
		return err
	}
	return m.calls.End(call, func(row int64) error {
		m.add(EntryClose, row, data)
		return nil
	})
}

// add appends an entry and returns its number; row 0 means its own.
func (m *Memory) add(kind EntryKind, row int64, data json.RawMessage) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	if row == 0 {
		row = m.last
	}
	e := Entry{Seq: m.last, Row: row, Kind: kind, Data: data}
	m.head = e.Link(m.head)
	e.Hash = m.head
	if len(m.ring) < m.opts.Entries {
		m.ring = append(m.ring, e)
		return m.last
	}
	slot := &m.ring[(m.last-1)%int64(len(m.ring))]
	m.before = slot.Hash
	*slot = e
	return m.last
}

// snapshot returns the entries that are kept, oldest first, and what was dropped before them.
func (m *Memory) snapshot() ([]Entry, Cut) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entries := make([]Entry, 0, len(m.ring))
	first := m.last - int64(len(m.ring)) + 1
	for n := first; n <= m.last; n++ {
		entries = append(entries, m.ring[(n-1)%int64(len(m.ring))])
	}
	return entries, Cut{Through: first - 1, Hash: m.before}
}

// Rows implements Log.
func (m *Memory) Rows(ctx context.Context, f Filter) ([]Row, error) { return Collect(m.Stream(ctx, f)) }

// Stream implements Streamer.
func (m *Memory) Stream(ctx context.Context, f Filter) iter.Seq2[Row, error] {
	entries, _ := m.snapshot()
	return Assemble(func(yield func(Entry, error) bool) {
		for i := len(entries) - 1; i >= 0; i-- {
			if !yield(entries[i], ctx.Err()) {
				return
			}
		}
	}, f)
}

// Last implements Follower.
func (m *Memory) Last(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, nil
}

// After implements Follower.
func (m *Memory) After(_ context.Context, seq int64, limit int) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entries := []Entry{}
	for n := max(seq, m.last-int64(len(m.ring))) + 1; n <= m.last && len(entries) < limit; n++ {
		entries = append(entries, m.ring[(n-1)%int64(len(m.ring))])
	}
	return entries, nil
}

// Verify implements Log.
func (m *Memory) Verify(_ context.Context, head string) (Chain, error) {
	entries, cut := m.snapshot()
	check, err := NewChecker(cut, head)
	if err != nil {
		return Chain{}, err
	}
	check.cut = true // what a ring drops needs no entry that tells of it
	for i := range entries {
		if !check.Add(&entries[i]) {
			break
		}
	}
	return check.Chain(), nil
}

// OpenCalls knows the calls that a log opened and has not closed. Its zero value is ready; it is safe for concurrent
// use.
type OpenCalls struct {
	mu   sync.Mutex
	rows map[string]int64
}

// Begin runs write, which returns the number of the opening entry, unless the call is open already.
func (o *OpenCalls) Begin(call string, write func() (int64, error)) error {
	o.mu.Lock()
	if _, open := o.rows[call]; open {
		o.mu.Unlock()
		return fmt.Errorf("call %q is open already: call IDs must be unique", call)
	}
	if o.rows == nil {
		o.rows = map[string]int64{}
	}
	o.rows[call] = 0
	o.mu.Unlock()
	row, err := write()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		delete(o.rows, call)
		return err
	}
	o.rows[call] = row
	return nil
}

// Row returns the number of the opening entry of an open call.
func (o *OpenCalls) Row(call string) (int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	row := o.rows[call]
	if row == 0 {
		return 0, fmt.Errorf("call %q is not open in this log: it was never opened, or is closed", call)
	}
	return row, nil
}

// End runs write for an open call, and forgets the call where that succeeds.
func (o *OpenCalls) End(call string, write func(row int64) error) error {
	o.mu.Lock()
	row := o.rows[call]
	delete(o.rows, call)
	o.mu.Unlock()
	if row == 0 {
		return fmt.Errorf("call %q is not open in this log: it was never opened, or is closed", call)
	}
	err := write(row)
	if err != nil {
		o.mu.Lock()
		o.rows[call] = row
		o.mu.Unlock()
	}
	return err
}
