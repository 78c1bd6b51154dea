package kinds

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"kprobesim/experiments/schema"
	"kprobesim/kprobes"
)

// Moments of a point at which the files of its kernel can be read, in their order.
const (
	Before     = "before"     // no probe of the point is registered
	Registered = "registered" // the optimizer has not run yet
	Settled    = "settled"    // the optimizer has nothing left to do
	Measured   = "measured"   // the measured calls are over, and the writes between them
)

// Moments lists their names.
func Moments() []string { return []string{Before, Registered, Settled, Measured} }

// Inspect boots a machine for p and writes the files of Kprobes at a moment: one of Moments, or that many microseconds
// of simulated time behind the registration, during which the boot task sleeps. A kernel sleeps in jiffies, so the
// moment is the first jiffy that is not before it.
func Inspect(p *schema.Point, moment string, micros int64, w io.Writer) error {
	if kindOf(p.Kind).alone != nil {
		return fmt.Errorf("kind %s boots a kernel whose files are not read: measuring a point compares the kernel's list of probes with it", p.Kind)
	}
	return boot(p, nil, func(s *session) error {
		if err := s.until(moment, micros); err != nil {
			return err
		}
		fmt.Fprintf(w, "kernel %s, %d cycles behind its start\n", p.Kernel.ImageName(), s.call.Now().Cycles())
		for _, path := range kprobes.Files() {
			text := "not in this kernel\n"
			if slices.Contains(s.k.Paths(), path) {
				var err error
				if text, err = s.k.ReadFile(s.call, path); err != nil {
					return err
				}
			}
			fmt.Fprintf(w, "\n%s\n", path)
			for line := range strings.Lines(text) {
				fmt.Fprintf(w, "  %s\n", strings.TrimRight(line, " \n"))
			}
		}
		return nil
	})
}

// until brings the machine to a moment.
func (s *session) until(moment string, micros int64) error {
	switch moment {
	case Before:
		return nil
	case Registered:
		return s.register()
	case Settled:
		return s.registerSettled()
	case Measured:
		if s.p.Workload.Loop == "" {
			return fmt.Errorf("experiments of kind %s have no measured calls: ask for another moment than %s", s.p.Kind, Measured)
		}
		if err := s.registerSettled(); err != nil {
			return err
		}
		_, _, err := s.knobs(s.p.Workload.Hits)
		return err
	}
	if err := s.register(); err != nil {
		return err
	}
	jiffy := max(1_000_000/s.p.Kernel.HZ, 1)
	return s.k.Sleep(s.call, (micros+jiffy-1)/jiffy)
}
