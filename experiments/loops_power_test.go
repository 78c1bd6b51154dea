package experiments_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
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
	mem := cpustest.Memory(t, ram)
	root := require.Must(isa.Tables(mem, ram/2, []mmu.Mapping{{VA: va, Writable: true, Exec: true, Limit: ram / 2}}))(t)
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
	setup := fromHex(t, c.Setup)
	body := append(bytes.Repeat(fromHex(t, c.Body), times), fromHex(t, c.Fix)...)
	branch := uint32(bdnz)
	if c.KeepsCount {
		body = append(body, fromHex(t, "38c6ffff2c260000")...)
		branch = bne
	} else {
		setup = append(setup, fromHex(t, mtctr)...)
	}
	body = binary.BigEndian.AppendUint32(body, branch|uint32(-len(body))&0xfffc)
	return append(setup, body...)
}
