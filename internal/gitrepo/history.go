package gitrepo

import "container/heap"

// maxWalked is how many commits are looked at to tell what a branch gained or lost.
const maxWalked = 5000

// queue has commits, the newest first.
type queue struct {
	ids   []string
	dates map[string]int64
}

func (q *queue) Len() int           { return len(q.ids) }
func (q *queue) Less(i, j int) bool { return q.dates[q.ids[i]] > q.dates[q.ids[j]] }
func (q *queue) Swap(i, j int)      { q.ids[i], q.ids[j] = q.ids[j], q.ids[i] }
func (q *queue) Push(x any)         { q.ids = append(q.ids, x.(string)) }
func (q *queue) Pop() any {
	last := q.ids[len(q.ids)-1]
	q.ids = q.ids[:len(q.ids)-1]
	return last
}

// only returns the commits that can be reached from one and from none of the others, newest first, as far as dates go. Exact is
// false where there are too many to tell, or one cannot be read: then there may be more, or fewer.
func (o *objects) only(from string, others ...string) (list []string, exact bool) {
	hidden, seen := map[string]bool{}, map[string]bool{}
	q := &queue{dates: map[string]int64{}}
	exact = true
	open := 0 // in the queue, and not hidden
	add := func(id string, hide bool) {
		if seen[id] {
			if hide && !hidden[id] {
				open -= o.hide(id, hidden, q)
			}
			return
		}
		c, err := o.commit(id)
		if err != nil {
			exact = false
			return
		}
		seen[id], hidden[id], q.dates[id] = true, hide, c.date
		if !hide {
			open++
		}
		heap.Push(q, id)
	}
	for _, id := range others {
		add(id, true)
	}
	add(from, false)
	// What is hidden and not older than the last in the list may still lead to it.
	for q.Len() > 0 && (open > 0 || len(list) > 0 && q.dates[q.ids[0]] >= q.dates[list[len(list)-1]]) {
		id := heap.Pop(q).(string)
		if !hidden[id] {
			open--
			list = append(list, id)
		}
		if len(seen) > maxWalked {
			exact = false
			break
		}
		for _, parent := range o.commits[id].parents {
			add(parent, hidden[id])
		}
	}
	kept := list[:0]
	for _, id := range list {
		if !hidden[id] {
			kept = append(kept, id)
		}
	}
	return kept, exact
}

// hide marks a commit and what was seen of its ancestors, and returns how many of them are in the queue.
func (o *objects) hide(id string, hidden map[string]bool, q *queue) (waiting int) {
	inQueue := map[string]bool{}
	for _, w := range q.ids {
		inQueue[w] = true
	}
	stack := []string{id}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if _, seen := q.dates[at]; !seen || hidden[at] {
			continue
		}
		hidden[at] = true
		if inQueue[at] {
			waiting++
		}
		stack = append(stack, o.commits[at].parents...)
	}
	return waiting
}
