package sim

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// Native is a function in Go that the guest calls through a slot of its section .native. It runs
// while its CPU stands still in the slot, and takes the simulated time that it charges.
type Native func(c *Call) uint64

// boundNative is the function of one slot, with what native needs to tell returns from calls.
type boundNative struct {
	name string
	f    Native
	back bool // it is returnSlot
}

// Call is one call of a native function. The function runs as a coroutine: InvokeSym leaves it for a
// guest function, which may in turn let other tasks run, and comes back when that returns. sp is the
// stack pointer from before the guest function was called, which its return restores.
type Call struct {
	m    *Machine
	cpu  int
	name string
	args [6]uint64
	out  uint64
	run  *coroutine
	sp   uint64
	back uint64 // result of the guest function that was waited for
}

// request is a guest function that a native one waits for.
type request struct {
	fn   cpus.Entry
	args []uint64
	done bool // the native function has returned: nothing to wait for
	rest bool // it goes on when its CPU has its next turn
}

// CPU returns the number of the CPU that the call runs on. It changes when a guest function that was
// invoked returns on another: its task was moved.
func (c *Call) CPU() int { return c.cpu }

// Now returns the time of that CPU.
func (c *Call) Now() clock.Ticks { return c.m.cpus[c.cpu].Now() }

// Arg returns integer argument i, from 0 to 5.
func (c *Call) Arg(i int) uint64 { return c.args[i] }

// Charge lets simulated time pass for the work of the native function. The work of Go itself takes
// none, so that what is modelled is stated by the caller.
func (c *Call) Charge(cycles int64) { c.m.cpus[c.cpu].Advance(clock.FromCycles(cycles)) }

// abandoned unwinds a coroutine whose machine has stopped.
type abandoned struct{}

// InvokeSym calls the guest function of a name, and returns its result. Its instructions take simulated time. It panics
// when the machine has stopped: no frame of the native function may go on then.
func (c *Call) InvokeSym(name string, args ...uint64) (uint64, error) {
	f, ok := c.m.image.Func(name)
	if !ok {
		return 0, fmt.Errorf("image %s has no function %s", c.m.image.Name, name)
	}
	if !c.run.yield(request{fn: cpus.Entry{PC: f.Entry, TOC: f.TOC}, args: args}) {
		panic(abandoned{})
	}
	return c.back, nil
}

// Yield lets a policy choose who goes on, in the middle of the native function that runs. Its CPU stands in the slot
// meanwhile, where interrupts may strike it and its task may be moved. Without a policy it does nothing.
func (m *Machine) Yield() {
	c := m.calling
	if m.cfg.Policy == nil || c == nil {
		return
	}
	if !c.run.yield(request{rest: true}) {
		panic(abandoned{})
	}
}

// Bind gives a native function to its slot. It must happen before Run; binding a name that the image
// does not use is allowed.
func (m *Machine) Bind(name string, f Native) { m.bound[name] = f }

// bindMachine binds what the machine itself offers.
func (m *Machine) bindMachine() {
	m.bindLibrary()
	m.Bind("sim_roi", nothing)
	m.Bind("sim_cpu_online", nothing)
	m.Bind("sim_printk", m.printk)
	m.Bind("sim_panic", func(c *Call) uint64 {
		msg, err := m.ReadString(c.Arg(0))
		if err != nil {
			msg = err.Error()
		}
		m.Stop(fmt.Errorf("guest panic on cpu %d: %s; %s%s", c.cpu, strings.TrimSpace(msg), m.where(c.cpu), m.lastWords()))
		return 0
	})
	m.Bind("native_return", func(c *Call) uint64 {
		m.Stop(fmt.Errorf("cpu %d returned to the native side with no call waiting at stack %#x", c.cpu, m.cpus[c.cpu].SP()))
		return 0
	})
}

// nothing answers what the guest tells those that watch it.
func nothing(*Call) uint64 { return 0 }

// lastWords is the end of the console, for error messages.
func (m *Machine) lastWords() string {
	s := strings.TrimSpace(m.console.String())
	if s == "" {
		return ""
	}
	lines := strings.Split(s, "\n")
	return "\nguest console:\n  " + strings.Join(lines[max(0, len(lines)-5):], "\n  ")
}

// checkNatives binds the slots and reports those that nobody bound. A slot without a function would
// otherwise fail when it is called, perhaps millions of cycles later.
func (m *Machine) checkNatives() error {
	m.natives = map[uint64]boundNative{}
	var missing []string
	for _, s := range m.image.Natives {
		f, ok := m.bound[s.Name]
		if !ok {
			missing = append(missing, s.Name)
		}
		m.natives[s.Addr] = boundNative{s.Name, f, s.Name == returnSlot}
	}
	if missing == nil {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("image %s: native functions that nothing provides: %s (bind them or remove them from the guest's section .native)",
		m.image.Name, strings.Join(missing, ", "))
}

// native starts or resumes the call that a CPU stands at. The stack pointer tells which suspended
// call a return belongs to: a task that sleeps in a call has its stack for itself, on whatever CPU
// it wakes.
func (m *Machine) native(i int) {
	p := m.cpus[i]
	if m.called != nil {
		m.called(i)
	}
	if c := m.rested[p.SP()]; c != nil {
		delete(m.rested, p.SP())
		c.cpu = i
		m.resume(c)
		return
	}
	n, ok := m.natives[p.PC()]
	if n.back {
		if c := m.pending[p.SP()]; c != nil {
			delete(m.pending, p.SP())
			c.cpu = i
			c.back = p.Returned(c.sp)
			m.resume(c)
			return
		}
	}
	if !ok {
		m.Stop(fmt.Errorf("cpu %d jumped into the middle of a native slot; %s", i, m.where(i)))
		return
	}
	c := &Call{m: m, cpu: i, name: n.name}
	for a := range c.args {
		c.args[a] = p.Arg(a)
	}
	c.run = m.coroutine()
	c.run.call, c.run.f = c, n.f
	m.resume(c)
}

// coroutine is where native calls run, one after the other. Each keeps the stack that its calls have
// made grow, which is why they are used again.
type coroutine struct {
	call  *Call
	f     Native
	next  func() (request, bool)
	stop  func()
	yield func(request) bool
}

// coroutine returns one that has no call.
func (m *Machine) coroutine() *coroutine {
	if n := len(m.resting); n > 0 {
		r := m.resting[n-1]
		m.resting = m.resting[:n-1]
		return r
	}
	r := new(coroutine)
	r.next, r.stop = iter.Pull(func(yield func(request) bool) {
		defer func() {
			if v := recover(); v != nil && v != (abandoned{}) {
				panic(v)
			}
		}()
		r.yield = yield
		for more := true; more; more = yield(request{done: true}) {
			r.call.out = r.f(r.call)
		}
	})
	return r
}

// It is the return address that Go gives the guest functions which it calls.
const returnSlot = "native_return"

// resume runs a call until it ends or wants a guest function. sim_main is the boot task's call: when
// it returns the run is over.
func (m *Machine) resume(c *Call) {
	m.calling = c
	r, _ := c.run.next()
	m.calling = nil
	p := m.cpus[c.cpu]
	switch {
	case r.rest:
		m.rested[p.SP()], m.gaveWay = c, true
		return
	case r.done:
		m.resting = append(m.resting, c.run)
		p.Return(c.out)
		if c.name == "sim_main" {
			m.Stop(nil)
		}
		return
	}
	ret, ok := m.image.Func(returnSlot)
	if !ok {
		m.Stop(fmt.Errorf("image %s has no native slot %s, so Go cannot call guest functions", m.image.Name, returnSlot))
		return
	}
	c.sp = p.SP()
	m.pending[p.Call(r.fn, ret.Entry, m.cfg.Layout.Stack, r.args...)] = c
}

// release ends the coroutines that still wait when the machine stops. They end in order of their
// stack pointers, because deferred functions of theirs could show an order.
func (m *Machine) release() {
	for _, calls := range []map[uint64]*Call{m.pending, m.rested} {
		for _, sp := range slices.Sorted(maps.Keys(calls)) {
			calls[sp].run.stop()
		}
		clear(calls)
	}
	for _, r := range m.resting {
		r.stop()
	}
	m.resting = nil
}
