package sim

import (
	"fmt"
	"testing"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/image/imagetest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// A machine without replicates has the first replicate of seed 0; every other one differs from it
// and from its neighbours in each part.
func TestDrawLayout(t *testing.T) {
	require.Equal(t, DrawLayout(0, 0), (Layout{}), "replicate 0 of seed 0")
	stacks, heaps, slots, detours, phases := map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}, map[uint16]bool{}
	keys := map[any]bool{}
	var upper Layout // numbers in the upper half of their range
	for seed := range uint64(2) {
		for i := range 50 {
			l := DrawLayout(seed, i)
			require.Need(t, l == DrawLayout(seed, i), "seed %d, replicate %d: drawn twice, and different", seed, i)
			require.That(t, l.Stack < stackRange && l.Stack%stackUnit == 0 && l.Heap < heapRange && l.Heap%heapUnit == 0, "seed %d, replicate %d: %+v", seed, i, l)
			upper.Stack, upper.Heap = max(upper.Stack, l.Stack), max(upper.Heap, l.Heap)
			upper.Slots, upper.Detours, upper.Phase = max(upper.Slots, l.Slots), max(upper.Detours, l.Detours), max(upper.Phase, l.Phase)
			stacks[l.Stack], heaps[l.Heap], phases[l.Phase] = true, true, true
			slots[l.Slots], detours[l.Detours] = true, true
			keys[l.Pages], keys[l.Predictor] = true, true
		}
	}
	if len(stacks) < 25 || len(heaps) < 40 || len(slots) < 100 || len(detours) < 100 || len(phases) < 99 || len(keys) != 199 {
		t.Errorf("%d stacks, %d heaps, %d slots, %d detours, %d phases and %d streams from 100 draws",
			len(stacks), len(heaps), len(slots), len(detours), len(phases), len(keys))
	}
	require.That(t, upper.Stack >= stackRange/2 && upper.Heap >= heapRange/2 && upper.Slots>>31 == 1 && upper.Detours>>31 == 1 && upper.Phase>>15 == 1,
		"nothing is drawn from the upper half: %+v", upper)
	require.Equal(t, fmt.Sprintf("%x", DrawLayout(3, 2)), "{c0 d00 a465f32a52ea221b 19ce0ce5 376da6c5 36b612b7ce9fcf6b 2dce}", "replicate 2 of seed 3") // a number keeps its meaning
	w := (Layout{Phase: 1 << 14}).Wait(1000 * clock.PerCycle)
	require.That(t, w == 250*clock.PerCycle, "a quarter of 1000 cycles is %d ticks", w)
}

// Drawn heaps hand out all of their memory, each byte once; small objects lie together from a drawn offset
// on, and pages lie anywhere.
func TestDrawnHeap(t *testing.T) {
	const lo, hi, base = 0x100000, 0x180000, 0xc0000000
	for i := range 20 {
		l := DrawLayout(0, i)
		m := &Machine{mem: mmu.NewMemory(1 << 21), heap: newHeap(lo, hi, base, l)}
		first, err := m.Alloc(64, 64)
		require.That(t, err == nil && (first-base)%pageBytes == l.Heap, "replicate %d: the first object is at %#x, %v; want offset %#x", i, first, err, l.Heap)
		second, _ := m.Alloc(64, 64)
		require.That(t, second == first+64 || i != 0, "the second object is at %#x behind one at %#x", second, first)
		seen, n, order := map[uint64]bool{}, 0, uint64(0)
		for {
			at, err := m.Alloc(pageBytes, pageBytes)
			if err != nil {
				break
			}
			require.Need(t, !seen[at] && at-base >= lo && at-base < hi && at%pageBytes == 0, "replicate %d: page %#x", i, at)
			seen[at] = true
			n++
			order = order*31 + at/pageBytes
		}
		require.That(t, i != 3 || order == 0x648fcf0465c159de, "the pages of replicate 3 come in the order %#x", order)
		want := (hi-lo)/pageBytes - 2
		require.That(t, n >= want && n <= want+1, "replicate %d: %d pages beside two small objects, want %d or one more", i, n, want)
		require.That(t, seen[base+lo] || i <= 0 || first == base+lo, "replicate %d: the first page was not handed out", i)
	}
	m := &Machine{mem: mmu.NewMemory(1 << 21), heap: newHeap(lo, lo+pageBytes/2, base, Layout{Heap: heapUnit})}
	first, err := m.Alloc(64, 64)
	require.That(t, err == nil && first == base+lo, "where no page is free the first object is at %#x, %v", first, err)
	a := newHeap(lo, hi, base, Layout{})
	if from, to := a.page(), a.page(); from != lo || to != lo || a.begin() != lo {
		t.Errorf("without a draw pages are sought from %#x and %#x, objects from %#x", from, to, a.begin())
	}
}

// TestTimerClock gives timers the clock that the instruction set fixes, one that is asked for, or a share of the CPU's.
func TestTimerClock(t *testing.T) {
	for _, x := range []struct{ asked, fixed, cycles, want int64 }{ // want 0 is an error
		{0, 0, 0, 1000},
		{0, 0, 1, 1000},
		{0, 0, 8, 125},
		{7, 0, 8, 7},
		{1, 0, 0, 1},
		{-1, 0, 0, 1000},
		{0, 24, 0, 24},
		{24, 24, 0, 24},
		{1, 1, 8, 1},
		{23, 24, 0, 0},
		{1, 24, 0, 0},
		{-1, 24, 0, 24},
		{2, 1, 0, 0},
	} {
		cfg := Config{ISA: &cpus.ISA{TimerHz: x.fixed, TimerCycles: x.cycles}, CPU: cpus.Config{Hz: 1000}, TimerHz: x.asked}
		err := cfg.setTimer()
		require.That(t, (err != nil) == (x.want == 0) && (err != nil || cfg.TimerHz == x.want), "%+v: %d Hz, %v", x, cfg.TimerHz, err)
	}
}

// TestNamesInProfiles: code of user mode has the name of its program, where one is known.
func TestNamesInProfiles(t *testing.T) {
	im := require.Must(image.Load("test.elf", imagetest.Kernel().Build()))(t)
	for user, want := range map[string]string{"program": "program", "": fmt.Sprintf("[%#x]", uint64(userCode))} {
		name, _ := (&profileBuilder{im: im, user: user}).function(userCode)
		require.Equal(t, name, want, "code of user mode in a profile with %q", user)
	}
	for pc, want := range map[uint64]string{imagetest.Base + 0x40: "inner true true", imagetest.Base + 0x48: "inner false true", imagetest.Base + 0x1010: "[.slots] false false", 5: "[0x5] false false"} {
		code, start, named := (&stacks{im: im}).function(pc)
		name, _ := (&profileBuilder{im: im}).function(code)
		require.Equal(t, fmt.Sprint(name, " ", start, " ", named), want, "code at %#x", pc)
	}
}
