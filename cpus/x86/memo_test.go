package x86

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/cpus"
	settings "kprobesim/internal/host"
)

// eachMemo makes CPUs run by f with the window model remembering nothing, as much as built, all at once, and little,
// and holds that registers, time and counters are the same each time. Nothing is code of the host the first time, and soon
// everything is at others. What is for messages.
func eachMemo(t *testing.T, what string, f func() []*CPU) {
	t.Helper()
	built, code := settings.Memo, settings.Code
	defer func() { settings.Memo, settings.Code = built, code }()
	settings.Code.Blocks = 1
	var plain []*CPU
	for _, b := range [][2]int{{0, 0}, {built.Blocks, built.Runs}, {built.Blocks, 0}, {8, 0}} {
		settings.Memo.Blocks, settings.Memo.Runs = b[0], b[1]
		settings.Code.Off = plain == nil
		all := f()
		if plain == nil {
			plain = all
		}
		for i, c := range all {
			want := plain[i]
			n, m := c.Counters(), want.Counters()
			if c.R != want.R || c.Now() != want.Now() || *n != *m {
				t.Fatalf("%s, cpu %d, remembering %d from run %d: %d instructions in %d ticks to %#x, want %d in %d to %#x", what, i,
					b[0], b[1], n.Instructions, c.Now(), c.PC(), m.Instructions, want.Now(), want.PC())
			}
		}
	}
}

// TestMemoChangesNothing runs random code in loops, and random accesses to memory that CPUs share.
func TestMemoChangesNothing(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		g := newGen(isa.Bits, 12, 1)
		for _, x := range groups {
			x.build(g)
		}
		for range 30 {
			var code []byte
			for len(code) < 60 {
				code = append(code, g.forms[g.rng.IntN(len(g.forms))].code...)
			}
			seed := g.rng.Uint64()
			eachMemo(t, "random code", func() []*CPU { return []*CPU{loopRun(t, isa, code, seed, func(*CPU) {})} })
		}
		eachMemo(t, "stack and data", func() []*CPU { return []*CPU{dataRun(t, isa)} })
	})
	eachMemo(t, "neighbours", func() []*CPU {
		rng := rand.New(rand.NewPCG(8, 1))
		w, all := neighbours(t, 3, cpus.Window)
		for _, c := range all {
			scramble(w, c, rng)
		}
		for range 3000 {
			all[rng.IntN(len(all))].Steps(1+rng.IntN(60), 1<<60)
		}
		return all
	})
}

// TestMemoOfStoresWithoutPlace has a load find a store behind so many others that a place among those in flight is
// used again, of which most are of exceptions' frames and get no place in time.
func TestMemoOfStoresWithoutPlace(t *testing.T) {
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		const inFlight = 128
		frame := map[int]int{32: 3, 64: 5}[isa.Bits]
		code := bytes.Repeat([]byte{0xcd, 0x30}, inFlight/frame) // 1: int $0x30
		for range inFlight % frame {
			code = append(code, 0x89, 0x07) // mov %eax,(%rdi)
		}
		for _, after := range [][]byte{{0x89, 0x47, 4}, nil} { // mov %eax,4(%rdi)
			code := slices.Concat(code, []byte{0x8b, 0x07}, after, []byte{0xff, 0xcd, 0x0f, 0x85}) // mov (%rdi),%eax; dec %ebp; jnz 1b
			code = append(binary.LittleEndian.AppendUint32(code, uint32(-(len(code)+4))), 0xf4)
			eachMemo(t, "a store behind frames", func() []*CPU {
				w := newWorld(t, isa, cpus.Window, code)
				w.gates(func(int) (uint64, uint8) { return w.code(testCode) + 0x400, 0 })
				w.mem.Write(testCode-kernelMap+0x400, w.iret())
				c := w.cpu()
				c.R[rbp], c.R[rdi] = 30, w.at(testData)
				if e := c.Run(1 << 40); e.Reason != cpus.Halted {
					t.Fatalf("stopped for %+v", e)
				}
				return []*CPU{c}
			})
		}
	})
}

// TestMemoOfTwoLoads has an instruction load twice: first what a store before it has written, and then what is in
// the cache for long, which is found among the last stores all the same when nothing is remembered.
func TestMemoOfTwoLoads(t *testing.T) {
	code := []byte{
		0x89, 0x07, // 1: mov %eax,(%rdi)
		0xb9, 40, 0, 0, 0, // mov $40,%ecx
		0xf3, 0xac, // rep lodsb, which takes longer than the store
		0x4c, 0x89, 0xce, // mov %r9,%rsi
		0xeb, 0, // jmp to the next block
		0x89, 0x06, // mov %eax,(%rsi)
		0xa7,       // cmpsl
		0x19, 0xc0, // sbb %eax,%eax
		0x4c, 0x89, 0xce, // mov %r9,%rsi
		0x4c, 0x89, 0xc7, // mov %r8,%rdi
		0xff, 0xcd, // dec %ebp
		0x75, 0, // jnz 1b
		0xf4, // hlt
	}
	code[len(code)-2] = byte(1 - len(code))
	eachMemo(t, "two loads", func() []*CPU {
		c := testCPU(t, cpus.Window, code)
		c.R[rbp], c.R[8], c.R[9] = 30, testData, testData+16
		c.R[rdi], c.R[rsi] = c.R[8], c.R[9]
		if e := c.Run(1e9); e.Reason != cpus.Halted {
			t.Fatalf("stopped for %+v", e)
		}
		return []*CPU{c}
	})
}

// loopRun executes code that ends with a jump to its beginning, which it also reaches from exceptions.
func loopRun(t *testing.T, isa *cpus.ISA, code []byte, seed uint64, prepare func(*CPU)) *CPU {
	t.Helper()
	return loopIn(newWorld(t, isa, cpus.Window, nil), code, seed, prepare)
}

// loopIn is loopRun in a given world.
func loopIn(w *world, code []byte, seed uint64, prepare func(*CPU)) *CPU {
	code = append(code[:len(code):len(code)], 0xe9)
	fuzzPages(w, binary.LittleEndian.AppendUint32(code, uint32(-(len(code)+4))))
	c := w.cpu()
	fuzzState(w, c, seed)
	prepare(c)
	start := c.R
	for range 60 {
		e := c.Run(c.Now() + 60*400)
		c.R[rRIP], c.R[rsp] = start[rRIP], start[rsp]
		if e.Reason != cpus.Limit {
			break
		}
	}
	return c
}

// dataRun executes a loop of loads and stores of all widths, aligned and not, in a few cache lines.
func dataRun(t *testing.T, isa *cpus.ISA) *CPU {
	rng := rand.New(rand.NewPCG(9, uint64(isa.Bits)))
	forms := [][]byte{
		{0x8a, 0x87}, {0x88, 0x87}, // mov disp(%rdi),%al; mov %al,disp(%rdi)
		{0x66, 0x8b, 0x87}, {0x66, 0x89, 0x87}, // the same of %ax
		{0x8b, 0x87}, {0x89, 0x87}, // of %eax
		{0x01, 0x97}, {0xff, 0xb7}, {0x8f, 0x87}, // add %edx,disp(%rdi); push and pop disp(%rdi)
	}
	var code []byte
	for len(code) < 600 {
		if rng.IntN(4) == 0 {
			code = append(code, [][]byte{{0x83, 0xc7, 3}, {0x83, 0xef, 3}, {0x50}, {0x5a}, {0xe8, 0, 0, 0, 0}, {0x7a, 0}}[rng.IntN(6)]...)
			continue
		}
		code = append(code, forms[rng.IntN(len(forms))]...)
		code = binary.LittleEndian.AppendUint32(code, uint32(rng.IntN(90)))
	}
	code = append(code, 0xe9)
	w := newWorld(t, isa, cpus.Window, binary.LittleEndian.AppendUint32(code, uint32(-(len(code)+4))))
	c := w.cpu()
	for i := range 400 {
		if i%8 == 0 {
			c.R[rdi], c.R[rsp] = w.at(testData)+uint64(rng.IntN(64)), w.at(testData)+0x2000
		}
		c.Steps(1+rng.IntN(400), 1<<60)
	}
	return c
}

// TestMemoOfLoops runs short loops in a loop, with branches ahead in them and calls between, on a core with a loop buffer:
// how much of a loop streams follows from the guest alone.
func TestMemoOfLoops(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 31))
		var code []byte
		for range 1 + rng.IntN(4) {
			code = append(code, 0xb9, byte(1+rng.IntN(12)), 0, 0, 0) // mov $n,%ecx
			begin := len(code)
			for range rng.IntN(9) {
				code = append(code, [][]byte{
					{0x48, 0x01, 0xc8},                      // add %rcx,%rax
					{0xa8, 1, 0x74, 3, 0x90, 0x90, 0x90},    // test $1,%al; je over three nops
					{0xeb, 2, 0x90, 0x90},                   // jmp over two
					{0x89, 0x07, 0x8b, 0x17},                // mov %eax,(%rdi); mov (%rdi),%edx
					{0x48, 0x89, 0x07, 0x8b, 0x57, 4},       // mov %rax,(%rdi); mov 4(%rdi),%edx
					{0x48, 0xba, 1, 2, 3, 4, 5, 6, 7, 8},    // mov $0x807060504030201,%rdx
					{0x48, 0xba, 8, 7, 6, 5, 4, 3, 2, 1},    // another one
					{0x48, 0x8d, 0x97, 0x80, 0, 0, 0, 0x90}, // lea 0x80(%rdi),%rdx; nop
				}[rng.IntN(8)]...)
			}
			switch rng.IntN(6) {
			case 0:
				code = append(code, 0xe8, 0, 0, 0, 0, 0x5a) // call to the next instruction, pop %rdx
			case 1:
				code = append(code, 0xe8, 2, 0, 0, 0, 0xeb, 1, 0xc3) // call of a ret, and a jump over it
			}
			code = append(code, 0x83, 0xe9, 1, 0x0f, 0x85) // sub $1,%ecx; jnz
			code = binary.LittleEndian.AppendUint32(code, uint32(begin-len(code)-4))
		}
		code = append(code, 0x83, 0xed, 1, 0x0f, 0x85) // sub $1,%ebp; jnz
		code = append(binary.LittleEndian.AppendUint32(code, uint32(-len(code)-4)), 0xf4)
		eachMemo(t, fmt.Sprintf("loops of seed %d", seed), func() []*CPU {
			w := newWorld(t, modes()[0], cpus.Window, code)
			w.cfg.FrontEnd = cpus.FrontEnd{FetchBytes: 16, Queue: 6, LoopBuffer: 18, LoopWindows: 4}
			c := w.cpu()
			c.R[rbp], c.R[rdi] = 40, w.at(testData)
			if e := c.Run(1 << 40); e.Reason != cpus.Halted {
				t.Fatalf("stopped for %+v", e)
			}
			return []*CPU{c}
		})
	}
}
