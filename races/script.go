package races

import (
	"errors"
	"fmt"

	"kprobesim/internal/doc"
	"kprobesim/kprobes"
	"kprobesim/smp"
)

// scriptError is a mistake of a scenario that shows only when it runs.
// It is reported as a mistake of the file with its place, and never counts as a violation.
type scriptError struct {
	pos doc.Pos
	err error
}

func (e *scriptError) Error() string { return fmt.Sprintf("%s: %v", e.pos, e.err) }

// script runs every action once and then brings everything back to where it began.
// So the next schedule on this machine begins with no probe registered.
func (t *trial) script() error {
	join, err := t.startBeside()
	if err != nil {
		return err
	}
	if err := t.actions(t.l.s.Script); err != nil {
		return err
	}
	if err := join(); err != nil {
		return err
	}
	return t.cleanUp()
}

func (t *trial) actions(all []Action) error {
	for i := range all {
		if err := t.act(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

// startBeside has a task on the last CPU do its part of the scenario, and returns what waits for its end. Its actions know
// the trial, but for the call that they are made in.
func (t *trial) startBeside() (join func() error, err error) {
	if len(t.l.s.Beside) == 0 {
		return func() error { return nil }, nil
	}
	task, err := t.smp.GoOn(t.call, t.l.s.CPUs-1, "beside", func(c smp.Caller) error {
		own := *t
		own.call = c
		t.beside = own.actions(t.l.s.Beside)
		return nil
	})
	return func() error {
		if err := t.smp.Join(t.call, task); err != nil {
			return err
		}
		return t.beside
	}, err
}

// act runs one action. What the kernel's interface refuses is a mistake of the script, unless the
// kernel is a mutant, which may refuse what it has spoilt itself: then the script goes on without.
func (t *trial) act(a *Action) error {
	if t.acting != nil {
		t.acting(t.call.CPU(), a.line)
	}
	err := a.do(t, a)
	var no kprobes.Errno
	switch {
	case t.spoilt(err):
		return nil
	case errors.As(err, &no):
		return &scriptError{a.Pos, err}
	}
	return err
}

// spoilt reports whether a mutant has refused something.
func (t *trial) spoilt(err error) bool {
	var no kprobes.Errno
	return t.l.mutant != "" && errors.As(err, &no)
}

// each stops at the first error, which ends the schedule.
func (t *trial) each(a *Action, f func(i int) error) error {
	for _, i := range a.Probes {
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// register lets the checker know before the API starts, as other CPUs hit the breakpoint before
// the call returns.
func (t *trial) register(i int) error {
	if t.probes[i] != nil {
		return fmt.Errorf("probe %s is registered already: %w", t.l.s.Probes[i].Name, kprobes.EINVAL)
	}
	p := &t.l.s.Probes[i]
	switch {
	case p.User:
		return t.registerUser(i)
	case p.Module && !t.module.loaded:
		return fmt.Errorf("probe %s has its handler in a module that is not loaded: %w", p.Name, kprobes.ENOENT)
	}
	t.set(i, maybe)
	added, err := t.k.Add(t.call, kprobes.Spec{
		Kind: p.Kind, Symbol: p.Target, Offset: t.l.places[i], Handler: t.l.s.handlerName(i), MaxActive: p.MaxActive,
	})
	if err != nil {
		t.set(i, absent)
		return err
	}
	t.probes[i] = added
	t.set(i, on)
	t.promised(i)
	return nil
}

// promised tells the checker that the kernel has changed a function's first nop, and that all CPUs have it. Events tell
// of jumps.
func (t *trial) promised(i int) {
	p := t.checker.calls.probes[i]
	if x := t.checker.textAt(p.addr); x != nil && t.l.isEntry(p.addr) {
		x.promise(p.addr)
	}
}

// set notes what is known of a probe from now on.
func (t *trial) set(probe int, e expected) {
	t.checker.calls.set(probe, e)
	t.checker.calls.told(probe, t.checker.storer, t.checker.aware())
}

// unregister takes the probes of an action away, one after the other.
func (t *trial) unregister(a *Action) error {
	for _, i := range a.Probes {
		if t.l.s.Probes[i].User {
			if err := t.unregisterUser(i); err != nil {
				return err
			}
			continue
		}
		if t.probes[i] == nil {
			return fmt.Errorf("probe %s is not registered: %w", t.l.s.Probes[i].Name, kprobes.EINVAL)
		}
		if err := t.checkMissed(i); err != nil {
			return err
		}
		t.set(i, maybe)
		if err := t.k.Remove(t.call, t.probes[i]); err != nil {
			return err
		}
		t.probes[i] = nil
		t.set(i, absent)
		t.promised(i)
	}
	return nil
}

// checkMissed wants hits of a nested probe to be counted. Of each CPU the last hit may be on its way, and the count of one before may
// not be seen yet. Counts that two CPUs add to at a time may be lost, but for the first. So are hits in interrupts that strike in the middle of
// others. Any other probe misses none: no interrupt may strike there.
func (t *trial) checkMissed(i int) error {
	p := t.checker.calls.probes[i]
	st, err := t.k.State(t.probes[i].Addr)
	switch {
	case p.nested && p.missed > 2*t.l.s.CPUs && st.NMissed == 0 && t.k.Year() != 2005: // which loses the probe instead
		t.e.found(Missed, -1, p.addr, fmt.Sprintf("probe %s was hit %d times in a handler, and has counted none", p.name, p.missed))
	case p.strikes && p.missed-int(st.NMissed) > 2*t.l.s.CPUs:
		t.e.found(Missed, -1, p.addr, fmt.Sprintf("interrupts have hit probe %s %d times in the middle of other hits, and it has counted %d", p.name, p.missed, st.NMissed))
	case !p.nested && !p.strikes && st.NMissed != 0 && t.l.s.Probes[i].Kind == kprobes.Kprobe:
		t.e.found(Missed, -1, p.addr, fmt.Sprintf("probe %s has counted %d missed hits, and stands in no handler", p.name, st.NMissed))
	}
	p.missed = 0
	return err
}

// toggle claims the new state only when the API has returned, which is all that it promises.
func (t *trial) toggle(i int, s expected, f func(kprobes.Caller, *kprobes.Probe) error) error {
	if t.probes[i] == nil {
		return fmt.Errorf("probe %s is not registered: %w", t.l.s.Probes[i].Name, kprobes.EINVAL)
	}
	t.set(i, maybe)
	if err := f(t.call, t.probes[i]); err != nil {
		return err
	}
	t.set(i, s)
	t.promised(i)
	return nil
}

// expect holds a probe against the mode that the script says it has by now, so that a scenario tests
// what it means to. Mutants may differ.
func (t *trial) expect(a *Action, i int) error {
	if t.l.mutant != "" || t.probes[i] == nil {
		return nil
	}
	st, err := t.k.State(t.probes[i].Addr)
	if err != nil || a.met(st) {
		return err
	}
	want := a.Mode.String()
	if a.Queued {
		want = queued
	}
	err = fmt.Errorf("probe %s is %s, not %s", t.l.s.Probes[i].Name, st.Mode, want)
	if st.Refusal != nil {
		err = fmt.Errorf("%w: %s (rule %s)", err, st.Refusal.Text, st.Refusal.Rule)
	}
	return &scriptError{a.Pos, err}
}

// await waits until a probe is as the script says, without asking for it: what the kernel has put off comes by itself.
func (t *trial) await(a *Action, i int) error {
	for range awaitPatience {
		if t.probes[i] == nil {
			return nil // a mutant has refused it
		}
		st, err := t.k.State(t.probes[i].Addr)
		if err != nil || a.met(st) {
			return err
		}
		if err := t.smp.Sleep(t.call, 1); err != nil {
			return err
		}
	}
	t.e.found(Hung, -1, t.checker.calls.probes[i].addr, fmt.Sprintf("%s: probe %s is not within %d jiffies", a.line, t.l.s.Probes[i].Name, awaitPatience))
	return nil
}

// awaitPatience is in jiffies, and many times what any kernel takes.
const awaitPatience = 500

// stop stops the machine for nothing.
func (t *trial) stop() error {
	return t.smp.StopMachine(t.call, func(smp.Caller) error { return nil })
}

// met reports whether a probe is as the action expects it: any with a breakpoint is one.
func (a *Action) met(st kprobes.State) bool {
	switch {
	case a.Queued:
		return st.Queued
	case a.Mode == kprobes.Stepped:
		return st.Mode == kprobes.Stepped || st.Mode == kprobes.Emulated || st.Mode == kprobes.Boosted
	}
	return st.Mode == a.Mode
}

// cleanUp takes away what the script has left and waits until the optimizer has nothing to do. Then
// every text must be what it was.
// It is part of the schedule: other CPUs go on calling while the last probes go.
func (t *trial) cleanUp() error {
	for i, p := range t.probes {
		if p != nil {
			if err := t.unregister(&Action{Probes: []int{i}}); err != nil && !t.spoilt(err) {
				return err
			}
		}
	}
	if t.module.loaded {
		if err := t.rmmod(&Action{}); err != nil {
			return err
		}
	}
	for i, p := range t.users {
		if p == nil {
			continue
		}
		if err := t.unregisterUser(i); err != nil {
			return err
		}
	}
	if err := t.checkPages(); err != nil {
		return err
	}
	for w, nr := range t.watches {
		if nr < 0 {
			continue
		}
		if err := t.clearWatch(len(t.l.s.Probes) + w); err != nil {
			return err
		}
	}
	if err := t.k.WaitOptimizer(t.call); err != nil {
		return err
	}
	t.checker.restored()
	return t.checkLeaks()
}

// checkLeaks holds what slots, detour buffers and aggregates take against what they took before any probe was registered. The
// optimizer may have to wait for tasks before it frees the last of them.
func (t *trial) checkLeaks() error {
	for n := 0; t.k.Busy() && n < leakPatience; n++ {
		if err := errors.Join(t.smp.Sleep(t.call, 1), t.k.WaitOptimizer(t.call)); err != nil {
			return err
		}
	}
	f, err := t.k.Footprint()
	if f.Sum() != t.taken {
		t.e.found(Leaked, -1, 0, fmt.Sprintf("%d bytes are taken with no probe left, %d of slots and %d of detour buffers, and %d were before",
			f.Sum(), f.Slots, f.Detours, t.taken))
	}
	return errors.Join(err, t.checkHeld())
}

// checkHeld holds what the kernel has allocated against the fewest that an earlier schedule of the machine has left: all schedules end
// alike, but for return instances that are out, which tasks bring home. Memory of tasks that end is kept for others, so scenarios with
// such tasks are left out.
func (t *trial) checkHeld() error {
	if len(t.l.s.Processes)+len(t.l.s.Beside) > 0 {
		return nil
	}
	for n := 0; t.held > 0 && t.m.Held() > t.held && n < leakPatience; n++ {
		if err := t.smp.Sleep(t.call, 1); err != nil {
			return err
		}
	}
	held := t.m.Held()
	if t.held > 0 && held > t.held {
		t.e.found(Leaked, -1, 0, fmt.Sprintf("%d pieces of memory are taken with no probe left, and %d were before", held, t.held))
	}
	t.held = held
	return nil
}

// leakPatience is in jiffies.
const leakPatience = 100

// moduleName is the text of the guest that can be unloaded.
const moduleName = "work_module"

// unload keeps callers out of the module and takes its text away.
// Nobody may be executing a module that goes. The kernel sees to that by counting its users, the
// script by pausing callers.
func (t *trial) unload() error {
	if err := t.pause(1); err != nil {
		return err
	}
	module, err := t.l.between("__module_text_start", "__module_text_end")
	if err != nil {
		return err
	}
	for i, p := range t.checker.calls.probes {
		if module.contains(p.fn) {
			t.set(i, maybe)
		}
	}
	if err := t.k.Unload(t.call, moduleName); err != nil {
		return err
	}
	t.checker.replaced(module, true)
	return nil
}

// load brings the text back and lets callers in.
func (t *trial) load() error {
	if err := t.k.Load(t.call, moduleName); err != nil {
		return err
	}
	module, err := t.l.between("__module_text_start", "__module_text_end")
	if err != nil {
		return err
	}
	t.checker.replaced(module, false)
	return t.pause(0)
}

// pause keeps callers from calling, once they have returned, or lets them go on.
// Each pause has a number, which callers repeat when they have seen it: one left over from the
// pause before is no answer.
func (t *trial) pause(v uint64) error {
	if v != 0 {
		t.pauses++
		v = t.pauses
	}
	for _, at := range t.callers {
		if err := t.m.Store(at+t.fields.pause.Offset, t.fields.pause.Size, v); err != nil {
			return err
		}
	}
	for _, at := range t.callers {
		for v != 0 {
			paused, err := t.m.Load(at+t.fields.paused.Offset, t.fields.paused.Size)
			if err != nil || paused == v {
				break
			}
			if err := t.smp.Sleep(t.call, 1); err != nil {
				return err
			}
		}
	}
	return nil
}
