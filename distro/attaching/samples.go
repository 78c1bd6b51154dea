package attaching

import (
	"maps"
	"slices"
)

// Samples says at which events of a processor programs of the section perf_event run.
type Samples struct {
	Event  string // one of Events
	Period uint64 // how many pass from one run to the next; nanoseconds of a clock
}

// Clock is the event that passes with time, and Frequency how often a second where nothing else is said: as profilers of others do,
// it does not keep step with the kernel's clock.
const (
	Clock     = "cpu-clock"
	Frequency = 99
)

// events have the numbers of events that kernels count themselves (enum perf_sw_ids). Processors here count none for kernels.
func events() map[string]uint64 {
	return map[string]uint64{Clock: 0, "page-faults": 2, "context-switches": 3, "cpu-migrations": 4}
}

// Events are the names of events.
func Events() []string { return slices.Sorted(maps.Keys(events())) }

// sample attaches to events of each processor.
func (a *attacher) sample() error {
	n, err := processors(a)
	if err != nil {
		return err
	}
	for cpu := range uint64(n) {
		const software = 1 // PERF_TYPE_SOFTWARE
		attr := make(fields, 112)
		attr.u32(0, software)
		attr.u64(8, events()[a.samples.Event])
		attr.u64(16, a.samples.Period)
		if err := a.perfOn(cpu, a.Memory(), attr); err != nil {
			return err
		}
	}
	return nil
}
