package x86

import "kprobesim/kprobes"

// The sizes come from 2.6.33. A slot has a byte more than the
// longest instruction, so a jump back fits only behind one of up to ten bytes.
const (
	slotSize = 16 // MAX_INSN_SIZE
	jumpSize = 5  // jmp rel32
	int3     = 0xcc
	jmpRel32 = 0xe9

	// The guest sets it to 1 behind the first single step, once the jump back is written.
	boostableMember = "ainsn.boostable"
)

// Arch64 returns the rules of kernels in 64-bit mode.
func Arch64() *kprobes.Arch { return arch(64) }

// Arch32 returns the rules of kernels in 32-bit mode.
func Arch32() *kprobes.Arch { return arch(32) }

// arch is the value for 64-bit mode; the same functions serve 32-bit mode. Instructions stand at any
// address, and stores to code reach every fetch without help.
// A processor keeps its instruction cache coherent with stores (SDM vol. 3, 11.6), so Flush stays
// empty. What has been fetched already is another matter: see atomic.
func arch(mode int) *kprobes.Arch {
	return &kprobes.Arch{
		Name: "x86", Breakpoint: []byte{int3}, Align: 1, SlotSize: slotSize, Line: 64,
		First: kprobes.Stepped, Then: kprobes.Boosted, Learned: boostableMember,
		Members: []string{"opcode", "ainsn.insn", boostableMember},
		Eras:    eras(mode), CodeMutants: codeMutants(),
		Optimizer:  optimizer(mode),
		Boundary:   func(fn kprobes.Text, addr uint64) error { return boundary(fn, addr, mode, true) },
		Prepare:    func(in kprobes.Insn) (kprobes.Copy, error) { return prepare(in, mode) },
		SystemCall: systemCall,
		Classify:   func(code []byte, pc uint64) kprobes.Class { return classify(code, pc, mode) },
		Atomic:     atomic,
		Fetching: "Intel SDM vol. 3, 8.1.3: before a processor executes code that another one has modified, it executes a serializing " +
			"instruction",
	}
}

// optimizer has the rules of jump optimization. The longest region ends with an instruction that begins
// in the last byte of the jump, for which there is as much room as in a slot (MAX_OPTIMIZED_LENGTH).
func optimizer(mode int) *kprobes.Optimizer {
	return &kprobes.Optimizer{
		JumpSize: jumpSize, MaxRegion: slotSize + jumpSize - 1,
		Patchings: []string{kprobes.PatchStop, kprobes.PatchStopEach, kprobes.PatchBreakpoint, kprobes.PatchBatch},
		Marks:     []string{"value", "call"}, Calls: []string{"detour_called"},
		Region: func(s kprobes.Site) (kprobes.Region, *kprobes.Refusal) {
			return region(s, mode)
		},
		Detour: func(t kprobes.Template, r kprobes.Region, d kprobes.DetourAt) ([]byte, *kprobes.Refusal) {
			return detour(t, r, d, mode)
		},
		Jump: func(r kprobes.Region, to uint64) ([]byte, *kprobes.Refusal) { return jump(r.Addr, to) },
	}
}

// eras lists what kernels on x86 have: boosting from 2.6.16 on i386 and 2.6.25 on x86-64, jumps from
// 2.6.34, the list of functions without return probes from 2.6.24. The rules of 2020 are in later.go.
// The switch of tasks (__switch_to of those kernels) is entered by one task and left by another, while return
// instances are found by task. On x86-64 of 2.6.15 and some years more it takes no probe at all.
func eras(mode int) []kprobes.Era {
	const switches = "__switch_to"
	var unprobed []string
	if mode == 64 {
		unprobed = []string{switches}
	}
	return []kprobes.Era{
		{Year: 2005, GroupPost: true},
		{Year: 2006, Boost: mode == 32, Protected: unprobed},
		{
			Year: 2010, Boost: true, Freezer: true, Optimize: true, Boundaries: true,
			Protected:       append(unprobed, "native_get_debugreg", "irq_entries_start", "common_interrupt"),
			ReturnProtected: []string{switches},
		},
		{
			Year: 2020, Boost: true, Optimize: true, Boundaries: true, Hooks: true, Tasks: true, Emulates: true,
			Change:    func(a *kprobes.Arch) { later(a, mode) },
			EntryCall: func(from, to uint64) []byte { return entryCall(from, to) },
			// These stand in text that no probe may be in, far from the path of a hit.
			Protected:       []string{"do_page_fault", "do_trap", "fixup_exception", "text_poke_bp_batch"},
			ReturnProtected: []string{switches},
		},
	}
}
