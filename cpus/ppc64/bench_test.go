package ppc64

import (
	"testing"

	"kprobesim/cpus"
)

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
