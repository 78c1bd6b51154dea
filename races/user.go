package races

import (
	"bytes"
	"fmt"

	"kprobesim/image"
	"kprobesim/kprobes"
	"kprobesim/smp"
)

// Processes have address spaces of their own, and all call one function of user mode. Its text is in a page that they
// share, and in copies of it. So there is no one memory that the checker could compare stores with: it looks at what is
// executed, and in the end at every copy.
const (
	userTarget   = "user_mix"
	userReturned = "user_race_returned"
	userEver     = "user_race_ever"
	userSome     = "user_race_some"
	userWritten  = "user_main" // whose first word processes write: it is not executed any more by then
)

// findUserTexts notes the function of user mode, as it is in the file, and the end of its calls.
func (t *trial) findUserTexts(r *forms) error {
	if len(t.l.s.Processes) == 0 {
		return nil
	}
	at, err := t.l.function(userTarget)
	if err != nil {
		return err
	}
	code, err := t.l.linked(at)
	if err != nil {
		return err
	}
	end, err := t.l.symbol(userReturned)
	if err != nil {
		return err
	}
	c := t.checker
	x := newText(userTarget, at[0], code, r)
	x.called, x.user = true, true
	c.texts = append(c.texts, x)
	c.code.mark(textCode, at)
	c.code.mark(returnCode, span{end.Addr, end.Addr + 1})
	return t.findStepping()
}

// linked are bytes of the image as they were linked.
func (l *lab) linked(at span) ([]byte, error) {
	for _, s := range l.im.Segments {
		if from := at[0] - s.VA; s.User && from < uint64(len(s.Data)) {
			return bytes.Clone(s.Data[from:min(from+at[1]-at[0], uint64(len(s.Data)))]), nil
		}
	}
	return nil, fmt.Errorf("image %s has no text of user mode at %#x", l.im.Name, at[0])
}

// findStepping finds how the kernel says that it steps an instruction in its place: the one hit there is has a stage for
// it. Kernels that emulate never take a breakpoint away.
func (t *trial) findStepping() error {
	hit, ok := t.l.im.Symbol("the_hit")
	if !ok {
		return nil
	}
	var probe, stage image.Field
	if _, err := t.l.im.Layout("hit_record", image.Parts{"now.probe": &probe, "now.stage": &stage}); err != nil {
		return err
	}
	copies, err := t.l.im.Enum("HIT_COPY")
	if err != nil {
		return err
	}
	at, ok := t.l.im.Symbol("stepped")
	if !ok {
		return nil
	}
	load := func(base uint64, f image.Field) uint64 {
		v, err := t.m.Load(base+f.Offset, f.Size)
		if err != nil {
			t.m.Stop(err)
		}
		return v
	}
	c := t.checker
	c.steps = steps{
		open:  func() bool { return load(hit.Addr, probe) != 0 && load(hit.Addr, stage) == uint64(copies) },
		place: func() uint64 { return load(at.Addr, image.Field{Size: int(at.Size)}) },
		ended: map[uint64]change{},
	}
	for _, name := range []string{"user_stepped", "user_step_faulted"} {
		fn, err := t.l.function(name)
		if err != nil {
			return err
		}
		c.code.mark(stepCode, fn)
	}
	return nil
}

// processes starts the tasks with address spaces. What their function returns is learned before any probe is there.
func (t *trial) processes() error {
	if len(t.l.s.Processes) == 0 {
		return nil
	}
	var err error
	if t.program, err = t.smp.Program(); err != nil {
		return err
	}
	written, err := t.l.symbol(userWritten)
	if err != nil {
		return err
	}
	for i, p := range t.l.s.Processes {
		arg := uint64(0)
		if p.Writes {
			arg = written.Addr
		}
		for j := range p.Count {
			s, err := t.process(fmt.Sprintf("process%d.%d", i, j), p.CPU, userEver, arg)
			if err != nil {
				return err
			}
			t.spaces = append(t.spaces, s)
		}
	}
	fn, err := t.l.symbol(userTarget)
	if err != nil {
		return err
	}
	const patience = 1000 // jiffies; the first call takes a few
	t.checker.calls.learn = true
	for n := 0; n < patience; n++ {
		if err := t.smp.Sleep(t.call, 1); err != nil {
			return err
		}
		if _, ok := t.checker.calls.results[fn.Addr]; ok {
			t.checker.calls.learn = false
			t.tramp, err = t.k.AddTrampoline(t.call, t.program)
			if err != nil {
				return err
			}
			return t.k.InsertEverywhere(t.call, t.tramp)
		}
	}
	return fmt.Errorf("no process has come to the end of a call of %s within %d jiffies", userTarget, patience)
}

// process starts one.
func (t *trial) process(name string, cpu int, fn string, arg uint64) (*smp.Space, error) {
	_, s, err := t.smp.SpawnProcess(t.call, smp.Process{
		Thread:  smp.Thread{Name: name, CPU: cpu, Bound: true, Fn: fn, Arg: arg},
		Program: t.program, WritableText: true,
	})
	return s, err
}

// spawnShort starts a process that makes some calls and ends, on another CPU than the first.
func (t *trial) spawnShort(a *Action) error {
	n := t.spawned
	t.spawned++
	_, err := t.process(fmt.Sprintf("short%d", n), 1+n%(t.l.s.CPUs-1), userSome, uint64(a.N))
	return err
}

// setUser notes what is known of a probe of user space. Pages come in on any CPU, so none of them knows more of a
// change than the others.
func (t *trial) setUser(i int, e expected) {
	t.checker.calls.set(i, e)
	t.checker.calls.told(i, -1, t.checker.aware())
}

// registerUser puts a probe into every page, and into those that come in later.
func (t *trial) registerUser(i int) error {
	p := &t.l.s.Probes[i]
	if t.users[i] != nil {
		return fmt.Errorf("probe %s is registered already: %w", p.Name, kprobes.EINVAL)
	}
	t.setUser(i, maybe)
	added, err := t.k.AddUser(t.call, kprobes.UserSpec{
		File: t.program, Symbol: p.Target, Offset: t.l.places[i], Handler: t.l.s.handlerName(i),
		Return: p.Kind == kprobes.Kretprobe, MaxActive: p.MaxActive,
	})
	if err == nil {
		t.users[i] = added
		err = t.k.InsertEverywhere(t.call, added)
	}
	if err != nil {
		return err
	}
	t.setUser(i, on)
	return nil
}

// unregisterUser takes it out of every page first.
func (t *trial) unregisterUser(i int) error {
	if t.users[i] == nil {
		return fmt.Errorf("probe %s is not registered: %w", t.l.s.Probes[i].Name, kprobes.EINVAL)
	}
	t.setUser(i, maybe)
	if err := t.k.RemoveUserProbe(t.call, t.users[i]); err != nil {
		return err
	}
	t.users[i] = nil
	t.setUser(i, absent)
	return nil
}

// userPlace is the address of the function in user mode, and where it is in the file.
func (t *trial) userPlace() (at, offset uint64, err error) {
	fn, err := t.l.symbol(userTarget)
	return fn.Addr, fn.Addr - t.program.Base, err
}

// dropPage takes the page that processes share from memory. The next access of each reads the file.
func (t *trial) dropPage() error {
	_, offset, err := t.userPlace()
	if err != nil {
		return err
	}
	return t.smp.Drop(t.call, t.program, offset)
}

// discardPages gives up the copies of the processes that stay.
func (t *trial) discardPages() error {
	at, _, err := t.userPlace()
	if err != nil {
		return err
	}
	for _, s := range t.spaces {
		if err := t.smp.Discard(t.call, s, at); err != nil {
			return err
		}
	}
	return nil
}

// checkPages holds every copy of the function in memory against the file, when no probe is left.
func (t *trial) checkPages() error {
	if t.program == nil {
		return nil
	}
	at, offset, err := t.userPlace()
	if err != nil {
		return err
	}
	x := t.checker.textAt(at)
	for from := at; x.contains(from); from = (from/userPageSize + 1) * userPageSize {
		if err := t.checkPage(x, from, offset+from-at); err != nil {
			return err
		}
	}
	return nil
}

// checkPage holds the part of the function that begins at an address, and ends with its page, against the file.
func (t *trial) checkPage(x *text, from, offset uint64) error {
	want := x.orig[from-x.start:]
	want = want[:min(uint64(len(want)), userPageSize-from%userPageSize)]
	for _, m := range t.smp.Pages(t.program, offset) {
		code, err := t.m.ReadBytes(m.Address+from%userPageSize, len(want))
		if err != nil {
			return err
		}
		for i := range code {
			if code[i] != want[i] {
				at := from + uint64(i)
				t.e.found(Stale, -1, at, fmt.Sprintf("%s is %#02x in a page, not %#02x as compiled, with no probe left",
					x.at(at), code[i], want[i]))
				return nil
			}
		}
	}
	return nil
}

const userPageSize = 4096
