package kinds_test

import (
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// A probe that is not what its point asks for ends the point with the reason, and with what to do where something can be
// done.
func TestOtherModeSaysWhy(t *testing.T) {
	exptest.Alone(t)
	const entry = "isas-x86_64-2020-entry"
	for _, tt := range []struct {
		experiment, point string
		sets              []string
		want, never       string
	}{
		{entry, "f", []string{"kernel.image=x86_64-2020-untraced"}, "is boosted, not ftrace: no function of kernel x86_64-2020-untraced begins with a nop for the function tracer: choose another", "offset 0"},
		{entry, "f", []string{"workload.offset=5", "points.rf.kind=kprobe", "points.rf.handler=handler_empty"}, "not ftrace: only the nop by which a function begins is called through ftrace: take offset 0", "no function of kernel"},
		{exptest.E5410, "o", []string{"workload.target=work_switch"}, "is boosted, not optimized: ", "ftrace"},
	} {
		_, err := kinds.Measure(exptest.PointOf(t, tt.experiment, tt.point, tt.sets...))
		require.That(t, err != nil && strings.Contains(err.Error(), tt.want) && !strings.Contains(err.Error(), tt.never), "%q: %v, want %q", tt.sets, err, tt.want)
	}
}

// The sites of a batch are looked at when the optimizer is done with them, and any that is in another mode ends the point.
func TestBatchIsLookedAt(t *testing.T) {
	p := exptest.SmallPlan(t, schema.KindBystander)
	pt := p.Points[0]
	require.NoError(t, require.Err(kinds.Measure(&pt)))
	pt.Probe.Mode = kprobes.Emulated
	if _, err := kinds.Measure(&pt); err == nil || !strings.Contains(err.Error(), "optimize: the probe at ") || !strings.Contains(err.Error(), ", not emulated") {
		t.Errorf("%v", err)
	}
}

// A function that a module does not probe is called once, and nothing is subtracted: no stretch of it was measured.
func TestTrialOfFunctionWithoutProbe(t *testing.T) {
	exptest.Alone(t)
	const kernel = "x86_64-2010"
	l := planning.NewLoader()
	pt := require.Must(l.Trial(kernel, ""))(t)
	f := require.Must(l.Module(filepath.Join(objects, kernel, "my_probe.o"), ""))(t)
	tried := require.Must(kinds.Try(pt, kinds.Trial{File: f, Hits: 20, Calls: []string{"work_frame", "my_probe:tell", " work_checksum "}}))(t)
	calls := map[string]kinds.TriedRow{}
	for _, r := range tried.Rows {
		calls[r.Function] = r
	}
	for _, name := range []string{"work_frame", "my_probe:tell"} {
		r := calls[name]
		require.That(t, r.First > 0 && r.Over == 0 && r.Why == "" && r.Whole == strings.Contains(name, ":"), "%s, which no probe is in: %+v", name, r)
	}
	if r := calls["work_checksum"]; r.Over <= 0 || r.Over > 20*r.First {
		t.Errorf("20 hits: %+v", r)
	}
	require.That(t, len(tried.Rows) == 3, "rows %+v", tried.Rows)
}
