package kinds

import (
	"errors"
	"fmt"
	"io"

	"kprobesim/cpus"
	"kprobesim/kprobes"
	"kprobesim/results"
	"kprobesim/sim"
	"kprobesim/smp"
)

// Metrics of user-probes, each in cycles a call beyond what the call takes without the probe.
const (
	MetricUserWarm   = "cycles_user_hit"
	MetricUserCold   = "cycles_user_hit_cold_tlb"
	MetricUserShared = "cycles_user_hit_all_cpus"
	metricUserCopy   = "cycles_user_own_copy"
	metricUserMicros = "us_user_hit"
)

// What runs in user mode, by the names of the guest.
const (
	userTarget     = "user_target"
	userWarmLoop   = "user_targets"
	userColdLoop   = "user_cold_targets"
	userProbeEmpty = "user_probe_empty"
	userRetEmpty   = "user_return_empty"
)

// userSession is a session with the program of its processes.
type userSession struct {
	*session
	f *smp.File
	n int64
}

// userProbes measures calls without the probe and with it. The tasks of each are new, so that each brings its pages in.
// That is why a call's cycles come from the difference of a run with twice the calls.
func (s *session) userProbes(m *Measurement) error {
	u, err := s.program(s.p.Workload.Hits)
	if err != nil {
		return err
	}
	var plain, hit userCosts
	// The first tasks of a machine find everything cold.
	if err := u.costs(&userCosts{}, nil); err != nil {
		return err
	}
	if err := u.costs(&plain, nil); err != nil {
		return fmt.Errorf("without the probe: %w", err)
	}
	before := s.read()
	if err := u.costs(&hit, u.insert); err != nil {
		return err
	}
	m.Accounts = s.account(before, s.read())
	m.cyclesOver(MetricUserWarm, hit.warm.Time-plain.warm.Time, hit.warm.Hits)
	s.share(m, metricUserMicros, hit.warm.Time-plain.warm.Time, hit.warm.Hits)
	m.cyclesOver(MetricUserCold, hit.cold.Time-plain.cold.Time, hit.cold.Hits)
	m.cyclesOver(metricUserCopy, hit.own.Time-plain.own.Time, u.n)
	m.Counts = hit.warm.Counts.Add(hit.cold.Counts)
	if s.m.CPUs() > 1 {
		m.cyclesOver(MetricUserShared, hit.all.Time-plain.all.Time, hit.all.Hits)
		m.sharedMissed(hit.all.Counts)
	}
	if s.p.Further {
		return nil
	}
	return s.profileOf(m, func(p cpus.Observer) error { return u.watched(p, min(profiled, u.n)+1, 1) })
}

// sharedMissed notes the hits that were missed while all CPUs hit.
func (m *Measurement) sharedMissed(c Counts) {
	if c.Missed == 0 {
		return
	}
	m.note(results.MissedMetric(MetricUserShared), "hits", c.Missed, 1)
	m.Notes = append(m.Notes, fmt.Sprintf("%s all CPUs hit: %d of %d calls executed the instruction without a hit, while another CPU "+
		"had the breakpoint away for its step; these take less than a hit does", results.MissedMark, c.Missed, c.Calls))
}

// program is the session with the program of the guest's processes, and n calls.
func (s *session) program(n int64) (*userSession, error) {
	f, err := s.k.Program()
	return &userSession{s, f, n}, err
}

// traceUser traces a call of the probed function in a new task: the first one finds no page of that task.
func (s *session) traceUser(n int64, w io.Writer) error {
	u, err := s.program(n)
	if err != nil {
		return err
	}
	// A probe is put into a page that is there, and the first task brings it in.
	if _, err := u.run(userWarmLoop, 1); err != nil {
		return err
	}
	if err := u.insert(); err != nil {
		return err
	}
	if n > 1 {
		if _, err := u.run(userWarmLoop, n); err != nil {
			return err
		}
	}
	t := sim.NewTracer(w, s.m.Image(), s.p.Target.ISA)
	if err := u.watched(t, n, n-1); err != nil {
		return err
	}
	return t.Close()
}

// watched has an observer told of the calls of a new task that makes n, but for those that are to be skipped.
func (u *userSession) watched(o cpus.Observer, n, skip int64) error {
	target, _ := u.m.Image().Func(userTarget)
	loop, _ := u.m.Image().Func(userWarmLoop)
	u.tell(u.cpu(), &callFilter{to: o, target: target, loop: loop, skip: skip})
	_, err := u.run(userWarmLoop, n) // the last one of the machine
	return err
}

// userCosts are the costs of n calls.
type userCosts struct{ warm, cold, own, all Sample }

// costs runs all that is measured. insert, when there is one, is called once the task of the first run has its own copy
// of the text.
func (u *userSession) costs(t *userCosts, insert func() error) (err error) {
	if t.own, err = u.ownCopy(insert); err != nil {
		return err
	}
	if t.warm, err = u.calls(userWarmLoop); err != nil {
		return err
	}
	if t.cold, err = u.calls(userColdLoop); err != nil {
		return err
	}
	if u.m.CPUs() == 1 {
		return nil
	}
	var others []uint64
	for i := range u.m.CPUs() {
		if i != u.call.CPU() {
			task, _, err := u.start(i, userWarmLoop, 16*u.n, false)
			if err != nil {
				return err
			}
			others = append(others, task)
		}
	}
	// Each run meets other CPUs in another order, so the two are added: their difference could have missed less than no hit.
	once, err := u.run(userWarmLoop, u.n)
	if err == nil {
		t.all, err = u.run(userWarmLoop, 2*u.n)
		t.all = t.all.Add(once)
	}
	for _, task := range others {
		err = errors.Join(err, u.k.Join(u.call, task))
	}
	return err
}

// insert registers the probe of the point and puts it into the page that tasks share.
func (u *userSession) insert() error {
	spec := kprobes.UserSpec{File: u.f, Symbol: userTarget, Handler: userProbeEmpty}
	var specs []kprobes.UserSpec
	if u.p.Probe.Kind == kprobes.Kretprobe {
		spec.Return, spec.MaxActive, spec.Handler = true, int32(4*u.m.CPUs()), userRetEmpty
		specs = append(specs, kprobes.UserSpec{File: u.f, Symbol: "user_trampoline", Handler: "user_trampoline_hit"})
	}
	var inserted *kprobes.UserProbe // the last one
	for _, s := range append(specs, spec) {
		p, err := u.probes.AddUser(u.call, s)
		if err != nil {
			return err
		}
		if err := u.probes.InsertShared(u.call, p); err != nil {
			return err
		}
		inserted = p
	}
	return u.countOf([]uint64{inserted.Addr}, userTarget, userWarmLoop, userColdLoop)
}

// start starts a process on a CPU.
func (u *userSession) start(cpu int, fn string, n int64, writable bool) (uint64, *smp.Space, error) {
	return u.k.SpawnProcess(u.call, smp.Process{
		Thread:  smp.Thread{Name: fn, CPU: cpu, Bound: true, Fn: fn, Arg: uint64(n)},
		Program: u.f, WritableText: writable,
	})
}

// calls is the cost of n calls in the middle of a task's life.
func (u *userSession) calls(fn string) (Sample, error) {
	once, err := u.run(fn, u.n)
	if err != nil {
		return once, err
	}
	twice, err := u.run(fn, 2*u.n)
	return twice.Sub(once), err
}

// run is the cost of a task from its start to its end on this CPU.
func (u *userSession) run(fn string, n int64) (Sample, error) {
	task, _, err := u.start(u.call.CPU(), fn, n, false)
	if err != nil {
		return Sample{}, err
	}
	return u.join(task)
}

// join waits for a task, and returns the cost on this CPU.
func (u *userSession) join(task uint64) (Sample, error) {
	before := *u.cpu().Counters()
	counts, err := u.counted(func() error { return u.k.Join(u.call, task) }, u.call.CPU())
	d := u.cpu().Counters().Sub(&before)
	out := sample(&d)
	out.Counts = counts
	return out, err
}

// ownCopy is the cost of a task that has a copy of the text from before the insertion.
func (u *userSession) ownCopy(insert func() error) (taken Sample, err error) {
	task, space, err := u.start(u.call.CPU(), userWarmLoop, u.n, true)
	if err != nil {
		return taken, err
	}
	fn, _ := u.m.Image().Func(userTarget)
	if err := u.k.Touch(u.call, space, fn.Entry, true); err != nil {
		return taken, err
	}
	if insert != nil {
		if err := insert(); err != nil {
			return taken, err
		}
	}
	return u.join(task)
}
