package phases_test

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"regexp"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/distro/phases"
	"kprobesim/image"
	"kprobesim/image/linux"
	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/require"
)

// made returns a made-up kernel, whose functions get names of the table.
func made(t *testing.T) (*image.Image, map[string]uint64) {
	t.Helper()
	k := require.Must(linux.Read("made-up", linuxtest.Boxed(linuxtest.Kernel{Bits: 64, Code: make([]byte, 64)}.ELF()), nil))(t)
	at := map[string]uint64{}
	im := k.Image.Fork()
	for i, name := range []string{
		"do_syscall_64", "asm_exc_int3", "kprobe_int3_handler", "kprobe_emulate_call.isra.0", "__x86_return_thunk", "native_irq_return_iret",
		"ring_buffer_lock_reserve", "arch_rethook_trampoline", "find_uprobe", "__SCT__might_resched", "copy_to_page",
	} {
		s, ok := im.Symbol(linuxtest.Name(i)[1:])
		if !ok {
			t.Fatalf("the made-up kernel has no %s", linuxtest.Name(i))
		}
		at[name] = s.Addr
		for j := range im.Symbols {
			if im.Symbols[j].Addr == s.Addr {
				im.Symbols[j].Name = name
			}
		}
	}
	return im, at
}

// First bytes of instructions.
const (
	nearJump   = 0xe9
	breakpoint = 0xcc
)

// TestHit follows a hit, and what was led to from where.
func TestHit(t *testing.T) {
	im, at := made(t)
	const slots, detours, trampoline, handlers = 0xffffffffc0201000, 0xffffffffc0203000, 0xffffffffc0205000, 0xffffffffc0207000
	s := phases.New(im)
	for i, c := range []struct {
		pc      uint64
		context uint8
		user    bool
		want    image.Phase
		code    byte
	}{
		{0x400100, 0, true, image.PhaseUser, 0},
		{at["do_syscall_64"], 0, false, image.PhaseOther, 0},
		{at["__x86_return_thunk"], 0, false, image.PhaseOther, 0}, // counts for the code before it
		{at["asm_exc_int3"], cpus.Breakpoint, false, image.PhaseEntry, 0},
		{at["kprobe_int3_handler"], cpus.Breakpoint, false, image.PhaseDispatch, 0},
		{handlers, cpus.Breakpoint, false, image.PhaseHandler, 0},
		{at["ring_buffer_lock_reserve"], cpus.Breakpoint, false, image.PhaseEvent, 0},
		{at["kprobe_emulate_call.isra.0"], cpus.Breakpoint, false, image.PhaseStep, 0},
		{at["__x86_return_thunk"], cpus.Breakpoint, false, image.PhaseStep, 0},
		{at["native_irq_return_iret"], cpus.Breakpoint, false, image.PhaseReturn, 0},
		{slots + 8, 0, false, image.PhaseStep, 0},
		{at["do_syscall_64"] + 6, 0, false, image.PhaseOther, nearJump},
		{detours, 0, false, image.PhaseDetour, 0},
		{at["kprobe_int3_handler"], 0, false, image.PhaseDispatch, 0},
		{detours + 0x60, 0, false, image.PhaseDetour, 0}, // what first led there counts
		{at["do_syscall_64"], 0, false, image.PhaseOther, 0},
		{trampoline, 0, false, image.PhaseEntry, 0}, // by a call
		{at["arch_rethook_trampoline"], 0, false, image.PhaseRethook, 0},
		{at["do_syscall_64"], cpus.Interrupted, false, image.PhaseIRQ, 0},
		{at["find_uprobe"], 0, false, image.PhaseDispatch, 0},
		{at["__SCT__might_resched"], 0, false, image.PhaseDispatch, nearJump}, // counts for the code before it
		{handlers, 0, false, image.PhaseHandler, 0},
		{at["copy_to_page"], 0, false, image.PhaseStep, 0},
		{0x7fffffffe040, 0, true, image.PhaseStep, 0},             // a slot for a user probe
		{0x7fffffffe000, 0, true, image.PhaseRethook, breakpoint}, // where a function returns to
		{0x400104, 0, true, image.PhaseUser, 0},
	} {
		require.Equal(t, s.Phase(&cpus.Step{PC: c.pc, Code: []byte{c.code}, Context: c.context, User: c.user}), c.want, "step %d at %#x is of phase", i, c.pc)
	}
}

// TestAnywhere takes every page of user mode but the last for programs.
func TestAnywhere(t *testing.T) {
	im, _ := made(t)
	s := phases.New(im)
	s.Anywhere()
	for pc, want := range map[uint64]image.Phase{
		0x400104: image.PhaseUser, 0x7f1234567000: image.PhaseUser, 0x7fffffffdff0: image.PhaseUser, 0x7fffffffe080: image.PhaseStep,
	} {
		require.Equal(t, s.Phase(&cpus.Step{PC: pc, User: true}), want, "%#x is of phase", pc)
	}
	require.Equal(t, s.Phase(&cpus.Step{PC: 0x7fffffffe000, User: true, Code: []byte{breakpoint}}), image.PhaseRethook, "where functions return to")
}

// TestNearTheProgram takes what lies within 64 MiB of a program's first instruction for the program, on both sides.
func TestNearTheProgram(t *testing.T) {
	im, _ := made(t)
	const first, near = 0x10000000, 64 << 20
	s := phases.New(im)
	for _, x := range []struct {
		pc   uint64
		want image.Phase
	}{
		{first, image.PhaseUser}, {first + near - 1, image.PhaseUser}, {first - near + 1, image.PhaseUser}, {first + near, image.PhaseStep}, {first - near, image.PhaseStep},
	} {
		require.Equal(t, s.Phase(&cpus.Step{PC: x.pc, User: true}), x.want, "%#x is of phase", x.pc)
	}
}

// TestProgram follows a hit of an attached program: its code is the handler wherever it lies, and a trampoline is the entry before
// it and the return behind it, until user mode.
func TestProgram(t *testing.T) {
	im, at := made(t)
	const call, trampoline, program, neighbour = 0xe8, 0xffffffffc0201000, 0xffffffffc0203100, 0xffffffffc0203140
	s := phases.New(im)
	s.Programs([][2]uint64{{program, neighbour}})
	for i, c := range []struct {
		pc   uint64
		code byte // that begins the instruction
		user bool
		want image.Phase
	}{
		{0x400100, 0, true, image.PhaseUser},
		{at["do_syscall_64"], call, false, image.PhaseOther},
		{trampoline, 0, false, image.PhaseEntry},
		{program, call, false, image.PhaseHandler},
		{at["do_syscall_64"], 0, false, image.PhaseHandler}, // a function that the program calls
		{at["do_syscall_64"] + 1, 0, false, image.PhaseHandler},
		{neighbour - 1, 0, false, image.PhaseHandler},
		{at["do_syscall_64"], 0, false, image.PhaseOther}, // to which it returns
		{neighbour - 1, call, false, image.PhaseHandler},
		{trampoline + 8, 0, false, image.PhaseReturn},
		{at["do_syscall_64"], 0, false, image.PhaseOther},
		{trampoline + 8, 0, false, image.PhaseReturn},
		{neighbour, 0, false, image.PhaseStep}, // code of somebody else, behind a return
		{0x400104, 0, true, image.PhaseUser},
		{at["do_syscall_64"], 0, false, image.PhaseOther},
		{trampoline, 0, false, image.PhaseEntry},
	} {
		require.Equal(t, s.Phase(&cpus.Step{PC: c.pc, Code: []byte{c.code}, User: c.user}), c.want, "step %d at %#x is of phase", i, c.pc)
	}
}

// TestProbeCalls follows hits that come by system calls: what leads to and from a user probe at a nop, and the return of a probed function,
// is theirs. It is known behind the first call. Other system calls count for no probe.
func TestProbeCalls(t *testing.T) {
	im, at := made(t)
	const (
		site, trampoline, returns = 0x400100, 0x3ff000, 0x7fffffffe000
		lea, push, pop            = "\x48\x8d\x64\x24\x80", "\x51", "\x59"
		syscall                   = "\x0f\x05"
	)
	load := func(number byte) string { return "\x48\xc7\xc0" + string([]byte{number}) + "\x01\x00\x00" }
	s := phases.New(im)
	for round, before := range []image.Phase{image.PhaseUser, image.PhaseEntry} {
		first := []image.Phase{image.PhaseStep, image.PhaseRethook}[round]
		for i, c := range []struct {
			pc   uint64
			code string // of user mode
			want image.Phase
		}{
			{site, lea, image.PhaseUser},
			{trampoline, push, before},
			{trampoline + 4, load(0x50), before},
			{trampoline + 11, syscall, image.PhaseEntry},
			{at["do_syscall_64"], "", image.PhaseEntry},
			{at["__x86_return_thunk"], "", image.PhaseEntry},
			{at["find_uprobe"], "", image.PhaseDispatch},
			{at["do_syscall_64"], "", image.PhaseReturn},
			{trampoline + 13, pop, image.PhaseReturn},
			{site + 10, pop, image.PhaseUser},
			{returns, push, first},
			{returns + 1, load(0x4f), first},
			{returns + 8, syscall, image.PhaseRethook},
			{at["do_syscall_64"], "", image.PhaseRethook},
			{at["find_uprobe"], "", image.PhaseDispatch},
			{at["do_syscall_64"], "", image.PhaseRethook},
			{returns + 10, pop, image.PhaseRethook},
			{returns + 0x80, pop, image.PhaseStep}, // a slot
			{site + 20, load(0x51), image.PhaseUser},
			{site + 27, syscall, image.PhaseUser},
			{at["do_syscall_64"], "", image.PhaseOther},
			{site + 29, load(0x50), image.PhaseUser},
			{site + 36, pop, image.PhaseUser},
			{site + 37, syscall, image.PhaseUser}, // whose number is another one now
			{at["do_syscall_64"], "", image.PhaseOther},
		} {
			require.Equal(t, s.Phase(&cpus.Step{PC: c.pc, Code: []byte(c.code), User: c.code != ""}), c.want, "round %d, step %d at %#x is of phase", round, i, c.pc)
		}
	}
}

// TestTable wants every title of the table to be a phase.
func TestTable(t *testing.T) {
	text := append(require.Must(os.ReadFile("table.txt"))(t), require.Must(os.ReadFile("arm.txt"))(t)...)
	titles := regexp.MustCompile(`(?m)^(\w+):$`).FindAllSubmatch(text, -1)
	for _, m := range titles {
		if _, ok := image.PhaseNamed(string(m[1])); !ok && !slices.Contains([]string{"any", "interpreter", "syscall"}, string(m[1])) {
			t.Errorf("table.txt: no phase is called %s", m[1])
		}
	}
	require.That(t, len(titles) >= 14, "table.txt has %d titles", len(titles))
}

// TestARM follows a hit on ARM: emulation calls a copy in a slot, and of two breakpoints of user mode one ends a step.
func TestARM(t *testing.T) {
	im, at := made(t)
	im.Machine = elf.EM_ARM
	for i := range im.Symbols {
		switch im.Symbols[i].Name {
		case "do_syscall_64":
			im.Symbols[i].Name = "vector_swi"
		case "asm_exc_int3":
			im.Symbols[i].Name = "do_undefinstr"
		case "kprobe_int3_handler":
			im.Symbols[i].Name = "kprobe_trap_handler"
		case "copy_to_page":
			im.Symbols[i].Name = "emulate_generic_r2_14_noflags"
		}
	}
	const slots, detours, branch = 0xbf000000, 0xbf002000, 0xea000000
	s := phases.New(im)
	for i, c := range []struct {
		pc   uint64
		code uint32
		user bool
		want image.Phase
	}{
		{0x10100, 0, true, image.PhaseUser},
		{0xffff0008, 0, false, image.PhaseEntry},
		{0xffff0000, 0, false, image.PhaseEntry},
		{at["do_syscall_64"], 0, false, image.PhaseOther},
		{at["asm_exc_int3"], 0, false, image.PhaseEntry},
		{at["kprobe_int3_handler"], 0, false, image.PhaseDispatch},
		{at["copy_to_page"], 0, false, image.PhaseStep},
		{slots, 0, false, image.PhaseStep},
		{at["do_syscall_64"] + 4, branch, false, image.PhaseOther},
		{detours, 0, false, image.PhaseDetour},
		{0xbefff040, 0xe92d4800, true, image.PhaseStep},
		{0xbefff044, 0xe7f001fa, true, image.PhaseStep},
		{0xbefff000, 0xe7f001f9, true, image.PhaseRethook},
	} {
		code := binary.LittleEndian.AppendUint32(nil, c.code)
		require.Equal(t, s.Phase(&cpus.Step{PC: c.pc, Code: code, User: c.user}), c.want, "step %d at %#x is of phase", i, c.pc)
	}
}

// TestTogether wants a step to tell of several instructions where they are of one phase: not of two functions or pages, of a program
// and what is beside it, or of a system call.
func TestTogether(t *testing.T) {
	im, at := made(t)
	s := phases.New(im)
	const program = 0x7000_0000_0800
	s.Programs([][2]uint64{{program, program + 0x20}})
	first := at["find_uprobe"]
	end := first + 1
	for sym, _, _ := im.At(end); sym.Addr == first; sym, _, _ = im.At(end) {
		end++
	}
	const other = 0x400ff8
	for _, x := range []struct {
		name string
		pc   uint64
		code string
		want bool
	}{
		{"a function", first, "\x90\x90\x90", true},
		{"all of it", first, string(make([]byte, end-first)), true},
		{"two functions", end - 1, "\x90\x90", false},
		{"the end of one", end - 1, "\x90", true},
		{"no function", other, "\x90\x90\x90", true},
		{"a page", other, "\x90\x90\x90\x90\x90\x90\x90\x90", true},
		{"two pages", other, "\x90\x90\x90\x90\x90\x90\x90\x90\x90", false},
		{"a system call", other, "\x90\x0f\x05", false},
		{"half a system call", other, "\x90\x05\x0f", true},
		{"a program", program, string(make([]byte, 0x20)), true},
		{"in front of a program", program - 2, "\x90\x90", true},
		{"up to a program", program - 2, "\x90\x90\x90", false},
		{"the end of a program", program + 0x1f, "\x90\x90", false},
		{"behind a program", program + 0x20, "\x90\x90", true},
	} {
		require.Equal(t, s.Together(x.pc, []byte(x.code)), x.want, "%s: told together", x.name)
	}
}

// TestRuns follows runs of instructions: the last one tells what leads on, and the first one where they are.
func TestRuns(t *testing.T) {
	im, _ := made(t)
	s := phases.New(im)
	sym, ok := im.Symbol(linuxtest.Name(12)[1:])
	require.Need(t, ok, "the made-up kernel has no %s", linuxtest.Name(12))
	other := sym.Addr
	const trampoline, loads = 0xffffffffc0201000, "\x90\x48\xc7\xc0\x50\x01\x00\x00"
	for i, x := range []struct {
		step cpus.Step
		want image.Phase
	}{
		{cpus.Step{PC: 0x400100, Code: []byte("\x90\xe9\x00\x00\x00\x00"), Last: 1, User: true}, image.PhaseUser},
		{cpus.Step{PC: other, Code: []byte("\x90\xe9\x00\x00\x00\x00"), Last: 1}, image.PhaseOther},
		{cpus.Step{PC: trampoline, Code: []byte("\x90\x90"), Last: 1}, image.PhaseDetour},
		{cpus.Step{PC: other, Code: []byte("\xe9\x90\x90\x90\x90\x90"), Last: 5}, image.PhaseOther},
		{cpus.Step{PC: trampoline + 0x1000, Code: []byte("\x90")}, image.PhaseEntry},
		{cpus.Step{PC: 0x3ff000, Code: []byte(loads), Last: 1, User: true}, image.PhaseUser},
		{cpus.Step{PC: 0x3ff008, Code: []byte("\x0f\x05"), User: true}, image.PhaseEntry},
		{cpus.Step{PC: 0x3ff000, Code: []byte(loads), Last: 1, User: true}, image.PhaseEntry},
	} {
		require.Equal(t, s.Phase(&x.step), x.want, "step %d at %#x is of phase", i, x.step.PC)
	}
}
