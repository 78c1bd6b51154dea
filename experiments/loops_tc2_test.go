package experiments_test

import (
	"encoding/binary"
	"math"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/arm"
	"kprobesim/cpus/cpustest"
	"kprobesim/experiments/exptest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/machines"
	"kprobesim/mmu"
)

// tc2Cycles runs copies of a body without a kernel and returns the cycles of a warm repetition of all of them. r3
// points to memory that holds its own address, r4 to other memory; r5 is zero, r6 three, and r12 counts.
func tc2Cycles(t *testing.T, m *machines.Machine, body []uint32, times int) float64 {
	t.Helper()
	const ram, at, va, data = 16 << 20, 0x200000, 0xc000_0000, 0x300000
	isa := arm.ISA()
	mem := cpustest.Memory(t, ram)
	root := require.Must(isa.Tables(mem, ram/2, []mmu.Mapping{{VA: va, Writable: true, Exec: true, Limit: ram / 2}}))(t)
	code := []uint32{0xe3a05000, 0xe3a06003, 0xe1a0c002, 0xe1a03000, 0xe1a04001} // mov r5, #0; mov r6, #3; mov r12, r2; mov r3, r0; mov r4, r1
	for range times {
		code = append(code, body...)
	}
	back := uint32(-(len(body)*times + 3)) & 0xffffff
	code = append(code, 0xe25cc001, 0x1a000000|back) // subs r12, r12, #1; bne
	for i, w := range code {
		mem.Store(binary.LittleEndian, at+4*uint64(i), 4, uint64(w))
	}
	mem.Store(binary.LittleEndian, data, 4, va+data)
	end := va + at + 4*uint64(len(code))
	cpu := isa.New(0, &m.CPU, cpus.Bus{
		Memory: mem, Root: root, Native: [2]uint64{end, end + 4}, Phase: func(uint64) uint8 { return 0 },
	})
	return warmCycles(func(n uint64) clock.Ticks {
		cpu.Boot(va+at, va+data+0x8000, va+data, va+data+0x1000, n)
		start := cpu.Now()
		if x := cpu.Run(1 << 60); x.Reason != cpus.Native || cpu.PC() != end {
			t.Fatalf("the loop does not end: %x: %v at %#x", body, x, cpu.PC())
		}
		return cpu.Now() - start
	})
}

// TestLoopsOfTC2 holds the two machines, each under its own model, against what follows from the latencies and
// units that GCC schedules by (gcc/config/arm/cortex-a15.md and cortex-a7.md, by ARM), where they leave no
// choice. No measured loop of TC2 was published. A figure of zero is one that GCC does not say.
func TestLoopsOfTC2(t *testing.T) {
	exptest.Alone(t)
	a15, a7 := loopMachine(t, "tc2-cortex-a15"), loopMachine(t, "tc2-cortex-a7")
	for _, x := range []struct {
		text    string
		body    []uint32
		a15, a7 float64 // cycles of the body
	}{
		{"add r7,r7,r5", []uint32{0xe0877005}, 1, 1},
		{"four such, independent", []uint32{0xe0877005, 0xe0888005, 0xe0899005, 0xe08aa005}, 2, 4},
		{"add r7,r7,#1", []uint32{0xe2877001}, 1, 1},
		{"four such, independent", []uint32{0xe2877001, 0xe2888001, 0xe2899001, 0xe28aa001}, 2, 2},
		{"add r7,r7,r5; add r8,r8,#1", []uint32{0xe0877005, 0xe2888001}, 1, 1},
		{"add r7,r5,r7,lsl #2", []uint32{0xe0857107}, 2, 0},
		{"mov r7,r7,lsl r5", []uint32{0xe1a07517}, 2, 0},
		{"clz r7,r7", []uint32{0xe16f7f17}, 1, 1},
		{"uxth r7,r7", []uint32{0xe6ff7077}, 2, 1},
		{"mul r7,r7,r5", []uint32{0xe0070597}, 3, 2},
		{"mul r7,r5,r5; mul r8,r5,r5", []uint32{0xe0070595, 0xe0080595}, 2, 2},
		{"umull r7,r8,r7,r5", []uint32{0xe0887597}, 4, 2},
		{"umull r7,r8,r5,r5; umull r9,r10,r5,r5", []uint32{0xe0887595, 0xe08a9595}, 4, 2},
		{"udiv r7,r7,r6", []uint32{0xe737f617}, 9, 5},
		{"sdiv r7,r7,r6", []uint32{0xe717f617}, 10, 5},
		{"ldr r3,[r3]", []uint32{0xe5933000}, 4, 2},
		{"ldr r7,[r3]; ldr r8,[r3,#4]", []uint32{0xe5937000, 0xe5938004}, 2, 2},
		{"ldrd r8,[r3]", []uint32{0xe1c380d0}, 1, 1},
		{"ldm r3,{r7-r10}", []uint32{0xe8930780}, 2, 2},
		{"ldm r3,{r3,r7-r9}", []uint32{0xe8930388}, 5, 3},
		{"str r5,[r4]", []uint32{0xe5845000}, 1, 1},
		{"stm r4,{r7-r10}", []uint32{0xe8840780}, 2, 2},
		{"ldr r7,[r4],#4; sub r4,r4,#4", []uint32{0xe4947004, 0xe2444004}, 2, 2},
		{"cmp r7,#1; addne r7,r7,#1", []uint32{0xe3570001, 0x12877001}, 2, 2},
	} {
		const times = 64
		for _, k := range []struct {
			m    *machines.Machine
			want float64
		}{{a15, x.a15}, {a7, x.a7}} {
			got := tc2Cycles(t, k.m, x.body, times) / times
			require.That(t, k.want == 0 || !(math.Abs(got-k.want) > k.want*loopTolerance/100), "%s: %s: %.2f cycles, want %.2f", k.m.CPU.Name, x.text, got, k.want)
		}
	}
}
