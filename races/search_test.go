package races

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"kprobesim/internal/defect"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// variants calls f for every variant of every scenario of this program.
func variants(t *testing.T, f func(t *testing.T, s *Scenario, v *Variant)) {
	for _, name := range Names() {
		s := require.Must(Load(name))(t)
		for i := range s.Variants {
			if testing.Short() && i > 0 {
				break // for make race: the goroutines are the same in all of them
			}
			v := &s.Variants[i]
			t.Run(name+"/"+v.Name, func(t *testing.T) {
				t.Parallel()
				f(t, s, v)
			})
		}
	}
}

// probesOfACall is the number of probes that a call can hit: scenarios may have several in one function, which most of
// its calls hit two of.
func probesOfACall(s *Scenario) uint64 {
	if s.Name == "overlap" || s.Name == "user-exit" || s.Name == "user" || s.Name == "strike" || s.Name == "nmi" {
		return uint64(len(s.Probes))
	}
	return 1
}

// tallies has what searches of TestProtocolsAreSafe execute: a change that nothing is found by shows in it.
const tallies = "testdata/reports/tallies.txt"

// TestProtocolsAreSafe runs variants as they were specified: nothing may be found. Some have one of the policies, and each has both
// where long tests are asked for. There are few schedules: make races runs many.
func TestProtocolsAreSafe(t *testing.T) {
	var mu sync.Mutex
	var all []string
	t.Cleanup(func() { // behind the variants, which are parallel
		if slices.Sort(all); *update {
			require.Lines(t, tallies, strings.Join(all, ""), true)
		}
	})
	variants(t, func(t *testing.T, s *Scenario, v *Variant) {
		policies := []string{Random, PCT}
		if !*update {
			policies = hosttools.Share(t, "policies of a variant", 12, policies)
		}
		for _, policy := range policies {
			opt := Default()
			opt.Schedules, opt.Policy, opt.Workers, opt.Seed = 7, policy, 1, 20
			tally, err := Search(s, v, opt)
			require.Need(t, err == nil && tally.Schedules == opt.Schedules, "%s: %d schedules, %v", policy, tally.Schedules, err)
			if tally.Hits < tally.Schedules || tally.Calls*probesOfACall(s) <= tally.Hits {
				t.Errorf("%s: %d calls and %d hits in %d schedules: the probes are not hit, or always", policy,
					tally.Calls, tally.Hits, tally.Schedules)
			}
			for _, o := range tally.Found {
				t.Errorf("%s, schedule %d: %s", policy, o.N, o.Violation)
			}
			line := fmt.Sprintf("%s/%s, %s: %d steps, %d calls, %d hits\n", s.Name, v.Name, policy, tally.Steps, tally.Calls, tally.Hits)
			if !*update {
				require.Among(t, tallies, line)
			}
			mu.Lock()
			all = append(all, line)
			mu.Unlock()
		}
	})
}

// firsts has the first violation of each mutant within ten thousand schedules: its schedule, kind and CPU, and a sum of the rest.
const firsts = "testdata/reports/firsts.txt"

// TestEveryMutantIsCaught makes each mistake in the variants that say that they notice it. With -update it searches ten thousand schedules
// for the first violation. Else it runs the machine that showed it, up to there. Each kind of violation is found for some of them.
func TestEveryMutantIsCaught(t *testing.T) {
	var mu sync.Mutex
	var all []string
	t.Cleanup(func() {
		if slices.Sort(all); *update {
			require.Lines(t, firsts, strings.Join(all, ""), true)
		}
	})
	known, tried, kinds := map[string]uint64{}, atomic.Int32{}, sync.Map{}
	for line := range strings.Lines(string(require.Must(os.ReadFile(firsts))(t))) {
		of, found, _ := strings.Cut(line, ": schedule ")
		var n uint64
		_, err := fmt.Sscan(found, &n)
		require.NoError(t, err)
		known[of] = n
	}
	t.Run("variants", func(t *testing.T) {
		variants(t, func(t *testing.T, s *Scenario, v *Variant) {
			catches := v.Catches
			if !*update {
				catches = hosttools.Share(t, "mutants of a variant", 8, catches)
			}
			for i, m := range catches {
				if testing.Short() && i > 0 {
					break // as above
				}
				tried.Add(1)
				opt := Default().of(s, v)
				opt.Mutant, opt.Enough = m, 1
				of, first, end := fmt.Sprintf("%s/%s, %s", s.Name, v.Name, m), uint64(0), uint64(10000)
				if n, ok := known[of]; ok && !*update {
					first, end = n-n%opt.perMachine(), n+1
				}
				run := require.Must(newLab(s, v, m))(t).run
				var bad *Outcome
				for ; first < end && bad == nil; first += opt.perMachine() {
					r := runBatch(&opt, run, first, min(opt.perMachine(), end-first))
					require.NoError(t, r.err)
					if last := &r.outcomes[len(r.outcomes)-1]; last.Violation != nil {
						bad = last
					}
				}
				require.Need(t, bad != nil, "%s is not noticed before schedule %d", of, end)
				t.Logf("%s, schedule %d: %s", m, bad.N, bad.Violation)
				line := fmt.Sprintf("%s: schedule %d, %s on cpu %d, %.4x\n", of, bad.N, bad.Violation.Kind, bad.Violation.CPU, sha256.Sum256(fmt.Appendf(nil, "%+v", *bad.Violation)))
				if !*update {
					require.Among(t, firsts, line)
				}
				mu.Lock()
				all = append(all, line)
				mu.Unlock()
				kinds.Store(bad.Violation.Kind, true)
				require.That(t, !slices.Contains([]Kind{Died, Hung, Leaked, Missed}, bad.Violation.Kind) || bad.Violation.CPU < 0, "%s: %s: this is of the whole machine, and not of a CPU", m, bad.Violation)
			}
		})
	})
	for _, k := range []Kind{Torn, Inside, Stale, Unsynced, Lost, Doubled, Leaked, Missed, Late, Hung, Died} {
		_, found := kinds.Load(k)
		require.That(t, found || testing.Short() || tried.Load() < 50, "no mutant is noticed by what is %s", k)
	}
}

// reportOf runs one variant and returns the report.
func reportOf(t *testing.T, name, variant string, opt Options) string {
	t.Helper()
	s := require.Must(Load(name))(t)
	v := require.Must(s.Variant(variant))(t)
	tally := require.Must(Search(s, v, opt))(t)
	var b strings.Builder
	require.NoError(t, Report(&b, opt, []Row{{Scenario: s, Variant: v, Tally: tally}}))
	return b.String()
}

// TestReportsAreTheSameEverywhere runs searches, one of them with violations in many batches, with
// other numbers of workers and processors.
func TestReportsAreTheSameEverywhere(t *testing.T) {
	for _, opt := range []Options{
		{Schedules: 60, Policy: Random, Mutant: "bp-skip-sync-2", Depth: 3},
		{Schedules: 60, Policy: PCT, Depth: 3},
		{Schedules: 40, Policy: Exhaustive, Depth: 3, Preemptions: 1},
	} {
		opt.Workers = 1
		want := reportOf(t, "optimize", "breakpoint", opt)
		old := runtime.GOMAXPROCS(2)
		opt.Workers = 3
		got := reportOf(t, "optimize", "breakpoint", opt)
		runtime.GOMAXPROCS(old)
		require.That(t, got == want, "policy %s: one worker reports\n%s\nthree report\n%s", opt.Policy, want, got)
	}
}

// TestReplay shows violations and finds them again at the same steps.
func TestReplay(t *testing.T) {
	for _, tt := range []struct {
		scenario, variant, place string
		opt                      Options
	}{
		{"optimize", "breakpoint", "work_frame+0x0", Options{Policy: Random, Mutant: "bp-skip-sync-2"}},
		{"optimize", "breakpoint", "work_frame+0x0", Options{Policy: PCT, Mutant: "bp-skip-sync-2"}},
		{"jump-into", "stop_machine", "work_tight_loop+0x3", Options{Policy: Exhaustive, Mutant: "jump-into-region", Preemptions: 1}},
	} {
		s := require.Must(Load(tt.scenario))(t)
		v := require.Must(s.Variant(tt.variant))(t)
		opt := tt.opt
		opt.Schedules, opt.Depth, opt.Enough, opt.Workers = 400, 3, 2, 1
		tally, err := Search(s, v, opt)
		if err != nil || len(tally.Found) != 2 {
			t.Errorf("%s: %d violations, %v", opt.Policy, len(tally.Found), err)
			continue
		}
		opt.Workers = 0 // one a core
		for _, want := range tally.Found {
			var b bytes.Buffer
			got, err := Replay(s, v, opt, want.N, Shown{Lines: 50}, &b)
			if err != nil || got.Violation == nil || *got.Violation != *want.Violation || got.Steps != want.Steps {
				t.Errorf("%s, schedule %d: %v; replayed %v, %v", opt.Policy, want.N, want.Violation, got, err)
				continue
			}
			checkReplay(t, b.String(), want.Violation, tt.place)
		}
		checkWholeReplay(t, s, v, opt, tally.Found[0].N)
	}
}

// checkReplay wants the last lines to show the instruction that was wrong.
func checkReplay(t *testing.T, text string, v *Violation, place string) {
	t.Helper()
	text, _, _ = strings.Cut(text, "\n\n") // the table follows
	lines := strings.Split(strings.TrimSpace(text), "\n")
	require.That(t, len(lines) == 53, "%d lines, want 50 and three of explanation", len(lines))
	last := lines[len(lines)-2]
	for _, want := range []string{fmt.Sprintf("cpu %d", v.CPU), fmt.Sprintf("%016x", v.PC), place, fmt.Sprint(v.Step)} {
		require.That(t, strings.Contains(last, want), "the last line is %q, without %q", last, want)
	}
}

// checkWholeReplay wants the steps of the patch and every CPU.
func checkWholeReplay(t *testing.T, s *Scenario, v *Variant, opt Options, n uint64) {
	t.Helper()
	var all bytes.Buffer
	if _, err := Replay(s, v, opt, n, Shown{}, &all); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"---- patch breakpoint", "---- probe optimizing", " cpu 0 ", " cpu 1 "} {
		require.That(t, strings.Contains(all.String(), want), "%s: the whole schedule has no %q", opt.Policy, want)
	}
}

// TestScenarioThatCannotRun names the action and its place.
func TestScenarioThatCannotRun(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{`"sleep 1", `, ``, ""},
		{`"register p", `, `"register p", "register p", `, "small.toml:5:"},
		{`"unregister p"`, `"expect p optimized", "unregister p"`, "probe p is"},
		{`target = "bench_target"` + "\n[[variants", `target = "nothing"` + "\n[[variants", `no function "nothing"`},
		{`[[variants]]`, "offset = 1\n[[variants]]", "not the start of an instruction"},
	} {
		s, err := Parse("small.toml", []byte(strings.Replace(small, tt.old, tt.new, 1)))
		require.NoError(t, err)
		opt := Default()
		opt.Schedules = 3
		_, err = Search(s, &s.Variants[0], opt)
		require.That(t, (tt.want != "" || err == nil) && (tt.want == "" || err != nil && strings.Contains(err.Error(), tt.want)), "%s: %v, want %q", tt.new, err, tt.want)
	}
}

// TestWhatScenariosMustNotDoIsNoticed runs scenarios that break the rules for calls: more sleepers than a
// return probe has instances, and a function that is called with other arguments elsewhere.
func TestWhatScenariosMustNotDoIsNoticed(t *testing.T) {
	for _, tt := range []struct {
		scenario, old, new string
		want               Kind
	}{
		{"kretprobe", "maxactive = 16", "maxactive = 1", Lost},
		{"optimize", "args = [3, 4]", "args = [300, 5]", Result},
	} {
		b := require.Must(own.ReadFile("scenarios/" + tt.scenario + ".toml"))(t)
		s := require.Must(Parse(tt.scenario, []byte(strings.Replace(string(b), tt.old, tt.new, 1))))(t)
		opt := Default()
		opt.Schedules, opt.Enough, opt.Workers = 200, 1, 1
		tally, err := Search(s, &s.Variants[0], opt)
		require.That(t, err == nil && len(tally.Found) != 0 && tally.Found[0].Violation.Kind == tt.want, "%s with %s: %+v, %v; want %q", tt.scenario, tt.new, tally.Found, err, tt.want)
	}
}

// TestViolationsAreCounted keeps the first outcomes of a search, and counts all.
func TestViolationsAreCounted(t *testing.T) {
	opt := Options{Schedules: 3 * keep, Policy: Random, Workers: 1, batch: 1}
	tally := require.Must(search(&opt, func(_ chooser, first, count uint64) ([]Outcome, error) {
		require.Equal(t, count, 1, "from schedule %d on a machine runs", first)
		return []Outcome{{N: first, Violation: &Violation{}}}, nil
	}))(t)
	require.That(t, len(tally.Found) == keep && tally.Violations == 3*keep, "%d of %d are kept", len(tally.Found), tally.Violations)
}

// TestPanicsAreErrors wants a defect of this program to end a search, not the program.
func TestPanicsAreErrors(t *testing.T) {
	opt := Options{Schedules: 3000, Policy: Random, Workers: 2}
	_, err := search(&opt, func(c chooser, first, count uint64) ([]Outcome, error) { panic("defect") })
	var internal *defect.Error
	require.That(t, errors.As(err, &internal) && strings.Contains(err.Error(), "schedules from 0"), "%v", err)
}

// TestHangsAreReported gives schedules less time than some need.
func TestHangsAreReported(t *testing.T) {
	s := require.Must(Parse("small.toml", []byte(strings.Replace(small, `cpus = 2`, "cpus = 2\nlimit = 1000", 1))))(t)
	opt := Default()
	opt.Schedules = 3
	tally, err := Search(s, &s.Variants[0], opt)
	require.That(t, err == nil && tally.Violations != 0 && tally.Found[0].Violation.Kind == Hung, "%+v, %v", tally, err)
}
