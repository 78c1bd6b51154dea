package kprobes

import (
	"fmt"

	"kprobesim/image"
	"kprobesim/sim"
)

// handling says which probe's handler a CPU is in the middle of, for the scheduler: handlers run
// where nobody may sleep. The scheduler asks at every call of schedule().
func (k *Kprobes) handling(m *sim.Machine, cpu int) (why string, atomic bool) {
	for i := len(k.current); i <= cpu; i++ {
		k.current = append(k.current, k.recordOf(m, i))
	}
	hit := k.current[cpu]
	p := k.m.Load(hit, k.l.hit.probe)
	if p == 0 || !k.holds(cpu) {
		return "", false
	}
	if child := k.m.Load(hit, k.l.hit.child); child != 0 {
		p = child
	}
	name, off := k.nameOf(k.m.Load(p, k.l.p.addr))
	return fmt.Sprintf("in the kprobe handler %s of the probe at %s+%#x",
		k.handlerOf(p, k.m.Load(hit, k.l.hit.stage)), name, off), true
}

// recordOf finds the struct hit_record of a CPU, which all CPUs share where one lock guards all hits.
func (k *Kprobes) recordOf(m *sim.Machine, cpu int) uint64 {
	if k.sym.oneHit != 0 {
		return k.sym.oneHit
	}
	at, err := m.PerCPU(cpu, "hit_record")
	if err != nil {
		k.m.Fail(err, "looking for hit_record of a CPU", uint64(cpu))
	}
	return at
}

// holds reports whether what the record tells is about this CPU.
func (k *Kprobes) holds(cpu int) bool {
	return k.sym.hitCPU == 0 || k.m.Load(k.sym.hitCPU, image.Field{Size: 4}) == uint64(cpu)
}

// stageAfter is the value of struct hit's stage while a post handler runs: HIT_AFTER of linux/hit.h.
const stageAfter = 8

// handlerOf names the user's function that runs for a probe: at the stage of a hit that has been
// stepped its post handler, else that before the instruction. Of a return probe with both it may be
// the one for the entry or the one for the return.
func (k *Kprobes) handlerOf(p, stage uint64) string {
	pre := k.m.Load(p, k.l.p.pre)
	switch {
	case stage == stageAfter:
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
	if name, _, ok := k.im.In(k.im.Callee(addr)); ok {
		return name
	}
	return fmt.Sprintf("%#x", addr)
}
