package ppc64

import (
	"math"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// tick is the period of the time base and the decrementer: eight cycles of the core on POWER4 and POWER5.
const tick = 8 * clock.PerCycle

// Decrementer is implemented by a board's interrupt controller beside cpus.Interrupts: it is told when
// the decrementer of its CPU expires next, and has to call CPU.Signal(LineDecrementer) then. Without it, an
// expiry is noticed when the CPU looks for an interrupt anyway.
type Decrementer interface {
	Expires(at clock.Ticks)
}

// timers are the time base and the decrementer (Book III, Timer Facilities). Neither is a counter: each is a
// difference to the CPU's clock.
type timers struct {
	base    uint64      // of the time base, beside the clock
	dec     uint64      // value of the decrementer beside the clock: it counts down
	expires clock.Ticks // when an interrupt is due
	due     clock.Ticks // when the last one that was taken was
}

const never = clock.Ticks(math.MaxInt64)

// time is the clock in ticks of the time base, brought up to the running instruction.
func (c *CPU) time() uint64 {
	c.Settle()
	return uint64(c.Now() / tick)
}

func (c *CPU) timeBase() uint64     { return c.time() + c.base }
func (c *CPU) setTimeBase(v uint64) { c.base = v - c.time() }

func (c *CPU) decrementer() uint64 { return uint64(uint32(c.dec - c.time())) }

// setDecrementer starts the decrementer. An interrupt is due when its sign changes to one: at once, when a
// negative value takes the place of another one.
func (c *CPU) setDecrementer(v uint64) {
	old, now := int32(c.decrementer()), c.time()
	c.dec = uint64(uint32(v)) + now
	switch {
	case int32(v) >= 0:
		c.expires = clock.Ticks(now+v&math.MaxInt32+1) * tick
	case old >= 0:
		c.expires = c.Now()
	default:
		return // still negative: an interrupt that is due stays so
	}
	if d, ok := c.Bus.Interrupts.(Decrementer); ok {
		d.Expires(c.expires)
		c.Exit(cpus.Exit{Reason: cpus.Limit}) // the machine has a new event to look at
	}
	c.Interrupt()
}

// expired reports that a decrementer interrupt is due, taken that it was delivered. The next comes when the
// register is written again: what it would do by itself after counting through all its values, some twenty
// seconds later, is left out.
func (c *CPU) expired() bool { return c.Now() >= c.expires }
func (c *CPU) taken()        { c.due, c.expires = c.expires, never }

// TimerDue implements cpus.TimerOwner.
func (c *CPU) TimerDue() clock.Ticks { return c.due }

// stopDecrementer holds interrupts of the decrementer off until it is set.
func (c *CPU) stopDecrementer() { c.dec, c.expires = 0, never }
