package races

import (
	"strings"
	"testing"
)

func TestOriginalAndPatchedInstructionsMayRun(t *testing.T) {
	m := newToy()
	expect := func(what string, at int, want Kind) {
		t.Helper()
		if got, why := m.run(1, at); got != want {
			t.Errorf("%s: %q (%s), want %q", what, got, why, want)
		}
	}
	for _, at := range []int{0, 1, 4, 9, 12} {
		expect("as compiled", at, "")
	}
	m.store(0, 0, toyBreak)
	expect("a breakpoint that another CPU has stored", 0, "")
	expect("the instruction behind it", 1, "")
	m.sync()
	m.store(0, 1, toyJump(0, toyDetour)[1:]...)
	m.sync()
	m.store(0, 0, toyJumpCode)
	m.sync()
	expect("the jump, patched step by step", 0, "")
	expect("behind the jump", 9, "")
}

func TestTornAndInside(t *testing.T) {
	runStages(t, newToy, []stage{
		{"half a jump", func(m *toyMachine) { m.store(0, 0, toyJump(0, toyDetour)[:3]...) }, 1, 0, Torn},
		{"a jump to where no buffer starts", func(m *toyMachine) { m.store(0, 0, toyJump(0, toyDetour+4)...) }, 0, 0, Torn},
		{"a breakpoint where no probe is", func(m *toyMachine) { m.store(0, 9, toyBreak) }, 1, 9, Torn},
		{"a jump where no probe is", func(m *toyMachine) { m.store(0, 1, toyJump(1, toyDetour)...) }, 0, 1, Torn},
		{"the second instruction under a jump", func(m *toyMachine) {
			m.store(0, 0, toyJump(0, toyDetour)...)
			m.sync()
		}, 1, 1, Inside},
		{"the second instruction behind a breakpoint, when the tail is stored", func(m *toyMachine) {
			m.store(0, 0, toyBreak)
			m.store(0, 1, toyJump(0, toyDetour)[1:]...)
			m.sync()
		}, 1, 1, Inside},
		{"unloaded text", func(m *toyMachine) { m.t.told("gone", toyAt) }, 1, 9, Stale},
	})
	m := newToy()
	m.store(0, 0, toyJump(0, toyDetour)...)
	if _, why := m.run(0, 1); !strings.Contains(why, "toy+0x1") || !strings.Contains(why, "toy+0x0") {
		t.Errorf("it says %q, without the places", why)
	}
}
