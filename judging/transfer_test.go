package judging

import (
	"bytes"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/internal/native"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// TestTransfer executes both programs on two simulated processors, where a line takes what the description says.
func TestTransfer(t *testing.T) {
	c := machine(t, "epyc-9654")
	for upgrades, want := range map[bool]string{false: "line_transfer", true: "line_upgrade"} {
		took := float64(c.Events[want]) / float64(clock.PerCycle)
		p, job := Transfer(upgrades, 0)
		got := between(t, c, p, job) / Transfers
		require.That(t, got > 0.9*took && got < 1.1*took+3, "%s: a line takes %.1f cycles, and the description says %.1f", want, got, took)
	}
}

// between returns the ticks that a program takes with another beside it.
func between(t *testing.T, cfg *cpus.Config, code []byte, job *native.Job) float64 {
	t.Helper()
	const beside = 0x1000
	p, of := NewPricer(cfg), &host.Pages{}
	defer func() { require.NoError(t, of.Free()) }()
	code = append(bytes.Clone(code[:len(code)-1]), 0xf4) // hlt in place of ret
	code = append(append(code, make([]byte, beside-len(code))...), job.Beside.Program...)
	w := require.Must(p.load(of, code, nil, job.Chains...))(t)
	w.bus.Directory = mmu.NewDirectory(2)
	var all [2]cpus.CPU
	for i := range all {
		all[i] = p.isa.New(i, cfg, w.bus)
		w.bus.First = all[0]
		all[i].Boot(codePage+uint64(i)*beside, control+pageSize/2)
		all[i].Interrupt() // ends the halt
	}
	for {
		c := all[0]
		if all[1].Now() < c.Now() {
			c = all[1]
		}
		switch x := c.Run(c.Now() + 20*clock.PerCycle); {
		case x.Reason == cpus.Halted && c == all[0]:
			for _, r := range c.Registers() {
				if r.Name == "rax" {
					return float64(r.Value)
				}
			}
			t.Fatal("there is no rax")
		case x.Reason != cpus.Limit:
			t.Fatalf("a processor stops: %+v", x)
		}
	}
}
