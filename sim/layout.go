package sim

import (
	"kprobesim/internal/clock"
	"kprobesim/internal/draw"
)

// Layout holds what differs between runs of one program on one machine although neither changes: where
// things lie in memory, what the predictors remember, and where in its period the timer stands. Such
// accidents move measured times (Mytkowicz and others, Producing wrong data without doing anything
// obviously wrong, ASPLOS 2009), so an experiment draws several layouts and says how far its figures
// spread. The zero Layout is the one without any draw.
//
// The image stays where it was linked, and the physical memory below it is contiguous: kernels map
// their text by large pages, whose size every cache here divides by, so another place would change
// no set.
type Layout struct {
	// Stack is how many bytes lower than without it the frames begin that Go gives to functions of the
	// guest, and the stacks of user tasks. It is a multiple of stackUnit.
	Stack uint64
	// Heap is how many bytes behind the beginning of its page the first small object lies. It is a
	// multiple of heapUnit.
	Heap uint64
	// Pages is the stream of the physical pages that allocations get; 0 takes the lowest free ones.
	Pages draw.Key
	// Slots and Detours are how many out-of-line slots and detour buffers are passed over before the first
	// one is handed out. Numbers beyond a pool begin again at its start.
	Slots, Detours uint64
	// Predictor is the stream of what the branch predictors hold at the start, history included; 0 is
	// a predictor without any branch.
	Predictor draw.Key
	// Phase is the share of a timer's period, in units of 2^-16, that passes between the start of the
	// timer and what is measured.
	Phase uint16
}

// Units and bounds of what is drawn, in bytes. A stack stays as aligned as any calling convention wants it. Stacks
// and small objects begin anywhere in a range that holds every offset in a cache line and several lines;
// nested calls from Go may use stackRange several times, which a kernel stack of 8 KiB has room for.
const (
	stackUnit  = 16
	stackRange = 512
	heapUnit   = 64
	heapRange  = 4096
)

// DrawLayout draws the layout of one replicate of an experiment with a seed. Each part has a stream of
// its own. Replicate 0 of seed 0 is the zero Layout, so that an experiment without either key
// measures what it always did.
func DrawLayout(seed uint64, replicate int) Layout {
	if seed == 0 && replicate == 0 {
		return Layout{}
	}
	key := func(name string) draw.Key { return draw.NewKey(seed, replicate, name) }
	return Layout{
		Stack:     key("stack").Below(stackRange/stackUnit) * stackUnit,
		Heap:      key("heap").Below(heapRange/heapUnit) * heapUnit,
		Pages:     key("pages"),
		Slots:     key("slots").Below(1 << 32),
		Detours:   key("detours").Below(1 << 32),
		Predictor: key("predictor"),
		Phase:     uint16(key("phase").Sequence(0).Uint64()),
	}
}

// Wait returns the drawn share of a timer's period.
func (l Layout) Wait(period clock.Ticks) clock.Ticks { return period * clock.Ticks(l.Phase) >> 16 }
