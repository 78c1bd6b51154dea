package explaining

import (
	"fmt"

	"kprobesim/internal/clock"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/targets"
)

// Answer is the kernel's reaction to the registration of a probe at a place.
type Answer struct {
	Errno int    `json:"errno"` // as a positive number; 0 where it took the probe
	Mode  string `json:"mode,omitempty"`
	// Kept is why the kernel has no jump there.
	Kept kprobes.Rule `json:"not_optimized,omitempty"`
	// Pending says that the kernel was about to write the jump, and that nobody waited until it stood.
	Pending bool `json:"pending,omitempty"`
}

// String says it in words.
func (a Answer) String() string {
	if a.Errno != 0 {
		return fmt.Sprintf("error %d", a.Errno)
	}
	if a.Pending {
		return "a probe that is to be " + a.Mode
	}
	if a.Kept == "" {
		return "a probe that is " + a.Mode
	}
	return fmt.Sprintf("a probe that is %s (%s)", a.Mode, a.Kept)
}

// Agrees reports whether the kernel did what the verdict says. Of a probe that nobody has hit yet a kernel does not know
// whether its emulator will do the instruction.
func (a Answer) Agrees(v *Verdict) bool {
	if !v.Probe {
		return a.Errno == v.Errno
	}
	a.Pending = false
	if v.Optimized {
		return a == Answer{Mode: kprobes.Optimized.String()}
	}
	return a == Answer{Mode: v.First, Kept: v.Kept} || a == Answer{Mode: v.Kind, Kept: v.Kept} ||
		v.then == kprobes.Emulated && a == Answer{Mode: kprobes.Stepped.String(), Kept: v.Kept}
}

// Verify boots the kernel, registers a probe at each place, waits for the optimizer, looks at the probe and unregisters
// it. It fails for a place from which the kernel does not come back.
func (k *Kernel) Verify(sites []uint64) ([]Answer, error) {
	out, last := make([]Answer, len(sites)), uint64(0)
	err := k.run(len(sites), func(sys *targets.System, c *sim.Call) error {
		for i, at := range sites {
			last = at
			rules, err := k.system.Probes.Judge(at)
			if err != nil {
				return err
			}
			if out[i], err = ask(sys.Probes, c, at, !rules.Retried); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // the machine may also have ended on the way
		return nil, fmt.Errorf("with a probe at %s: %w", k.point.Image.SymbolText(last), err)
	}
	return out, nil
}

// run executes body on the boot task of the kernel. It has time for a number of places.
func (k *Kernel) run(places int, body func(*targets.System, *sim.Call) error) error {
	c := k.config()
	c.Machine.Budget += clock.FromCycles(k.point.Machine.CPU.Hz / 1000 * perPlace * int64(places))
	sys, err := k.point.Target.Build(c)
	if err != nil {
		return err
	}
	return sys.Run(func(c *sim.Call) error { return body(sys, c) })
}

// perPlace is how many simulated milliseconds a place may take on average. A few hundredths are usual.
const perPlace = 2

// ask registers one probe, and may wait for its jump. Other probes stay for a moment only, and so does one in a pair of a
// reserving load and a conditional store: waiting leads through the scheduler, which has such a pair, and with the
// breakpoint in it the scheduler would try again for ever.
func ask(k *kprobes.Kprobes, c *sim.Call, at uint64, wait bool) (Answer, error) {
	p, err := k.Add(c, kprobes.Spec{Kind: kprobes.Kprobe, Addr: at, Handler: "handler_empty"})
	if errno, other := errnoOf(err); other != nil || errno != 0 {
		return Answer{Errno: int(errno)}, other
	}
	st, err := k.State(p.Addr)
	if err == nil && st.Queued && wait {
		if err = k.WaitOptimizer(c); err == nil {
			st, err = k.State(p.Addr)
		}
	}
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Mode: st.Mode.String(), Pending: st.Queued}
	if a.Pending {
		a.Mode = kprobes.Optimized.String()
	}
	if st.Refusal != nil {
		a.Kept = st.Refusal.Rule
	}
	return a, k.Remove(c, p)
}
