package gdb

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/gdb/protocol"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/targets"
)

// result holds the times, counters and sum of a run.
type result struct {
	now      []clock.Ticks
	counters []cpus.Counters
	sum      uint64
}

// calls is how often a run calls bench_target.
const calls = 2000

// bench returns a run of a guest kernel with two CPUs and ticks that calls bench_target again and again, the address of that
// function, and where the last run leaves its result.
func bench(tb testing.TB, name string) (Run, image.Func, *result) {
	tb.Helper()
	im := require.Must(targets.LoadImage(name))(tb)
	_, target, ok := targets.Image(targets.List(), name)
	require.Need(tb, ok, "no image %s", name)
	fn, _ := im.Func("bench_target")
	var last result
	run := func(_ clock.Ticks, attach Attach) error {
		last = result{}
		var sys *targets.System
		cfg := targets.Config{Machine: sim.Config{CPU: cpustest.Config(target.ISA), CPUs: 2, Image: im, RAM: 16 << 20, Attach: func(m *sim.Machine) func(error) {
			return attach(m, sys.Probes.List)
		}}}
		cfg.Kernel.HZ, cfg.Kernel.Tick = 1000, true
		var err error
		if sys, err = target.Build(cfg); err != nil {
			return err
		}
		err = sys.Run(func(c *sim.Call) error {
			err := sys.Kernel.Online(c)
			if err == nil {
				last.sum, err = c.InvokeSym("bench_loop", fn.Pointer, calls, 1, 2)
			}
			return err
		})
		for i := range sys.Machine.CPUs() {
			last.now = append(last.now, sys.Machine.CPU(i).Now())
			last.counters = append(last.counters, *sys.Machine.CPU(i).Counters())
		}
		return err
	}
	return run, fn, &last
}

// images has a kernel of each instruction set.
var images = []string{"x86_64-2010", "i386-2010", "ppc64-2010", "arm-2010"}

// alone attaches nothing.
func alone(*sim.Machine, func() (string, error)) func(error) { return func(error) {} }

// client is the other side of a session.
type client struct {
	tb   testing.TB
	raw  net.Conn
	conn *protocol.Conn
	over chan error
}

// serve begins a session about a run.
func serve(tb testing.TB, run Run, toEnd bool) *client {
	tb.Helper()
	here, there := net.Pipe()
	tb.Cleanup(func() { _ = here.Close() })
	c := &client{tb, here, protocol.New(here), make(chan error, 1)}
	go func() { c.over <- Serve(there, run, &bytes.Buffer{}, toEnd) }()
	c.want("QStartNoAckMode", "OK")
	c.conn.Quiet()
	return c
}

// ask sends a packet and returns the reply, behind lines that are only printed.
func (c *client) ask(packet string) string {
	c.tb.Helper()
	require.NoError(c.tb, c.conn.Send(packet))
	for {
		p := require.Must(c.conn.Receive())(c.tb)
		if len(p) < 3 || p[0] != 'O' || string(p) == "OK" {
			return string(p)
		}
	}
}

// want holds the reply to a packet against a regular expression.
func (c *client) want(packet, reply string) {
	c.tb.Helper()
	if got := c.ask(packet); !regexp.MustCompile("^(" + reply + ")$").MatchString(got) {
		c.tb.Fatalf("%s: %s, want %s", packet, got, reply)
	}
}

// monitor returns what a command prints.
func (c *client) monitor(command string) string {
	c.tb.Helper()
	b := require.Must(hex.DecodeString(c.ask("qRcmd," + hex.EncodeToString([]byte(command)))))(c.tb)
	return string(b)
}

// TestTimesStay holds that a run with breakpoints, steps and a watchpoint takes the times, and counts the events, of one
// without a debugger.
func TestTimesStay(t *testing.T) {
	for _, name := range images {
		t.Run(name, func(t *testing.T) {
			run, fn, last := bench(t, name)
			require.NoError(t, run(0, alone))
			plain := *last
			c := serve(t, run, false)
			c.want(fmt.Sprintf("Z0,%x,4", fn.Entry), "OK")
			for range 5 {
				c.want("vCont;c", "T05thread:.;swbreak:;")
				c.want("s", "T05thread:.;")
			}
			c.monitor("phases")
			c.want(fmt.Sprintf("z0,%x,4", fn.Entry), "OK")
			c.want(fmt.Sprintf("Z2,%x,8", fn.Entry&^7), "OK") // nobody writes there
			c.want("D", "OK")
			require.NoError(t, <-c.over)
			require.That(t, slices.Equal(last.now, plain.now) && last.sum == plain.sum && slices.Equal(last.counters, plain.counters), "with a debugger %v, without one %v", *last, plain)
		})
	}
}

// TestBackwards holds that steps back show the states that steps forward have shown, in the opposite order.
func TestBackwards(t *testing.T) {
	for _, name := range images {
		t.Run(name, func(t *testing.T) {
			run, fn, _ := bench(t, name)
			c := serve(t, run, false)
			begin := c.monitor("cycles")
			c.want(fmt.Sprintf("Z0,%x,4", fn.Entry), "OK")
			c.want("vCont;c", "T05thread:.;swbreak:;")
			first := c.monitor("cycles")
			c.want("bs", "T05thread:.;") // nothing was looked at on the way
			c.want("s", "T05thread:.;swbreak:;")
			c.want("vCont;c", "T05thread:.;swbreak:;")
			second := c.monitor("cycles")
			c.want(fmt.Sprintf("z0,%x,4", fn.Entry), "OK")
			var seen []string
			state := func() string { return c.ask("g") + c.monitor("cycles") + c.monitor("caches") }
			for range 12 {
				seen = append(seen, state())
				c.want("s", "T05thread:.;")
			}
			for i := range seen {
				c.want("bs", "T05thread:.;")
				if want := seen[len(seen)-1-i]; state() != want {
					t.Fatalf("%d steps back: %s, want %s", i+1, c.monitor("cycles"), want)
				}
			}
			c.want(fmt.Sprintf("Z0,%x,4", fn.Entry), "OK")
			c.want("s", "T05thread:.;")
			c.want("bc", "T05thread:.;swbreak:;")
			require.Equal(t, c.monitor("cycles"), second, "back at the second call")
			c.want("bc", "T05thread:.;swbreak:;")
			require.Equal(t, c.monitor("cycles"), first, "back at the first call")
			c.want("bc", "T05thread:1;replaylog:begin;")
			require.Equal(t, c.monitor("cycles"), begin, "at the beginning")
			c.want("bs", "T05thread:1;replaylog:begin;")
		})
	}
}

// TestEnd holds that a run is looked at at its end, and backwards from there.
func TestEnd(t *testing.T) {
	run, fn, _ := bench(t, "x86_64-2010")
	c := serve(t, run, true)
	c.want("?", "T05thread:.;replaylog:end;")
	end := c.monitor("cycles")
	c.want(fmt.Sprintf("Z0,%x,1", fn.Entry), "OK")
	c.want("bc", "T05thread:.;swbreak:;")
	c.want(fmt.Sprintf("z0,%x,1", fn.Entry), "OK")
	c.want("vCont;c", "T05thread:.;replaylog:end;")
	require.Equal(t, c.monitor("cycles"), end, "at the end")
	c.want("vCont;c", "W00")
	require.NoError(t, <-c.over)
}

// TestReads holds registers, memory and threads against the machine's program.
func TestReads(t *testing.T) {
	run, fn, _ := bench(t, "ppc64-2010")
	c := serve(t, run, false)
	c.want(fmt.Sprintf("Z1,%x,4", fn.Entry), "OK")
	c.want("c", "T05thread:.;swbreak:;")
	c.want("p20", fmt.Sprintf("%016x", fn.Entry)) // pc
	c.want("p3", "0{15}1")
	c.want("p26", "x{16}") // f0
	c.want("qfThreadInfo", "m1,2")
	c.want("qThreadExtraInfo,2", hex.EncodeToString([]byte("cpu 1")))
	c.want("qXfer:features:read:target.xml:0,10", "m<.*")
	c.want("M"+fmt.Sprintf("%x", fn.Entry)+",4:60000000", "OK")
	c.want(fmt.Sprintf("m%x,4", fn.Entry), "60000000")
	c.want(fmt.Sprintf("m%x,1", uint64(1)<<63), "E0e")
	c.want(fmt.Sprintf("m%x,0", uint64(1)<<63), "")
	require.NoError(t, c.conn.Send("k")) // it has no reply
	require.NoError(t, <-c.over)
}

// unconnected returns a session that stands at the beginning and is asked without a connection, and a function of its guest.
func unconnected(tb testing.TB) (*session, image.Func) {
	tb.Helper()
	run, fn, _ := bench(tb, "x86_64-2010")
	return sessionOf(tb, run), fn
}

// sessionOf returns a session about a run that stands at the beginning and is asked without a connection.
func sessionOf(tb testing.TB, run Run) *session {
	tb.Helper()
	s := &session{conn: protocol.New(&bytes.Buffer{}), player: &player{run: run, breaks: map[uint64]bool{}}, log: &bytes.Buffer{}}
	require.NoError(tb, s.begin(false))
	tb.Cleanup(func() { s.player.kill() })
	return s
}

// ask returns the reply to a packet.
func (s *session) ask(packet string) string {
	reply, _ := s.answer([]byte(packet))
	return reply
}

// TestReplies holds replies that a session through a connection seldom sees: gdb interrupts once, reads its description in one
// piece, writes beyond the last page and is told of a defect.
func TestReplies(t *testing.T) {
	s, fn := unconnected(t)
	end := fn.Entry &^ (pageBytes - 1)
	for mapped := true; mapped; _, mapped = s.player.inst.m.CPU(0).Translate(end) {
		end += pageBytes
	}
	s.player.inst.wanted.Store(true)
	for _, x := range [][2]string{
		{"vCont;c", "T02thread:1;"},
		{"qXfer:features:read:target.xml:0,ffff", "l" + describe(&s.player.inst.m.ISA().GDB)},
		{fmt.Sprintf("M%x,8:0102030405060708", end-4), fmt.Sprintf("E.no memory at %#x", end)},
		{fmt.Sprintf("M%x,1:01", end-4), "OK"},
		{"vCont;t:1;s:1", "T05thread:1;"},
		{"vCont;c", "T05thread:1;replaylog:end;"},
	} {
		got, _ := s.answer([]byte(x[0]))
		require.That(t, got == x[1], "%s: %s, want %s", x[0], got, x[1])
	}
	digits := 0
	for _, f := range s.player.inst.m.ISA().GDB.Features {
		for _, r := range f.Registers {
			digits += r.Bits / 4
		}
	}
	got, _ := s.answer([]byte("g"))
	require.Equal(t, len(got), digits, "digits of all registers, also of those that are not told")
	said := s.log.(*bytes.Buffer).String()
	require.That(t, strings.Count(said, "has written to memory") == 1, "of two writes the log says %q", said)
	broken := func(int, bool) (stop, error) { return stop{}, errDiffers }
	got, _ = s.resume(broken, 0, false)
	require.That(t, got == "E."+errDiffers.Error(), "a run that fails: %s", got)
}

// TestRepliesOfTheManual holds what is said of the session itself, and of threads, at the beginning.
func TestRepliesOfTheManual(t *testing.T) {
	s, fn := unconnected(t)
	for _, x := range [][2]string{
		{"?", "T05thread:1;"},
		{"qSupported:x", "PacketSize=fff0;qXfer:features:read+;QStartNoAckMode+;swbreak+;vContSupported+;ReverseStep+;ReverseContinue+"},
		{"QStartNoAckMode", "OK"},
		{"qAttached", "1"},
		{"qsThreadInfo", "l"},
		{"qSymbol::", "OK"},
		{"vCont?", "vCont;c;C;s;S"},
		{"qOther", ""},
		{"vOther", ""},
		{"y", ""},
		{"b", ""},
		{"qC", "QC1"},
		{"Hg2", "OK"},
		{"qC", "QC2"},
		{"Hg0", "OK"},
		{"qC", "QC2"},
		{"Hg-1", "OK"},
		{"Hc1", "OK"},
		{"qC", "QC2"},
		{"Hg1", "OK"},
		{"qC", "QC1"},
		{"Hg3", `E.no thread "3": CPUs are threads from 1 to 2`},
		{"T1", "OK"},
		{"T2", "OK"},
		{"T3", `E.no thread "3": CPUs are threads from 1 to 2`},
		{"T-2", `E.no thread "-2": CPUs are threads from 1 to 2`},
		{"qThreadExtraInfo,9", `E.no thread "9": CPUs are threads from 1 to 2`},
		{"qThreadExtraInfo,1", hex.EncodeToString([]byte("cpu 0"))},
		{"qXfer:features:read:other.xml:0,10", ""},
		{"qXfer:features:read:target.xml:ffff,10", "l"},
		{"qXfer:features:read:target.xml:2,3", "mxml"},
		{"qXfer:features:read:target.xml:2", `E."2": want two numbers`},
		{"G00", "E." + notWritten},
		{"vCont;s:7", `E.no thread "7": CPUs are threads from 1 to 2`},
		{"Z2,10,0", "E.0 bytes at 0x10 cannot be watched"},
		{"Z2,ffffffffffffffff,2", "E.2 bytes at 0xffffffffffffffff cannot be watched"},
		{"Z2,10,1", "OK"},
		{fmt.Sprintf("X%x,2:ab", fn.Entry), "OK"},
		{fmt.Sprintf("m%x,2", fn.Entry), "6162"},
	} {
		got, silent := s.answer([]byte(x[0]))
		require.That(t, got == x[1] && !silent, "%s: %s, want %s", x[0], got, x[1])
	}
	for packet, ending := range map[string]error{"D": errDetached, "k": errKill, "vKill;1": errKill} {
		_, silent := s.answer([]byte(packet))
		require.That(t, errors.Is(s.ending, ending) && silent == (packet == "k"), "%s ends the session with %v", packet, s.ending)
	}
}

// TestDescription reads what gdb is told of the registers of each instruction set.
func TestDescription(t *testing.T) {
	for _, target := range targets.List() {
		isa := &target.ISA.GDB
		var read struct {
			Architecture string `xml:"architecture"`
			Features     []struct {
				Name string `xml:"name,attr"`
				Regs []struct {
					Name   string `xml:"name,attr"`
					Bits   int    `xml:"bitsize,attr"`
					Type   string `xml:"type,attr"`
					Number int    `xml:"regnum,attr"`
				} `xml:"reg"`
			} `xml:"feature"`
		}
		require.NoError(t, xml.Unmarshal([]byte(describe(isa)), &read))
		require.That(t, read.Architecture == isa.Arch && len(read.Features) == len(isa.Features), "%s: %+v", target.Name, read)
		for i, f := range isa.Features {
			got := read.Features[i]
			require.Need(t, got.Name == f.Name && len(got.Regs) == len(f.Registers), "%s: %+v, want %+v", target.Name, got, f)
			for j, r := range f.Registers {
				require.That(t, got.Regs[j].Name == r.Name && got.Regs[j].Bits == r.Bits && got.Regs[j].Type == r.Type && got.Regs[j].Number == max(r.Number, 0), "%s: %+v, want %+v", target.Name, got.Regs[j], r)
			}
		}
	}
}

// TestMonitor prints what each command is to, and the list of commands for others.
func TestMonitor(t *testing.T) {
	s, _ := unconnected(t)
	for command, want := range map[string]string{
		"cycles": `(cpu [01]: [0-9]+\.[0-9]{2} cycles, [0-9]+ instructions, at \S+\n){2}`,
		"caches": `(cpu [01]: misses l1i \d+, l1d \d+, l2 \d+, itlb \d+, dtlb \d+; mispredicted \d+ of \d+ branches; lines from other CPUs \d+, taken \d+\n){2}`,
		"phases": `(\S+ +[0-9]+\.[0-9]{2} cycles +[0-9]+ instructions\n)*`,
		"probes": "no probe is registered\n", "help": regexp.QuoteMeta(monitorHelp), "": regexp.QuoteMeta(monitorHelp),
		" cycles ": `cpu 0: (.|\n)*`, "other": "no command \"other\"; known are:\n" + regexp.QuoteMeta(monitorHelp),
	} {
		got, err := hex.DecodeString(s.monitor(hex.EncodeToString([]byte(command))))
		require.That(t, err == nil && regexp.MustCompile("^"+want+"$").Match(got), "monitor %s prints %q, %v", command, got, err)
	}
	require.Equal(t, s.monitor("6"), "E.a command that is no text", "half a byte")
	s.player.inst.probes = nil
	got, _ := hex.DecodeString(s.monitor(hex.EncodeToString([]byte("probes"))))
	require.That(t, strings.HasSuffix(string(got), "it is a packaged one\n"), "a packaged kernel's probes: %q", got)
}

// TestWatchpoints stops at accesses of each kind to a return address: the return reads it, and the next call writes it. What is
// taken out stops nothing.
func TestWatchpoints(t *testing.T) {
	s, fn := unconnected(t)
	ask := s.ask
	ask(fmt.Sprintf("Z0,%x,1", fn.Entry))
	require.Equal(t, ask("vCont;c"), "T05thread:1;swbreak:;", "the call")
	require.Equal(t, instructions(s.phases()), instructions(s.cycles()), "instructions of all phases, and of all CPUs")
	ask(fmt.Sprintf("z0,%x,1", fn.Entry))
	sp := binary.LittleEndian.Uint64(require.Must(hex.DecodeString(ask("p7")))(t))
	for _, typ := range []string{"3", "2", "4", "3"} {
		at := fmt.Sprintf("%s,%x,8", typ, sp)
		require.Equal(t, ask("Z"+at), "OK", "a watchpoint")
		require.Equal(t, ask("vCont;c"), fmt.Sprintf("T05thread:1;%s:%x;", map[string]string{"2": "watch", "3": "rwatch", "4": "awatch"}[typ], sp), "an access")
		require.Equal(t, ask("z"+at), "OK", "it is taken out")
	}
	require.Equal(t, ask("vCont;c"), "T05thread:1;replaylog:end;", "nobody watches")
}

// instructions adds up what lines say of instructions.
func instructions(text string) (sum int) {
	for _, m := range regexp.MustCompile(`(-?\d+) instructions`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		sum += n
	}
	return sum
}

// TestTake holds that a state is not kept shortly after the beginning or beside another one, and that others may ask afterwards.
func TestTake(t *testing.T) {
	run, _, _ := bench(t, "arm-2010")
	c := Checkpoints{Every: clock.FromCycles(1e9)}
	require.NoError(t, run(0, func(m *sim.Machine, _ func() (string, error)) func(error) {
		require.NoError(t, c.Take(m))
		return func(error) {
			for _, beside := range []clock.Ticks{-1, 1} {
				now := latest(m)
				late := Checkpoints{Every: now / 2, list: []checkpoint{{at: now + beside}}}
				err := late.Take(m)
				require.That(t, err == nil && len(late.list) == 1, "%d beside another state: %d states, %v", beside, len(late.list), err)
			}
			far := Checkpoints{Every: latest(m) / 2, list: []checkpoint{{at: latest(m) + latest(m)/2}}}
			require.Error(t, far.Take(m), "cannot be kept", "as far from another state as two are")
		}
	}))
	require.That(t, c.mu.TryLock() && len(c.list) <= 0, "%d states, or the list is locked", len(c.list))
}

// TestInsert drops the state with the narrowest gap for its distance from the present, the older one of two, and never the present one.
func TestInsert(t *testing.T) {
	for _, x := range []struct{ now, lacks, want clock.Ticks }{{90, 90, 10}, {10, 10, 80}, {45, 50, 10}} {
		now, want := x.now, x.want
		c := Checkpoints{Every: 10}
		for at := clock.Ticks(10); at <= 10*(mostCheckpoints+1); at += 10 {
			if at != x.lacks {
				c.insert(len(c.list), checkpoint{at: at})
			}
		}
		require.Equal(t, len(c.list), mostCheckpoints, "states")
		place := slices.IndexFunc(c.list, func(x checkpoint) bool { return x.at > now })
		if place < 0 {
			place = len(c.list)
		}
		c.insert(place, checkpoint{at: now})
		sorted := slices.IsSortedFunc(c.list, func(a, b checkpoint) int { return cmp.Compare(a.at, b.at) })
		require.That(t, sorted && len(c.list) == mostCheckpoints && !slices.ContainsFunc(c.list, func(x checkpoint) bool { return x.at == want }), "at %d: %v, want all but %d", now, c.list, want)
	}
}

// FuzzPackets holds that a packet of any bytes gets a reply and is no end of the program. Packets that run the machine are
// left out, since each of them runs it to its end.
func FuzzPackets(f *testing.F) {
	for _, s := range []string{
		"?", "g", "p0", "pffffffffffff", "P0=1", "m0,8", "mffffffffffffffff,ffffffffffffffff", "M0,1:00", "X0,1:a", "Z0,0,0", "Z2,ffffffffffffffff,2",
		"Z9,1,1", "z4,1", "Hg7", "Hg-1", "T3", "bx", "vCont;t", "vCont?", "qRcmd,6", "qRcmd,70726f626573", "qSupported:x", "qXfer:features:read:target.xml:ffffffffffffffff,1",
		"qXfer:features:read:target.xml:1,ffffffffffffffff", "qThreadExtraInfo,", "qC", "Q", "v", "\x00", "_M1",
	} {
		f.Add([]byte(s))
	}
	s, _ := unconnected(f)
	f.Fuzz(func(t *testing.T, p []byte) {
		text := string(p)
		if text == "bs" || text == "bc" || strings.HasPrefix(text, "vCont") || text != "" && strings.Contains("cCsS", text[:1]) {
			return
		}
		reply, silent := s.answer(p)
		require.That(t, len(reply) <= protocol.MaxPacket && (!silent || text[0] == 'k'), "%q: a reply of %d bytes, none at all is %t", p, len(reply), silent)
		require.That(t, s.ending == nil || errors.Is(s.ending, errDetached) || errors.Is(s.ending, errKill), "%q ends the session: %v", p, s.ending)
		s.ending = nil
	})
}
