package engine

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// loadQueue holds when the last loads retire, as many as the queue has entries: a load has its entry from dispatch to
// retirement.
type loadQueue struct {
	retired []ticks
	at      int // place of the next load
}

// initLoads makes the queue, when the description has one.
func (t *Core) initLoads(entries int) {
	if entries != 0 && t.window {
		t.loads = &loadQueue{retired: make([]ticks, entries)}
	}
}

// free is when the next load has an entry.
func (q *loadQueue) free() ticks { return q.retired[q.at] }

// take gives an entry to a load that retires at a time.
func (q *loadQueue) take(retire ticks) {
	q.retired[q.at] = retire
	if q.at++; q.at == len(q.retired) {
		q.at = 0
	}
}

// freezeLoads appends the entries that a load may wait for, as freezeRing does of the reorder buffer, and before them
// their number. The load that takes the place of entry i is the i+1st from now.
func (c *Core) freezeLoads(w []uint64, d ticks) []uint64 {
	q, bound := c.loads, d
	head := len(w)
	w = append(w, 0)
	taken := 0
	if p := c.pipes; p != nil && p.at == d {
		taken = p.filled
	}
	for i := range q.retired {
		if c.pipes != nil {
			bound = max(bound, d+ticks((taken+i)/c.pipes.width)*clock.PerCycle)
		} else if i > 0 {
			bound += c.leastIssue // of the load before; a load waits for its entry and then for its slots
		}
		at := q.at + i
		if at >= len(q.retired) {
			at -= len(q.retired)
		}
		if t := q.retired[at]; t > bound {
			w = append(w, uint64(t-d)<<16|uint64(i))
			bound = t
		}
	}
	w[head] = uint64(len(w) - head - 1)
	return w
}

// melt is the way back. It returns what is behind the queue's state.
func (q *loadQueue) melt(d ticks, w []uint64) []uint64 {
	clear(q.retired)
	q.at = 0
	n := w[0]
	for _, t := range w[1 : 1+n] {
		q.retired[t&(cpus.MaxWindow-1)] = d + ticks(t>>16)
	}
	return w[1+n:]
}

// sound reports whether the next place is inside.
func (q *loadQueue) sound() bool { return q == nil || q.at >= 0 && q.at < len(q.retired) }
