package engine

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"kprobesim/internal/clock"
	h "kprobesim/internal/hostcode"
	"kprobesim/internal/hosttools"
)

// anyBlock is a block of random instructions, among them ones that the toy has not.
func anyBlock(rng *rand.Rand, c *toy) *timed {
	b := &timed{entered: rng.IntN(2) == 0}
	register := func() uint8 {
		if rng.IntN(2) == 0 {
			return c.absent
		}
		return uint8(rng.IntN(Registers - 1))
	}
	for range 1 + rng.IntN(12) {
		op := Op{
			Class: uint8(rng.IntN(len(toyISA().Classes))), Len: 4, S1: register(), S2: register(), S3: register(),
			Base: register(), Index: register(), O1: uint8(rng.IntN(40)), O2: uint8(rng.IntN(40)),
		}
		op.Flags = []uint16{0, 0, Loads, Stores, Loads | Stores, Loads | Pops, Stores | Pushes}[rng.IntN(7)]
		for _, f := range []uint16{newWindow, namesStack} {
			if rng.IntN(4) == 0 {
				op.Flags |= f
			}
		}
		if rng.IntN(6) == 0 {
			op.Also = rng.Uint64() >> 24 & rng.Uint64()
		}
		b.ops = append(b.ops, op)
	}
	if rng.IntN(2) == 0 {
		b.ops[len(b.ops)-1].Flags |= Ends | Branches
	}
	c.record(b)
	c.plan(b)
	return b
}

// anyState has the model be in the middle of something.
func anyState(rng *rand.Rand, c *Core) {
	now := ticks(1 << 20)
	about := func() ticks { return now + ticks(rng.IntN(3000)) - 1000 }
	c.dispatch, c.drained, c.fetched = now, about(), about()
	c.retire = now + ticks(rng.IntN(2000))
	c.entering, c.streams, c.moved = rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0
	c.loop.passes = []uint64{0, 1, 2, streaming}[rng.IntN(4)]
	c.course = []uint64{0, taken, taken, mispredicted, taken | mispredicted}[rng.IntN(5)]
	c.placed = rng.Uint64N(1000) + forwards
	c.at = rng.IntN(c.rob)
	c.group = groupState{at: now - ticks(rng.IntN(2))*30, floor: about(), place: rng.IntN(c.rob), filled: uint8(rng.IntN(int(c.width) + 1))}
	for _, all := range [][]ticks{c.ready[:], c.port[1:], c.ring[:c.rob]} {
		for i := range all {
			all[i] = about()
		}
	}
	c.ready[c.absent] = 0
	for i := range c.stores {
		c.stores[i] = storeTimes{about(), about(), rng.IntN(2) == 0}
	}
	for i := range c.acc {
		a := access{store: c.placed + rng.Uint64N(4) - 1}
		if rng.IntN(3) == 0 {
			a.miss, a.missW = ticks(rng.IntN(9000)), ticks(rng.IntN(9000))
		}
		if rng.IntN(60) == 0 {
			a.match, a.load = forwarded+uint8(rng.IntN(2)), uint8(rng.IntN(forwards))
		}
		c.acc[i] = a
	}
}

// modelOf is what placing a block changes.
func modelOf(c *Core) []any {
	return []any{c.timing, c.windowState, c.acc, c.accounts, c.course, c.step.Stalls}
}

// TestBlocksOfHostCode places random blocks from random states by their steps and by code of the host.
func TestBlocksOfHostCode(t *testing.T) {
	blocks, found := 0, 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 8))
		cfg := anyCore(rng)
		cfg.FrontEnd.StackEngine = !cfg.Groups.On && rng.IntN(2) == 0
		c := newToy(t, cfg, 1<<20, 0x1000)
		c.stack = 4
		for range 6 {
			b := anyBlock(rng, c)
			c.model.after = 0
			if b.steps == nil || !c.coded(b) {
				if c.model.asked && c.model.room == nil {
					hosttools.Unable(t, "executing code of the host", "it needs Linux on x86-64, and memory that may be executed")
				}
				continue
			}
			blocks++
			for range 20 {
				anyState(rng, &c.Core)
				c.cur = b
				byCode, bySteps := new(Core), new(Core)
				*byCode, *bySteps = c.Core, c.Core
				how := h.Do(b.code, unsafe.Pointer(byCode))
				if how == modelAsIs {
					found++
				}
				byCode.behindCode(b, how)
				bySteps.placeBySteps(b)
				if !reflect.DeepEqual(modelOf(byCode), modelOf(bySteps)) {
					t.Fatalf("seed %d, %+v: retired at %d, dispatch at %d, drained at %d, course %x by steps; %d, %d, %d, %x by code",
						seed, b.ops, bySteps.retire, bySteps.dispatch, bySteps.drained, bySteps.course,
						byCode.retire, byCode.dispatch, byCode.drained, byCode.course)
				}
			}
		}
	}
	if blocks < 500 || found < blocks/10 {
		t.Errorf("%d blocks had code, and %d times a load found a store: too few", blocks, found)
	}
}

// TestRoomForBlocksEnds has the room of blocks' code end again and again: code that is gone is made anew, and times are
// the same.
func TestRoomForBlocksEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	cfg, code := anyCore(rng), rounds(rng)
	cfg.FrontEnd.ComplexFirst = false
	for name, k := range cfg.Classes {
		k.InOrder, k.Serialize = false, false
		cfg.Classes[name] = k
	}
	var plain *toy
	for _, size := range []int{0, 1 << 12, 3 << 12} {
		c := toyAt(t, cfg, code)
		c.memo.pause, c.model = 1<<31, modelCode{asked: true, after: 2, of: 1}
		if size > 0 {
			if c.model.room = h.NewRoom(size); c.model.room == nil {
				hosttools.Unable(t, "executing code of the host", "it needs Linux on x86-64, and memory that may be executed")
			}
		}
		c.Run(clock.Ticks(soon))
		if plain == nil {
			plain = c
		}
		sameTime(t, "a small room", plain, c)
		if size == 1<<12 && c.model.of < 3 {
			t.Errorf("a room of %d bytes was emptied %d times", size, c.model.of-1)
		}
	}
}
