package x86

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// notCompared are the functions that a user program cannot complete or reach, by the reason.
var notCompared = map[string][]string{
	"privileged; system_test.go, spaces_test.go, xsave_test.go, exceptions_test.go and debug_test.go have them": {
		"CLI reg 8", "CLTS reg 8", "HLT reg 8", "INVD reg 8", "INVLPG reg 8", "LGDT reg 32", "LGDT reg 64", "LIDT reg 32", "LIDT reg 64", "LLDT reg 16",
		"LLDT mem 16", "LTR reg 16", "LTR mem 16", "LMSW reg 16", "LMSW mem 16", "RDMSR reg 8", "STI reg 8", "SWAPGS reg 8", "WBINVD reg 8", "WRMSR reg 8",
		"SYSRET reg 16", "SYSRET reg 32", "SYSRET reg 64", "SYSEXIT reg 16", "SYSEXIT reg 32", "SYSEXIT reg 64", "RDPMC reg 8", "XSETBV reg 8",
		"INVPCID reg 8", opCLAC.String() + " reg 8", opSTAC.String() + " reg 8",
	},
	"goes to the kernel or asks what only it answers; system_test.go and protected_test.go have them": {
		"SYSENTER reg 8", "INT reg 8", "SYSCALL reg 8", "SGDT reg 32", "SGDT reg 64", "SIDT reg 32", "SIDT reg 64", "POP load 64",
		"SLDT reg 16", "SLDT reg 32", "SLDT reg 64", "SLDT mem 16", "STR reg 16", "STR reg 32", "STR reg 64", "STR mem 16",
		"SMSW reg 16", "SMSW reg 32", "SMSW reg 64", "SMSW mem 16", "LFS load 64", "LGS load 64",
	},
	"answers for the machine and not for the instruction set": {"CPUID reg 8", "RDTSC reg 8", "XGETBV reg 8"},
	"always faults: the group of faults has it":               {"UD2 reg 8", "ICEBP reg 8"},
	"jumps to 16-bit addresses, or is 32 bits wide on AMD":    {"LCALL reg 16", "LJMP reg 16", "LRET reg 16", "LCALL reg 64", "LJMP reg 64"},
	"user mode has no ports; TestPorts has them": {
		"IN reg 8", "IN reg 16", "IN reg 32", "OUT reg 8", "OUT reg 16", "OUT reg 32",
		"INSB reg 8", "INSW reg 8", "INSD reg 8", "OUTSB reg 8", "OUTSW reg 8", "OUTSD reg 8",
	},
	"its image is larger than the memory that is compared; TestStateImage has it": {
		"FXSAVE reg 8", "FXSAVE64 reg 8", "FXRSTOR reg 8", "FXRSTOR64 reg 8",
	},
	"its area is too; TestAreaAgainstHost has it": {
		"XSAVE reg 8", "XSAVE64 reg 8", "XSAVEOPT reg 8", "XSAVEOPT64 reg 8", "XSAVEC reg 8", "XSAVEC64 reg 8", "XRSTOR reg 8", "XRSTOR64 reg 8",
	},
	"is of MMX; TestMMXAgainstHost has them": {
		"EMMS", "MOVDQ2Q", "MOVNTQ", "MOVQ2DQ", "PSHUFW", "MASKMOVQ",
		"CVTPI2PS", "CVTPI2PD", "CVTPS2PI", "CVTTPS2PI", "CVTPD2PI", "CVTTPD2PI",
	},
	"is of 16-bit code; TestRealModeStart has it": {"CALL mem 16"},
	"counts zeroes on a processor of today": {
		"TZCNT reg 16", "TZCNT reg 32", "TZCNT reg 64", "TZCNT load 16", "TZCNT load 32", "TZCNT load 64",
		"LZCNT reg 16", "LZCNT reg 32", "LZCNT reg 64", "LZCNT load 16", "LZCNT load 32", "LZCNT load 64",
	},
	"the decoder has another name for this width": {
		"JCXZ reg 64", "JECXZ reg 64", "POPF reg 64", "POPFD reg 16", "POPFD reg 64", "POPFQ reg 16", "PUSHF reg 64",
		"PUSHFD reg 16", "PUSHFD reg 64", "PUSHFQ reg 16", "JECXZ reg 16", "JRCXZ reg 16", "JCXZ reg 32", "JRCXZ reg 32",
		"POPF reg 32", "POPFQ reg 32", "PUSHF reg 32", "PUSHFQ reg 32",
	},
}

// checkCoverage holds the functions that ran on both sides against the table: every row and every
// width of its forms must be among them, but for notCompared and departing, which must have no entry that is.
func checkCoverage(t *testing.T, ran map[function]bool, departing []string) {
	stale := map[string]bool{}
	excused := map[string]bool{}
	for _, names := range append(slices.Collect(maps.Values(notCompared)), departing) {
		for _, n := range names {
			stale[n], excused[n] = true, true
		}
	}
	var missing []string
	for op, r := range rows {
		for _, slot := range slots(op, r) {
			switch {
			case ran[slot.function], ofX87(op): // TestX87AgainstHost has every row of the unit
			case excused[slot.name]:
				delete(stale, slot.name)
			default:
				missing = append(missing, slot.name)
			}
		}
	}
	slices.Sort(missing)
	for _, m := range missing {
		t.Errorf("%s: no form ran on host and simulator alike; add one or list it in notCompared", m)
	}
	for name := range stale {
		t.Errorf("notCompared or a departure lists %q, which is compared or not in the table", name)
	}
}

// ofX87 reports an instruction that TestX87AgainstHost steps.
func ofX87(op x86asm.Op) bool {
	_, computes := x87Rows()[op]
	_, moves := x87Images[op]
	return computes || moves
}

// slot is one function of a row.
type slot struct {
	name string
	function
}

// slots names the functions of a row as "ADD mem 16", and a row without any by its operation.
func slots(op x86asm.Op, r row) []slot {
	var out []slot
	for _, kind := range []struct {
		name string
		f    byWidth
	}{{"reg", r.reg}, {"load", r.load}, {"mem", r.mem}} {
		for i, f := range kind.f {
			switch name := fmt.Sprintf("%s %s %d", op, kind.name, 8<<i); {
			case f != nil && r.ready != nil: // which stands in front of it
				out = append(out, slot{name, function{op: op}})
			case f != nil:
				out = append(out, slot{name, function{op, address(f)}})
			}
		}
	}
	if out == nil {
		out = append(out, slot{op.String(), function{op: op}})
	}
	return out
}
