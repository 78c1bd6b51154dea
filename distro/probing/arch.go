package probing

import (
	"debug/elf"
	"strings"

	"kprobesim/image"
	"kprobesim/kprobes"
	armrules "kprobesim/kprobes/arm"
	x86rules "kprobesim/kprobes/x86"
)

// rules look at the bytes of code.
type rules interface {
	Boundary(fn kprobes.Text, addr uint64) bool
	Starts(fn kprobes.Text) []uint64
	Run(code []byte, addr uint64) (kprobes.Mode, error)
	Leaves(code []byte) bool
	Region(s kprobes.Site) (kprobes.Region, *kprobes.Refusal)
}

// arch tells the instruction sets apart of kernels that are judged.
type arch struct {
	rules     func(k *Kernel, booted bool) rules
	areas     []place
	versions  [][2][2]int // from and to, whose rules are known
	known     string
	marks     []string                 // that stand before the call of ftrace
	addresses bool                     // tables have addresses in place of distances
	byFtrace  bool                     // a probe at the call of ftrace rests on it; else there is none
	torn      kprobes.Errno            // of a place where no instruction starts
	fill      string                   // what stands between functions
	site      func(code []byte) uint64 // length of a place that the kernel changes, where code begins
}

// place is an area by the symbols of its ends.
type place struct {
	from, to string
	rule     Rule
	why      string
}

// everywhere has the sections of kernels of 2022.
var everywhere = []place{
	{"__kprobes_text_start", "__kprobes_text_end", ruleKprobesText, "the section .kprobes.text takes none"},
	{"__noinstr_text_start", "__noinstr_text_end", ruleNoinstr, "no instrumentation may run there (noinstr)"},
	{"__entry_text_start", "__entry_text_end", ruleEntry, "the entry code of exceptions and system calls takes none"},
}

var x86 = arch{
	rules: func(k *Kernel, booted bool) rules {
		r := x86rules.Packaged{Mode: k.image.Bits, Groups: newer(k.release, 6, 9)}
		r.Thunks, r.Untabled = thunks(k.image, booted)
		_, preempts := k.image.Symbol("preempt_schedule") // a kernel without preemption has none
		r.Boosts = !preempts
		return r
	},
	areas: everywhere, versions: [][2][2]int{{{5, 10}, {5, 10}}, {{5, 18}, {7, 2}}}, known: "5.10 and from 5.18 to 7.2",
	// endbr64 and endbr32 mark the target of an indirect branch (SDM vol. 2, ENDBR64). Kernels write the nops in their place
	// where no branch leads.
	marks:    []string{"\xf3\x0f\x1e\xfa", "\xf3\x0f\x1e\xfb", "\x66\x0f\x1f\x00", "\x0f\x1f\x40\xd6"},
	byFtrace: true, torn: kprobes.EILSEQ,
	fill: "\xcc", // int3 (SDM vol. 2, INT)
	site: func(code []byte) uint64 { // a short jump or a nop of two bytes, else five
		if len(code) == 2 && (code[0] == 0xeb || code[0] == 0x66 && code[1] == 0x90) {
			return 2
		}
		return callSize
	},
}

// armModules is where kernels of ARM with CONFIG_VMSPLIT_3G keep modules and detours.
const armModules = 0xbf000000

var arm = arch{
	rules: func(*Kernel, bool) rules { return armrules.Packaged{Detours: armModules} },
	areas: append(everywhere[:len(everywhere):len(everywhere)],
		place{"__irqentry_text_start", "__irqentry_text_end", ruleEntry, "the entry code of interrupts takes none"},
		place{"__idmap_text_start", "__idmap_text_end", ruleEntry, "it also runs without translation"},
	),
	versions: [][2][2]int{{{6, 1}, {6, 1}}}, known: "of ARM of 6.1",
	addresses: true, torn: kprobes.EINVAL, fill: "\x00\x00\x00\x00",
	site: func([]byte) uint64 { return 4 },
}

// callSize is the length of a call, and the most that a kernel changes at a place.
const callSize = 5

func archOf(im *image.Image) *arch {
	if im.Machine == elf.EM_ARM {
		return &arm
	}
	return &x86
}

// thunkSize is the length of a thunk in bytes.
const thunkSize = 32

// thunks finds the area to which a jump counts as an indirect one: by its ends, the thunk of returns included, or where the second
// end has no name up to the last retpoline. A kernel that has retpolines and no such area does not look at indirect jumps. In a
// file every return is a jump to the thunk, which a kernel replaces when it boots, unless the processor needs the thunk.
func thunks(im *image.Image, booted bool) (area kprobes.Span, untabled bool) {
	start, marked := im.Symbol("__indirect_thunk_start")
	for _, s := range im.Symbols {
		if strings.HasPrefix(s.Name, "__x86_indirect_thunk_") {
			area = kprobes.Span{Start: start.Addr, End: s.Addr + thunkSize}
		}
	}
	if area.End == 0 || !marked {
		return kprobes.Span{}, area.End != 0
	}
	if end, ok := im.Symbol("__indirect_thunk_end"); ok && booted {
		area.End = end.Addr
	}
	return area, false
}
