package phases

import (
	"debug/elf"
	_ "embed"
	"encoding/binary"
	"strings"

	"kprobesim/cpus"
	"kprobesim/image"
)

// table gives functions a phase.
//
//go:embed table.txt
var table string

// armTable has the functions that kernels of ARM have beside these.
//
//go:embed arm.txt
var armTable string

// anybody is the phase of functions that count for the code before them, and interpreter that of those that execute programs of a
// kernel that does not compile them. Functions of syscall are on the way of every system call.
const anybody, interpreter, syscall = image.PhaseCount + 100, image.PhaseCount + 101, image.PhaseCount + 102

// Sorter tells the phases of instructions in the order in which one CPU executes them.
type Sorter struct {
	im      *image.Image
	arch    *arch
	names   map[string]image.Phase
	heads   []head
	known   []known                // of instructions in the kernel's text, by the lowest bits of their addresses
	pages   map[uint64]image.Phase // outside the kernel's text
	program uint64                 // page of the first instruction in user mode

	last image.Phase // of the instruction before
	jump bool        // that was a near jump
	call bool        // that was a near call

	programs [][2]uint64 // where code of attached programs begins and ends
	ran      bool        // one was executed since user mode was left
	inside   bool        // the instruction before was one of theirs
	called   bool        // one has called a function of the kernel, and goes on behind it

	anywhere bool // programs lie at any address

	number  uint32            // of the system call that the instruction before has loaded
	entered uint32            // of the system call that user mode has made, if it is a probe's
	found   bool              // it has come to the probe
	calling map[uint64]caller // by block: code of user mode with which kernels make such calls
}

// known is the phase of the function at an address, or nothing at 0.
type known struct {
	pc    uint64
	phase image.Phase
}

// mostKnown bounds how many are kept.
const mostKnown = 1 << 14

// caller is code that kernels map into programs for their probes: it makes a system call by number at an address.
type caller struct {
	number uint32
	at     uint64
}

// System calls of probes alone (arch/x86/entry/syscalls/syscall_64.tbl): of a function of user mode whose return is probed, and of a
// user probe at a nop in place of which a call stands.
const callUretprobe, callUprobe = 335, 336

// callerBits is the size of what such code has for itself. Slots of user probes are as large.
const callerBits = 7

// head is the beginning of names.
type head struct {
	text  string
	phase image.Phase
}

// New returns a sorter for a machine with a kernel that has the symbols of im.
func New(im *image.Image) *Sorter {
	s := &Sorter{
		im: im, arch: &x86, names: map[string]image.Phase{}, known: make([]known, mostKnown), pages: map[uint64]image.Phase{},
		last: image.PhaseOther, calling: map[uint64]caller{},
	}
	s.read(table)
	switch im.Machine {
	case elf.EM_ARM:
		s.arch = &arm
		s.read(armTable)
	case elf.EM_386:
		s.arch = &i386
	}
	return s
}

// read adds the names of a table.
func (s *Sorter) read(table string) {
	phase := anybody
	for line := range strings.Lines(table) {
		line, _, _ = strings.Cut(line, "#")
		for _, name := range strings.Fields(line) {
			if title, ok := strings.CutSuffix(name, ":"); ok {
				if phase, ok = image.PhaseNamed(title); !ok {
					phase = map[string]image.Phase{"any": anybody, "interpreter": interpreter, "syscall": syscall}[title]
				}
			} else if text, ok := strings.CutSuffix(name, "*"); ok {
				s.heads = append(s.heads, head{text, phase})
			} else {
				s.names[name] = phase
			}
		}
	}
}

// Programs says where the machine code of attached programs begins and ends. It is the handler of their hits, with
// the functions that it calls and that have no phase of their own. What a trampoline executes behind it is the return.
func (s *Sorter) Programs(code [][2]uint64) { s.programs = code }

// Anywhere says that programs lie wherever they like, below the last page of user mode, where kernels keep slots of user probes.
func (s *Sorter) Anywhere() { s.anywhere = true }

// Phase is the phase of an instruction that is executed next.
func (s *Sorter) Phase(st *cpus.Step) image.Phase {
	p := s.phase(st)
	if p == anybody {
		p = s.last
	}
	last := st.Code[min(st.Last, len(st.Code)):]
	s.last, s.jump, s.call = p, s.arch.jump.of(last), s.arch.call.of(last) || s.arch.callBy.of(last)
	return p
}

// Together reports whether a straight run of instructions is of one phase whenever it is executed, so that one step may tell of it: it
// lies in one function, page and program, and makes no system call, which may be a probe's.
func (s *Sorter) Together(pc uint64, code []byte) bool {
	end := pc + uint64(len(code)) - 1
	first, _, ok := s.im.At(pc)
	last, _, also := s.im.At(end)
	if ok != also || first.Addr != last.Addr || !ok && pc>>pageBits != end>>pageBits {
		return false
	}
	for _, p := range s.programs {
		if pc < p[0] && p[0] <= end || pc < p[1] && p[1] <= end {
			return false
		}
	}
	for i := range code {
		if s.arch.syscall.of(code[i:]) {
			return false
		}
	}
	return true
}

func (s *Sorter) phase(st *cpus.Step) image.Phase {
	switch {
	case st.User:
		s.ran, s.inside, s.called = false, false, false
		return s.user(st)
	case st.Context == cpus.Interrupted:
		return image.PhaseIRQ
	}
	if at, ok := s.symbol(st.PC); ok && at != interpreter {
		at = s.way(at)
		s.called = s.called || s.inside && s.call
		if s.inside = false; s.called && at == image.PhaseOther {
			return image.PhaseHandler
		}
		return at
	} else if ok {
		return s.inProgram()
	}
	for _, p := range s.programs {
		if st.PC-p[0] < p[1]-p[0] {
			return s.inProgram()
		}
	}
	s.inside, s.called = false, false
	if s.arch.vectors != 0 && st.PC >= s.arch.vectors {
		return image.PhaseEntry
	}
	page := st.PC >> pageBits
	p, known := s.pages[page]
	if !known {
		p = s.outside()
		s.pages[page] = p
	}
	if p == image.PhaseEntry && s.ran {
		return image.PhaseReturn
	}
	return p
}

// way is the phase of a function of the kernel: those on the way of every system call belong to a probe whose own call it is.
func (s *Sorter) way(at image.Phase) image.Phase {
	switch {
	case at != syscall:
		s.found = s.found || at != anybody && at != image.PhaseOther
		return at
	case s.entered == callUretprobe:
		return image.PhaseRethook
	case s.entered == callUprobe && s.found:
		return image.PhaseReturn
	case s.entered == callUprobe:
		return image.PhaseEntry
	}
	return image.PhaseOther
}

// inProgram is the phase of a program's own code.
func (s *Sorter) inProgram() image.Phase {
	s.ran, s.inside, s.called = true, true, false
	return image.PhaseHandler
}

// arch holds instructions by which code without names is told apart.
type arch struct {
	jump, call opcode // a near one
	callBy     opcode // a call by a register, as programs of BPF make it; none where theirs are near
	// syscall is a system call, and number loads its number, in four bytes; none where kernels make no calls for probes.
	syscall, number opcode
	returned        opcode // the breakpoint to which a function of user mode returns
	slots           uint64 // page of slots of user probes, below the one that no program has
	vectors         uint64 // where exceptions begin, up to the end of memory; 0 where that has names
	// calls has emulation call a copy of the instruction, which lies in a slot.
	calls bool
}

// opcode are the bits of an instruction's first bytes that a mask leaves.
type opcode struct {
	bytes       int
	mask, value uint32
}

func (o opcode) of(code []byte) bool {
	var b [4]byte
	return o.bytes > 0 && copy(b[:], code) >= o.bytes && binary.LittleEndian.Uint32(b[:])&o.mask == o.value
}

// Of x86, SDM vol. 2, JMP, CALL, INT3, SYSCALL and MOV (of a sign-extended number to RAX). Of ARM, ARM ARM, A8.8.18, A8.8.25, A8.8.26 and A5.4: branches keep a condition, and kernels tell
// breakpoints of user mode by numbers in a permanently undefined instruction. A step ends at another one.
var (
	x86 = arch{
		jump: opcode{1, 0xff, 0xe9}, call: opcode{1, 0xff, 0xe8}, returned: opcode{1, 0xff, 0xcc}, slots: 0x7fffffffe,
		syscall: opcode{2, 0xffff, 0x050f}, number: opcode{3, 0xffffff, 0xc0c748},
	}
	i386 = arch{jump: x86.jump, call: x86.call, returned: x86.returned, slots: 0xbffff}
	arm  = arch{
		jump: opcode{4, 0x0f000000, 0x0a000000}, call: opcode{4, 0x0f000000, 0x0b000000}, returned: opcode{4, 0x0fffffff, 0x07f001f9},
		callBy: opcode{4, 0x0ffffff0, 0x012fff30}, slots: 0xbefff, vectors: 0xffff0000, calls: true,
	}
)

// pageBits is the size of what is given out as a whole outside the text: slots of instructions and detour buffers never
// share a page.
const pageBits = 12

// outside says what a page of code without a name is, by what led to it: the return from an exception leads to the
// slot of an instruction, the kernel's search for probes to a handler, and code of no probe to the trampoline of ftrace
// or, by a jump, to a detour buffer.
func (s *Sorter) outside() image.Phase {
	switch s.last {
	case image.PhaseReturn:
		return image.PhaseStep
	case image.PhaseStep:
		if s.arch.calls {
			return image.PhaseStep
		}
	case image.PhaseOther, image.PhaseUser:
		if s.jump {
			return image.PhaseDetour
		}
		return image.PhaseEntry
	}
	return image.PhaseHandler
}

// user tells what the kernel has put at the other end of the address space from the program: slots of user probes, and the
// breakpoint to which a function returns whose return is probed.
func (s *Sorter) user(st *cpus.Step) image.Phase {
	const near = 64 << 20
	if s.program == 0 {
		s.program = st.PC
	}
	if c, ok := s.calls(st); ok {
		switch {
		case c.number == callUretprobe:
			return image.PhaseRethook
		case st.PC <= c.at:
			return image.PhaseEntry
		}
		return image.PhaseReturn
	}
	switch {
	case s.anywhere && st.PC>>pageBits != s.arch.slots:
		return image.PhaseUser
	case !s.anywhere && (st.PC-s.program < near || s.program-st.PC < near):
		return image.PhaseUser
	case s.arch.returned.of(st.Code):
		return image.PhaseRethook
	}
	return image.PhaseStep
}

// calls follows system calls of user mode, and tells of an instruction whether it is of the code by which a kernel makes one for a probe.
func (s *Sorter) calls(st *cpus.Step) (caller, bool) {
	block := st.PC >> callerBits
	if s.arch.syscall.of(st.Code) {
		s.entered, s.found = 0, false
		if s.number == callUretprobe || s.number == callUprobe {
			s.entered, s.calling[block] = s.number, caller{s.number, st.PC}
		}
	}
	s.number = 0
	if last := st.Code[min(st.Last, len(st.Code)):]; s.arch.number.of(last) && len(last) == 7 {
		s.number = binary.LittleEndian.Uint32(last[3:])
	}
	c, ok := s.calling[block]
	return c, ok
}

// symbol is the phase of the function at an address, by the first of its names that the table has; false outside the
// kernel's text.
func (s *Sorter) symbol(pc uint64) (image.Phase, bool) {
	at := &s.known[pc%mostKnown]
	if at.pc == pc && pc != 0 {
		return at.phase, true
	}
	sym, _, ok := s.im.At(pc)
	if !ok {
		return 0, false
	}
	p := s.named(sym.Name)
	for _, other := range s.im.SymbolsAt(sym.Addr) {
		if p == image.PhaseOther {
			p = s.named(other.Name)
		}
	}
	*at = known{pc, p}
	return p, true
}

// named looks a name up. A part that the compiler has split off bears the name with a suffix.
func (s *Sorter) named(name string) image.Phase {
	whole, _, _ := strings.Cut(name, ".")
	if p, ok := s.names[whole]; ok {
		return p
	}
	for _, h := range s.heads {
		if strings.HasPrefix(whole, h.text) {
			return h.phase
		}
	}
	return image.PhaseOther
}
