package sim

import "kprobesim/internal/clock"

// EventID names an event that has been pushed; 0 names none. Its upper bits count pushes, its lower
// ones are the slot in which the queue keeps where the event is.
type EventID uint64

const slotBits = 20 // events that one queue can hold, as a logarithm

// event is something that happens at a point of simulated time. The identity grows with every push,
// which makes the order of equal times that of the pushes and so the same in every run.
type event struct {
	at clock.Ticks
	id EventID // also the order of events for the same time
	f  func()  `state:"-"`
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.id < o.id
}

// Queue holds the events to come. Events for the same time happen in the order in which they were
// pushed. Pushing, cancelling and popping take a time that grows with the logarithm of their number:
// every CPU may have a timer running. The zero value is an empty queue.
type Queue struct {
	heap  []event  // binary heap: an event is never later than its children
	slots []uint32 // where in heap the event of a slot is
	free  []uint32 // slots of no event
	last  uint64   // events pushed so far
}

// Len is the number of events to come.
func (q *Queue) Len() int { return len(q.heap) }

// Push plans f for time t and returns a name to cancel it by. A queue that is full of a million
// events drops further ones and returns 0.
func (q *Queue) Push(t clock.Ticks, f func()) EventID {
	if len(q.heap) == 1<<slotBits {
		return 0
	}
	if len(q.free) == 0 {
		q.free = append(q.free, uint32(len(q.slots)))
		q.slots = append(q.slots, 0)
	}
	slot := q.free[len(q.free)-1]
	q.free = q.free[:len(q.free)-1]
	q.last++
	id := EventID(q.last<<slotBits | uint64(slot))
	q.heap = append(q.heap, event{t, id, f})
	q.slots[slot] = uint32(len(q.heap) - 1)
	q.up(len(q.heap) - 1)
	return id
}

// slot is the place that holds the index of an event.
func (q *Queue) slot(id EventID) *uint32 { return &q.slots[id&(1<<slotBits-1)] }

// Cancel drops an event and reports whether it was still to come. A name whose event has happened is
// refused, though its slot may hold another event by now: the count of pushes in the name differs.
func (q *Queue) Cancel(id EventID) bool {
	if id == 0 || id&(1<<slotBits-1) >= EventID(len(q.slots)) {
		return false
	}
	i := int(*q.slot(id))
	if i >= len(q.heap) || q.heap[i].id != id {
		return false
	}
	q.remove(i)
	return true
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
	q.free = append(q.free, uint32(q.heap[i].id&(1<<slotBits-1)))
	n := len(q.heap) - 1
	q.swap(i, n)
	q.heap[n] = event{} // lets go of the function
	q.heap = q.heap[:n]
	if i < n {
		q.down(i)
		q.up(i)
	}
}

func (q *Queue) swap(i, j int) {
	q.heap[i], q.heap[j] = q.heap[j], q.heap[i]
	*q.slot(q.heap[i].id), *q.slot(q.heap[j].id) = uint32(i), uint32(j)
}

func (q *Queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.heap[i].before(&q.heap[parent]) {
			return
		}
		q.swap(i, parent)
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
		q.swap(i, child)
		i = child
	}
}
