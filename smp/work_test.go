package smp

import (
	"testing"

	"kprobesim/internal/require"
)

// A work has one thread, however often it is asked for.
func TestWorkKeepsItsThread(t *testing.T) {
	run(t, plain, Options{CPUs: 2}, func(b *board) {
		runs := 0
		w := b.k.NewWork("flusher", func(Caller) error { runs++; return nil })
		for range 3 {
			b.do(w.Schedule(b, 1))
			b.do(w.Flush(b))
		}
		threads := 0
		for _, task := range b.k.order {
			if task.name == "flusher" {
				threads++
			}
		}
		require.That(t, runs == 3 && threads == 1, "%d runs by %d threads, want 3 by 1", runs, threads)
	})
}
