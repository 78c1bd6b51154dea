// Package pctest is a PC with many CPUs for tests of machines: a guest without a kernel, and a CPU of
// round numbers.
package pctest

import (
	_ "embed"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/cpus"
	"kprobesim/cpus/x86"
	"kprobesim/internal/clock"
	"kprobesim/sim"
	"kprobesim/sim/simtest"
)

// Latencies of the tests' machine.
const (
	IPI      = 900 * clock.PerCycle
	Transfer = 250 * clock.PerCycle
	Upgrade  = 100 * clock.PerCycle
)

//go:embed testdata/many.elf
var guest []byte

// Guest is a machine that runs testdata/many.S, and what it reported.
type Guest = simtest.Guest

// shape gives the CPUs the latencies between them, and a smaller cache than others have.
func shape(c *sim.Config) {
	c.CPU.L2.Size, c.CPU.L2.Ways = 1<<20, 16
	c.CPU.Events[cpus.EventIPI] = IPI
	c.CPU.Events[cpus.EventTransfer] = Transfer
	c.CPU.Events[cpus.EventUpgrade] = Upgrade
}

// Config describes a machine of n CPUs that runs testdata/many.S, with changes.
func Config(tb testing.TB, n int, change ...func(*sim.Config)) sim.Config {
	tb.Helper()
	return simtest.Config(tb, x86.ISA64(), pc.Board{}, guest, n, append([]func(*sim.Config){shape}, change...)...)
}

// New makes a machine of n CPUs whose CPU 0 runs one function of testdata/many.S and whose others run
// another. Changes are made to its configuration before.
func New(tb testing.TB, n int, main, other string, change ...func(*sim.Config)) *Guest {
	tb.Helper()
	g := simtest.New(tb, Config(tb, n, change...), main, other)
	g.Bind("away", func(c *sim.Call) uint64 {
		before := c.CPU()
		v, err := c.InvokeSym("hand_over")
		if err != nil {
			g.Stop(err)
		}
		return v*100 + uint64(before)*10 + uint64(c.CPU())
	})
	return g
}
