package kinds_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/internal/require"
)

// TestLoopingGuestIsEnded measures a point of which a call takes far too long: it ends with the place where the guest is.
func TestLoopingGuestIsEnded(t *testing.T) {
	pt := exptest.PointOf(t, exptest.E5410, "k", "workload.hits=10000000", "budget=3600 s", "workload.target=work_recursive", "workload.args=[100000]")
	m, err := running.Limit{Time: 50 * time.Millisecond, Option: "--point-limit"}.Measure(kinds.Measure)(pt)
	require.That(t, err != nil && m == nil && strings.Contains(err.Error(), "50ms of host time") && strings.Contains(err.Error(), "pc 0xffffffff8"), "measured %v, %v", m != nil, err)
	pt.Halt = func() error { return errors.New("no") }
	if _, err := kinds.Measure(pt); err == nil || !strings.HasPrefix(err.Error(), "no: cpu 0: runs, pc ") {
		t.Errorf("ended at once: %v", err)
	}
}
