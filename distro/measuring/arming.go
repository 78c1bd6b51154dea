package measuring

import (
	"errors"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// Arming counts what it takes to arm a probe: to enable its trace event by a write to a file, on a processor whose caches are
// cold. Interrupts of the first CPU, such as the timer's, are left out.
type Arming struct {
	Ticks clock.Ticks // of the first CPU, with the system calls around it
	// Interrupted and Interrupts are the time and number of interrupts that the other CPUs took meanwhile: those by which
	// the kernel has them synchronize with the changed text, and others that happen to come.
	Interrupted clock.Ticks
	Interrupts  uint64
}

// Arm measures how the one event of an order is armed, which is of Events or UserEvents. It has been armed and disarmed
// once before. Of what an order attaches it measures the system calls that attach it, for the first time. The loop of the
// order does not run.
func (l *Lab) Arm(o Order) (*Arming, error) {
	if o.Attach != nil {
		return l.armAttached(o)
	}
	if len(o.Events)+len(o.UserEvents) != 1 || len(o.Modules) > 0 || o.Watchpoint != nil {
		return nil, errors.New("arming is measured of one trace event, and of nothing else")
	}
	setup, _, s, err := l.begin(&o)
	if err != nil {
		return nil, err
	}
	defer s.free()
	enable := setup[len(setup)-1]
	disable := command{enable.kind, append(append([]byte{}, enable.data[:len(enable.data)-2]...), '0', 0), "disable the event"}
	if _, err := s.do(append(setup, disable, numbers(sleep, "sleep", settle))...); err != nil {
		return nil, err
	}
	before := s.counters()
	s.timed(true)
	if _, err := s.do(enable); err != nil {
		return nil, err
	}
	return armed(before, s.counters()), nil
}

// armAttached measures the calls that attach something, whose program is loaded before.
func (l *Lab) armAttached(o Order) (*Arming, error) {
	o.arming = &Arming{}
	setup, _, s, err := l.begin(&o)
	if err != nil {
		return nil, err
	}
	defer s.free()
	if _, err := s.do(setup...); err != nil {
		return nil, err
	}
	_, err = l.attach(s, &o)
	return o.arming, err
}

// add adds what another step took.
func (a *Arming) add(b *Arming) {
	a.Ticks += b.Ticks
	a.Interrupted += b.Interrupted
	a.Interrupts += b.Interrupts
}

// settle is how long the kernel is given to end what it does behind a disarming, in milliseconds.
const settle = 200

// counters holds copies of the counters of all CPUs.
func (s *session) counters() (out []cpus.Counters) {
	for i := range s.m.CPUs() {
		out = append(out, *s.m.CPU(i).Counters())
	}
	return out
}

// armed sorts what passed between two readings of the counters.
func armed(before, behind []cpus.Counters) *Arming {
	a := &Arming{}
	for i := range behind {
		d := behind[i].Sub(&before[i])
		var t clock.Ticks
		for _, x := range d.Time[cpus.Interrupted] {
			t += x
		}
		if i == 0 {
			a.Ticks = d.Total() - t
			continue
		}
		a.Interrupted += t
		for v, n := range d.Exceptions {
			if v >= firstInterrupt {
				a.Interrupts += n
			}
		}
	}
	return a
}

// firstInterrupt is the first vector that is no exception (SDM vol. 3, 6.2).
const firstInterrupt = 32
