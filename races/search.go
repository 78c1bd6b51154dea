package races

import (
	"fmt"
	"iter"
	"runtime"
	"sync"

	"kprobesim/internal/defect"
)

// Policies.
const (
	Random     = "random"
	PCT        = "pct"
	Exhaustive = "exhaustive"
)

// Options say how schedules are made and how many.
// A schedule depends on all of it but Schedules, Enough and Workers.
type Options struct {
	Schedules   uint64
	Seed        uint64
	Policy      string
	Depth       int    // of pct
	Preemptions int    // most in a schedule of exhaustive
	Mutant      string // a mistake to make, "" for none
	Enough      int    // violations after which a search ends, 0 for never
	Cells       bool   // see at which steps of the protocols the other CPUs were where
	Coverage    bool   // see these, and pairs of accesses, for about twice the time
	NothingNew  uint64 // schedules in a row that cover nothing new after which a search ends, 0 for never
	Workers     int    // schedules that run at the same time, 0 for one a core

	// Keep, if set, gives the outcomes of a batch: kept ones, or what run brings. Searches of all plans have no batches.
	Keep func(first, count uint64, run func() ([]Outcome, error)) ([]Outcome, error)

	batch   uint64  // schedules of a machine, 0 for batchSize
	strikes strikes // of the variant
}

// of has options for the schedules of a variant.
func (o Options) of(s *Scenario, v *Variant) Options {
	o.batch, o.strikes = s.batch(), strikes{kinds: v.Strikes, cpus: s.CPUs}
	return o
}

// Covers reports whether outcomes have their cells.
func (o *Options) Covers() bool { return o.Cells || o.Coverage || o.NothingNew > 0 }

// perMachine is the number of schedules that a machine runs.
func (o *Options) perMachine() uint64 {
	if o.batch == 0 {
		return batchSize
	}
	return o.batch
}

// workers is the number of machines that run at the same time.
// Machines share nothing but the image, so one for each core is best.
func (o *Options) workers() int {
	if o.Workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return o.Workers
}

// batchSize is the number of schedules that one booted machine runs. The state in which a schedule
// begins depends on those before it in its batch, so a batch is also what a replay runs.
const batchSize = 1000

// A runner runs schedules from first on, count of them, on machines that it boots. It may end early:
// the last outcome then has a violation.
type runner func(c chooser, first, count uint64) ([]Outcome, error)

// Tally is the result of a search over one variant.
// It holds no time and nothing of the host, so that it is the same everywhere.
type Tally struct {
	Schedules  uint64
	Steps      uint64
	Calls      uint64 // of probed functions
	Hits       uint64 // calls of handlers
	Violations uint64
	Found      []Outcome // the first ones with a violation, in the order of their numbers
	Complete   bool      // exhaustive: every plan within the bound has run, or does the same as one that has
	Equal      uint64    // exhaustive: plans that were left out because they do the same as one that has run
	Coverage   Coverage  // of all of them, in a search that asks for it

	last []preemption // the plan that ran last
}

// keep is the number of violations that a report shows.
const keep = 5

// add counts one outcome and reports whether the search goes on.
// Only the first violations are kept whole, as one mistake of a kernel may show in most schedules.
func (t *Tally) add(o *Outcome, opt *Options) bool {
	t.Schedules++
	t.Steps += o.Steps
	t.Calls += o.Calls
	t.Hits += o.Hits
	if opt.Covers() {
		t.Coverage.add(o, t.Schedules)
	}
	if o.Violation == nil {
		return !t.barren(opt.NothingNew)
	}
	t.Violations++
	if len(t.Found) < keep {
		t.Found = append(t.Found, *o)
	}
	return (opt.Enough == 0 || t.Violations < uint64(opt.Enough)) && !t.barren(opt.NothingNew)
}

// barren reports whether so many schedules in a row have added no cell; 0 is never.
func (t *Tally) barren(most uint64) bool { return most > 0 && t.Schedules-t.Coverage.Newest >= most }

// search runs schedules until there were enough of them, or of violations. The result is the same
// for any number of workers: batches count in the order of their numbers, and what workers have
// done beyond the end does not count.
// An error of a batch counts only when all outcomes in front of it did.
func search(opt *Options, run runner) (Tally, error) {
	if opt.Policy == Exhaustive {
		return searchTree(opt, run)
	}
	var t Tally
	batches := func(yield func(job) bool) {
		for first := uint64(0); first < opt.Schedules; first += opt.perMachine() {
			if !yield(job{first: first, count: min(opt.perMachine(), opt.Schedules-first)}) {
				return
			}
		}
	}
	for _, r := range parallel(opt.workers(), batches, func(j job) result {
		return keepBatch(opt, run, j.first, j.count)
	}) {
		for i := range r.outcomes {
			if !t.add(&r.outcomes[i], opt) {
				return t, nil
			}
		}
		if r.err != nil {
			return t, r.err
		}
	}
	return t, nil
}

// keepBatch runs a batch, or takes what is kept of it.
func keepBatch(opt *Options, run runner, first, count uint64) (r result) {
	if opt.Keep == nil {
		return runBatch(opt, run, first, count)
	}
	r.outcomes, r.err = opt.Keep(first, count, func() ([]Outcome, error) {
		r := runBatch(opt, run, first, count)
		return r.outcomes, r.err
	})
	return r
}

// runBatch runs one batch, until by itself it has enough violations, or schedules that add nothing; each violation ends a machine,
// and the next one goes on with the schedule behind it.
func runBatch(opt *Options, run runner, first, count uint64) (r result) {
	c, own, more := newChooser(opt), Tally{}, true
	for end := first + count; first < end; {
		some, err := run(c, first, end-first)
		r.outcomes = append(r.outcomes, some...)
		first += uint64(len(some))
		if err == nil && len(some) == 0 {
			err = fmt.Errorf("schedule %d: the machine ended without an outcome", first)
		}
		for i := range some {
			more = more && own.add(&some[i], opt)
		}
		if err != nil || !more {
			r.err = err
			break
		}
	}
	return r
}

// newChooser is called for each batch: the state of a policy carries over from schedule to
// schedule.
func newChooser(opt *Options) chooser {
	if opt.Policy == PCT {
		x := newPCT(opt.Seed, opt.Depth)
		x.strikes = opt.strikes
		return x
	}
	x := newRandom(opt.Seed)
	x.strikes = opt.strikes
	return x
}

// job is work for machines: a batch, a story, or plans.
type job struct {
	first, count uint64
	story        story
	work         func(n uint64) result
}

// result says what became of it.
type result struct {
	outcomes []Outcome
	err      error
	plans    [][]preemption // of the outcomes
	equal    uint64         // plans that do the same as one of these
	twins    []twin
}

// guarded turns a panic into an error that says which schedules it was met in.
// A panic in a goroutine would end the program without a word on the schedule.
func guarded(j job, do func(job) result) (r result) {
	defer func() {
		if v := recover(); v != nil {
			r = result{err: defect.New(fmt.Sprintf("schedules from %d", j.first), v)}
		}
	}()
	return do(j)
}

// parallel runs jobs on several goroutines and yields their results in the order of the jobs.
// It starts no more jobs than workers can take in advance of the consumer, and ends its goroutines
// before it returns.
func parallel(workers int, jobs iter.Seq[job], do func(job) result) iter.Seq2[job, result] {
	return func(yield func(job, result) bool) {
		type slot struct {
			j    job
			done chan result
		}
		var wg sync.WaitGroup
		defer wg.Wait()
		stop := make(chan struct{})
		defer close(stop)
		queue := make(chan slot, workers)
		work := make(chan slot)
		for range workers {
			wg.Go(func() {
				for s := range work {
					s.done <- guarded(s.j, do)
				}
			})
		}
		go func() {
			defer close(work)
			defer close(queue)
			for j := range jobs {
				s := slot{j, make(chan result, 1)}
				select {
				case queue <- s:
				case <-stop:
					return
				}
				select {
				case work <- s:
				case <-stop:
					return
				}
			}
		}()
		for s := range queue {
			if !yield(s.j, <-s.done) {
				return
			}
		}
	}
}
