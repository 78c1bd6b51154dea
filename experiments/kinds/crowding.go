package kinds

import (
	"fmt"

	"kprobesim/kprobes"
)

// Metrics of crowding. A hit has its usual ones. Times are means over the crowd, in microseconds a probe.
const (
	MetricRegister = "us_per_registration"
	MetricArm      = "us_per_arming"
	metricBucket   = "probes_in_bucket"  // those that stand in the bucket of the point's probe, with it
	metricJumps    = "probes_optimized"  // of the crowd
	metricBytes    = "bytes_per_probe"   // of the guest's memory, over the point's probes and the crowd
	metricMemory   = "kibibytes"         // of all of them
	BytesPrefix    = "bytes_per_probe: " // of a part
)

// crowding measures the loop without a probe, registers the point's probes and the crowd, and measures the loop
// again.
func (s *session) crowding(m *Measurement) error {
	plain, err := s.baseline(m)
	if err != nil {
		return fmt.Errorf("without the probe: %w", err)
	}
	if err = s.registerSettled(); err == nil {
		err = s.unprofiled(m, plain)
	}
	if err != nil {
		return err
	}
	m.noteHit()
	s.noteTimes(m)
	if err := s.noteTable(m); err != nil {
		return err
	}
	return s.noteMemory(m)
}

// noteTimes notes what registering and arming took, when there was a crowd.
func (s *session) noteTimes(m *Measurement) {
	n := s.p.Crowd.Size()
	if n > 0 {
		s.share(m, MetricRegister, s.crowded.register, n)
	}
	if n > 0 && s.crowded.arm > 0 {
		s.share(m, MetricArm, s.crowded.arm, n)
	}
}

// noteTable notes how full the bucket of the point's probe is, and how many of the crowd were optimized.
func (s *session) noteTable(m *Measurement) error {
	own, err := s.probes.State(s.active[0].Addr)
	if err != nil {
		return err
	}
	inBucket, jumps := int64(1), int64(0)
	for _, p := range s.crowd {
		st, err := s.probes.State(p.Addr)
		if err != nil {
			return err
		}
		if s.probes.Bucket(st.Addr) == s.probes.Bucket(own.Addr) {
			inBucket++
		}
		if st.Mode == kprobes.Optimized {
			jumps++
		}
	}
	m.note(metricBucket, "probes", inBucket, 1)
	m.note(metricJumps, "probes", jumps, 1)
	return nil
}

// noteMemory notes the memory of all probes and its parts.
func (s *session) noteMemory(m *Measurement) error {
	all := s.crowd
	for _, p := range s.active {
		all = append(all, p.Probe)
	}
	f, err := s.probes.Footprint(all...)
	if err != nil {
		return err
	}
	n := int64(len(all))
	m.note(metricBytes, "bytes", f.Sum(), n)
	for i, part := range MemoryParts() {
		m.note(BytesPrefix+part, "bytes", bytesOf(f)[i], n)
	}
	m.note(metricMemory, "KiB", f.Sum(), 1024)
	return nil
}

// MemoryParts names the parts of the memory of a probe, in the order of figures.
func MemoryParts() []string {
	return []string{"struct", "instances", "aggregate", "slot", "detour buffer"}
}

// bytesOf returns the bytes of each of MemoryParts.
func bytesOf(f kprobes.Footprint) []int64 {
	return []int64{f.Probes, f.Instances, f.Aggregates, f.Slots, f.Detours}
}
