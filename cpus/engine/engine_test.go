package engine

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

const soon = 1 << 50

// models runs a test under both cost models, with lines of 64 and of 128 bytes.
func models(t *testing.T, f func(t *testing.T, cfg *cpus.Config)) {
	for _, model := range []string{cpus.Throughput, cpus.Window} {
		for _, line := range []int{64, 128} {
			t.Run(model+map[int]string{64: "/64", 128: "/128"}[line], func(t *testing.T) { f(t, toyConfig(model, line)) })
		}
	}
}

// program is loops over both pages of code, with loads and stores, a few faults and a halt.
func program(rng *rand.Rand) [][4]byte {
	var code [][4]byte
	for loop := range 12 {
		r := uint8(1 + loop%6)
		code = append(code, [4]byte{toyAdd, r, 0, 3})
		start := len(code)
		for range 1 + rng.IntN(25) {
			a, b := uint8(8+rng.IntN(8)), uint8(8+rng.IntN(8))
			code = append(code, [][4]byte{
				{toyNop},
				{toyAdd, a, b, uint8(rng.IntN(256))},
				{toyLoad, a, 20, uint8(rng.IntN(250))},
				{toyStore, a, 20, uint8(rng.IntN(250))},
				{toyFault},
			}[min(rng.IntN(30), 24)%5])
		}
		code = append(code, count(r, int16(start-len(code)-1)))
	}
	return append(code, [4]byte{toyHalt})
}

// toyAt makes a CPU that runs a program across a page boundary, with data at 256 KiB.
func toyAt(t *testing.T, cfg *cpus.Config, code [][4]byte) *toy {
	c := newToy(t, cfg, 1<<20, 0x10f80, code...)
	c.R[20] = 256 << 10
	return c
}

// same compares what two CPUs have come to.
func same(t *testing.T, what string, a, b *toy) {
	t.Helper()
	a.Book()
	b.Book()
	if a.R != b.R || a.Now() != b.Now() || a.faults != b.faults || a.Counts.Instructions != b.Counts.Instructions ||
		a.Counts.Time != b.Counts.Time || a.Counts.Mispredicts != b.Counts.Mispredicts ||
		a.Counts.L1IMisses != b.Counts.L1IMisses || a.Counts.L1DMisses != b.Counts.L1DMisses {
		t.Fatalf("%s: at %#x after %d ticks and %d instructions, want %#x, %d and %d", what,
			b.R[PC], b.Now(), b.Counts.Instructions, a.R[PC], a.Now(), a.Counts.Instructions)
	}
}

type nobody struct{}

func (nobody) Step(*cpus.Step) {}

// TestWaysToRunAgree runs one program whole, in turns of a few instructions, observed, and with decoded
// code that is forgotten again and again: registers, time and counters are the same.
func TestWaysToRunAgree(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		for seed := range uint64(30) {
			rng := rand.New(rand.NewPCG(seed, 1))
			code := program(rng)
			whole := toyAt(t, cfg, code)
			e := whole.Run(soon)
			require.Need(t, e.Reason == cpus.Halted, "stopped for %+v", e)
			turns, forgetful, observed := toyAt(t, cfg, code), toyAt(t, cfg, code), toyAt(t, cfg, code)
			for !turns.Halted {
				turns.Steps(1+rng.IntN(9), soon)
			}
			for !forgetful.Halted {
				forgetful.Steps(1+rng.IntN(40), soon)
				forgetful.ForgetCode()
			}
			observed.Observe(nobody{})
			observed.Run(soon)
			same(t, "in turns", whole, turns)
			same(t, "with code forgotten", whole, forgetful)
			same(t, "observed", whole, observed)
		}
	})
}

// steps keeps what an observer sees.
type steps []cpus.Step

func (o *steps) Step(s *cpus.Step) {
	c := *s
	c.Code = slices.Clone(s.Code)
	*o = append(*o, c)
}

// TestLateObserver attaches an observer of the second CPU in the middle of a program: it sees what one sees that was there
// from the beginning.
func TestLateObserver(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		code := program(rand.New(rand.NewPCG(1, 1)))
		var all, late steps
		for _, o := range []*steps{&all, &late} {
			first := toyAt(t, cfg, code)
			c := toyBeside(first.Memory, cfg, 1, first, nil)
			c.R = first.R
			if o == &all {
				c.Observe(o)
			}
			c.Steps(300, soon)
			c.Observe(o)
			c.Run(soon)
		}
		if len(late) < 250 || late[0].CPU != 1 || !reflect.DeepEqual([]cpus.Step(all[300:]), []cpus.Step(late)) {
			t.Errorf("late, %d steps are seen, the first is %+v; of %d steps the 300th is %+v", len(late), late[0], len(all), all[300])
		}
	})
}

// TestBlocksAreLinked has a loop of three blocks lead from each to the next without a look-up.
func TestBlocksAreLinked(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		// Three blocks in three granules: jump, jump, count back to the first. The last one lies in two lines.
		code := make([][4]byte, 48)
		code[0], code[16], code[31], code[32] = jump(15), jump(14), count(1, -32), [4]byte{toyHalt}
		c := newToy(t, cfg, 1<<20, 0x1002, code...)
		c.R[1] = 50
		c.Run(soon)
		require.Need(t, c.Counters().Instructions == 50*3+1, "%d instructions", c.Counters().Instructions)
		c.R[PC], c.R[1], c.Halted = 0x1002, 50, false
		b := c.find(0x1002)
		for i, want := range []uint64{0x1042, 0x107e, 0x1002} {
			c.R[PC] = want
			next := c.following(b, soon*clock.PerCycle)
			require.Need(t, next != nil && next.pc == want, "block %d leads to %+v, want the block at %#x", i, next, want)
			b = next
		}
	})
}

// TestLineSize has accesses cross a line where the machine's lines end and nowhere else.
func TestLineSize(t *testing.T) {
	for _, line := range []uint64{64, 128} {
		cfg := toyConfig(cpus.Throughput, int(line))
		for _, at := range []uint64{60, 124} {
			c := newToy(t, cfg, 1<<20, 0x1000, [4]byte{toyLoad, 1, 20, 0}, [4]byte{toyHalt})
			c.R[20] = 0x8000 + at
			c.Run(soon)
			want := uint64(1)
			if at/line != (at+7)/line {
				want = 2
			}
			if got := c.Counts.L1DMisses; got != want {
				t.Errorf("lines of %d bytes: a load at offset %d misses %d lines, want %d", line, at, got, want)
			}
		}
		c := newToy(t, cfg, 1<<20, 0x1000, [4]byte{toyLoad, 1, 20, 0}, [4]byte{toyLoad, 2, 21, 0}, [4]byte{toyHalt})
		c.R[20], c.R[21] = 4*line, line
		if c.Run(soon); c.Counts.L1DMisses != 2 {
			t.Errorf("lines of %d bytes: loads of two lines, of which one is the second of memory, miss %d", line, c.Counts.L1DMisses)
		}
		c = newToy(t, cfg, 1<<20, 0x1000, append(make([][4]byte, 63), [4]byte{toyHalt})...)
		c.Run(soon)
		got := c.Counts.L1IMisses
		require.That(t, got == 256/line, "lines of %d bytes: 256 bytes of code miss %d lines", line, got)
	}
}

// TestSharedLines has two CPUs store to words 64 bytes apart by turns. They take the line from each other
// where both words lie in one line of the machine.
func TestSharedLines(t *testing.T) {
	for _, line := range []int{64, 128} {
		cfg := toyConfig(cpus.Throughput, line)
		m, d := mmu.NewMemory(1<<20), mmu.NewDirectory(2)
		a := toyBeside(m, cfg, 0, nil, d)
		b := toyBeside(m, cfg, 1, a, d)
		for i, in := range [][4]byte{{toyStore, 1, 20, 0}, jump(-2)} {
			m.Write(0x1000+uint64(4*i), in[:])
		}
		a.R[PC], b.R[PC] = 0x1000, 0x1000
		a.R[20], b.R[20] = 0x8000, 0x8040
		for range 20 {
			a.Steps(2, soon)
			b.Steps(2, soon)
		}
		got := a.Counts.Transfers + b.Counts.Transfers
		require.That(t, (got >= 30) == (line == 128), "lines of %d bytes: %d transfers in 40 stores by turns", line, got)
	}
}

// TestStoreIntoCode has a program overwrite an instruction in front of it in the same block.
func TestStoreIntoCode(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		c := newToy(t, cfg, 1<<20, 0x1000,
			[4]byte{toyStore, 1, 20, 0}, [4]byte{toyAdd, 2, 0, 1}, [4]byte{toyAdd, 2, 0, 1}, [4]byte{toyHalt})
		c.R[20] = 0x1004
		c.R[1] = uint64(toyAdd) | 3<<8 | 7<<24 | (toyHalt << 32)
		c.Run(soon)
		if c.R[2] != 0 || c.R[3] != 7 {
			t.Errorf("registers 2 and 3 are %d and %d, want 0 and 7: old code was executed", c.R[2], c.R[3])
		}
	})
}

// TestStoreIsBounded has a guest execute its way through all of its memory. The host keeps less than one
// and a half times that memory and 512 MiB.
func TestStoreIsBounded(t *testing.T) {
	ram := hosttools.Part(t, "MiB of code", 256, 32) << 20
	cfg := toyConfig(cpus.Throughput, 64)
	m := mmu.NewMemory(ram)
	hop := jump(15) // to the next granule
	for at := 0; at < ram; at += 64 {
		copy(m.Raw()[at:], hop[:])
	}
	c := toyOn(m, cfg, 0x1000)
	for range 2 {
		c.R[PC] = 0x1000
		if e := c.Run(c.Now() + soon); e.Reason != cpus.Shutdown || c.R[PC] < uint64(ram) {
			t.Fatalf("stopped at %#x of %#x for %+v", c.R[PC], ram, e)
		}
	}
	if n := c.Counters().Instructions; n < uint64(ram/64) {
		t.Errorf("%d instructions", n)
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	t.Logf("%d MiB of guest memory, %d MiB of the host's", ram>>20, mem.Sys>>20)
	if limit := uint64(ram)*3/2 + 512<<20; mem.Sys > limit {
		t.Errorf("the host gave %d MiB, want at most %d", mem.Sys>>20, limit>>20)
	}
	runtime.KeepAlive(m)
}
