package walk

import (
	"sync"
	"sync/atomic"
)

// job is something for a worker to do: enter the directory dir, which is in the directory open where that is set; or
// read on in the directory open; or visit those of its entries that are in refs. It holds one use of open.
type job struct {
	dir  *Dir
	open *openDir
	text string
	refs []ref
}

// queue is a stack of jobs that workers share. The last job is taken first, so that the walk goes deep before it goes
// wide and what waits is bounded by the depth of the tree.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	jobs    []job
	idle    int
	workers int
	// over is set once pop returns false; it is written under mu.
	over atomic.Bool
}

func newQueue(workers int) *queue {
	q := &queue{workers: workers}
	q.changed.L = &q.mu
	return q
}

func (q *queue) push(jobs []job) {
	q.mu.Lock()
	q.jobs = append(q.jobs, jobs...)
	wake := min(q.idle, len(jobs))
	q.mu.Unlock()
	for range wake {
		q.changed.Signal()
	}
}

// pop waits for a job. It returns false when all workers wait, since then there will be no more, and once the queue was
// stopped.
func (q *queue) pop() (job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.over.Load() && len(q.jobs) == 0 {
		if q.idle++; q.idle == q.workers {
			q.over.Store(true)
			q.changed.Broadcast()
			break
		}
		q.changed.Wait()
		q.idle--
	}
	if q.over.Load() {
		return job{}, false
	}
	last := len(q.jobs) - 1
	j := q.jobs[last]
	q.jobs[last] = job{}
	q.jobs = q.jobs[:last]
	return j, true
}

// stop makes every pop return false.
func (q *queue) stop() {
	q.mu.Lock()
	q.over.Store(true)
	q.mu.Unlock()
	q.changed.Broadcast()
}

// rest returns the jobs that nobody took.
func (q *queue) rest() []job {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs := q.jobs
	q.jobs = nil
	return jobs
}
