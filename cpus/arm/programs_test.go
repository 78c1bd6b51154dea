package arm

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// compiler is the one whose output for this processor the package is made for.
const compiler = "arm-linux-gnueabi-gcc"

// compileProgram builds testdata/programs.c with options.
func compileProgram(t *testing.T, options string) string {
	t.Helper()
	path, err := osexec.LookPath(compiler)
	if err != nil {
		t.Skipf("no programs: %s is not installed (Debian: gcc-arm-linux-gnueabi)", compiler)
	}
	out := filepath.Join(t.TempDir(), "programs")
	args := append(strings.Fields(options), "-marm", "-mfloat-abi=soft", "-ffreestanding", "-fno-stack-protector", "-static",
		"-nostdlib", "-no-pie", "-o", out, filepath.Join("testdata", "programs.c"), "-lgcc")
	if text, err := osexec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// TestPrograms runs what GCC makes of C under qemu and in the simulator, by both models, and compares what it
// prints.
func TestPrograms(t *testing.T) {
	emulator := qemu(t)
	for _, options := range []string{"-O2 -march=armv7-a", "-Os -march=armv7-a", "-O0 -march=armv7-a", "-O3 -mcpu=cortex-a15"} {
		t.Run(options, func(t *testing.T) {
			file := compileProgram(t, options)
			program, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := runQemu(t, emulator, program)
			if err != nil || bytes.Count(want, []byte("\n")) < 9 {
				t.Fatalf("qemu: %v, printed\n%s", err, want)
			}
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
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const stack = 0x70000000
	maps := []mmu.Mapping{{VA: stack, PA: worldTables / 2, Size: 0x10000, User: true, Writable: true}}
	next := uint64(freePages)
	parts := map[uint64][]byte{}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		data := make([]byte, p.Filesz)
		if _, err := p.ReadAt(data, 0); err != nil {
			t.Fatal(err)
		}
		skip := p.Vaddr & 0xfff
		size := (skip + p.Memsz + 0xfff) &^ 0xfff
		maps = append(maps, mmu.Mapping{VA: p.Vaddr - skip, PA: next, Size: size, User: true, Writable: true, Exec: true})
		parts[next+skip] = data
		next += size
	}
	w := newWorld(t, model, nil, maps...)
	for at, data := range parts {
		w.mem.Write(at, data)
	}
	c := w.cpu()
	c.Boot(f.Entry, 0)
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
