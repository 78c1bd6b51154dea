package keeping

import (
	"errors"
	"os"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// What is kept is not measured again, but by a fresh store, which keeps what it measured. What fails is not kept.
func TestMeasureKeeps(t *testing.T) {
	plan, dir := planOf(t, "workload.hits=10"), t.TempDir()
	pt := &plan.Points[0]
	made := 0
	inner := func(*schema.Point) (*kinds.Measurement, error) {
		made++
		return &kinds.Measurement{Counts: kinds.Counts{Calls: int64(made)}}, nil
	}
	for i, step := range []struct {
		fresh        bool
		made, reused int
		calls        int64
	}{{false, 1, 0, 1}, {false, 1, 1, 1}, {true, 2, 0, 2}, {false, 2, 1, 2}} {
		s := require.Must(New(dir, "program", step.fresh))(t)
		m, err := s.Measure(inner)(pt)
		reused, kept := s.Reused()
		require.That(t, err == nil && kept == nil && made == step.made && reused == step.reused && m.Calls == step.calls, "step %d: %d made, %d reused, %+v, %v, %v; want %+v", i, made, reused, m, err, kept, step)
	}
	// Failures are measured again; their text is kept for a merge.
	other := require.Must(New(dir, "other program", false))(t)
	for range 2 {
		_, err := other.Measure(func(*schema.Point) (*kinds.Measurement, error) { return nil, errNot })(pt)
		require.That(t, errors.Is(err, errNot), "a measurement that fails: %v", err)
	}
}

var errNot = errors.New("cannot be measured")

// Measurements that cannot be kept are measured all the same, and the first error is told.
func TestMeasureWithoutRoom(t *testing.T) {
	plan := planOf(t, "workload.hits=10")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/"+Folder, nil, 0o600))
	s := &Store{dir: dir + "/" + Folder + "/program"}
	require.NoError(t, s.read(s.dir))
	for i := range 2 {
		m, err := s.Measure(func(*schema.Point) (*kinds.Measurement, error) { return &kinds.Measurement{}, nil })(&plan.Points[i])
		require.That(t, err == nil && m != nil, "%v, %v", m, err)
	}
	if n, err := s.Reused(); n != 0 || err == nil || !strings.Contains(err.Error(), "a measurement was not kept: ") {
		t.Errorf("%d reused, %v", n, err)
	}
}

func planOf(t *testing.T, sets ...string) *schema.Plan {
	t.Helper()
	p := require.Must(planning.NewLoader().Plan(exptest.E5410, sets))(t)
	return p
}
