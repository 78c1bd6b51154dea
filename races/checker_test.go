package races

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/sim"
)

// TestStoresAreCounted counts each change of text once, which a search by plans asks for.
func TestStoresAreCounted(t *testing.T) {
	g := newToyGuest()
	for n := range uint64(3) {
		g.bytes[0] += uint8(n)
		g.compare(1)
		g.compare(0)
		require.Equal(t, g.changes.stores, n, "changes of text")
	}
}

// TestStatesAreCounted counts changes of what is known of probes.
func TestStatesAreCounted(t *testing.T) {
	g := newToyGuest()
	g.calls.changed = &g.changes.probes
	for n := range uint64(3) {
		require.Equal(t, g.changes.probes, n, "changes of probes")
		g.calls.set(0, on)
	}
}

// TestStepsThatAreClosed has no breakpoint come back where nothing is stepped.
func TestStepsThatAreClosed(t *testing.T) {
	c := &checker{steps: steps{open: func() bool { return false }, place: func() uint64 { return 0x1000 }, back: true, ended: map[uint64]change{}}}
	for range 2 {
		c.stepped(0)
		require.That(t, !c.steps.back && len(c.steps.ended) == 0, "a step that is not open: %+v", c.steps)
	}
}

// Places of a toy guest: the function toy with two probes at its start, their handlers, and what
// callers call in the end. A third probe stands in the handler of the first one.
const (
	toyHandler  = toyAt + 0x100
	toyHandler2 = toyAt + 0x110
	toyReturned = toyAt + 0x120
	toyStores   = toyAt + 0x130
	toyHandler3 = toyAt + 0x140
	toyResult   = 42
)

// toyGuest is a machine whose memory is an array, and a reporter that notes what was found.
type toyGuest struct {
	*checker
	bytes  []byte
	result uint64
	syncs  []uint64
	kinds  []Kind
}

func (g *toyGuest) Text(addr uint64, n int) []byte { return g.bytes[addr-toyAt:][:n] }

func (g *toyGuest) TextIs(addr uint64, want []byte) bool {
	return bytes.HasPrefix(g.bytes[addr-toyAt:], want)
}

func (g *toyGuest) Arg(int, int) uint64 { return g.result }

func (g *toyGuest) Syncs() []uint64 { return slices.Clone(g.syncs) }

func (g *toyGuest) found(k Kind, _ int, _ uint64, text string) {
	if text == "" {
		k += " without a word"
	}
	g.kinds = append(g.kinds, k)
}

func (g *toyGuest) passed(int, bool) {}

func newToyGuest() *toyGuest {
	g := &toyGuest{bytes: make([]byte, 0x200), result: toyResult, syncs: make([]uint64, 2)}
	copy(g.bytes, toyCode)
	handler := []byte{0x10, 0x11}
	copy(g.bytes[toyHandler-toyAt:], handler)
	c := &checker{m: g, arch: toyArch(), report: g, code: newCodeMap(span{toyAt, toyAt + 0x200}), calls: newCalls(2)}
	g.checker = c
	c.calls.current = []uint64{1, 2}
	c.calls.results[toyAt] = toyResult
	c.calls.probes = []*probed{
		{name: "p", addr: toyAt, fn: toyAt, handler: toyHandler},
		{name: "q", addr: toyAt, fn: toyAt, handler: toyHandler2},
		{name: "n", addr: toyHandler, fn: toyHandler, handler: toyHandler3, nested: true},
	}
	r := &forms{arch: c.arch, probed: c.calls.probedAt, leads: c.leads}
	c.texts = []*text{newText("toy", toyAt, toyCode, r), newText("handler", toyHandler, handler, r)}
	c.texts[0].called = true
	c.code.mark(textCode, span{toyAt, toyAt + uint64(len(toyCode))})
	for _, h := range []uint64{toyHandler, toyHandler2, toyHandler3} {
		c.code.mark(handlerCode, span{h, h + 1})
	}
	c.code.mark(returnCode, span{toyReturned, toyReturned + 1})
	c.code.mark(storeCode, span{toyStores, toyStores + 1})
	c.code.mark(slotCode, span{0x9000, 0xa000})
	c.code.mark(detourCode, span{0xa000, 0xb000})
	return g
}

// run lets a CPU execute the instructions at some places.
func (g *toyGuest) run(cpu int, pcs ...uint64) {
	for _, pc := range pcs {
		s := &cpus.Step{CPU: cpu, PC: pc}
		if t := g.textAt(pc); t != nil {
			code := g.bytes[pc-toyAt:]
			s.Code = code[:max(g.arch.Classify(code, pc).Len, 1)]
		}
		g.Step(s)
	}
}

// cases reads a file of testdata, a case a line, and compares what happens in each with the outcome behind " => ".
func cases(t *testing.T, file string, happens func(commands [][]string) string) {
	t.Helper()
	b := require.Must(os.ReadFile(file))(t)
	for line := range strings.Lines(string(b)) {
		name, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " | ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		script, want, _ := strings.Cut(rest, " => ")
		var commands [][]string
		for c := range strings.SplitSeq(script, "; ") {
			commands = append(commands, strings.Fields(c))
		}
		require.Equal(t, happens(commands), want, "%s: found", name)
	}
}

// num reads a number of a case.
func num(t *testing.T, word string, base int) int {
	t.Helper()
	n, err := strconv.ParseInt(word, base, 64)
	if err != nil {
		t.Error(err)
	}
	return int(n)
}

// place is an address of a case: a name, and perhaps an offset.
func place(t *testing.T, word string) uint64 {
	t.Helper()
	name, off, found := strings.Cut(word, "+")
	at, ok := map[string]uint64{
		"toy": toyAt, "h": toyHandler, "h2": toyHandler2, "h3": toyHandler3, "returned": toyReturned, "stores": toyStores,
		"slot": 0x9010, "buffer": 0xa000,
	}[name]
	require.That(t, ok, "no place %s", name)
	if found {
		at += uint64(num(t, off, 10))
	}
	return at
}

// TestChecker lets CPUs do what testdata/checker.txt says.
func TestChecker(t *testing.T) {
	cases(t, "testdata/checker.txt", func(commands [][]string) string {
		g := newToyGuest()
		for i := range g.calls.probes {
			g.calls.set(i, on)
		}
		for _, c := range commands {
			g.command(t, c)
		}
		return strings.Trim(fmt.Sprint(g.kinds), "[]")
	})
}

func (g *toyGuest) command(t *testing.T, c []string) {
	probe := func() int { return strings.Index("pqn", c[1]) }
	switch c[0] {
	case "lazy":
		g.lazy = true
	case "unknown": // nothing is known of the probes
		for i := range g.calls.probes {
			g.calls.set(i, absent)
		}
	case "run":
		for _, at := range c[2:] {
			g.run(num(t, c[1], 10), place(t, at))
		}
	case "fault": // an instruction that could not be fetched
		g.Step(&cpus.Step{CPU: num(t, c[1], 10), PC: place(t, c[2])})
	case "watches":
		g.calls.probes[probe()].watch = true
	case "user":
		g.calls.probes[probe()].user = true
	case "elsewhere":
		g.calls.probes[probe()].fn = toyHandler
	case "learn":
		g.calls.learn = true
		clear(g.calls.results)
	case "counts":
		g.kinds = append(g.kinds, Kind(fmt.Sprintf("%d returns, %d hits, %d missed", g.calls.returns, g.calls.hits, g.calls.probes[2].missed)))
	case "set":
		g.calls.set(probe(), map[string]expected{"on": on, "off": off, "maybe": maybe, "absent": absent}[c[2]])
	case "told":
		g.calls.told(probe(), num(t, c[2], 10), g.Syncs())
	case "sync":
		g.syncs[num(t, c[1], 10)]++
	case "task":
		g.calls.current[num(t, c[1], 10)] = uint64(num(t, c[2], 10))
	case "result":
		g.result = uint64(num(t, c[1], 10))
	case "byte":
		g.bytes[place(t, c[1])-toyAt] = byte(num(t, c[2], 16))
	case "slot":
		g.event(sim.Event{Kind: kprobes.EventSlot, Name: c[1], Arg: place(t, "slot")})
	case "probe":
		g.event(sim.Event{Kind: kprobes.EventProbe, Name: c[1], Arg: toyAt})
	case "restored":
		g.restored()
	default:
		t.Errorf("no command %q", c)
	}
}

func TestCheckerSeesStores(t *testing.T) {
	g := newToyGuest()
	for _, at := range []uint64{1, toyHandler - toyAt + 1} {
		g.bytes[at] = 0x32
		_, ok := g.unseen()
		require.That(t, ok, "a store at %#x that nobody looked at is not noticed", at)
		g.run(0, toyStores)
		where, ok := g.unseen()
		require.That(t, !ok, "a store at %#x that was looked at counts as unseen in %s", at, where)
	}
}

// TestStepsOfUserMode has CPU 0 step the instruction of a probe of user mode in its place. The other CPU may execute the
// original while the breakpoint is away, and behind that until it synchronizes; the CPU that put it back may not.
func TestStepsOfUserMode(t *testing.T) {
	g := newToyGuest()
	g.lazy, g.texts[0].user, g.texts[0].called = true, true, false
	g.calls.probes = []*probed{{name: "u", addr: toyAt, fn: toyAt, user: true, state: on}}
	open, original := true, g.bytes[0]
	g.steps = steps{open: func() bool { return open }, place: func() uint64 { return toyAt }, ended: map[uint64]change{}}
	g.code.mark(stepCode, span{toyStores, toyStores + 1})
	g.run(1, toyAt)
	g.bytes[0] = g.arch.Breakpoint[0]
	g.run(0, toyStores, toyStores)
	open = false
	g.run(0, toyStores)
	g.bytes[0] = original // what the instruction cache of a CPU has
	g.run(1, toyAt)
	require.That(t, len(g.kinds) <= 0, "a CPU that did not synchronize since: %v", g.kinds)
	g.run(0, toyAt)
	g.syncs[1]++
	g.run(1, toyAt)
	require.That(t, slices.Equal(g.kinds, []Kind{Lost, Lost}), "the CPU that put the breakpoint back, and one that synchronized since: %v", g.kinds)
}
