package arm

import (
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// slow is the latency of every instruction in TestDependences, in cycles.
const slow = 1000

// pairTime executes instructions whose latency is slow, and returns how long they take in slow latencies.
func pairTime(t *testing.T, code []uint32) int64 {
	t.Helper()
	w := newWorld(t, cpus.Window, append(code, insnSVC))
	for _, n := range ISA().Classes {
		w.cfg.Classes[n] = cpus.Cost{Latency: slow * clock.PerCycle}
	}
	w.cfg.Classes["load_update"] = cpus.Cost{Latency: slow * clock.PerCycle, Latency2: 1}
	w.cfg.Classes["svc"] = cpus.Cost{}
	w.cfg.Memory = w.cfg.L2.Latency // misses are short beside a latency
	w.cfg.StoreBuffer = 1024        // no store holds what follows it up
	c := w.cpu()
	c.R[3], c.R[4], c.R[5] = testStack, testStack+64, testCode+8 // where a branch of the second goes
	c.R[rLR] = testCode + 8
	if v := to(t, c); v != vecSupervisorCall {
		t.Fatal(vectorNames[v])
	}
	return c.Now().Cycles() / slow
}

// when32 puts a condition in front of an instruction.
func when32(cond, w uint32) uint32 { return w&^(15<<28) | cond<<28 }

// TestDependences executes pairs of instructions, of which the second waits for the first or does not.
func TestDependences(t *testing.T) {
	add6 := data(opADD, 0, 3, 6, 4)
	cmp34 := data(opCMP, 1, 3, 0, 4)
	beq := uint32(condEQ<<28 | 0x0affffff)
	mul := func(rd, rs, rm uint32) uint32 { return always32 | 0x90 | rd<<16 | rs<<8 | rm }
	for _, x := range []struct {
		name          string
		first, second uint32
		waits         bool
	}{
		{"a register", add6, data(opADD, 0, 6, 7, 3), true},
		{"another register", add6, data(opADD, 0, 3, 7, 4), false},
		{"a result that is written again", add6, add6, false},
		{"compare and branch", cmp34, beq, true},
		{"flags and branch", data(opADD, 1, 3, 6, 4), beq, true},
		{"no flags", add6, beq, false},
		{"condition", cmp34, when32(condEQ, data(opADD, 0, 3, 7, 4)), true},
		{"condition and old result", add6, when32(condEQ, data(opMOV, 0, 0, 6, 3)), true},
		{"no condition", add6, data(opMOV, 0, 0, 6, 3), false},
		{"condition of a load", cmp34, when32(condEQ, ldrAt(6, 3, 0)), true},
		{"condition of a store", cmp34, when32(condEQ, strAt(6, 3, 0)), true},
		{"carry", data(opADD, 1, 3, 6, 4), data(5, 0, 3, 7, 4), true},
		{"rotation through the carry", cmp34, data(opMOV, 0, 0, 7, 3) | 3<<5, true},
		{"shift by a register", add6, data(opMOV, 0, 0, 7, 3) | 6<<8 | 1<<4, true},
		{"shifted register", add6, data(opADD, 0, 3, 7, 6) | 2<<7, true},
		{"multiply", add6, mul(7, 6, 3), true},
		{"addend", add6, always32 | 0x00276493, true},             // mla r7, r3, r4, r6
		{"upper half", always32 | 0x00876493, mul(8, 7, 3), true}, // umull r6, r7, r3, r4
		{"lower half", always32 | 0x00876493, mul(8, 6, 3), true},
		{"flags of both halves", always32 | 0x00976493, beq, true},       // umulls
		{"ge flags", always32 | 0x06136f14, always32 | 0x06837fb4, true}, // sadd16, sel
		{"movt keeps", add6, always32 | 0x03406001, true},
		{"movw does not", add6, always32 | 0x03006001, false},
		{"bfi keeps", add6, always32 | 0x07c76013, true},
		{"call and return", always32 | 0x0bffffff, data(opADD, 0, rLR, 7, 3), true},
		{"load and use", ldrAt(6, 3, 0), data(opADD, 0, 6, 7, 3), true},
		{"pair and its second", always32 | 0x01c360d0, data(opADD, 0, 7, 8, 3), true},
		{"several and their last", always32 | 0x089301c0, data(opADD, 0, 8, 9, 3), true},
		{"several and another", always32 | 0x089301c0, data(opADD, 0, 9, 10, 3), false},
		{"base that is written", always32 | 0x04936004, ldrAt(7, 3, 0), false}, // Latency2 is small
		{"load beside it", always32 | 0x04936004, data(opADD, 0, 6, 7, 3), true},
		{"store exclusive", always32 | 0x01836f94, data(opADD, 0, 6, 7, 6), true},
		{"status to flags", always32 | 0x0128f003, beq, true},
		{"flags to status", cmp34, mrsCPSR(6), true},
	} {
		want := int64(1)
		if x.waits {
			want = 2
		}
		got := pairTime(t, []uint32{x.first, x.second})
		require.That(t, got == want, "%s: %#x %#x take %d latencies, want %d", x.name, x.first, x.second, got, want)
	}
}

// TestClasses holds the dependences that the engine is told of against what functions write: an
// instruction that writes a register which it does not name is found by running it. It also finds a word of
// every class, so that no machine description prices what there is not.
func TestClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	w := newWorld(t, cpus.Throughput, nil, userMaps()...)
	c := w.cpu()
	seen := map[uint8]bool{clUndefined: true}
	for _, k := range rows {
		for range 60 {
			word := k.word(r, condAL)
			if find(word) != k {
				continue
			}
			in, op := decode(word, testCode)
			seen[op.Class] = true
			if op.Class != clUndefined && op.Flags&branchesAway == 0 && k.name != "cps" && k.name != "msr" && k.name != "msr constant" {
				holdWrites(t, c, k.name, word, &in, &op, r)
			}
		}
	}
	for _, word := range []uint32{insnBX, mrc(14, 0, 0, 0, 1), mcr(7, 0, 5, 0, 0), mcr(8, 0, 7, 0, 0), mcr(7, 0, 10, 5, 0), mrc(0, 0, 0, 0, 1), mcr(13, 0, 0, 4, 1), condEQ<<28 | 0x0a000000} {
		_, op := decode(word, testCode)
		seen[op.Class] = true
	}
	for i, name := range classNames {
		require.That(t, name != "" && seen[uint8(i)], "class %d, %q, has no instruction", i, name)
	}
}

// branchesAway are flags of what changes more than registers.
const branchesAway = endsBranch

func holdWrites(t *testing.T, c *CPU, name string, word uint32, in *decoded, op *op, r *rand.Rand) {
	t.Helper()
	for i := range rZero {
		c.R[i] = uint64(value(r))
	}
	c.R[rZero] = 0
	if op.Base != rZero {
		c.R[op.Base] = userData + 0x100
		if op.Index != op.Base && op.Index != rZero {
			c.R[op.Index] = 0
		}
	}
	before, ge, nzcv := c.R, c.ge, c.nzcv()
	in.Exec(c, &in.Operands)
	c.Stop = 0
	for i := range rZero + 1 {
		if c.R[i] == before[i] || i == int(op.O1) || i == int(op.O2) || op.Also>>i&1 != 0 {
			continue
		}
		t.Errorf("%s (%#x) changes register %d", name, word, i)
	}
	if names := int(op.O1) == rFlags || int(op.O2) == rFlags || op.Also>>rFlags&1 != 0; c.nzcv() != nzcv && !names {
		t.Errorf("%s (%#x) changes the flags", name, word)
	}
	require.That(t, c.ge == ge || op.O1 == rGE || op.O2 == rGE, "%s (%#x) changes GE", name, word)
}
