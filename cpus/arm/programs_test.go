package arm

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// compileProgram builds testdata/programs.c with options.
func compileProgram(t *testing.T, options string) string {
	all := append(strings.Fields(options), "-marm", "-mfloat-abi=soft")
	return hosttools.Program(t, "arm-linux-gnueabi-gcc", "gcc-arm-linux-gnueabi", all...)
}

// TestPrograms runs what GCC makes of C under qemu and in the simulator, by both models, and compares what it
// prints.
func TestPrograms(t *testing.T) {
	emulator := qemu(t)
	for _, options := range []string{"-O2 -march=armv7-a", "-Os -march=armv7-a", "-O0 -march=armv7-a", "-O3 -mcpu=cortex-a15"} {
		t.Run(options, func(t *testing.T) {
			file := compileProgram(t, options)
			program, err := os.ReadFile(file)
			require.NoError(t, err)
			want, err := runQemu(t, emulator, program)
			require.Need(t, err == nil && bytes.Count(want, []byte("\n")) >= 9, "qemu: %v, printed\n%s", err, want)
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
	c.Boot(p.Entry, 0)
	c.setCPSR(modeUser, psrMode)
	c.R[rSP] = stack + 0xff00
	for to(t, c) == vecSupervisorCall {
		if c.R[7] != 4 {
			return out, c.Counters().Instructions
		}
		for i := range c.R[2] {
			pa, _ := c.Translate(c.R[1] + i)
			out = append(out, byte(c.Memory.Load(binary.LittleEndian, pa, 1)))
		}
		c.R[0] = c.R[2]
		back := c.R[rLR]
		c.LeaveException() // as a return does
		c.setCPSR(*c.spsr(), ^uint32(0))
		c.R[rPC] = back
	}
	t.Fatalf("%s at %#x, DFAR %#x", vectorNames[(c.PC()-vectorTable)/4], c.R[rLR], c.dfar)
	return nil, 0
}
