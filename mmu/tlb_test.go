package mmu

import (
	"testing"

	"kprobesim/internal/require"
)

// TestTLBTellsSpacesApart finds a page in the address space that it was inserted in, and a global one in all.
func TestTLBTellsSpacesApart(t *testing.T) {
	tl := NewTLB(TLBConfig{Entries: 8, Ways: 4, LargeEntries: 4, LargeWays: 4}, PageSizes{12, 21})
	tl.Switch(1)
	tl.Insert(Page{VA: 0x1000, PA: 0x10000, Shift: 12})
	tl.Insert(Page{VA: 0x2000, PA: 0x20000, Shift: 12, Global: true})
	before := tl.Generation
	tl.Switch(2)
	require.That(t, tl.Generation != before, "a switch of address spaces keeps micro-TLB entries in front")
	p := tl.Find(0x1000)
	require.That(t, p == nil, "a page of space 1 is found in space 2: %+v", p)
	if p := tl.Find(0x2000); p == nil || p.PA != 0x20000 {
		t.Errorf("the global page is not found in space 2: %+v", p)
	}
	tl.Insert(Page{VA: 0x1000, PA: 0x30000, Shift: 12})
	for space, want := range map[uint32]uint64{1: 0x10000, 2: 0x30000} {
		tl.Switch(space)
		p := tl.Find(0x1000)
		require.That(t, p != nil && p.PA == want, "space %d finds %+v, want a page at %#x", space, p, want)
	}
	before = tl.Generation
	tl.Switch(tl.space)
	require.That(t, tl.Generation == before, "a switch to the present address space drops micro-TLB entries")
}

// TestTLBOfSeveralSizes keeps pages of three sizes at the same addresses apart.
func TestTLBOfSeveralSizes(t *testing.T) {
	tl := NewTLB(TLBConfig{Entries: 8, Ways: 4, LargeEntries: 8, LargeWays: 4}, PageSizes{12, 16, 24})
	tl.Insert(Page{VA: 0x1000, PA: 0x1000_0000, Shift: 12})
	tl.Insert(Page{VA: 0x20000, PA: 0x2000_0000, Shift: 16})
	tl.Insert(Page{VA: 0x1000000, PA: 0x3000_0000, Shift: 24})
	for va, want := range map[uint64]uint64{0x1abc: 0x1000_0abc, 0x2fabc: 0x2000_fabc, 0x1fedcba: 0x30fe_dcba} {
		p := tl.Find(va)
		require.That(t, p != nil && p.Offset(va) == want, "%#x: %+v, want %#x", va, p, want)
		tl.Drop(va)
		require.That(t, tl.Find(va) == nil, "%#x is found after it was dropped", va)
	}
	tl.Resize(PageSizes{12, 21})
	tl.Insert(Page{VA: 0x200000, Shift: 21})
	require.That(t, tl.Find(0x3fffff) != nil && tl.Find(0x400000) == nil, "a page of 2 MiB covers what it should not, or not what it should")
}

// TestRights gives every access the right that it needs and no other.
func TestRights(t *testing.T) {
	seen := map[Rights]bool{}
	for _, user := range []bool{false, true} {
		for _, x := range [][2]bool{{false, false}, {true, false}, {false, true}} {
			r := Right(x[0], x[1], user)
			if p := (Page{Rights: r}); seen[r] || !p.Allows(r) {
				t.Errorf("write %v, exec %v, user %v: right %#x", x[0], x[1], user, r)
			}
			p := (Page{Rights: ^r})
			require.That(t, !p.Allows(r), "a page with all rights but %#x gives it", r)
			seen[r] = true
		}
	}
}

// TestTLBBehindTwo has a small TLB for instructions and one for data in front of a larger one.
func TestTLBBehindTwo(t *testing.T) {
	small := TLBConfig{Entries: 2, Ways: 2, LargeEntries: 2, LargeWays: 2}
	code, data := NewTLB(small, PageSizes{12, 24}), NewTLB(small, PageSizes{12, 24})
	behind := NewTLB(TLBConfig{Entries: 16, Ways: 4, LargeEntries: 4, LargeWays: 4}, PageSizes{12, 24})
	code.Back(behind)
	data.Back(behind)
	for n := range uint64(8) {
		data.Insert(Page{VA: n << 12, PA: n << 20, Shift: 12})
	}
	require.Need(t, data.Find(0) == nil, "eight pages fit into two entries")
	before := data.Generation
	p := data.FindBehind(0x123)
	require.That(t, p != nil && p.Offset(0x123) == 0x123 && data.Find(0) == p && data.Generation != before, "the first page is not brought to the front: %+v", p)
	require.That(t, code.FindBehind(7<<12) != nil, "what data have found, code does not find")
	code.Switch(1)
	require.That(t, code.FindBehind(7<<12) == nil, "a page is found in another address space")
	require.That(t, data.FindBehind(7<<12) != nil, "the address space of code counts for data")
	for name, drop := range map[string]func(){
		"Drop":   func() { data.Drop(7 << 12) },
		"DropIf": func() { data.DropIf(func(p *Page) bool { return p.VA == 7<<12 }) },
		"Flush":  func() { data.Flush(true) },
	} {
		data.Insert(Page{VA: 7 << 12, PA: 7 << 20, Shift: 12})
		drop()
		require.That(t, data.Find(7<<12) == nil && data.FindBehind(7<<12) == nil, "%s leaves a page", name)
	}
}
