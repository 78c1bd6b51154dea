package pc

import "fmt"

// pitHz is the clock of the 8254 on a PC: a third of the 3.579545 MHz of NTSC's colour carrier, to the
// nearest whole number.
const pitHz = 1193182

// counter is one of the three counters of an 8254 timer (Intel, 8254 datasheet, 231164-005, of 1993). Its state
// holds what was written, and when: counts follow from the time. Modes 1 and 5, which a rising gate
// triggers, are not modelled.
type counter struct {
	mode   uint8
	access uint8 // 1 and 2 are one byte, 3 is both
	bcd    bool
	gate   bool
	loaded bool  // a count has come since the control word
	n      int64 // counts of a period, 1 to 65536
	start  int64 // the clock at which the count was loaded
	held   int64 // clocks that had passed when the gate fell
	// next is a count for the time behind the clock nextAt; 0 is none.
	next, nextAt int64

	writeHigh, readHigh bool
	low                 uint8
	latch               []uint8 // bytes to be read before others
}

// Modes.
const (
	onCount    = 0
	rate       = 2
	squareWave = 3
	strobe     = 4
)

// span is the number of different counts.
func (c *counter) span() int64 {
	if c.bcd {
		return 10_000
	}
	return 1 << 16
}

// elapsed is how many clocks have been counted since the count was loaded, which is one behind the write.
func (c *counter) elapsed(now int64) int64 {
	if !c.gate {
		return c.held
	}
	if c.next != 0 && now >= c.nextAt {
		c.reload()
	}
	return max(now-c.start, 0)
}

// reload begins to count by the count that has waited for the end of the period, or of half of a square wave.
func (c *counter) reload() {
	high := c.mode == rate || (c.nextAt-c.start)%c.n == 0
	c.start, c.n, c.next = c.nextAt, c.next, 0
	if !high {
		c.start -= (c.n + 1) / 2
	}
}

// out is the output.
func (c *counter) out(now int64) bool {
	if !c.loaded {
		return c.mode != onCount
	}
	e := c.elapsed(now)
	switch c.mode {
	case onCount:
		return e >= c.n
	case rate:
		return !c.gate || e%c.n != c.n-1
	case squareWave:
		return !c.gate || e%c.n < (c.n+1)/2
	}
	return e != c.n
}

// count returns what a read shows. A square wave counts by two, an odd one from one less.
func (c *counter) count(now int64) uint16 {
	if !c.loaded {
		return 0
	}
	e := c.elapsed(now)
	v := c.n - e
	switch c.mode {
	case rate:
		v = c.n - e%c.n
	case squareWave:
		high := (c.n + 1) / 2
		if e %= c.n; e >= high {
			e -= high
		}
		v = c.n&^1 - 2*e
	}
	span := c.span()
	v = (v%span + span) % span
	if !c.bcd {
		return uint16(v)
	}
	return uint16(v/1000<<12 | v/100%10<<8 | v/10%10<<4 | v%10)
}

// control is a control word for this counter.
func (c *counter) control(v uint8) error {
	mode := v >> 1 & 7
	if mode > 5 {
		mode -= 4
	}
	if mode == 1 || mode == 5 {
		return fmt.Errorf("programmed a counter of the timer for mode %d, which is not modelled: use 0, 2, 3 or 4", mode)
	}
	*c = counter{mode: mode, access: v >> 4 & 3, bcd: v&1 != 0, gate: c.gate}
	return nil
}

// write takes a byte of a count. The first of two bytes stops mode 0.
func (c *counter) write(v uint8, now int64) {
	switch {
	case c.access == 3 && !c.writeHigh:
		c.low, c.writeHigh = v, true
		if c.mode == onCount {
			c.loaded = false
		}
		return
	case c.access == 3:
		c.writeHigh = false
		c.load(uint16(v)<<8|uint16(c.low), now)
	case c.access == 2:
		c.load(uint16(v)<<8, now)
	default:
		c.load(uint16(v), now)
	}
}

// load begins a count, at once or at the end of a period that is under way. Zero is the largest.
func (c *counter) load(v uint16, now int64) {
	n := int64(v)
	if c.bcd {
		n = int64(v>>12)*1000 + int64(v>>8&15)*100 + int64(v>>4&15)*10 + int64(v&15)
	}
	if n == 0 {
		n = c.span()
	}
	if c.loaded && c.gate && (c.mode == rate || c.mode == squareWave) {
		c.nextAt = c.boundary(now)
		c.next = n
		return
	}
	c.loaded, c.n, c.start, c.held, c.next = true, n, now+1, 0, 0
}

// boundary is the end of the period, or of half of a square wave, that is under way.
func (c *counter) boundary(now int64) int64 {
	e := c.elapsed(now)
	x, high := e%c.n, (c.n+1)/2
	if c.mode == squareWave && x < high {
		return c.start + e - x + high
	}
	return c.start + e - x + c.n
}

// setGate changes the gate. A low one stops the count; a rising one goes on, and in modes 2 and 3 begins anew.
func (c *counter) setGate(up bool, now int64) {
	switch {
	case up == c.gate:
		return
	case !up:
		c.held = c.elapsed(now)
		c.gate = false
		return
	}
	c.gate, c.start = true, now-c.held
	if c.mode == rate || c.mode == squareWave {
		c.start = now + 1
		if c.next != 0 {
			c.n, c.next = c.next, 0
		}
	}
}

// read gives the next byte: latched ones first.
func (c *counter) read(now int64) uint8 {
	if len(c.latch) > 0 {
		v := c.latch[0]
		c.latch = c.latch[1:]
		return v
	}
	v := c.count(now)
	switch {
	case c.access == 3 && !c.readHigh:
		c.readHigh = true
		return uint8(v)
	case c.access == 3:
		c.readHigh = false
		return uint8(v >> 8)
	case c.access == 2:
		return uint8(v >> 8)
	}
	return uint8(v)
}

// hold latches count and status for reads to come. A count that is latched already stays.
func (c *counter) hold(count, status bool, now int64) {
	if len(c.latch) > 0 {
		return
	}
	if status {
		c.latch = append(c.latch, c.status(now))
	}
	if !count {
		return
	}
	v := c.count(now)
	if c.access&1 != 0 {
		c.latch = append(c.latch, uint8(v))
	}
	if c.access&2 != 0 {
		c.latch = append(c.latch, uint8(v>>8))
	}
}

// status is the status byte of the read-back command: output, a count that is not loaded yet, control word.
func (c *counter) status(now int64) uint8 {
	v := c.access<<4 | c.mode<<1
	if c.out(now) {
		v |= 0x80
	}
	if !c.loaded || now < c.start || c.next != 0 {
		v |= 0x40
	}
	if c.bcd {
		v |= 1
	}
	return v
}

// edge is the next clock at which the output changes; a pulse of one clock is its end. It is 0 when nothing
// comes any more.
func (c *counter) edge(now int64) int64 {
	if !c.loaded || !c.gate {
		return 0
	}
	e := c.elapsed(now)
	switch {
	case c.mode == onCount && e < c.n:
		return c.start + c.n
	case c.mode == strobe && e <= c.n:
		return c.start + c.n + 1
	case c.mode == rate, c.mode == squareWave:
		return c.boundary(now)
	}
	return 0
}
