package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// notes has what a debugger is told of.
type notes struct {
	c   *toy
	log []string
}

func (d *notes) Before(int) { d.log = append(d.log, fmt.Sprintf("%#x", d.c.R[PC])) }
func (d *notes) Accessed(_ int, va uint64, n int, write bool) {
	d.log = append(d.log, fmt.Sprintf("%#x %d %t", va, n, write))
}
func (d *notes) Reached(int) { d.log = append(d.log, fmt.Sprintf("time at %#x", d.c.R[PC])) }

// debugged is a loop of two blocks, and a block behind it.
func debugged(t *testing.T, cfg *cpus.Config) *toy {
	c := newToy(t, cfg, 1<<20, 0x1000,
		[4]byte{toyLoad, 2, 20, 0}, jump(0), // 0x1000
		[4]byte{toyAdd, 3, 3, 1}, [4]byte{toyStore, 3, 20, 8}, count(1, -5), // 0x1008
		[4]byte{toyNop}, [4]byte{toyHalt}) // 0x1014
	c.R[1], c.R[20] = 3, 0x8000
	return c
}

// TestBreakpoints tells a debugger of places. The block with a breakpoint is executed one by one, and others at once. What the guest does and
// how long it takes is the same.
func TestBreakpoints(t *testing.T) {
	second, last := "0x1008 0x100c 0x1010", "0x1014 0x1018"
	models(t, func(t *testing.T, cfg *cpus.Config) {
		plain := debugged(t, cfg)
		plain.goFrom(0x1000)
		for _, x := range []struct {
			name  string
			stops cpus.Stops
			want  string
		}{
			{"nothing", cpus.Stops{At: soon}, ""},
			{"code", cpus.Stops{At: soon, Code: []uint64{0x100c}}, second + " " + second + " " + second},
			{"code once", cpus.Stops{At: soon, Code: []uint64{0x1018}}, last},
			{"code elsewhere", cpus.Stops{At: soon, Code: []uint64{0x101c, 0xffc}}, ""},
			{"all", cpus.Stops{At: soon, All: true}, "0x1000 0x1004 " + second + " 0x1000 0x1004 " + second + " 0x1000 0x1004 " + second + " " + last},
			{"data", cpus.Stops{At: soon, Data: [][2]uint64{{0x8008, 0x8010}}}, "0x8000 8 false 0x8008 8 true 0x8000 8 false 0x8008 8 true 0x8000 8 false 0x8008 8 true"},
			{"data elsewhere", cpus.Stops{At: soon, Data: [][2]uint64{{0x9000, 0x9001}}}, ""},
		} {
			for _, late := range []bool{false, true} { // behind an execution without
				c := debugged(t, cfg)
				if late {
					c.goFrom(0x1000)
				}
				d := &notes{c: c}
				c.Debug(d, x.stops)
				if late {
					c.R = debugged(t, cfg).R
				}
				c.goFrom(0x1000)
				require.Equal(t, fmt.Sprint(d.log), "["+x.want+"]", "%s, late %t: a debugger is told of", x.name, late)
				c.Debug(nil, cpus.Stops{})
				if !late {
					same(t, x.name, plain, c)
				}
				d.log, c.R = nil, debugged(t, cfg).R
				c.goFrom(0x1000)
				require.Equal(t, len(d.log), 0, "%s: a debugger that has gone is told of", x.name)
			}
		}
	})
}

// TestDebuggerIsToldOfATime tells of a time between two blocks, from when it has come.
func TestDebuggerIsToldOfATime(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Throughput, 64), 1<<20, 0x1000, jump(0), jump(0), jump(0), jump(0), [4]byte{toyHalt})
	c.goFrom(0x1000) // so that a pass is chained
	took := c.goFrom(0x1000)
	d := &notes{c: c}
	c.Debug(d, cpus.Stops{At: c.Now() + took/2})
	end := c.Now() + took
	c.goFrom(0x1000)
	require.That(t, len(d.log) > 0 && len(d.log) < 5 && d.log[0] != "time at 0x1014" && c.Now() == end, "a debugger is told of %v; %d ticks, want %d", d.log, c.Now(), end)
}

// TestObserversHearNothingOfBreakpoints has a debugger look at all instructions, and an observer at one block.
func TestObserversHearNothingOfBreakpoints(t *testing.T) {
	c := debugged(t, toyConfig(cpus.Window, 64))
	var seen steps
	c.ObserveCode(&seen, [][2]uint64{{0x1014, 0x1018}}, false)
	c.Debug(&notes{c: c}, cpus.Stops{At: soon, All: true})
	c.goFrom(0x1000)
	require.That(t, len(seen) == 2 && seen[0].PC == 0x1014, "an observer of two instructions sees %d", len(seen))
}

// breaker breaks behind an instruction.
type breaker struct {
	c  *toy
	at uint64
	n  int
}

func (o *breaker) Step(s *cpus.Step) {
	if o.n++; s.PC == o.at {
		o.c.Break()
	}
}

// TestObserversBreak has an observer stop a CPU in the middle of a block, which goes on from there by instructions, or on.
func TestObserversBreak(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		plain := debugged(t, cfg)
		plain.goFrom(0x1000)
		for _, at := range []uint64{0x1000, 0x1008, 0x100c, 0x1014} {
			for _, steps := range []bool{false, true} {
				c, breaks := debugged(t, cfg), 0
				o := &breaker{c, at, 0}
				c.Observe(o)
				for !c.Halted {
					exit := cpus.Exit{}
					if steps {
						_, exit = c.Steps(1000, soon)
					} else {
						exit = c.Run(soon)
					}
					if exit.Reason == cpus.Broken {
						breaks++
						require.Equal(t, c.R[PC], at+4, "broken off at %#x, it stands at", at)
					}
				}
				want := map[bool]int{true: 1, false: 3}[at == 0x1014]
				require.That(t, breaks == want && o.n == 17, "at %#x: broken off %d times; %d instructions are seen", at, breaks, o.n)
				same(t, "broken off", plain, c)
			}
		}
	})
}

// steppedToy is a toy whose instruction set looks at single instructions.
type steppedToy struct {
	*toy
	log    []string
	refuse uint64 // of which BeginStep delivers an exception in its place
	trap   uint64 // behind which EndStep goes elsewhere
	alone  uint64 // which follows no other one in a run
	ends   int    // how often EndsRun was asked of it
}

func (s *steppedToy) BeginStep() bool {
	s.log = append(s.log, fmt.Sprintf("%#x", s.R[PC]))
	if s.R[PC] == s.refuse {
		s.refuse = 0
		s.R[PC] += 4
		return false
	}
	return true
}

func (s *steppedToy) EndStep(completed bool) bool {
	s.log = append(s.log, fmt.Sprint(completed))
	if s.R[PC] == s.trap {
		s.R[PC] += 4
		return true
	}
	return false
}

func (s *steppedToy) EndsRun() bool {
	if s.R[PC] == s.alone {
		s.ends++
		return true
	}
	return false
}

// TestSingleSteps has an instruction set look at instructions one by one, at all or those near watched ones. It may deliver an exception in place of
// one or behind it.
func TestSingleSteps(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		plain := newToy(t, cfg, 1<<20, 0x1000)
		code := [][4]byte{jump(1), {toyNop}, {toyAdd, 1, 1, 1}, {toyFault}, {toyAdd, 1, 1, 4}, {toyAdd, 1, 1, 16}, {toyHalt}}
		toyWrite(plain, 0x1000, code...)
		plain.goFrom(0x1000)
		const behind = "0x1008 true 0x100c false 0x1010 true 0x1014 true 0x1018 true"
		for _, x := range []struct {
			name string
			set  func(s *steppedToy)
			want string
			sum  uint64
		}{
			{"nothing", func(*steppedToy) {}, "", 21},
			{"all", func(s *steppedToy) { s.Single = 1 }, "0x1000 true " + behind, 21},
			{"watched", func(s *steppedToy) { s.WatchCode([]uint64{0x1014}) }, "0x1010 true 0x1014 true 0x1018 true", 21},
			{"watched elsewhere", func(s *steppedToy) { s.WatchCode([]uint64{0x1004, 0x101c}) }, "", 21},
			{"no more", func(s *steppedToy) { s.WatchCode([]uint64{0x1014}); s.WatchCode(nil) }, "", 21},
			{"refused", func(s *steppedToy) { s.Single, s.refuse = 1, 0x1010 }, "0x1000 true 0x1008 true 0x100c false 0x1010 0x1014 true 0x1018 true", 17},
			{"trapped", func(s *steppedToy) { s.Single, s.trap = 1, 0x1014 }, "0x1000 true 0x1008 true 0x100c false 0x1010 true 0x1018 true", 5},
			{"alone", func(s *steppedToy) { s.Single, s.alone = 1, 0x1014 }, "0x1000 true " + behind, 21},
		} {
			for _, known := range []bool{false, true} { // whether the code was executed before
				s := &steppedToy{toy: newToy(t, cfg, 1<<20, 0x1000, code...)}
				s.isa = s
				if known {
					s.goFrom(0x1000)
					s.log, s.R[1] = nil, 0
				}
				x.set(s)
				s.goFrom(0x1000)
				require.That(t, fmt.Sprint(s.log) == "["+x.want+"]" && s.R[1] == x.sum, "%s, known %t: looked at %v, sum %d", x.name, known, s.log, s.R[1])
				if !known && x.sum == 21 {
					same(t, x.name, plain, s.toy)
				}
				if x.name == "alone" {
					require.Equal(t, s.ends, 1, "an instruction that follows no other one is looked for anew")
				}
			}
		}
	})
}

// blockwise is told of blocks, but for one in three.
type blockwise struct{ steps }

func (o *blockwise) Block(pc uint64, code []byte) bool { return len(code) > 0 && pc/4%3 != 0 }

// TestBlockObserver tells one observer of each instruction and another one of blocks: what that hears of is a run of what the first one
// hears of, at the same times. The program is executed as without either.
func TestBlockObserver(t *testing.T) {
	run := func(t *testing.T, cfg *cpus.Config, code [][4]byte) (told, runs int) {
		plain, single, whole := toyAt(t, cfg, code), toyAt(t, cfg, code), toyAt(t, cfg, code)
		plain.Run(soon)
		var each steps
		var blocks blockwise
		single.Observe(&each)
		single.Run(soon)
		whole.Observe(&blocks)
		whole.Run(soon)
		same(t, "told of instructions", plain, single)
		same(t, "told of blocks", plain, whole)
		all := each
		for i, s := range blocks.steps {
			require.Need(t, len(all) > s.More, "step %d of %d instructions is one of more than there were", i, s.More+1)
			first, last := all[0], all[s.More]
			var bytes []byte
			for _, one := range all[:s.More+1] {
				bytes = append(bytes, one.Code...)
			}
			got := fmt.Sprintf("%#x %#x %#x %x %d to %d, %d %t %q", s.PC, s.PC+uint64(s.Last), s.Phys, s.Code, s.Start, s.End, s.Context, s.User, s.Exception)
			want := fmt.Sprintf("%#x %#x %#x %x %d to %d, %d %t %q", first.PC, last.PC, first.Phys, bytes, first.Start, last.End, first.Context, first.User, last.Exception)
			require.Need(t, got == want, "step %d is %s, want %s", i, got, want)
			if all = all[s.More+1:]; s.More > 0 {
				require.Need(t, s.PC/4%3 != 0, "instructions at %#x are told at once", s.PC)
				runs++
			}
		}
		require.Need(t, len(all) == 0, "%d instructions were not told of", len(all))
		return len(blocks.steps), runs
	}
	models(t, func(t *testing.T, cfg *cpus.Config) {
		told, runs := run(t, cfg, program(rand.New(rand.NewPCG(2, 1))))
		require.That(t, runs > 50 && told > 2*runs, "%d of %d steps are of several instructions", runs, told)
	})
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 12))
		cfg := anyCore(rng)
		run(t, cfg, program(rng))
	}
}

// TestBlockObserverBreaks breaks behind a block, from where Run goes on.
func TestBlockObserverBreaks(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		plain, c := debugged(t, cfg), debugged(t, cfg)
		plain.goFrom(0x1000)
		o := &breaksOff{c: c}
		c.Observe(o)
		for e := c.Run(soon); e.Reason != cpus.Halted; e = c.Run(soon) {
			require.Need(t, e.Reason == cpus.Broken && o.n < 10, "%+v behind %d steps", e, o.n)
		}
		same(t, "broken off", plain, c)
		require.Equal(t, o.n, 7, "two blocks three times, and the end: steps")
	})
}

// breaksOff breaks behind each block.
type breaksOff struct {
	c *toy
	n int
}

func (o *breaksOff) Block(uint64, []byte) bool { return true }
func (o *breaksOff) Step(*cpus.Step)           { o.n++; o.c.Break() }
