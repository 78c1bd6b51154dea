package x86

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"kprobesim/cpus/cpustest"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// formats are all layouts of page tables, with the entries that a walk to a small page reads.
var formats = []struct {
	name    string
	format  pageFormat
	refs    int
	execute bool // cannot be forbidden
	base    uint64
}{
	{"long", longFormat(true, 52), 4, false, 0xffff880000000000},
	{"PAE", paeFormat(true, 52), 2, false, 0xc0000000},
	{"PAE without NX", paeFormat(false, 52), 2, true, 0xc0000000},
	{"two levels", legacyFormat(true), 2, true, 0xc0000000},
}

// tables builds a large mapping at base and a small one at 0x1000.
func tables(t *testing.T, f pageFormat, base uint64) (*mmu.Memory, uint64) {
	t.Helper()
	m := cpustest.Memory(t, 16<<20)
	root, err := f.build(m, 8<<20, []mmu.Mapping{
		{VA: base, Large: true, Writable: true},
		{VA: 0x1000, PA: 0x5000, Size: 0x3000, Exec: true},
	})
	require.NoError(t, err)
	return m, root
}

func TestWalk(t *testing.T) {
	for _, x := range formats {
		t.Run(x.name, func(t *testing.T) {
			m, root := tables(t, x.format, x.base)
			p, refs, f := x.format.walk(m, root, x.base+0x612345, access{write: true})
			require.That(t, f == nil && p.Offset(x.base+0x612345) == 0x612345 && refs.N == x.refs-1 && p.Allows(mmu.Exec) == x.execute && p.Dirty && p.Shift == x.format.large, "large page: %+v %+v %v", p, refs, f)
			p, refs, f = x.format.walk(m, root, 0x2abc, access{exec: true, protect: true})
			require.That(t, f == nil && p.Offset(0x2abc) == 0x6abc && refs.N == x.refs && p.Allows(mmu.Exec), "small page: %+v %+v %v", p, refs, f)
			for _, va := range []uint64{x.base + 0x612345, 0x2abc, 0x4000} {
				p, _, f := x.format.walk(m, root, va, access{})
				if pa, ok := x.format.peek(m, root, va); ok != (f == nil) || ok && pa != p.Offset(va) {
					t.Errorf("%#x: Peek gives %#x, %v; Walk %+v", va, pa, ok, p)
				}
			}
		})
	}
}

func TestWalkRights(t *testing.T) {
	for _, x := range formats {
		m, root := tables(t, x.format, x.base)
		for _, c := range []struct {
			va      uint64
			acc     access
			present bool
		}{
			{0x4000, access{}, false},
			{0x1000, access{write: true, protect: true}, true},
			{0x1000, access{user: true}, true},
			{x.base, access{exec: true}, true},
		} {
			_, _, f := x.format.walk(m, root, c.va, c.acc)
			if c.acc.exec && x.execute {
				if f != nil {
					t.Errorf("%s: execution is refused: %+v", x.name, f)
				}
				continue
			}
			if f == nil || f.present != c.present {
				t.Errorf("%s: %#x %+v: fault %+v", x.name, c.va, c.acc, f)
			}
		}
		_, _, f := x.format.walk(m, root, 0x1000, access{write: true})
		require.That(t, f == nil, "%s: a supervisor may write a read-only page while write protection is off", x.name)
	}
}

// TestUserPages has user mode reach what is mapped for it, with the rights of the page, and nothing beside it.
func TestUserPages(t *testing.T) {
	for _, x := range formats {
		m := cpustest.Memory(t, 16<<20)
		root, err := x.format.build(m, 8<<20, []mmu.Mapping{
			{VA: x.base, Large: true, Writable: true},
			{VA: 0x1000, PA: 0x5000, Size: 0x1000, Writable: true},
			{VA: 0x2000, PA: 0x6000, Size: 0x1800, Exec: true, User: true},
			{VA: 0x4000, PA: 0x9000, Size: 0x1000, Writable: true, User: true},
		})
		require.NoError(t, err)
		for _, c := range []struct {
			va  uint64
			acc access
			ok  bool
		}{
			{0x2000, access{exec: true}, true},
			{0x3fff, access{}, true},
			{0x2000, access{write: true}, false},
			{0x4000, access{write: true}, true},
			{0x4000, access{exec: true}, x.execute},
			{0x1000, access{}, false},
			{x.base, access{}, false},
			{0x5000, access{}, false},
		} {
			c.acc.user = true
			if _, _, f := x.format.walk(m, root, c.va, c.acc); (f == nil) != c.ok {
				t.Errorf("%s: %#x %+v: fault %+v", x.name, c.va, c.acc, f)
			}
		}
	}
}

// TestMappedTwice has a page refused that is there already, alone or as part of a large one.
func TestMappedTwice(t *testing.T) {
	for _, x := range formats {
		for _, va := range []uint64{x.base + 0x3000, 0x1000} {
			_, err := x.format.build(cpustest.Memory(t, 16<<20), 8<<20, []mmu.Mapping{
				{VA: x.base, Large: true},
				{VA: 0x1000, PA: 0x5000, Size: 0x1000},
				{VA: va, PA: 0x9000, Size: 0x1000, User: true},
			})
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("mapping of %#x: it ", va)) {
				t.Errorf("%s: error %v for a second mapping of %#x", x.name, err, va)
			}
		}
	}
}

// lastEntry finds the entry that maps 0x5000.
func lastEntry(m *mmu.Memory, f *pageFormat) uint64 {
	at := uint64(0)
	for pa := uint64(8 << 20); pa < 9<<20; pa += uint64(f.entry) {
		if e := m.Load(binary.LittleEndian, pa, f.entry); e&f.frame == 0x5000 && e&ptePresent != 0 {
			at = pa
		}
	}
	return at
}

func TestWalkSetsBits(t *testing.T) {
	for _, x := range formats {
		m, root := tables(t, x.format, x.base)
		at, n := lastEntry(m, &x.format), x.format.entry
		m.Store(binary.LittleEndian, at, n, m.Load(binary.LittleEndian, at, n)&^(pteAccessed|pteDirty))
		x.format.walk(m, root, 0x1000, access{})
		e := m.Load(binary.LittleEndian, at, n)
		require.That(t, e&pteAccessed != 0 && e&pteDirty == 0, "%s: after a read the entry is %#x", x.name, e)
		x.format.walk(m, root, 0x1000, access{write: true})
		e = m.Load(binary.LittleEndian, at, n)
		require.That(t, e&pteDirty != 0, "%s: after a write the entry is %#x", x.name, e)
	}
}

// TestReservedBits has the bit that forbids execution refused where it has no meaning yet.
func TestReservedBits(t *testing.T) {
	f := paeFormat(false, 52)
	m, root := tables(t, f, 0xc0000000)
	at := lastEntry(m, &f)
	m.Store(binary.LittleEndian, at, 8, m.Load(binary.LittleEndian, at, 8)|pteNX)
	if _, _, fault := f.walk(m, root, 0x1000, access{}); fault == nil || !fault.reserved {
		t.Errorf("NX without EFER.NXE: %+v; want a reserved bit", fault)
	}
}

// TestUserPagesOfEveryFormat builds pages of user mode, which a walk of user mode reads. What stays in registers of the CPU has no
// reserved bit (SDM vol. 3, 4.4.1).
func TestUserPagesOfEveryFormat(t *testing.T) {
	for _, x := range formats {
		m := cpustest.Memory(t, 16<<20)
		root := require.Must(x.format.build(m, 8<<20, []mmu.Mapping{{VA: 0x1000, PA: 0x5000, Size: 0x1000, User: true}}))(t)
		p, _, fault := x.format.walk(m, root, 0x1abc, access{user: true})
		require.That(t, fault == nil && p.Offset(0x1abc) == 0x5abc, "%s: %+v %+v", x.name, p, fault)
		if x.format.registers {
			_, ok := x.format.registersAt(m, root)
			require.That(t, ok, "%s: a CPU refuses the table behind CR3", x.name)
		}
	}
}

// TestWithoutLargePages has the bit of a large page ignored, and a builder that refuses one.
func TestWithoutLargePages(t *testing.T) {
	f := legacyFormat(false)
	m := mmu.NewMemory(1 << 20)
	if _, err := f.build(m, 0, []mmu.Mapping{{VA: 0xc0000000, Large: true}}); err == nil {
		t.Error("a large page was built")
	}
	root := require.Must(f.build(m, 0x10000, []mmu.Mapping{{VA: 0xc0001000, PA: 0x2000, Size: 0x1000}}))(t)
	at := root + 0x300*4
	m.Store(binary.LittleEndian, at, 4, m.Load(binary.LittleEndian, at, 4)|pteLarge)
	if p, _, fault := f.walk(m, root, 0xc0001234, access{}); fault != nil || p.Offset(0xc0001234) != 0x2234 {
		t.Errorf("%+v %+v; want the small page", p, fault)
	}
}

// FuzzWalk walks random page tables: a walk ends, whatever the entries say.
func FuzzWalk(f *testing.F) {
	f.Add(int64(1), uint64(0x1000))
	f.Fuzz(func(t *testing.T, seed int64, va uint64) {
		m := mmu.NewMemory(64 << 10)
		rng := rand.New(rand.NewSource(seed))
		for pa := 0; pa < m.Size(); pa += 8 {
			m.Store(binary.LittleEndian, uint64(pa), 8, rng.Uint64()&0x8000_0000_0003_ffff)
		}
		for _, x := range formats {
			for _, acc := range []access{{}, {write: true}, {user: true, exec: true}} {
				p, refs, fault := x.format.walk(m, rng.Uint64()&0xf000, va, acc)
				if fault == nil && (p.Offset(va)&(1<<p.Shift-1) != va&(1<<p.Shift-1) || refs.N < x.refs-1) {
					t.Fatalf("%s: walk of %#x gave %+v after %d entries", x.name, va, p, refs.N)
				}
			}
		}
	})
}
