package races

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

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

// TestWhatACPUMayHaveFetched stages the histories of stores of testdata/unsynced.txt.
func TestWhatACPUMayHaveFetched(t *testing.T) {
	cases(t, "testdata/unsynced.txt", func(commands [][]string) string {
		m, found := newToy(), Kind("")
		for _, c := range commands {
			switch args := c[1:]; c[0] {
			case "words":
				m = newToyOf(wordArch(), []byte{1, 2, 3, 4, 5, 6, 7, 8})
			case "exec":
				if kind, _ := m.run(num(t, args[0], 10), num(t, args[1], 10)); found == "" {
					found = kind
				}
			case "gone":
				m.t.told("gone", toyAt)
			case "store", "whole":
				var b []byte
				if _, err := fmt.Sscanf(args[2], "%x", &b); err != nil {
					t.Error(err)
				}
				store := map[string]func(cpu, at int, b ...byte){"store": m.store, "whole": m.storeWhole}[c[0]]
				store(num(t, args[0], 10), num(t, args[1], 10), b...)
			case "sync":
				m.sync(nums(t, args)...)
			case "optimize":
				optimize(m, num(t, args[0], 10), uint64(num(t, args[1], 16)), nums(t, args[2:])...)
			case "unoptimize":
				unoptimize(m, num(t, args[0], 10), nums(t, args[1:])...)
			case "freed":
				gone, leads := uint64(num(t, args[0], 16)), m.t.leads
				m.t.leads = func(to uint64) bool { return to != gone && leads(to) }
			default:
				t.Errorf("no command %q", c)
			}
		}
		return string(found)
	})
}

func nums(t *testing.T, words []string) (all []int) {
	for _, w := range words {
		all = append(all, num(t, w, 10))
	}
	return all
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
		require.Equal(t, bad, want, "without synchronization %d", skip)
	}
}

// TestStoresAreForgotten settles when every CPU knows of a store, and not sooner.
func TestStoresAreForgotten(t *testing.T) {
	m := newToy()
	m.store(0, 0, toyBreak)
	m.sync(1)
	m.store(1, 4, toyBreak)
	m.t.settle(m.syncs)
	require.That(t, len(m.t.stores) == 2, "%d stores are left, want 2: CPU 2 knows of none", len(m.t.stores))
	m.sync(2)
	m.t.settle(m.syncs)
	require.That(t, len(m.t.stores) == 1 && m.t.base[0] == toyBreak && m.t.base[4] == toyCode[4], "%d stores on % x are left, want that of CPU 1, of which CPU 0 does not know", len(m.t.stores), m.t.base)
	m.sync(0)
	m.t.settle(m.syncs)
	require.That(t, len(m.t.stores) == 0, "%+v is left", m.t.stores)
}

// TestUnsyncedSaysWhere wants places in the reason.
func TestUnsyncedSaysWhere(t *testing.T) {
	torn := newToy()
	torn.store(0, 0, toyJump(0, toyDetour)...)
	if _, why := torn.run(0, 1); !strings.Contains(why, "toy+0x1") || !strings.Contains(why, "toy+0x0") {
		t.Errorf("it says %q, without the places", why)
	}
	m := newToy()
	m.store(0, 0, toyBreak)
	m.store(0, 2, 9)
	if _, why := m.run(1, 0); !strings.Contains(why, "toy+0x0: ") || !strings.Contains(why, "toy+0x1 ") || !strings.Contains(why, "toy+0x2 ") {
		t.Errorf("it says %q", why)
	}
}
