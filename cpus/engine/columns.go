package engine

import (
	"math/bits"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// loadColumns are the columns of a line that the last loads read. Where two loads a cycle read a column, a third one waits.
// The window model knows no addresses: a load that reads a column of several loads before it names them and the column.
type loadColumns struct {
	columnShift uint   // logarithm of a column's bytes; zero where it does not matter
	columnMask  uint64 // columns of a line less one
	splitTwice  bool   // a load of two lines takes its pipe twice,
	splitAlone  bool   // and a cycle has one such load
	columns     uint64 // of the last loads: a lane for each, the last one's lowest, with a bit for each column
}

// What a load may meet.
const (
	columnLoads = 4  // loads before it
	laneBits    = 16 // columns
	mostColumns = 3  // of its own
	lanes       = 1 | 1<<laneBits | 1<<(2*laneBits) | 1<<(3*laneBits)
	packLanes   = 1<<48 | 1<<33 | 1<<18 | 1<<3 // multiplied by, bits of lanes stand together from bit 48 on
)

// In access.columns are, from the lowest bit on, the loads of each column, whether it lies in two lines, and its first column.
const (
	splitLines  = 1 << (mostColumns * columnLoads)
	firstColumn = 16
)

// initColumns prepares a core with pipes.
func (c *Core) initColumns(cfg *cpus.Config) {
	b := &cfg.BackEnd
	if b.LoadColumn != 0 {
		c.columnShift = uint(bits.TrailingZeros(uint(b.LoadColumn)))
		c.columnMask = uint64(cfg.L1D.Line/b.LoadColumn - 1)
	}
	c.splitTwice, c.splitAlone = b.SplitTwice, b.SplitTwice && !b.SplitOverlap
}

// columnsMatter reports whether noteColumns is told of loads.
func (c *Core) columnsMatter() bool { return (c.columnShift != 0 || c.splitTwice) && c.window }

// noteColumns notes a load of n bytes: for each of its columns the loads before it that read it too, if they are several.
func (c *Core) noteColumns(pa, n uint64) {
	first, last := pa>>(c.columnShift&63)&c.columnMask, (pa+n-1)>>(c.columnShift&63)&c.columnMask
	what, read := uint64(0), uint64(0)
	if c.splitTwice && pa&c.lineMask+n > c.lineMask+1 {
		what = splitLines
	}
	for at, i := first, 0; c.columnShift != 0; at, i = (at+1)&c.columnMask, i+columnLoads {
		read |= 1 << (at & 63)
		if with := c.columns >> (at & 63) & lanes; with&(with-1) != 0 {
			what |= with * packLanes >> 48 << i
		}
		if at == last {
			break
		}
	}
	c.columns = c.columns<<laneBits | read
	if what != 0 && c.idx != between {
		c.noteInput((what|first<<firstColumn)<<16 | uint64(c.idx)<<8 | inColumns)
	}
}

// columnState says which loads may have to wait for others.
type columnState struct {
	loads [columnLoads]int64 // cycles in which the last loads have their pipes, the last one first
	full  [horizon]uint16    // columns in which a load waits, by cycle
}

// takeLoad gives a load a pipe from a time on, and returns when it starts.
func (c *Core) takeLoad(from ticks, a *access) ticks {
	p := c.pipes
	if a.columns == 0 {
		from = p.take(p.load, from, p.atStart)
		p.noteLoad(cycleOf(from))
		return from
	}
	set, columns := p.load, a.columns
	a.columns = 0
	if columns&splitLines != 0 && c.splitAlone {
		from = max(from, c.port[portLoad])
	}
	if !p.atStart {
		set = p.shortest(set)
	}
	cycle := max(cycleOf(from), p.from)
	for ; cycle-p.from < horizon; cycle++ {
		if c.fills(cycle, columns) {
			continue
		}
		if pipe := p.place(set, cycle); pipe != 0 {
			set = pipe
			break
		}
	}
	from = max(from, ticks(cycle)*clock.PerCycle)
	if columns&splitLines != 0 {
		if p.take(set, from+clock.PerCycle, true); c.splitAlone {
			c.port[portLoad] = from + clock.PerCycle
		}
	}
	p.noteLoad(cycle)
	return from
}

// noteLoad notes a load's cycle. Behind the horizon all pipes are free.
func (p *pipeline) noteLoad(cycle int64) {
	if cycle-p.from >= horizon {
		cycle = -1
	}
	p.loads = [columnLoads]int64{cycle, p.loads[0], p.loads[1], p.loads[2]}
}

// fills reports whether a column of a load is read by two others in a cycle.
func (c *Core) fills(cycle int64, columns uint32) bool {
	p := c.pipes
	full := &p.full[cycle&(horizon-1)]
	at := uint64(columns >> firstColumn)
	for columns &= splitLines - 1; columns != 0; columns >>= columnLoads {
		n := 0
		for i, with := range p.loads {
			if columns>>i&1 != 0 && with == cycle {
				n++
			}
		}
		if n >= 2 {
			*full |= 1 << (at & c.columnMask)
		}
		if columns&(1<<columnLoads-1) != 0 && *full>>(at&c.columnMask)&1 != 0 {
			return true
		}
		at++
	}
	return false
}

// cycleBits is the bits that a state needs for a cycle.
const cycleBits = 11

// freezeColumns is a word of the cycles of the last loads that are not over at the present one.
func (p *pipeline) freezeColumns() (w uint64) {
	for i, at := range p.loads {
		w |= uint64(max(at-p.from+1, 0)) << (cycleBits * i)
	}
	return w
}

// meltColumns is the way back.
func (p *pipeline) meltColumns(w uint64) {
	for i := range p.loads {
		p.loads[i] = p.from - 1 + int64(w>>(cycleBits*i)&(1<<cycleBits-1))
	}
}
