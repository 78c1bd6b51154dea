package describing

import (
	"fmt"
	"math"
	"strings"

	"kprobesim/internal/native"
	"kprobesim/judging"
)

// cache has the answers of CPUID.
type cache struct{ level, kind, size, ways, line int }

// kinds of caches in CPUID.
const (
	dataCache = 1
	codeCache = 2
)

// caches asks for the caches: leaf 4 of Intel, and leaf 8000001D of AMD, of the same form.
func (id identity) caches() (all []cache, err error) {
	n := uint32(4)
	if id.vendor == "AuthenticAMD" {
		n = 0x8000001d
	}
	for sub := range uint32(8) {
		r, err := leaf(id.host, n, sub)
		if err != nil || r[0]&31 == 0 {
			return all, err
		}
		c := cache{level: int(r[0] >> 5 & 7), kind: int(r[0] & 31), ways: int(r[1]>>22) + 1, line: int(r[1]&0xfff) + 1}
		c.size = c.ways * c.line * (int(r[1]>>12&0x3ff) + 1) * (int(r[2]) + 1)
		all = append(all, c)
	}
	return all, nil
}

// key is the table of a cache.
func (c cache) key() string {
	switch {
	case c.level > 1:
		return fmt.Sprintf("l%d", c.level)
	case c.kind == codeCache:
		return "l1i"
	}
	return "l1d"
}

// caches takes sizes from CPUID, and measures latencies by chains of loads in half of each cache.
func (d *Describer) caches() error {
	all, err := d.id.caches()
	if err != nil {
		return err
	}
	for _, c := range all {
		if d.node("cache", c.key()) == nil {
			d.Open = append(d.Open, fmt.Sprintf("cache.%s: the family's description has none", c.key()))
			continue
		}
		before := d.Root.Clone()
		d.measured(text(fmt.Sprintf("%d KiB", c.size>>10)), "size, ways and line by CPUID", "cache", c.key(), "size")
		d.set(integer(c.ways), "cache", c.key(), "ways")
		d.set(text(fmt.Sprintf("%d B", c.line)), "cache", c.key(), "line")
		if _, err := d.Read(d.Root); err != nil {
			d.Root = before
			d.Open = append(d.Open, fmt.Sprintf("cache.%s: %v", c.key(), err))
		}
		if c.kind == codeCache {
			continue
		}
		if err := d.latency(uint64(min(c.size/4, 8<<20)), "cache", c.key(), "latency"); err != nil {
			return err
		}
	}
	return d.latency(128<<20, "memory", "latency")
}

// latency measures a load of a chain of a size.
func (d *Describer) latency(size uint64, path ...string) error {
	v, err := d.chase(native.Chain{At: chainAt, Size: size, Step: 64, Large: true})
	if err != nil {
		return d.open(strings.Join(path, "."), err)
	}
	d.measured(integer(int(math.Round(v))), fmt.Sprintf("a chain of loads in %d KiB takes %.1f cycles each", size>>10, v), path...)
	return nil
}

// farther is how near the two shortest times of loads must be that other processors disturb.
const farther = 1.2

// chase times a load of a chain. Far memory agrees less well than the core does.
func (d *Describer) chase(c native.Chain) (v float64, err error) {
	const times = 1000
	program := func(n int) []byte {
		l := judging.Chase(1, n, times)
		return l.Native()
	}
	if c.Size > 1<<20 { // the loop itself is nothing beside it
		v, err = d.shortest(func() (float64, error) {
			return d.Host.Shortest(program(100), &native.Job{Chains: []native.Chain{c}, Passes: 9, Repeats: 1}, farther)
		})
		return v / (100 * times), err
	}
	return d.again(func() (float64, error) {
		return d.Host.Difference(program(100), program(50), 50*times, &native.Job{Chains: []native.Chain{c}, Passes: 5, Repeats: 1})
	})
}

// tlbs finds the pages that the first level for data has, and what the second one takes. Each page has one line in use, in
// another set than its neighbour's.
func (d *Describer) tlbs() error {
	times := map[int]float64{}
	pages := []int{16, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 192, 256}
	for _, n := range pages {
		v, err := d.chase(native.Chain{At: chainAt, Size: uint64(n) * 4096, Step: 4096, Skew: 64})
		if err != nil {
			return d.open("tlb.data", err)
		}
		times[n] = v
	}
	first, last := times[pages[0]], times[pages[len(pages)-1]]
	if last < first+1 {
		return d.open(fmt.Sprintf("tlb.data: %d pages are no slower than %d", pages[len(pages)-1], pages[0]), nil)
	}
	entries := 0
	for _, n := range pages {
		if times[n] < (first+last)/2 {
			entries = n
		}
	}
	before := d.Root.Clone()
	how := fmt.Sprintf("a chain of loads, one in each page: %.1f cycles up to %d pages, and %.1f in %d", first, entries, last, pages[len(pages)-1])
	d.measured(integer(entries), how, "tlb", "data", "entries")
	d.set(integer(entries), "tlb", "data", "ways")
	if d.node("tlb", "second") != nil {
		d.measured(integer(int(math.Round(last-first))), how, "tlb", "second", "latency")
	}
	if _, err := d.Read(d.Root); err != nil {
		d.Root = before
		return d.open(fmt.Sprintf("tlb.data: %v", err), nil)
	}
	return d.secondTLB()
}

// secondTLB finds the pages that the second level has, where the family has one: from where on loads of a chain walk. It keeps its
// ways, and has a power of two of sets.
func (d *Describer) secondTLB() error {
	if d.node("tlb", "second") == nil {
		return nil
	}
	m, err := d.Read(d.Root)
	if err != nil {
		return err
	}
	const fewest, most = 512, 6144
	times, pages := []float64(nil), []int(nil)
	for n := fewest; n <= most; n += n / 4 &^ 127 {
		v, err := d.chase(native.Chain{At: chainAt, Size: uint64(n) * 4096, Step: 4096, Skew: 64})
		if err != nil {
			return d.open(fmt.Sprintf("tlb.second, %d pages", n), err)
		}
		times, pages = append(times, v), append(pages, n)
	}
	at := parts(times)
	few, many := mean(times[:at]), mean(times[at:])
	if many < 1.5*few {
		return d.open(fmt.Sprintf("tlb.second: up to %d pages no load walks", most), nil)
	}
	ways := m.CPU.TLB2.Ways
	sets := math.Exp2(math.Round(math.Log2(float64(pages[at-1]) / float64(ways))))
	how := fmt.Sprintf("a chain of loads, one in each page: %.1f cycles up to %d pages, and %.1f in more; sets are a power of two", few, pages[at-1], many)
	d.measured(integer(ways*int(sets)), how, "tlb", "second", "entries")
	return nil
}
