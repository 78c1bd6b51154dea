package keeping

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
)

// Estimate is the time and memory of a run on this host.
type Estimate struct {
	Points, Kept int           // of the plan, and how many of them an earlier run has kept
	Pilots       int           // measurements that the estimate was made from
	Guessed      int           // points of sorts that were not measured, because that took too long
	Time         time.Duration // with the workers that were asked for
	Memory       uint64        // bytes of the whole process
}

// Pilots make so many calls: the difference of two tells what a call takes apart from the rest.
const (
	pilotShort = 200
	pilotLong  = 1000
)

// perPoint is about what a run has in memory of each point beside the machines that measure, in bytes: its plan, its
// records and their forms in files, and as much again until the runtime collects it.
const perPoint = 64 << 10

// perProfile is the memory that joining the profiles takes of each, in bytes.
const perProfile = 1 << 20

// enough is the time behind which no further number of CPUs is measured: it is reckoned from the last one of the sort.
const enough = 3 * time.Second

// tooLong is the time behind which no further sort is measured: it is reckoned from the one before it.
const tooLong = 20 * time.Second

// rate is how long a point of some sort takes: a part that is always there, and one for each call.
type rate struct {
	always, call time.Duration
	calls        int64
	cpus         int64
}

// with is the rate on another number of CPUs: the host executes each of them.
func (r rate) with(cpus int64) rate {
	r.always, r.call = r.always*time.Duration(cpus)/time.Duration(r.cpus), r.call*time.Duration(cpus)/time.Duration(r.cpus)
	r.cpus = cpus
	return r
}

// Estimate measures one point of each sort in a plan with few calls, and says what the whole will take. Sorts differ by
// what is measured, machine, kernel, number of CPUs and mode of the probe. A sort without a number of calls is measured
// by a whole point, which is kept.
func (s *Store) Estimate(p *schema.Plan, measure running.Measure, workers int) (Estimate, error) {
	e := Estimate{Points: len(p.Points)}
	rates := map[string]rate{}
	before, _ := occupied()
	start := time.Now()
	var total, longest time.Duration
	var last rate
	for i := range p.Points {
		pt := &p.Points[i]
		if _, kept := s.Load(pt); kept && !s.fresh {
			e.Kept++
			continue
		}
		sort := pt.Sort()
		r, known := rates[sort]
		if !known && last.cpus > 0 && time.Since(start) > tooLong {
			r, known = last, true
			e.Guessed++
		}
		if !known || r.cpus != pt.Kernel.CPUs && time.Since(start) < enough {
			var err error
			if r, err = s.pilot(pt, measure, &e.Pilots); err != nil {
				return e, fmt.Errorf("point %s: %w", pt.Name, err)
			}
			if pt.Linux != nil && e.Pilots == 1 {
				again, err := s.pilot(pt, measure, &e.Pilots)
				if err != nil {
					return e, fmt.Errorf("point %s: %w", pt.Name, err)
				}
				total += max(0, r.always-again.always) // the first one has booted for all
				r = again
			}
			rates[sort], last = r, r
		}
		r = r.with(pt.Kernel.CPUs)
		t := r.always + r.call*time.Duration(max(0, pt.Calls()-r.calls))
		total += t
		longest = max(longest, t)
	}
	n := max(1, min(workers, e.Points-e.Kept))
	e.Time = max(longest, total/time.Duration(n))
	e.Memory = before + uint64(n)*s.most*uint64(max(1, cpus(p)/max(1, s.cpus))) +
		uint64(e.Points)*perPoint + uint64(min(e.Points, running.MostProfiles))*perProfile
	return e, nil
}

// cpus is the largest number of CPUs that a point of a plan has.
func cpus(p *schema.Plan) (most int64) {
	for i := range p.Points {
		most = max(most, p.Points[i].Kernel.CPUs)
	}
	return most
}

// pilot measures a point with few calls and with more, or one that has no number of calls as it is.
func (s *Store) pilot(p *schema.Point, measure running.Measure, made *int) (rate, error) {
	few := *p
	if p.Workload.Hits > pilotLong {
		few.Workload.Hits, few.Workload.Warmup = pilotShort, min(p.Workload.Warmup, pilotShort)
	}
	first, err := s.timed(&few, measure, made)
	if err != nil || few.Workload.Hits == p.Workload.Hits {
		return rate{first, 0, p.Calls(), p.Kernel.CPUs}, err
	}
	more := few
	more.Workload.Hits = pilotLong
	second, err := s.timed(&more, measure, made)
	if err != nil {
		return rate{}, err
	}
	call := max(0, second-first) / time.Duration(more.Calls()-few.Calls())
	return rate{second, call, more.Calls(), p.Kernel.CPUs}, nil
}

// timed measures a point, keeps it, and says how long that took.
func (s *Store) timed(p *schema.Point, measure running.Measure, made *int) (time.Duration, error) {
	*made++
	before, _ := occupied()
	start := time.Now()
	m, err := measure(p)
	took := time.Since(start)
	if _, most := occupied(); most > before {
		s.most = max(s.most, most-before)
	}
	s.cpus = max(s.cpus, p.Kernel.CPUs)
	if err == nil {
		err = s.Save(p, &Entry{m, took})
	}
	return took, err
}

// occupied returns the memory of the process, and the most that it has had, in bytes. Where the host does
// not say, both are the memory that the runtime has asked for.
func occupied() (now, most uint64) {
	b, err := os.ReadFile("/proc/self/status")
	if now, most = field(b, "VmRSS:"), field(b, "VmHWM:"); err == nil && now > 0 && most > 0 {
		return now, most
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys, m.Sys
}

// field reads a line of /proc/self/status that has a number of kB, 0 where there is none.
func field(status []byte, name string) uint64 {
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil {
				return n << 10
			}
		}
	}
	return 0
}
