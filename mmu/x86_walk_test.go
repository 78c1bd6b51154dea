package mmu

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// formats are all layouts of page tables, with the entries that a walk to a small page reads.
var formats = []struct {
	name    string
	format  PageFormat
	refs    int
	execute bool // cannot be forbidden
	base    uint64
}{
	{"long", Long(), 4, false, 0xffff880000000000},
	{"PAE", PAE(true), 2, false, 0xc0000000},
	{"PAE without NX", PAE(false), 2, true, 0xc0000000},
	{"two levels", Legacy(true), 2, true, 0xc0000000},
}

// tables builds a large mapping at base and a small one at 0x1000.
func tables(t *testing.T, f PageFormat, base uint64) (*Memory, uint64) {
	t.Helper()
	m := NewMemory(16 << 20)
	root, err := f.Build(m, 8<<20, []Mapping{
		{VA: base, Large: true, Writable: true},
		{VA: 0x1000, PA: 0x5000, Size: 0x3000, Exec: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m, root
}

func TestWalk(t *testing.T) {
	for _, x := range formats {
		t.Run(x.name, func(t *testing.T) {
			m, root := tables(t, x.format, x.base)
			p, refs, f := x.format.Walk(m, root, x.base+0x612345, Access{Write: true})
			if f != nil || p.Offset(x.base+0x612345) != 0x612345 || refs.N != x.refs-1 || p.NX == x.execute || !p.Dirty || p.Shift != x.format.Large {
				t.Errorf("large page: %+v %+v %v", p, refs, f)
			}
			p, refs, f = x.format.Walk(m, root, 0x2abc, Access{Exec: true, Protect: true})
			if f != nil || p.Offset(0x2abc) != 0x6abc || refs.N != x.refs || p.NX {
				t.Errorf("small page: %+v %+v %v", p, refs, f)
			}
			for _, va := range []uint64{x.base + 0x612345, 0x2abc, 0x4000} {
				p, _, f := x.format.Walk(m, root, va, Access{})
				if pa, ok := x.format.Peek(m, root, va); ok != (f == nil) || ok && pa != p.Offset(va) {
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
			acc     Access
			present bool
		}{
			{0x4000, Access{}, false},
			{0x1000, Access{Write: true, Protect: true}, true},
			{0x1000, Access{User: true}, true},
			{x.base, Access{Exec: true}, true},
		} {
			_, _, f := x.format.Walk(m, root, c.va, c.acc)
			if c.acc.Exec && x.execute {
				if f != nil {
					t.Errorf("%s: execution is refused: %+v", x.name, f)
				}
				continue
			}
			if f == nil || f.Present != c.present {
				t.Errorf("%s: %#x %+v: fault %+v", x.name, c.va, c.acc, f)
			}
		}
		if _, _, f := x.format.Walk(m, root, 0x1000, Access{Write: true}); f != nil {
			t.Errorf("%s: a supervisor may write a read-only page while write protection is off", x.name)
		}
	}
}

// TestUserPages has user mode reach what is mapped for it, with the rights of the page, and nothing beside it.
func TestUserPages(t *testing.T) {
	for _, x := range formats {
		m := NewMemory(16 << 20)
		root, err := x.format.Build(m, 8<<20, []Mapping{
			{VA: x.base, Large: true, Writable: true},
			{VA: 0x1000, PA: 0x5000, Size: 0x1000, Writable: true},
			{VA: 0x2000, PA: 0x6000, Size: 0x1800, Exec: true, User: true},
			{VA: 0x4000, PA: 0x9000, Size: 0x1000, Writable: true, User: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			va  uint64
			acc Access
			ok  bool
		}{
			{0x2000, Access{Exec: true}, true},
			{0x3fff, Access{}, true},
			{0x2000, Access{Write: true}, false},
			{0x4000, Access{Write: true}, true},
			{0x4000, Access{Exec: true}, x.execute},
			{0x1000, Access{}, false},
			{x.base, Access{}, false},
			{0x5000, Access{}, false},
		} {
			c.acc.User = true
			if _, _, f := x.format.Walk(m, root, c.va, c.acc); (f == nil) != c.ok {
				t.Errorf("%s: %#x %+v: fault %+v", x.name, c.va, c.acc, f)
			}
		}
	}
}

// TestMappedTwice has a page refused that is there already, alone or as part of a large one.
func TestMappedTwice(t *testing.T) {
	for _, x := range formats {
		for _, va := range []uint64{x.base + 0x3000, 0x1000} {
			_, err := x.format.Build(NewMemory(16<<20), 8<<20, []Mapping{
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
func lastEntry(m *Memory, f *PageFormat) uint64 {
	at := uint64(0)
	for pa := uint64(8 << 20); pa < 9<<20; pa += uint64(f.entry) {
		if e := m.Load(pa, f.entry); e&f.frame == 0x5000 && e&PtePresent != 0 {
			at = pa
		}
	}
	return at
}

func TestAccessedAndDirty(t *testing.T) {
	for _, x := range formats {
		m, root := tables(t, x.format, x.base)
		at, n := lastEntry(m, &x.format), x.format.entry
		m.Store(at, n, m.Load(at, n)&^(PteAccessed|PteDirty))
		x.format.Walk(m, root, 0x1000, Access{})
		if e := m.Load(at, n); e&PteAccessed == 0 || e&PteDirty != 0 {
			t.Errorf("%s: after a read the entry is %#x", x.name, e)
		}
		x.format.Walk(m, root, 0x1000, Access{Write: true})
		if e := m.Load(at, n); e&PteDirty == 0 {
			t.Errorf("%s: after a write the entry is %#x", x.name, e)
		}
	}
}

// TestReservedBits has the bit that forbids execution refused where it has no meaning yet.
func TestReservedBits(t *testing.T) {
	f := PAE(false)
	m, root := tables(t, f, 0xc0000000)
	at := lastEntry(m, &f)
	m.Store(at, 8, m.Load(at, 8)|PteNX)
	if _, _, fault := f.Walk(m, root, 0x1000, Access{}); fault == nil || !fault.Reserved {
		t.Errorf("NX without EFER.NXE: %+v; want a reserved bit", fault)
	}
}

// TestWithoutLargePages has the bit of a large page ignored, and a builder that refuses one.
func TestWithoutLargePages(t *testing.T) {
	f := Legacy(false)
	m := NewMemory(1 << 20)
	if _, err := f.Build(m, 0, []Mapping{{VA: 0xc0000000, Large: true}}); err == nil {
		t.Error("a large page was built")
	}
	root, err := f.Build(m, 0x10000, []Mapping{{VA: 0xc0001000, PA: 0x2000, Size: 0x1000}})
	if err != nil {
		t.Fatal(err)
	}
	at := root + 0x300*4
	m.Store(at, 4, m.Load(at, 4)|PteLarge)
	if p, _, fault := f.Walk(m, root, 0xc0001234, Access{}); fault != nil || p.Offset(0xc0001234) != 0x2234 {
		t.Errorf("%+v %+v; want the small page", p, fault)
	}
}

// FuzzWalk walks random page tables: a walk ends, whatever the entries say.
func FuzzWalk(f *testing.F) {
	f.Add(int64(1), uint64(0x1000))
	f.Fuzz(func(t *testing.T, seed int64, va uint64) {
		m := NewMemory(64 << 10)
		rng := rand.New(rand.NewSource(seed))
		for pa := 0; pa < m.Size(); pa += 8 {
			m.Store(uint64(pa), 8, rng.Uint64()&0x8000_0000_0003_ffff)
		}
		for _, x := range formats {
			for _, acc := range []Access{{}, {Write: true}, {User: true, Exec: true}} {
				p, refs, fault := x.format.Walk(m, rng.Uint64()&0xf000, va, acc)
				if fault == nil && (p.Offset(va)&(1<<p.Shift-1) != va&(1<<p.Shift-1) || refs.N < x.refs-1) {
					t.Fatalf("%s: walk of %#x gave %+v after %d entries", x.name, va, p, refs.N)
				}
			}
		}
	})
}
