package sim

import "kprobesim/internal/clock"

// runQueue orders CPUs by time, ties by number: a binary heap in which every CPU can be found. The
// cost of a turn for the host grows with the logarithm of their number.
type runQueue struct {
	heap []int
	pos  []int         // by CPU: its index in heap, or -1
	time []clock.Ticks // by CPU, as of put
}

func (q *runQueue) init(n int) {
	q.heap = make([]int, 0, n)
	q.pos = make([]int, n)
	q.time = make([]clock.Ticks, n)
	for i := range q.pos {
		q.pos[i] = -1
	}
}

// first is the CPU that is furthest behind; ok is false when the queue is empty.
func (q *runQueue) first() (cpu int, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0], true
}

// second is the CPU that is furthest behind but for the first. Its time bounds the turn of the
// first. In a heap it is one of the two children of the root.
func (q *runQueue) second() (cpu int, ok bool) {
	switch len(q.heap) {
	case 0, 1:
		return 0, false
	case 2:
		return q.heap[1], true
	}
	if q.before(2, 1) {
		return q.heap[2], true
	}
	return q.heap[1], true
}

// put adds a CPU, or moves it to where its time belongs.
func (q *runQueue) put(cpu int, t clock.Ticks) {
	q.time[cpu] = t
	if q.pos[cpu] < 0 {
		q.pos[cpu] = len(q.heap)
		q.heap = append(q.heap, cpu)
	}
	q.down(q.pos[cpu])
	q.up(q.pos[cpu])
}

// drop takes a CPU out, if it is in.
func (q *runQueue) drop(cpu int) {
	i, last := q.pos[cpu], len(q.heap)-1
	if i < 0 {
		return
	}
	q.swap(i, last)
	q.heap, q.pos[cpu] = q.heap[:last], -1
	if i < last {
		q.down(i)
		q.up(i)
	}
}

func (q *runQueue) before(i, j int) bool {
	a, b := q.heap[i], q.heap[j]
	return q.time[a] < q.time[b] || q.time[a] == q.time[b] && a < b
}

func (q *runQueue) swap(i, j int) {
	q.heap[i], q.heap[j] = q.heap[j], q.heap[i]
	q.pos[q.heap[i]], q.pos[q.heap[j]] = i, j
}

func (q *runQueue) up(i int) {
	for i > 0 && q.before(i, (i-1)/2) {
		q.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (q *runQueue) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(q.heap) {
			return
		}
		if r := child + 1; r < len(q.heap) && q.before(r, child) {
			child = r
		}
		if !q.before(child, i) {
			return
		}
		q.swap(i, child)
		i = child
	}
}
