package main

import (
	"io"
	"testing"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestMemoChangesNoBoot boots a packaged kernel on a core of today with the usual memo of the core model and with one that has room for
// all and takes a block at once; at night without a memo, too. Kernels have shown what no random program and no loop did: a push that took
// its address from where it was not kept.
func TestMemoChangesNoBoot(t *testing.T) {
	hosttools.Long(t, "a boot on a core of today with other memos of the core model", "TestMemoChangesNothing measures points")
	kernel := hosttools.Kernels(t, "vmlinuz-*-amd64", "a boot with other memos of the core model")[0]
	a, stop := newApp(io.Discard, io.Discard), distro.Stop{Text: "smp: Bringing up", Symbol: "populate_rootfs"}
	whole := hosttools.Night(t, "whole boots under the cost model, with two other memos", "a third of one with a memo of all")
	if whole {
		stop.Text = ""
	}
	built := host.Memo
	defer func() { host.Memo = built }()
	boot := func(blocks, runs int) (clock.Ticks, cpus.Counters, string) {
		host.Memo.Blocks, host.Memo.Runs = blocks, runs
		o := bootOptions{kernel: kernel, machine: "xeon-gold-6330", memory: distro.DefaultRAM >> 20, cpus: 1, seconds: 60, date: bootDate}
		c, _, err := a.bootConfig(&o)
		require.NoError(t, err)
		c.Kept, c.Untimed = nil, !whole
		m := require.Must(distro.Run(c, stop))(t)
		if !whole {
			require.Need(t, m.Ended() == distro.AtText, "ended by %q before the cost model", m.Ended())
			m.CPU(0).Untimed(0, 0)
			m.Resume()
			require.NoError(t, m.Run())
		}
		require.That(t, m.Ended() == distro.AtSymbol, "ended by %q", m.Ended())
		return m.CPU(0).Now(), *m.CPU(0).Counters(), m.Console()
	}
	now, counters, console := boot(built.Blocks, built.Runs)
	others := [][2]int{{1 << 20, 0}}
	if whole {
		others = append(others, [2]int{0, built.Runs})
	}
	for _, memo := range others {
		n, c, text := boot(memo[0], memo[1])
		require.That(t, n == now && c == counters && text == console, "with a memo of %v the boot takes %d ticks, and %d with the usual one", memo, n, now)
	}
}
