package x86

import (
	"bytes"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// Where the trampoline of these tests lies: its data and its stack are in its segment.
const (
	realAt    = 0x8000
	realGDT   = 0x8100
	flat32At  = 0x9000
	realTable = 0x80 // offsets from realAt
	realData1 = 0x90
)

// realTrampoline is 16-bit code as kernels have it for their further processors: it jumps to its segment, calls a function,
// and leaves for 32-bit code.
var realTrampoline = join(
	[]byte{0xfa},                                     // cli
	[]byte{0xea, 0x06, 0x00, 0x00, 0x08},             // ljmp $0x800,$6
	[]byte{0x8c, 0xc8, 0x8e, 0xd8, 0x8e, 0xd0},       // mov %cs,%ax; mov %ax,%ds; mov %ax,%ss
	[]byte{0x66, 0xbc, 0x00, 0x0f, 0x00, 0x00},       // movl $0xf00,%esp
	[]byte{0xe8, 0x2b, 0x00},                         // call 0x40
	[]byte{0x66, 0x0f, 0x01, 0x1e, realTable, 0},     // lidtl
	[]byte{0x66, 0x0f, 0x01, 0x16, realTable + 8, 0}, // lgdtl
	[]byte{0x0f, 0x20, 0xc0},                         // mov %cr0,%eax
	[]byte{0x66, 0x83, 0xc8, 0x01},                   // orl $1,%eax
	[]byte{0x0f, 0x22, 0xc0},                         // mov %eax,%cr0
	[]byte{0x66, 0xea}, le32(flat32At), le16(8),      // ljmpl $8,$flat32At
	make([]byte, 0x40-0x33),
	[]byte{0x9c, 0x66, 0x9c, 0x66, 0x58, 0x9d},        // pushf; pushfl; popl %eax; popf
	[]byte{0x8b, 0x36, realData1, 0},                  // mov realData1,%si
	[]byte{0x67, 0x66, 0x8b, 0x1d}, le32(realData1+4), // movl realData1+4,%ebx by a 32-bit address
	[]byte{0xbf, realData1, 0, 0x66, 0x8b, 0x6d, 0x04}, // mov $realData1,%di; movl 4(%di),%ebp

)

// startReal makes a CPU that has been started at realAt, with the trampoline's data in memory.
func startReal(t *testing.T, isa *cpus.ISA, code, behind []byte) (*world, *CPU) {
	t.Helper()
	w := newWorld(t, isa, cpus.Window, nil)
	w.mem.Write(realAt, code)
	w.mem.Write(realAt+realTable+8, join(le16(0x1f), le32(realGDT)))
	w.mem.Write(realAt+realData1, join(le16(0x1234), le16(0), le32(0xdeadbeef)))
	w.mem.Write(realGDT, join(le64(0), le64(0x00cf9b000000ffff), le64(0x00cf93000000ffff)))
	w.mem.Write(flat32At, behind)
	bus := w.bus
	bus.Root = RealMode
	c := isa.New(1, w.cfg, bus).(*CPU)
	c.Reset()
	c.Boot(realAt, 0)
	return w, c
}

// TestRealModeStart goes from a start-up interrupt to 32-bit code, on processors with and without long mode.
func TestRealModeStart(t *testing.T) {
	code := append(bytes.Clone(realTrampoline), 0xc3) // ret
	// mov $0x10,%eax; mov %eax,%ss; mov %eax,%ds; mov %eax,%es; push %ebx; pop %ecx; mov 0x8094,%edx; hlt
	behind := join([]byte{0xb8, 0x10, 0, 0, 0, 0x8e, 0xd0, 0x8e, 0xd8, 0x8e, 0xc0, 0x53, 0x59, 0x8b, 0x15}, le32(realAt+realData1+4), []byte{0xf4})
	for _, isa := range []*cpus.ISA{ISA64(), ISA32()} {
		_, c := startReal(t, isa, code, behind)
		require.That(t, c.seg[segCS].sel == realAt>>4 && c.segBase[segCS] == realAt, "%s: begins in segment %#x at %#x", isa.Name, c.seg[segCS].sel, c.segBase[segCS])
		halt(t, c)
		if c.PC() != flat32At+uint64(len(behind)) || c.short16 || c.real() || c.lma() || c.Single&oneNull != 0 {
			t.Errorf("%s: halted at %#x in 16-bit code %v, real mode %v: %s", isa.Name, c.PC(), c.short16, c.real(), c.Counts.LastUnknown)
		}
		if c.R[rsi]&0xffff != 0x1234 || c.R[rbx] != 0xdeadbeef || c.R[rbp] != 0xdeadbeef || c.R[rcx] != 0xdeadbeef || c.R[rdx] != 0xdeadbeef {
			t.Errorf("%s: esi %#x ebx %#x ebp %#x ecx %#x edx %#x", isa.Name, c.R[rsi], c.R[rbx], c.R[rbp], c.R[rcx], c.R[rdx])
		}
		require.That(t, c.R[rsp] == 0xf00 && c.Counts.Unmodelled == 0, "%s: esp %#x, %d instructions not modelled", isa.Name, c.R[rsp], c.Counts.Unmodelled)
		c.R[rax], c.R[rdi] = 5, 6
		narrow := c.Arg(0)
		c.setLong(isa.Bits == 64)
		require.That(t, narrow == 5 && c.Arg(0) == map[int]uint64{32: 5, 64: 6}[isa.Bits], "%s: argument 0 is %d, and %d in the kernel's own code", isa.Name, narrow, c.Arg(0))
	}
}

// TestRealModeRefused names what 16-bit code does not have here, and what of real mode 32-bit code must not use.
func TestRealModeRefused(t *testing.T) {
	through := func(b ...byte) []byte { return b }
	for name, x := range map[string]struct {
		code, behind []byte
		want         string
	}{
		"interrupt":        {through(0xcd, 0x10), nil, "INT 0x10"},
		"string":           {through(0xac), nil, "LODSB"},
		"far call":         {through(0x9a, 0, 0, 0, 8), nil, "LCALL"},
		"indirect jump":    {through(0xff, 0xe0), nil, "JMP"},
		"wide call":        {through(0x66, 0xe8, 0, 0, 0, 0), nil, "CALL"},
		"stack that wraps": {through(0x50), nil, "stack of 16 bits that wraps"},
		"beyond the limit": {through(0x66, 0xbb, 0, 0, 1, 0, 0x67, 0x8a, 0x03), nil, "#GP at 0x8006"},
		"jump outside":     {through(0x66, 0xe9, 0, 0, 1, 0), nil, "jump out of a 16-bit code segment"},
		"store to code":    {through(0x2e, 0xa3, 0, 0), nil, "#GP"},
		"old data segment": {realTrampoline[:0x33], through(0xa1, 0x94, 0x80, 0, 0), "through a segment of real mode"},
		"old stack":        {realTrampoline[:0x33], through(0x50), "through a segment of real mode"},
	} {
		code := x.code
		if x.behind != nil {
			code = append(bytes.Clone(code), make([]byte, 0x40-0x33)...)
			code = append(code, 0xc3)
		}
		_, c := startReal(t, ISA64(), code, x.behind)
		e := c.Run(1 << 40)
		require.That(t, e.Reason == cpus.Shutdown && strings.Contains((e.Detail+" "+c.Counts.LastUnknown), x.want), "%s: %+v, %q; want %q", name, e, c.Counts.LastUnknown, x.want)
	}
}

// TestRealModeStack pushes a word where a stack of 16 bits has room for eight bytes on both sides, and is refused a byte further.
func TestRealModeStack(t *testing.T) {
	for sp, fits := range map[uint64]bool{7: false, 8: true, 0xfff8: true, 0xfff9: false} {
		_, c := startReal(t, ISA64(), []byte{0x50}, nil) // push %ax
		c.R[rsp] = sp
		c.Steps(1, 1<<40)
		require.That(t, (c.Counts.Unmodelled == 0) == fits && (!fits || c.R[rsp] == sp-2), "from %#x to %#x: %d refused", sp, c.R[rsp], c.Counts.Unmodelled)
	}
}

// FuzzReal executes any bytes as 16-bit code.
func FuzzReal(f *testing.F) {
	f.Add(realTrampoline)
	f.Fuzz(func(t *testing.T, code []byte) {
		_, c := startReal(t, ISA64(), code[:min(len(code), realTable)], nil)
		c.Run(1 << 20) // whatever comes, but no panic
	})
}
