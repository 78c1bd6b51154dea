package arm

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/cpus/engine"
	"kprobesim/internal/require"
)

// seeds are words that once needed thought: system instructions, returns from exceptions, several registers,
// words without a row, branches to themselves.
var seeds = []uint32{
	0, ^uint32(0), insnSVC, insnUDF, insnBX, insnWFI, insnISB, insnNop, movsPCLR, always32 | 0x0afffffe, always32 | 0x08fd8000,
	0xf8bd0a00, 0xf96d0513, 0xf1020010, 0xf10c01c0, msrCPSR(3), mrsCPSR(3), mcr(1, 0, 0, 0, 3), mcr(2, 0, 0, 0, 3), mcr(3, 0, 0, 0, 3),
	mcr(13, 0, 0, 1, 3), mcr(14, 0, 2, 1, 3), mcr(12, 0, 0, 0, 3), mrc(15, 7, 15, 7, 3), bareVFP, always32 | 0x01200070, 0xfa000000,
	always32 | 0x08bdffff, always32 | 0x092dffff, always32 | 0x01a0f003, always32 | 0x079ff103, ldrex5, strex6,
}

// FuzzDecode sends words through the decoder, and holds what comes out.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	c := newWorld(f, cpus.Window, nil).cpu()
	f.Fuzz(func(t *testing.T, word uint32) { checkWord(t, c, word) })
}

func checkWord(t *testing.T, c *CPU, word uint32) {
	code := binary.LittleEndian.AppendUint32(nil, word)
	in, op := c.Decode(code, testCode)
	require.Need(t, in.Exec != nil && op.Len == insnBytes && int(op.Class) < classes, "%#x: %+v %+v", word, in, op)
	for _, r := range []uint8{op.S1, op.S2, op.S3, op.Base, op.Index, op.O1, op.O2} {
		require.Need(t, r <= rGE && r != pcNumber, "%#x: register %d", word, r)
	}
	require.Need(t, op.O1 != rZero && op.O2 != rZero, "%#x writes the zero", word)
	require.Need(t, op.Flags&engine.Branches == 0 || op.Flags&engine.Ends != 0, "%#x branches in the middle of a block", word)
	if text, n := disasm(code, testCode, func(uint64) (string, uint64) { return "f", testCode }); text == "" || n != insnBytes {
		t.Fatalf("%#x: %q, %d bytes", word, text, n)
	}
}

// TestRandomWords decodes many words.
func TestRandomWords(t *testing.T) {
	c := newWorld(t, cpus.Window, nil).cpu()
	r := rand.New(rand.NewPCG(1, 1))
	for range 100000 {
		checkWord(t, c, r.Uint32())
	}
	if text, n := disasm([]byte{1, 2}, 0, nil); text != "(bad)" || n != insnBytes {
		t.Errorf("two bytes are %q of %d", text, n)
	}
}

// TestDecodesInParallel decodes in several goroutines, as simulations side by side do: under the race detector
// it shows whether the decoder shares something.
func TestDecodesInParallel(t *testing.T) {
	for i := range uint64(4) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			c := newWorld(t, cpus.Window, nil).cpu()
			r := rand.New(rand.NewPCG(i, 1))
			for range 5000 {
				checkWord(t, c, r.Uint32())
			}
		})
	}
}

// FuzzRun executes bytes as code with registers drawn from seed, in kernel or user mode, with handlers that
// return or are code too.
func FuzzRun(f *testing.F) {
	for i, s := range seeds {
		f.Add(binary.LittleEndian.AppendUint32(nil, s), uint64(i))
		f.Add(wordBytes([]uint32{s, dataConstant(opADD, 0, 3, 3, 8), msrCPSR(3), strAt(3, 4, 0)}), uint64(i)<<4|5)
	}
	f.Fuzz(func(t *testing.T, code []byte, seed uint64) {
		w := newWorld(t, []string{cpus.Window, cpus.Throughput}[seed&1], nil, userMaps()...)
		w.bus.Native = [2]uint64{1, 1}
		w.mem.Write(freePages, code[:min(len(code), 0x1000)])
		for v := range uint64(vectors) {
			w.words(vectorTable+4*v, []uint32{movsPCLR, always32 | 0x025ef004}[v&1]) // go on behind it, or there again
		}
		c := w.cpu()
		r := rand.New(rand.NewPCG(seed, 1))
		for i := range 15 {
			c.R[i] = uint64(value(r))
			if r.IntN(2) == 0 {
				c.R[i] = userCode + uint64(r.Uint32N(0x3000))
			}
		}
		c.setNZCV(r.Uint32())
		if seed&2 != 0 {
			c.setCPSR(modeUser, psrMode|psrI)
		}
		if seed&4 != 0 {
			w.irq.up = true
			c.Interrupt()
		}
		if seed&8 != 0 {
			c.Signal(LineFIQ)
		}
		c.R[rPC] = userCode
		fuzzRun(t, c)
	})
}

func fuzzRun(t *testing.T, c *CPU) {
	cpustest.RunOn(t, c)
	if c.R[rZero] != 0 || c.cf > 1 || c.R[rPC]&3 != 0 && c.control&psrT == 0 {
		t.Fatalf("zero %#x, carry %d, pc %#x", c.R[rZero], c.cf, c.R[rPC])
	}
	for i := range rZero {
		require.Need(t, c.R[i]>>32 == 0, "register %d is %#x", i, c.R[i])
	}
	if _, ok := bankOf(c.control & psrMode); !ok || c.User != (c.control&psrMode == modeUser) {
		t.Fatalf("CPSR %#x, user %v", c.cpsr(), c.User)
	}
}
