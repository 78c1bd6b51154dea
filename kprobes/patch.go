package kprobes

import (
	"fmt"
	"slices"

	"kprobesim/image"
)

// Protocols by which several bytes of text are changed while other CPUs may execute them. A breakpoint, or
// what stood in its place, is a store under all of them, behind which every CPU synchronizes where Arch.SyncsBreakpoints.
const (
	// PatchStop stores while every other CPU spins with interrupts off, a whole batch in one stop.
	PatchStop = "stop_machine"
	// PatchStopEach stops the machine once for each site, and undoes a jump as soon as it is not wanted any
	// more: Linux 2.6.34 to 2.6.37.
	PatchStopEach = "stop_machine-each"
	// PatchBreakpoint puts a breakpoint in front, changes what is behind it, then the first byte,
	// and has every CPU synchronize after each of the three.
	PatchBreakpoint = "breakpoint"
	// PatchBatch is the same for a whole batch: breakpoints in front of all, all that is behind them,
	// all first bytes, with three synchronizations in all.
	PatchBatch = "breakpoint-batch"
	// PatchStore is one store of all bytes, where a jump is as long as a breakpoint and the processor fetches
	// either whole.
	PatchStore = "store"
)

// Patchings lists the protocols. An architecture has some of them.
func Patchings() []string {
	return []string{PatchStop, PatchStopEach, PatchBreakpoint, PatchBatch, PatchStore}
}

// patches reports whether the architecture's kernels have a protocol.
func (o *Optimizer) patches(protocol string) bool { return slices.Contains(o.Patchings, protocol) }

// stops reports whether a protocol changes text while the machine stands still.
func stops(protocol string) bool { return protocol == PatchStop || protocol == PatchStopEach }

// behindBreakpoints reports whether they have one by which a breakpoint may be hit that is no probe's.
func (o *Optimizer) behindBreakpoints() bool {
	return o.patches(PatchBreakpoint) || o.patches(PatchBatch)
}

// Grace periods that the optimizer waits for before it replaces instructions.
const (
	QuiesceSched = "sched" // every CPU has switched tasks: covers code that cannot be preempted
	QuiesceTasks = "tasks" // every task has given up its CPU by itself
	// QuiesceStacks is no grace period: the machine stands still, and the stacks of all tasks are looked through.
	QuiesceStacks = "stacks"
	// QuiesceFreeze is none either: all tasks are held where they have given up their CPUs by themselves, as kernels with
	// CONFIG_FREEZER did before they reused out-of-line slots. Where copies run by a jump back they may boost then.
	QuiesceFreeze = "freeze"
)

// Quiesces lists the values of Options.Quiesce.
func Quiesces() []string { return []string{QuiesceSched, QuiesceTasks, QuiesceStacks, QuiesceFreeze} }

// Steps of a patch, as the guest names them to the native text_poke_note.
const (
	stepBreakpoint = iota // a breakpoint in the place of the first byte
	stepTail              // the bytes behind the first one
	stepFirst             // the first byte, the last to be changed
	stepWhole             // all bytes while the machine stands still
	stepRestore           // the first byte back in the place of a breakpoint
	stepSync              // a CPU has dropped what it had fetched
	steps
)

// stepName is how a step is told to watchers.
func stepName(step uint64) string {
	return [steps]string{"breakpoint", "tail", "first", "whole", "restore", ""}[min(step, steps-1)]
}

// check says what is wrong with the options and fills in what they leave open.
func (o Options) check() (Options, error) {
	for _, x := range []struct {
		value   *string
		name    string
		allowed []string // the first is the default
	}{
		{&o.Patching, "patching", append([]string{""}, Patchings()...)},
		{&o.Quiesce, "quiesce", Quiesces()},
		{&o.Mutant, "mutant", append([]string{""}, Mutants()...)},
	} {
		if *x.value == "" {
			*x.value = x.allowed[0]
		}
		if !slices.Contains(x.allowed, *x.value) {
			return o, fmt.Errorf("%s = %q: must be one of %q", x.name, *x.value, x.allowed)
		}
	}
	if o.Batch <= 0 {
		o.Batch = Default().Batch
	}
	return o, nil
}

// poke has the guest store one byte, or bytes that nobody can be executing.
func (k *Kprobes) poke(c Caller, addr uint64, code []byte, step uint64) error {
	if err := k.stage(code); err != nil {
		return err
	}
	_, err := c.InvokeSym("text_poke_patch", addr, k.scratch, uint64(len(code)), k.patch, step)
	return err
}

// pokeLive has the guest change several bytes behind a breakpoint that leads to the detour.
// The guest answers when every CPU has synchronized for the third time.
func (k *Kprobes) pokeLive(c Caller, addr uint64, code []byte, detour uint64) error {
	if err := k.stage(code); err != nil {
		return err
	}
	_, err := c.InvokeSym("text_poke_bp", addr, k.scratch, uint64(len(code)), detour, k.patch)
	return err
}

// stage puts the bytes where the guest can copy them from.
func (k *Kprobes) stage(code []byte) error {
	k.m.write(k.scratch, code)
	return k.m.take()
}

// byteAt changes the first byte of a site, a patch of its own.
func (k *Kprobes) byteAt(c Caller, s *site, code []byte, step uint64) error {
	k.patch++
	return k.poke(c, s.addr, code, step)
}

// sync waits until every CPU has dropped what it had fetched before a breakpoint came or went, where the kernel does. A CPU that serves
// a hit has interrupts off, so that it has done with it by then.
func (k *Kprobes) sync(c Caller, step uint64) error {
	if !k.arch.SyncsBreakpoints {
		return nil
	}
	_, err := c.InvokeSym("text_poke_sync", k.patch, step)
	return err
}

// rewrite gives the bytes that a jump covers at a site and what stands there afterwards.
type rewrite struct {
	code func(*site) ([]byte, error)
	then textState
}

// replace changes the text of a batch of sites by the kernel's protocol.
func (k *Kprobes) replace(c Caller, batch []*site, r rewrite) error {
	switch {
	case len(batch) == 0:
		return nil
	case k.opt.Mutant == MutantBareJump || k.opt.Patching == PatchStore:
		return r.each(batch, func(s *site, code []byte) error { return k.byteAt(c, s, code, stepWhole) })
	case k.opt.Patching == PatchBreakpoint && k.jump.Vectors:
		for _, s := range batch {
			if err := k.pokeBatch(c, []*site{s}, r); err != nil {
				return err
			}
		}
		return nil
	case k.opt.Patching == PatchBreakpoint:
		return r.each(batch, func(s *site, code []byte) error {
			k.patch++
			return k.pokeLive(c, s.addr, code, s.detour)
		})
	case k.opt.Patching == PatchBatch:
		return k.replaceBatch(c, batch, r)
	case k.opt.Patching == PatchStopEach:
		return r.each(batch, func(s *site, code []byte) error {
			k.patch++
			return k.stopped(c, func(c Caller) error { return k.poke(c, s.addr, code, stepWhole) })
		})
	}
	return k.replaceStopped(c, batch, r)
}

// replaceStopped changes a batch while nobody else executes anything. Every CPU synchronizes for the
// number that it finds in the guest's variable when it goes on.
func (k *Kprobes) replaceStopped(c Caller, batch []*site, r rewrite) error {
	k.patch++
	return k.stopped(c, func(c Caller) error {
		return r.each(batch, func(s *site, code []byte) error { return k.poke(c, s.addr, code, stepWhole) })
	})
}

// stopped makes the present patch while nobody else executes anything.
func (k *Kprobes) stopped(c Caller, store func(Caller) error) error {
	k.m.Store(k.sym.pokeStopped, image.Field{Size: 4}, k.patch)
	err := k.smp.StopMachine(c, store)
	k.m.Store(k.sym.pokeStopped, image.Field{Size: 4}, 0)
	return err
}

// each stores the new bytes at every site of a batch.
func (r rewrite) each(batch []*site, store func(s *site, code []byte) error) error {
	for _, s := range batch {
		code, err := r.code(s)
		if err != nil {
			return err
		}
		if err := store(s, code); err != nil {
			return err
		}
		s.text = r.then
	}
	return nil
}

// quiesce waits until no task can be in the middle of instructions that have a breakpoint in front
// of them, or in a detour buffer that no jump leads to and that the optimizer will free.
func (k *Kprobes) quiesce(c Caller) error { return k.quiesceSites(c, nil) }

// quiesceSites waits also until no task can be in the detour buffers of more sites.
func (k *Kprobes) quiesceSites(c Caller, also []*site) error {
	switch k.opt.Quiesce {
	case QuiesceTasks:
		return k.smp.SynchronizeTasks(c)
	case QuiesceStacks:
		return k.clearStacks(c, also)
	case QuiesceFreeze:
		return k.smp.FreezeTasks(c, k.opt.Mutant == MutantFreezeAnywhere)
	}
	return k.smp.SynchronizeSched(c)
}

// grace waits until nobody can hold a pointer to what was unlinked before, or be in a slot.
func (k *Kprobes) grace(c Caller) error {
	if k.opt.Mutant == MutantFreeEarly {
		return nil
	}
	return k.smp.SynchronizeSched(c)
}
