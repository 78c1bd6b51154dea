package measuring

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/image"
	"kprobesim/image/linux"
	"kprobesim/internal/require"
)

// TestEncode holds the layout that measure.c reads.
func TestEncode(t *testing.T) {
	b := encode([]command{write("/a", "b"), insert(Module{Params: "x=1", File: []byte("ELF")}), numbers(run, "", 2, 3, 4)})
	want := "01000000" + "05000000" + "2f61006200000000" + // write_file, 5 bytes
		"03000000" + "0b000000" + "783d310000000000" + "454c460000000000" + // insert_module, 11 bytes
		"07000000" + "0c000000" + "020000000300000004000000" + "00000000" + // run, 12 bytes
		"0000000000000000"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// answer lays out what the program answers.
func answer(result int32, data string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(result))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	return padded(append(b, data...))
}

func TestDecode(t *testing.T) {
	asked := []command{show("/a"), show("/b"), write("/c", "p x")}
	good := append(append(answer(0, "text\n"), answer(0, "12345678")...), answer(0, "")...)
	out, err := decode(good, asked)
	require.That(t, err == nil && string(out[0]) == "text\n" && string(out[1]) == "12345678" && len(out[2]) == 0, "%q, %v", out, err)
	bad := append(append(answer(0, ""), answer(0, "")...), answer(-2, "")...)
	require.Error(t, require.Err(decode(bad, asked)), `write "p x" to /c: error 2 (ENOENT)`, "an order that failed")
	large := answer(0, "")
	large[7] = 0xff
	for _, b := range [][]byte{nil, good[:12], large} {
		_, err := decode(b, asked)
		require.That(t, err != nil, "%d bytes of answers are taken for three", len(b))
	}
}

func TestNamedEvent(t *testing.T) {
	for line, want := range map[string][3]string{
		"p vfs_open":               {"p:kprobes/order3 vfs_open", "kprobes", "order3"},
		"p:one vfs_open+0x5 $arg1": {"p:kprobes/one vfs_open+0x5 $arg1", "kprobes", "one"},
		" r10:mine/two vfs_open":   {"r10:mine/two vfs_open", "mine", "two"},
		"r4 vfs_open":              {"r4:kprobes/order3 vfs_open", "kprobes", "order3"},
	} {
		text, group, name := namedEvent(line, "kprobes", 3)
		require.Equal(t, [3]string{text, group, name}, want, "%q", line)
	}
}

// TestLists reads what kernels of 6.1 print.
func TestLists(t *testing.T) {
	list := listed([]byte("ffffffff810be3a5  k  __do_sys_getppid+0x5    [OPTIMIZED]\n" +
		"c12cb050  r  do_sys_openat2+0x0    [DISABLED][FTRACE]\nno line\n"))
	if want := []Listed{
		{Addr: 0xffffffff810be3a5, Kind: "k", Place: "__do_sys_getppid+0x5", Optimized: true},
		{Addr: 0xc12cb050, Kind: "r", Place: "do_sys_openat2+0x0", Disabled: true, Ftrace: true},
	}; !reflect.DeepEqual(list, want) {
		t.Errorf("%+v", list)
	}
	mods := loaded([]byte("kprobesim_empty 16384 0 - Live 0xffffffffc0000000 (OE)\nown 4096 0 - Live 0xffffffffc0008000\nshort 4096 0 - Live\n"))
	if want := []Loaded{{"kprobesim_empty", 0xffffffffc0000000, 16384}, {"own", 0xffffffffc0008000, 4096}}; !reflect.DeepEqual(mods, want) {
		t.Errorf("%+v", mods)
	}
}

// TestCounts reads the files in which kernels tell hits.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		p    probe
		said string
		want Counted
	}{
		{probe{name: "b", line: true}, "  a  1  2\n  b  1200  3\n", Counted{"b", 1200, 3}},
		{probe{name: "u", line: true}, "  /init u   77\n", Counted{"u", 77, 0}},
		{probe{name: "m"}, "1201\n", Counted{"m", 1201, 0}},
		{probe{name: "watchpoint", perf: true}, "\x05\x01\x00\x00\x00\x00\x00\x00", Counted{"watchpoint", 0x105, 0}},
	} {
		require.Got(c.p.read([]byte(c.said)))(t, c.want, "%q", c.said)
	}
	for _, said := range []string{"", "a 1 2\n", "b x\n", "b\n"} {
		got, err := (&probe{name: "b", line: true}).read([]byte(said))
		require.That(t, err != nil, "%q: %+v", said, got)
	}
}

// ofBits is a kernel of x86 without anything in it.
func ofBits(n int) *linux.Kernel { return &linux.Kernel{Image: &image.Image{Bits: n}} }

// TestProgram holds what is looked up in the programs, and places of them in lines for uprobe_events.
func TestProgram(t *testing.T) {
	for _, bits := range []int{64, 32} {
		p := require.Must(readProgram(require.Must(distro.Measure(ofBits(bits)))(t), bits))(t)
		at := require.Must(p.resolve("user_function+0x1"))(t)
		line, err := p.inFile("p:u /init:user_function+1 %ax")
		if start := at - p.text; err != nil || line != "p:u /init:"+hexText(start)+" %ax" || p.file.Data[start-1]&0xf8 != 0x50 {
			t.Errorf("%d bits: %q, %v, %#x", bits, line, err, p.file.Data[at-p.text-1]) // push is 50 to 57
		}
		for _, bad := range []string{"p /init:nothing", "p /init:user_function+x"} {
			line, err := p.inFile(bad)
			require.That(t, err != nil, "%q became %q", bad, line)
		}
		for i, m := range markers {
			s := p.symbols[m]
			require.That(t, p.marker(s.Value) == m && p.spans()[i][0] == s.Value && p.file.Data[s.Value-p.text] == 0xc3, "%d bits: %s is no return at %#x", bits, m, s.Value)
		}
	}
}

// TestSetup holds what is counted of an order with each sort of probe, and the numbers of loops.
func TestSetup(t *testing.T) {
	l := &Lab{program: require.Must(readProgram(require.Must(distro.Measure(ofBits(64)))(t), 64))(t)}
	setup, probes, err := l.setup(&Order{
		Events:     []string{"p:a getppid"},
		Modules:    []Module{{Name: "one-more", Hits: "hits"}, {Name: "silent"}},
		Watchpoint: &Watchpoint{Symbol: own + "watched_word"},
	})
	want := []probe{
		{name: "a", file: kprobeProfile, line: true},
		{name: "one-more", file: "/sys/module/one_more/parameters/hits"},
		{name: "watchpoint", perf: true},
	}
	require.That(t, err == nil && slices.Equal(probes, want) && len(setup) == 6, "%d commands, %+v, %v", len(setup), probes, err)
	attaching := require.Must(readProgram(require.Must(distro.Attach(ofBits(64)))(t), 64))(t)
	for i, name := range workloads {
		require.Got(attaching.numberOf(name))(t, i, "loop %s", name)
		_, err := l.program.numberOf(name)
		require.Equal(t, err != nil, slices.Contains([]string{"rename", "listened", "listened-nop10"}, name), "a program that attaches nothing lacks %s", name)
	}
}

// TestArmed holds that the first CPU's time is without interrupts, and the others' is that of interrupts alone.
func TestArmed(t *testing.T) {
	behind := make([]cpus.Counters, 3)
	for i := range behind {
		behind[i].Time[cpus.NoException][0], behind[i].Time[cpus.Interrupted][1] = 1000, 7
		behind[i].Exceptions[firstInterrupt-1], behind[i].Exceptions[firstInterrupt] = 5, 2
	}
	if got := armed(make([]cpus.Counters, 3), behind); *got != (Arming{Ticks: 1000, Interrupted: 14, Interrupts: 4}) {
		t.Errorf("%+v", got)
	}
}

// TestPlace finds instructions of the programs, and nothing else.
func TestPlace(t *testing.T) {
	for bits, want := range map[int][2]string{64: {"push %rbp", "mov %rsp,%rbp"}, 32: {"push %ebp", "mov %esp,%ebp"}} {
		p := require.Must(readProgram(require.Must(distro.Measure(ofBits(bits)))(t), bits))(t)
		p.symbols["low"] = elf.Symbol{} // in front of the program
		l := &Lab{program: p, config: distro.Config{Kernel: ofBits(bits)}}
		for i, place := range []string{"user_function", "user_function+1"} {
			at, err := l.Place(place)
			if err != nil || at.Instruction != want[i] || at.Addr != p.symbols["user_function"].Value+uint64(i) || at.File != at.Addr-p.text {
				t.Errorf("%d bits: %s is %+v, %v; want %s", bits, place, at, err, want[i])
			}
		}
		for place, says := range map[string]string{
			"user_function+2": "/init:user_function+2: the function has no instruction that starts at +0x2", "nothing": "no symbol nothing", "user_function+x": "write the offset as a number",
			"watched_word": "has no instructions there", "user_function+0x10000": "has no instructions there",
			fmt.Sprintf("low+%#x", p.text): "has no instructions there",
		} {
			at, err := l.Place(place)
			require.That(t, err != nil && strings.Contains(err.Error(), says), "%d bits: %s is %+v, %v; want %q", bits, place, at, err, says)
		}
	}
}

func hexText(n uint64) string {
	return "0x" + strings.TrimLeft(hex.EncodeToString(binary.BigEndian.AppendUint64(nil, n)), "0")
}

// FuzzAnswers reads damaged answers and files.
func FuzzAnswers(f *testing.F) {
	f.Add(append(answer(0, "ffffffff810be3a5  k  a+0x0  [FTRACE]\n"), answer(-22, "x")...))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = decode(b, []command{show("/a"), show("/b")})
		_, _ = listed(b), loaded(b)
		for _, p := range []probe{{name: "a", line: true}, {name: "a"}, {name: "a", perf: true}} {
			_, _ = p.read(b)
		}
	})
}

// TestWhatCommandsSay holds how a command is ordered, how it ended, and what is said of one that failed.
func TestWhatCommandsSay(t *testing.T) {
	order := (&Command{Args: []string{"/bin/a", "b"}, Env: []string{"X=1"}, Folder: "tmp", Warm: 3}).encode()
	require.Equal(t, string(order.data), "\x03\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00/bin/a\x00b\x00X=1\x00/tmp\x00", "the order")
	require.That(t, order.kind == runCommand && order.what == "run /bin/a", "it is %v, %q", order.kind, order.what)
	for status, want := range map[Status]string{9: "the command was killed by signal 9", 0x300: "the command ended with exit status 3", 0xff00: "the command ended with exit status 255"} {
		require.Error(t, status.Err(), want, "status %#x", int(status))
	}
	require.NoError(t, (&Outcome{Output: []byte("fine")}).Err())
	failed := &Outcome{Status: 4, Refused: []cpus.Refusal{{Name: "vmcall", PC: 0x1234}}, Output: []byte("begin" + strings.Repeat("x", 1999) + "\n")}
	require.Equal(t, failed.Err().Error(), "the command was killed by signal 4, which has executed vmcall at 0x1234, an instruction that is not modelled; it has printed:\n"+
		strings.Repeat("x", 1999)+"\n", "a command that failed")
}

// TestRefusalsOfPrograms leaves out what a kernel asked for.
func TestRefusalsOfPrograms(t *testing.T) {
	all := []cpus.Refusal{{Name: "a", PC: 0xbfffffff}, {Name: "b", PC: 0xc0000000}, {Name: "rdmsr of 0x1", PC: 0x1000}, {Name: "c", PC: 1<<47 - 1}, {Name: "d", PC: 1 << 47}}
	for bits, want := range map[int]string{32: "a", 64: "abc"} {
		var got string
		for _, r := range ofPrograms(all, bits) {
			got += r.Name
		}
		require.Equal(t, got, want, "refused by programs of %d bits", bits)
	}
}

// TestFilled refuses a ring buffer with less than a page left, because no program reads it.
func TestFilled(t *testing.T) {
	ring := attaching.Ring{Name: "r", Size: 8192}
	at := func(n uint64) func() (uint64, error) { return func() (uint64, error) { return n, nil } }
	require.NoError(t, filled(ring, at(4096)))
	require.Error(t, filled(ring, at(4097)), "the ring buffer r has 8192 bytes, and 4097 of them are full", "a full ring buffer")
	require.Error(t, filled(ring, func() (uint64, error) { return 0, errNoMark }), errNoMark.Error(), "one that cannot be read")
}

// TestShares adds up the times of CPUs and of arming.
func TestShares(t *testing.T) {
	s := Share{Slept: 30}
	s.Counters.Time[cpus.NoException][0], s.Counters.Time[cpus.Interrupted][0], s.Counters.Time[cpus.Interrupted][1] = 100, 5, 7
	require.That(t, s.Interrupted() == 12 && s.Work() == 70, "%d interrupted, %d of work", s.Interrupted(), s.Work())
	a := Arming{Ticks: 1, Interrupted: 2, Interrupts: 3}
	a.add(&Arming{Ticks: 10, Interrupted: 20, Interrupts: 30})
	require.Equal(t, a, Arming{Ticks: 11, Interrupted: 22, Interrupts: 33}, "both")
}
