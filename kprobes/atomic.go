package kprobes

import (
	"fmt"

	"kprobesim/image"
	"kprobesim/sim"
)

// handling says which probe's handler a CPU is in the middle of, for the scheduler: handlers run
// where nobody may sleep.
// The scheduler asks at every call of schedule(). Where the per-CPU variable lies is looked up
// once for each CPU.
func (k *Kprobes) handling(m *sim.Machine, cpu int) (why string, atomic bool) {
	for i := len(k.current); i <= cpu; i++ {
		k.current = append(k.current, k.perCPUAt(m, i, "current_kprobe"))
	}
	p := k.m.Load(k.current[cpu], image.Field{Size: k.l.list.Size})
	if p == 0 {
		return "", false
	}
	if child := k.perCPU(m, cpu, "kprobe_instance"); child != 0 {
		p = child
	}
	name, off := k.nameOf(k.m.Load(p, k.l.p.addr))
	return fmt.Sprintf("in the kprobe handler %s of the probe at %s+%#x",
		k.handlerOf(p, k.perCPU(m, cpu, "kprobe_ctlblk")), name, off), true
}

// perCPU reads the first word of something that every CPU has.
// That is the pointer current_kprobe or kprobe_instance, or the status in struct kprobe_ctlblk.
func (k *Kprobes) perCPU(m *sim.Machine, cpu int, symbol string) uint64 {
	return k.m.Load(k.perCPUAt(m, cpu, symbol), image.Field{Size: k.l.list.Size})
}

// perCPUAt finds it.
func (k *Kprobes) perCPUAt(m *sim.Machine, cpu int, symbol string) uint64 {
	at, err := m.PerCPU(cpu, symbol)
	if err != nil {
		k.m.Fail(err, "looking for "+symbol+" of a CPU", uint64(cpu))
	}
	return at
}

// statusSSDone is the value of kprobe_ctlblk.kprobe_status while a post handler runs.
// It is KPROBE_HIT_SSDONE of linux/kprobes.h, in every version that is modelled.
const statusSSDone = 8

// handlerOf names the user's function that runs for a probe: with the status of a hit that has been
// stepped its post handler, else that before the instruction. Of a return probe with both it may be
// the one for the entry or the one for the return.
func (k *Kprobes) handlerOf(p, status uint64) string {
	pre := k.m.Load(p, k.l.p.pre)
	switch {
	case status == statusSSDone:
		return k.function(k.m.Load(p, k.l.p.post))
	case pre == k.sym.jprobePre:
		return k.function(k.m.Load(p-k.l.j.kp.Offset, k.l.j.entry))
	case pre != k.sym.returnPre:
		return k.function(pre)
	}
	rp := p - k.l.r.kp.Offset
	handler, entry := k.m.Load(rp, k.l.r.handler), k.m.Load(rp, k.l.r.entry)
	switch {
	case entry == 0:
		return k.function(handler)
	case handler == 0:
		return k.function(entry)
	}
	return k.function(entry) + " or " + k.function(handler)
}

// function names the function at an address.
func (k *Kprobes) function(addr uint64) string {
	if sym, _, ok := k.im.At(k.im.Callee(addr)); ok {
		return k.im.CName(sym.Name)
	}
	return fmt.Sprintf("%#x", addr)
}
