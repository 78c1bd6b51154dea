package timelines

import (
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestLayersNest: an interrupt in a system call, a hit in the interrupt, and the way back. A layer that is
// open already is gone back to by ending those inside it, and no other.
func TestLayersNest(t *testing.T) {
	w := newWatcher(&image.Image{}, 1, 1000, "nested")
	c := &w.cpus[0]
	c.task, c.user = true, true
	w.t.Begin(c.id, 0, mark(onUser, "task"))
	kernel, irq, handler := uint8(image.PhaseKernel), uint8(image.PhaseIRQ), uint8(image.PhaseHandler)
	for i, step := range []struct {
		cpus.Step
		want []layer
	}{
		{cpus.Step{Phase: uint8(image.PhaseUser), User: true}, nil},
		{cpus.Step{Phase: kernel}, []layer{inCall}},
		{cpus.Step{Phase: irq, Context: cpus.Interrupted}, []layer{inCall, inIRQ}},
		{cpus.Step{Phase: handler, Context: cpus.Breakpoint}, []layer{inCall, inIRQ, inProbe}},
		{cpus.Step{Phase: irq, Context: cpus.Interrupted}, []layer{inCall, inIRQ}},
		{cpus.Step{Phase: handler, Context: cpus.Breakpoint}, []layer{inCall, inIRQ, inProbe}},
		{cpus.Step{Phase: kernel}, []layer{inCall}},
		{cpus.Step{Phase: irq, Context: cpus.Interrupted}, []layer{inCall, inIRQ}},
		{cpus.Step{Phase: uint8(image.PhaseUser), User: true}, nil},
	} {
		step.PC, step.Start = 0x1000, clock.Ticks(i)
		w.Step(&step.Step)
		open := w.t.Open(c.id) - 1
		require.That(t, slices.Equal(c.open, step.want) && open == len(step.want), "step %d: layers %v, %d slices beside the task's, want %v", i, c.open, open, step.want)
	}
}
