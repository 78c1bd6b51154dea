package kinds

import "fmt"

// knobs makes the measured calls with the experiment's writes between them. A write itself is no call, and is not
// measured.
func (s *session) knobs(n int64) (total Sample, sum uint64, err error) {
	done := int64(0)
	part := func(upTo int64) error {
		if upTo == done {
			return nil
		}
		d, more, err := s.loop(upTo - done)
		if done > 0 {
			d = total.Add(d)
		}
		total, sum, done = d, sum+more, upTo
		return err
	}
	for _, w := range s.p.Writes {
		if err := part(w.After); err != nil {
			return total, sum, err
		}
		if err := s.k.WriteFile(s.call, w.File, w.Value); err != nil {
			return total, sum, fmt.Errorf("after %d calls: %w", w.After, err)
		}
		if err := s.probes.WaitOptimizer(s.call); err != nil {
			return total, sum, err
		}
		s.fact(fmt.Sprintf("after %d of the measured calls %q was written to %s", w.After, w.Value, w.File))
	}
	err = part(n) // before the result is read
	return total, sum, err
}
