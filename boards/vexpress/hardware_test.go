package vexpress

import (
	_ "embed"
	"testing"

	"kprobesim/cpus/arm"
	"kprobesim/cpus/cpustest"
	"kprobesim/image"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

//go:embed testdata/many.elf
var many []byte

// watched is a board that tells of the hardware that it has built.
type watched struct {
	Board
	built *motherboard
}

func (w *watched) Build(m *sim.Backplane) sim.Hardware {
	w.built = w.Board.Build(m).(*motherboard)
	return w.built
}

// newHardware makes the hardware of a machine of n CPUs, which never run.
func newHardware(t testing.TB, n int) *motherboard {
	t.Helper()
	b, _ := newMachine(t, n)
	return b
}

// newMachine makes the machine, too.
func newMachine(t testing.TB, n int) (*motherboard, *sim.Machine) {
	t.Helper()
	im := require.Must(image.Load("many.elf", many))(t)
	w := new(watched)
	isa := arm.ISA()
	m := require.Must(sim.New(sim.Config{ISA: isa, Board: w, CPU: cpustest.Config(isa), CPUs: n, RAM: 16 << 20, Image: im}))(t)
	return w.built, m
}
