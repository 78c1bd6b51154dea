package exptest

import (
	"slices"
	"testing"

	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

const E5410 = "overhead-xeon-e5410-x86_64"

// Eras are experiments of every instruction set and era, with their images.
func Eras() map[string]string {
	return map[string]string{
		E5410: "x86_64-2010", "overhead-xeon-e5410-i386": "i386-2010",
		"overhead-opteron-246": "x86_64-2005", "overhead-pentium-m": "i386-2005",
	}
}

// Small makes every experiment with several CPUs quick, and still one that has all its lines.
var Small = map[string][]string{
	schema.KindLatency:     {"kernel.hz=1000", "kernel.cpus=4"},
	schema.KindBystander:   {"kernel.cpus=4", "workload.batch=3"},
	schema.KindScaling:     {"kernel.cpus=3", "workload.hits=5", "workload.warmup=2"},
	schema.KindIRQOff:      {"workload.hits=200", "workload.interrupts=10"},
	schema.KindUnregister:  {"workload.batch=3", "workload.singly=2"},
	schema.KindMissed:      {"kernel.cpus=2", "points.r.maxactive=4", "workload.hits=1", "workload.args=[9000, 1]"},
	schema.KindCrowding:    {"crowd.probes=200", "workload.hits=10"},
	schema.KindAttach:      {"kernel.cpus=2", "workload.batch=3", "workload.singly=2"},
	schema.KindEventRate:   {"workload.rate=1000000", "workload.footprint=64 KiB", "workload.hits=20", "workload.warmup=2"},
	schema.KindUserProbes:  {"kernel.cpus=2", "workload.hits=20"},
	schema.KindWatchpoints: {"kernel.cpus=2", "workload.hits=10"},
}

// The experiments with several CPUs have the names of their kinds.
func SmallPlan(t *testing.T, name string) *schema.Plan {
	t.Helper()
	p, err := planning.NewLoader().Plan(name, Small[name])
	require.NoError(t, err)
	return p
}

// SmallPoint is a point of a small plan, or skips the test.
func SmallPoint(t *testing.T, name, point string, sets ...string) *schema.Point {
	t.Helper()
	if testing.Short() {
		t.Skip("with -short: kinds with several CPUs but for one")
	}
	return PointOf(t, name, point, append(slices.Clone(Small[name]), sets...)...)
}

const Sharing = "sharing-xeon-e5410-x86_64"

// On32 are the settings that put an experiment on the E5410 under a 32-bit kernel.
func On32() []string {
	return []string{"machine=xeon-e5410-i386", "kernel.isa=i386", "kernel.image=i386-2010"}
}

// Alone leaves a test of one machine on one goroutine out of make race, which is where -short is used:
// there is nothing to race with.
func Alone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("with -short: one machine on one goroutine")
	}
}
