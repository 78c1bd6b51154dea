package kinds

import (
	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/clock"
)

// account names a use of a CPU's time. Accounts answer who uses a CPU, phases which step of a hit
// does. Every tick of a CPU's time is in exactly one account.
type account uint8

const (
	ForWorkload account = iota
	ForUser
	ForProbes
	forInterrupts
	forStop
	forKernel
	forIdle
	accounts
)

// AccountNames are the columns of the accounts. They are in the committed results, so a name stays
// when the code around it changes.
func AccountNames() []string {
	return []string{
		ForWorkload: "workload", ForUser: "user", ForProbes: "probes", forInterrupts: "interrupts",
		forStop: "stop_machine", forKernel: "kernel", forIdle: "idle",
	}
}

// Accounts is the time of one CPU in the measured stretch by what it was spent on. Callers add and
// compare them in ticks; only reports convert them.
type Accounts [accounts]clock.Ticks

// accountOf says what code of a phase in an exception context serves. The entry and the return of
// exceptions serve probes and interrupts alike: there the context decides. A handler that runs in an
// interrupt is the probe's, as its phase says.
func accountOf(phase image.Phase, context int) account {
	switch phase {
	case image.PhaseWorkload:
		return ForWorkload
	case image.PhaseUser:
		return ForUser
	case image.PhaseIdle:
		return forIdle
	case image.PhaseStop:
		return forStop
	case image.PhaseIRQ:
		return forInterrupts
	}
	if phase.Probing() {
		return ForProbes
	}
	switch context {
	case cpus.Breakpoint, cpus.SingleStep:
		return ForProbes
	case cpus.Interrupted:
		return forInterrupts
	}
	return forKernel
}

// reading is a copy of the counters of all CPUs at a time. Counters only grow, so a stretch is the
// difference of two readings.
type reading struct {
	at  clock.Ticks
	all []cpus.Counters
}

// settle lets the other CPUs catch up with the caller's, which is ahead after work that is charged.
// Only CPUs that share time can be compared; without it what they did meanwhile would be missing.
// The wait is guest code.
func (s *session) settle() error {
	if s.m.CPUs() == 1 {
		return nil
	}
	_, err := s.call.InvokeSym("catch_up")
	return err
}

// read takes a reading. A CPU that sleeps has counted up to when it fell asleep. It copies the
// counters, because the CPU's own go on.
func (s *session) read() reading {
	r := reading{at: s.m.Now()}
	for i := range s.m.CPUs() {
		r.all = append(r.all, *s.m.CPU(i).Counters())
	}
	return r
}

// account adds up what every CPU spent its time on from one reading to another. What is missing up
// to the end of the stretch is sleep that the CPU has not counted yet, and is booked as idle.
func (s *session) account(from, to reading) []Accounts {
	out := make([]Accounts, len(to.all))
	for i := range out {
		d := to.all[i].Sub(&from.all[i])
		var busy clock.Ticks
		for context := range d.Time {
			for phase := range image.PhaseCount {
				a := accountOf(phase, context)
				out[i][a] += d.Time[context][phase]
				if a != forIdle {
					busy += d.Time[context][phase]
				}
			}
		}
		out[i][forIdle] = max(out[i][forIdle], to.at-from.at-busy)
	}
	return out
}
