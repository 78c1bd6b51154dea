package ppc64

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// compileProgram builds testdata/programs.c at an optimization level.
func compileProgram(t *testing.T, level string) string {
	return hosttools.Program(t, "powerpc64-linux-gnu-gcc", "gcc-powerpc64-linux-gnu", level, "-mcpu=power5", "-msoft-float", "-mno-altivec")
}

// TestPrograms runs what GCC makes of C under qemu and in the simulator, by both models, and compares what it
// prints.
func TestPrograms(t *testing.T) {
	emulator := qemu(t)
	for _, level := range []string{"-O2", "-Os", "-O0"} {
		t.Run(level, func(t *testing.T) {
			file := compileProgram(t, level)
			program, err := os.ReadFile(file)
			require.NoError(t, err)
			want, err := runQemu(t, emulator, program)
			require.Need(t, err == nil && bytes.Count(want, []byte("\n")) >= 15, "qemu: %v, printed\n%s", err, want)
			for _, model := range []string{cpus.Throughput, cpus.Window} {
				got, n := runProgram(t, file, model)
				if !bytes.Equal(want, got) {
					t.Errorf("%s: qemu prints\n%s\nthe simulator\n%s", model, want, got)
				}
				t.Logf("%s: %d instructions", model, n)
			}
		})
	}
}

// runProgram executes an ELF file in user mode and returns what it writes, and how many instructions it took.
func runProgram(t *testing.T, file, model string) (out []byte, n uint64) {
	const stack = 0x70000000
	maps := []mmu.Mapping{{VA: stack, PA: worldTables / 2, Size: 0x10000, User: true, Writable: true}}
	p := cpustest.LoadProgram(t, file, freePages)
	w := newWorld(t, model, nil, append(maps, p.Maps...)...)
	p.Write(w.mem)
	c := w.cpu()
	entry, toc := c.peek(p.Entry), c.peek(p.Entry+8)
	c.Boot(entry, stack+0xff00)
	c.setMSR(userMSR)
	c.R[rTOC] = toc
	for c.Run(1 << 60); c.PC() == vecSyscall; c.Run(1 << 60) {
		if c.R[0] != 4 {
			return out, c.Counters().Instructions
		}
		c.R[3] = c.R[5]
		c.ReturnFromException() // as rfid does
		c.setMSR(c.srr[1])
		c.R[rPC] = c.srr[0]
		for i := range c.R[5] {
			pa, _ := c.Translate(c.R[4] + i)
			out = append(out, byte(c.Memory.Load(binary.BigEndian, pa, 1)))
		}
	}
	t.Fatalf("%s at %#x, DAR %#x", vectorName(c.PC()), c.srr[0], c.dar)
	return nil, 0
}

// TestTrapsAgainstQemu compares which traps are taken. A trap ends qemu's program, so each takes a run.
func TestTrapsAgainstQemu(t *testing.T) {
	path := qemu(t)
	values := []uint64{0, 1, 5, 1<<64 - 1, 1 << 31, 1 << 32}
	taken := 0
	for i, word := range []uint32{
		insnX(31, 16, 3, 4, 4), insnX(31, 8, 3, 4, 4), insnX(31, 4, 3, 4, 68), insnX(31, 2, 3, 4, 68),
		insnX(31, 1, 3, 4, 4), insnD(3, 12, 3, -1), insnD(2, 18, 3, 5), insnD(2, 8, 3, 0), insnTrap,
	} {
		a, b := values[i%len(values)], values[i*5%len(values)]
		for _, v := range [][2]uint64{{a, b}, {b, a}, {a, a}} {
			h := newHarness(1)
			f := &form{code: []uint32{word}}
			f.stub, f.at = h.stub(f.code)
			s := &state{stub: f.stub}
			s.r[3], s.r[4] = v[0], v[1]
			_, err := runQemu(t, path, elfFile(h, binary.BigEndian.AppendUint64(s.bytes(), f.stub), 1))
			c := newUserSim(t, h)
			c.run(f, s)
			trapped := c.PC() == vecProgram && c.srr[1]&srr1Trap != 0
			if trapped != (err != nil) {
				t.Errorf("%#x of %#x and %#x: qemu %v, simulator traps: %v", word, v[0], v[1], err, trapped)
			}
			if trapped {
				taken++
			}
		}
	}
	require.That(t, taken >= 9 && taken <= 18, "%d of 27 traps were taken", taken)
}
