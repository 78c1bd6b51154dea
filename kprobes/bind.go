package kprobes

import (
	"errors"
	"fmt"
	"slices"

	"kprobesim/image"
	"kprobesim/sim"
	"kprobesim/smp"
)

// New prepares Kprobes for a machine's kernel and gives the guest's native slots their functions.
// The image names the era of its kernel. What the API of that era lacks answers ENOSYS here, where
// a module of the time would not have been linked.
func New(m *sim.Machine, im *image.Image, kernel *smp.Kernel, arch *Arch, opt Options) (*Kprobes, error) {
	k, err := build(m, im, kernel, arch, opt)
	if err != nil {
		return nil, err
	}
	k.watch, k.console = m.Note, m.Print
	_, k.absent = im.Symbol("kernel_without_kprobes")
	for _, f := range k.files() {
		kernel.AddFile(f)
	}
	kernel.Atomic(func(cpu int) (string, bool) { return k.handling(m, cpu) })
	for _, n := range append(k.natives(), k.userNatives()...) {
		if slices.Contains(k.era.lacks, n.name) {
			n.f = func(*sim.Call) error { return ENOSYS }
		}
		m.Bind(n.name, func(c *sim.Call) uint64 { return k.answer(m, n.name, n.f(c)) })
	}
	return k, nil
}

// Show has f called behind everything that registration and the optimizer store into guest memory: a search lets other
// CPUs go on there. As a rule nothing does, and all stores between two guest functions are one.
func (k *Kprobes) Show(f func()) { k.m.shown = f }

// native is one function of the API as the guest calls it.
type native struct {
	name string
	f    func(*sim.Call) error
}

// natives lists the functions by the names of linux/kprobes.h, but for two. The guest calls kfree for a return instance
// that comes home after its probe has gone, and text_poke_note at each step of a patch.
func (k *Kprobes) natives() []native {
	list := []native{
		{"kfree", func(c *sim.Call) error {
			if p := c.Arg(0); p != 0 { // of NULL it does nothing
				k.m.free(p)
			}
			return k.m.take()
		}},
		{"text_poke_note", func(c *sim.Call) error {
			k.notePatch(c, c.Arg(0), c.Arg(1), c.Arg(2))
			return nil
		}},
	}
	for _, kind := range []Kind{Kprobe, Kretprobe, Jprobe} {
		list = append(list, k.callsOf(kind)...)
	}
	return list
}

// callsOf lists the calls for structures of a kind, with one of them or an array. Jprobes cannot be switched on and off.
func (k *Kprobes) callsOf(kind Kind) []native {
	list := []native{
		{"register_%s", func(c *sim.Call) error { return k.Register(c, kind, c.Arg(0)) }},
		{"unregister_%s", func(c *sim.Call) error { return k.Unregister(c, kind, c.Arg(0)) }},
		{"register_%ss", func(c *sim.Call) error { return k.RegisterAll(c, kind, k.pointers(c.Arg(0), c.Arg(1))...) }},
		{"unregister_%ss", func(c *sim.Call) error { return k.Unregister(c, kind, k.pointers(c.Arg(0), c.Arg(1))...) }},
	}
	if kind != Jprobe {
		list = append(list,
			native{"enable_%s", func(c *sim.Call) error { return k.Enable(c, &Probe{Kind: kind, Addr: c.Arg(0)}) }},
			native{"disable_%s", func(c *sim.Call) error { return k.Disable(c, &Probe{Kind: kind, Addr: c.Arg(0)}) }})
	}
	for i := range list {
		list[i].name = fmt.Sprintf(list[i].name, kind)
	}
	return list
}

// answer turns an error into the guest's return value. An error that is not the API's is a
// failure of the simulated machine and ends the run.
func (k *Kprobes) answer(m *sim.Machine, name string, err error) uint64 {
	var e Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.Return()
	}
	m.Stop(fmt.Errorf("%s: %w", name, err))
	return EINVAL.Return()
}

// pointers reads an array of pointers that the guest passes with its length, an int.
func (k *Kprobes) pointers(array, num uint64) []uint64 {
	const most = 1 << 16 // more is a length that was never meant
	n := int32(num)
	if n <= 0 || n > most {
		return nil
	}
	ps := make([]uint64, n)
	for i := range ps {
		ps[i] = k.m.Load(array+uint64(i*k.l.list.Size), k.l.list)
	}
	return ps
}
