package cpustest

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/host"
)

// EachMemo makes CPUs run by f with the window model remembering nothing, as much as built, all at once, and little,
// and holds that registers, time and counters are the same each time. Nothing is code of the host the first time, and soon
// everything is at others. More are further bounds of blocks that the
// model remembers at once. What is for messages; registers returns all that a CPU has, hidden ones
// too, as a value that == compares.
func EachMemo[C cpus.CPU](t *testing.T, what string, registers func(C) any, f func() []C, more ...int) {
	t.Helper()
	built := host.Memo
	code := host.Code
	defer func() { host.Memo, host.Code = built, code }()
	host.Code.Blocks = 1
	bounds := [][2]int{{0, 0}, {built.Blocks, built.Runs}, {built.Blocks, 0}, {8, 0}}
	for _, blocks := range more {
		bounds = append(bounds, [2]int{blocks, 0})
	}
	var plain []C
	for _, b := range bounds {
		host.Memo.Blocks, host.Memo.Runs = b[0], b[1]
		host.Code.Off = plain == nil
		all := f()
		if plain == nil {
			plain = all
		}
		for i, c := range all {
			want := plain[i]
			n, m := c.Counters(), want.Counters()
			if registers(c) != registers(want) || c.Now() != want.Now() || *n != *m {
				t.Fatalf("%s, cpu %d, remembering %d from run %d: %d instructions in %d ticks to %#x, want %d in %d to %#x", what, i,
					b[0], b[1], n.Instructions, c.Now(), c.PC(), m.Instructions, want.Now(), want.PC())
			}
		}
	}
}

// RunOn runs a CPU four times for 2,000 cycles at least, or until it leaves the guest. A shutdown has to say why.
func RunOn(t *testing.T, c cpus.CPU) {
	t.Helper()
	for range 4 {
		e := c.Run(c.Now() + 60*2000)
		if e.Reason == cpus.Shutdown && e.Detail == "" {
			t.Fatal("a shutdown without a reason")
		}
		if e.Reason != cpus.Limit {
			return
		}
	}
}
