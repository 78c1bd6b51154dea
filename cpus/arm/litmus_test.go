package arm

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/mmu"
)

var litmusBarriers = map[string]uint32{"full": 0xf57ff05b, "stores": 0xf57ff05a, "fetch": insnISB}

// olderBarriers has them in the form of ARMv6, which knows no barrier between stores alone; and one that does nothing for others.
var olderBarriers = map[string]uint32{"full": mcr(7, 0, 10, 5, 0), "stores": mcr(7, 0, 10, 4, 0), "fetch": mcr(7, 0, 5, 4, 0), "alone": 0xf57ff057}

// TestLitmus tries every order of instructions and of stores that are seen.
func TestLitmus(t *testing.T) {
	cpustest.RunLitmus(t, cpustest.WeakLitmus("ARM ARM, A3.8"), func(t *testing.T, l *cpustest.Litmus) *cpustest.LitmusMachine {
		return litmusMachine(t, l, litmusBarriers)
	})
}

// TestOlderBarriers does so with the barriers of ARMv6, where they do the same.
func TestOlderBarriers(t *testing.T) {
	sb := []string{"0 1", "1 0", "1 1"}
	cpustest.RunLitmus(t, []cpustest.Litmus{
		{Name: "MP", CPUs: []string{"x=1 full y=1", "a=y full b=x"}, Allowed: []string{"00", "01", "11"}},
		{Name: "SB", CPUs: []string{"x=1 full a=y", "y=1 full a=x"}, Allowed: sb},
		{Name: "SB by DSB", CPUs: []string{"x=1 stores a=y", "y=1 stores a=x"}, Allowed: sb},
		{Name: "fetch", CPUs: []string{"x=1 full y=1", "a=y ctrl(a) fetch b=x"}, Allowed: []string{"00", "01", "11"}},
		{Name: "for this CPU alone", CPUs: []string{"x=1 alone a=y", "y=1 full a=x"}, Allowed: append([]string{"0 0"}, sb...)},
	}, func(t *testing.T, l *cpustest.Litmus) *cpustest.LitmusMachine {
		return litmusMachine(t, l, olderBarriers)
	})
}

func litmusMachine(t *testing.T, l *cpustest.Litmus, barriers map[string]uint32) *cpustest.LitmusMachine {
	const temp, done, eor = 6, 9, 1
	a := cpustest.WeakAssembler{
		Order: binary.LittleEndian, Registers: [3]uint32{3, 4, 5}, One: 7, Words: 10, PC: rPC, Barriers: barriers,
		Load:  func(reg, at uint32) uint32 { return ldrAt(reg, at, 0) },
		Store: func(reg, at uint32) uint32 { return strAt(reg, at, 0) },
		Indexed: func(reg, at, by uint32) []uint32 {
			return []uint32{data(eor, 0, by, temp, by), always32 | 0x07900000 | at<<16 | reg<<12 | temp}
		},
		Branch: func(by uint32) []uint32 { return []uint32{dataConstant(opCMP, 1, by, 0, 0), condEQ<<28 | 0x0affffff} },
		Update: func(at uint32) []uint32 {
			return []uint32{
				always32 | 0x01900f9f | at<<16 | temp<<12, dataConstant(opADD, 0, temp, temp, 1),
				always32 | 0x01800f90 | at<<16 | done<<12 | temp,
			}
		},
		Done: func(reg uint32) []uint32 { return []uint32{dataConstant(eor, 0, done, reg, 1)} },
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
