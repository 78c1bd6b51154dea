package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	h "kprobesim/internal/hostcode"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// Pinned implements Emitter.
func (c *toy) Pinned() []Pin { return []Pin{{Guest: 8, Host: h.R8}, {Guest: 20, Host: h.R9}} }

// Materialize implements Emitter: it counts the times that code was left.
func (c *toy) Materialize() { c.exits++ }

// Emit implements Emitter.
func (c *toy) Emit(g *Code, block []Insn[toy, toyInsn], i int) bool {
	in := &block[i].Operands
	to := g.Next() + uint64(4*int64(in.by))
	switch in.op {
	case toyNop:
	case toyAdd:
		toyTake(g, h.Main, in.b)
		g.OpImm(h.Add, 8, h.Main, int32(in.c))
		toyGive(g, in.a)
	case toyLoad, toyStore:
		toyTake(g, h.Main, in.b)
		g.OpImm(h.Add, 8, h.Main, int32(in.c))
		if in.op == toyStore {
			g.Writable(in.bytes())
			toyTake(g, h.Spare, in.a)
			g.Store(in.bytes(), h.At(h.Main, 0), h.Spare)
			break
		}
		g.Readable(in.bytes())
		g.Load(in.bytes(), h.Main, h.At(h.Main, 0))
		toyGive(g, in.a)
	case toyJump:
		g.Goto(to)
	case toyCount:
		toyTake(g, h.Main, in.a)
		g.OpImm(h.Sub, 8, h.Main, 1)
		toyGive(g, in.a)
		g.Branch(h.NotEqual, to)
	case toyCall:
		g.Const(h.Main, g.Next())
		toyGive(g, in.a)
		g.Called()
		g.Goto(to)
	case toyReturn, toyIndirect:
		toyTake(g, h.Main, in.a)
		if in.op == toyReturn {
			g.Return()
		} else {
			g.Indirect()
		}
	default:
		return false
	}
	return true
}

// toyTake has a host register take a guest register's value.
func toyTake(g *Code, to h.Reg, r uint8) {
	if p := g.Pin(r); p != h.NoReg {
		g.Mov(8, to, p)
		return
	}
	g.Load(8, to, g.Register(r))
}

// toyGive writes Main to a guest register. The host's flags stay.
func toyGive(g *Code, r uint8) {
	if p := g.Pin(r); p != h.NoReg {
		g.Mov(8, p, h.Main)
		return
	}
	g.Store(8, g.Register(r), h.Main)
}

// needHostCode skips a test where the host has no generated code.
func needHostCode(t *testing.T) {
	if h.NewRoom(1) == nil {
		hosttools.Unable(t, "executing code of the host", "it needs Linux on x86-64, and memory that may be executed")
	}
}

// routinesOf is a program whose loop calls routines. Each calls the one before it, and so they go deeper than
// most return stacks. Some return by a computed branch, which leaves the return stack as it is.
func routinesOf(rng *rand.Rand) [][4]byte {
	code := [][4]byte{{}}
	start := 0
	for depth := range uint8(6) {
		begin := len(code)
		if depth > 0 {
			code = append(code, [4]byte{toyAdd, 9 + depth, 0, 1 + uint8(rng.IntN(3))})
			again := len(code)
			code = append(code, randomBody(rng, 6)...)
			code = append(code, call(23+depth, int16(start-len(code)-1)))
			code = append(code, randomBody(rng, 6)...)
			code = append(code, count(9+depth, int16(again-len(code)-1)))
		}
		code = append(code, randomBody(rng, 12)...)
		code = append(code, [4]byte{[]byte{toyReturn, toyReturn, toyReturn, toyIndirect}[rng.IntN(4)], 24 + depth})
		start = begin
	}
	code[0] = jump(int16(len(code) - 1))
	code = append(code, [4]byte{toyAdd, 1, 0, 12})
	again := len(code)
	code = append(code, call(29, int16(start-len(code)-1)))
	code = append(code, unbalanced(uint8(1+rng.IntN(7)), uint8(1+rng.IntN(7)))...)
	for range 2 { // loops that a loop buffer may hold
		code = append(code, [4]byte{toyAdd, 19, 0, 7})
		inner := len(code)
		code = append(code, randomBody(rng, 20)...)
		code = append(code, count(19, int16(inner-len(code)-1)))
	}
	return append(code, count(1, int16(again-len(code)-1)), [4]byte{toyHalt})
}

// unbalanced calls from one place so many times, and returns to behind it as often as another number says: an empty return
// stack predicts nothing, whatever it had.
func unbalanced(calls, returns uint8) [][4]byte {
	return [][4]byte{
		{toyAdd, 16, 0, calls},
		{toyAdd, 17, 0, returns},
		call(18, 1),
		jump(2),
		count(16, -3),
		{toyReturn, 18},
		count(17, -2),
	}
}

// randomBody is straight code with accesses that meet each other, and with some that are not aligned.
func randomBody(rng *rand.Rand, most int) (code [][4]byte) {
	wide := func() uint8 { return 20 | narrow*uint8(rng.IntN(2)) }
	for range rng.IntN(most) {
		a, b, at := uint8(2+rng.IntN(7)), uint8(2+rng.IntN(7)), uint8(8*rng.IntN(6)+rng.IntN(4)/3*4)
		code = append(code, [][4]byte{
			{toyNop},
			{toyAdd, a, b, at},
			{toyLoad, a, wide(), at + uint8(rng.IntN(4)/3*2)},
			{toyStore, a, wide(), at},
			{toyLoad, a, wide(), at},
			{toyAdd, 20, 20, []uint8{8, 136}[rng.IntN(2)]},
			jump(0),
			{toyTime, 22},
			{toyFault},
		}[min(rng.IntN(75), 71)%9])
	}
	return code
}

// TestCodeChangesNothing runs random programs by host code, with every way to remember, at once and in turns:
// registers, time, counters and the model's state are as by reference functions.
func TestCodeChangesNothing(t *testing.T) {
	needHostCode(t)
	exits := 0
	for seed := range uint64(hosttools.Part(t, "random programs as code of the host", 60, 20)) {
		rng := rand.New(rand.NewPCG(seed, 8))
		cfg := anyCore(rng)
		cfg.L1D.Size, cfg.L1D.Ways = 1<<10, 4
		cfg.Predictor.ReturnStack = []int{1, 2, 4, 16}[rng.IntN(4)]
		code := routinesOf(rng)
		for _, untimed := range []bool{false, true} {
			var plain *toy
			for i, way := range memos {
				c := toyAt(t, cfg, code)
				way.set(&c.Core)
				c.hot = 1
				if untimed {
					c.Untimed(7, soon)
				}
				if i == 0 {
					c.emitter = nil
				}
				turns := rand.New(rand.NewPCG(seed, 9))
				for !c.Halted {
					switch {
					case i%2 == 0:
						c.Run(soon)
					case i != 5 && turns.IntN(4) == 0:
						c.Steps(1+turns.IntN(50), soon)
					default:
						c.Run(c.Now() + 60*clock.Ticks(turns.IntN(3000)))
					}
				}
				if plain == nil {
					plain = c
				}
				if untimed { // stalls of what has no time are nothing to compare
					c.step = plain.step
				}
				sameTime(t, fmt.Sprintf("seed %d, untimed %v, %s", seed, untimed, way.name), plain, c)
				exits += c.exits
			}
		}
	}
	require.That(t, exits != 0, "no code was executed")
}

// TestCodeFindsEdges has several blocks begin in one state, by edges with as many inputs as loads find a store. Code finds all of them: it is not
// left for the engine once it knows the loop.
func TestCodeFindsEdges(t *testing.T) {
	needHostCode(t)
	cfg := toyConfig(cpus.Window, 64)
	cfg.Classes["nop"] = cpus.Cost{Serialize: true}
	code := [][4]byte{{toyAdd, 1, 0, 250}}
	for range 3 {
		for loads := range 6 {
			code = append(code, [4]byte{toyStore, 3, 20, 0})
			code = append(code, slices.Repeat([][4]byte{{toyLoad, 2, 20, 0}}, loads)...)
			code = append(code, [4]byte{toyNop}, jump(1), [4]byte{toyHalt})
		}
	}
	code = append(code, count(1, int16(-len(code))), [4]byte{toyHalt})
	c := toyAt(t, cfg, code)
	c.hot, c.memo.runs = 1, 0
	c.goFrom(0x10f80)
	known := c.exits
	c.goFrom(0x10f80)
	require.That(t, known > 12 && c.exits-known < 200, "code was left %d times, and %d times when it knew the loop", known, c.exits-known)
}

// TestCodeIsEnteredAgain has a block with an instruction that has no code: what stands behind it is executed by code again.
func TestCodeIsEnteredAgain(t *testing.T) {
	needHostCode(t)
	for _, each := range []clock.Ticks{0, 7} {
		c := toyAt(t, toyConfig(cpus.Window, 64), nil)
		nop := [4]byte{toyNop}
		toyWrite(c, 0x10f80, [4]byte{toyAdd, 1, 0, 250}, nop, nop, c.do(0, func() {}), nop, nop, count(1, -6), [4]byte{toyHalt})
		c.hot = 1
		c.Untimed(each, soon)
		c.goFrom(0x10f80)
		require.That(t, c.exits > 200 && c.nops < 20, "code was left %d times, and functions of %d instructions with code were called", c.exits, c.nops)
	}
}

// byBoth runs a program by reference functions and by host code, with a cost model and without one, where code leads to
// code as soon as it can. It compares what they come to. Each is prepared by a function.
func byBoth(t *testing.T, cfg *cpus.Config, prepare func(c *toy)) (quick *toy) {
	t.Helper()
	needHostCode(t)
	for _, each := range []clock.Ticks{0, 7} {
		plain := newToy(t, cfg, 1<<20, 0x10000)
		quick = newToy(t, cfg, 1<<20, 0x10000)
		quick.hot, quick.memo.runs, plain.emitter = 1, 0, nil
		for _, c := range []*toy{plain, quick} {
			prepare(c)
			c.Untimed(each, soon)
			c.Run(soon)
		}
		require.That(t, quick.exits != 0 && quick.Halted && plain.asked == quick.asked, "code was left %d times, halted is %v; %d translations, want %d", quick.exits, quick.Halted, quick.asked, plain.asked)
		sameTime(t, "host code", plain, quick)
	}
	return quick
}

// TestCodeForwards has chains through a store and a load of all, some or other bytes of it, on cores that hand over different ones.
func TestCodeForwards(t *testing.T) {
	for name, change := range map[string]func(cfg *cpus.Config){
		"what begins where a store does": func(cfg *cpus.Config) { cfg.Events["forward_longer"] = 0 },
		"and its first bytes":            func(cfg *cpus.Config) { cfg.Events["forward_longer"] = 9 * clock.PerCycle },
		"any of its bytes":               func(cfg *cpus.Config) { cfg.BackEnd.ForwardsInside = true },
		"but no parts of words": func(cfg *cpus.Config) {
			cfg.BackEnd.ForwardsInside, cfg.BackEnd.StoreBlock, cfg.BackEnd.StoreWord, cfg.BackEnd.Renames = true, 32, 4, []string{"load"}
		},
		"by the same registers": func(cfg *cpus.Config) {
			cfg.BackEnd.ForwardsInside, cfg.BackEnd.Renames, cfg.BackEnd.RenamesSame = true, []string{"load"}, true
		},
	} {
		cfg := pipedCore()
		cfg.Events["store_forward"] = 4 * clock.PerCycle
		change(cfg)
		t.Run(name, func(t *testing.T) {
			byBoth(t, cfg, func(c *toy) {
				var code [][4]byte
				for at := range uint8(18) {
					for widths := range uint8(4) {
						store, load := [4]byte{toyStore, 3, 20 | widths&1*narrow, 8}, [4]byte{toyLoad, 3, 20 | widths>>1*narrow, at}
						code = append(code, [4]byte{toyAdd, 1, 0, 40}, store, load, count(1, -3))
					}
				}
				toyWrite(c, 0x10000, append(code, [4]byte{toyHalt})...)
				c.R[20] = 0x8000
			})
		})
	}
}

// TestCodeOfLoopsByJumps has a loop that a buffer holds end by a branch without a condition.
func TestCodeOfLoopsByJumps(t *testing.T) {
	cfg := toyConfig(cpus.Window, 64)
	cfg.FrontEnd.LoopBuffer, cfg.FrontEnd.LoopWindows = 16, 4
	byBoth(t, cfg, func(c *toy) {
		toyWrite(c, 0x10000, [4]byte{toyAdd, 1, 0, 60}, [4]byte{toyNop}, count(1, 1), jump(1), jump(-4), [4]byte{toyHalt})
	})
}

// toyWrite writes instructions to memory.
func toyWrite(c *toy, at uint64, code ...[4]byte) {
	for i, in := range code {
		c.Memory.Write(at+uint64(4*i), in[:])
	}
}

// TestCodeOfReplacedBytes has a loop write a routine anew between some calls: no way leads to its old code.
func TestCodeOfReplacedBytes(t *testing.T) {
	c := byBoth(t, toyConfig(cpus.Window, 64), func(c *toy) {
		toyWrite(c, 0x10000, [4]byte{toyAdd, 7, 0, 3}, call(29, 1022), count(7, -2), [4]byte{toyStore, 2, 20, 0},
			[4]byte{toyAdd, 7, 0, 3}, call(29, 1018), count(7, -2), [4]byte{toyStore, 3, 20, 0}, count(1, -9), [4]byte{toyHalt})
		toyWrite(c, 0x11000, [4]byte{toyAdd, 5, 5, 100}, [4]byte{toyReturn, 29})
		c.R[1], c.R[20] = 40, 0x11000
		c.R[2] = uint64(toyAdd) | 5<<8 | 5<<16 | 1<<24 | toyReturn<<32 | 29<<40
		c.R[3] = uint64(toyAdd) | 5<<8 | 5<<16 | 10<<24 | toyReturn<<32 | 29<<40
	})
	if want := uint64(3 * (100 + 39*10 + 40*1)); c.R[5] != want {
		t.Errorf("the routine has added %d, want %d", c.R[5], want)
	}
}

// TestCodeOfContexts has a loop call one address from one place in two translation contexts.
func TestCodeOfContexts(t *testing.T) {
	c := byBoth(t, toyConfig(cpus.Window, 64), func(c *toy) {
		toyWrite(c, 0x10000, [4]byte{toyAdd, 9, 0, 0}, [4]byte{toyAdd, 10, 0, 2}, [4]byte{toySwitch, 0, 9, 0}, [4]byte{toyAdd, 7, 0, 3},
			call(29, 0x1000-5), count(7, -2), [4]byte{toyAdd, 9, 9, 1}, count(10, -6), count(1, -9), [4]byte{toyHalt})
		c.above = 0x14000
		for i, add := range []uint8{1, 50} {
			toyWrite(c, 0x14000+uint64(i)*toyApart, [4]byte{toyAdd, 5, 5, add}, jump(30))
			toyWrite(c, 0x14080+uint64(i)*toyApart, [4]byte{toyAdd, 6, 6, add}, [4]byte{toyReturn, 29})
		}
		c.R[1] = 40
	})
	if want := uint64(3 * 40 * 51); c.R[5] != want || c.R[6] != want {
		t.Errorf("the routine has added %d and %d, want %d", c.R[5], c.R[6], want)
	}
}

// TestCodeOfManyPages has a loop go between two pages and then over more than the TLB has entries: each is translated as
// often as by reference functions, because a translation that is replaced voids the ways to its page.
func TestCodeOfManyPages(t *testing.T) {
	cfg := toyConfig(cpus.Window, 64)
	cfg.ITLB.Entries = 4
	c := byBoth(t, cfg, func(c *toy) {
		for page := range uint64(5) {
			toyWrite(c, 0x10000+page<<pageShift, [4]byte{toyAdd, 5, 5, 1}, jump(1022))
		}
		toyWrite(c, 0x10004, count(7, 0x3fe), jump(0x7fd))
		toyWrite(c, 0x11004, jump(-0x402))
		toyWrite(c, 0x15000, [4]byte{toyAdd, 7, 0, 4}, count(1, -0x1402), [4]byte{toyHalt})
		c.buffered, c.R[1], c.R[7] = true, 30, 4
	})
	if c.asked < 6*29 || c.R[5] != 30*(4+3+3) {
		t.Errorf("%d translations of 6 pages in 30 rounds, with 4 entries; %d additions", c.asked, c.R[5])
	}
}
