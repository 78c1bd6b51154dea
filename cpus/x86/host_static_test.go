package x86

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// Places of a program in user mode: memory from a physical address on, its stack, and where system calls go.
const (
	programPhys  = 0x200000
	programEnd   = 12 << 20
	programStack = 0x7ffff0000000
	programHeap  = 0x20000000
	programMaps  = 0x30000000
	programCalls = 0x600000000000
	stackPages   = 16
	patience     = clock.Ticks(1 << 40)
)

// process is a static program in user mode, with the few system calls that a C library makes.
type process struct {
	*world
	c        *CPU
	free     uint64 // physical
	brk, top uint64
	out      bytes.Buffer
	status   int
	ended    bool
	unknown  []uint64
}

// TestStaticProgram runs a program with the host's static C library natively and simulated and compares what both
// print and return. The library chooses its functions by CPUID: it takes the functions for SSE2.
func TestStaticProgram(t *testing.T) {
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		hosttools.Unable(t, "a program with a C library", "it needs linux/amd64")
	}
	gcc := hosttools.Need(t, "gcc", "gcc", "a program with a C library")
	path := filepath.Join(t.TempDir(), "static")
	if out, err := osexec.Command(gcc, "-static", "-O3", "-fno-math-errno", "-fno-pie", "-no-pie", "-o", path, "testdata/static.c").CombinedOutput(); err != nil {
		hosttools.Missing(t, "a program with a C library", err.Error()+" "+string(out))
	}
	want, err := osexec.Command(path, "argument").Output()
	var exit *osexec.ExitError
	require.Need(t, errors.As(err, &exit) && exit.ExitCode() == 7, "on the host: %v", err)
	for _, model := range []string{cpus.Throughput, cpus.Window} {
		p := newProcess(t, model, path, "static", "argument")
		p.run(t)
		got := p.out.String()
		require.That(t, got == string(want) && p.status == 7, "%s: status %d, prints\n%swant\n%s", model, p.status, got, want)
		t.Logf("%s: %d instructions, system calls without an answer %d", model, p.c.Counters().Instructions, p.unknown)
	}
}

// newProcess loads a static executable.
func newProcess(t *testing.T, model, path string, args ...string) *process {
	t.Helper()
	w := newWorld(t, ISA64(), model, nil)
	w.bus.Native = [2]uint64{programCalls, programCalls + 1}
	p := &process{world: w, free: programPhys, brk: programHeap, top: programMaps}
	p.mapUser(programCalls, p.take(1), 0x1000, pageExec)
	p.c = w.cpu()
	c := p.c
	c.cr4 |= cr4OSFXSR
	c.msr.lstar, c.msr.star, c.msr.fmask = programCalls, (userDS-8)<<48|kernelCS<<32, flagIF
	f := require.Must(elf.Open(path))(t)
	defer func() { _ = f.Close() }() // it was only read
	var head uint64
	for _, s := range f.Progs {
		if s.Type != elf.PT_LOAD {
			continue
		}
		if s.Off == 0 {
			head = s.Vaddr + 64
		}
		b := make([]byte, s.Filesz)
		if _, err := s.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
		p.place(s.Vaddr, int(s.Memsz), b)
	}
	w.user(c)
	c.fpu.control = fcwReset
	c.R[rRIP], c.R[rsp] = f.Entry, p.arguments(f, head, args)
	return p
}

// take gives physical pages.
func (p *process) take(pages int) uint64 {
	at := p.free
	p.free += uint64(pages) << 12
	require.Need(p.tb, p.free <= programEnd, "the program needs more memory than there is")
	return at
}

// place maps memory at an address, writable and executable, with bytes at its beginning. Pages may be mapped already.
func (p *process) place(va uint64, size int, b []byte) {
	for at := va &^ 0xfff; at < va+uint64(size); at += 0x1000 {
		if _, ok := p.c.Translate(at); !ok {
			p.mapPage(at, p.take(1)|pteUser|pteWrite|ptePresent)
		}
	}
	for i, x := range b {
		pa, _ := p.c.Translate(va + uint64(i))
		p.mem.Write(pa, []byte{x})
	}
}

// arguments builds the stack that a program begins with (System V ABI for x86-64, 3.4.1) and returns its pointer.
func (p *process) arguments(f *elf.File, head uint64, args []string) uint64 {
	p.place(programStack-stackPages<<12, stackPages<<12, nil)
	at := uint64(programStack - 0x800)
	words := []uint64{uint64(len(args))}
	for _, a := range args {
		p.place(at, len(a)+1, append([]byte(a), 0))
		words = append(words, at)
		at += uint64(len(a)) + 1
	}
	words = append(words, 0, 0) // no environment
	for _, x := range [][2]uint64{
		{3, head},
		{4, 56},
		{5, uint64(len(f.Progs))},
		{6, 0x1000},
		{9, f.Entry},
		{11, 0},
		{12, 0},
		{13, 0},
		{14, 0},
		{16, featuresD},
		{23, 0},
		{25, programStack - 0x100},
		{0, 0},
	} { // PHDR, PHENT, PHNUM, PAGESZ, ENTRY, identities, HWCAP, SECURE, RANDOM
		words = append(words, x[0], x[1])
	}
	sp := (programStack - 0x1000 - 8*uint64(len(words))) &^ 15
	for i, v := range words {
		p.place(sp+8*uint64(i), 8, le64(v))
	}
	return sp
}

// run goes on until the program ends.
func (p *process) run(t *testing.T) {
	t.Helper()
	c := p.c
	for !p.ended {
		e := c.Run(c.Now() + patience)
		if e.Reason != cpus.Native {
			t.Fatalf("stopped: %+v at %#x; %d instructions not modelled, the last %s", e, c.R[rRIP], c.Counts.Unmodelled, c.Counts.LastUnknown)
		}
		c.R[rax] = p.call(c.R[rax], c.R[rdi], c.R[rsi], c.R[rdx])
		p.user(c)
		c.R[rRIP] = c.R[rcx]
		c.setFlags(c.R[r11], ^uint64(0))
	}
}

const noSuchCall = ^uint64(38 - 1) // -ENOSYS

// call answers a system call.
func (p *process) call(n, a, b, d uint64) uint64 {
	switch n {
	case 1: // write
		for i := range d {
			pa, _ := p.c.Translate(b + i)
			p.out.WriteByte(p.mem.Bytes(pa, 1)[0])
		}
		return d
	case 9: // mmap
		at := p.top
		p.place(at, int(b), nil)
		p.top += (b + 0xfff) &^ 0xfff
		return at
	case 12: // brk
		if a > p.brk {
			p.place(p.brk, int(a-p.brk), nil)
			p.brk = a
		}
		return p.brk
	case 158: // arch_prctl, of FS
		p.c.segBase[segFS] = b
		return 0
	case 5, 262: // fstat: a pipe
		at := b
		if n == 262 {
			at = d
		}
		stat := make([]byte, 144)
		binary.LittleEndian.PutUint32(stat[24:], 0o10600)
		p.place(at, len(stat), stat)
		return 0
	case 10, 11, 218, 273: // mprotect, munmap, set_tid_address, set_robust_list
		return 0
	case 231:
		p.status, p.ended = int(a), true
		return 0
	}
	p.unknown = append(p.unknown, n)
	return noSuchCall
}

// TestRefusedProgram holds that a program whose library would use a later extension stops at the instruction, and with its
// name.
func TestRefusedProgram(t *testing.T) {
	w, c := start(t, 0x66, 0x0f, 0x38, 0x40, 0xc1) // pmulld %xmm1,%xmm0
	c.cr4 |= cr4OSFXSR
	if tr := w.trapped(c); tr.vector != vecUD || !strings.Contains(c.Counts.LastUnknown, "PMULLD") {
		t.Errorf("%+v, %q", tr, c.Counts.LastUnknown)
	}
	if got := c.Refusals(); len(got) != 1 || got[0].Name != "PMULLD" || got[0].PC != testCode || got[0].Count != 1 {
		t.Errorf("refused %+v", got)
	}
}
