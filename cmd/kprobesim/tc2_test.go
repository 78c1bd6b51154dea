package main

import (
	"fmt"
	"testing"

	"kprobesim/experiments/planning"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// tc2Experiments names the experiments of the two kinds of core of TC2. The published figures name none of them.
var tc2Experiments = []string{"overhead-tc2-a7", "overhead-tc2-a15"}

// tc2Exception is the delivery that one figure could ask for.
const tc2Exception = "exception_undefined"

// tc2Prior is the delivery of an undefined instruction as a prior: twice the refill of the front end
// behind a mispredicted branch.
func tc2Prior(t *testing.T, experiment string) (cycles int64) {
	t.Helper()
	p := require.Must(planning.NewLoader().Plan(experiment, nil))(t)
	return int64(2 * p.Points[0].Machine.CPU.Events["mispredict"] / clock.PerCycle)
}

// tc2Table holds both cores against the two figures, with the delivery as a prior and with the one that the figure of
// the unoptimized probe asks for.
func tc2Table(t *testing.T) string {
	t.Helper()
	out := "| core | delivery, cycles | k, us | o, us | k / o | instructions of k and o |\n|---|---|---|---|---|---|\n"
	out += fmt.Sprintf("| published, core not named | | %s | %s | %.1f | |\n", tc2Published["k"], tc2Published["o"], tc2Value(t, "k")/tc2Value(t, "o"))
	for _, name := range tc2Experiments {
		prior := tc2Prior(t, name)
		hits, hz := tc2Run(t, name, prior)
		out += tc2Row(name, "prior", prior, hits)
		asked := prior + int64((tc2Value(t, "k")-hits["k"].us)*float64(hz)/1e6+0.5)
		hits, _ = tc2Run(t, name, asked)
		out += tc2Row(name, "asked for by k", asked, hits)
	}
	return out
}

// tc2Published are the figures in microseconds, as printed.
var tc2Published = map[string]string{"k": "1", "o": "0.3"}

func tc2Value(t *testing.T, probe string) float64 {
	t.Helper()
	v := require.Must(results.ParseValue(tc2Published[probe]))(t)
	return v.Float()
}

// tc2Hit is a probe's hit.
type tc2Hit struct{ us, instructions float64 }

func tc2Row(name, what string, cycles int64, hits map[string]tc2Hit) string {
	k, o := hits["k"], hits["o"]
	return fmt.Sprintf("| %s, %s | %d | %.2f | %.2f | %.1f | %.0f, %.0f |\n", name[len("overhead-"):], what, cycles, k.us, o.us, k.us/o.us, k.instructions, o.instructions)
}

// tc2Run returns hits of both probes with a delivery of some cycles, and the clock.
func tc2Run(t *testing.T, name string, cycles int64) (hits map[string]tc2Hit, hz int64) {
	t.Helper()
	s := runSet(t, name, []string{fmt.Sprintf("machine.event.%s.cycles=%d", tc2Exception, cycles)})
	hits = map[string]tc2Hit{}
	for _, p := range s.Points() {
		us, _ := s.Get(p, results.MetricMicros)
		n, _ := s.Get(p, results.MetricInstructions)
		hits[p.Probe] = tc2Hit{us.Value.Float(), n.Value.Float()}
	}
	p := require.Must(planning.NewLoader().Plan(name, nil))(t)
	return hits, p.Points[0].Machine.CPU.Hz
}
