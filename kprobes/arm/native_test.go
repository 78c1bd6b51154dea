package arm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	cpu "kprobesim/cpus/arm"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
	"kprobesim/targets"
)

// The kernel's own test of its emulation, for every instruction of the processor's table: random registers, flags and
// memory, once without a probe and once under one. Both leave the same registers, flags and memory, and go on
// at the same place.
func TestProbedInstructionDoesTheSame(t *testing.T) {
	for _, m := range []struct {
		image string
		year  int
		mode  kprobes.Mode
	}{
		{"arm-2010", 2010, kprobes.Emulated},
		{"arm-2014", 2014, kprobes.Emulated},
		{"arm-2014", 2014, kprobes.Optimized},
	} {
		if m.year == 2010 && !hosttools.Whole(t, "every encoding under the kernel of 2010", "that of 2014") {
			continue
		}
		t.Run(fmt.Sprint(m.image, " ", m.mode), func(t *testing.T) {
			run(t, m.image, m.mode == kprobes.Optimized, func(l *lab) {
				l.year, l.mode = m.year, m.mode
				l.everyEncoding()
			})
		})
	}
}

// lab is a machine on whose boot task instructions are tried.
type lab struct {
	*sim.Call
	t       *testing.T
	s       *targets.System
	rng     *rand.Rand
	year    int
	mode    kprobes.Mode
	code    uint64 // where the program stands that has the instruction in it
	memory  uint64 // what loads and stores have for themselves
	handled map[string]int
}

func run(t *testing.T, name string, optimize bool, body func(l *lab)) {
	im := require.Must(targets.LoadImage(name))(t)
	target := targets.Find(targets.List(), "arm")
	options := kprobes.Default()
	options.OptProbes, options.Delay = optimize, 1
	config := cpustest.Config(target.ISA)
	config.Processor = map[string]uint64{"divide": 1, "midr": 1, "cluster": 0}
	s, err := target.Build(targets.Config{
		Machine: sim.Config{CPU: config, Image: im}, Kernel: smp.Options{HZ: 1000}, Probes: options,
	})
	require.NoError(t, err)
	err = s.Run(func(c *sim.Call) error {
		l := &lab{Call: c, t: t, s: s, rng: rand.New(rand.NewPCG(1, 2)), handled: map[string]int{}}
		l.setUp()
		body(l)
		return nil
	})
	require.Need(t, err == nil, "%v\n%s", err, s.Machine.Console())
}

// The program that has the instruction in it, in words: it loads all registers and flags from behind itself, executes
// the instruction, notes where that led, and stores all of them. Interrupts are off meanwhile, so that the stack pointer
// may be anything behind the instruction.
const (
	atInsn = 22
	atPad0 = atInsn + 3 // the next instruction leads here
	atPad1 = atPad0 + 2 // what writes the program counter does
	atPad2 = atPad1 + 2 // and the instruction that follows the next one
	atSave = atPad2 + 2
	atData = 64

	inFlags   = 15 // behind r0 to r12, sp and lr
	outRegs   = 16
	outStatus = 31
	outWhere  = 32
	savedSP   = 33
	savedCPSR = 34
	padWord   = 35
	dataWords = 36

	regSP, regLR, regPC = 13, 14, 15
)

// Where memory for loads and stores begins, counted from the stack pointer, and how it lies.
const (
	memorySize = 0x4000
	stackAt    = 0x2000 // of memory: the stack pointer
	baseAt     = 0x3000 // of memory: other bases
	keptBelow  = 64     // below the stack pointer, of what exceptions leave
)

func (l *lab) setUp() {
	f, ok := l.s.Machine.Image().Symbol("crowd_0")
	require.Need(l.t, ok, "no crowd_0")
	l.code = f.Addr
	var err error
	l.memory, err = l.s.Machine.Alloc(memorySize, 4096)
	l.do(err)
	for i, w := range program() {
		l.put(i, w)
	}
	l.put(atData+padWord, uint32(l.pad()))
}

func program() []uint32 {
	p := []uint32{0xe92d4ff0}
	at := func(insn uint32, reg, data int) { // ldr or str of a word behind the program
		p = append(p, insn|uint32(reg)<<12|uint32(atData+data-len(p)-2)*4)
	}
	const ldr, str = 0xe59f0000, 0xe58f0000
	jump := func(to int) { p = append(p, 0xea000000|uint32(to-len(p)-2)&0xffffff) }
	at(str, regSP, savedSP)
	p = append(p, 0xe10fc000) // mrs r12, cpsr
	at(str, 12, savedCPSR)
	p = append(p, 0xf10c0080) // cpsid i
	at(ldr, 12, inFlags)
	p = append(p, 0xe12cf00c) // msr cpsr_fs, r12
	for r := range regPC {
		at(ldr, r, r)
	}
	p = append(p, 0) // the instruction
	jump(atPad0)
	jump(atPad2)
	for range 3 {
		at(str, regPC, outWhere)
		jump(atSave)
	}
	for r := range regPC {
		at(str, r, outRegs+r)
	}
	p = append(p, 0xe10f0000) // mrs r0, cpsr
	at(str, 0, outStatus)
	at(ldr, regSP, savedSP)
	at(ldr, 12, savedCPSR)
	return append(p, 0xe121f00c, 0xe8bd8ff0) // msr cpsr_c, r12; pop
}

func (l *lab) do(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Error(err)
	}
}

func (l *lab) put(word int, v uint32) { l.do(l.s.Machine.Store(l.code+uint64(word)*4, 4, uint64(v))) }

func (l *lab) get(word int) uint32 {
	v, err := l.s.Machine.Load(l.code+uint64(word)*4, 4)
	l.do(err)
	return uint32(v)
}

func (l *lab) pad() uint64 { return l.code + atPad1*4 }

// trial is an instruction with what it works on.
type trial struct {
	word  uint32
	regs  [15]uint32
	flags uint32
	mem   []byte // from the lowest byte that exceptions leave alone
}

// outcome holds what an instruction leaves.
type outcome struct {
	regs   [15]uint32
	status uint32
	where  uint32
	mem    []byte
}

const memFrom = stackAt - keptBelow

func (l *lab) attempt(tr *trial) (o outcome) {
	l.do(l.s.Machine.WriteBytes(l.memory+memFrom, tr.mem))
	for i, v := range tr.regs {
		l.put(atData+i, v)
	}
	l.put(atData+inFlags, tr.flags)
	_, err := l.InvokeSym("crowd_0")
	l.do(err)
	for i := range o.regs {
		o.regs[i] = l.get(atData + outRegs + i)
	}
	o.status, o.where = l.get(atData+outStatus), l.get(atData+outWhere)
	o.mem, err = l.s.Machine.ReadBytes(l.memory+memFrom, len(tr.mem))
	l.do(err)
	o.mem = slices.Clone(o.mem)
	return o
}

// differs says in what two outcomes differ, "" for nothing. Below the stack pointer only what the first one stored is
// looked at: a hit has its frames there.
func (a *outcome) differs(b *outcome, before []byte) string {
	for i := range a.regs {
		if a.regs[i] != b.regs[i] {
			return fmt.Sprintf("r%d is %#x, was %#x", i, b.regs[i], a.regs[i])
		}
	}
	switch {
	case a.status != b.status:
		return fmt.Sprintf("status %#x, was %#x", b.status, a.status)
	case a.where != b.where:
		return fmt.Sprintf("led to %#x, was %#x", b.where, a.where)
	}
	for i := range a.mem {
		if a.mem[i] != b.mem[i] && (i >= keptBelow || a.mem[i] != before[i]) {
			return fmt.Sprintf("byte %d from the stack pointer is %#x, was %#x", i-keptBelow, b.mem[i], a.mem[i])
		}
	}
	return ""
}

// everyEncoding tries each instruction of the processor that kernels of the year probe.
func (l *lab) everyEncoding() {
	tried := 0
	for _, e := range cpu.Encodings() {
		done := 0
		for range 400 {
			w := l.rng.Uint32()&^e.Mask | e.Value
			if e.Conditional {
				w = w&0x0fffffff | [4]uint32{14, 14, l.rng.Uint32N(15), l.rng.Uint32N(15)}[l.rng.IntN(4)]<<28
			}
			tr, handler, ok := l.trial(l.favour(w, e.Mask))
			if !ok {
				continue
			}
			l.hold(tr, e.Name)
			l.handled[handler]++
			if done++; done == 3 || l.t.Failed() {
				break
			}
		}
		if l.t.Failed() {
			return
		}
		tried += min(done, 1)
	}
	l.t.Logf("%d of %d encodings, by handler %v", tried, len(cpu.Encodings()), l.handled)
	for _, name := range []string{
		"emulate_to_d", "emulate_to_n", "emulate_to_d_n", "emulate_flags", "emulate_load", "emulate_store",
		"emulate_load_pair", "emulate_store_pair", "emulate_nothing", "emulate_mrs", "emulate_branch",
		"emulate_branch_register", "emulate_alu_pc", "emulate_load_pc", "emulate_block",
	} {
		require.That(l.t, l.handled[name] >= 3, "%s was tried %d times", name, l.handled[name])
	}
	for _, name := range []string{"emulate_block_low", "emulate_block_high", "emulate_block_pc"} {
		n := l.handled[name]
		require.That(l.t, (n >= 3) == (l.year >= 2014), "%s was tried %d times", name, n)
	}
}

// favour makes two things less rare: a program counter that is written, and blocks of registers that are all low or
// all high. What the encoding fixes stays.
func (l *lab) favour(w, mask uint32) uint32 {
	switch {
	case w>>25&7 == 4:
		kind := l.rng.IntN(4)
		without := [4]uint32{0, 0x0008e000, 0x00008003, 0x00000007}[kind]
		if kind == 3 && w>>20&1 == 1 {
			w |= 1 << regPC &^ mask
		}
		return w &^ (without &^ mask)
	case l.rng.IntN(4) == 0:
		return w | 0xf000&^mask
	}
	return w
}

// hold tries an instruction without and with a probe on it.
func (l *lab) hold(tr *trial, name string) {
	at := l.code + atInsn*4
	l.do(l.s.Machine.Store(at, 4, uint64(tr.word)))
	_, err := l.InvokeSym("flush_icache_range", at, at+4)
	l.do(err)
	want := l.attempt(tr)
	p, err := l.s.Probes.Add(l.Call, kprobes.Spec{Symbol: "crowd_0", Offset: atInsn * 4, Handler: "handler_count"})
	if err != nil {
		l.t.Errorf("%s (%08x): %v", name, tr.word, err)
		return
	}
	l.settle()
	st, err := l.s.Probes.State(p.Addr)
	l.do(err)
	require.That(l.t, st.Mode == l.mode, "%s (%08x): mode %s, want %s: %v", name, tr.word, st.Mode, l.mode, st.Refusal)
	hits := l.hits()
	got := l.attempt(tr)
	n := l.hits() - hits
	if text := want.differs(&got, tr.mem); text != "" {
		l.t.Errorf("%s (%08x), flags %#x: under a probe %s\nregisters %#x", name, tr.word, tr.flags, text, tr.regs)
	}
	expected := uint64(1)
	if l.year >= 2014 && !holds(tr.word>>28, tr.flags) {
		expected = 0
	}
	require.That(l.t, n == expected, "%s (%08x), flags %#x: %d hits, want %d", name, tr.word, tr.flags, n, expected)
	l.do(l.s.Probes.Remove(l.Call, p))
	l.settle()
}

func (l *lab) settle() {
	if l.mode == kprobes.Optimized {
		l.do(l.s.Probes.WaitOptimizer(l.Call))
	}
}

func (l *lab) hits() uint64 {
	at, err := l.s.Machine.PerCPU(0, "handler_hits")
	l.do(err)
	v, err := l.s.Machine.Load(at, 4)
	l.do(err)
	return v
}
