package mmu

import (
	"math/rand/v2"
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

// slowTLB is a TLB written as it is described: each set is a list of its ways, filled in turn.
type slowTLB struct {
	t      *TLB // beside it
	config [2][2]int
	sets   map[[2]uint64][]Page // by array and number
	next   map[[2]uint64]int
	space  uint32
	behind *slowTLB
	out    Page
	gone   uint64 // entries that were replaced or dropped
}

func newSlowTLB(tc TLBConfig, sizes PageSizes) *slowTLB {
	return &slowTLB{
		t: NewTLB(tc, sizes), config: [2][2]int{{tc.Entries, tc.Ways}, {tc.LargeEntries, tc.LargeWays}},
		sets: map[[2]uint64][]Page{}, next: map[[2]uint64]int{},
	}
}

// place is the array and the set of a page.
func (s *slowTLB) place(va uint64, shift uint8) (at [2]uint64, ways int) {
	array := uint64(0)
	if shift != s.t.small.sizes[0] {
		array = 1
	}
	c := s.config[array]
	return [2]uint64{array, va >> shift % uint64(c[0]/c[1])}, c[1]
}

func (s *slowTLB) find(va uint64) *Page {
	for _, shift := range append(s.t.large.sizes[:len(s.t.large.sizes):len(s.t.large.sizes)], s.t.small.sizes...) {
		at, _ := s.place(va, shift)
		for i := range s.sets[at] {
			if p := &s.sets[at][i]; p.valid && p.Shift == shift && p.VA == va>>shift<<shift && (p.Global || p.Space == s.space) {
				return p
			}
		}
	}
	return nil
}

func (s *slowTLB) insert(p Page) {
	p.valid, p.Space = true, s.space
	at, ways := s.place(p.VA, p.Shift)
	to := s.find(p.VA)
	if to == nil {
		if s.sets[at] == nil {
			s.sets[at] = make([]Page, ways)
		}
		to = &s.sets[at][s.next[at]%ways]
		s.next[at]++
	}
	if to.valid {
		s.gone++
		s.out = *to
	}
	*to = p
}

// drop forgets pages, here and behind.
func (s *slowTLB) drop(which func(p *Page) bool) (had bool) {
	for _, set := range s.sets {
		for i := range set {
			if set[i].valid && which(&set[i]) {
				set[i].valid, had = false, true
			}
		}
	}
	if s.behind != nil {
		s.behind.drop(which)
	}
	return had
}

func (s *slowTLB) forgot() {
	s.gone++
	s.out = Page{Shift: 64}
}

// TestTLBFollowsItsDescription does everything at random, beside the slow one. Pages of different sizes lie apart.
func TestTLBFollowsItsDescription(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, sizes := range []PageSizes{{12, 21}, {12, 16, 24}, {14, 22, 30}} {
		x := newSlowTLB(TLBConfig{Entries: 8, Ways: 4, LargeEntries: 6, LargeWays: 3}, sizes)
		x.behind = newSlowTLB(TLBConfig{Entries: 32, Ways: 2, LargeEntries: 8, LargeWays: 8}, sizes)
		x.t.Back(x.behind.t)
		for range 20_000 {
			i := r.IntN(len(sizes))
			va := uint64(i)<<40 | r.Uint64N(24)<<sizes[i]
			here := va + r.Uint64N(1<<sizes[i])
			own := func(p *Page) bool { return (p.Global || p.Space == x.space) && p.VA == va }
			switch r.IntN(16) {
			case 0, 1, 2, 3:
				p := Page{VA: va, PA: r.Uint64N(1<<20) << sizes[i], Shift: sizes[i], Global: r.IntN(4) == 0}
				x.behind.space = x.space
				x.behind.insert(p)
				x.insert(p)
				require.That(t, *x.t.Insert(p) == *x.find(va), "%+v was inserted", p)
			case 4, 5, 6:
				x.behind.space = x.space
				p := x.behind.find(here)
				if p != nil {
					x.insert(*p)
				}
				require.Equal(t, x.t.FindBehind(here) != nil, p != nil, "%#x is found behind", here)
			case 7:
				had := x.drop(own)
				if had {
					x.forgot()
				}
				require.Equal(t, x.t.Drop(here), had, "%#x was there to be dropped", here)
			case 8:
				x.drop(func(p *Page) bool { return p.PA&8<<sizes[0] != 0 })
				x.forgot()
				x.t.DropIf(func(p *Page) bool { return p.PA&8<<sizes[0] != 0 })
			case 9:
				if all := r.IntN(4) == 0; r.IntN(4) == 0 {
					x.drop(func(p *Page) bool { return all || !p.Global })
					x.forgot()
					x.t.Flush(all)
				}
			case 10:
				if space := r.Uint32N(3); space != x.space {
					x.space = space
					x.forgot()
				}
				x.t.Switch(x.space)
			case 11:
				if r.IntN(40) == 0 {
					x.drop(func(*Page) bool { return true })
					x.forgot()
					x.t.Resize(sizes)
				}
			}
			got, want := x.t.Find(here), x.find(here)
			require.Need(t, (got == nil) == (want == nil) && (got == nil || *got == *want && got.Offset(here) == want.PA+here-va), "%#x is %+v, want %+v", here, got, want)
			require.Need(t, x.t.Generation == x.gone && *x.t.Out() == x.out, "%d entries are gone, the last %+v; want %d, %+v", x.t.Generation, x.t.Out(), x.gone, x.out)
			a, b := r.Uint64N(1<<33), r.Uint64N(1<<33)
			spans := false
			for at, set := range x.sets {
				for _, p := range set {
					spans = spans || at[0] == 1 && p.valid && p.PA == a>>p.Shift<<p.Shift && p.PA == b>>p.Shift<<p.Shift
				}
			}
			require.Need(t, x.t.Spans(a, b) == spans, "a large page has %#x and %#x: %v", a, b, !spans)
		}
	}
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
