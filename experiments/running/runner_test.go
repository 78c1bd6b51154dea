package running_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/defect"
	"kprobesim/internal/require"
)

func TestProgressCountsEveryPoint(t *testing.T) {
	p := require.Must(exptest.ToyLoader().Plan(exptest.ToyFiles(t), nil))(t)
	var seen []int
	begun := 0
	r := &running.Runner{
		Measure: exptest.ToyMeasure, Workers: 2, Begun: func(*schema.Point) { begun++ },
		Progress: func(done, total int, _ *running.Outcome) { seen = append(seen, done, total) },
	}
	r.Run(p)
	require.That(t, slices.Equal(seen, []int{1, 2, 2, 2}) && begun == 2, "progress was %v of %d points", seen, begun)
}

// TestStopKeepsWhatRan ends a run while its first point is measured: that one keeps its outcome, and the other one was not begun.
func TestStopKeepsWhatRan(t *testing.T) {
	p := require.Must(exptest.ToyLoader().Plan(exptest.ToyFiles(t), nil))(t)
	stop := make(chan struct{})
	r := &running.Runner{Measure: exptest.ToyMeasure, Workers: 1, Stop: stop, Begun: func(*schema.Point) { close(stop) }}
	out := r.Run(p)
	require.That(t, out[0].Err == nil && out[0].Measurement != nil && errors.Is(out[1].Err, running.ErrInterrupted), "%v, and behind the end %v", out[0].Err, out[1].Err)
}

// TestDefectOfAPoint has the first point panic: its outcome is the defect, and the other one is measured.
func TestDefectOfAPoint(t *testing.T) {
	p := require.Must(exptest.ToyLoader().Plan(exptest.ToyFiles(t), nil))(t)
	measure := func(pt *schema.Point) (*kinds.Measurement, error) {
		if pt.Name == p.Points[0].Name {
			panic("no such register")
		}
		return exptest.ToyMeasure(pt)
	}
	out := (&running.Runner{Measure: measure, Workers: 1}).Run(p)
	require.Error(t, out[0].Err, "no such register", "a point that panics")
	require.That(t, running.Ended(out[0].Err) && out[0].Measurement == nil && out[1].Err == nil && out[1].Measurement != nil, "%v, and then %v", out[0].Err, out[1].Err)
}

// TestEnded tells points that were ended from points whose measurement failed.
func TestEnded(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("k: %w", running.ErrInterrupted): true, fmt.Errorf("k: %w", running.ErrLimit): true,
		defect.New("k", "text"): true, errors.New("no probe"): false,
	} {
		require.Equal(t, running.Ended(err), want, "%v", err)
	}
}

// TestFewProfiles holds that a run keeps the profiles of as many points as it joins, and measurements that failed as they are.
func TestFewProfiles(t *testing.T) {
	p := &schema.Plan{Points: make([]schema.Point, running.MostProfiles+2)}
	p.Points[0].Further = true
	has := &kinds.Measurement{Profile: []byte{1}}
	few := running.FewProfiles(p, func(*schema.Point) (*kinds.Measurement, error) { return has, nil })
	for i := range p.Points {
		m, err := few(&p.Points[i])
		require.That(t, err == nil && (len(m.Profile) > 0) == (i <= running.MostProfiles) && m.Profile != nil, "point %d: %d bytes, %v", i, len(m.Profile), err)
	}
	require.That(t, len(has.Profile) == 1, "the measurement itself has changed")
	lost := errors.New("lost")
	failing := running.FewProfiles(p, func(*schema.Point) (*kinds.Measurement, error) { return nil, lost })
	_, err := failing(&p.Points[running.MostProfiles+1])
	require.That(t, errors.Is(err, lost), "a point that fails: %v", err)
}

// TestWorkers measures as many points at a time as it is told, or one a processor, and no more than there are.
func TestWorkers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	for _, x := range []struct{ workers, points, want int }{{0, 6, 3}, {-1, 6, 3}, {1, 6, 1}, {2, 6, 2}, {5, 6, 5}, {9, 4, 4}, {0, 2, 2}} {
		p := &schema.Plan{Points: make([]schema.Point, x.points)}
		var mu sync.Mutex
		at, most := 0, 0
		all := make(chan struct{})
		out := (&running.Runner{Workers: x.workers, Measure: func(*schema.Point) (*kinds.Measurement, error) {
			mu.Lock()
			if at++; at > most {
				most = at
			}
			if at == x.want && most == x.want {
				select {
				case <-all:
				default:
					close(all)
				}
			}
			mu.Unlock()
			select { // all that are to run at a time do
			case <-all:
			case <-time.After(10 * time.Second):
			}
			mu.Lock()
			at--
			mu.Unlock()
			return &kinds.Measurement{}, nil
		}}).Run(p)
		require.That(t, most == x.want && len(out) == x.points, "%d workers measure %d of %d points at a time, want %d", x.workers, most, len(out), x.want)
	}
}

// TestStatuses has the names of points, and why those failed that did.
func TestStatuses(t *testing.T) {
	got := running.Statuses([]running.Outcome{{Point: &schema.Point{Name: "k"}}, {Point: &schema.Point{Name: "o"}, Err: errors.New("lost")}})
	require.Equal(t, fmt.Sprint(got), "[{k ok } {o failed lost}]", "statuses")
	require.Equal(t, len(running.Statuses(nil)), 0, "statuses of nothing")
}
