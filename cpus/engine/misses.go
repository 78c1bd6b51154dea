package engine

import (
	"slices"

	"kprobesim/cpus"
)

// initMisses gives a core with pipes its store queue and its buffers of misses, when the description has them. With a queue
// nothing else bounds how late a store is written.
func (t *Core) initMisses(cfg *cpus.Config) {
	t.asks, t.seen = inMissW, fewStores
	if t.pipes == nil {
		return
	}
	if cfg.BackEnd.StoreQueue {
		t.asks, t.queue, t.slack = inOwn, uint64(cfg.StoreBuffer), 1<<62
		if t.queue > t.seen {
			t.seen = forwards
		}
	}
	if n := cfg.BackEnd.MissBuffers; n != 0 {
		t.pipes.misses = make([]ticks, n)
	}
}

// storeFree is when the next store has an entry of the store queue: when the one that many stores before it is written. stores
// has no more of them, so there are as many entries at most.
func (c *Core) storeFree() ticks { return c.stores[(c.placed+1-c.queue)&(forwards-1)].commit }

// freed is when the first of the buffers is free, in which a miss waits for its line.
func (p *pipeline) freed() ticks {
	if p == nil || len(p.misses) == 0 {
		return 0
	}
	return slices.Min(p.misses)
}

// missing returns when a miss is over that begins at a time and takes d, when there is a buffer for it. It gets the one
// that was free last, so that a miss which waits for another one leaves others to those that wait for nothing.
func (p *pipeline) missing(at, d ticks) ticks {
	if len(p.misses) == 0 {
		return at + d
	}
	best := &p.misses[0]
	for i := range p.misses {
		if t := p.misses[i]; t <= at && (*best > at || t > *best) || t > at && t < *best {
			best = &p.misses[i]
		}
	}
	*best = max(at, *best) + d
	return *best
}

// freezeMisses appends the times that a miss may wait for, in order, and before them their number.
func (p *pipeline) freezeMisses(w []uint64, d ticks) []uint64 {
	if len(p.misses) == 0 {
		return w
	}
	head := len(w)
	w = append(w, 0)
	for _, t := range p.misses {
		if t > d {
			w = append(w, uint64(t-d))
		}
	}
	slices.Sort(w[head+1:])
	w[head] = uint64(len(w) - head - 1)
	return w
}

// meltMisses is the way back. It returns what is behind these times.
func (p *pipeline) meltMisses(d ticks, w []uint64) []uint64 {
	if len(p.misses) == 0 {
		return w
	}
	clear(p.misses)
	n := int(w[0])
	for i, t := range w[1 : 1+n] {
		p.misses[i] = d + ticks(t)
	}
	return w[1+n:]
}
