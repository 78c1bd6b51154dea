package gdb

import (
	"errors"
	"fmt"
	"slices"

	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// Attach is told of a machine before its first instruction. What it returns is to be called when the run is over or has
// come to its point, and returns when the debugger lets go.
type Attach func(m *sim.Machine, probes func() (string, error)) (end func(error))

// Run makes a machine, has it attached, and runs it to its end. Every run is the same. It may begin with a machine
// that has run already, if all its CPUs are before a time.
type Run func(before clock.Ticks, attach Attach) error

// position is a place in a run: before an instruction of a CPU. Instructions may retire at one time, and an instruction that
// raises an exception may come again, so a count or a time alone are not enough.
type position struct {
	cpu   int
	count uint64
	time  clock.Ticks
}

// reason says why a machine stands still.
type reason uint8

const (
	stepped reason = iota
	broke
	watched
	interrupted
	began // nothing is before it
	ended // nothing is behind it
)

// stop is a machine that stands still.
type stop struct {
	reason
	cpu   int
	watch watch  // for watched
	addr  uint64 // of the access
	text  string // for ended: the end
}

// watch is a range of data that gdb watches: the type of the packet Z, 2 for writes, 3 for reads, 4 for both.
type watch struct {
	typ    byte
	lo, hi uint64
}

// player runs a machine forwards, and backwards by running another one.
type player struct {
	run       Run
	breaks    map[uint64]bool
	watches   []watch
	inst      *instance
	first     position
	interrupt <-chan struct{} // gdb wants the machine to stop
}

// errKilled ends the run of a machine that is not wanted any more.
var errKilled = errors.New("the debugger has ended the run")

// errDiffers is a defect of this program.
var errDiffers = errors.New("the machine does not come to the same place in a second run")

// begin starts the first machine and has it stand before its first instruction.
func (p *player) begin() error {
	p.start(goal{step: 0, steps: true}, 0)
	st, err := p.wait()
	switch {
	case err != nil:
		return err
	case st.reason == ended:
		return errors.New("the run ended before its first instruction: " + st.text)
	}
	p.first = p.inst.at
	return nil
}

// start starts a machine that does not run yet.
func (p *player) start(g goal, before clock.Ticks) {
	p.kill()
	i := &instance{p: p, goal: g, stopped: make(chan stop), resume: make(chan struct{}), done: make(chan error, 1)}
	p.inst = i
	go func() { i.done <- p.run(before, i.attach) }()
}

// kill ends the run of the present machine.
func (p *player) kill() {
	if p.inst != nil && p.inst.m != nil {
		p.inst.dead = true
		p.inst.resume <- struct{}{}
		<-p.inst.done
	}
	p.inst = nil
}

// release lets the present machine run to its end without a debugger, and returns how it ended.
func (p *player) release() error {
	p.inst.free = true
	p.inst.resume <- struct{}{}
	return <-p.inst.done
}

// wait waits for the machine to stand still.
func (p *player) wait() (stop, error) {
	for {
		select {
		case st := <-p.inst.stopped:
			return st, nil
		case err := <-p.inst.done:
			p.inst = nil
			return stop{}, errors.Join(err, errors.New("the run is over"))
		case <-p.interrupt:
			p.inst.wanted.Store(true)
		}
	}
}

// forward lets the machine run on: to the next instruction of a CPU, or to what stops it.
func (p *player) forward(cpu int, steps bool) (stop, error) {
	if p.inst.over {
		return p.inst.last, nil
	}
	p.inst.goal = goal{step: cpu, steps: steps}
	p.inst.arm()
	p.inst.resume <- struct{}{}
	st, err := p.wait()
	if err == nil && st.reason == watched && p.inst.m.ISA().GDB.Early {
		err = p.seek(p.inst.hit.position)
	}
	return st, err
}

// backward goes back to the instruction of a CPU before this one, or to the last one that gdb stops at.
func (p *player) backward(cpu int, steps bool) (stop, error) {
	find := p.lastHit
	if steps {
		find = func() (stop, position, error) { return p.previous(cpu) }
	}
	st, to, err := find()
	if err != nil || st.reason == interrupted {
		return st, err
	}
	return st, p.seek(to)
}

// firstSlack is how long before a position all instructions are looked at, in a first try. It is longer than nearly all
// blocks of instructions take, and passes in milliseconds of the host.
const firstSlack = 20_000 * clock.PerCycle

// seek runs a new machine up to a position. It looks at all instructions from some time before.
func (p *player) seek(to position) error {
	for slack := clock.Ticks(firstSlack); ; slack *= 16 {
		from := max(to.time-slack, 0)
		p.start(goal{until: &to, from: from}, from)
		st, err := p.wait()
		switch {
		case err != nil || st.reason != ended:
			return err
		case from == 0:
			return errDiffers
		}
	}
}

// again runs a new machine to where the present one stands. It may begin at any time before one.
func (p *player) again(g goal, before clock.Ticks) (stop, error) {
	at, over := p.inst.at, p.inst.over
	g.until = &at
	p.start(g, before)
	st, err := p.wait()
	if err == nil && st.reason == ended && !over {
		err = errDiffers
	}
	return st, err
}

// previous finds the instruction of a CPU before the present one. The present machine knows it, or another one that
// looks at more instructions.
func (p *player) previous(cpu int) (stop, position, error) {
	for slack := clock.Ticks(firstSlack); ; slack *= 16 {
		if to, ok := p.inst.behind[cpu]; ok {
			return stop{reason: stepped, cpu: cpu}, to, nil
		}
		if p.inst.goal.from == 0 && p.inst.goal.until != nil || p.inst.at == p.first {
			return stop{reason: began, cpu: p.first.cpu}, p.first, nil
		}
		from := max(p.inst.at.time-slack, 0)
		if st, err := p.again(goal{from: from}, from); err != nil || st.reason == interrupted {
			return st, position{}, err
		}
	}
}

// lastHit finds the last breakpoint or watchpoint before the present instruction. Where a run may begin late it looks from
// ever earlier on.
func (p *player) lastHit() (stop, position, error) {
	for back := clock.Ticks(firstSlack); ; back *= 16 {
		at := p.inst.at.time
		st, err := p.again(goal{notes: true, from: at - firstSlack}, max(at-back, 0))
		if err != nil || st.reason == interrupted {
			return st, position{}, err
		}
		switch h := p.inst.hit; {
		case h == nil && p.inst.origin == 0:
			return stop{reason: began, cpu: p.first.cpu}, p.first, nil
		case h == nil:
		case h.reason == watched && p.inst.m.ISA().GDB.Early:
			return h.stop, h.after, nil // gdb steps back over the access
		default:
			return h.stop, h.position, nil
		}
	}
}

// change notes other breakpoints or watchpoints.
func (p *player) change(add bool, typ byte, addr, n uint64) error {
	if typ < '2' {
		p.breaks[addr] = add
		return nil
	}
	if n == 0 || addr+n < addr {
		return fmt.Errorf("%d bytes at %#x cannot be watched", n, addr)
	}
	w := watch{typ, addr, addr + n}
	p.watches = slices.DeleteFunc(p.watches, func(o watch) bool { return o == w })
	if add {
		p.watches = append(p.watches, w)
	}
	return nil
}
