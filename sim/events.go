package sim

import "kprobesim/internal/clock"

// EventID names an event that has been pushed; 0 names none.
type EventID uint64

// event is something that happens at a point of simulated time.
type event struct {
	at clock.Ticks
	id EventID // also the order of events for the same time
	f  func()
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.id < o.id
}

// Queue holds the events to come. Events for the same time happen in the order in which they were
// pushed. The zero value is an empty queue.
type Queue struct {
	heap []event // binary heap: an event is never later than its children
	last EventID
}

// Len is the number of events to come.
func (q *Queue) Len() int { return len(q.heap) }

// Push plans f for time t and returns a name to cancel it by.
func (q *Queue) Push(t clock.Ticks, f func()) EventID {
	q.last++
	q.heap = append(q.heap, event{t, q.last, f})
	q.up(len(q.heap) - 1)
	return q.last
}

// Cancel drops an event and reports whether it was still to come. Machines have a handful of
// events, so that looking through all of them is no loss.
func (q *Queue) Cancel(id EventID) bool {
	for i := range q.heap {
		if q.heap[i].id == id {
			q.remove(i)
			return true
		}
	}
	return false
}

// Next is the time of the first event; ok is false when there is none.
func (q *Queue) Next() (t clock.Ticks, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

// Pop takes the first event out of the queue; the caller runs f.
func (q *Queue) Pop() (t clock.Ticks, f func(), ok bool) {
	if len(q.heap) == 0 {
		return 0, nil, false
	}
	e := q.heap[0]
	q.remove(0)
	return e.at, e.f, true
}

// remove takes out the event at index i.
func (q *Queue) remove(i int) {
	n := len(q.heap) - 1
	q.heap[i] = q.heap[n]
	q.heap[n] = event{} // lets go of the function
	q.heap = q.heap[:n]
	if i < n {
		q.down(i)
		q.up(i)
	}
}

func (q *Queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.heap[i].before(&q.heap[parent]) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

func (q *Queue) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(q.heap) {
			return
		}
		if r := child + 1; r < len(q.heap) && q.heap[r].before(&q.heap[child]) {
			child = r
		}
		if !q.heap[child].before(&q.heap[i]) {
			return
		}
		q.heap[i], q.heap[child] = q.heap[child], q.heap[i]
		i = child
	}
}
