package x86

import (
	"fmt"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/mmu"
)

// litmusCode has the instructions of litmus tests. The words x, y and z lie in lines of their own behind rdi.
var litmusCode = map[string][]byte{
	"x=1":      {0xc7, 0x07, 1, 0, 0, 0},       // movl $1,(%rdi)
	"x=2":      {0xc7, 0x07, 2, 0, 0, 0},       // movl $2,(%rdi)
	"y=1":      {0xc7, 0x47, 0x40, 1, 0, 0, 0}, // movl $1,0x40(%rdi)
	"a=x":      {0x8b, 0x07},                   // mov (%rdi),%eax
	"a=y":      {0x8b, 0x47, 0x40},             // mov 0x40(%rdi),%eax
	"b=x":      {0x8b, 0x1f},                   // mov (%rdi),%ebx
	"b=y":      {0x8b, 0x5f, 0x40},             // mov 0x40(%rdi),%ebx
	"mfence":   {0x0f, 0xae, 0xf0},             //
	"cpuid":    {0x0f, 0xa2},                   // which serializes
	"a=1":      {0xb8, 1, 0, 0, 0},             // mov $1,%eax
	"xchg_x":   {0x87, 0x07},                   // xchg %eax,(%rdi)
	"xchg_y":   {0x87, 0x47, 0x40},             // xchg %eax,0x40(%rdi)
	"x--":      {0xff, 0x0f},                   // decl (%rdi)
	"lock_x--": {0xf0, 0xff, 0x0f},             // lock decl (%rdi)
	"lock_z++": {0xf0, 0xff, 0x47, 0x7c},       // lock incl 0x7c(%rdi)
	"halfword": {0x66, 0xc7, 0x07, 1, 0},       // movw $1,(%rdi)
}

// litmusTests has the manual's examples, in its order, and some for what drains a buffer.
var litmusTests = []cpustest.Litmus{
	{Name: "two stores are seen in order", Section: "SDM vol. 3, 8.2.3.2", CPUs: []string{"x=1 y=1", "a=y b=x"}, Allowed: []string{"00", "01", "11"}},
	{Name: "a store does not go before an older load", Section: "SDM vol. 3, 8.2.3.3", CPUs: []string{"a=x y=1", "a=y x=1"}, Allowed: []string{"0 0", "0 1", "1 0"}},
	{Name: "a load goes before an older store", Section: "SDM vol. 3, 8.2.3.4", CPUs: []string{"x=1 a=y", "y=1 a=x"}, Allowed: []string{"0 0", "0 1", "1 0", "1 1"}},
	{Name: "but not to the same place", Section: "SDM vol. 3, 8.2.3.4", CPUs: []string{"x=1 a=x"}, Allowed: []string{"1"}},
	{Name: "a CPU sees its own stores first", Section: "SDM vol. 3, 8.2.3.5", CPUs: []string{"x=1 a=x b=y", "y=1 a=y b=x"}, Allowed: []string{"10 10", "10 11", "11 10", "11 11"}},
	{
		Name: "stores are seen transitively", Section: "SDM vol. 3, 8.2.3.6",
		CPUs:    []string{"x=1", "a=x y=1", "a=y b=x"},
		Allowed: []string{"0 00", "0 01", "0 10", "0 11", "1 00", "1 01", "1 11"},
	},
	{
		Name: "all others see stores in one order", Section: "SDM vol. 3, 8.2.3.7",
		CPUs:    []string{"x=1", "y=1", "a=x b=y", "a=y b=x"},
		Allowed: []string{"00 00", "00 01", "00 10", "00 11", "01 00", "01 01", "01 10", "01 11", "10 00", "10 01", "10 11", "11 00", "11 01", "11 10", "11 11"},
	},
	{
		Name: "locked instructions have one order", Section: "SDM vol. 3, 8.2.3.8",
		CPUs: []string{"a=1 xchg_x", "a=1 xchg_y", "a=x b=y", "a=y b=x"},
		Allowed: []string{
			"0 0 00 00", "0 0 00 01", "0 0 00 10", "0 0 00 11", "0 0 01 00", "0 0 01 01", "0 0 01 10", "0 0 01 11", "0 0 10 00",
			"0 0 10 01", "0 0 10 11", "0 0 11 00", "0 0 11 01", "0 0 11 10", "0 0 11 11",
		},
	},
	{Name: "loads do not go before locked instructions", Section: "SDM vol. 3, 8.2.3.9", CPUs: []string{"a=1 xchg_x b=y", "a=1 xchg_y b=x"}, Allowed: []string{"00 01", "01 00", "01 01"}},
	{Name: "stores do not either", Section: "SDM vol. 3, 8.2.3.9", CPUs: []string{"a=1 xchg_x y=1", "a=y b=x"}, Allowed: []string{"0 00", "0 01", "0 11"}},
	{Name: "a fence drains", Section: "SDM vol. 3, 8.2.5", CPUs: []string{"x=1 mfence a=y", "y=1 mfence a=x"}, Allowed: []string{"0 1", "1 0", "1 1"}},
	{Name: "a serializing instruction drains", Section: "SDM vol. 3, 8.3", CPUs: []string{"x=1 cpuid a=y", "y=1 cpuid a=x"}, Allowed: []string{"0 1", "1 0", "1 1"}},
	{Name: "one fence does not do", Section: "SDM vol. 3, 8.2.5", CPUs: []string{"x=1 mfence a=y", "y=1 a=x"}, Allowed: []string{"0 0", "0 1", "1 0", "1 1"}},
	{Name: "a locked instruction elsewhere drains", Section: "SDM vol. 3, 8.2.5", CPUs: []string{"x=1 lock_z++ a=y", "y=1 lock_z++ a=x"}, Allowed: []string{"0 1", "1 0", "1 1"}},
	{Name: "a decrement may be lost", Section: "SDM vol. 3, 8.1.1", CPUs: []string{"x--", "x--"}, Final: "x", Allowed: []string{"-1", "-2"}},
	{Name: "a locked one is not", Section: "SDM vol. 3, 8.1.2", CPUs: []string{"lock_x--", "lock_x--"}, Final: "x", Allowed: []string{"-2"}},
	{Name: "the last store stays", Section: "SDM vol. 3, 8.2.3.2", CPUs: []string{"x=1", "x=2"}, Final: "x", Allowed: []string{"1", "2"}},
	{Name: "a part of what was stored is found", Section: "SDM vol. 3, 8.2.2", CPUs: []string{"x=1 halfword a=x"}, Final: "x", Allowed: []string{"1 1"}},
}

// TestLitmus tries every order of instructions and drained stores.
func TestLitmus(t *testing.T) {
	cpustest.RunLitmus(t, litmusTests, func(t *testing.T, l *cpustest.Litmus) *cpustest.LitmusMachine {
		w, all := neighbours(t, len(l.CPUs), cpus.Throughput)
		m := &cpustest.LitmusMachine{
			Memory: w.mem,
			Code:   func(step string) [][]byte { return [][]byte{litmusCode[step]} },
			Place:  func(cpu int) uint64 { return testCode - kernelMap + uint64(cpu)*0x1000 },
			Reset: func(cpu int) {
				w.mem.Write(testData-directMap, make([]byte, 256))
				c := all[cpu]
				c.R[rRIP] = testCode + uint64(cpu)*0x1000
				c.R[rax], c.R[rbx], c.R[rcx], c.R[rdi] = 0, 0, 0, w.at(testData)
			},
			Register: func(cpu int, name string) string {
				return fmt.Sprint(uint32(all[cpu].R[map[string]int{"a": rax, "b": rbx}[name]]))
			},
			Word: func(string) string {
				return fmt.Sprint(int32(w.mem.Load(w.isa.Order, testData-directMap, 4)))
			},
		}
		for _, c := range all {
			b := mmu.NewStoreBuffer(w.mem, 4, nil)
			c.BufferStores(b)
			m.CPUs, m.Buffers = append(m.CPUs, c), append(m.Buffers, b)
		}
		return m
	})
}
