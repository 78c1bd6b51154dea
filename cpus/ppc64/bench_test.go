package ppc64

import (
	"testing"

	"kprobesim/cpus"
)

// loops are those that the speed of the simulator is stated for: arithmetic, a chain of loads, and calls. The
// pages that they store to are loaded from before.
var loops = map[string][]uint32{
	"alu": {
		addiTo(5, 5, 1), addTo(6, 6, 5), insnX(31, 6, 7, 5, 316), insnM(21, 7, 8, 3, 0, 28), insnX(31, 9, 8, 6, 40), addTo(10, 9, 7),
		addiTo(4, 4, -1), compareImm(0, 4, 0), branchIf(4, 2, -32),
	},
	"chase": {
		ldAt(5, 1, -8),
		ldAt(3, 3, 0), ldAt(3, 3, 0), ldAt(3, 3, 0), ldAt(3, 3, 0), stdAt(5, 1, -8), addiTo(4, 4, -1), branchIf(16, 0, -24),
	},
	"calls": {
		ldAt(5, 1, -8), ldAt(5, 1, 16),
		18<<26 | 16 | 1, addiTo(4, 4, -1), compareImm(0, 4, 0), branchIf(4, 2, -12),
		insnSPR(0, 8, 339), stdAt(0, 1, 16), insnD(62, 1, 1, -111), ldAt(0, 1, 112+16), addiTo(1, 1, 112), mtspr(8, 0), insnBlr,
	},
}

// BenchmarkLoops says how many million guest instructions a second are executed.
func BenchmarkLoops(b *testing.B) {
	for _, model := range []string{cpus.Throughput, cpus.Window} {
		for _, name := range []string{"alu", "chase", "calls"} {
			b.Run(model+"/"+name, func(b *testing.B) {
				c := newWorld(b, model, loops[name]).cpu()
				c.R[3], c.R[4], c.R[rCTR] = testStack+64, 1<<60, 1<<60
				c.poke(testStack+64, testStack+64)
				c.Run(1e6)
				n := c.Counters().Instructions
				b.ResetTimer()
				for range b.N {
					c.Run(c.Now() + 60*1000)
				}
				b.ReportMetric(float64(c.Counters().Instructions-n)/1e6/b.Elapsed().Seconds(), "MIPS")
				if c.PC() < testCode {
					b.Fatalf("%s", vectorName(c.PC()))
				}
			})
		}
	}
}

// BenchmarkExceptions says what a system call and its return cost the host, beside sixty instructions: each
// changes the mode of translation.
func BenchmarkExceptions(b *testing.B) {
	for _, model := range []string{cpus.Throughput, cpus.Window} {
		b.Run(model, func(b *testing.B) {
			var code []uint32
			for range 20 {
				code = append(code, addiTo(5, 5, 1), ldAt(6, 1, -8), stdAt(6, 1, -16))
			}
			code = append(code, insnSC)
			w := newWorld(b, model, append(code, insnI(4*uint64(len(code)), 0)))
			handled(w, vecSyscall, insnNop, insnRfid)
			c := w.cpu()
			c.Run(1e6)
			calls := func() uint64 { return c.Counts.Exceptions[vecSyscall>>vectorShift] }
			before := calls()
			b.ResetTimer()
			for range b.N {
				c.Run(c.Now() + 60*1000)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(calls()-before), "ns/call")
		})
	}
}
