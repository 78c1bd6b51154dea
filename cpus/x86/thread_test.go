package x86

import (
	"fmt"
	"testing"

	"kprobesim/cpus"
)

// warmRuns are the executions behind which a block is threaded code, and one more.
const warmRuns = 4

// TestThreadsOfForms executes every form of instruction that is compared with the host, from random states, as threaded
// code and as all code is that a cost model times: registers, flags, memory and faults are the same.
func TestThreadsOfForms(t *testing.T) {
	for _, a := range abis() {
		t.Run(fmt.Sprintf("%d bits", a.bits), func(t *testing.T) {
			g := newGen(a.bits, 21, 2)
			for _, x := range groups {
				x.build(g)
			}
			h := harness(1, a)
			text := layout(h, g.forms)
			general, quick := newUserSim(t, a, text, h.labels["save"]), newUserSim(t, a, text, h.labels["save"])
			quick.Untimed(1, 1<<60)
			quick.warm = true
			for _, f := range g.forms {
				var v *vector
				for range warmRuns {
					v = g.vector(f)
					quick.run(f, v)
				}
				if want, got := general.run(f, v), quick.run(f, v); *want != *got {
					t.Errorf("%s: % x from %s\n%s", f.name, f.code, v, difference(f, v, want, got))
				}
			}
		})
	}
}

// TestFusedBranches executes each comparison that is one function with the branch behind it, of values that are near
// each other or near a sign, in both ways.
func TestFusedBranches(t *testing.T) {
	values := []uint64{0, 1, 2, 0x7f, 0x80, 0x81, 0xff, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 1<<63 - 1, 1 << 63, 1<<63 + 1, ^uint64(0)}
	for _, compare := range [][]byte{{0x48, 0x39, 0xd8}, {0x39, 0xd8}, {0x38, 0xd8}, {0x48, 0x85, 0xd8}, {0x85, 0xd8}, {0x84, 0xd8}} {
		for cond := range byte(16) {
			// cmp %rbx,%rax; jcc 1f; inc %ecx; 1: pushf; pop %rdx; hlt
			code := append(append([]byte{}, compare...), 0x70|cond, 2, 0xff, 0xc1, 0x9c, 0x5a, 0xf4)
			general, quick := testCPU(t, cpus.Throughput, code), testCPU(t, cpus.Throughput, code)
			quick.Untimed(1, 1<<60)
			for _, a := range values {
				for _, b := range values {
					for _, c := range []*CPU{general, quick} {
						c.R[rax], c.R[rbx], c.R[rcx], c.R[rsp], c.R[rRIP], c.Halted = a, b, 0, testStack, testCode, false
						if e := c.Run(1 << 60); e.Reason != cpus.Halted {
							t.Fatalf("stopped for %+v", e)
						}
					}
					if general.R != quick.R {
						t.Fatalf("% x of %#x and %#x: threaded %d flags %#x, else %d flags %#x", code, a, b, quick.R[rcx], quick.R[rdx],
							general.R[rcx], general.R[rdx])
					}
				}
			}
		}
	}
}
