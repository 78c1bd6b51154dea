package ppc64

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/require"
)

// seeds are words that once needed thought: forms that are not modelled, reserved bits, prefixes, branches to
// themselves.
var seeds = []uint32{
	0, ^uint32(0), insnSC, insnRfid, insnTrap, insnNop, insnBlr, insnIsync, getPC, 0x04000000, 0x48000000, 0x4bfffffc,
	0x7c0007ec, 0x7c0004ac, 0x4e800420, 0x4c800420, insnX(31, 3, 0, 0, 178), insnX(31, 3, 1, 0, 178), insnX(31, 0, 0, 3, 434),
	insnX(31, 3, 0, 4, 402), insnX(31, 0, 0, 0, 498), insnX(31, 0, 0, 3, 306), insnX(31, 3, 3, 0, 597), insnD(46, 0, 3, 0),
	insnX(31, 0, 0, 0, 512), mtspr(22, 3), mtspr(25, 3), mtspr(1013, 3), mtspr(27, 3), mtspr(26, 3), insnD(50, 1, 1, 0),
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
	code := binary.BigEndian.AppendUint32(nil, word)
	in, op := c.Decode(code, testCode)
	require.Need(t, in.Exec != nil && op.Len == insnBytes && int(op.Class) < classes, "%#x: %+v %+v", word, in, op)
	for _, r := range []uint8{op.S1, op.S2, op.S3, op.Base, op.Index, op.O1, op.O2, in.Operands.dst, in.Operands.a, in.Operands.b} {
		require.Need(t, r <= rCR7, "%#x: register %d", word, r)
	}
	require.Need(t, op.Also>>(rCR7+1) == 0 && op.Also>>rZero&1 == 0, "%#x also writes %#x", word, op.Also)
	require.Need(t, op.O1 != rZero && op.O2 != rZero && in.Operands.dst != rZero, "%#x writes the zero", word)
	if text, n := disasm(code, testCode, func(uint64) (string, uint64) { return "f", testCode }); text == "" || n != insnBytes {
		t.Fatalf("%#x: %q, %d bytes", word, text, n)
	}
}

// TestRandomWords decodes many words.
func TestRandomWords(t *testing.T) {
	c := newWorld(t, cpus.Window, nil).cpu()
	r := rand.New(rand.NewPCG(1, 1))
	for range 200000 {
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
			r := rand.New(rand.NewPCG(i, 1))
			for range 5000 {
				decode(r.Uint32(), testCode)
			}
		})
	}
}

// FuzzRun executes bytes as code with registers drawn from seed, in kernel or user mode, with handlers that
// return or are code too.
func FuzzRun(f *testing.F) {
	for i, s := range seeds {
		f.Add(binary.BigEndian.AppendUint32(nil, s), uint64(i))
		f.Add(wordBytes([]uint32{s, addiTo(3, 3, 8), insnX(31, 3, 0, 0, 178), insnD(36, 3, 4, 0)}), uint64(i)<<4|5)
	}
	f.Fuzz(func(t *testing.T, code []byte, seed uint64) {
		w := newWorld(t, []string{cpus.Window, cpus.Throughput}[seed&1], nil, userMaps()...)
		w.bus.Native = [2]uint64{1, 1}
		w.mem.Write(freePages, code[:min(len(code), 0x1000)])
		for v := uint64(0x100); v < 0x1000; v += 0x80 {
			w.words(v, mfsprOf(20, 26), addiTo(20, 20, 4), mtspr(26, 20), insnRfid) // go on behind it
		}
		c := w.cpu()
		r := rand.New(rand.NewPCG(seed, 1))
		for i := range 32 {
			c.R[i] = value(r)
			if r.IntN(2) == 0 {
				c.R[i] = userCode + r.Uint64N(0x7000)
			}
		}
		c.R[rLR], c.R[rCTR] = userCode+r.Uint64N(64), userCode+r.Uint64N(64)
		if seed&2 != 0 {
			c.setMSR(userMSR)
		}
		if seed&8 != 0 {
			c.setMSR(c.msr | msrSE)
		}
		if seed&4 != 0 {
			w.irq.up = true
			c.Interrupt()
		}
		c.R[rPC] = userCode
		fuzzRun(t, c)
	})
}

func fuzzRun(t *testing.T, c *CPU) {
	cpustest.RunOn(t, c)
	if c.R[rZero] != 0 || c.R[rCA] > 1 || c.R[rPC]&3 != 0 {
		t.Fatalf("zero %#x, carry %d, pc %#x", c.R[rZero], c.R[rCA], c.R[rPC])
	}
	for i := rCR0; i <= rCR7; i++ {
		require.Need(t, c.R[i] <= 15, "field %d holds %#x", i-rCR0, c.R[i])
	}
	require.Need(t, c.AddrMask>>32 != 0 || c.msr&msrSF == 0, "the width of addresses is not MSR's")
}
