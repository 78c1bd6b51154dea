package cpustest

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"reflect"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// Rig is the CPUs of one machine, that share memory, and a device by which they interrupt each other. They take turns by
// time, as in package sim.
type Rig[C cpus.CPU] struct {
	CPUs      []C
	Memory    *mmu.Memory
	Directory *mmu.Directory // nil for one CPU
	// Kept returns what package state keeps of a CPU, and Restored makes what follows from that anew. Both are nil where a
	// snapshot has no CPUs of the instruction set.
	Kept     func(C) any
	Restored func(C)
	// Registers returns all that a CPU has, hidden ones too, as a value that == compares.
	Registers func(C) any

	lines []*Line
	rigState
}

// rigState holds the turn that a Rig itself is in.
type rigState struct {
	plan  []plannedInterrupt
	rest  []rest
	acted bool // the CPU whose turn it is has asked the device for something
}

// plannedInterrupt comes at a time, and again after each period unless that is zero.
type plannedInterrupt struct {
	at, every clock.Ticks
	cpu       int
}

// rest says whether a CPU has something to execute.
type rest uint8

const (
	awake rest = iota
	halted
	dead // it has shut down
)

// Times of the device, and of turns.
const (
	ipiTime   = 100 * clock.PerCycle
	lookahead = 25 * clock.PerCycle
)

// planned has a CPU be interrupted at a time, and again and again.
func (r *Rig[C]) planned(cpu int, at, every clock.Ticks) {
	r.plan = append(r.plan, plannedInterrupt{at, every, cpu})
}

// Fill adds CPUs, each of which was made with the Bus of its number. Each is interrupted from some time on.
func (r *Rig[C]) Fill(n int, rng *rand.Rand, add func(i int) C) {
	if n > 1 {
		r.Directory = mmu.NewDirectory(n)
	}
	for i := range n {
		r.CPUs, r.rest = append(r.CPUs, add(i)), append(r.rest, awake)
		r.planned(i, clock.Ticks(1000+rng.IntN(40000)), clock.Ticks(20000+rng.IntN(60000)))
	}
}

// Bus completes a bus for the next CPU, which answers an interrupt with what Acknowledge returns then. Phases change with the code.
func (r *Rig[C]) Bus(b *cpus.Bus, answer uint32) {
	l := &Line{answer: answer}
	r.lines = append(r.lines, l)
	b.Memory, b.Directory, b.Interrupts, b.Device = r.Memory, r.Directory, l, &rigDevice[C]{r, len(r.lines) - 1}
	b.Phase = func(pc uint64) uint8 { return uint8(pc >> 5 & 7) }
	if len(r.CPUs) > 0 {
		b.First = r.CPUs[0]
	}
}

// Line is the interrupt line of a CPU.
type Line struct {
	up     bool
	answer uint32
}

// Pending implements cpus.Interrupts.
func (l *Line) Pending() bool { return l.up }

// Acknowledge implements cpus.Interrupts.
func (l *Line) Acknowledge() uint32 {
	l.up = false
	return l.answer
}

// rigDevice answers a CPU outside of RAM. A store to an address whose bit 3 is clear interrupts the CPU of that number; others say
// that an interrupt was taken.
type rigDevice[C cpus.CPU] struct {
	r   *Rig[C]
	cpu int
}

// Load implements cpus.Device.
func (d *rigDevice[C]) Load(pa uint64, _ int) uint64 { return pa >> 4 & 0xff }

// Store implements cpus.Device.
func (d *rigDevice[C]) Store(pa uint64, _ int, v uint64) {
	r := d.r
	r.acted = true
	if pa&8 != 0 {
		r.lines[d.cpu].up = false
		return
	}
	r.planned(int(v%uint64(len(r.CPUs))), r.CPUs[d.cpu].Now()+ipiTime, 0)
}

// turn lets the next interrupt come, or a CPU run. It reports false when nothing is left to do before a time.
func (r *Rig[C]) turn(until clock.Ticks, run func(c C, limit clock.Ticks) cpus.Exit) bool {
	i, limit := r.next(until)
	if at := r.soonest(); at >= 0 && r.plan[at].at < until && (i < 0 || r.plan[at].at <= r.CPUs[i].Now()) {
		r.interrupt(at)
		return true
	}
	if i < 0 || r.CPUs[i].Now() >= until {
		return false
	}
	r.acted = false
	switch run(r.CPUs[i], limit).Reason {
	case cpus.Halted:
		r.rest[i] = halted
	case cpus.Shutdown, cpus.Native:
		r.rest[i] = dead
	}
	return true
}

// next returns the CPU that is furthest behind, or -1, and how far it may run.
func (r *Rig[C]) next(until clock.Ticks) (cpu int, limit clock.Ticks) {
	cpu, limit = -1, until
	for i, c := range r.CPUs {
		if r.rest[i] == awake && (cpu < 0 || c.Now() < r.CPUs[cpu].Now()) {
			cpu = i
		}
	}
	for i, c := range r.CPUs {
		if r.rest[i] == awake && i != cpu {
			limit = min(limit, c.Now()+lookahead)
		}
	}
	if at := r.soonest(); at >= 0 {
		limit = min(limit, r.plan[at].at)
	}
	return cpu, limit
}

// soonest returns the place of the first planned interrupt, or -1.
func (r *Rig[C]) soonest() int {
	first := -1
	for i, p := range r.plan {
		if first < 0 || p.at < r.plan[first].at {
			first = i
		}
	}
	return first
}

// interrupt has a planned interrupt come.
func (r *Rig[C]) interrupt(at int) {
	p := r.plan[at]
	r.plan = append(r.plan[:at:at], r.plan[at+1:]...)
	if p.every != 0 {
		r.planned(p.cpu, p.at+p.every, p.every)
	}
	c := r.CPUs[p.cpu]
	if r.rest[p.cpu] == dead {
		return
	}
	r.lines[p.cpu].up = true
	c.Interrupt()
	if r.rest[p.cpu] == halted {
		r.rest[p.cpu] = awake
		c.Advance(max(p.at-c.Now(), 0))
	}
}

// view holds what a guest, and a measurement of it, see of a Rig.
type view struct {
	memory uint32
	cpus   []any
}

// cpuView holds the part of a view that one CPU has.
type cpuView struct {
	registers any
	now       clock.Ticks
	counters  cpus.Counters
	rest      rest
}

func (r *Rig[C]) view() view {
	v := view{memory: crc32.ChecksumIEEE(r.Memory.Raw())}
	for i, c := range r.CPUs {
		n := c.Counters()
		v.cpus = append(v.cpus, cpuView{r.Registers(c), c.Now(), *n, r.rest[i]})
	}
	return v
}

// unlike tells what differs between two views.
func (v *view) unlike(w *view) string {
	for i := range v.cpus {
		a, b := v.cpus[i].(cpuView), w.cpus[i].(cpuView)
		switch {
		case a.counters.Instructions != b.counters.Instructions || a.now != b.now:
			return fmt.Sprintf("cpu %d: %d instructions in %d ticks, want %d in %d", i, b.counters.Instructions, b.now,
				a.counters.Instructions, a.now)
		case a.registers != b.registers:
			return fmt.Sprintf("cpu %d: registers %x, want %x", i, b.registers, a.registers)
		case a.counters != b.counters:
			return fmt.Sprintf("cpu %d: counters %s", i, others(&a.counters, &b.counters))
		case a.rest != b.rest:
			return fmt.Sprintf("cpu %d: at rest %d, want %d", i, b.rest, a.rest)
		}
	}
	if v.memory != w.memory {
		return "memory differs"
	}
	return ""
}

// others tells which counters are not what is wanted.
func others(want, got *cpus.Counters) (all string) {
	w, g := reflect.ValueOf(want).Elem(), reflect.ValueOf(got).Elem()
	for i := range w.NumField() {
		if !w.Field(i).Equal(g.Field(i)) {
			all += fmt.Sprintf("%s %v, want %v; ", w.Type().Field(i).Name, g.Field(i), w.Field(i))
		}
	}
	return all
}

// Narrow gives a CPU caches and TLBs so small that all lose something all the time.
func Narrow(cfg *cpus.Config, line int) {
	const cycle = clock.PerCycle
	cfg.Memory = 20 * cycle
	cfg.L1I = mmu.CacheConfig{Size: 16 * line, Ways: 2, Line: line, Latency: 3 * cycle}
	cfg.L1D = cfg.L1I
	cfg.L2 = mmu.CacheConfig{Size: 64 * line, Ways: 4, Line: line, Latency: 8 * cycle}
	cfg.ITLB = mmu.TLBConfig{Entries: 4, Ways: 2, LargeEntries: 2, LargeWays: 2}
	cfg.DTLB = mmu.TLBConfig{Entries: 8, Ways: 2, LargeEntries: 2, LargeWays: 2}
}
