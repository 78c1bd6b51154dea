package experiments_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/machines"
	"kprobesim/mmu"
	"kprobesim/targets"
)

// powerCycles runs a loop without a kernel, with pages of its own, and returns the cycles of a warm repetition.
// The repetitions are in r6, and counted in CTR if the body does not need that.
func powerCycles(t *testing.T, m *machines.Machine, c loopCode, times int) float64 {
	t.Helper()
	const ram, at, va, data = 16 << 20, 0x200000, 0xc000_0000_0000_0000, 0x300000
	isa := targets.Find(targets.List(), m.ISA).ISA
	mem := mmu.NewMemory(ram)
	root, err := isa.Tables(mem, ram/2, []mmu.Mapping{{VA: va, Writable: true, Exec: true, Limit: ram / 2}})
	if err != nil {
		t.Fatal(err)
	}
	code := powerBytes(t, c, times)
	mem.Write(at, code)
	end := va + at + uint64(len(code))
	cpu := isa.New(0, &m.CPU, cpus.Bus{
		Memory: mem, Root: root, Native: [2]uint64{end, end + 4}, Phase: func(uint64) uint8 { return 0 },
	})
	return warmCycles(func(n uint64) clock.Ticks {
		cpu.Boot(va+at, va+data+0x8000, va+data, va+data+0x1000, 0, n)
		start := cpu.Now()
		if x := cpu.Run(1 << 60); x.Reason != cpus.Native || cpu.PC() != end {
			t.Fatalf("the loop does not end: %x: %v at %#x", code, x, cpu.PC())
		}
		return cpu.Now() - start
	})
}

// powerBytes puts a loop together: mtctr %r6 and bdnz, or addi %r6,%r6,-1, cmpdi %r6,0 and bne.
func powerBytes(t *testing.T, c loopCode, times int) []byte {
	t.Helper()
	const mtctr, bdnz, bne = "7cc903a6", 0x42000000, 0x40820000
	setup := fromHex(t, c.setup)
	body := append(bytes.Repeat(fromHex(t, c.body), times), fromHex(t, c.fix)...)
	branch := uint32(bdnz)
	if c.keepsCount {
		body = append(body, fromHex(t, "38c6ffff2c260000")...)
		branch = bne
	} else {
		setup = append(setup, fromHex(t, mtctr)...)
	}
	body = binary.BigEndian.AppendUint32(body, branch|uint32(-len(body))&0xfffc)
	return append(setup, body...)
}

// powerLoops are loops of a POWER5, assembled by GNU as. What they take follows from the latencies and units
// that GCC schedules by (gcc/config/rs6000/power5.md, by the name of a reservation), where they leave no choice:
// no measured loop of this processor was published. r3 and r4 point to memory, r5 is zero.
var powerLoops = []publishedLoop{
	{
		group: "registers", name: "nop", times: 64, units: 1,
		text:      "nop",
		code:      [2]loopCode{{body: "60000000"}},
		published: map[string]figure{"power5-1656": {0.5, "GCC, power5-integer in two units"}},
	},
	{
		group: "registers", name: "add, chain", times: 64, units: 1,
		text:      "add 7,7,5",
		code:      [2]loopCode{{body: "7ce72a14"}},
		published: map[string]figure{"power5-1656": {2, "GCC, power5-integer 2"}},
	},
	{
		group: "registers", name: "add, independent", times: 16, units: 4,
		text:      "add 7,7,5; add 8,8,5; add 9,9,5; add 10,10,5",
		code:      [2]loopCode{{body: "7ce72a147d082a147d292a147d4a2a14"}},
		published: map[string]figure{"power5-1656": {0.5, "GCC, power5-integer in two units"}},
	},
	{
		group: "registers", name: "addi, chain", times: 64, units: 1,
		text:      "addi 7,7,1",
		code:      [2]loopCode{{body: "38e70001"}},
		published: map[string]figure{"power5-1656": {2, "GCC, power5-integer 2"}},
	},
	{
		group: "registers", name: "adde, chain", times: 64, units: 1,
		text:      "adde 7,7,5",
		code:      [2]loopCode{{body: "7ce72914"}},
		published: map[string]figure{"power5-1656": {2, "GCC, power5-integer 2"}},
	},
	{
		group: "registers", name: "cntlzd, chain", times: 64, units: 1,
		text:      "cntlzd 7,7",
		code:      [2]loopCode{{body: "7ce70074"}},
		published: map[string]figure{"power5-1656": {2, "GCC, power5-integer 2"}},
	},
	{
		group: "registers", name: "rlwinm, chain", times: 64, units: 1,
		text:      "rlwinm 7,7,3,0,28",
		code:      [2]loopCode{{body: "54e71838"}},
		published: map[string]figure{"power5-1656": {2, "GCC, power5-integer 2"}},
	},
	{
		group: "registers", name: "rlwimi, chain", times: 64, units: 1,
		text:      "rlwimi 7,5,3,0,15",
		code:      [2]loopCode{{body: "50a7181e"}},
		published: map[string]figure{"power5-1656": {4, "GCC, power5-insert 4"}},
	},
	{
		group: "registers", name: "rlwimi, independent", times: 16, units: 4,
		text:      "rlwimi 7,5,3,0,15; rlwimi 8,5,3,0,15; rlwimi 9,5,3,0,15; rlwimi 10,5,3,0,15",
		code:      [2]loopCode{{body: "50a7181e50a8181e50a9181e50aa181e"}},
		published: map[string]figure{"power5-1656": {1, "GCC, power5-insert, cracked, both halves in an integer unit"}},
	},
	{
		group: "registers", name: "add., independent", times: 16, units: 4,
		text:      "add. 7,5,5; add. 8,5,5; add. 9,5,5; add. 10,5,5",
		code:      [2]loopCode{{body: "7ce52a157d052a157d252a157d452a15"}},
		published: map[string]figure{"power5-1656": {1, "GCC, power5-compare, cracked, both halves in an integer unit"}},
	},
	{
		group: "registers", name: "mulli, chain", times: 64, units: 1,
		text:      "mulli 7,7,3",
		code:      [2]loopCode{{body: "1ce70003"}},
		published: map[string]figure{"power5-1656": {4, "GCC, power5-imul3 4"}},
	},
	{
		group: "registers", name: "mullw, chain", times: 64, units: 1,
		text:      "mullw 7,7,5",
		code:      [2]loopCode{{body: "7ce729d6"}},
		published: map[string]figure{"power5-1656": {5, "GCC, power5-imul 5"}},
	},
	{
		group: "registers", name: "mullw, independent", times: 16, units: 4,
		text:      "mullw 7,5,5; mullw 8,5,5; mullw 9,5,5; mullw 10,5,5",
		code:      [2]loopCode{{body: "7ce529d67d0529d67d2529d67d4529d6"}},
		published: map[string]figure{"power5-1656": {2, "GCC, power5-imul, a unit of two busy for 4"}},
	},
	{
		group: "registers", name: "mulld, chain", times: 64, units: 1,
		text:      "mulld 7,7,5",
		code:      [2]loopCode{{body: "7ce729d2"}},
		published: map[string]figure{"power5-1656": {7, "GCC, power5-lmul 7"}},
	},
	{
		group: "registers", name: "mulld, independent", times: 16, units: 4,
		text:      "mulld 7,5,5; mulld 8,5,5; mulld 9,5,5; mulld 10,5,5",
		code:      [2]loopCode{{body: "7ce529d27d0529d27d2529d27d4529d2"}},
		published: map[string]figure{"power5-1656": {3, "GCC, power5-lmul, a unit of two busy for 6"}},
	},
	{
		group: "registers", name: "divw, chain", times: 16, units: 1,
		text:      "divw 7,7,5",
		code:      [2]loopCode{{setup: "38a00001", body: "7ce72bd6"}},
		published: map[string]figure{"power5-1656": {36, "GCC, power5-idiv 36"}},
	},
	{
		group: "registers", name: "divw, independent", times: 4, units: 4,
		text:      "divw 7,5,5; divw 8,5,5; divw 9,5,5; divw 10,5,5",
		code:      [2]loopCode{{setup: "38a00001", body: "7ce52bd67d052bd67d252bd67d452bd6"}},
		published: map[string]figure{"power5-1656": {35, "GCC, power5-idiv, one unit busy for 35"}},
	},
	{
		group: "registers", name: "divd, chain", times: 16, units: 1,
		text:      "divd 7,7,5",
		code:      [2]loopCode{{setup: "38a00001", body: "7ce72bd2"}},
		published: map[string]figure{"power5-1656": {68, "GCC, power5-ldiv 68"}},
	},
	{
		group: "registers", name: "divd, independent", times: 4, units: 4,
		text:      "divd 7,5,5; divd 8,5,5; divd 9,5,5; divd 10,5,5",
		code:      [2]loopCode{{setup: "38a00001", body: "7ce52bd27d052bd27d252bd27d452bd2"}},
		published: map[string]figure{"power5-1656": {67, "GCC, power5-ldiv, one unit busy for 67"}},
	},
	{
		group: "condition register", name: "cmpd and mfocrf, chain", times: 32, units: 1,
		text:      "cmpd 7,7,5; mfocrf 7,1",
		code:      [2]loopCode{{body: "7fa728007cf01026"}},
		published: map[string]figure{"power5-1656": {6, "GCC, power5-cmp 3 and power5-mfcrf 3"}},
	},
	{
		group: "condition register", name: "add. and mfocrf, chain", times: 32, units: 1,
		text:      "add. 7,7,5; mfocrf 7,128",
		code:      [2]loopCode{{body: "7ce72a157cf80026"}},
		published: map[string]figure{"power5-1656": {7, "GCC, power5-compare 4 to power5-mfcrf, and that 3"}},
	},
	{
		group: "condition register", name: "mullw. and mfocrf, chain", times: 32, units: 1,
		text:      "mullw. 7,7,5; mfocrf 7,128",
		code:      [2]loopCode{{body: "7ce729d77cf80026"}},
		published: map[string]figure{"power5-1656": {11, "GCC, power5-imul-cmp 8 to power5-mfcrf, and that 3"}},
	},
	{
		group: "condition register", name: "mulld. and mfocrf, chain", times: 32, units: 1,
		text:      "mulld. 7,7,5; mfocrf 7,128",
		code:      [2]loopCode{{body: "7ce729d37cf80026"}},
		published: map[string]figure{"power5-1656": {13, "GCC, power5-lmul-cmp 10 to power5-mfcrf, and that 3"}},
	},
	{
		group: "condition register", name: "cmpd and mfcr, chain", times: 32, units: 1,
		text:      "cmpd 7,7,5; mfcr 7",
		code:      [2]loopCode{{body: "7fa728007ce00026"}},
		published: map[string]figure{"power5-1656": {9, "GCC, power5-cmp 3 and power5-mfcr 6"}},
	},
	{
		group: "condition register", name: "mfcr, independent", times: 16, units: 4,
		text:      "mfcr 7; mfcr 8; mfcr 9; mfcr 10",
		code:      [2]loopCode{{body: "7ce000267d0000267d2000267d400026"}},
		published: map[string]figure{"power5-1656": {4, "GCC, power5-mfcr, one unit busy for 4"}},
	},
	{
		group: "condition register", name: "mfocrf, independent", times: 16, units: 4,
		text:      "mfocrf 7,1; mfocrf 8,1; mfocrf 9,1; mfocrf 10,1",
		code:      [2]loopCode{{body: "7cf010267d1010267d3010267d501026"}},
		published: map[string]figure{"power5-1656": {1, "GCC, power5-mfcrf in one unit"}},
	},
	{
		group: "condition register", name: "mtocrf and mfocrf, chain", times: 32, units: 1,
		text:      "mtocrf 1,7; mfocrf 7,1",
		code:      [2]loopCode{{body: "7cf011207cf01026"}},
		published: map[string]figure{"power5-1656": {7, "GCC, power5-mtcr 4 and power5-mfcrf 3"}},
	},
	{
		group: "condition register", name: "crand with itself, chain", times: 64, units: 1,
		text:      "crand 28,28,29",
		code:      [2]loopCode{{body: "4f9cea02"}},
		published: map[string]figure{"power5-1656": {2, "GCC, power5-crlogical 2"}},
	},
	{
		group: "condition register", name: "crand of two others, chain", times: 32, units: 2,
		text:      "crand 28,24,26; crand 24,28,30",
		code:      [2]loopCode{{body: "4f98d2024f1cf202"}},
		published: map[string]figure{"power5-1656": {4, "GCC, power5-delayedcr 4"}},
	},
	{
		group: "special registers", name: "mtlr and mflr, chain", times: 32, units: 1,
		text:      "mtlr 7; mflr 7",
		code:      [2]loopCode{{body: "7ce803a67ce802a6"}},
		published: map[string]figure{"power5-1656": {6, "GCC, power5-mtjmpr 3, twice"}},
	},
	{
		group: "special registers", name: "mtctr and mfctr, chain", times: 32, units: 1,
		text:      "mtctr 7; mfctr 7",
		code:      [2]loopCode{{body: "7ce903a67ce902a6", keepsCount: true}},
		published: map[string]figure{"power5-1656": {6, "GCC, power5-mtjmpr 3, twice"}},
	},
	{
		group: "memory", name: "ld, chain", times: 64, units: 1,
		text:      "ld 3,0(3)",
		code:      [2]loopCode{{setup: "f8630000", body: "e8630000"}},
		published: map[string]figure{"power5-1656": {4, "GCC, power5-load 4, once 3"}},
	},
	{
		group: "memory", name: "ld, independent", times: 16, units: 4,
		text:      "ld 7,0(3); ld 8,8(3); ld 9,16(3); ld 10,24(3)",
		code:      [2]loopCode{{body: "e8e30000e9030008e9230010e9430018"}},
		published: map[string]figure{"power5-1656": {0.5, "GCC, power5-load in two units"}},
	},
	{
		group: "memory", name: "lwa, chain", times: 64, units: 1,
		text:      "lwax 7,8,7",
		code:      [2]loopCode{{setup: "38e00000f8e30000f8e300087d033a14", body: "7ce83aaa"}},
		published: map[string]figure{"power5-1656": {5, "GCC, power5-load-ext 5"}},
	},
	{
		group: "memory", name: "lwa, independent", times: 16, units: 4,
		text:      "lwa 7,0(3); lwa 8,8(3); lwa 9,16(3); lwa 10,24(3)",
		code:      [2]loopCode{{body: "e8e30002e903000ae9230012e943001a"}},
		published: map[string]figure{"power5-1656": {0.5, "GCC, power5-load-ext, cracked, two of them a group"}},
	},
	{
		group: "memory", name: "ldu, chain of addresses", times: 32, units: 1,
		text:      "ldu 7,8(3)",
		code:      [2]loopCode{{body: "e8e30009", fix: "3863ff00"}},
		published: map[string]figure{"power5-1656": {2, "GCC, power5-load-update: the address by an integer operation, power5-integer 2"}},
	},
	{
		group: "memory", name: "ldu, independent", times: 32, units: 4,
		text:      "ldu 11,8(3); ldu 11,8(7); ldu 11,8(8); ldu 11,8(9)",
		code:      [2]loopCode{{setup: "7c671b787c681b787c691b78", body: "e9630009e9670009e9680009e9690009", fix: "3863ff0038e7ff003908ff003929ff00"}},
		published: map[string]figure{"power5-1656": {0.5, "GCC, power5-load-update, cracked, two of them a group"}},
	},
	{
		group: "memory", name: "std, independent", times: 16, units: 4,
		text:      "std 5,0(3); std 5,8(3); std 5,16(3); std 5,24(3)",
		code:      [2]loopCode{{body: "f8a30000f8a30008f8a30010f8a30018"}},
		published: map[string]figure{"power5-1656": {1, "TEN, one write into the cache a cycle"}},
	},
	{
		group: "memory", name: "stdu, chain of addresses", times: 32, units: 1,
		text:      "stdu 5,8(3)",
		code:      [2]loopCode{{body: "f8a30009", fix: "3863ff00"}},
		published: map[string]figure{"power5-1656": {2, "GCC, power5-store-update: the address by an integer operation, power5-integer 2"}},
	},
	{
		group: "memory", name: "std and ld of the same word, chain", times: 32, units: 1,
		text:      "std 7,0(3); ld 7,0(3)",
		code:      [2]loopCode{{setup: "38e00000", body: "f8e30000e8e30000"}},
		published: map[string]figure{"power5-1656": {12, "GCC, power5-store 12"}},
	},
	{
		group: "memory", name: "ldarx, chain", times: 32, units: 1,
		text:      "ldarx 3,0,3",
		code:      [2]loopCode{{setup: "f8630000", body: "7c6018a8"}},
		published: map[string]figure{"power5-1656": {11, "GCC, power5-llsc 11"}},
	},
	{
		group: "memory", name: "ldarx, stdcx. and mfocrf, chain", times: 16, units: 1,
		text:      "ldarx 8,0,3; stdcx. 7,0,3; mfocrf 7,128",
		code:      [2]loopCode{{setup: "38e00000", body: "7d0018a87ce019ad7cf80026"}},
		published: map[string]figure{"power5-1656": {14, "GCC, power5-llsc 11 and power5-mfcrf 3"}},
	},
	{
		group: "memory", name: "sync", times: 16, units: 1,
		text:      "sync",
		code:      [2]loopCode{{body: "7c0004ac"}},
		published: map[string]figure{"power5-1656": {11, "GCC, power5-llsc 11"}},
	},
	{
		group: "groups", name: "two loads and two additions", times: 32, units: 4,
		text:      "ld 7,0(3); ld 8,8(3); add 9,5,5; add 10,5,5",
		code:      [2]loopCode{{body: "e8e30000e90300087d252a147d452a14"}},
		published: map[string]figure{"power5-1656": {0.25, "GCC, four slots, two units of each kind"}},
	},
	{
		group: "groups", name: "the same and a branch that is not taken", times: 16, units: 5,
		text:      "ld 7,0(3); ld 8,8(3); add 9,5,5; add 10,5,5; bne .+4",
		code:      [2]loopCode{{setup: "7c252800", body: "e8e30000e90300087d252a147d452a1440820004"}},
		published: map[string]figure{"power5-1656": {0.2, "GCC, five slots, the last for branches"}},
	},
	{
		group: "groups", name: "branches that are not taken", times: 64, units: 1,
		text:      "bne .+4",
		code:      [2]loopCode{{setup: "7c252800", body: "40820004"}},
		published: map[string]figure{"power5-1656": {1, "GCC, power5-branch, one unit, the last slot of a group"}},
	},
	{
		group: "groups", name: "a cracked instruction behind three others", times: 16, units: 5,
		text:      "ld 7,0(3); ld 8,8(3); add 9,5,5; lwa 10,16(3); bne .+4",
		code:      [2]loopCode{{setup: "7c252800", body: "e8e30000e90300087d252a14e943001240820004"}},
		published: map[string]figure{"power5-1656": {0.4, "GCC, two slots do not fit behind three, so there are two groups"}},
	},
	{
		group: "groups", name: "isync", times: 16, units: 1,
		text:      "isync",
		code:      [2]loopCode{{body: "4c00012c"}},
		published: map[string]figure{"power5-1656": {2, "GCC, power5-isync 2"}},
	},
}
