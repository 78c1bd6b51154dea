package mmu

import (
	"math/rand"
	"testing"
)

// referenceCache is bit-PLRU written as it is described, without the short cuts.
type referenceCache struct {
	ways int
	sets [][]uint32
	used [][]bool
}

func (r *referenceCache) touch(line uint32) bool {
	s := int(line) % len(r.sets)
	at := -1
	for w, t := range r.sets[s] {
		if t == line+1 {
			at = w
		}
	}
	hit := at >= 0
	for w := 0; at < 0; w++ {
		if !r.used[s][w] {
			at = w
			r.sets[s][w] = line + 1
		}
	}
	r.used[s][at] = true
	full := true
	for _, u := range r.used[s] {
		full = full && u
	}
	if full {
		for w := range r.used[s] {
			r.used[s][w] = w == at && r.ways > 1
		}
	}
	return hit
}

func TestCacheFollowsItsDescription(t *testing.T) {
	for _, cc := range []CacheConfig{
		{Size: 32 << 10, Ways: 8, Line: 64},
		{Size: 6 << 14, Ways: 24, Line: 64},
		{Size: 4 << 10, Ways: 1, Line: 128},
	} {
		if err := cc.Check(); err != nil {
			t.Fatal(err)
		}
		c := NewCache(cc)
		n := cc.Size / cc.Ways / cc.Line
		ref := &referenceCache{ways: cc.Ways}
		for range n {
			ref.sets = append(ref.sets, make([]uint32, cc.Ways))
			ref.used = append(ref.used, make([]bool, cc.Ways))
		}
		rng := rand.New(rand.NewSource(1))
		for i := range 200000 {
			line := uint32(rng.Intn(3 * n * cc.Ways))
			if rng.Intn(2) == 0 {
				line %= uint32(n) // a set that is used more
			}
			if got, want := c.Touch(line), ref.touch(line); got != want {
				t.Fatalf("%+v: access %d of line %d: hit %v, want %v", cc, i, line, got, want)
			}
		}
	}
}

func TestCacheConfigCheck(t *testing.T) {
	for _, cc := range []CacheConfig{
		{},
		{Size: 1000, Ways: 2, Line: 64},
		{Size: 96 << 10, Ways: 8, Line: 64},
		{Size: 32 << 10, Ways: 33, Line: 64},
		{Size: 32 << 10, Ways: 8, Line: 48},
	} {
		if cc.Check() == nil {
			t.Errorf("%+v passes", cc)
		}
	}
}

func TestTLBIsFirstInFirstOut(t *testing.T) {
	tl := NewTLB(TLBConfig{Entries: 8, Ways: 4, LargeEntries: 4, LargeWays: 4}, 21)
	page := func(n uint64) Page { return Page{VA: n << 13, PA: n << 12, Shift: 12} } // all in set 0
	for n := range uint64(4) {
		tl.Insert(page(n))
	}
	gen := tl.Generation
	for range 10 {
		tl.Find(0) // a hit does not make page 0 younger
	}
	if tl.Generation != gen {
		t.Error("a hit changed the generation")
	}
	tl.Insert(page(4))
	if tl.Find(0) != nil || tl.Find(1<<13) == nil || tl.Find(4<<13) == nil {
		t.Error("the first page in was not the first out")
	}
	if tl.Generation == gen {
		t.Error("a replacement did not change the generation")
	}
	tl.Insert(Page{VA: 1 << 21, PA: 3 << 21, Shift: 21, Global: true})
	if p := tl.Find(1<<21 + 12345); p == nil || p.Offset(1<<21+12345) != 3<<21+12345 {
		t.Error("a large page is not found")
	}
	tl.Flush(false)
	if tl.Find(1<<21) == nil || tl.Find(4<<13) != nil {
		t.Error("a flush keeps global pages and no others")
	}
}

func TestWalkLong(t *testing.T) {
	m := NewMemory(16 << 20)
	root, err := BuildLong(m, 8<<20, []Mapping{
		{VA: 0xffff880000000000, Large: true, Writable: true},
		{VA: 0x1000, PA: 0x5000, Size: 0x3000, Exec: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, refs, f := WalkLong(m, root, 0xffff880000212345, Access{Write: true})
	if f != nil || p.Offset(0xffff880000212345) != 0x212345 || refs.N != 3 || !p.NX || !p.Dirty {
		t.Errorf("large page: %+v %+v %v", p, refs, f)
	}
	p, refs, f = WalkLong(m, root, 0x2abc, Access{Exec: true, Protect: true})
	if f != nil || p.Offset(0x2abc) != 0x6abc || refs.N != 4 || p.NX {
		t.Errorf("small page: %+v %+v %v", p, refs, f)
	}
	for _, c := range []struct {
		va      uint64
		acc     Access
		present bool
	}{
		{0x4000, Access{}, false},
		{0x1000, Access{Write: true, Protect: true}, true},
		{0x1000, Access{User: true}, true},
		{0xffff880000000000, Access{Exec: true}, true},
	} {
		if _, _, f := WalkLong(m, root, c.va, c.acc); f == nil || f.Present != c.present {
			t.Errorf("%#x %+v: fault %+v", c.va, c.acc, f)
		}
	}
	if _, _, f := WalkLong(m, root, 0x1000, Access{Write: true}); f != nil {
		t.Error("a supervisor may write a read-only page while write protection is off")
	}
}

func TestAccessedAndDirty(t *testing.T) {
	m := NewMemory(1 << 20)
	root, err := BuildLong(m, 0x10000, []Mapping{{VA: 0x1000, PA: 0x2000, Size: 0x1000, Writable: true}})
	if err != nil {
		t.Fatal(err)
	}
	at := uint64(0)
	for pa := uint64(0x10000); pa < 0x20000; pa += 8 {
		if m.Load(pa, 8)&pteFrame == 0x2000 && m.Load(pa, 8) != 0x2000 {
			at = pa
		}
	}
	m.Store(at, 8, m.Load(at, 8)&^(PteAccessed|PteDirty))
	WalkLong(m, root, 0x1000, Access{})
	if e := m.Load(at, 8); e&PteAccessed == 0 || e&PteDirty != 0 {
		t.Errorf("after a read the entry is %#x", e)
	}
	WalkLong(m, root, 0x1000, Access{Write: true})
	if e := m.Load(at, 8); e&PteDirty == 0 {
		t.Errorf("after a write the entry is %#x", e)
	}
}

func TestMemoryTellsOfCodeStores(t *testing.T) {
	m := NewMemory(1 << 16)
	var dropped []uint64
	m.OnCodeStore(func(pa uint64) { dropped = append(dropped, pa) })
	m.MarkCode(0x1234)
	m.Store(0x1240, 8, 1) // the next line
	m.Store(0x123c, 4, 1)
	m.Store(0x123c, 4, 1) // told once
	if len(dropped) != 1 || dropped[0]>>LineShift != 0x1234>>LineShift {
		t.Errorf("told of %#x", dropped)
	}
	if m.Load(1<<20, 4) != 0xffffffff || m.Bytes(1<<16-4, 8) != nil {
		t.Error("memory outside RAM")
	}
	m.Store(1<<20, 8, 1)
	m.Write(1<<16-2, []byte{1, 2, 3, 4})
	if m.Load(1<<16-2, 2) != 0x0201 {
		t.Error("the part of a write inside RAM is lost")
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
		for _, acc := range []Access{{}, {Write: true}, {User: true, Exec: true}} {
			p, refs, fault := WalkLong(m, rng.Uint64()&0xf000, va, acc)
			if fault == nil && (p.Offset(va)&(1<<p.Shift-1) != va&(1<<p.Shift-1) || refs.N < 3) {
				t.Fatalf("walk of %#x gave %+v after %d entries", va, p, refs.N)
			}
		}
	})
}
