package mmu

import (
	"math/rand"
	"slices"
	"testing"

	"kprobesim/internal/require"
)

// referenceCache is bit-PLRU written as it is described, without the short cuts.
type referenceCache struct {
	line int
	sets [][]uint32 // tags
	used [][]bool
}

func newReference(cc CacheConfig) *referenceCache {
	r := &referenceCache{line: cc.Line}
	for range cc.Size / cc.Ways / cc.Line {
		r.sets = append(r.sets, make([]uint32, cc.Ways))
		r.used = append(r.used, make([]bool, cc.Ways))
	}
	return r
}

// find returns the set of a line, and the way that has it or -1.
func (r *referenceCache) find(line uint32) (set, way int) {
	set = int(line) % len(r.sets)
	return set, slices.Index(r.sets[set], line+1)
}

func (r *referenceCache) touch(line uint32) (hit bool, gone uint32) {
	s, at := r.find(line)
	if hit = at >= 0; !hit {
		at = slices.Index(r.used[s], false)
		gone, r.sets[s][at] = r.sets[s][at], line+1
	}
	r.used[s][at] = true
	if !slices.Contains(r.used[s], false) {
		for w := range r.used[s] {
			r.used[s][w] = w == at && len(r.used[s]) > 1
		}
	}
	return hit, gone
}

// take brings in a line (plus one) that another cache has lost; an empty way goes first.
func (r *referenceCache) take(tag uint32) (gone uint32) {
	if tag == 0 {
		return 0
	}
	s, _ := r.find(tag - 1)
	if at := slices.Index(r.sets[s], 0); at >= 0 {
		r.sets[s][at] = tag
		r.touch(tag - 1)
		return 0
	}
	_, gone = r.touch(tag - 1)
	return gone
}

func (r *referenceCache) drop(line uint32) {
	if s, at := r.find(line); at >= 0 {
		r.sets[s][at], r.used[s][at] = 0, false
	}
}

func TestCacheFollowsItsDescription(t *testing.T) {
	for _, cc := range []CacheConfig{
		{Size: 32 << 10, Ways: 8, Line: 64},
		{Size: 6 << 14, Ways: 24, Line: 64},
		{Size: 4 << 10, Ways: 1, Line: 128},
		{Size: 30 << 10, Ways: 10, Line: 128}, // three slices of eight sets
		{Size: 128 << 10, Ways: 32, Line: 64},
		{Size: 256, Ways: 4, Line: 64}, // one set
	} {
		require.NoError(t, cc.Check())
		c, ref := NewCache(cc), newReference(cc)
		n := len(ref.sets)
		rng := rand.New(rand.NewSource(1))
		for i := range 200000 {
			line := uint32(rng.Intn(3 * n * cc.Ways))
			if rng.Intn(2) == 0 {
				line %= uint32(n) // a set that is used more
			}
			if rng.Intn(8) == 0 {
				c.Drop(line)
				ref.drop(line)
				require.Need(t, c.Recent[line%uint32(n)] != line+1, "%+v: line %d was dropped, and is the one used last", cc, line)
				continue
			}
			if _, way := ref.find(line); c.Has(line) != (way >= 0) {
				t.Fatalf("%+v: access %d of line %d: has it %v", cc, i, line, c.Has(line))
			} else if rng.Intn(8) == 0 { // is used if it is there
				if used := c.Use(line); used != (way >= 0) || used && c.Recent[line%uint32(n)] != line+1 {
					t.Fatalf("%+v: access %d of line %d: used is %v", cc, i, line, used)
				} else if used {
					ref.touch(line)
				}
				continue
			}
			hit, gone := c.Bring(line)
			wantHit, wantGone := ref.touch(line)
			require.Need(t, hit == wantHit && gone == wantGone, "%+v: access %d of line %d: hit %v, gone %d, want %v, %d", cc, i, line, hit, gone, wantHit, wantGone)
		}
	}
}

// TestLevelsFollowTheirDescription sends loads, fetches and invalidations through levels of caches, and through
// references of each.
func TestLevelsFollowTheirDescription(t *testing.T) {
	first := CacheConfig{Size: 4 << 10, Ways: 4, Line: 64}
	for _, x := range []struct {
		name        string
		l1d, l2, l3 CacheConfig
	}{
		{"exclusive", first, CacheConfig{Size: 30 << 10, Ways: 10, Line: 64}, CacheConfig{Size: 144 << 10, Ways: 12, Line: 64, Exclusive: true}},
		{"inclusive", first, CacheConfig{Size: 30 << 10, Ways: 10, Line: 64}, CacheConfig{Size: 48 << 10, Ways: 12, Line: 64, Inclusive: true}},
		{"three levels", first, CacheConfig{Size: 30 << 10, Ways: 10, Line: 64}, CacheConfig{Size: 144 << 10, Ways: 12, Line: 64}},
		{"two levels", first, CacheConfig{Size: 32 << 10, Ways: 8, Line: 64}, CacheConfig{}},
		{"one way", CacheConfig{Size: 4 << 10, Ways: 1, Line: 64}, CacheConfig{Size: 16 << 10, Ways: 1, Line: 64}, CacheConfig{}},
		{"lines differ", first, CacheConfig{Size: 32 << 10, Ways: 8, Line: 128}, CacheConfig{Size: 128 << 10, Ways: 16, Line: 512}},
		{"lines differ, two levels", first, CacheConfig{Size: 32 << 10, Ways: 8, Line: 128}, CacheConfig{}},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := newPair(t, first, x.l1d, x.l2, x.l3)
			for i := range 250000 {
				p.step()
				if i%50000 == 0 {
					p.levels.Renew(1 << 30)
				}
			}
			want := uint(1<<3 | (1<<len(p.data) - 1))
			require.That(t, p.met == want, "loads missed these numbers of levels: %04b, want %04b", p.met, want)
		})
	}
}

// pair is levels of caches beside their references.
type pair struct {
	t      *testing.T
	rng    *rand.Rand
	levels *Levels
	l1i    *Cache
	caches []*Cache // all of them
	data   []*referenceCache
	fetch  *referenceCache
	size   int  // of what is accessed
	met    uint // a bit for each number of levels that were missed
}

func newPair(t *testing.T, l1i, l1d, l2, l3 CacheConfig) *pair {
	t.Helper()
	p := &pair{t: t, rng: rand.New(rand.NewSource(1)), l1i: NewCache(l1i), fetch: newReference(l1i), size: 2 * max(l2.Size, l3.Size)}
	third := (*Cache)(nil)
	p.data = []*referenceCache{newReference(l1d), newReference(l2)}
	p.caches = []*Cache{NewCache(l1d), NewCacheBehind(l2)}
	if l3 != (CacheConfig{}) {
		third = NewCacheBehind(l3)
		p.data, p.caches = append(p.data, newReference(l3)), append(p.caches, third)
	}
	p.levels = NewLevels(p.l1i, p.caches[0], p.caches[1], third, NewMemory(0))
	p.levels.Exclusive, p.levels.Inclusive = l3.Exclusive, l3.Inclusive
	return p
}

// step does one thing at one place, in one of the first chunks of places or behind them.
func (p *pair) step() {
	pa := uint64(p.rng.Intn(p.size))
	if p.rng.Intn(2) == 0 {
		pa %= 8 << 10
	}
	if pa&(1<<9) != 0 {
		pa += 40 << 20
	}
	switch p.rng.Intn(16) {
	case 0:
		for i, c := range p.caches {
			c.Drop(uint32(pa >> c.Shift()))
			p.data[i].drop(uint32(pa) / uint32(p.data[i].line))
		}
	case 1, 2:
		line := uint32(pa >> p.l1i.Shift())
		hit, gone := p.l1i.Bring(line)
		wantHit, wantGone := p.fetch.touch(line)
		require.Need(p.t, hit == wantHit && gone == wantGone, "fetch at %#x: hit %v, gone %d, want %v, %d", pa, hit, gone, wantHit, wantGone)
	default:
		p.load(pa)
	}
}

func (p *pair) load(pa uint64) {
	line := uint32(pa >> p.caches[0].Shift())
	if has := slices.ContainsFunc(p.caches, func(c *Cache) bool { return c.Has(line) }); p.levels.even && p.levels.Has(line) != has {
		p.t.Fatalf("at %#x: has the line %v, want %v", pa, !has, has)
	}
	misses := p.misses(pa, line)
	want, lost := uint(0), uint32(0)
	for i, r := range p.data {
		at := uint32(pa) / uint32(r.line)
		hit, gone := false, uint32(0)
		if i == 2 && p.levels.Exclusive {
			_, way := r.find(at)
			hit = way >= 0
			r.drop(at)
			gone = r.take(lost)
		} else {
			hit, gone = r.touch(at)
		}
		lost = gone
		if i == 2 && p.levels.Inclusive && gone != 0 {
			for _, r := range []*referenceCache{p.data[0], p.data[1], p.fetch} {
				r.drop(gone - 1)
			}
		}
		if hit {
			break
		}
		if p.levels.even && p.levels.Gone[i] != gone {
			p.t.Fatalf("load at %#x: gone from level %d is %d, want %d", pa, i, p.levels.Gone[i], gone)
		}
		want++
	}
	if want == uint(len(p.data)) {
		want = 3
	}
	require.Need(p.t, misses == want, "load at %#x missed %d levels, want %d", pa, misses, want)
	require.Need(p.t, p.caches[0].Recent[line&p.caches[0].Mask] == line+1, "load at %#x: the line is not that of its set that was used last", pa)
	p.met |= 1 << misses
}

// misses loads in one piece, or with the first level apart.
func (p *pair) misses(pa uint64, line uint32) uint {
	if p.rng.Intn(2) == 0 {
		misses := p.levels.Load(pa)
		require.Need(p.t, p.levels.even || misses == 0 || p.levels.Gone == [3]uint32{}, "load at %#x notes what is gone, though lines differ in size", pa)
		return misses
	}
	hit, gone := p.caches[0].Bring(line)
	if p.levels.Gone[0] = gone; hit {
		return 0
	}
	return p.levels.Behind(pa)
}

// TestRenewRefuses breaks what was read in ways that a load would not survive.
func TestRenewRefuses(t *testing.T) {
	cc := CacheConfig{Size: 8 << 10, Ways: 4, Line: 64}
	for name, damage := range map[string]func(c *Cache){
		"recent":       func(c *Cache) { c.Recent = c.Recent[1:] },
		"sets":         func(c *Cache) { c.idle = c.idle[1:] },
		"ways":         func(c *Cache) { c.tags = c.tags[4:] },
		"no victim":    func(c *Cache) { c.idle[3] = 0 },
		"a fifth way":  func(c *Cache) { c.idle[3] |= 1 << 4 },
		"another set":  func(c *Cache) { c.tags[5*4]++ },
		"twice":        func(c *Cache) { c.tags[5*4+2] = c.tags[5*4+1] },
		"out of range": func(c *Cache) { c.tags[5*4+2] += 32 * 4 },
		"":             func(*Cache) {},
	} {
		c := NewCache(cc)
		l := NewLevels(NewCache(cc), c, NewCacheBehind(cc), nil, NewMemory(0))
		for line := range uint32(128) {
			l.l1d.Bring(line)
		}
		damage(c)
		func() {
			defer func() {
				broken := recover()
				require.That(t, (broken != nil) == (name != ""), "%s: %v", name, broken)
			}()
			l.Renew(128 * 64)
		}()
	}
}

// TestPlacesHaveRoom brings in lines around the end of the places that there are: each has a place, which nothing checks later.
func TestPlacesHaveRoom(t *testing.T) {
	cc := CacheConfig{Size: 8 << 10, Ways: 4, Line: 64}
	for near := -2; near <= 2; near++ {
		line := uint32(minPlaces + near)
		for name, bring := range map[string]func(*Cache, *Levels){
			"Bring": func(c *Cache, _ *Levels) { c.Bring(line) },
			"Load":  func(_ *Cache, l *Levels) { l.Load(uint64(line) << 6) },
		} {
			c := NewCache(cc)
			l := NewLevels(NewCache(cc), c, NewCacheBehind(cc), nil, NewMemory(0))
			bring(c, l)
			require.That(t, uint(line+1) < uint(len(l.places.by)) && c.Has(line), "%s: line %d has no place of %d", name, line, len(l.places.by))
		}
	}
}
