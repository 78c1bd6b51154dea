package x86

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// managesState makes a processor one that has all forms of XSAVE, turned on for x87 and SSE.
func (c *CPU) managesState() {
	c.answers = newAnswers(&cpus.Config{Answers: claimsXSAVE(formOptimized | formCompacted | formInUse)}, c.hasLongMode)
	c.cr4 |= cr4OSXSAVE
	c.xcr0 = partX87 | partSSE
}

// claimsXSAVE is a description with some forms.
func claimsXSAVE(forms uint64) cpus.Answers {
	return cpus.Answers{tableCPUID: {
		0:              {leafXSAVE, 0x756e6547, 0x6c65746e, 0x49656e69},
		1:              {0x10676, 1<<16 | 8<<8, featuresC | featureXSAVE, featuresD},
		leafXSAVEForms: {forms, 0, 0, 0},
	}}
}

// Instructions on the area that rbx points to, and on XCR0.
var (
	codeXsave    = []byte{0x0f, 0xae, 0x23}
	codeXrstor   = []byte{0x0f, 0xae, 0x2b}
	codeXsaveopt = []byte{0x0f, 0xae, 0x33}
	codeXsavec   = []byte{0x0f, 0xc7, 0x23}
	codeXgetbv   = []byte{0x0f, 0x01, 0xd0}
	codeXsetbv   = []byte{0x0f, 0x01, 0xd1}
)

// area is the memory of a test that an instruction works on.
type area struct {
	w  *world
	at uint64
}

func (a area) word(i uint64) uint64  { return a.w.mem.Load(binary.LittleEndian, a.at+i, 8) }
func (a area) set(offset, v uint64)  { a.w.mem.Store(binary.LittleEndian, a.at+offset, 8, v) }
func (a area) header() (b [3]uint64) { return [3]uint64{a.word(512), a.word(520), a.word(528)} }
func areaOf(w *world, c *CPU) area   { c.R[rbx] = w.at(testData); return area{w, testData - directMap} }

func manages(t *testing.T, isa *cpus.ISA, code ...byte) (*world, *CPU, area) {
	t.Helper()
	w, c := asked(t, isa, claimsXSAVE(formOptimized|formCompacted|formInUse), code...)
	c.managesState()
	return w, c, areaOf(w, c)
}

// TestAreaFaults raises what the manual has for each instruction, in its order (SDM vol. 2, XSAVE, XRSTOR, XGETBV, XSETBV; vol. 1, 13.8).
func TestAreaFaults(t *testing.T) {
	all := [][]byte{codeXsave, codeXsaveopt, codeXsavec, codeXrstor}
	control := [][]byte{codeXgetbv, codeXsetbv}
	for _, x := range []struct {
		name   string
		codes  [][]byte
		change func(c *CPU, a area)
		vector int
	}{
		{"turned off", append(control, all...), func(c *CPU, _ area) { c.cr4 &^= cr4OSXSAVE; c.cr0 |= cr0TS; c.R[rbx]++; c.R[rcx] = 7 }, vecUD},
		{"state of another task", all, func(c *CPU, _ area) { c.cr0 |= cr0TS; c.R[rbx]++ }, vecNMx87},
		{"no emulation", all, func(c *CPU, _ area) { c.cr0 |= cr0EM }, 0},
		{"another task's state is not XCR0", control, func(c *CPU, _ area) { c.cr0 |= cr0TS; c.R[rax] = 1 }, 0},
		{"aligned to 32 bytes", all, func(c *CPU, _ area) { c.R[rbx] += 32 }, vecGP},
		{"no page", all, func(c *CPU, _ area) { c.R[rbx] = 0x3fc0 }, vecPF},
		{"xsaveopt is not claimed", [][]byte{codeXsaveopt}, func(c *CPU, _ area) { c.answers.leaves[leafXSAVEForms] = leaf{formCompacted | formInUse} }, vecUD},
		{"xsavec is not claimed", [][]byte{codeXsavec}, func(c *CPU, _ area) { c.answers.leaves[leafXSAVEForms] = leaf{formOptimized | formInUse} }, vecUD},
		{"the others need no claim", [][]byte{codeXsave, codeXrstor, codeXgetbv}, func(c *CPU, _ area) { c.answers.leaves[leafXSAVEForms] = leaf{} }, 0},
		{"xgetbv of what is in use is not claimed", [][]byte{codeXgetbv}, func(c *CPU, _ area) { c.answers.leaves[leafXSAVEForms], c.R[rcx] = leaf{formOptimized}, 1 }, vecGP},
		{"a register behind", control, func(c *CPU, _ area) { c.R[rcx], c.R[rax] = 2, 1 }, vecGP},
		{"XCR0 without x87", [][]byte{codeXsetbv}, func(c *CPU, _ area) { c.R[rax] = partSSE }, vecGP},
		{"XCR0 with AVX", [][]byte{codeXsetbv}, func(c *CPU, _ area) { c.R[rax] = 7 }, vecGP},
		{"XCR0 with a bit of edx", [][]byte{codeXsetbv}, func(c *CPU, _ area) { c.R[rax], c.R[rdx] = 3, 1 }, vecGP},
		{"an image of AVX", [][]byte{codeXrstor}, func(_ *CPU, a area) { a.set(512, 7) }, vecGP},
		{"an image of what XCR0 leaves out", [][]byte{codeXrstor}, func(c *CPU, a area) { c.xcr0 = partX87; a.set(512, 3) }, vecGP},
		{"a compacted image without the bit", [][]byte{codeXrstor}, func(_ *CPU, a area) { a.set(520, 3) }, vecGP},
		{"the header's third word", [][]byte{codeXrstor}, func(_ *CPU, a area) { a.set(528, 1) }, vecGP},
		{"the header's last word", [][]byte{codeXrstor}, func(_ *CPU, a area) { a.set(568, 1) }, 0},
		{"compacted, the header's last word", [][]byte{codeXrstor}, func(_ *CPU, a area) { a.set(520, compacted|3); a.set(568, 1) }, vecGP},
		{"compacted, with a component that it has no place for", [][]byte{codeXrstor}, func(_ *CPU, a area) { a.set(520, compacted|1); a.set(512, 3) }, vecGP},
		{"compacted, with a place for AVX", [][]byte{codeXrstor}, func(_ *CPU, a area) { a.set(520, compacted|7) }, vecGP},
		{"compacted, without the form", [][]byte{codeXrstor}, func(c *CPU, a area) { a.set(520, compacted|3); c.answers.leaves[leafXSAVEForms] = leaf{} }, vecGP},
		{"MXCSR, in the standard form whatever the header says", [][]byte{codeXrstor}, func(_ *CPU, a area) { a.set(24, 1<<16) }, vecGP},
		{"MXCSR, where SSE is not asked for", [][]byte{codeXrstor}, func(c *CPU, a area) { a.set(24, 1<<16); c.R[rax] = 1 }, 0},
		{"MXCSR, compacted, of a component in the area", [][]byte{codeXrstor}, func(_ *CPU, a area) { a.set(24, 1<<16); a.set(520, compacted|3); a.set(512, 2) }, vecGP},
		{"MXCSR, compacted, of one that is not", [][]byte{codeXrstor}, func(_ *CPU, a area) { a.set(24, 1<<16); a.set(520, compacted|3) }, 0},
	} {
		for _, code := range x.codes {
			w, c, a := manages(t, ISA64(), append(append([]byte{}, code...), 0xf4)...)
			c.R[rax], c.R[rdx], c.R[rcx] = 3, 0, 0
			c.fpu.st[2], c.fpu.xmm[3] = vec{5}, vec{6, 7}
			x.change(c, a)
			before, xcr0, memory := c.fpu, c.xcr0, string(w.mem.Bytes(a.at, areaSize))
			if x.vector == 0 {
				halt(t, c)
				require.That(t, c.PC() == w.code(testCode)+uint64(len(code))+1, "%s, % x: stopped at %#x", x.name, code, c.PC())
				continue
			}
			tr := w.trapped(c)
			require.That(t, tr.vector == x.vector && tr.rip == w.code(testCode), "%s, % x: %+v, want vector %d", x.name, code, tr, x.vector)
			require.That(t, c.fpu == before && c.xcr0 == xcr0 && string(w.mem.Bytes(a.at, areaSize)) == memory, "%s, % x: something has changed", x.name, code)
		}
	}
}

// TestAreaIsPrivileged lets user mode do all but write XCR0, and refuses prefixes.
func TestAreaIsPrivileged(t *testing.T) {
	for _, x := range []struct {
		code   []byte
		vector int
	}{{codeXsetbv, vecGP}, {codeXgetbv, vecBP}, {codeXsave, vecBP}, {codeXrstor, vecBP}} {
		for _, prefix := range [][]byte{{}, {0x66}, {0xf2}, {0xf3}, {0xf0}} {
			w, c, _ := manages(t, ISA64())
			w.mapUser(userPage, userData, 0x1000, pageExec|pteWrite)
			w.mem.Write(userData, append(append(append([]byte{}, prefix...), x.code...), 0xcc))
			w.gate(vecBP, w.code(handlers)+vecBP, 0, 0xee)
			w.user(c)
			c.R[rRIP], c.R[rsp], c.R[rbx], c.R[rax] = userPage, userPage+0x800, userPage+0x800, 3
			want := x.vector
			if len(prefix) != 0 {
				want = vecUD
			}
			require.Equal(t, w.trapped(c).vector, want, "% x behind % x", x.code, prefix)
		}
	}
}

// TestAreaForms saves states that are as after a reset or not, and asks for parts of them.
func TestAreaForms(t *testing.T) {
	const foreign = 1 << 40 // in the header before
	x87, sse, mxcsr := func(f *fpu) { f.st[0] = vec{77} }, func(f *fpu) { f.xmm[3] = vec{0, 88} }, func(f *fpu) { f.mxcsr = 0x1fa0 }
	const clean, none = 0xaaaa_aaaa_aaaa_aaaa, 0
	for _, x := range []struct {
		name   string
		code   []byte
		state  []func(*fpu)
		used   uint64
		asked  uint64
		header [3]uint64
		words  [4]uint64 // the control words, MXCSR with its mask, a register of x87 and half of one of SSE
	}{
		{"both", codeXsave, []func(*fpu){x87, sse}, 3, 3, [3]uint64{foreign | 3, clean, clean}, [4]uint64{fcwReset, mxcsrReset | mxcsrKnown<<32, 77, 88}},
		{"nothing in use", codeXsave, nil, 0, 3, [3]uint64{foreign, clean, clean}, [4]uint64{fcwReset, mxcsrReset | mxcsrKnown<<32, 0, 0}},
		{"x87 is not asked for", codeXsave, []func(*fpu){x87, sse, mxcsr}, 3, 2, [3]uint64{foreign | 3, clean, clean}, [4]uint64{clean, 0x1fa0 | mxcsrKnown<<32, clean, 88}},
		{"SSE is not asked for", codeXsave, []func(*fpu){x87, sse, mxcsr}, 3, 1, [3]uint64{foreign | 3, clean, clean}, [4]uint64{fcwReset, clean, 77, clean}},
		{"optimized, both", codeXsaveopt, []func(*fpu){x87, sse}, 3, 3, [3]uint64{foreign | 3, clean, clean}, [4]uint64{fcwReset, mxcsrReset | mxcsrKnown<<32, 77, 88}},
		{"optimized, nothing in use", codeXsaveopt, nil, 0, 3, [3]uint64{foreign, clean, clean}, [4]uint64{clean, mxcsrReset | mxcsrKnown<<32, clean, clean}},
		{"optimized, MXCSR alone", codeXsaveopt, []func(*fpu){mxcsr}, 0, 3, [3]uint64{foreign, clean, clean}, [4]uint64{clean, 0x1fa0 | mxcsrKnown<<32, clean, clean}},
		{"compacted, both", codeXsavec, []func(*fpu){x87, sse}, 3, 3, [3]uint64{3, compacted | 3, clean}, [4]uint64{fcwReset, mxcsrReset | mxcsrKnown<<32, 77, 88}},
		{"compacted, nothing in use", codeXsavec, nil, 0, 3, [3]uint64{none, compacted | 3, clean}, [4]uint64{clean, clean, clean, clean}},
		{"compacted, MXCSR alone", codeXsavec, []func(*fpu){mxcsr}, 0, 3, [3]uint64{2, compacted | 3, clean}, [4]uint64{clean, 0x1fa0 | mxcsrKnown<<32, clean, 0}},
		{"compacted, MXCSR is not asked for", codeXsavec, []func(*fpu){mxcsr, x87}, 1, 1, [3]uint64{1, compacted | 1, clean}, [4]uint64{fcwReset, clean, 77, clean}},
	} {
		eachMode(t, func(t *testing.T, isa *cpus.ISA) {
			_, c, a := manages(t, isa, append(append([]byte{}, x.code...), 0x0f, 0x01, 0xd0, 0xf4)...)
			for i := range uint64(areaSize / 8) {
				a.set(8*i, clean)
			}
			a.set(512, foreign|x.asked^3)
			c.fpu.reset()
			for _, f := range x.state {
				f(&c.fpu)
			}
			c.fpu.xmm[15] = vec{1} // none of 32-bit code
			if isa.Bits == 64 {
				c.fpu.xmm[15] = vec{}
			}
			c.R[rax], c.R[rdx], c.R[rcx] = x.asked|4, 1<<20, 1
			halt(t, c)
			require.Equal(t, a.header(), x.header, "%s: header", x.name)
			require.Equal(t, [4]uint64{a.word(0), a.word(24), a.word(32), a.word(160 + 16*3 + 8)}, x.words, "%s: words", x.name)
			require.That(t, a.word(416) == clean && (isa.Bits == 64 || a.word(400) == clean), "%s: more has changed", x.name)
			require.Equal(t, c.R[rax], x.used, "%s: components in use", x.name)
		})
	}
}

// TestAreaIsLoaded loads a component, resets the other one, and leaves alone what is not asked for.
func TestAreaIsLoaded(t *testing.T) {
	for _, x := range []struct {
		asked, has, compact uint64
		x87, sse            int // kept, loaded, reset
		mxcsr               uint32
	}{
		{3, 3, 0, 1, 1, 0x1f00},
		{3, 1, 0, 1, 2, 0x1f00},
		{3, 2, 0, 2, 1, 0x1f00},
		{3, 0, 0, 2, 2, 0x1f00},
		{1, 3, 0, 1, 0, 0x1fa0},
		{2, 3, 0, 0, 1, 0x1f00},
		{0, 3, 0, 0, 0, 0x1fa0},
		{3, 3, compacted | 3, 1, 1, 0x1f00},
		{3, 1, compacted | 3, 1, 2, mxcsrReset},
		{3, 1, compacted | 1, 1, 2, mxcsrReset},
		{1, 1, compacted | 3, 1, 0, 0x1fa0},
	} {
		eachMode(t, func(t *testing.T, isa *cpus.ISA) {
			_, c, a := manages(t, isa, append(append([]byte{}, codeXrstor...), 0xf4)...)
			for i := range uint64(areaSize / 8) {
				a.set(8*i, 0)
			}
			a.set(0, 0x27f|1<<32)
			a.set(24, 0x1f00)
			a.set(32, 5)
			a.set(160+16*7, 6)
			a.set(160+16*15, 7)
			a.set(512, x.has)
			a.set(520, x.compact)
			c.fpu = fpu{control: 0x77f, mxcsr: 0x1fa0, st: [8]vec{{8}}, xmm: [16]vec{7: {9}, 15: {10}}}
			c.R[rax], c.R[rdx] = x.asked, 0
			halt(t, c)
			control, st := [3]uint16{0x77f, 0x27f, fcwReset}[x.x87], [3]uint64{8, 5, 0}[x.x87]
			low, high := [3]uint64{9, 6, 0}[x.sse], [3]uint64{10, 7, 0}[x.sse]
			if isa.Bits == 32 {
				high = 10
			}
			f := &c.fpu
			require.That(t, f.control == control && f.st[0][0] == st && f.xmm[7][0] == low && f.xmm[15][0] == high && f.mxcsr == x.mxcsr, "%+v: %+v", x, *f)
		})
	}
}

// TestXCR0 reads what was written, after a reset and behind one.
func TestXCR0(t *testing.T) {
	// xgetbv; mov %eax,%ebx; mov $3,%eax; xsetbv; xor %eax,%eax; xgetbv; hlt
	_, c := asked(t, ISA64(), claimsXSAVE(0), 0x0f, 0x01, 0xd0, 0x89, 0xc3, 0xb8, 3, 0, 0, 0, 0x0f, 0x01, 0xd1, 0x31, 0xc0, 0x0f, 0x01, 0xd0, 0xf4)
	require.Need(t, c.writeCR(4, c.cr4|cr4OSXSAVE), "CR4 refuses XSAVE")
	halt(t, c)
	require.That(t, c.R[rbx] == 1 && c.R[rax] == 3 && c.R[rdx] == 0, "XCR0 is %#x, then %#x", c.R[rbx], c.R[rax])
	c.Reset()
	require.Equal(t, c.xcr0, uint64(partX87), "XCR0 behind a reset")
	_, c = start(t)
	require.That(t, !c.writeCR(4, c.cr4|cr4OSXSAVE), "CR4 takes XSAVE where it is not claimed")
}

// TestXSAVELeaves answers with the components, their size and whether XSAVE is turned on.
func TestXSAVELeaves(t *testing.T) {
	claimed := claimsXSAVE(formOptimized)
	for _, x := range []struct {
		a        cpus.Answers
		eax, ecx uint64
		want     leaf
	}{
		{claimed, leafXSAVE, 0, leaf{3, 576, 576, 0}},
		{claimed, leafXSAVE, 1, leaf{1, 0, 0, 0}},
		{claimed, leafXSAVE, 2, leaf{}},
		{nil, leafXSAVE, 0, leaf{}},
	} {
		require.Equal(t, cpuidOf(t, ISA64(), x.a, x.eax, x.ecx), x.want, "leaf %#x, %d", x.eax, x.ecx)
	}
	for _, on := range []uint64{0, cr4OSXSAVE} {
		_, c := asked(t, ISA64(), claimed, 0x0f, 0xa2, 0xf4)
		c.R[rax] = 1
		c.cr4 |= on
		halt(t, c)
		require.Equal(t, c.R[rcx]>>26&3, 1|on>>17, "XSAVE, and whether it is turned on")
	}
}
