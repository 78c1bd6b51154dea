package arm

import (
	"math"
	"math/bits"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// counterHz is the rate of the system counter that the generic timers compare with, as on the TC2 board.
const counterHz = 24_000_000

// The timers of a CPU, as TimerOutputs tells of them.
const (
	PhysicalTimer = iota
	VirtualTimer
	timerCount
)

// TimerOutputs is implemented by a board's interrupt controller beside cpus.Interrupts: it is told from
// when on the output of a timer of its CPU is up, and until it is told again. Never means that it is down. The
// output is a level: the timer's condition and its mask alone decide it.
type TimerOutputs interface {
	TimerOutput(timer int, from clock.Ticks)
}

// Never is no time.
const Never = clock.Ticks(math.MaxInt64)

// Bits of CNTx_CTL (ARM ARM, B8.1.5).
const (
	timerEnable = 1 << 0
	timerMask   = 1 << 1
	timerStatus = 1 << 2
)

// timers are the generic timers (ARM ARM, B8). The counter is the CPU's clock at another rate; without
// a hypervisor the virtual counter is the physical one.
type timers struct {
	timer [timerCount]struct {
		compare uint64
		control uint32
	}
}

// counter is the clock in ticks of the counter, brought up to the running instruction.
func (c *CPU) counter() uint64 {
	c.Settle()
	hi, lo := bits.Mul64(uint64(c.Now()), counterHz)
	q, _ := bits.Div64(hi, lo, uint64(c.cfg.Hz)*uint64(clock.PerCycle))
	return q
}

// when is the first time at which the counter has a value.
func (c *CPU) when(v uint64) clock.Ticks {
	hi, lo := bits.Mul64(v, uint64(c.cfg.Hz)*uint64(clock.PerCycle))
	if hi >= counterHz {
		return Never
	}
	q, rest := bits.Div64(hi, lo, counterHz)
	if q >= uint64(Never) {
		return Never
	}
	if rest != 0 {
		q++
	}
	return clock.Ticks(q)
}

func (c *CPU) stopTimers() {
	for i := range c.timer {
		c.timer[i].control, c.timer[i].compare = 0, 0
		c.tellTimer(i)
	}
}

// tellTimer tells the board what became of a timer's output.
func (c *CPU) tellTimer(i int) {
	t, ok := c.Bus.Interrupts.(TimerOutputs)
	if !ok {
		return
	}
	from := Never
	if k := &c.timer[i]; k.control&(timerEnable|timerMask) == timerEnable {
		from = c.when(k.compare)
	}
	t.TimerOutput(i, from)
	c.Interrupt()
}

// TimerDue implements cpus.TimerOwner: the first of the timers that are on. It is the time of the last interrupt until the
// kernel has set the timer anew.
func (c *CPU) TimerDue() clock.Ticks {
	due := Never
	for i := range c.timer {
		if k := &c.timer[i]; k.control&(timerEnable|timerMask) == timerEnable {
			due = min(due, c.when(k.compare))
		}
	}
	return due
}

// changed is tellTimer by an instruction: the machine has a new event to look at.
func (c *CPU) changed(i int) {
	c.tellTimer(i)
	if _, ok := c.Bus.Interrupts.(TimerOutputs); ok {
		c.Exit(cpus.Exit{Reason: cpus.Limit})
	}
}

func (c *CPU) timerControl(i int) uint32 {
	k := &c.timer[i]
	v := k.control
	if v&timerEnable != 0 && int64(c.counter()-k.compare) >= 0 {
		v |= timerStatus
	}
	return v
}

func (c *CPU) setTimerControl(i int, v uint32) {
	c.timer[i].control = v & (timerEnable | timerMask)
	c.changed(i)
}

func (c *CPU) timerValue(i int) uint32 { return uint32(c.timer[i].compare - c.counter()) }

func (c *CPU) setTimerValue(i int, v uint32) { c.setCompare(i, c.counter()+uint64(int64(int32(v)))) }

func (c *CPU) setCompare(i int, v uint64) {
	c.timer[i].compare = v
	c.changed(i)
}

// Bits of CNTKCTL that open the counters and timers to user mode (ARM ARM, B8.1.1).
const (
	kernelPCT = 1 << 0
	kernelVCT = 1 << 1
	kernelVT  = 1 << 8
	kernelPT  = 1 << 9
)

func opened(bit uint32) func(*CPU, bool) bool {
	return func(c *CPU, _ bool) bool { return c.cntkctl&bit != 0 }
}

// addTimers adds the registers of 32 bits.
func addTimers(t map[coprocKey]coproc) {
	frequency := constant(counterHz)
	frequency.class[0] = clCounter
	t[coprocKey{14, 0, 0, 0}] = frequency.by(func(c *CPU, write bool) bool {
		return !write && c.cntkctl&(kernelPCT|kernelVCT) != 0
	})
	t[coprocKey{14, 0, 1, 0}] = stored(func(c *CPU) *uint32 { return &c.cntkctl }, 0x3ff)
	for i, crm := range []uint8{2, 3} {
		open := opened([]uint32{kernelPT, kernelVT}[i])
		class := [2]uint8{clCounter, clCoprocWrite}
		t[coprocKey{14, 0, crm, 0}] = coproc{
			get: func(c *CPU) uint32 { return c.timerValue(i) }, set: func(c *CPU, v uint32) { c.setTimerValue(i, v) },
			class: class, user: open,
		}
		t[coprocKey{14, 0, crm, 1}] = coproc{
			get: func(c *CPU) uint32 { return c.timerControl(i) }, set: func(c *CPU, v uint32) { c.setTimerControl(i, v) },
			class: class, user: open,
		}
	}
}

// coprocs64 are the registers of 64 bits, by opc1 and CRm.
var coprocs64 = map[[2]uint8]coproc64{
	{0, 14}: {get: (*CPU).counter, user: opened(kernelPCT)},
	{1, 14}: {get: (*CPU).counter, user: opened(kernelVCT)},
	{2, 14}: comparing(PhysicalTimer, kernelPT),
	{3, 14}: comparing(VirtualTimer, kernelVT),
}

func comparing(i int, open uint32) coproc64 {
	return coproc64{
		get: func(c *CPU) uint64 { return c.timer[i].compare }, set: func(c *CPU, v uint64) { c.setCompare(i, v) },
		user: opened(open),
	}
}
