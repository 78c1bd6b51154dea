package kprobes

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// counted returns what the counting handler has counted.
func (l *live) counted() uint64 {
	l.t.Helper()
	s, ok := l.m.Image().Symbol("kwatch_hits")
	require.Need(l.t, ok, "no symbol kwatch_hits")
	v := value(l.m.Load(s.Addr, l.size()))(l)
	return v
}

func (l *live) watch(w Watch) int {
	l.t.Helper()
	nr := value(l.k.AddWatch(l.Call, w))(l)
	return nr
}

// hitsOf is how often the counting handler is called meanwhile.
func (l *live) hitsOf(body func()) uint64 {
	before := l.counted()
	body()
	return l.counted() - before
}

// eachWatching runs a test on the oldest and the newest kernel of the instruction sets with watchpoints, or on those with a mistake
// that one CPU does not show.
func eachWatching(t *testing.T, body func(l *live), mutants ...string) {
	t.Helper()
	for _, image := range watching() {
		for _, mutant := range append(mutants, "") {
			t.Run(strings.TrimSpace(image+" "+mutant), func(t *testing.T) {
				o := Default()
				o.Mutant = mutant
				bootImage(t, image, o, func(l *live) { l.t = t; body(l) })
			})
		}
	}
}

// watching are the kernels that tests of watchpoints run on.
func watching() []string {
	return []string{"x86_64-2005", "x86_64-2010", "i386-2005", "i386-2010", "ppc64-2005", "ppc64-2017", "arm-2010", "arm-2014"}
}

func counting(symbol string, offset uint64, length uint8, kind WatchType) Watch {
	return Watch{Symbol: symbol, Offset: offset, Length: length, Type: kind, Handler: "kwatch_count"}
}

func TestWatchpointsCount(t *testing.T) {
	eachWatching(t, func(l *live) {
		const n = 7
		w := uint8(l.size())
		for _, x := range []struct {
			name  string
			w     Watch
			fn    string
			index uint64
			want  uint64
		}{
			{"store to a watched word", counting("watched_words", 0, w, WatchWrite), "watch_store", 0, n},
			{"load of it", counting("watched_words", 0, w, WatchWrite), "watch_load", 0, 0},
			{"store beside it", counting("watched_words", 0, w, WatchWrite), "watch_store", 1, 0},
			{"load, both watched", counting("watched_words", 0, w, WatchAccess), "watch_load", 0, n},
			{"store, both watched", counting("watched_words", 0, w, WatchAccess), "watch_store", 0, n},
			{"a byte of the word", counting("watched_words", 2, 1, WatchWrite), "watch_store", 0, n},
			{"a function", counting("watch_store", 0, 1, WatchExecute), "watch_store", 0, n},
			{"another function", counting("watch_store", 0, 1, WatchExecute), "watch_load", 0, 0},
		} {
			if !l.executes() && x.w.Type == WatchExecute {
				continue
			}
			nr := l.watch(x.w)
			var sum uint64
			run := func() { sum = l.call("bench_loop", l.pointer(x.fn), n, x.index, 5) }
			got := l.hitsOf(run)
			require.That(l.t, got == x.want, "%s: %d calls of the handler; want %d", x.name, got, x.want)
			require.That(l.t, x.fn != "watch_store" || sum == 5*n, "%s: the loop returned %d; want %d", x.name, sum, 5*n)
			l.do(l.k.RemoveWatch(l.Call, nr))
			got = l.hitsOf(run)
			require.That(l.t, got == 0, "%s: %d calls of the handler after it was unregistered", x.name, got)
		}
	}, MutantWatchSetHere, MutantWatchClearHere)
}

// executes reports whether addresses of instructions can be watched.
func (l *live) executes() bool {
	nr, err := l.k.AddWatch(l.Call, counting("watch_store", 0, 1, WatchExecute))
	if err != nil {
		return false
	}
	l.do(l.k.RemoveWatch(l.Call, nr))
	return true
}

// registers are the numbers that watchpoints of a type get, in this order, until none is free.
func (l *live) registers(kind WatchType) (got []int) {
	for {
		nr, err := l.k.AddWatch(l.Call, counting("watched_words", 0, 1, kind))
		if err != nil {
			require.That(l.t, errors.Is(err, EBUSY), "without a free register: %v", err)
			break
		}
		got = append(got, nr)
	}
	for _, nr := range got {
		l.do(l.k.RemoveWatch(l.Call, nr))
	}
	return got
}

func TestWatchpointsTakeRegisters(t *testing.T) {
	eachWatching(t, func(l *live) {
		all := l.registers(WatchWrite)
		require.That(l.t, len(all) != 0 && slices.IsSortedFunc(all, func(a, b int) int { return b - a }) && all[len(all)-1] == 0, "registers %v; want the last one first, down to 0", all)
		if again := l.registers(WatchWrite); !slices.Equal(again, all) {
			l.t.Errorf("registers %v, and %v when all were given back", all, again)
		}
		// the debugger of a task has the first register, and nobody takes it
		const local = 2
		require.Equal(l.t, int32(l.call("dr_alloc", 0, local)), 0, "a debugger got register")
		if rest := l.registers(WatchWrite); !slices.Equal(rest, all[:len(all)-1]) {
			l.t.Errorf("registers %v beside a debugger's 0; want %v", rest, all[:len(all)-1])
		}
		l.call("dr_free", 0)
		// and none of those that watchpoints have
		nr := l.watch(counting("watched_words", 0, 1, WatchWrite))
		require.Equal(l.t, int32(l.call("dr_alloc", uint64(nr), local)), -int32(EBUSY), "a debugger asked for register %d of a watchpoint", nr)
		l.do(l.k.RemoveWatch(l.Call, nr))
		l.do(l.k.RemoveWatch(l.Call, nr)) // not its own any more
		l.call("unregister_kwatch", 99)
	})
}

// TestWatchTypes reads the words of watchpoints that machines have.
func TestWatchTypes(t *testing.T) {
	for _, w := range []WatchType{WatchExecute, WatchWrite, WatchAccess} {
		got, err := ParseWatchType(w.String())
		require.That(t, got == w && err == nil, "%v is read as %v, %v", w, got, err)
	}
	require.Error(t, require.Err(ParseWatchType("port")), "machines have no ports; use execute, write or access", "port")
}

func TestWatchpointsRefused(t *testing.T) {
	eachWatching(t, func(l *live) {
		for _, x := range []struct {
			name string
			w    Watch
			want error
		}{
			{"a length of 3", counting("watched_words", 0, 3, WatchWrite), EINVAL},
			{"not aligned", counting("watched_words", 2, 4, WatchWrite), EINVAL},
			{"ports", counting("watched_words", 0, 1, 2), EINVAL},
			{"a type that there is not", counting("watched_words", 0, 1, 9), EINVAL},
			{"no such symbol", counting("nothing", 0, 1, WatchWrite), ENOENT},
		} {
			_, err := l.k.AddWatch(l.Call, x.w)
			require.That(l.t, errors.Is(err, x.want), "%s: %v; want %v", x.name, err, x.want)
		}
		if _, err := l.k.AddWatch(l.Call, Watch{Symbol: "watched_words", Length: 1, Type: WatchWrite, Handler: "nobody"}); err == nil {
			l.t.Error("a handler that there is not was accepted")
		}
		at, _ := l.m.Image().Symbol("switch_kwatch")
		l.do(l.m.Store(at.Addr, 4, 0))
		if _, err := l.k.AddWatch(l.Call, counting("watched_words", 0, 1, WatchWrite)); !errors.Is(err, ENOSYS) {
			l.t.Errorf("a kernel without watchpoints: %v; want %v", err, ENOSYS)
		}
	})
}

// TestWatchHandlerHits has a handler write to its own word: it is not called for that, and a handler of another
// register is.
func TestWatchHandlerHits(t *testing.T) {
	eachWatching(t, func(l *live) {
		own := l.watch(Watch{Symbol: "watched_words", Length: 1, Type: WatchWrite, Handler: "kwatch_nested"})
		run := func() { l.call("bench_loop", l.pointer("watch_store"), 5, 0, 1) }
		if got := l.hitsOf(run); got != 5 {
			l.t.Errorf("%d calls of the handler of a word that it writes; want 5", got)
		}
		other, err := l.k.AddWatch(l.Call, counting("watched_words", 0, 1, WatchWrite))
		if err == nil {
			// the store hits both; the nested handler's hits the other once more, but not where #DB does not nest
			want := uint64(5 + 5 + 5)
			if l.m.Image().Name == "x86_64-2005" {
				want = 5 + 5
			}
			got := l.hitsOf(run)
			require.That(l.t, got == want, "%d calls of two handlers of one word; want %d", got, want)
			l.do(l.k.RemoveWatch(l.Call, other))
		}
		l.do(l.k.RemoveWatch(l.Call, own))
	})
}

// TestWatchedAccessesAreCounted does random accesses beside random watchpoints, and counts in Go.
func TestWatchedAccessesAreCounted(t *testing.T) {
	eachWatching(t, func(l *live) {
		rng := rand.New(rand.NewPCG(7, 9))
		for range 12 {
			length := uint64(1) << rng.IntN(3)
			at := rng.Uint64N(32/length) * length
			kind := []WatchType{WatchWrite, WatchAccess}[rng.IntN(2)]
			nr := l.watch(counting("watched_words", at, uint8(length), kind))
			want := uint64(0)
			got := l.hitsOf(func() {
				for range 25 {
					width, off, store := uint64(1)<<rng.IntN(3), rng.Uint64N(36), rng.Uint64N(2)
					if l.aligned() {
						off &^= width - 1
					}
					l.call("watch_access", width<<16|off, store)
					if off < at+length && at < off+width && (store == 1 || kind == WatchAccess) {
						want++
					}
				}
			})
			require.That(l.t, got == want, "%d bytes at %d, type %s: the handler was called %d times for %d accesses", length, at, kind, got, want)
			l.do(l.k.RemoveWatch(l.Call, nr))
		}
	})
}

// aligned reports that accesses of the instruction set are to be aligned here.
func (l *live) aligned() bool { return false }

// TestWatchpointsCostNothing compares the time of code that hits nothing.
func TestWatchpointsCostNothing(t *testing.T) {
	for _, image := range watching() {
		took := map[bool]int64{}
		for _, armed := range []bool{false, true} {
			bootImage(t, image, Default(), func(l *live) {
				nr := l.watch(counting("watched_words", 8, 1, WatchWrite))
				if !armed {
					l.do(l.k.RemoveWatch(l.Call, nr))
				}
				run := func() { l.call("bench_loop", l.pointer("watch_store"), 50, 0, 1) }
				run()
				from := l.m.Now()
				run()
				took[armed] = int64(l.m.Now() - from)
			})
		}
		require.That(t, took[true] == took[false], "%s: %d ticks with a watchpoint in the same page, %d without", image, took[true], took[false])
	}
}

// TestAllCPUsWatch has every CPU hit a watchpoint that one of them has registered.
func TestAllCPUsWatch(t *testing.T) {
	for _, isa := range []string{"x86_64", "i386", "ppc64", "arm"} {
		bootMany(t, newest(isa), 3, Default(), func(w *crowd) {
			const n = 20
			nr := w.watch(counting("watched_words", 0, 1, WatchWrite))
			every := func() uint64 {
				return w.hitsOf(func() {
					for i := range w.cpus {
						w.callOn(i, "bench_loop", w.pointer("watch_store"), n, 0, 1)
					}
				})
			}
			got := every()
			require.That(t, got == n*uint64(w.cpus), "%s: %d hits of %d CPUs; want %d each", isa, got, w.cpus, n)
			w.do(w.k.RemoveWatch(w.Call, nr))
			if got := every(); got != 0 {
				t.Errorf("%s: %d hits after the watchpoint was unregistered", isa, got)
			}
		})
	}
}

// callOn has a task on a CPU call a function, and waits for it.
func (w *crowd) callOn(cpu int, fn string, args ...uint64) {
	w.t.Helper()
	task, err := w.smp.GoOn(w.Call, cpu, "caller", func(c Caller) error {
		_, err := c.InvokeSym(fn, args...)
		return err
	})
	w.do(err)
	w.do(w.smp.Join(w.Call, task))
}
