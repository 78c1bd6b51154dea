package running_test

import (
	"slices"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/running"
	"kprobesim/internal/require"
)

func TestProgressCountsEveryPoint(t *testing.T) {
	p, err := exptest.ToyLoader().Plan(exptest.ToyFiles(t), nil)
	require.NoError(t, err)
	var seen []int
	r := &running.Runner{Measure: exptest.ToyMeasure, Workers: 2, Progress: func(done, total int, _ *running.Outcome) { seen = append(seen, done, total) }}
	r.Run(p)
	if !slices.Equal(seen, []int{1, 2, 2, 2}) {
		t.Errorf("progress was %v", seen)
	}
}
