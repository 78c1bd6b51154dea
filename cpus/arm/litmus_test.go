package arm

import (
	"encoding/binary"
	"fmt"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/mmu"
)

// Registers of litmus tests.
const (
	litmusTemp  = 6
	litmusOne   = 7
	litmusTwo   = 8
	litmusDone  = 9
	litmusWords = 10
	opEOR       = 1
)

// litmusRegisters has what steps load, and litmusPlaces the shared words, each in a line of its own.
var (
	litmusRegisters = map[byte]uint32{'a': 3, 'b': 4, 'c': 5}
	litmusPlaces    = map[byte]uint32{'x': litmusWords, 'y': litmusWords + 1, 'z': litmusWords + 2}
	litmusBarriers  = map[string]uint32{"full": 0xf57ff05b, "stores": 0xf57ff05a, "fetch": insnISB}
)

// olderBarriers has them in the form of ARMv6, which knows no barrier between stores alone; and one that does nothing for others.
var olderBarriers = map[string]uint32{"full": mcr(7, 0, 10, 5, 0), "stores": mcr(7, 0, 10, 4, 0), "fetch": mcr(7, 0, 5, 4, 0), "alone": 0xf57ff057}

// litmusSteps are the instructions of a step.
func litmusSteps(step string, barriers map[string]uint32) []uint32 {
	reg, place := litmusRegisters, litmusPlaces
	if b, ok := barriers[step]; ok {
		return []uint32{b}
	}
	update := func(to, at uint32) []uint32 {
		return []uint32{
			always32 | 0x01900f9f | at<<16 | litmusTemp<<12, dataConstant(opADD, 0, litmusTemp, litmusTemp, 1),
			always32 | 0x01800f90 | at<<16 | to<<12 | litmusTemp,
		}
	}
	switch {
	case len(step) == 5 && step[3:] == "++":
		r := reg[step[0]]
		return append(update(r, place[step[2]]), dataConstant(opEOR, 0, r, r, 1))
	case len(step) == 3 && step[1:] == "++":
		return update(litmusDone, place[step[0]])
	case len(step) == 7: // ctrl(a)
		return []uint32{dataConstant(opCMP, 1, reg[step[5]], 0, 0), condEQ<<28 | 0x0affffff}
	case len(step) == 6: // a=x(b)
		r := reg[step[4]]
		return []uint32{data(opEOR, 0, r, litmusTemp, r), always32 | 0x07900000 | place[step[2]]<<16 | reg[step[0]]<<12 | litmusTemp}
	}
	to, from := step[0], step[2]
	switch {
	case reg[to] != 0:
		return []uint32{ldrAt(reg[to], place[from], 0)}
	case reg[from] != 0:
		return []uint32{strAt(reg[from], place[to], 0)}
	}
	return []uint32{strAt(litmusOne+uint32(from-'1'), place[to], 0)}
}

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
	w := newWorld(t, cpus.Throughput, nil)
	w.bus.Directory = mmu.NewDirectory(len(l.CPUs))
	past, data := mmu.NewPast(w.mem), uint64(kernelMap+0x40000)
	var all []*CPU
	m := &cpustest.LitmusMachine{
		Memory: w.mem, Weak: true,
		Code: func(step string) (code [][]byte) {
			for _, x := range litmusSteps(step, barriers) {
				code = append(code, binary.LittleEndian.AppendUint32(nil, x))
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
			return fmt.Sprint(w.mem.Load(binary.LittleEndian, data-kernelMap+0x80*uint64(name[0]-'x'), 4))
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
