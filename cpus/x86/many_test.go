package x86

import (
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// priorityDevice is a local APIC of which only the task priority register is there.
type priorityDevice struct{ tpr uint64 }

func (d *priorityDevice) Load(pa uint64, _ int) uint64 {
	if pa == 0xfee00080 {
		return d.tpr
	}
	return 0
}

func (d *priorityDevice) Store(pa uint64, _ int, v uint64) {
	if pa == 0xfee00080 {
		d.tpr = v
	}
}

func TestTaskPriorityInCR8(t *testing.T) {
	// mov %rax,%cr8; mov %cr8,%rbx; hlt
	w := newWorld(t, ISA64(), cpus.Throughput, []byte{0x44, 0x0f, 0x22, 0xc0, 0x44, 0x0f, 0x20, 0xc3, 0xf4})
	d := &priorityDevice{}
	w.bus.Device = d
	c := w.cpu()
	c.R[rax] = 5
	c.Run(1 << 40) // to the store, after which the machine looks around
	halt(t, c)
	if d.tpr != 0x50 || c.R[rbx] != 5 {
		t.Errorf("task priority %#x, read back as %d; want 0x50 and 5", d.tpr, c.R[rbx])
	}
	c = w.cpu()
	c.R[rax] = 16
	if e := c.Run(1 << 40); e.Reason != cpus.Shutdown || c.Counts.Exceptions[vecGP] == 0 {
		t.Errorf("16 in CR8: %+v, want #GP", e)
	}
}

func TestLocalAPICStays(t *testing.T) {
	// mov $0x1b,%ecx; rdmsr; wrmsr; xor $0x400,%eax; wrmsr
	w := newWorld(t, ISA64(), cpus.Throughput, []byte{0xb9, 0x1b, 0, 0, 0, 0x0f, 0x32, 0x0f, 0x30, 0x35, 0, 4, 0, 0, 0x0f, 0x30})
	c := w.cpu()
	c.Run(1 << 40)
	if c.R[rax] != 0xfee00d00 || c.Counts.Exceptions[vecGP] != 1 || c.Counts.Unmodelled != 1 {
		t.Errorf("base %#x, %d #GP, %s; want one when it changes", c.R[rax], c.Counts.Exceptions[vecGP], c.Counts.LastUnknown)
	}
}

// TestReset compares a CPU that was reset in the middle of random code with a new one.
func TestReset(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		g := newGen(isa.Bits, 7, 1)
		for _, x := range groups {
			x.build(g)
		}
		for seed := range uint64(20) {
			var code []byte
			for len(code) < 300 {
				code = append(code, g.forms[g.rng.IntN(len(g.forms))].code...)
			}
			w := newWorld(t, isa, cpus.Throughput, nil)
			fuzzPages(w, code)
			c := w.cpu()
			fuzzState(w, c, seed)
			c.Signal(LineNMI)
			c.Run(60 * 500)
			before := c.Now()
			c.Reset()
			fresh := isa.New(0, w.cfg, w.bus).(*CPU)
			fresh.Reset()
			diff := differences(c, fresh)
			require.Need(t, diff == "", "seed %d: %s", seed, diff)
			require.That(t, c.Now() >= before, "time ran back from %d to %d", before, c.Now())
		}
	})
}

// differences names what of the architecture differs between two CPUs.
func differences(a, b *CPU) string {
	switch {
	case a.R != b.R || a.flags() != b.flags() || a.ctl != b.ctl:
		return "registers"
	case a.seg != b.seg || a.segBase != b.segBase || a.cpl != b.cpl || a.User != b.User:
		return "segments"
	case a.gdt != b.gdt || a.idt != b.idt || a.ldt != b.ldt || a.tr != b.tr:
		return "tables"
	case a.cr0 != b.cr0 || a.cr2 != b.cr2 || a.cr3 != b.cr3 || a.cr4 != b.cr4 || a.tables != b.tables:
		return "control registers"
	case a.dreg != b.dreg || a.watchHit != b.watchHit:
		return "debug registers"
	case a.nmi != b.nmi || a.nmiBlocked != b.nmiBlocked || a.Single != b.Single || a.holdTraps != b.holdTraps:
		return "what is held off"
	case a.Halted != b.Halted || a.Stop != b.Stop || a.Check != b.Check || a.fault != b.fault:
		return "what is pending"
	case !slices.Equal(a.SwitchExceptionStack(nil), b.SwitchExceptionStack(nil)):
		return "contexts"
	}
	am, bm := a.msr, b.msr
	am.tscOffset, bm.tscOffset = 0, 0
	if am != bm {
		return "model-specific registers"
	}
	return ""
}
