package ppc64

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/mmu"
)

// lightLitmus are tests of lwsync, which lets a load go before an older store, and no other access before another.
var lightLitmus = []cpustest.Litmus{
	{Name: "MP+light+light", CPUs: []string{"x=1 light y=1", "a=y light b=x"}, Allowed: []string{"00", "01", "11"}},
	{Name: "MP+light+addr", CPUs: []string{"x=1 light y=1", "a=y b=x(a)"}, Allowed: []string{"00", "01", "11"}},
	{Name: "SB+light+light", CPUs: []string{"x=1 light a=y", "y=1 light a=x"}, Allowed: []string{"0 0", "0 1", "1 0", "1 1"}},
	{Name: "SB+light+full", CPUs: []string{"x=1 light a=y", "y=1 full a=x"}, Allowed: []string{"0 0", "0 1", "1 0", "1 1"}},
	{Name: "LB+light+light", CPUs: []string{"a=x light y=1", "a=y light x=1"}, Allowed: []string{"0 0", "0 1", "1 0"}},
	{Name: "2+2W+light+light", CPUs: []string{"x=1 light y=2", "y=1 light x=2"}, Final: "x y", Allowed: []string{"1 2", "2 1", "2 2"}},
	{Name: "S+light+data", CPUs: []string{"x=2 light y=1", "a=y x=a"}, Final: "x", Allowed: []string{"0 0", "0 2", "1 1"}},
	{Name: "R+light+full", CPUs: []string{"x=1 light y=1", "y=2 full a=x"}, Final: "y", Allowed: []string{"0 1", "1 1", "1 2"}, Missed: []string{"0 2"}},
	{Name: "R+light+light", CPUs: []string{"x=1 light y=1", "y=2 light a=x"}, Final: "y", Allowed: []string{"0 1", "0 2", "1 1", "1 2"}},
	{
		Name: "WRC+light+addr", CPUs: []string{"x=1", "a=x light y=1", "a=y b=x(a)"},
		Allowed: []string{"0 00", "0 01", "0 10", "0 11", "1 00", "1 01", "1 11"},
	},
}

// TestLitmus tries every order of instructions and of stores that are seen.
func TestLitmus(t *testing.T) {
	for i := range lightLitmus {
		lightLitmus[i].Section = "Book II, 1.7"
	}
	cpustest.RunLitmus(t, append(cpustest.WeakLitmus("Book II, 1.7"), lightLitmus...), litmusMachine)
}

func litmusMachine(t *testing.T, l *cpustest.Litmus) *cpustest.LitmusMachine {
	const temp = 6
	a := cpustest.WeakAssembler{
		Order: binary.BigEndian, Registers: [3]uint32{3, 4, 5}, One: 20, Words: 10, PC: rPC,
		Barriers: map[string]uint32{"full": insnX(31, 0, 0, 0, 598), "light": insnX(31, 1, 0, 0, 598), "stores": insnX(31, 0, 0, 0, 854), "fetch": insnIsync},
		Load:     func(reg, at uint32) uint32 { return insnD(32, reg, at, 0) },
		Store:    func(reg, at uint32) uint32 { return insnD(36, reg, at, 0) },
		Indexed: func(reg, at, by uint32) []uint32 {
			return []uint32{insnX(31, by, temp, by, 316), insnX(31, reg, at, temp, 23)}
		},
		Branch: func(by uint32) []uint32 { return []uint32{compareImm(0, by, 0), branchIf(12, 2, 4)} },
		Update: func(at uint32) []uint32 {
			return []uint32{insnX(31, temp, 0, at, 20), addiTo(temp, temp, 1), insnX(31, temp, 0, at, 150) | 1}
		},
		Done: func(reg uint32) []uint32 { return []uint32{insnX(31, reg, 0, 0, 19), insnM(21, reg, reg, 3, 31, 31)} }, // field 0 of CR has it
	}
	w := newWorld(t, cpus.Throughput, nil)
	w.bus.Directory = mmu.NewDirectory(len(l.CPUs))
	var all []cpustest.WeakCPU
	for range l.CPUs {
		c := w.cpu()
		all = append(all, cpustest.WeakCPU{CPU: c, R: c.R[:], Buffer: c.BufferStores})
	}
	return a.Machine(w.mem, kernelMap, testCode, all)
}
