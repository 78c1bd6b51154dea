package kinds

import (
	"fmt"

	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
	"kprobesim/results"
	"kprobesim/results/figures"
	"kprobesim/results/tables"
)

// Bystander measures what arming, optimizing and disarming probes takes from CPUs that have
// nothing to do with them.
const Bystander = "bystander-cost"

// operations whose cost for bystanders is measured, in their order. Each begins in the state that
// the one before leaves, so they are measured in this order and on the same probes.
func operations() []string { return []string{"arm", "optimize", "disarm"} }

// bystanderMetric names what an operation takes from a bystander, in cycles a probe of the batch.
func bystanderMetric(op string) string { return "cycles_stolen_" + op }

// bystanderPart names the part of it that is spent on something. Parts and whole are separate
// metrics, so that a table can show either.
func bystanderPart(op string, a account) string {
	return bystanderMetric(op) + "_" + AccountNames()[a]
}

func bystanderKind() Kind {
	k := Kind{
		Name: Bystander, Workload: readBystander, measure: (*session).bystander, Check: checkBystander,
		figures: []Figure{{"bystander", drawBystander}},
		Notes:   []string{"cycles that one bystander CPU does not spend on its own work, a probe of the batch"},
	}
	for _, op := range operations() {
		k.Columns = append(k.Columns, tables.ColumnSpec{Title: op, Metric: bystanderMetric(op), Decimals: 1})
	}
	for _, a := range []account{forInterrupts, forStop, forKernel} {
		k.Columns = append(k.Columns, tables.ColumnSpec{
			Title: "optimize:\n" + AccountNames()[a], Metric: bystanderPart("optimize", a), Decimals: 1,
		})
	}
	return k
}

// checkBystander wants a CPU that has nothing to do with it, and probes that can be optimized. It is
// asked when the experiment is read, before any point runs.
func checkBystander(e *schema.Experiment) []Mistake {
	all := append(optimizedOnly(e), noCrowd(e)...)
	if e.Kernel.CPUs < 2 {
		all = append(all, Mistake{
			[]string{"kernel", "cpus"}, fmt.Sprintf("kind %s needs a bystander: 2 CPUs or more", e.Kind),
		})
	}
	return all
}

// Bystanders are always busy in the kernel: an idle CPU has nothing that could be taken from it.
func readBystander(r *doc.Reader) schema.Workload {
	defer r.Done()
	return schema.Workload{Batch: doc.Need(r, "batch", doc.Int(1, maxBatch)), Load: LoadBusy}
}

// maxBatch is the number of sites that an image has. Above it a batch would need other functions in
// the guest.
const maxBatch = 1024

// bystander has all CPUs but the first busy, and the first change a batch of probes. The first CPU's
// own time is not counted, since it has asked for the change.
func (s *session) bystander(m *Measurement) error {
	if err := s.online(); err != nil {
		return err
	}
	stop, err := s.load()
	if err != nil {
		return err
	}
	if err := s.k.Sleep(s.call, 1); err != nil { // all of them are in their loops
		return err
	}
	for _, op := range operations() {
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
// idle. The accounts of the experiment are those of optimizing, the operation with most parts.
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
	m.cyclesOver(bystanderMetric(op), all, per)
	for _, a := range []account{forInterrupts, forStop, forKernel} {
		m.cyclesOver(bystanderPart(op, a), parts[a], per)
	}
	if op == "optimize" {
		m.Accounts = of
	}
}

// drawBystander charts cycles over the size of the batch, both logarithmic, since fixed costs spread
// over the batch. What is done to the probes and the number of CPUs have panels, ways of changing text have lines.
func drawBystander(s *results.Set) (figures.Figure, error) {
	chart := figures.SweepChart{Over: "workload.batch", Lines: []string{"kernel.patching"}, LogX: true, LogY: true, Frame: figures.Frame{
		Title:  "What changing probes takes from an uninvolved CPU: " + place(s.Points()[0]),
		XLabel: "probes in the batch", YLabel: "cycles a probe",
	}}
	for _, op := range operations() {
		chart.Metrics = append(chart.Metrics, figures.SweepLine{
			Metric: bystanderMetric(op), Panel: op,
			Series: func(p results.Point) string { return lineName(p, p.Swept("kernel.patching")) },
		})
	}
	return chart.Draw(s)
}
