package engine

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

var update = flag.Bool("update", false, "write testdata/effects.txt anew")

// TestEffects holds times, counters and stalls of random programs on random cores, alone and of two CPUs that fight for
// lines. Other tests say what is right. This one says that something else costs more or less than before.
func TestEffects(t *testing.T) {
	defer func(was bool) { host.Code.Off = was }(host.Code.Off)
	e := &cpustest.Effects{}
	for seed := range uint64(400) {
		if seed%8 == 0 {
			e.Group(fmt.Sprint("cores from ", seed))
		}
		host.Code.Off = seed%2 == 1
		for _, c := range ran(seed, nil) {
			e.Note([]any{c.R, c.Now(), c.Counts, c.step.Stalls, frozen(c)})
			if host.Code.Off { // what the future does not depend on is seldom as code leaves it
				c.Engine.Keep()
				e.Keep(&c.Engine)
			}
		}
	}
	e.Compare(t, *update)
}

// TestWaysOfAnything holds what TestEffects' programs come to, by whatever way the host executes them: with other memos, by functions, in
// other slices, observed for a while, or with code forgotten in the middle.
func TestWaysOfAnything(t *testing.T) {
	memo, off := host.Memo, host.Code.Off
	again := func() { host.Memo, host.Code.Off = memo, off }
	defer again()
	for seed := range uint64(hosttools.Part(t, "random programs, by nine ways", 400, 100)) {
		var want []string
		for _, way := range []struct {
			name    string
			set     func()
			between func(c *toy, odd bool)
		}{
			{"as ever", func() {}, nil},
			{"without a memo, by functions", func() { host.Memo.Blocks, host.Code.Off = 0, true }, nil},
			{"with a small memo, by functions", func() { host.Memo.Blocks, host.Memo.Runs, host.Code.Off = 1<<6, 0, true }, nil},
			{"with an early memo", func() { host.Memo.Runs = 1 }, nil},
			{"in slices", func() {}, func(*toy, bool) {}},
			{"kept", func() {}, func(c *toy, odd bool) { c.Engine.Keep() }},
			{"booked", func() {}, func(c *toy, odd bool) { c.Counters() }},
			{"decoded again", func() {}, func(c *toy, odd bool) {
				if odd {
					c.ForgetCode()
				}
			}},
			{"observed", func() {}, func(c *toy, odd bool) {
				if c.Observe(nil); odd {
					c.Observe(nobody{})
				}
			}},
		} {
			way.set()
			var got []string
			for _, c := range ran(seed, way.between) {
				c.Counters()
				got = append(got, fmt.Sprintf("%+v", []any{c.R, c.Now(), c.Counts, frozen(c)}))
			}
			if again(); want == nil {
				want = got
			}
			require.That(t, slices.Equal(got, want), "seed %d, %s:\n%s\nis not\n%s", seed, way.name, got, want)
		}
	}
}

// ran is the CPUs of a machine that has run a program drawn by a seed. One that is alone runs in slices if there is something to do between
// them, every other time at an odd one; of several each turn is one.
func ran(seed uint64, between func(c *toy, odd bool)) []*toy {
	rng := rand.New(rand.NewPCG(seed, 8))
	cfg, m, d := anyCore(rng), mmu.NewMemory(1<<20), mmu.NewDirectory(2)
	if seed%8 == 5 {
		cfg.Model = cpus.Throughput
	}
	if seed%16 == 2 {
		cfg.L1I.Incoherent = true
	}
	if seed%8 == 6 {
		cfg.L1D.WriteThrough, cfg.L1D.WriteAround = true, true
		if seed%3 != 0 {
			d = nil // one CPU
		}
	}
	all := []*toy{toyBeside(m, cfg, 0, nil, d)}
	if seed%3 == 0 {
		all = append(all, toyBeside(m, cfg, 1, all[0], d))
	}
	code := apart(rng, rounds(rng))
	for _, c := range all {
		c.anything(seed, uint64(c.Num))
	}
	for i := range code {
		if code[i][0] == toyAdd && code[i][1] >= 8 && code[i][1] < 14 && rng.IntN(2) == 0 {
			flags := []uint16{0, Loads, Stores, Loads | Stores | Locked, Loads | Stores, Ends}[rng.IntN(6)]
			code[i] = [4]byte{toyDo, uint8(rng.IntN(len(all[0].does))), uint8(flags), uint8(flags >> 8)}
		}
	}
	for i, in := range code {
		m.Write(0x10f80+uint64(4*i), in[:])
	}
	for i, c := range all {
		c.R[PC], c.R[20] = 0x10f80, 256<<10+uint64(i)*24
	}
	slice := rand.New(rand.NewPCG(seed, 99))
	for until := clock.Ticks(0); !all[0].Halted || !all[len(all)-1].Halted; until += clock.PerCycle * clock.Ticks(rng.IntN(2000)) {
		for _, c := range all {
			for between != nil && len(all) == 1 && !c.Halted && c.Now() < until {
				c.Run(min(until, c.Now()+clock.PerCycle*clock.Ticks(slice.IntN(900))))
				between(c, slice.IntN(2) == 0)
			}
			if c.Run(until); between != nil {
				between(c, slice.IntN(2) == 0)
			}
			if rng.IntN(8) == 0 {
				c.EnterException(cpus.OtherException, clock.Ticks(rng.IntN(900)), "any")
				c.LeaveException()
			}
		}
	}
	return all
}

// anything has instructions depend on anything, and gives toyDo what cores offer beside plain accesses. Two CPUs have the
// same of the same seed, and draw their own operands.
func (c *toy) anything(seed, own uint64) {
	c.change = func(in *toyInsn, op *Op) {
		h := rand.New(rand.NewPCG(seed, uint64(in.op)<<32|uint64(in.a)<<24|uint64(in.b)<<16|uint64(uint16(in.by)))).Uint64()
		any := func(r *uint8, odds uint64) {
			if h%odds == 0 {
				*r = uint8(h >> 8 & 15)
			}
			h = h>>12 | h<<52
		}
		any(&op.S2, 3)
		any(&op.S3, 3)
		any(&op.O2, 6)
		any(&op.Index, 6)
		if op.Flags&(Loads|Stores) != 0 {
			op.Flags |= uint16(h&1)*Complex | uint16(h>>1&1)*Indexed
		} else if op.Flags&Ends == 0 && h&31 == 0 {
			op.Flags |= Clears
		}
	}
	if seed%4 == 0 {
		c.also[toyStore], c.also[toyLoad] = Pushes, Pops
	}
	rng := rand.New(rand.NewPCG(seed, 9+own))
	at := func(size int) uint64 {
		return 256<<10 + uint64(rng.IntN(96)*4*(1+rng.IntN(2)*rng.IntN(40))+rng.IntN(size))
	}
	row := uint64(0)
	words := func() []uint32 { return []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9}[:1+rng.IntN(9)] }
	c.does = []func(){
		func() { c.LoadWords(at(1), words()) },
		func() { c.StoreWords(at(1), words()) },
		func() { c.LoadWords(at(1)|pageBytes-8, words()) },
		func() { c.StoreWords(at(1)|pageBytes-8, words()) },
		func() { Load[uint32](&c.Core, at(4)) },
		func() { Load[uint8](&c.Core, at(4)) },
		func() { Store(&c.Core, at(4), uint32(rng.Uint32())) },
		func() { Store(&c.Core, at(4), uint8(rng.Uint32())) },
		func() { Load[uint64](&c.Core, at(64)) },
		func() { Store(&c.Core, at(64), rng.Uint64()) },
		func() { row += 8; Store(&c.Core, 300<<10+row&0x7ff, row) },
		func() { row += 8; Store(&c.Core, 300<<10+row&0x7ff, row) },
		func() { row += 8; Load[uint64](&c.Core, 300<<10+(row*5)&0x7ff) },
		func() { v, _ := Load[uint64](&c.Core, at(1)); Store(&c.Core, at(1), v+1) },
		func() { c.Settle(); c.Drain(clock.Ticks(rng.IntN(200))) },
		func() { c.Settle(); c.DrainAccesses() },
		func() { c.repeated(uint64(rng.IntN(20)), &Pace{Class: toyDo}) },
		func() { StoreElements(&c.Core, at(1), uint32(1), uint64(rng.IntN(20)), &Pace{Class: toyDo}) },
		func() { c.ForgetData() },
		func() { c.Settle() },
		func() { c.Settle(); c.Advance(clock.Ticks(rng.IntN(500))) },
		func() { c.Called(c.R[PC]) },
		func() { c.Reserve(at(1)&^7, 8) },
		func() { c.Reserved(at(1)&^7, 8) },
	}
}
