package judging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/native"
	"kprobesim/internal/require"
)

// noisyTimer is a host whose programs take 5 cycles a byte, of 1.5 ticks each, and what else the host does in a pass.
type noisyTimer struct {
	h      *Host
	jobs   []*native.Job
	more   func(job, pass, program int) uint64 // ticks
	err    error
	closed bool
}

func (f *noisyTimer) Close() { f.closed = true }

// cycles of a program.
func (f *noisyTimer) cycles(program []byte) uint64 {
	switch {
	case bytes.Equal(program, f.h.clock[0]):
		return longChain*chainLoops + 100
	case bytes.Equal(program, f.h.clock[1]):
		return shortChain*chainLoops + 100
	case bytes.Equal(program, f.h.crowd):
		return 9000
	}
	return 5 * uint64(len(program)) * 1000
}

func (f *noisyTimer) Time(j *native.Job) (all [][]uint64, err error) {
	kept := *j
	f.jobs = append(f.jobs, &kept)
	for pass := range j.Passes {
		var ticks []uint64
		for i, p := range j.Programs {
			ticks = append(ticks, f.cycles(p)*3/2+f.more(len(f.jobs)-1, pass, i))
		}
		all = append(all, ticks)
	}
	return all, f.err
}

// noisy is a host with such a timer.
func noisy(more func(job, pass, program int) uint64) (*Host, *noisyTimer) {
	h := &Host{crowd: crowded()}
	for i, n := range []int{longChain, shortChain} {
		h.clock[i] = program([]byte{0x48, 0x01, 0xc8}, n, chainLoops, true)
	}
	f := &noisyTimer{h: h, more: more}
	h.timer = f
	return h, f
}

// TestHostTimes wants the time of a program that takes 5 cycles a byte, whatever else the host does in some passes, and no time where
// less than two passes agree.
func TestHostTimes(t *testing.T) {
	quiet := func(_, _, _ int) uint64 { return 0 }
	for i, c := range []struct {
		more func(job, pass, program int) uint64
		jobs int // 0 for a host that stays busy
	}{
		{quiet, 1},
		{func(_, pass, _ int) uint64 { return 70_000 * uint64(min(1, pass%5)) }, 1},
		{func(_, pass, program int) uint64 { return 70_000_000 * uint64(pass+1) * uint64(min(1, program)) }, 0},
		{func(_, pass, program int) uint64 { // the longer chain takes less than the shorter one
			return 1_000_000 * uint64(max(0, program-1)) * uint64(min(1, 3-min(3, program)))
		}, 0},
		{func(job, pass, _ int) uint64 { return 40_000_000 * uint64(max(0, 2-job)) * uint64(pass+1) }, 3},
	} {
		h, f := noisy(c.more)
		block := []byte{0x48, 0x01, 0xd8, 0x90, 0x90}
		pages := []uint64{0x5000}
		v, err := h.Cycles(block, pages)
		if c.jobs == 0 {
			require.That(t, errors.Is(err, ErrBusy) && len(f.jobs) == rounds, "case %d: %v after %d jobs", i, err, len(f.jobs))
			continue
		}
		n := times(hostLoops, long)
		want := float64(5000*(len(program(block, long, n, true))-len(program(block, long/2, n, true)))) / float64((long-long/2)*n)
		require.That(t, err == nil && math.Abs(v-want) < 1e-6*want && len(f.jobs) == c.jobs, "case %d: %v cycles, %v, after %d jobs; want %v after %d", i, v, err, len(f.jobs), want, c.jobs)
		require.That(t, math.Abs(h.CycleTicks()-1.5) < 1e-9, "case %d: %v ticks a cycle", i, h.CycleTicks())
		j := f.jobs[0]
		require.That(t, fmt.Sprint(j.Pages) == fmt.Sprint(pages) && j.Fill == fillWord && j.Control == control && j.Passes == passes && j.Repeats == repeats, "the job is %+v", j)
	}
}

// TestHostPrograms times two programs by their difference, one alone, and asks for what programs return.
func TestHostPrograms(t *testing.T) {
	h, f := noisy(func(_, pass, _ int) uint64 { return uint64(pass) })
	more, less := make([]byte, 300), make([]byte, 100)
	v, err := h.Difference(more, less, 4, &native.Job{Passes: 3})
	require.That(t, err == nil && math.Abs(v-250_000) < 1e-6, "the difference is %v, %v", v, err)
	v, err = h.Shortest(more, &native.Job{Passes: 3}, 1.01)
	require.That(t, err == nil && v == 1_500_000 && f.jobs[1].Control == control && len(f.jobs[1].Programs) == 1, "alone it takes %v, %v", v, err)
	got, err := h.Values(less, more)
	require.That(t, err == nil && fmt.Sprint(got) == "[750000 2250000]" && f.jobs[2].Passes == 1, "programs return %v, %v", got, err)
	require.That(t, errors.Is(require.Err(h.Difference(less, less, 1, &native.Job{Passes: 3})), ErrBusy), "programs that take the same time differ")
	f.more = func(_, _, program int) uint64 {
		if program == 2 { // the shorter chain takes as long as the longer one
			return (longChain - shortChain) * chainLoops * 3 / 2
		}
		return 0
	}
	require.That(t, errors.Is(require.Err(h.Difference(more, less, 1, &native.Job{Passes: 3})), ErrBusy), "chains that take the same time are a clock")
	f.more = func(_, pass, _ int) uint64 { return 50_000_000 * uint64(pass) }
	require.That(t, errors.Is(require.Err(h.Shortest(more, &native.Job{Passes: 3}, 1.01)), ErrBusy), "times that do not agree are a time")
	require.NoError(t, require.Err(h.Shortest(more, &native.Job{Passes: 3}, 100)))
	f.err = errors.New("no more")
	_, first := h.Shortest(more, &native.Job{Passes: 3}, 100)
	for _, err := range []error{first, require.Err(h.Values(more)), require.Err(h.Difference(more, less, 1, &native.Job{Passes: 3})), require.Err(h.Cycles(less, nil))} {
		require.Error(t, err, "no more", "a timer that fails")
	}
	f.err, f.more = nil, func(_, _, program int) uint64 { // the whole loop is longer than an eighth
		if program == 1 {
			return 1_500_000
		}
		return 0
	}
	for size, want := range map[uint64]int{mib: 2 * passes, mib + 64: farPasses} {
		l := Loop{Body: []byte{0x90}, Copies: 4, Times: 16}
		c := &Case{loop: l, pages: []uint64{0x5000}, chains: []native.Chain{{Size: 64}, {Size: size}}, rounds: 2}
		v, took := require.Must(h.Time(c))(t), 1e6/float64(2*4*14)
		j := f.jobs[len(f.jobs)-1]
		require.That(t, math.Abs(v-took) < 1e-6 && j.Passes == want && len(j.Chains) == 2 && len(j.Pages) == 1, "%v cycles, want %v; the job is %+v", v, took, j)
	}
	h.Close()
	require.That(t, f.closed, "the timer goes on")
}

// steadyClock is a processor whose counter has 1e9 ticks a second, and cycles of 2 and 4 ticks by turns; of some of its times nothing is known.
type steadyClock struct {
	begun         time.Time
	asked, failed int
	busy          bool
	err           error
}

func (c *steadyClock) Cycles([]byte, []uint64) (float64, error) {
	time.Sleep(time.Millisecond)
	if c.asked++; c.busy || c.asked%3 == 0 {
		return 0, ErrBusy
	}
	return 1, nil
}

func (c *steadyClock) CycleTicks() float64 {
	return [3]float64{2, 4, 100}[(c.asked+2)%3]
}

func (c *steadyClock) Values(...[]byte) ([]uint64, error) {
	if c.failed--; c.failed == 0 {
		return nil, c.err
	}
	return []uint64{1<<40 + uint64(time.Since(c.begun).Nanoseconds())}, nil
}

// TestClock finds the frequencies of a core and of its counter, and none where nothing could be timed or asked.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		least, most, counter, err := Clock(&steadyClock{begun: time.Now()})
		require.That(t, err == nil && counter == 1e9 && least == counter/4 && most == counter/2, "%v to %v of %v, %v", least, most, counter, err)
		broken := errors.New("broken")
		for i, c := range []*steadyClock{{busy: true}, {failed: 1, err: broken}, {failed: 2, err: broken}} {
			least, most, counter, err := Clock(c)
			require.That(t, least == 0 && most == 0 && counter == 0 && errors.Is(err, []error{ErrBusy, broken, broken}[i]), "case %d: %v, %v, %v, %v", i, least, most, counter, err)
		}
	})
}

// TestRunTimesTwice judges blocks on a host: the shorter time of two moments counts, what cannot be judged is left out with its reason, and
// what else fails ends the judgement.
func TestRunTimesTwice(t *testing.T) {
	add := func() *Block { return &Block{Code: []byte{0x48, 0x01, 0xd8}, Class: "integer", Length: 1} }
	blocks := func(all ...*Block) func() *Block {
		return func() *Block {
			if len(all) == 0 {
				return nil
			}
			b := all[0]
			all = all[1:]
			return b
		}
	}
	h, f := noisy(func(job, _, program int) uint64 { return 3_000_000 * uint64(max(0, 2-job)) * uint64(program%4%2) })
	j := &Judging{Pricer: NewPricer(machine(t, "epyc-7713")), Host: h, MCA: &MCA{"nothing", "any"}}
	var done []int
	j.Progress = func(n int) { done = append(done, n) }
	first, second := add(), add()
	v, err := j.Run(t.Context(), 9, blocks(first, &Block{Code: []byte{0x90}, Length: 1}, &Block{Code: []byte{0x0f, 0x0b}, Class: "integer", Length: 1}, second))
	require.That(t, err == nil && len(v.Blocks) == 2 && fmt.Sprint(done) == "[1 2]" && v.MCAName == "llvm-mca -mcpu=any", "%+v, %v, %v", v, done, err)
	require.Equal(t, fmt.Sprint(v.Left), "map[it has an instruction that is not judged:1 it raises an exception:1]", "what is left out")
	require.That(t, first.Native == second.Native && first.Native > 0 && first.Priced > 0.9 && first.Priced < 1.1 && first.MCA == 0, "%+v and %+v", first, second)
	for _, err := range []error{errors.New("broken"), ErrBusy} {
		f.err = nil
		j.Progress = func(int) { f.err = err }
		_, got := j.Run(t.Context(), 1, blocks(add()))
		require.Equal(t, errors.Is(got, err), !excused(err), "whether %v ends it at the second moment", err)
		f.err = err
		v, got = j.Run(t.Context(), 1, blocks(add(), nil))
		require.That(t, errors.Is(got, err) == !excused(err) && len(v.Blocks) == 0 && len(v.Left) == len(v.Left)&1, "%v at the first moment: %v, %+v", err, got, v)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.err, j.Progress = nil, func(int) { cancel() }
	jobs := len(f.jobs)
	v, err = j.Run(ctx, 2, blocks(add(), add()))
	require.That(t, errors.Is(err, context.Canceled) && len(v.Blocks) == 1 && len(f.jobs) == jobs+1, "%v, %d blocks by %d jobs", err, len(v.Blocks), len(f.jobs)-jobs)
}

// TestMomentsOfACase times a case at each moment until the host is quiet, keeps the shorter time, and says why it has none.
func TestMomentsOfACase(t *testing.T) {
	broken := errors.New("broken")
	for i, x := range []struct {
		native float64 // before
		more   uint64  // ticks by which the whole loop is longer
		busy   int     // jobs that agree on nothing
		err    error
		want   float64
		left   error
		jobs   int
	}{
		{0, 1_500_000, 0, nil, 1e6, nil, 1},
		{2e6, 1_500_000, 0, nil, 1e6, nil, 1},
		{5e5, 1_500_000, 0, nil, 5e5, nil, 1},
		{0, 1_500_000, 2 * rounds, nil, 1e6, nil, 2*rounds + 1},
		{0, 0, 99, nil, 0, ErrBusy, attempts * rounds},
		{7, 0, 99, nil, 7, nil, attempts * rounds},
		{0, 0, 0, native.ErrPage, 0, native.ErrPage, 1},
		{7, 0, 0, native.ErrPage, 7, nil, 1},
		{0, 0, 0, broken, 0, nil, 1},
	} {
		l := Loop{Body: []byte{0x90}, Copies: 1, Times: 8}
		h, f := noisy(func(job, pass, program int) uint64 {
			if job < x.busy {
				return uint64(pass+1) * 50_000_000
			}
			return x.more * uint64(max(0, 1-max(program-1, 1-program)))
		})
		f.err = x.err
		c := &Case{loop: l, rounds: 1, Native: x.native / 7}
		shorter, err := (&Judging{Host: h}).time(c)
		require.That(t, shorter == (x.want > 0 && x.native != x.want), "case %d: shorter is %v", i, shorter)
		require.That(t, errors.Is(err, broken) == (x.err == broken) && (err == nil) == (x.err != broken), "case %d: %v", i, err)
		require.That(t, math.Abs(c.Native-x.want/7) < 1e-3 && errors.Is(c.Left, x.left) && len(f.jobs) == x.jobs, "case %d: %v cycles of %v, left out for %v, by %d jobs", i, c.Native, x.want/7, c.Left, len(f.jobs))
	}
}

// TestMCA asks a program that answers as llvm-mca does.
func TestMCA(t *testing.T) {
	hosttools.Need(t, "sh", "dash", "a stand-in for llvm-mca")
	dir := t.TempDir()
	path := os.Getenv("PATH")
	t.Setenv("PATH", dir)
	require.Error(t, require.Err(FindMCA("zen3")), "llvm-mca is not installed", "without the program")
	t.Setenv("PATH", dir+string(os.PathListSeparator)+path)
	script := "#!/bin/sh\ncase \"$*\" in\n*mcpu=silent*) exit 0;;\n*mcpu=wrong*) exit 1;;\n*mcpu=other*) echo \"'other' is not a recognized processor\" >&2;;\nesac\n" +
		"echo \"Iterations: $3 Total Cycles:   $(($(wc -l) * 150))\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "llvm-mca"), []byte(script), 0o755))
	for _, names := range []string{"silent", "wrong", "other"} {
		require.Error(t, require.Err(FindMCA(names)), "llvm-mca does not know the processor: "+names, "")
	}
	m := require.Must(FindMCA("silent", "other", "zen3", "zen4"))(t)
	require.Equal(t, m.Name(), "llvm-mca -mcpu=zen3", "the first that it knows")
	v := require.Must(m.Cycles([]string{"nop", "nop", "nop"}))(t)
	require.Equal(t, v, 4.5, "cycles of three lines")
}

// TestMoments times things again until one moment makes none in a hundred shorter, or there were as many as may be, or one fails.
func TestMoments(t *testing.T) {
	broken := errors.New("broken")
	for _, x := range []struct {
		things, shorter, most int // the first so many become shorter, each moment one less
		fails                 int // in this call
		calls                 int
	}{
		{10, 0, 30, 0, 10},
		{10, 3, 30, 0, 40},
		{10, 20, 5, 0, 50},
		{200, 2, 30, 0, 200},
		{200, 3, 30, 0, 400},
		{10, 3, 30, 14, 14},
		{0, 0, 30, 0, 0},
	} {
		calls := 0
		err := Moments(t.Context(), x.things, x.most, func(i int) (bool, error) {
			if calls++; calls == x.fails {
				return false, broken
			}
			return i < x.shorter-(calls-1)/x.things, nil
		})
		require.That(t, calls == x.calls && (err == broken) == (x.fails > 0), "%+v: %d calls, %v", x, calls, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := 0
	require.NoError(t, Moments(ctx, 10, 30, func(int) (bool, error) { calls++; return true, nil }))
	require.Equal(t, calls, 1, "calls behind the end of a context")
}

// TestCodeIsNotData wants a block that stores into its own code to raise an exception, and not to be given a page there.
func TestCodeIsNotData(t *testing.T) {
	p := NewPricer(machine(t, "epyc-7713"))
	store := func(page byte) error { // mov %eax,page
		return require.Err(p.Pages([]byte{0x89, 0x04, 0x25, 0, 0, 0, page}))
	}
	require.NoError(t, store(0x60))
	require.Error(t, store(codePage>>24), "it raises an exception", "a store into code")
}
