package running

import (
	"errors"
	"runtime"
	"sync"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/internal/defect"
	"kprobesim/results/outdir"
)

// Measure runs one point. Measurements of different points may run at the same time.
type Measure func(p *schema.Point) (*kinds.Measurement, error)

// Outcome is how one point ended: a measurement or an error.
type Outcome struct {
	Point       *schema.Point
	Measurement *kinds.Measurement
	Err         error
}

// ErrInterrupted is the error of a point that was not begun, because the run was to end. That of one that was ended wraps it.
var ErrInterrupted = errors.New("not measured: the run was interrupted")

// Ended reports whether an error says that a point was ended, and not how its measurement came out.
func Ended(err error) bool {
	var internal *defect.Error
	return errors.Is(err, ErrInterrupted) || errors.Is(err, ErrLimit) || errors.As(err, &internal)
}

// Runner runs the points of a plan, several at a time.
type Runner struct {
	Measure Measure
	Workers int // 0 for one a core
	// Stop, if set, ends the run when it is closed: no other point is begun. Points that run are ended by Limit.
	Stop <-chan struct{}
	// Begun, if set, is told of each point before it is measured; calls do not overlap with each other or with calls
	// of Progress.
	Begun func(p *schema.Point)
	// Progress, if set, is told after each point; calls do not overlap.
	Progress func(done, total int, o *Outcome)
}

// Run runs every point of the plan and returns one outcome a point, in the order of the plan,
// whatever the number of workers. A point that fails leaves the others alone. Points that were not begun when
// the run was stopped have ErrInterrupted.
func (r *Runner) Run(p *schema.Plan) []Outcome {
	out := make([]Outcome, len(p.Points))
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range r.workers(len(p.Points)) {
		wg.Go(func() {
			for i := range next {
				if r.Begun != nil {
					mu.Lock()
					r.Begun(&p.Points[i])
					mu.Unlock()
				}
				out[i] = r.one(&p.Points[i])
				mu.Lock()
				done++
				if r.Progress != nil {
					r.Progress(done, len(out), &out[i])
				}
				mu.Unlock()
			}
		})
	}
	begun := r.handOut(next, len(p.Points))
	close(next)
	wg.Wait()
	for i := begun; i < len(out); i++ {
		out[i] = Outcome{Point: &p.Points[i], Err: ErrInterrupted}
	}
	return out
}

// handOut gives the numbers of the points to workers, until the run is to end, and returns how many it gave.
func (r *Runner) handOut(next chan<- int, points int) int {
	for i := range points {
		select {
		case <-r.Stop:
			return i
		default:
		}
		select {
		case <-r.Stop:
			return i
		case next <- i:
		}
	}
	return points
}

func (r *Runner) workers(points int) int {
	n := r.Workers
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return min(n, points)
}

// one runs a point and turns a panic into an error.
func (r *Runner) one(p *schema.Point) (o Outcome) {
	o.Point = p
	defer func() {
		if v := recover(); v != nil {
			o.Measurement, o.Err = nil, defect.New(p.Name, v)
		}
	}()
	o.Measurement, o.Err = r.Measure(p)
	return o
}

// Statuses returns the manifest's view of the outcomes.
func Statuses(out []Outcome) []outdir.PointStatus {
	var st []outdir.PointStatus
	for _, o := range out {
		s := outdir.PointStatus{Name: o.Point.Name, Status: outdir.StatusOK}
		if o.Err != nil {
			s.Status, s.Error = outdir.StatusFailed, o.Err.Error()
		}
		st = append(st, s)
	}
	return st
}
