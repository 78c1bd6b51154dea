package cpustest

import (
	"encoding/binary"
	"fmt"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// WeakAssembler writes the steps of WeakLitmus, whose registers a, b and c are Registers. The register Words has the address of
// x, and the next two have the addresses of y and z. One holds 1, and the register behind it 2.
type WeakAssembler struct {
	Order          binary.AppendByteOrder
	Registers      [3]uint32
	Words, One, PC uint32
	Barriers       map[string]uint32
	Load, Store    func(reg, at uint32) uint32
	// Indexed loads from an address that depends on a register.
	Indexed func(reg, at, by uint32) []uint32
	// Branch branches to the next instruction, by a register.
	Branch func(by uint32) []uint32
	// Update adds one to a reserved word, and Done sets a register to whether that was done.
	Update func(at uint32) []uint32
	Done   func(reg uint32) []uint32
}

// step are the instructions of a step.
func (a *WeakAssembler) step(step string) []uint32 {
	if b, ok := a.Barriers[step]; ok {
		return []uint32{b}
	}
	reg := func(i int) uint32 { return a.Registers[step[i]-'a'] }
	at := func(i int) uint32 { return a.Words + uint32(step[i]-'x') }
	switch loads := step[0] <= 'c'; {
	case len(step) == 7: // ctrl(a)
		return a.Branch(reg(5))
	case len(step) == 6: // a=x(b)
		return a.Indexed(reg(0), at(2), reg(4))
	case len(step) == 5: // a=x++
		return append(a.Update(at(2)), a.Done(reg(0))...)
	case step[1] == '+': // x++
		return a.Update(at(0))
	case loads:
		return []uint32{a.Load(reg(0), at(2))}
	case step[2] <= '9': // x=1
		return []uint32{a.Store(a.One+uint32(step[2]-'1'), at(0))}
	}
	return []uint32{a.Store(reg(2), at(0))}
}

// WeakCPU is a CPU with its registers, and what gives it a buffer.
type WeakCPU struct {
	CPU    cpus.CPU
	R      []uint64
	Buffer func(*mmu.StoreBuffer)
}

// Machine is a litmus machine of such CPUs with weak order. The first one's code lies at code, where memory of the address linear is the
// first of RAM. Shared words lie in lines of their own.
func (a *WeakAssembler) Machine(mem *mmu.Memory, linear, code uint64, all []WeakCPU) *LitmusMachine {
	const words, apart = 0x40000, 0x80
	past := mmu.NewPast(mem)
	entry := func(cpu int) uint64 { return code + uint64(cpu)*0x1000 }
	m := &LitmusMachine{
		Memory: mem, Weak: true,
		Code: func(step string) (code [][]byte) {
			for _, x := range a.step(step) {
				code = append(code, a.Order.AppendUint32(nil, x))
			}
			return code
		},
		Place: func(cpu int) uint64 { return entry(cpu) - linear },
		Reset: func(cpu int) {
			mem.Write(words, make([]byte, 3*apart))
			all[cpu].R[a.PC] = entry(cpu)
			for _, r := range a.Registers {
				all[cpu].R[r] = 0
			}
		},
		Register: func(cpu int, name string) string { return fmt.Sprint(uint32(all[cpu].R[a.Registers[name[0]-'a']])) },
		Word: func(name string) string {
			return fmt.Sprint(mem.Load(a.Order.(binary.ByteOrder), words+apart*uint64(name[0]-'x'), 4))
		},
	}
	for _, c := range all {
		b := past.Buffer(4, nil)
		c.Buffer(b)
		b.Touch(words)
		c.R[a.One], c.R[a.One+1] = 1, 2
		for j := range uint64(3) {
			c.R[uint64(a.Words)+j] = linear + words + apart*j
		}
		m.CPUs, m.Buffers = append(m.CPUs, c.CPU), append(m.Buffers, b)
	}
	return m
}

// WeakLitmus are the litmus tests of weakly ordered memory that are the same for POWER and ARM, of which section names that of the
// manual. Steps are named for what they are for:
//
//	x=1	stores, x=a the value of a register
//	a=x	loads, a=x(b) from an address that depends on a register
//	a=x++	adds one to a reserved word, and loads whether that was done; x++ does it and loads nothing
//	full	a barrier between all accesses
//	stores	a barrier between stores
//	ctrl(a)	a branch that depends on a register
//	fetch	synchronizes the context
func WeakLitmus(section string) []Litmus {
	mp := []string{"00", "01", "10", "11"}
	mpOrdered := []string{"00", "01", "11"}
	sb := []string{"0 0", "0 1", "1 0", "1 1"}
	sbOrdered := sb[1:]
	lb := sb[:3]
	tests := []Litmus{
		{Name: "MP", CPUs: []string{"x=1 y=1", "a=y b=x"}, Allowed: mp},
		{Name: "MP+stores+po", CPUs: []string{"x=1 stores y=1", "a=y b=x"}, Allowed: mp},
		{Name: "MP+po+full", CPUs: []string{"x=1 y=1", "a=y full b=x"}, Allowed: mp},
		{Name: "MP+po+addr", CPUs: []string{"x=1 y=1", "a=y b=x(a)"}, Allowed: mp},
		{Name: "MP+stores+full", CPUs: []string{"x=1 stores y=1", "a=y full b=x"}, Allowed: mpOrdered},
		{Name: "MP+full+full", CPUs: []string{"x=1 full y=1", "a=y full b=x"}, Allowed: mpOrdered},
		{Name: "MP+stores+stores", CPUs: []string{"x=1 stores y=1", "a=y stores b=x"}, Allowed: mp},
		{Name: "MP+stores+addr", CPUs: []string{"x=1 stores y=1", "a=y b=x(a)"}, Allowed: mpOrdered},
		{Name: "MP+stores+ctrl", CPUs: []string{"x=1 stores y=1", "a=y ctrl(a) b=x"}, Allowed: mp},
		{Name: "MP+stores+fetch", CPUs: []string{"x=1 stores y=1", "a=y fetch b=x"}, Allowed: mp},
		{Name: "MP+stores+ctrlfetch", CPUs: []string{"x=1 stores y=1", "a=y ctrl(a) fetch b=x"}, Allowed: mpOrdered},
		{Name: "PPOCA", CPUs: []string{"x=1 stores y=1", "a=y ctrl(a) z=1 b=z c=x(b)"}, Allowed: []string{"010", "011", "110", "111"}},
		{Name: "SB", CPUs: []string{"x=1 a=y", "y=1 a=x"}, Allowed: sb},
		{Name: "SB+full+po", CPUs: []string{"x=1 full a=y", "y=1 a=x"}, Allowed: sb},
		{Name: "SB+stores+stores", CPUs: []string{"x=1 stores a=y", "y=1 stores a=x"}, Allowed: sb},
		{Name: "SB+full+full", CPUs: []string{"x=1 full a=y", "y=1 full a=x"}, Allowed: sbOrdered},
		{Name: "LB", CPUs: []string{"a=x y=1", "a=y x=1"}, Allowed: lb, Missed: []string{"1 1"}},
		{Name: "LB+data+data", CPUs: []string{"a=x y=a", "a=y x=a"}, Allowed: []string{"0 0"}},
		{Name: "LB+ctrl+ctrl", CPUs: []string{"a=x ctrl(a) y=1", "a=y ctrl(a) x=1"}, Allowed: lb},
		{Name: "LB+full+full", CPUs: []string{"a=x full y=1", "a=y full x=1"}, Allowed: lb},
		{Name: "S", CPUs: []string{"x=2 y=1", "a=y x=1"}, Final: "x", Allowed: []string{"0 1", "0 2", "1 1", "1 2"}},
		{Name: "S+stores+po", CPUs: []string{"x=2 stores y=1", "a=y x=1"}, Final: "x", Allowed: []string{"0 1", "0 2", "1 1"}, Missed: []string{"1 2"}},
		{Name: "S+stores+data", CPUs: []string{"x=2 stores y=1", "a=y x=a"}, Final: "x", Allowed: []string{"0 0", "0 2", "1 1"}},
		{Name: "R", CPUs: []string{"x=1 y=1", "y=2 a=x"}, Final: "y", Allowed: []string{"0 1", "0 2", "1 1", "1 2"}},
		{Name: "R+stores+po", CPUs: []string{"x=1 stores y=1", "y=2 a=x"}, Final: "y", Allowed: []string{"0 1", "0 2", "1 1", "1 2"}},
		{Name: "R+full+full", CPUs: []string{"x=1 full y=1", "y=2 full a=x"}, Final: "y", Allowed: []string{"0 1", "1 1", "1 2"}},
		{Name: "2+2W", CPUs: []string{"x=1 y=2", "y=1 x=2"}, Final: "x y", Allowed: []string{"1 1", "1 2", "2 1", "2 2"}},
		{Name: "2+2W+stores+stores", CPUs: []string{"x=1 stores y=2", "y=1 stores x=2"}, Final: "x y", Allowed: []string{"1 2", "2 1", "2 2"}},
		{Name: "2+2W+full+full", CPUs: []string{"x=1 full y=2", "y=1 full x=2"}, Final: "x y", Allowed: []string{"1 2", "2 1", "2 2"}},
		{Name: "CoRR", CPUs: []string{"x=1", "a=x b=x"}, Allowed: []string{"00", "01", "11"}},
		{Name: "CoRR of two", CPUs: []string{"x=1", "x=2", "a=x b=x"}, Allowed: []string{"00", "01", "02", "11", "12", "21", "22"}},
		{Name: "CoRR by two", CPUs: []string{"x=1 x=2", "a=x b=x"}, Allowed: []string{"00", "01", "02", "11", "12", "22"}},
		{Name: "CoWW", CPUs: []string{"x=1 x=2", "a=x"}, Final: "x", Allowed: []string{"0 2", "1 2", "2 2"}},
		{Name: "CoWR", CPUs: []string{"x=1 a=x", "x=2"}, Final: "x", Allowed: []string{"1 1", "1 2", "2 2"}},
		{Name: "CoRW", CPUs: []string{"a=x x=1", "x=2"}, Final: "x", Allowed: []string{"0 1", "0 2", "2 1"}},
		{Name: "a reserved word", CPUs: []string{"a=x++", "a=x++"}, Final: "x", Allowed: []string{"0 1 1", "1 0 1", "1 1 2"}},
		{Name: "a reserved word and a store", CPUs: []string{"a=x++", "x=2"}, Final: "x", Allowed: []string{"0 2", "1 2", "1 3"}},
		{Name: "a conditional store goes before an older one", CPUs: []string{"x=1 y++", "a=y full b=x"}, Allowed: mp},
		{Name: "but not across a barrier", CPUs: []string{"x=1 stores y++", "a=y full b=x"}, Allowed: mpOrdered},
		{Name: "WRC+data+addr", CPUs: []string{"x=1", "a=x y=a", "a=y b=x(a)"}, Allowed: []string{"0 00", "0 01", "1 00", "1 01", "1 11"}, Missed: []string{"1 10"}},
		{Name: "WRC+full+addr", CPUs: []string{"x=1", "a=x full y=1", "a=y b=x(a)"}, Allowed: []string{"0 00", "0 01", "0 10", "0 11", "1 00", "1 01", "1 11"}},
		{Name: "IRIW+full+full", CPUs: []string{"x=1", "y=1", "a=x full b=y", "a=y full b=x"}, Allowed: iriw},
		{Name: "IRIW+addr+addr", CPUs: []string{"x=1", "y=1", "a=x b=y(a)", "a=y b=x(a)"}, Allowed: iriw, Missed: []string{"10 10"}},
		{Name: "IRIW", CPUs: []string{"x=1", "y=1", "a=x b=y", "a=y b=x"}, Allowed: append([]string{"10 10"}, iriw...)},
	}
	for i := range tests {
		tests[i].Section = section
	}
	return tests
}

// iriw lists the loads of two CPUs that agree on the order of two stores.
var iriw = []string{
	"00 00", "00 01", "00 10", "00 11", "01 00", "01 01", "01 10", "01 11", "10 00", "10 01", "10 11", "11 00", "11 01", "11 10", "11 11",
}
