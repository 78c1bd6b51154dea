package races

import (
	"encoding/binary"
	"strings"
	"testing"
)

// A function of five instructions: push, mov, lea, add, ret, as compiled for a small function.
var toyCode = []byte{
	0x55,
	0x48, 0x89, 0xe5,
	0x48, 0x8d, 0x44, 0x37, 0x11,
	0x48, 0x01, 0xf0,
	0xc3,
}

// toyLengths are those of its instructions.
func toyLength(code []byte, pc uint64) int {
	return map[uint64]int{toyAt: 1, toyAt + 1: 3, toyAt + 4: 5, toyAt + 9: 3, toyAt + 12: 1}[pc]
}

const (
	toyAt  = 0x1000
	detour = 0x9000
)

func toyText() *text { return newText("toy", toyAt, toyCode, toyLength) }

// toyJump is a jump from the function to an address.
func toyJump(to uint64) []byte {
	return binary.LittleEndian.AppendUint32([]byte{opJump}, uint32(to-toyAt-jumpSize))
}

// toyMachine stores into the text and executes it as CPUs do.
type toyMachine struct {
	t     *text
	bytes []byte
	syncs [3]uint64
	seq   int
}

func newToy() *toyMachine {
	m := &toyMachine{t: toyText()}
	m.bytes = append(m.bytes, toyCode...)
	return m
}

func (m *toyMachine) store(cpu, at int, b ...byte) {
	for i, v := range b {
		m.bytes[at+i] = v
		m.seq++
		m.t.stored(m.bytes, cpu, m.seq, func() []uint64 { return append([]uint64(nil), m.syncs[:]...) })
	}
}

func (m *toyMachine) sync() {
	for i := range m.syncs {
		m.syncs[i]++
	}
}

// run judges the instruction of n bytes that a CPU executes.
func (m *toyMachine) run(cpu, at, n int) (Kind, string) {
	pc := uint64(toyAt + at)
	k, why := m.t.check(pc, m.bytes[at:at+n], at == 0, func(to uint64) bool { return to == detour })
	if k != "" {
		return k, why
	}
	if why = m.t.unsynced(pc, func(c *change) bool { return c.cpu != cpu && c.syncs[cpu] == m.syncs[cpu] },
		func(a uint64) bool { return a == toyAt || a == toyAt+4 }); why != "" {
		return Unsynced, why
	}
	return "", ""
}

func (m *toyMachine) expect(t *testing.T, what string, want, got Kind, why string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q (%s), want %q", what, got, why, want)
	}
}

func TestOriginalAndPatchedInstructionsMayRun(t *testing.T) {
	m := newToy()
	for _, x := range [][2]int{{0, 1}, {1, 3}, {4, 5}, {9, 3}, {12, 1}} {
		k, why := m.run(1, x[0], x[1])
		m.expect(t, "as compiled", "", k, why)
	}
	m.store(0, 0, opBreak)
	k, why := m.run(1, 0, 1)
	m.expect(t, "a breakpoint that another CPU has stored", "", k, why)
	k, why = m.run(1, 1, 3)
	m.expect(t, "the instruction behind it", "", k, why)
	m.sync()
	m.store(0, 1, toyJump(detour)[1:]...)
	m.sync()
	m.store(0, 0, opJump)
	m.sync()
	k, why = m.run(1, 0, 5)
	m.expect(t, "the jump, patched step by step", "", k, why)
	k, why = m.run(1, 9, 3)
	m.expect(t, "behind the jump", "", k, why)
}

func TestTornInstructions(t *testing.T) {
	m := newToy()
	m.store(0, 0, toyJump(detour)[:3]...)
	k, why := m.run(1, 0, 5)
	m.expect(t, "half a jump", Torn, k, why)
	m.store(0, 0, toyJump(detour+4)...)
	k, why = m.run(0, 0, 5)
	m.expect(t, "a jump to where no buffer starts", Torn, k, why)
	m = newToy()
	m.store(0, 9, opBreak)
	k, why = m.run(1, 9, 1)
	m.expect(t, "a breakpoint where no probe is", Torn, k, why)
}

func TestInsideARegion(t *testing.T) {
	m := newToy()
	m.store(0, 0, toyJump(detour)...)
	m.sync()
	k, why := m.run(1, 1, 3)
	m.expect(t, "the second instruction under a jump", Inside, k, why)
	if !strings.Contains(why, "toy+0x1") || !strings.Contains(why, "toy+0") {
		t.Errorf("it says %q, without the places", why)
	}
	m = newToy()
	m.store(0, 0, opBreak)
	m.store(0, 1, toyJump(detour)[1:]...)
	m.sync()
	k, why = m.run(1, 1, 3)
	m.expect(t, "the second instruction behind a breakpoint, when the tail is stored", Inside, k, why)
}

// TestEachSyncMatters leaves one synchronization of the breakpoint protocol out at a time.
func TestEachSyncMatters(t *testing.T) {
	for skip := range 4 {
		var bad Kind
		m := newToy()
		run := func() {
			if k, _ := m.run(1, 0, map[byte]int{opBreak: 1, opJump: 5}[m.bytes[0]]); k != "" && bad == "" {
				bad = k
			}
		}
		for i, store := range []func(){
			func() { m.store(0, 0, opBreak) },
			func() { m.store(0, 1, toyJump(detour)[1:]...) },
			func() { m.store(0, 0, opJump) },
		} {
			store()
			run()
			if i+1 != skip {
				m.sync()
			}
		}
		m.t.promise(toyAt)
		run()
		want := Unsynced
		if skip == 0 {
			want = ""
		}
		if bad != want {
			t.Errorf("without synchronization %d: %q, want %q", skip, bad, want)
		}
	}
}

// TestProbeInsideARegion stores the breakpoint of another probe behind the first one.
func TestProbeInsideARegion(t *testing.T) {
	m := newToy()
	m.store(0, 4, opBreak)
	k, why := m.run(1, 1, 3)
	m.expect(t, "the instruction in front of a breakpoint that may not be seen", "", k, why)
	m.store(0, 0, opBreak)
	k, why = m.run(1, 0, 1)
	m.expect(t, "two breakpoints that may not be seen", "", k, why)
	m.store(0, 2, 0x90)
	k, why = m.run(1, 0, 1)
	m.expect(t, "a byte inside an instruction behind them", Unsynced, k, why)
	m.sync()
	k, why = m.run(1, 0, 1)
	m.expect(t, "the same when everybody knows", "", k, why)
}

func TestVanishedText(t *testing.T) {
	m := newToy()
	m.t.gone = true
	k, why := m.run(1, 9, 3)
	m.expect(t, "unloaded text", Stale, k, why)
}

func TestPieces(t *testing.T) {
	p := &pieces{name: "slot"}
	var v visit
	check := func(what string, pc uint64, want Kind) {
		t.Helper()
		if k, why := p.check(pc, &v); k != want {
			t.Errorf("%s: %q (%s), want %q", what, k, why, want)
		}
	}
	check("never taken", 0x9000, Stale)
	p.taken(0x9010)
	p.taken(0x9000)
	check("at its start", 0x9000, "")
	check("further on", 0x9004, "")
	check("the next one", 0x9012, "")
	p.freed(0x9010)
	check("freed", 0x9013, Stale)
	p.taken(0x9010)
	check("freed and taken again, by who was in it", 0x9014, Stale)
	check("entered anew", 0x9010, "")
	check("and gone on", 0x9014, "")
	if p.live(0x9004) || !p.live(0x9010) {
		t.Error("live pieces are those that start at the address")
	}
}
