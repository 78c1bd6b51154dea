package kinds

import (
	"fmt"

	"kprobesim/internal/clock"
)

// operations whose cost for bystanders is measured, in their order. Each begins in the state that
// the one before leaves, so they are measured in this order and on the same probes.
func Operations() []string { return []string{"arm", "optimize", "disarm"} }

// bystanderMetric names what an operation takes from a bystander, in cycles a probe of the batch.
func BystanderMetric(op string) string { return "cycles_stolen_" + op }

// bystanderPart names the part of it that is spent on something. Parts and whole are separate
// metrics, so that a table can show either.
func bystanderPart(op string, a account) string {
	return BystanderMetric(op) + "_" + AccountNames()[a]
}

// bystander has all CPUs but the first busy, and the first change a batch of probes. The first CPU's
// own time is not counted, since it has asked for the change.
func (s *session) bystander(m *Measurement) error {
	stop, err := s.load()
	if err != nil {
		return err
	}
	if err := s.k.Sleep(s.call, 1); err != nil { // all of them are in their loops
		return err
	}
	for _, op := range Operations() {
		if err := s.settle(); err != nil {
			return err
		}
		from := s.read()
		if err := s.operate(op); err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		if err := s.settle(); err != nil {
			return err
		}
		s.noteStolen(m, op, s.account(from, s.read()))
	}
	return stop()
}

// operate carries out one operation on the whole batch. Arming does not wait for the optimizer,
// whose work is the next operation; the others do.
func (s *session) operate(op string) error {
	switch op {
	case "arm":
		return s.addSites(s.p.Workload.Batch)
	case "optimize":
		if err := s.probes.WaitOptimizer(s.call); err != nil {
			return err
		}
		return s.verify()
	}
	if err := s.removeTogether(); err != nil {
		return err
	}
	return s.probes.WaitOptimizer(s.call)
}

// noteStolen notes what the bystanders did not spend on their own work: the mean of them. They are never
// idle. The accounts of the experiment cover optimizing, the operation with most parts.
func (s *session) noteStolen(m *Measurement, op string, of []Accounts) {
	var parts Accounts
	var all clock.Ticks
	for _, a := range of[1:] {
		for i, v := range a {
			if account(i) != ForWorkload && account(i) != forIdle {
				parts[i] += v
				all += v
			}
		}
	}
	per := int64(len(of)-1) * s.p.Workload.Batch
	m.cyclesOver(BystanderMetric(op), all, per)
	for _, a := range []account{forInterrupts, forStop, forKernel} {
		m.cyclesOver(bystanderPart(op, a), parts[a], per)
	}
	if op == "optimize" {
		m.Accounts = of
	}
}
