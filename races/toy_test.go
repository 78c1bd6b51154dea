package races

import (
	"encoding/binary"
	"slices"

	"kprobesim/kprobes"
)

// A toy instruction set: the upper half of an instruction's first byte is its length, but for that of a
// breakpoint, of one byte, and of a jump, of five.
const (
	toyBreak    = 0xbb
	toyJumpCode = 0xee
	toyJumpSize = 5
)

// toyArch wants CPUs to synchronize for everything but breakpoints.
func toyArch() *kprobes.Arch {
	return &kprobes.Arch{
		Breakpoint: []byte{toyBreak}, Optimizer: &kprobes.Optimizer{JumpSize: toyJumpSize},
		Classify: func(code []byte, pc uint64) kprobes.Class {
			switch {
			case len(code) == 0:
				return kprobes.Class{}
			case code[0] == toyBreak:
				return kprobes.Class{Kind: kprobes.ClassBreakpoint, Len: 1}
			case code[0] == toyJumpCode && len(code) >= toyJumpSize:
				to := pc + toyJumpSize + uint64(binary.LittleEndian.Uint32(code[1:]))
				return kprobes.Class{Kind: kprobes.ClassJump, Len: toyJumpSize, Target: to}
			}
			return kprobes.Class{Len: min(len(code), int(code[0]>>4))}
		},
		Atomic: func(pc, addr uint64, old, changed []byte) bool {
			return pc == addr && len(old) == 1 && (old[0] == toyBreak || changed[0] == toyBreak)
		},
	}
}

// A toy of words: every instruction has four bytes, and a store of an aligned word is seen whole.
const (
	wordBreak = 0xbb
	wordJump  = 0xee
)

func wordArch() *kprobes.Arch {
	return &kprobes.Arch{
		Breakpoint: []byte{wordBreak, 0, 0, 0}, Optimizer: &kprobes.Optimizer{JumpSize: 4},
		Classify: func(code []byte, pc uint64) kprobes.Class {
			switch {
			case pc%4 != 0 || len(code) < 4:
				return kprobes.Class{}
			case code[0] == wordBreak:
				return kprobes.Class{Kind: kprobes.ClassBreakpoint, Len: 4}
			case code[0] == wordJump:
				return kprobes.Class{Kind: kprobes.ClassJump, Len: 4, Target: uint64(code[1]) << 12}
			}
			return kprobes.Class{Len: 4}
		},
		Atomic: func(pc, addr uint64, old, _ []byte) bool {
			return pc/4 == addr/4 && pc/4 == (addr+uint64(len(old))-1)/4
		},
	}
}

// A function of five instructions.
var toyCode = []byte{
	0x10,
	0x31, 1, 2,
	0x52, 1, 2, 3, 4,
	0x33, 1, 2,
	0x14,
}

const (
	toyAt      = 0x1000
	toyDetour  = 0x9000
	toyDetour2 = 0x9100
)

// toyMachine stores into the text of one function, which CPUs execute. Probes are at its first and at
// its third instruction.
type toyMachine struct {
	t     *text
	bytes []byte
	syncs []uint64
}

func newToyOf(arch *kprobes.Arch, code []byte) *toyMachine {
	r := &forms{
		arch:   arch,
		probed: func(a uint64) bool { return a == toyAt || a == toyAt+4 },
		leads:  func(to uint64) bool { return to == toyDetour || to == toyDetour2 },
	}
	return &toyMachine{t: newText("toy", toyAt, code, r), bytes: slices.Clone(code), syncs: make([]uint64, 3)}
}

func newToy() *toyMachine { return newToyOf(toyArch(), toyCode) }

// jump is a jump of the toy from an offset in the function to an address.
func toyJump(at int, to uint64) []byte {
	return binary.LittleEndian.AppendUint32([]byte{toyJumpCode}, uint32(to-toyAt-uint64(at)-toyJumpSize))
}

// store has a CPU store bytes one by one.
func (m *toyMachine) store(cpu, at int, b ...byte) {
	for i := range b {
		m.storeWhole(cpu, at+i, b[i])
	}
}

// storeWhole has it store them by one instruction.
func (m *toyMachine) storeWhole(cpu, at int, b ...byte) {
	copy(m.bytes[at:], b)
	m.t.stored(m.bytes, cpu, func() []uint64 { return slices.Clone(m.syncs) })
}

// sync has some CPUs synchronize, or all.
func (m *toyMachine) sync(cpus ...int) {
	if cpus == nil {
		cpus = []int{0, 1, 2}
	}
	for _, cpu := range cpus {
		m.syncs[cpu]++
	}
}

// run judges the instruction that a CPU executes at an offset.
func (m *toyMachine) run(cpu, at int) (Kind, string) {
	pc := uint64(toyAt + at)
	code := m.bytes[at:]
	code = code[:max(1, min(len(code), m.t.arch.Classify(code, pc).Len))]
	if k, why := m.t.check(pc, code); k != "" {
		return k, why
	}
	if why := m.t.unsynced(pc, code, func(s *store) bool { return s.missed(cpu, m.syncs) }); why != "" {
		return Unsynced, why
	}
	return "", ""
}
