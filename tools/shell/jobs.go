package shell

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tongs-ai/tongs"
	"github.com/tongs-ai/tongs/internal/shellsyntax"
)

// maxEnded is how many ended jobs a session remembers.
const maxEnded = 16

// jobs are those of all sessions.
type jobs struct {
	opt Options

	mu       sync.Mutex
	sessions map[string][]*job
	// starting are jobs that are not among those of their session yet.
	starting map[string][]*job
	last     int
	closed   bool
}

func newJobs(opt Options) *jobs {
	return &jobs{opt: opt, sessions: map[string][]*job{}, starting: map[string][]*job{}}
}

// job is a command that goes on after its call.
type job struct {
	id, command string
	started     time.Time
	// reader is the program that reads the standard input, nil where that is not sure.
	reader []string
	dir    tongs.Path
	proc   tongs.Process
	out    *ring
	stream tongs.Stream
	timer  *time.Timer
	done   chan struct{}

	mu   sync.Mutex
	exit *tongs.Exit
	err  error
	// opaque is set once something was written that may have made another program the reader.
	opaque bool
	// exported are the variables that its shell gives to programs, beyond those that it would have anyway.
	exported []string
	// planned are the effects of calls that are being decided.
	planned map[string][]tongs.Effect

	// writing holds a token while nobody writes.
	writing chan struct{}
	// doomed is set where the session ended while the job was being started. The lock of jobs guards it.
	doomed bool
}

// start starts a job for the session of the call.
func (m *jobs) start(ctx context.Context, env *tongs.Env, in Input, cmd *tongs.Command, a *shellsyntax.Analysis) (*job, error) {
	name := env.Call.Session
	j, err := m.reserve(name)
	if err != nil {
		return nil, err
	}
	j.command, j.reader, j.dir, j.started = in.Command, reader(a), cmd.Dir, time.Now()
	j.opaque, j.exported = in.Stdin != "" && opaque(a), given(a)
	if m.opt.JobOutput != nil {
		j.stream = m.opt.JobOutput(name, j.id)
	}
	w := &jobWriter{j}
	cmd.Stdout, cmd.Stderr, cmd.Stdin = w, w, nil
	j.proc, err = env.Commands.Start(ctx, cmd)
	if err != nil {
		m.unreserve(name, j)
		closeStream(j.stream)
		return nil, err
	}
	if in.Timeout > 0 {
		j.timer = time.AfterFunc(m.opt.timeout(in), j.proc.Kill)
	}
	go j.watch()
	if in.Stdin != "" {
		// A job that does not read must not hold up the call. What is written later comes after it.
		go func() {
			_, _ = io.WriteString(j.proc, in.Stdin)
			j.writing <- struct{}{}
		}()
	} else {
		j.writing <- struct{}{}
	}
	if !m.add(name, j) {
		j.kill()
		return nil, errClosed
	}
	return j, nil
}

var errClosed = tongs.Errorf(tongs.CodeCancelled, "the session or the program is ending, and starts no more jobs")

// reserve takes a place for a job.
func (m *jobs) reserve(session string) (*job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errClosed
	}
	own, all := len(m.starting[session])+running(m.sessions[session]), 0
	for _, list := range m.starting {
		all += len(list)
	}
	for _, list := range m.sessions {
		all += running(list)
	}
	switch {
	case own >= m.opt.Jobs:
		return nil, tongs.Errorf(tongs.CodeExecutionError, "this session has %d jobs running, which is all it may; "+
			"wait for one or kill one with shell_jobs", own)
	case all >= m.opt.MaxJobs:
		return nil, tongs.Errorf(tongs.CodeExecutionError, "there are %d jobs running, which is all that there may be; "+
			"try again when some have ended", all)
	}
	m.last++
	j := &job{
		id: fmt.Sprintf("job%d", m.last), out: newRing(m.opt.JobBytes), done: make(chan struct{}),
		planned: map[string][]tongs.Effect{}, writing: make(chan struct{}, 1),
	}
	m.starting[session] = append(m.starting[session], j)
	return j, nil
}

func running(list []*job) (n int) {
	for _, j := range list {
		if _, ended := j.ended(); !ended {
			n++
		}
	}
	return n
}

// unreserve gives up a job that did not start.
func (m *jobs) unreserve(session string, j *job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle(session, j)
}

// settle takes a job off those that are being started. The lock is held.
func (m *jobs) settle(session string, j *job) {
	left := slices.DeleteFunc(m.starting[session], func(o *job) bool { return o == j })
	if m.starting[session] = left; len(left) == 0 {
		delete(m.starting, session)
	}
}

// add takes up a job that was started, and forgets the oldest ended ones. It is false where its session was closed.
func (m *jobs) add(session string, j *job) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle(session, j)
	if m.closed || j.doomed {
		return false
	}
	list := append(m.sessions[session], j)
	for excess := len(list) - running(list) - maxEnded; excess > 0; excess-- {
		i := slices.IndexFunc(list, func(j *job) bool {
			_, ended := j.ended()
			return ended
		})
		list = slices.Delete(list, i, i+1)
	}
	m.sessions[session] = list
	return true
}

// of returns the jobs of a session, the oldest first.
func (m *jobs) of(session string) []*job {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.sessions[session])
}

// find returns a job of a session.
func (m *jobs) find(session, id string) (*job, error) {
	list := m.of(session)
	var names []string
	for _, j := range list {
		if j.id == id {
			return j, nil
		}
		names = append(names, j.id)
	}
	err := tongs.Errorf(tongs.CodeInvalidArgs, "this session has no job %q; it has none at all", id)
	if len(names) > 0 {
		err = tongs.Errorf(tongs.CodeInvalidArgs, "this session has no job %q, but %v", id, names)
	}
	return nil, err
}

func (m *jobs) close(session string) {
	m.mu.Lock()
	list := m.sessions[session]
	delete(m.sessions, session)
	for _, j := range m.starting[session] {
		j.doomed = true
	}
	m.mu.Unlock()
	killAll(list)
}

func (m *jobs) closeAll() {
	m.mu.Lock()
	m.closed = true
	var all []*job
	for _, list := range m.sessions {
		all = append(all, list...)
	}
	clear(m.sessions)
	m.mu.Unlock()
	killAll(all)
}

func killAll(list []*job) {
	var wg sync.WaitGroup
	for _, j := range list {
		wg.Go(j.kill)
	}
	wg.Wait()
}

// watch waits for the end of the job.
func (j *job) watch() {
	exit, err := j.proc.Wait(context.Background())
	j.mu.Lock()
	if exit == nil {
		exit = &tongs.Exit{Code: -1}
	}
	j.exit, j.err = exit, err
	j.mu.Unlock()
	if j.timer != nil {
		j.timer.Stop()
	}
	closeStream(j.stream)
	close(j.done)
	j.out.wake()
}

func closeStream(s tongs.Stream) {
	if c, ok := s.(io.Closer); ok {
		_ = c.Close()
	}
}

// kill ends the job and returns when it is gone.
func (j *job) kill() {
	j.proc.Kill()
	<-j.done
}

// wait waits for the end of the job, or of ctx.
func (j *job) wait(ctx context.Context) {
	select {
	case <-j.done:
	case <-ctx.Done():
	}
}

// ended returns how the job ended, if it did.
func (j *job) ended() (*tongs.Exit, bool) {
	select {
	case <-j.done:
	default:
		return nil, false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.exit, true
}

func (j *job) read(cursor int64) chunk { return j.out.read(cursor) }

// jobWriter takes the output of a job.
type jobWriter struct{ job *job }

func (w *jobWriter) Write(p []byte) (int, error) {
	if w.job.stream != nil {
		if _, err := w.job.stream.Write(p); err != nil {
			return 0, err
		}
	}
	w.job.out.write(p)
	return len(p), nil
}

// ring keeps the latest output.
type ring struct {
	mu    sync.Mutex
	limit int
	data  []byte
	// end is how much was written in all.
	end int64
	// changed is closed when something is written.
	changed chan struct{}
}

func newRing(limit int) *ring { return &ring{limit: limit, changed: make(chan struct{})} }

func (r *ring) write(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end += int64(len(p))
	if len(p) >= r.limit {
		p, r.data = p[len(p)-r.limit:], r.data[:0]
	}
	r.data = append(r.data, p...)
	if len(r.data) > 2*r.limit { // moved rarely, so that small writes stay cheap
		r.data = append(r.data[:0], r.data[len(r.data)-r.limit:]...)
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// wake wakes those who wait for output that will not come.
func (r *ring) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
}

// chunk is output since a cursor: how much of it is lost, what there is, and where to go on.
type chunk struct {
	lost int64
	data []byte
	next int64
	more <-chan struct{}
}

func (r *ring) read(cursor int64) chunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.data[max(0, len(r.data)-r.limit):]
	first := r.end - int64(len(kept))
	cursor = min(max(cursor, 0), r.end)
	c := chunk{next: r.end, more: r.changed}
	if cursor < first {
		c.lost, cursor = first-cursor, first
	}
	c.data = slices.Clone(kept[cursor-first:])
	return c
}
