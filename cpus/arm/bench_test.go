package arm

import (
	"testing"

	"kprobesim/cpus"
)

// loops are those that the speed of the simulator is stated for: arithmetic, a chain of loads, and calls.
var loops = map[string][]uint32{
	"alu": {
		dataConstant(opADD, 0, 5, 5, 1), data(opADD, 0, 6, 6, 5), data(1, 0, 6, 7, 5), data(opMOV, 0, 0, 8, 7) | 3<<7,
		data(opSUB, 0, 6, 9, 8), data(opADD, 0, 9, 10, 7), dataConstant(opSUB, 1, 4, 4, 1), condNE<<28 | 0x0afffff7,
	},
	"chase": {
		ldrAt(3, 3, 0), ldrAt(3, 3, 0), ldrAt(3, 3, 0), ldrAt(3, 3, 0), strAt(5, 13, -8), dataConstant(opSUB, 1, 4, 4, 1),
		condNE<<28 | 0x0afffff8,
	},
	"calls": {
		always32 | 0x0b000001, dataConstant(opSUB, 1, 4, 4, 1), condNE<<28 | 0x0afffffc,
		always32 | 0x052de004, dataConstant(opSUB, 0, 13, 13, 16), strAt(5, 13, 4), ldrAt(6, 13, 4), dataConstant(opADD, 0, 13, 13, 16),
		always32 | 0x049de004, insnBX,
	},
	"pushes": { // with registers, as compilers save them, and a condition
		always32 | 0x0b000001, dataConstant(opSUB, 1, 4, 4, 1), condNE<<28 | 0x0afffffc,
		always32 | 0x092d41e0, dataConstant(opCMP, 1, 5, 0, 3), dataConstant(opADD, 0, 6, 6, 1)&^(15<<28) | condLE<<28,
		data(opADD, 0, 6, 7, 6) | 2<<7, always32 | 0x08bd81e0,
	},
}

// BenchmarkLoops says how many million guest instructions a second are executed.
func BenchmarkLoops(b *testing.B) {
	for _, model := range []string{cpus.Throughput, cpus.Window, cpus.Scoreboard} {
		for _, name := range []string{"alu", "chase", "calls", "pushes"} {
			b.Run(model+"/"+name, func(b *testing.B) {
				c := newWorld(b, model, loops[name]).cpu()
				c.R[3], c.R[4] = testStack+64, 1<<32-1
				c.poke(testStack+64, testStack+64)
				c.Run(1e6)
				n := c.Counters().Instructions
				b.ResetTimer()
				for range b.N {
					c.Run(c.Now() + 60*1000)
					c.R[4] |= 1 << 31
				}
				done := float64(c.Counters().Instructions - n)
				b.ReportMetric(done/1e6/b.Elapsed().Seconds(), "MIPS")
				b.ReportMetric(done/float64(b.N), "insns/op")
				if c.PC() < testCode {
					b.Fatalf("%s", vectorNames[(c.PC()-vectorTable)/4])
				}
			})
		}
	}
}
