package ppc64_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus/cpustest"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/kprobes/ppc64"
	"kprobesim/sim"
	"kprobesim/smp"
	"kprobesim/targets"
)

// Registers of a frame, and where in an allocation the memory is that accesses find: displacements lead 32 KiB both ways.
const (
	registers = 32
	operands  = 0x10000
	allocated = 0x20000
)

// TestEmulatesIsTheGuests has the emulator of each kernel do random instructions, and wants it to do those that the rule
// says. Registers hold an address or a small number by turns, so that accesses find memory.
func TestEmulatesIsTheGuests(t *testing.T) {
	for name, year := range map[string]int{"ppc64-2010": 2010, "ppc64-2011": 2011, "ppc64-2017": 2017} {
		t.Run(name, func(t *testing.T) {
			im := require.Must(targets.LoadImage(name))(t)
			target := targets.Find(targets.List(), "ppc64")
			s, err := target.Build(targets.Config{
				Machine: sim.Config{CPU: cpustest.Config(target.ISA), Image: im}, Kernel: smp.Options{HZ: 1000}, Probes: kprobes.Default(),
			})
			require.NoError(t, err)
			require.NoError(t, s.Run(func(c *sim.Call) error { return emulateMany(t, s.Machine, c, year) }))
		})
	}
}

func emulateMany(t *testing.T, m *sim.Machine, c *sim.Call, year int) error {
	const words = 20000
	r := rand.New(rand.NewPCG(1, uint64(year)))
	frame, err := m.Alloc(allocated, 16)
	if err != nil {
		return err
	}
	count := map[bool]int{}
	for range words {
		w := drawn(r)
		for i := range uint64(registers) {
			v := frame + operands
			if i > 1 && i%2 == 1 {
				v = 16 * i
			}
			if err := m.Store(frame+8*i, 8, v); err != nil {
				return err
			}
		}
		got, err := c.InvokeSym("emulate_displaced", frame, uint64(w))
		if err != nil {
			return err
		}
		want := ppc64.Arch().Emulates(year, binary.BigEndian.AppendUint32(nil, w))
		if count[want]++; (got != 0) != want {
			t.Errorf("the emulator says %d of %08x (opcode %d, %d), the rule %v", got, w, w>>26, w>>1&0x3ff, want)
		}
	}
	require.That(t, min(count[true], count[false]) >= words/100, "%d words are emulated and %d are not", count[true], count[false])
	return nil
}

// drawn is a word whose accesses to memory, if it makes some, find it: RA is an address, and RB of what is indexed a small
// number.
func drawn(r *rand.Rand) uint32 {
	opcode, rest := r.Uint32N(64), r.Uint32N(1<<26)
	switch r.IntN(4) {
	case 0:
		opcode = 31
	case 1:
		opcode = 19
	}
	w := opcode<<26 | rest
	ra := w >> 16 & 31 &^ 1
	if ra == 0 && r.IntN(2) == 0 {
		ra = 1
	}
	switch {
	case opcode == 31 && r.IntN(3) == 0: // known ones are few among all
		w = w&^0x7fe | known()[r.IntN(len(known()))]<<1
		if xo := w >> 1 & 0x3ff; xo == 339 || xo == 467 {
			return w&^0x1ff800 | []uint32{1, 8, 9, 26, 27}[r.IntN(5)]<<16
		}
		fallthrough
	case opcode == 31:
		w |= 3 << 11 // RB
	}
	updates := opcode >= 32 && opcode < 46 && opcode&1 == 1
	if ra == 0 && !updates {
		ra = 2
	}
	if opcode >= 31 {
		w = w&^(31<<16) | ra<<16
	}
	return w
}

// known are extended opcodes of opcode 31.
func known() []uint32 {
	return []uint32{
		0, 32, 19, 144, 83, 246, 278, 598, 854, 339, 467, 20, 84, 150, 214, 597, 725,
		8, 10, 40, 104, 136, 138, 200, 202, 232, 234, 266, 778, 9, 11, 73, 75, 233, 235, 457, 459, 489, 491,
		24, 27, 536, 539, 792, 794, 824, 826, 827, 26, 58, 922, 954, 986, 28, 60, 124, 284, 316, 412, 444, 476,
		21, 23, 53, 55, 87, 119, 149, 151, 181, 183, 215, 247, 279, 311, 341, 343, 373, 375, 407, 439, 534, 662, 790, 918,
	}
}
