package kinds

import (
	"io"

	"kprobesim/cpus"
	"kprobesim/experiments/schema"
	"kprobesim/sim"
)

// kind measures the points of a kind of experiment.
type kind struct {
	// measure runs a point on a machine that has booted and fills in the measurement.
	measure func(s *session, m *Measurement) error
	// trace writes one hit; nil where the workload's loop makes the calls.
	trace func(s *session, n int64, w io.Writer) error
	// alone and traceAlone stand for measure and trace of a kind that boots no kernel of this program.
	alone      func(p *schema.Point, watch func(*sim.Machine) cpus.Observer) (*Measurement, error)
	traceAlone func(p *schema.Point, n int64, w io.Writer) error
}

// kindOf returns the kind of a name that planning knows.
func kindOf(name string) kind {
	return map[string]kind{
		schema.KindOverhead:    {measure: (*session).overhead},
		schema.KindLatency:     {measure: (*session).latency},
		schema.KindBystander:   {measure: (*session).bystander},
		schema.KindScaling:     {measure: (*session).scaling},
		schema.KindIRQOff:      {measure: (*session).irqOff},
		schema.KindUnregister:  {measure: (*session).unregister},
		schema.KindMissed:      {measure: (*session).missed},
		schema.KindCrowding:    {measure: (*session).crowding},
		schema.KindUserProbes:  {measure: (*session).userProbes, trace: (*session).traceUser},
		schema.KindAttach:      {measure: (*session).attachTime},
		schema.KindEventRate:   {measure: (*session).eventRate},
		schema.KindWatchpoints: {measure: (*session).watchpoints, trace: (*session).traceWatch},
		schema.KindLinux:       {alone: measureLinux, traceAlone: traceLinux},

		schema.KindLinuxWorkload: {alone: measureWorkload},
	}[name]
}
