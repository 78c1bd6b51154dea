package races

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestViolationIsMinimized wants one missing step to need few preemptions, a report of at most forty lines that names what was
// stored and the rule, and the same violation when the choices alone are given.
func TestViolationIsMinimized(t *testing.T) {
	s := require.Must(Load("optimize"))(t)
	v := require.Must(s.Variant("breakpoint"))(t)
	opt := Default()
	opt.Schedules, opt.Mutant, opt.Enough = 400, "bp-skip-sync-2", 1
	found := require.Must(Search(s, v, opt))(t).Found[0]
	var told []*Told
	for _, workers := range []int{1, 3} {
		opt.Workers = workers
		told = append(told, require.Must(Tell(s, v, opt, &found, 300, nil))(t))
	}
	x := told[0]
	if x == nil || x.Choices != told[1].Choices || !slices.Equal(x.Lines, told[1].Lines) {
		t.Fatalf("one worker tells\n%v\nthree tell\n%v", x, told[1])
	}
	require.That(t, x.Preemptions <= 2 && x.Violation.Kind == Unsynced && len(x.Lines) <= 38, "%d preemptions of %s, in %d lines: %s", x.Preemptions, x.Choices, len(x.Lines), x.Violation)
	text := strings.Join(x.Lines, "\n")
	for _, want := range []string{"stores e9 over cc at work_frame+0x0", "protocol: ", "script: ", "broken: Intel SDM", "cpu 2 synchronized last"} {
		require.That(t, strings.Contains(text, want), "no %q in\n%s", want, text)
	}
	var b bytes.Buffer
	o := require.Must(ReplayChoices(s, v, opt, x.Choices, Shown{Lines: 5}, &b))(t)
	require.That(t, o.Violation != nil && *o.Violation == *x.Violation && strings.Contains(b.String(), text), "replayed %v, want %v\n%s", o.Violation, x.Violation, b.String())
	if o, err := ReplayChoices(s, v, opt, "none", Shown{Lines: 5}, &b); err != nil || o.Violation != nil {
		t.Errorf("without choices: %v, %v", o, err)
	}
	other := *found.Violation
	other.Kind = Hung
	found.Violation = &other
	none := require.Must(Tell(s, v, opt, &found, 3, nil))(t)
	require.That(t, none == nil, "a violation that is not met again is told as %v", none)
}

// TestHungSchedulesAreMinimized wants the few choices of a schedule that hangs within some 30 of them, though each executes all instructions of
// its limit and a search chooses something every ten.
func TestHungSchedulesAreMinimized(t *testing.T) {
	hosttools.Long(t, "a story of millions of instructions", "shorter stories")
	t.Parallel()
	s := require.Must(Load("optimize"))(t)
	v := require.Must(s.Variant("ppc64-stop_machine"))(t)
	opt := Default()
	opt.Schedules, opt.Mutant, opt.Enough, opt.Seed = 100, "state-unordered", 1, 2 // a seed that finds a story of few choices
	found := require.Must(Search(s, v, opt))(t).Found[0]
	told := require.Must(Tell(s, v, opt, &found, 300, nil))(t)
	require.Need(t, told != nil, "nothing is told")
	require.That(t, strings.Count(told.Choices, ",") < 10 && told.Violation.Kind == Hung, "told is %s of %.200s", told.Violation, told.Choices)
	none := require.Must(Tell(s, v, opt, &found, 1, nil))(t)
	require.That(t, none == nil, "one schedule is told as %v", none)
}

// TestTapesAreFollowed wants the choices that were written down to lead through the same schedule. Where a tape misses when a store
// is seen, they do not, so a minimizer asks whether a story shows its violation.
func TestTapesAreFollowed(t *testing.T) {
	for _, name := range []string{"optimize/breakpoint", "optimize/ppc64-store", "nmi/2020-stepped"} {
		s, v := variantOf(t, name, map[string]*Scenario{})
		l, opt := require.Must(newLab(s, v, ""))(t), Default().of(s, v)
		same := 0
		for n := range uint64(8) {
			x := &tape{chooser: newChooser(&opt)}
			want := require.Must(l.run(x, n, 1))(t)
			got := require.Must(l.run(&follower{story: x.story()}, 0, 1))(t)
			if want[0].Steps == got[0].Steps && want[0].Hits == got[0].Hits {
				same++
			}
		}
		require.That(t, same >= 7, "%s: %d of 8 schedules are the same by their choices", name, same)
	}
}

func TestChoicesAreRead(t *testing.T) {
	for _, text := range []string{"none", "1@300:0", "1@300.7:0,2@41=0@5.3,0@9=1@8+3", "1@300!tick:0,0@41.2!nmi:0", "1#57=2@41,0#3>1=1@80.2"} {
		s, err := parseStory(text)
		require.That(t, err == nil && s.String() == text, "%s became %s, %v", text, s, err)
	}
	for _, text := range []string{
		"", "1@300", "1@300:99", "1@300:-1", "1@300:0x", "1@300.0:1", "1@a:0", "1@300=2", "1@3:0,,2@3:1", "01@3:0", "1@3=0@4+0", "1#5:0", "1#0=2@3",
		"1#5>1=2@3", "1#5>99=2@3", "1@3!:0", "1@3!smi:0", "1@3!nmi=2@3", "1#5!nmi:0", "1@3!nmi:99",
	} {
		s, err := parseStory(text)
		require.That(t, err != nil, "%q is read as %s", text, s)
	}
}

// TestPlacesOfPools takes all slots for one place, and all detour buffers for another.
func TestPlacesOfPools(t *testing.T) {
	s := require.Must(Load("optimize"))(t)
	l := require.Must(newLab(s, require.Must(s.Variant("breakpoint"))(t), ""))(t)
	for _, pool := range []string{"slots", "detours"} {
		at := require.Must(l.between("__"+pool+"_start", "__"+pool+"_end"))(t)
		require.That(t, l.where(at[0]) == pool && l.where(at[1]-1) == pool && l.where(at[1]) != pool, "%s from %#x to %#x: %q, %q and %q", pool, at[0], at[1], l.where(at[0]), l.where(at[1]-1), l.where(at[1]))
	}
}

// TestAround begins in the middle and goes both ways by turns.
func TestAround(t *testing.T) {
	require.Equal(t, fmt.Sprint(around(2), around(0)), "[0 1 -1 2 -2] [0]", "around")
}
