package pc

import "kprobesim/internal/clock"

// cmos is the clock and the memory behind it (Motorola, MC146818A datasheet, 1984): date and time, alarm,
// periodic and update interrupts, and an update in progress with its times. The clock is the simulated
// one, and begins at a date. A write of its registers sets it.
type cmos struct {
	index  uint8
	cells  [128]uint8
	begin  int64 // seconds since 1970 at time 0
	osc    oscillator
	frozen bool // SET
	flags  uint8
	looked int64 // periods of the oscillator up to which flags are right
}

// Registers.
const (
	cmosHours   = 4
	cmosStatusA = 10
	cmosStatusB = 11
	cmosStatusC = 12
	cmosStatusD = 13
	cmosCentury = 0x32

	cmosSET, cmosPIE, cmosAIE, cmosUIE = 0x80, 0x40, 0x20, 0x10 // and the flags of register C
	cmosBinary, cmos24                 = 0x04, 0x02
)

// cmosHz is the crystal. An update takes 1984 us at its frequency, and its announcement comes 244 us before
// (tables 5 and 6).
const (
	cmosHz       = 32768
	updateCycle  = 65 // 1984 us
	updateNotice = 8  // 244 us
)

// bootCMOS is the clock as firmware leaves it: 24 hours, BCD, no interrupts, 640 KiB of base memory.
func bootCMOS(begin int64, second clock.Ticks) *cmos {
	c := &cmos{begin: begin, osc: oscillator{cmosHz, uint64(second)}}
	c.cells[cmosStatusA], c.cells[cmosStatusB] = 0x26, cmos24
	c.cells[0x15], c.cells[0x16] = 640&0xff, 640>>8
	return c
}

// load reads the register that index names, at time t.
func (c *cmos) load(t clock.Ticks) uint8 {
	c.look(t)
	switch i := c.index; i {
	case cmosStatusA:
		if into := c.osc.count(t) % cmosHz; !c.frozen && (into < updateCycle || into >= cmosHz-updateNotice) {
			return c.cells[i] | 0x80
		}
		return c.cells[i]
	case cmosStatusC:
		v := c.flags
		if c.line() {
			v |= 0x80
		}
		c.flags = 0
		return v
	case cmosStatusD:
		return 0x80
	case 0, 2, cmosHours, 6, 7, 8, 9, cmosCentury:
		if !c.frozen {
			c.show(t)
		}
		return c.cells[i]
	}
	return c.cells[c.index]
}

// store writes it.
func (c *cmos) store(v uint8, t clock.Ticks) {
	c.look(t)
	switch i := c.index; i {
	case cmosStatusA:
		c.cells[i] = v & 0x7f
	case cmosStatusB:
		if !c.frozen {
			c.show(t)
		}
		was := c.frozen
		c.frozen = v&cmosSET != 0
		c.cells[i] = v
		if was && !c.frozen {
			c.set(t)
		}
	case cmosStatusC, cmosStatusD:
	case 0, 2, cmosHours, 6, 7, 8, 9, cmosCentury:
		if !c.frozen {
			c.show(t)
		}
		c.cells[i] = v
		if !c.frozen {
			c.set(t)
		}
	default:
		c.cells[i] = v
	}
}

// seconds is the time of the clock in seconds since 1970.
func (c *cmos) seconds(t clock.Ticks) int64 { return c.begin + c.osc.count(t)/cmosHz }

// show puts the time into the registers.
func (c *cmos) show(t clock.Ticks) {
	s := c.seconds(t)
	days := floorDiv(s, 86400)
	s -= days * 86400
	year, month, day := clock.Date(days)
	for i, v := range clockParts(s, year, month, day, days) {
		c.cells[timeCells[i]] = c.code(v)
	}
	c.cells[cmosHours] = c.hours(int(s / 3600))
}

// timeCells are the registers of a time but the hours, in the order of clockParts.
var timeCells = [...]uint8{0, 2, 6, 7, 8, 9, cmosCentury}

// clockParts are the parts of a time: a second of the day, and a day.
func clockParts(s int64, year, month, day int, days int64) [len(timeCells)]int {
	weekday := int(floorMod(days+4, 7)) + 1 // 1970 began on a Thursday; Sunday is 1
	return [...]int{int(s % 60), int(s / 60 % 60), weekday, day, month, year % 100, year / 100}
}

// set begins the clock anew with the time in the registers.
func (c *cmos) set(t clock.Ticks) {
	at := func(i uint8) int { return c.decode(c.cells[i]) }
	days := clock.Day(at(cmosCentury)*100+at(9), at(8), at(7))
	s := days*86400 + int64(c.hour24())*3600 + int64(at(2)*60+at(0))
	c.begin = s - c.osc.count(t)/cmosHz
}

// code and decode are BCD, if register B says so.
func (c *cmos) code(v int) uint8 {
	if c.cells[cmosStatusB]&cmosBinary != 0 {
		return uint8(v)
	}
	return uint8(v/10<<4 | v%10)
}

func (c *cmos) decode(v uint8) int {
	if c.cells[cmosStatusB]&cmosBinary != 0 {
		return int(v)
	}
	return int(v>>4)*10 + int(v&15)
}

// hours is the register of hours: with 12 hours bit 7 is the afternoon.
func (c *cmos) hours(h int) uint8 {
	switch {
	case c.cells[cmosStatusB]&cmos24 != 0:
		return c.code(h)
	case h >= 12:
		return c.code((h+11)%12+1) | 0x80
	}
	return c.code((h+11)%12 + 1)
}

func (c *cmos) hour24() int {
	v := c.cells[cmosHours]
	if c.cells[cmosStatusB]&cmos24 != 0 {
		return c.decode(v)
	}
	return c.decode(v&0x7f)%12 + int(v>>7)*12
}

// period is the time between periodic interrupts in periods of the crystal; 0 is never (table 5). The two
// fastest settings belong to a slower one.
func (c *cmos) period() int64 {
	switch n := c.cells[cmosStatusA] & 15; n {
	case 0:
		return 0
	case 1, 2:
		return 1 << (n + 6)
	default:
		return 1 << (n - 1)
	}
}

// look raises the flags of what has happened up to time t.
func (c *cmos) look(t clock.Ticks) {
	now := c.osc.count(t)
	if now <= c.looked {
		return
	}
	if p := c.period(); p != 0 && now/p != c.looked/p {
		c.flags |= cmosPIE
	}
	if !c.frozen {
		first, last := floorDiv(c.looked-updateCycle, cmosHz), floorDiv(now-updateCycle, cmosHz)
		if first != last {
			c.flags |= cmosUIE
		}
		if c.alarmBetween(c.begin+first+1, c.begin+last) {
			c.flags |= cmosAIE
		}
	}
	c.looked = now
}

// alarmBetween tells whether one of some seconds is the alarm's. A part of it from c0 on matches everything.
func (c *cmos) alarmBetween(from, to int64) bool {
	parts := [...]struct{ cell, now func(s int64) int }{
		{func(int64) int { return int(c.cells[1]) }, func(s int64) int { return int(c.code(int(floorMod(s, 60)))) }},
		{func(int64) int { return int(c.cells[3]) }, func(s int64) int { return int(c.code(int(floorMod(floorDiv(s, 60), 60)))) }},
		{func(int64) int { return int(c.cells[5]) }, func(s int64) int { return int(c.hours(int(floorMod(floorDiv(s, 3600), 24)))) }},
	}
	for s := max(from, to-86400); s <= to; s++ {
		hit := true
		for _, p := range parts {
			hit = hit && (p.cell(s) >= 0xc0 || p.cell(s) == p.now(s))
		}
		if hit {
			return true
		}
	}
	return false
}

// line is the level of the interrupt: a flag that is enabled.
func (c *cmos) line() bool {
	return c.flags&c.cells[cmosStatusB]&(cmosPIE|cmosAIE|cmosUIE) != 0
}

// next is the time of the next flag that could raise the line; 0 is none.
func (c *cmos) next(t clock.Ticks) clock.Ticks {
	b, now := c.cells[cmosStatusB], c.osc.count(t)
	var at int64
	if b&(cmosUIE|cmosAIE) != 0 && !c.frozen {
		at = (floorDiv(now-updateCycle, cmosHz)+1)*cmosHz + updateCycle
	}
	if p := c.period(); b&cmosPIE != 0 && p != 0 {
		if periodic := (now/p + 1) * p; at == 0 || periodic < at {
			at = periodic
		}
	}
	if at == 0 {
		return 0
	}
	return c.osc.time(at)
}

// floorDiv and floorMod round down, for times before 1970.
func floorDiv(a, b int64) int64 { return (a - floorMod(a, b)) / b }

func floorMod(a, b int64) int64 { return (a%b + b) % b }
