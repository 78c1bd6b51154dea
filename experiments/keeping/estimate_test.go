package keeping

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// clocked is a measure that takes a time for each CPU: one for each point, and one for each call.
type clocked struct {
	point, call time.Duration
	measured    []string // hits and warmup of each measurement
	fails       string   // the point that is not measured
}

var errClocked = errors.New("cannot be measured")

func (c *clocked) measure(p *schema.Point) (*kinds.Measurement, error) {
	c.measured = append(c.measured, fmt.Sprint(p.Workload.Hits, p.Workload.Warmup))
	if p.Name == c.fails {
		return nil, errClocked
	}
	time.Sleep(c.of(p))
	return &kinds.Measurement{}, nil
}

func (c *clocked) of(p *schema.Point) time.Duration {
	return time.Duration(p.Kernel.CPUs) * (c.point + c.call*time.Duration(p.Calls()))
}

// all is the time of all points of a plan, and of the longest.
func (c *clocked) all(p *schema.Plan) (total, longest time.Duration) {
	for i := range p.Points {
		total += c.of(&p.Points[i])
		longest = max(longest, c.of(&p.Points[i]))
	}
	return total, longest
}

func planOf(t *testing.T, sets ...string) *schema.Plan {
	t.Helper()
	p, err := planning.NewLoader().Plan(exptest.E5410, sets)
	require.NoError(t, err)
	return p
}

// Where the host's time follows from points and calls, an estimate equals the run. Up to a thousand hits are
// measured as they are, and more are reckoned from two measurements.
func TestEstimate(t *testing.T) {
	for _, tt := range []struct {
		hits, warmup, workers int
		pilots                int
		first                 string
	}{
		{5000, 100, 1, 12, "[200 100 1000 100]"},
		{5000, 900, 1, 12, "[200 200 1000 200]"},
		{5000, 100, 2, 12, "[200 100 1000 100]"},
		{1001, 0, 1, 12, "[200 0 1000 0]"},
		{1000, 70, 1, 6, "[1000 70 1000 70]"},
		{10, 10, 3, 6, "[10 10 10 10]"},
		{10, 10, 100, 6, "[10 10 10 10]"},
		{10, 10, 0, 6, "[10 10 10 10]"},
	} {
		plan := planOf(t, fmt.Sprint("workload.hits=", tt.hits), fmt.Sprint("workload.warmup=", tt.warmup))
		synctest.Test(t, func(t *testing.T) {
			c := &clocked{point: 100 * time.Millisecond, call: time.Millisecond}
			total, longest := c.all(plan)
			e, err := New(t.TempDir(), "program", false).Estimate(plan, c.measure, tt.workers)
			want := max(longest, total/time.Duration(max(1, min(tt.workers, 6))))
			if err != nil || e.Time != want || e.Points != 6 || e.Kept != 0 || e.Pilots != tt.pilots || e.Guessed != 0 {
				t.Errorf("%d hits, %d workers: %+v, %v; want %v by %d pilots", tt.hits, tt.workers, e, err, want, tt.pilots)
			}
			if got := fmt.Sprint(c.measured[:2]); got != tt.first {
				t.Errorf("the first measurements are %s, want %s", got, tt.first)
			}
		})
	}
}

// What is kept takes nothing, but for a store that makes all again. What an estimate measured in whole is kept.
func TestEstimateOfKept(t *testing.T) {
	plan, dir := planOf(t, "workload.hits=10"), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := &clocked{point: time.Second}
		s := New(dir, "program", false)
		for i := range 2 {
			require.NoError(t, s.Save(&plan.Points[i], &Entry{Measurement: &kinds.Measurement{}}))
		}
		for _, want := range []struct {
			fresh  bool
			kept   int
			takes  time.Duration
			worker int
		}{{false, 2, 4 * time.Second, 1}, {false, 6, 0, 1}, {true, 0, 6 * time.Second, 1}, {true, 0, time.Second, 6}} {
			e, err := New(dir, "program", want.fresh).Estimate(plan, c.measure, want.worker)
			if err != nil || e.Kept != want.kept || e.Time != want.takes || e.Pilots != 6-want.kept {
				t.Errorf("%+v, %v; want %+v", e, err, want)
			}
		}
		// Workers that have nothing to do make the rest no quicker.
		require.NoError(t, New(dir, "other", false).Save(&plan.Points[0], &Entry{Measurement: &kinds.Measurement{}}))
		if e, err := New(dir, "other", false).Estimate(plan, c.measure, 6); err != nil || e.Time != time.Second {
			t.Errorf("%+v, %v; five points on six workers", e, err)
		}
	})
}

// alike are points of one sort with numbers of CPUs.
func alike(plan *schema.Plan, cpus ...int64) *schema.Plan {
	p := *plan
	p.Points = nil
	for i, n := range cpus {
		pt := plan.Points[0]
		pt.Name, pt.Kernel.CPUs, pt.Seed = fmt.Sprint("p", i), n, uint64(i)
		p.Points = append(p.Points, pt)
	}
	return &p
}

// Each number of CPUs is measured until that takes three seconds, and reckoned from the last one then. The host
// executes each CPU.
func TestEstimateOfCPUs(t *testing.T) {
	base := planOf(t, "workload.hits=10")
	for _, tt := range []struct {
		point  time.Duration
		cpus   []int64
		pilots int
	}{
		{time.Second, []int64{1, 2, 4, 8, 1}, 2},            // 1 and 2 take three seconds
		{900 * time.Millisecond, []int64{1, 2, 4, 8, 8}, 3}, // and here 2.7
		{4 * time.Second, []int64{2, 1, 3}, 1},
		{time.Second, []int64{2, 2, 2}, 1},
	} {
		plan := alike(base, tt.cpus...)
		synctest.Test(t, func(t *testing.T) {
			c := &clocked{point: tt.point}
			total, _ := c.all(plan)
			e, err := New(t.TempDir(), "program", false).Estimate(plan, c.measure, 1)
			if err != nil || e.Time != total || e.Pilots != tt.pilots || e.Guessed != 0 {
				t.Errorf("%v CPUs: %+v, %v; want %v by %d pilots", tt.cpus, e, err, total, tt.pilots)
			}
		})
	}
}

// Behind twenty seconds no further sort is measured: it is reckoned from the one before it.
func TestEstimateGuesses(t *testing.T) {
	plan := planOf(t, "workload.hits=10")
	for point, guessed := range map[time.Duration]int{5 * time.Second: 1, 6 * time.Second: 2, 30 * time.Second: 5, 4 * time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			c := &clocked{point: point}
			e, err := New(t.TempDir(), "program", false).Estimate(plan, c.measure, 1)
			if err != nil || e.Time != 6*point || e.Guessed != guessed || e.Pilots != 6-guessed {
				t.Errorf("points of %v: %+v, %v; want %d guessed", point, e, err, guessed)
			}
		})
	}
}

// The first measurement of a packaged kernel boots it for all, so it is made twice, and what it takes more counts once.
func TestEstimateOfPackagedKernel(t *testing.T) {
	plan := planOf(t, "workload.hits=10")
	for i := range plan.Points {
		plan.Points[i].Linux = &schema.Linux{}
	}
	for _, boot := range []time.Duration{7 * time.Second, 0} {
		synctest.Test(t, func(t *testing.T) {
			c := &clocked{point: time.Second}
			e, err := New(t.TempDir(), "program", true).Estimate(plan, func(p *schema.Point) (*kinds.Measurement, error) {
				if len(c.measured) == 0 {
					time.Sleep(boot)
				}
				return c.measure(p)
			}, 1)
			if err != nil || e.Time != 6*time.Second+boot || e.Pilots != 7 {
				t.Errorf("%+v, %v; want %v for the boot and 1 s for each of 6 points", e, err, boot)
			}
		})
	}
}

// A point that cannot be measured ends an estimate with its name, at either of its two measurements.
func TestEstimateFails(t *testing.T) {
	for _, hits := range []string{"10", "5000"} {
		plan := planOf(t, "workload.hits="+hits)
		c := &clocked{fails: plan.Points[1].Name}
		_, err := New(t.TempDir(), "program", false).Estimate(plan, c.measure, 1)
		if !errors.Is(err, errClocked) || !strings.Contains(err.Error(), "point "+c.fails) {
			t.Errorf("%s hits: %v", hits, err)
		}
		n := 0
		_, err = New(t.TempDir(), "program", false).Estimate(plan, func(*schema.Point) (*kinds.Measurement, error) {
			if n++; n == 2 {
				return nil, errClocked
			}
			return &kinds.Measurement{}, nil
		}, 1)
		if !errors.Is(err, errClocked) {
			t.Errorf("%s hits, the second measurement: %v", hits, err)
		}
	}
}

// Memory is the sum of the process, of what measurements add to it on the CPUs of the plan, and of points and profiles.
// Here all points are kept, so that one worker is reckoned with, and what was measured is given.
func TestEstimateOfMemory(t *testing.T) {
	plan, dir := alike(planOf(t, "workload.hits=10"), make([]int64, 200)...), t.TempDir()
	for i := range plan.Points {
		plan.Points[i].Kernel.CPUs = 1 + 3*int64(i%2)
		require.NoError(t, New(dir, "program", false).Save(&plan.Points[i], &Entry{Measurement: &kinds.Measurement{}}))
	}
	const most = 1 << 40
	for cpus, times := range map[int64]uint64{0: 4, 1: 4, 2: 2, 3: 1, 4: 1, 8: 1} {
		s := New(dir, "program", false)
		s.most, s.cpus = most, cpus
		now, _ := occupied()
		e, err := s.Estimate(plan, (&clocked{}).measure, 5)
		want := now + 200*perPoint + running.MostProfiles*perProfile
		if rest := e.Memory - times*most; err != nil || e.Kept != 200 || rest < want-want/8 || rest > want+want/4 {
			t.Errorf("%d CPUs measured: %+v, %v; want %d times %d, and about %d", cpus, e, err, times, uint64(most), want)
		}
	}
}

// What a measurement adds to the memory of the process is the most that one added, and its CPUs are counted.
func TestTimedNotesMemory(t *testing.T) {
	plan := alike(planOf(t, "workload.hits=10"), 3, 1)
	s, made := New(t.TempDir(), "program", false), 0
	var big []byte
	for i := range plan.Points {
		if _, err := s.timed(&plan.Points[i], func(*schema.Point) (*kinds.Measurement, error) {
			_, before := occupied()
			now, _ := occupied()
			big = make([]byte, before-now+64<<20)
			for i := 0; i < len(big); i += 4096 {
				big[i] = 1
			}
			return &kinds.Measurement{}, nil
		}, &made); err != nil {
			t.Fatal(err)
		}
	}
	if s.cpus != 3 || made != 2 || s.most < 60<<20 || s.most > 4<<30 {
		t.Errorf("%d CPUs, %d measurements, %d bytes (%d)", s.cpus, made, s.most, big[4096])
	}
	for _, pt := range plan.Points {
		if _, kept := s.Load(&pt); !kept {
			t.Errorf("%s is not kept", pt.Name)
		}
	}
}

// The host's account of a process has kilobytes.
func TestFieldOfStatus(t *testing.T) {
	status := []byte("Name:\tkprobesim\nVmHWM:\t   2048 kB\nVmRSS:\t1 kB\nVmBad:\tmany kB\nThreads:\t7\n")
	for name, want := range map[string]uint64{"VmHWM:": 2 << 20, "VmRSS:": 1 << 10, "Threads:": 7 << 10, "VmBad:": 0, "VmSize:": 0} {
		if got := field(status, name); got != want {
			t.Errorf("%s %d, want %d", name, got, want)
		}
	}
}

// A process has had at least what it has, and this one has more than a megabyte and less than all memory.
func TestOccupied(t *testing.T) {
	debug.FreeOSMemory() // what other tests have left may go meanwhile
	now, most := occupied()
	if now < 1<<20 || most < now || most > 1<<40 {
		t.Errorf("%d bytes now, %d at most", now, most)
	}
	big := make([]byte, 256<<20)
	for i := 0; i < len(big); i += 4096 {
		big[i] = 1
	}
	if after, top := occupied(); after < now+200<<20 || top < after {
		t.Errorf("%d bytes before 256 MiB more, %d now, %d at most (%d)", now, after, top, big[4096])
	}
}
