package x86

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// asked makes a CPU of a description with answers of its own, about to execute code.
func asked(t *testing.T, isa *cpus.ISA, a cpus.Answers, code ...byte) (*world, *CPU) {
	t.Helper()
	w, c := startIn(t, isa, code...)
	cfg := *w.cfg
	cfg.Answers = a
	if errs := cfg.Check(isa); len(errs) > 0 {
		t.Fatal(errs)
	}
	c.answers = newAnswers(&cfg, c.hasLongMode)
	return w, c
}

// cpuidOf executes cpuid for a leaf and a second number.
func cpuidOf(t *testing.T, isa *cpus.ISA, a cpus.Answers, eax, ecx uint64) leaf {
	t.Helper()
	_, c := asked(t, isa, a, 0x0f, 0xa2, 0xf4)
	c.R[rax], c.R[rcx] = eax, ecx
	halt(t, c)
	return leaf{uint32(c.R[rax]), uint32(c.R[rbx]), uint32(c.R[rcx]), uint32(c.R[rdx])}
}

// TestCPUIDTable holds rows of a description, second numbers, and what is said without a row.
func TestCPUIDTable(t *testing.T) {
	a := cpus.Answers{tableCPUID: {
		0:                {4, 0x68747541, 0x444d4163, 0x69746e65},
		4:                {1, 2, 3, 4},
		4 | 1<<32:        {5, 6, 7, 8},
		leafExtended + 1: {0, 0, extendedC, extendedD},
	}}
	for _, x := range []struct {
		isa      *cpus.ISA
		eax, ecx uint64
		want     leaf
	}{
		{ISA64(), 0, 0, leaf{4, 0x68747541, 0x444d4163, 0x69746e65}},
		{ISA64(), 4, 0, leaf{1, 2, 3, 4}},
		{ISA64(), 4, 1, leaf{5, 6, 7, 8}},
		{ISA64(), 4, 2, leaf{}},                                      // the list ends
		{ISA64(), 0, 7, leaf{4, 0x68747541, 0x444d4163, 0x69746e65}}, // ecx does not matter
		{ISA64(), 1, 0, leaf{0x10676, 0x10800, featuresC, featuresD}},
		{ISA64(), 7, 0, leaf{}},
		{ISA64(), leafExtended + 1, 0, leaf{0, 0, extendedC, extendedD}},
		{ISA32(), leafExtended + 1, 0, leaf{0, 0, 0, 1 << 20}},
		{ISA32(), 1, 0, leaf{0x10676, 0x10800, 0, featuresD}},
		{ISA32(), leafSizes, 0, leaf{32<<8 | 36}},
		{ISA64(), leafSizes, 0, leaf{48<<8 | 38}},
	} {
		require.Equal(t, cpuidOf(t, x.isa, a, x.eax, x.ecx), x.want, "%s: leaf %#x, %d", x.isa.Name, x.eax, x.ecx)
	}
}

// TestMicrocodeRevision reads the revision that a description gives, behind leaf 1 of cpuid, which loads it.
func TestMicrocodeRevision(t *testing.T) {
	a := cpus.Answers{tableMSR: {msrBiosSign: {0x44 << 32, 0}}}
	_, c := asked(t, ISA64(), a, 0x0f, 0xa2, 0xb9, 0x8b, 0, 0, 0, 0x0f, 0x32, 0xf4) // cpuid; mov $0x8b,%ecx; rdmsr; hlt
	c.R[rax] = 1
	if halt(t, c); c.R[rdx] != 0x44 || c.R[rax] != 0 {
		t.Errorf("revision %#x:%#x", c.R[rdx], c.R[rax])
	}
	if errs := checkAnswers(a); errs != nil {
		t.Error(errs)
	}
}

// TestMSRTable holds values that a description gives, the bits that may be written, and the list of what was refused.
func TestMSRTable(t *testing.T) {
	a := cpus.Answers{tableMSR: {0xce: {0x123456789, 0xff}}}
	_, c := asked(t, ISA64(), a, 0x0f, 0x32, 0xb0, 0x55, 0x0f, 0x30, 0x0f, 0x32, 0xf4) // rdmsr; mov $0x55,%al; wrmsr; rdmsr; hlt
	c.R[rcx] = 0xce
	if halt(t, c); c.R[rax] != 0x23456755 || c.R[rdx] != 1 {
		t.Errorf("value %#x:%#x", c.R[rdx], c.R[rax])
	}
	w, c := asked(t, ISA64(), a, 0x0f, 0x30)
	c.R[rcx], c.R[rax], c.R[rdx] = 0xce, 0x23456855, 1
	if tr := w.trapped(c); tr.vector != vecGP || tr.code != 0 || len(c.Refusals()) != 0 {
		t.Errorf("a bit that cannot be written: %+v, %v", tr, c.Refusals())
	}
	for _, code := range [][]byte{{0x0f, 0x30}, {0x0f, 0x32}} {
		w, c = start(t, code...)
		at := c.PC()
		c.R[rcx] = 0x345
		for range 2 {
			c.R[rRIP], c.Halted = at, false
			if tr := w.trapped(c); tr.vector != vecGP || tr.code != 0 || tr.rip != at {
				t.Errorf("%x: %+v, want #GP(0)", code, tr)
			}
		}
		got := c.Refusals()
		require.That(t, len(got) == 1 && got[0].Count == 2 && got[0].PC == at && strings.HasSuffix(got[0].Name, "msr of 0x345"), "%x: refused %+v", code, got)
	}
}

// TestAnswersRefused names rows of descriptions that no CPU here lives up to.
func TestAnswersRefused(t *testing.T) {
	for want, a := range map[string]cpus.Answers{
		"cpuid.0x1: bits 0x400 of ecx are features that are not modelled (CNXT-ID): leave them out":        {tableCPUID: {1: {0, 0, 1 << 10, 0}}},
		"cpuid.0x1: bits 0x80 of edx are features that are not modelled (MCE)":                             {tableCPUID: {1: {0, 0, 0, 1 << 7}}},
		"cpuid.0x100000001: bits 0x400 of ecx are features that are not modelled (bit 10)":                 {tableCPUID: {1 | 1<<32: {0, 0, 1 << 10, 0}}},
		"cpuid.0x7: bits 0x80020 of ebx are features that are not modelled (AVX2, ADX)":                    {tableCPUID: {7: {0, 1<<19 | 1<<5, 0, 0}}},
		"cpuid.0x7: bits 0x4 of ecx are features that are not modelled (UMIP)":                             {tableCPUID: {7: {0, 0, 1 << 2, 0}}},
		"cpuid.0x7: bits 0x20 of edx are features that are not modelled (UINTR)":                           {tableCPUID: {7: {0, 0, 0, 1<<5 | 1<<4}}},
		"cpuid.0x100000007: bits 0x1010 of eax are features that are not modelled (AVX-VNNI, FSRC)":        {tableCPUID: {7 | 1<<32: {7<<10 | 1<<4, 0, 0, 0}}},
		"cpuid.0x200000007: bits 0x200 of ebx are features that are not modelled (bit 9)":                  {tableCPUID: {7 | 2<<32: {0, 1 << 9, 0, 0}}},
		"cpuid.0x100000007: bits 0x10 of edx":                                                              {tableCPUID: {7 | 1<<32: {0, 0, 0, 1 << 4}}},
		"cpuid.0xd: this row follows from XSAVE in leaf 1, it cannot be given":                             {tableCPUID: {0xd: {7, 0x340, 0x340, 0}}},
		"cpuid.0x20000000d: this row follows from XSAVE":                                                   {tableCPUID: {0xd | 2<<32: {0x100, 0x240, 0, 0}}},
		"cpuid.0x10000000d: bits 0x8 of eax are features that are not modelled (XSAVES)":                   {tableCPUID: {leafXSAVEForms: {0xf, 0, 0, 0}}},
		"cpuid.0x10000000d: bits 0x100 of ecx are features that are not modelled (bit 8)":                  {tableCPUID: {leafXSAVEForms: {7, 0, 1 << 8, 0}}},
		"cpuid.0x10000000d: forms of instructions of XSAVE, which leaf 1 does not claim":                   {tableCPUID: {leafXSAVEForms: {7, 0, 0, 0}}},
		"cpuid.0x1: XSAVE is described by leaf 0xd: let cpuid.0x0 have it as the last one, or a later one": {tableCPUID: {0: {7, 0, 0, 0}, 1: {0, 0, featureXSAVE, 0}}},
		"cpuid.0x1: bits 0x8000000 of ecx are features that are not modelled (OSXSAVE)":                    {tableCPUID: {1: {0, 0, featureOSXSAVE, 0}}},
		"cpuid.0x80000008: bits 0x200 of ebx are features that are not modelled (WBNOINVD)":                {tableCPUID: {leafSizes: {36, 1 << 9, 0, 0}}},
		"cpuid.0x80000001: bits 0x6000000 of edx are features that are not modelled (FFXSR, Page1GB)":      {tableCPUID: {leafExtended + 1: {0, 0, 0, 1<<25 | 1<<26 | 1<<24}}},
		"physical addresses of 20 bits":                                                                    {tableCPUID: {leafSizes: {20, 0, 0, 0}}},
		"msr.0x10: this register is modelled":                                                              {tableMSR: {0x10: {0, 0}}},
		"msr.0xc0000080: this register is modelled":                                                        {tableMSR: {0xc0000080: {0, 0}}},
	} {
		w, _ := start(t, 0xf4)
		cfg := *w.cfg
		cfg.Answers = a
		found := false
		for _, err := range cfg.Check(ISA64()) {
			found = found || strings.Contains(err.Error(), want)
		}
		if !found {
			t.Errorf("%v: %v; want %q", a, cfg.Check(ISA64()), want)
		}
	}
}

// TestMark stops behind a mark where somebody asks for it, and answers as for any leaf that is not there.
func TestMark(t *testing.T) {
	for _, stop := range []bool{false, true} {
		_, c := startIn(t, ISA64(), 0x0f, 0xa2, 0xff, 0xc3, 0xf4) // cpuid; inc ebx; hlt
		c.R[rax], c.R[rcx], c.R[rbx] = leafMark, 7, 5
		var got []uint64
		c.Bus.Marked = func(_ int, n uint64) bool { got = append(got, n); return stop }
		if stop {
			if e := c.Run(c.Now() + 1e8); e.Reason != cpus.Broken || c.R[rbx] != 0 {
				t.Errorf("stopped for %+v, ebx %d", e, c.R[rbx])
			}
		}
		if halt(t, c); !slices.Equal(got, []uint64{7}) || c.R[rbx] != 1 || c.R[rax] != 0 {
			t.Errorf("marks %d, ebx %d", got, c.R[rbx])
		}
		for _, other := range []func(*CPU){func(c *CPU) { c.R[rax]++ }, func(c *CPU) { c.Bus.Marked = nil }} {
			_, c := startIn(t, ISA64(), 0x0f, 0xa2, 0xf4)
			c.R[rax] = leafMark
			c.Bus.Marked = func(int, uint64) bool { t.Error("a mark"); return true }
			other(c)
			halt(t, c)
		}
	}
}
