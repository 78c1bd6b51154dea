package races

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/sim"
)

// watched runs schedules of a variant and shows every machine to a function before it runs.
func watched(t *testing.T, scenario, variant string, schedules uint64, watch func(tr *trial)) {
	t.Helper()
	s := require.Must(Load(scenario))(t)
	v := require.Must(s.Variant(variant))(t)
	l := require.Must(newLab(s, v, ""))(t)
	l.watch = watch
	out, err := l.run(newRandom(1), 0, schedules)
	require.Need(t, err == nil && uint64(len(out)) == schedules, "%d schedules, %v", len(out), err)
}

// TestKernelTellsTheChecker lets a real kernel patch text and looks at what has become of it in the
// checker: stores that were promised to be everybody's, text that is gone, slots that are in use. Without
// one of these the checker would go on, and see less.
func TestKernelTellsTheChecker(t *testing.T) {
	told := map[string]int{}
	for _, x := range [][2]string{{"optimize", "breakpoint"}, {"module", "breakpoint"}} {
		watched(t, x[0], x[1], 10, func(tr *trial) {
			tr.m.Watch(func(e sim.Event) {
				if e.Kind == kprobes.EventProbe && tr.e.active && tr.checker.knows(t, e) {
					told[e.Name]++
				}
				if p := slotPoolOf(tr.checker, e); p != nil {
					require.That(t, p.live(e.Arg) == (e.Name == "taken"), "%s at %#x is %s, which the checker does not know", e.Kind, e.Arg, e.Name)
					told[string(e.Kind)]++
				}
			})
		})
	}
	for _, want := range []string{"optimized", "unoptimized", "gone", "slot", "detour"} {
		require.That(t, told[want] != 0, "the checker was never told of %q: it has seen %v", want, told)
	}
}

// knows reports whether the checker has taken in what became of a probe, and whether there was something
// to take in.
func (c *checker) knows(t *testing.T, e sim.Event) bool {
	x := c.textAt(e.Arg)
	if x == nil {
		t.Errorf("a probe at %#x, in no text that is looked at", e.Arg)
		return false
	}
	switch e.Name {
	case "gone":
		require.That(t, x.gone, "text is gone, which the checker does not know")
		return true
	case "optimized", "unoptimized":
		seen := false
		for i := range x.stores {
			if s := &x.stores[i]; s.addr-e.Arg < x.reach() {
				seen = true
				if !s.promised {
					t.Errorf("%s: the store at %s was promised, which the checker does not know", e.Name, x.at(s.addr))
				}
			}
		}
		return seen
	}
	return false
}

func slotPoolOf(c *checker, e sim.Event) *slotPool {
	switch e.Kind {
	case kprobes.EventSlot:
		return &c.pools[0]
	case kprobes.EventDetour:
		return &c.pools[1]
	}
	return nil
}

// TestProbesAreKnown wants the checker to know each probe and watchpoint as one that counts and as one that is gone, at actions of its script.
func TestProbesAreKnown(t *testing.T) {
	for _, scenario := range []string{"optimize", "user", "watch", "rmmod"} {
		known := map[string]map[expected]bool{}
		watched(t, scenario, require.Must(Load(scenario))(t).Variants[0].Name, 2, func(tr *trial) {
			tr.acting = func(int, string) {
				for _, p := range tr.checker.calls.probes {
					if known[p.name] == nil {
						known[p.name] = map[expected]bool{}
					}
					known[p.name][p.state] = true
				}
			}
		})
		for name, states := range known {
			require.That(t, states[on] && states[absent], "%s: %s is known as %v", scenario, name, states)
		}
	}
}

// TestHandlersAreProbed wants hits in handlers in the scenario that is about them, and the kernel to count
// them as missed. The kernel of 2005 takes such a probe away and counts nothing.
func TestHandlersAreProbed(t *testing.T) {
	for _, variant := range []string{
		"stepped", "boosted", "breakpoint", "2005", "2006", "ppc64-2005", "ppc64-2010", "ppc64-2011", "ppc64-store",
		"arm-2010", "arm-2014", "arm",
	} {
		missed := map[string]uint64{}
		watched(t, "nested", variant, 20, func(tr *trial) {
			tr.m.Watch(func(e sim.Event) {
				if e.Kind != kprobes.EventProbe || e.Name != "unregistered" {
					return
				}
				st, err := tr.k.State(e.ID)
				if err != nil {
					t.Error(err)
				}
				place := "first"
				if st.Offset != 0 {
					place = "last"
				}
				missed[place] += st.NMissed
			})
		})
		counts := !strings.HasSuffix(variant, "2005")
		require.That(t, (missed["first"] != 0) == counts && (missed["last"] != 0) == counts, "%s: hits missed by instruction of the handler: %v", variant, missed)
	}
}

// TestQueuedIsAskedFor wants the scenario that acts on queued probes to say so before it acts.
func TestQueuedIsAskedFor(t *testing.T) {
	s := require.Must(Load("queued"))(t)
	var after []string
	for i, a := range s.Script[:len(s.Script)-1] {
		if a.Queued {
			after = append(after, s.Script[i+1].Verb)
		}
	}
	for _, want := range []string{"register", "unregister", "enable", "disable"} {
		require.That(t, slices.Contains(after, want), "nothing is done by %q while a probe is queued, only %q", want, after)
	}
}

// TestRefusalEndsNothing has a mutant refuse what the script wants: no schedule dies of it.
func TestRefusalEndsNothing(t *testing.T) {
	s := require.Must(Parse("small.toml", []byte(small)))(t)
	twice, err := s.readAction("register p") // which is refused
	require.NoError(t, err)
	s.Script = append([]Action{twice}, s.Script...)
	l := require.Must(newLab(s, &s.Variants[0], kprobes.MutantNoWait))(t)
	out, err := l.run(newRandom(1), 0, 3)
	require.Need(t, err == nil && len(out) == 3, "%d schedules, %v", len(out), err)
	for _, o := range out {
		require.That(t, o.Violation == nil || o.Violation.Kind != Died, "schedule %d: %s", o.N, o.Violation)
	}
}

// TestChainIsShared wants the two functions of scenario chain to be in one chain, by the guest's hash of 6 bits of 64.
func TestChainIsShared(t *testing.T) {
	s := require.Must(Load("chain"))(t)
	for i := range s.Variants {
		l := require.Must(newLab(s, &s.Variants[i], ""))(t)
		p, q := require.Must(l.symbol(s.Probes[0].Target))(t), require.Must(l.symbol(s.Probes[1].Target))(t)
		const multiplier, shift = 0x9e37fffffffc0001, 58
		require.That(t, p.Addr*multiplier>>shift == q.Addr*multiplier>>shift,
			"%s: %s and %s are in two chains: choose two that hash alike", l.im.Name, p.Name, q.Name)
	}
}
