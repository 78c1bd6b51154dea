package ppc64

import (
	"encoding/binary"
	"fmt"
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

// Registers of litmus tests.
const (
	litmusTemp  = 6
	litmusOne   = 20
	litmusTwo   = 21
	litmusWords = 10
)

// litmusRegisters has what steps load, and litmusPlaces the shared words, each in a line of its own.
var (
	litmusRegisters = map[byte]uint32{'a': 3, 'b': 4, 'c': 5}
	litmusPlaces    = map[byte]uint32{'x': litmusWords, 'y': litmusWords + 1, 'z': litmusWords + 2}
	litmusBarriers  = map[string]uint32{"full": insnX(31, 0, 0, 0, 598), "light": insnX(31, 1, 0, 0, 598), "stores": insnX(31, 0, 0, 0, 854), "fetch": insnIsync}
)

// litmusSteps are the instructions of a step.
func litmusSteps(step string) []uint32 {
	reg, place := litmusRegisters, litmusPlaces
	if b, ok := litmusBarriers[step]; ok {
		return []uint32{b}
	}
	var to, from byte
	update := func(at uint32) []uint32 {
		return []uint32{insnX(31, litmusTemp, 0, at, 20), addiTo(litmusTemp, litmusTemp, 1), insnX(31, litmusTemp, 0, at, 150) | 1}
	}
	switch {
	case len(step) == 5 && step[3:] == "++": // and field 0 of the condition register has whether it was done
		r := reg[step[0]]
		return append(update(place[step[2]]), insnX(31, r, 0, 0, 19), insnM(21, r, r, 3, 31, 31))
	case len(step) == 3 && step[1:] == "++":
		return update(place[step[0]])
	case len(step) == 7: // ctrl(a)
		return []uint32{compareImm(0, reg[step[5]], 0), branchIf(12, 2, 4)}
	case len(step) == 6: // a=x(b)
		r := reg[step[4]]
		return []uint32{insnX(31, r, litmusTemp, r, 316), insnX(31, reg[step[0]], place[step[2]], litmusTemp, 23)}
	}
	to, from = step[0], step[2]
	switch {
	case reg[to] != 0:
		return []uint32{insnD(32, reg[to], place[from], 0)}
	case reg[from] != 0:
		return []uint32{insnD(36, reg[from], place[to], 0)}
	}
	return []uint32{insnD(36, litmusOne+uint32(from-'1'), place[to], 0)}
}

// TestLitmus tries every order of instructions and of stores that are seen.
func TestLitmus(t *testing.T) {
	for i := range lightLitmus {
		lightLitmus[i].Section = "Book II, 1.7"
	}
	cpustest.RunLitmus(t, append(cpustest.WeakLitmus("Book II, 1.7"), lightLitmus...), litmusMachine)
}

func litmusMachine(t *testing.T, l *cpustest.Litmus) *cpustest.LitmusMachine {
	w := newWorld(t, cpus.Throughput, nil)
	w.bus.Directory = mmu.NewDirectory(len(l.CPUs))
	past, data := mmu.NewPast(w.mem), uint64(kernelMap+0x40000)
	var all []*CPU
	m := &cpustest.LitmusMachine{
		Memory: w.mem, Weak: true,
		Code: func(step string) (code [][]byte) {
			for _, x := range litmusSteps(step) {
				code = append(code, binary.BigEndian.AppendUint32(nil, x))
			}
			return code
		},
		Place: func(cpu int) uint64 { return testCode - kernelMap + uint64(cpu)*0x1000 },
		Reset: func(cpu int) {
			w.mem.Write(data-kernelMap, make([]byte, 0x180))
			c := all[cpu]
			c.R[rPC] = testCode + uint64(cpu)*0x1000
			for _, r := range litmusRegisters {
				c.R[r] = 0
			}
		},
		Register: func(cpu int, name string) string { return fmt.Sprint(uint32(all[cpu].R[litmusRegisters[name[0]]])) },
		Word: func(name string) string {
			return fmt.Sprint(w.mem.Load(binary.BigEndian, data-kernelMap+0x80*uint64(name[0]-'x'), 4))
		},
	}
	for i := range l.CPUs {
		c := w.cpu()
		all = append(all, c)
		b := past.Buffer(4, nil)
		c.BufferStores(b)
		b.Touch(data - kernelMap)
		c.R[litmusOne], c.R[litmusTwo] = 1, 2
		for j := range uint64(3) {
			c.R[litmusWords+j] = data + 0x80*j
		}
		m.CPUs, m.Buffers = append(m.CPUs, all[i]), append(m.Buffers, b)
	}
	return m
}
