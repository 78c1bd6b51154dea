package races

import (
	"strings"
	"testing"
)

// stage is a history of stores and what a CPU executes at its end.
type stage struct {
	name string
	do   func(m *toyMachine)
	cpu  int
	at   int
	want Kind
}

func runStages(t *testing.T, fresh func() *toyMachine, stages []stage) {
	t.Helper()
	for _, tt := range stages {
		m := fresh()
		tt.do(m)
		if got, why := m.run(tt.cpu, tt.at); got != tt.want {
			t.Errorf("%s: %q (%s), want %q", tt.name, got, why, tt.want)
		}
	}
}

// optimize writes a jump by the breakpoint protocol, with some of its three synchronizations left out.
func optimize(m *toyMachine, at int, to uint64, skip ...int) {
	m.store(0, at, toyBreak)
	finish(m, at, toyJump(at, to), skip...)
}

// unoptimize writes the compiled bytes behind a breakpoint.
func unoptimize(m *toyMachine, at int, skip ...int) {
	m.store(0, at, toyBreak)
	code := append([]byte{toyBreak}, toyCode[at+1:at+toyJumpSize]...)
	finish(m, at, code, skip...)
}

func finish(m *toyMachine, at int, code []byte, skip ...int) {
	steps := []func(){
		func() {},
		func() { m.store(0, at+1, code[1:]...) },
		func() { m.store(0, at, code[0]) },
	}
	for i, step := range steps {
		step()
		if len(skip) == 0 || skip[0] != i+1 {
			m.sync()
		} else {
			skip = skip[1:]
		}
	}
}

// TestWhatACPUMayHaveFetched stages histories of stores. Every one that is safe is what a correct kernel does.
func TestWhatACPUMayHaveFetched(t *testing.T) {
	runStages(t, newToy, []stage{
		// The false positive that a rule without ages has: a jump that became a breakpoint behind another one.
		{"a second probe's jump becomes a breakpoint behind one that waits", func(m *toyMachine) {
			optimize(m, 4, toyDetour)
			m.store(0, 0, toyBreak)
			m.store(0, 4, toyBreak)
		}, 1, 0, ""},
		{"the same in the place of the second probe", func(m *toyMachine) {
			optimize(m, 4, toyDetour)
			m.store(0, 0, toyBreak)
			m.store(0, 4, toyBreak)
		}, 1, 4, ""},
		{"and its tail goes too early", func(m *toyMachine) {
			optimize(m, 4, toyDetour)
			m.store(0, 0, toyBreak)
			unoptimize(m, 4, 1, 2, 3)
		}, 1, 0, Unsynced},
		{"and its tail goes too early, seen from itself", func(m *toyMachine) {
			optimize(m, 4, toyDetour)
			unoptimize(m, 4, 1, 2, 3)
		}, 1, 4, Unsynced},
		{"by whom it is done", func(m *toyMachine) {
			optimize(m, 4, toyDetour)
			m.store(0, 0, toyBreak)
			unoptimize(m, 4, 1, 2, 3)
		}, 0, 0, ""},
		{"and by whom has synchronized", func(m *toyMachine) {
			optimize(m, 4, toyDetour)
			m.store(0, 0, toyBreak)
			unoptimize(m, 4, 1, 2, 3)
			m.sync(1)
		}, 1, 0, ""},
		{"an old jump to a buffer that is not in use any more", func(m *toyMachine) {
			optimize(m, 4, toyDetour2)
			m.store(0, 0, toyBreak)
			m.store(0, 4, toyBreak)
			m.t.leads = func(to uint64) bool { return to == toyDetour }
		}, 1, 0, Unsynced},
		{"jump, breakpoint and jump elsewhere, in steps", func(m *toyMachine) {
			optimize(m, 0, toyDetour)
			unoptimize(m, 0)
			optimize(m, 0, toyDetour2)
		}, 1, 0, ""},
		{"a jump changed while it stands", func(m *toyMachine) {
			optimize(m, 0, toyDetour)
			m.store(0, 2, toyJump(0, toyDetour2)[2])
		}, 1, 0, Unsynced},
		{"two breakpoints that may not be seen", func(m *toyMachine) {
			m.store(0, 4, toyBreak)
			m.store(0, 0, toyBreak)
		}, 1, 0, ""},
		{"the instruction in front of a breakpoint that may not be seen", func(m *toyMachine) {
			m.store(0, 4, toyBreak)
		}, 1, 1, ""},
		{"a breakpoint that came and went", func(m *toyMachine) {
			m.store(0, 0, toyBreak)
			m.store(0, 0, toyCode[0])
		}, 1, 0, ""},
		{"a byte inside an instruction behind a breakpoint that may not be seen", func(m *toyMachine) {
			m.store(0, 0, toyBreak)
			m.store(0, 2, 9)
		}, 1, 0, Unsynced},
		{"the same when the breakpoint is known", func(m *toyMachine) {
			m.store(0, 0, toyBreak)
			m.sync()
			m.store(0, 2, 9)
		}, 1, 0, ""},
		{"a breakpoint inside a jump", func(m *toyMachine) {
			optimize(m, 0, toyDetour)
			m.store(0, 4, toyBreak)
			m.store(0, 4, toyJump(0, toyDetour)[4])
		}, 1, 0, Unsynced},
	})
}

// TestJumpWithoutBreakpoint stores all bytes of a jump over instructions that CPUs may be fetching.
func TestJumpWithoutBreakpoint(t *testing.T) {
	runStages(t, newToy, []stage{
		{"a jump stored over the instructions at once", func(m *toyMachine) {
			m.storeWhole(0, 0, toyJump(0, toyDetour)...)
		}, 1, 0, Unsynced},
		{"the same when everybody knows", func(m *toyMachine) {
			m.storeWhole(0, 0, toyJump(0, toyDetour)...)
			m.sync()
		}, 1, 0, ""},
	})
}

// TestEachSyncMatters leaves synchronizations of the breakpoint protocol out, and executes after every
// step.
func TestEachSyncMatters(t *testing.T) {
	for skip, want := range map[int]Kind{0: "", 1: Unsynced, 2: Unsynced, 3: Unsynced} {
		m := newToy()
		var bad Kind
		run := func() {
			if k, _ := m.run(1, 0); bad == "" {
				bad = k
			}
		}
		for i, store := range []func(){
			func() { m.store(0, 0, toyBreak) },
			func() { m.store(0, 1, toyJump(0, toyDetour)[1:]...) },
			func() { m.store(0, 0, toyJumpCode) },
		} {
			store()
			run()
			if i+1 != skip {
				m.sync()
			}
		}
		m.t.promise(toyAt)
		run()
		if bad != want {
			t.Errorf("without synchronization %d: %q, want %q", skip, bad, want)
		}
	}
}

// TestWordsAreSeenWhole takes another rule of synchronization: there an instruction is an aligned word.
func TestWordsAreSeenWhole(t *testing.T) {
	code := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	runStages(t, func() *toyMachine { return newToyOf(wordArch(), code) }, []stage{
		{"a jump in one store", func(m *toyMachine) {
			m.storeWhole(0, 0, wordJump, 9, 0, 0)
		}, 1, 0, ""},
		{"a breakpoint, then a jump", func(m *toyMachine) {
			m.storeWhole(0, 0, wordBreak, 0, 0, 0)
			m.storeWhole(0, 0, wordJump, 9, 0, 0)
		}, 1, 0, ""},
		{"a jump byte by byte", func(m *toyMachine) {
			m.store(0, 0, wordJump, 9, 0, 0)
		}, 1, 0, Unsynced},
		{"two words in one store", func(m *toyMachine) {
			m.storeWhole(0, 0, wordBreak, 0, 0, 0, wordBreak, 0, 0, 0)
		}, 1, 0, Unsynced},
		{"a jump to nowhere that was replaced", func(m *toyMachine) {
			m.storeWhole(0, 0, wordJump, 8, 0, 0)
			m.storeWhole(0, 0, wordJump, 9, 0, 0)
		}, 1, 0, Unsynced},
	})
}

// TestStoresAreForgotten settles when every CPU knows of a store, and not sooner.
func TestStoresAreForgotten(t *testing.T) {
	m := newToy()
	m.store(0, 0, toyBreak)
	m.sync(1)
	m.store(1, 4, toyBreak)
	m.t.settle(m.syncs)
	if len(m.t.stores) != 2 {
		t.Errorf("%d stores are left, want 2: CPU 2 knows of none", len(m.t.stores))
	}
	m.sync(2)
	m.t.settle(m.syncs)
	if len(m.t.stores) != 1 || m.t.base[0] != toyBreak || m.t.base[4] != toyCode[4] {
		t.Errorf("%d stores on % x are left, want that of CPU 1, of which CPU 0 does not know", len(m.t.stores), m.t.base)
	}
	m.sync(0)
	m.t.settle(m.syncs)
	if len(m.t.stores) != 0 {
		t.Errorf("%+v is left", m.t.stores)
	}
}

// TestUnsyncedSaysWhere wants places in the reason.
func TestUnsyncedSaysWhere(t *testing.T) {
	m := newToy()
	m.store(0, 0, toyBreak)
	m.store(0, 2, 9)
	if _, why := m.run(1, 0); !strings.Contains(why, "toy+0x0: ") || !strings.Contains(why, "toy+0x1 ") || !strings.Contains(why, "toy+0x2 ") {
		t.Errorf("it says %q", why)
	}
}
