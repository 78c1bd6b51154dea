package targets

import (
	"errors"
	"fmt"

	"kprobesim/image"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
	"kprobesim/workloads"
)

// Config says which machine and kernel of a target to boot. What the kernel's services must know of the
// machine they are told by Build.
type Config struct {
	Machine sim.Config      // without the ISA and the board, which are the target's; its layout is also that of the rest
	Kernel  smp.Options     // without the clocks and the number of CPUs, which are the machine's
	Probes  kprobes.Options // of Kprobes
}

// System is a machine with the services of its kernel and Kprobes.
type System struct {
	Machine *sim.Machine
	Kernel  *smp.Kernel
	Probes  *kprobes.Kprobes
}

// Build makes a machine of the target and binds what the kernel's native functions call. Nothing has run
// yet. It fails when the image is for another instruction set or lacks what the services need.
// The kernel comes before Kprobes, which asks it for grace periods and work queues.
func (t *Target) Build(c Config) (*System, error) {
	c.Machine.ISA, c.Machine.Board = t.ISA, t.Board
	m, err := sim.New(c.Machine)
	if err != nil {
		return nil, err
	}
	c.Kernel.Layout, c.Probes.Layout = c.Machine.Layout, c.Machine.Layout
	c.Kernel.CPUs, c.Kernel.CPUHz, c.Kernel.TimerHz = m.CPUs(), c.Machine.CPU.Hz, m.TimerHz()
	k, err := smp.New(m, m.Image(), c.Kernel)
	if err != nil {
		return nil, err
	}
	k.Bind(m)
	probes, err := kprobes.New(m, m.Image(), k, t.Probes, c.Probes)
	if err != nil {
		return nil, err
	}
	if err := complete(m.Image()); err != nil {
		return nil, err
	}
	return &System{m, k, probes}, nil
}

// complete names what an image lacks that is looked up by name only when it is needed: an error in the middle
// of a run would come too late.
// Build asks for it last, so that a missing symbol of the kernel or of Kprobes is named by the
// package that needs it.
func complete(im *image.Image) error {
	err := workloads.Missing(func(name string) bool {
		_, ok := im.Symbol(name)
		return ok
	})
	if err != nil {
		return fmt.Errorf("image %s is not complete: %w", im.Name, err)
	}
	return nil
}

// Run starts the kernel and runs body on its boot task. The machine ends when body does. The error is that
// of the machine, of its kernel and of body, in this order.
// sim_main is the native function that the guest calls from its boot task once it has set itself
// up.
func (s *System) Run(body func(*sim.Call) error) error {
	var failed error
	s.Machine.Bind("sim_main", func(c *sim.Call) uint64 {
		failed = body(c)
		return 0
	})
	ran := s.Machine.Run()
	if kernel := s.Kernel.Err(); !errors.Is(ran, kernel) { // most of its failures stop the machine
		failed = errors.Join(failed, kernel)
	}
	return errors.Join(ran, failed)
}
