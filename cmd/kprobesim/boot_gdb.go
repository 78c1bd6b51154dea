package main

import (
	"kprobesim/distro"
	"kprobesim/gdb"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/sim"
)

// checkpointCycles is about how many cycles lie between two states of a boot that is debugged: a part of a second of the host.
const checkpointCycles = 50_000_000

// debugged runs boots under a debugger. One that begins again goes on from a state that an earlier one has kept, and prints
// what no earlier one has printed.
func (o *bootOptions) debugged(c distro.Config) gdb.Run {
	kept := gdb.Checkpoints{Every: clock.FromCycles(checkpointCycles)}
	show, shown := c.Print, 0
	return func(before clock.Ticks, attach gdb.Attach) error {
		var ram host.Pages
		defer func() { _ = ram.Free() }() // the host takes it back anyway
		var at *sim.Machine
		failed := error(nil)
		one := c
		one.Zeroed = ram.Zeroed
		one.Print = func(m *sim.Machine, s string) {
			if n := len(m.Console()); n > shown {
				show(m, s[max(0, len(s)-(n-shown)):])
				shown = n
			}
		}
		one.Attach = func(m *sim.Machine) func(error) {
			failed, at = kept.Restore(m, before), m
			return attach(m, nil)
		}
		one.Halt = func() error {
			if failed == nil && at != nil {
				failed = kept.Take(at)
			}
			return failed
		}
		_, err := distro.Run(one, o.stop)
		return err
	}
}
