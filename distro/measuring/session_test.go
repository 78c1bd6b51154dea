package measuring

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	isa "kprobesim/cpus/x86"
	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/image/linux"
	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// prints is a made-up kernel that prints a text at the serial port and resets the machine, or halts it.
func prints(text string, end ...byte) []byte {
	code := []byte{0x66, 0xba, 0xf8, 0x03} // mov dx, 0x3f8
	for _, c := range []byte(text) {
		code = append(code, 0xb0, c, 0xee) // mov al, c; out dx, al
	}
	return append(code, end...)
}

// reset has the keyboard controller reset the machine.
var reset = []byte{0xb0, 0xfe, 0xe6, 0x64, 0xf4} // mov al, 0xfe; out 0x64, al; hlt

// madeUp is a session with a made-up kernel, whose program has room for orders and answers in the kernel's memory, at offsets from its code.
func madeUp(t *testing.T, code []byte) *session {
	t.Helper()
	k := require.Must(linux.Read("made-up", linuxtest.Boxed(linuxtest.Kernel{Bits: 64, Code: code, Flat: true}.ELF()), nil))(t)
	m := require.Must(distro.Start(distro.Config{Kernel: k, CPU: cpustest.Config(isa.ISA64()), Board: pc.Legacy{}, RAM: 32 << 20}, distro.Stop{}))(t)
	p := &program{word: 8, symbols: map[string]elf.Symbol{
		"orders": {Value: k.Image.Entry + 0x400, Size: 64}, "answers": {Value: k.Image.Entry + 0x500, Size: 64},
	}}
	return &session{m: m, kernel: k, program: p}
}

// TestUntil says how a machine has ended before its program came to a marker, with the end of its console.
func TestUntil(t *testing.T) {
	for text, want := range map[string]string{
		"boots\n": "before the program came to mark_warm; the end of the console:\nboots\n", "---[ end Kernel panic": "the kernel panicked; the end of the console:\n---[ end Kernel panic",
		"reboot: System halted\n": "the machine ended (halted) before the program came to mark_warm", strings.Repeat("x", 800) + "end": "the end of the console:\n" + strings.Repeat("x", 797) + "end",
	} {
		s := madeUp(t, prints(text, reset...))
		err := s.until("mark_warm")
		require.That(t, err != nil && strings.Contains(err.Error(), want), "%q: %v, want %q", text, err, want)
	}
}

// TestOrdersAndAnswers lie in the memory of the program, and are refused where that is too small.
func TestOrdersAndAnswers(t *testing.T) {
	s := madeUp(t, prints("", reset...))
	orders := []command{show("/a"), numbers(sleep, "sleep", 7)}
	require.NoError(t, s.give(orders))
	got := require.Must(s.m.ReadBytes(s.program.symbols["orders"].Value, len(encode(orders))))(t)
	require.That(t, bytes.Equal(got, encode(orders)), "% x", got)
	require.Error(t, s.give([]command{show(strings.Repeat("x", 64))}), "and the program takes 64: strip modules of debugging information", "orders that are too long")
	exact := []command{show(strings.Repeat("x", 39))} // with a zero, two heads and the end 64 bytes
	require.Equal(t, len(encode(exact)), 56, "bytes of orders that fit")
	require.NoError(t, s.give(exact))
	le := binary.LittleEndian
	answer := append(le.AppendUint32(le.AppendUint32(nil, 0), 3), "abc\x00\x00\x00\x00\x00"...)
	require.NoError(t, s.m.WriteBytes(s.program.symbols["answers"].Value, append(answer, le.AppendUint32(nil, 0)...)))
	said := require.Must(s.answers(orders))(t)
	require.That(t, len(said) == 2 && string(said[0]) == "abc" && len(said[1]) == 0, "%q", said)
	require.NoError(t, s.m.WriteBytes(s.program.symbols["answers"].Value, le.AppendUint32(nil, ^uint32(1))))
	require.Error(t, require.Err(s.answers(orders)), "the kernel refused to read /a: error 2 (ENOENT); the end of the console", "an order that failed")
	none, err := s.do()
	require.That(t, none == nil && err == nil, "no orders: %v, %v", none, err)
}

// TestPlanted finds breakpoints that a file has not, wherever they are, and tells jumps in the kernel's text.
func TestPlanted(t *testing.T) {
	code := append(prints("", reset...), 0xcc, 0xe9, 0x90, 0x90, 0x90, 0x90)
	s := madeUp(t, code)
	at := s.kernel.Image.Entry
	file := append(make([]byte, 0x10), code...)
	file[0x10+len(code)-1] = 0x91
	s.program.file, s.program.code = distro.File{Data: file}, elf.ProgHeader{Vaddr: at, Off: 0x10, Filesz: uint64(len(code))}
	planted := func() string {
		breakpoints, calls, err := s.planted()
		require.NoError(t, err)
		return fmt.Sprintf("%#x %#x", breakpoints, calls)
	}
	require.Equal(t, planted(), "[] []", "breakpoints of a program that has one itself")
	for _, i := range []int{0, 5, len(code) - 1} {
		require.NoError(t, s.m.WriteBytes(at+uint64(i), []byte{0xcc}))
	}
	require.Equal(t, planted(), fmt.Sprintf("%#x []", []uint64{at, at + 5, at + uint64(len(code)) - 1}), "breakpoints")
	s.program.code.Vaddr = 0x7000_0000_0000
	_, _, err := s.planted()
	require.Error(t, err, "the text of the program", "text that is not in memory")
	jump := at + uint64(len(code)) - 5
	require.That(t, s.jumps(jump) && !s.jumps(jump-1) && !s.jumps(jump+1) && s.jumps(0x1234_5678_0000), "jumps at %#x", jump)
}

// TestCalled finds calls in place of nops that a file has, and nothing else where there is a call.
func TestCalled(t *testing.T) {
	nop5, nop10 := "\x0f\x1f\x44\x00\x00", "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"
	call, lea := "\xe8\x01\x02\x03\x04", "\x48\x8d\x64\x24\x80"
	for _, x := range []struct{ file, memory, want string }{
		{nop5 + nop10, nop5 + nop10, "[] []"},
		{nop5 + nop10, call + nop10, "[] [0x0]"},
		{nop5 + nop10, call + lea + call, "[] [0x0 0x5]"},
		{"\x90" + nop5, "\x90" + call, "[] [0x1]"},
		{call, call, "[] []"},
		{nop10, call + call, "[] []"},
		{nop10, lea + nop5, "[] []"},
		{nop10, "\xcc" + nop10[1:], "[0x0] []"}, // up to the first hit
	} {
		s := madeUp(t, append(prints("", reset...), x.memory...))
		at := s.kernel.Image.Entry + uint64(len(prints("", reset...)))
		s.program.file, s.program.code = distro.File{Data: []byte(x.file)}, elf.ProgHeader{Vaddr: at, Filesz: uint64(len(x.file))}
		breakpoints, calls, err := s.planted()
		require.NoError(t, err)
		for i := range breakpoints {
			breakpoints[i] -= at
		}
		for i := range calls {
			calls[i] -= at
		}
		require.Equal(t, fmt.Sprintf("%#x %#x", breakpoints, calls), x.want, "% x where the file has % x", x.memory, x.file)
	}
}

// TestReadings copies counters and times of all CPUs, and runs with the cost model or without.
func TestReadings(t *testing.T) {
	s := madeUp(t, prints("four", reset...))
	before := s.counters()
	s.timed(false)
	require.Error(t, s.until("mark_warm"), "reset", "a kernel that ends")
	n := s.counters()[0].Sub(&before[0])
	shares := s.shares()
	require.That(t, len(shares) == 1 && n.Instructions > 8 && shares[0].Counters.Instructions == n.Instructions+before[0].Instructions, "%d instructions, %+v", n.Instructions, shares[0].Slept)
	quick := n.Total()
	timed := madeUp(t, prints("four", reset...))
	timed.timed(true)
	require.Error(t, timed.until("mark_warm"), "reset", "a kernel that ends")
	slow := timed.counters()[0]
	require.That(t, slow.Instructions == n.Instructions+before[0].Instructions && slow.Total() > quick && quick == clock.Ticks(n.Instructions)*clock.PerCycle, "%d instructions take %d ticks, and %d without the cost model", n.Instructions, slow.Total(), quick)
	word, err := timed.word(timed.kernel.Image.Entry, 8)
	require.NoError(t, err)
	got := require.Must(word())(t)
	require.Equal(t, got, binary.LittleEndian.Uint64(prints("four")), "a word of memory")
	require.Error(t, require.Err(timed.word(0x7000_0000_0000, 8)), "the map of the program is not in memory", "a word that is nowhere")
	n64, ok, err := timed.counted(nil)
	require.That(t, n64 == 0 && !ok && err == nil, "nothing is counted as %d, %v, %v", n64, ok, err)
	full := &attaching.Attached{Rings: []attaching.Ring{{Name: "ring", Addr: timed.kernel.Image.Entry, Size: 100, Word: 8}}}
	_, _, err = timed.counted(full)
	require.Error(t, err, "the ring buffer ring has 100 bytes", "a ring buffer that is full")
}

// TestRunsAtOnce runs two machines of one lab in two goroutines. Under the race detector a packaged kernel would take minutes.
func TestRunsAtOnce(t *testing.T) {
	s := madeUp(t, prints("four", reset...))
	c := distro.Config{Kernel: s.kernel, CPU: cpustest.Config(isa.ISA64()), Board: pc.Legacy{}, RAM: 32 << 20}
	c.From = require.Must(distro.Snapshot(c, s.m))(t)
	l, other := &Lab{config: c, program: s.program}, make(chan string)
	run := func() string {
		s, err := l.start()
		if err != nil {
			return err.Error()
		}
		defer s.free()
		err = s.until(markers[0])
		return fmt.Sprint(err, s.m.Console(), s.counters())
	}
	go func() { other <- run() }()
	got := run()
	require.Equal(t, <-other, got, "the other machine of the lab")
	require.That(t, strings.Contains(got, "reset") && strings.Contains(got, "four"), "%s", got)
}

// kept keeps in memory what is remembered.
type kept map[string][]byte

func (k kept) Load(key []byte) ([]byte, bool) {
	b, ok := k[string(key)]
	return b, ok
}

func (k kept) Save(key, content []byte) { k[string(key)] = content }

// TestRemembered has a boot again, and none of a file that is too short.
func TestRemembered(t *testing.T) {
	s := madeUp(t, prints("", reset...))
	c := distro.Config{Kernel: s.kernel, CPU: cpustest.Config(isa.ISA64()), Board: pc.Legacy{}, Kept: kept{}}
	l := &Lab{config: c, cpu: 3, booted: 40, fields: taskFields{50, 60}}
	for _, state := range []string{"", "state"} {
		l.config.From = []byte(state)
		l.remember(c)
		again := &Lab{config: c}
		require.That(t, again.recall() && again.cpu == 3 && again.booted == 40 && again.fields == taskFields{50, 60} && string(again.config.From) == state,
			"%+v, %q", again.fields, again.config.From)
	}
	c.Remember(markers[0], make([]byte, 31))
	require.That(t, !(&Lab{config: c}).recall(), "a file that is too short is a boot")
	c.Kept = kept{}
	require.That(t, !(&Lab{config: c}).recall(), "a boot that was not kept is found")
}

// TestAttributes are a struct perf_event_attr: a breakpoint of so many bytes, and of a word if there is none said.
func TestAttributes(t *testing.T) {
	s := madeUp(t, prints("", reset...))
	l := &Lab{config: distro.Config{Kernel: s.kernel}, program: s.program}
	for _, x := range []struct {
		w    Watchpoint
		at   uint64
		size byte
	}{
		{Watchpoint{Addr: 0x1234, Access: Write}, 0x1234, 8},
		{Watchpoint{Symbol: own + "orders", Addr: 4, Access: ReadWrite, Size: 2}, s.program.symbols["orders"].Value + 4, 2},
	} {
		b := require.Must(l.attributes(&x.w))(t)
		want := make([]byte, 112)
		want[0], want[4], want[52], want[64] = 5, 112, byte(x.w.Access), x.size
		binary.LittleEndian.PutUint64(want[56:], x.at)
		require.That(t, bytes.Equal(b, want), "%+v: % x", x.w, b)
	}
	require.Error(t, require.Err(l.attributes(&Watchpoint{Symbol: "none"})), "watchpoint: the kernel has no symbol none", "a symbol")
}

// TestSwitchedTask keeps what a task is in the middle of while others have its CPU.
func TestSwitchedTask(t *testing.T) {
	m := madeUp(t, prints("", reset...)).m
	before, next := m.CPU(0).Arg(0), m.CPU(0).Arg(1)
	require.Need(t, before != next, "both tasks are at %#x", before)
	x := &tasks{at: 0x1000, next: 1, contexts: map[uint64][]uint8{next: {1, 2}}, since: make([]clock.Ticks, 1), current: make([]uint64, 1), spent: map[string]clock.Ticks{}}
	m.SwitchTask(0, []uint8{3})
	x.step(m, &cpus.Step{PC: x.at})
	require.Equal(t, fmt.Sprint(x.contexts, m.SwitchTask(0, nil), x.current[0] == next), fmt.Sprintf("map[%d:[3]] [1 2] true", before), "what tasks are in the middle of")
	x.named = 0x2000
	for another, want := range map[uint64]clock.Ticks{0: 0, 1: 5, 2: 0, 3: 5} { // the third argument says that the task executes another program
		x.spent, x.since[0] = map[string]clock.Ticks{}, work(m, 0)-5
		c := m.CPU(0).(*isa.CPU)
		c.R[7], c.R[6], c.R[2] = math.MaxUint64, ^another, another // rdi leads nowhere, rsi, rdx
		x.step(m, &cpus.Step{PC: x.named})
		require.Equal(t, x.spent[kernelThreads], want, "work of the task before it has another name, with %d", another)
	}
}
