package arm

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// mcr14 writes a debug register.
func mcr14(crm, op2, rt uint32) uint32 { return mcr(0, 0, crm, op2, rt) &^ (1 << 8) }

// TestWatchpoints arms a watchpoint by the instructions that a kernel uses, and accesses bytes beside and in it.
func TestWatchpoints(t *testing.T) {
	const at = testStack - 0x100
	arm := func(n, bytes, kind uint32) (code []uint32) {
		code = append(code, mrc(0, 0, 2, 2, 0)&^(1<<8), dataConstant(opORR, 0, 0, 0, 0x902), mcr14(2, 2, 0)) // rotated: 1 << 15
		code = append(code, mcr14(n, 6, 1))
		code = append(code, constantTo(2, bytes<<5|kind<<3|1<<1|1)...)
		return append(code, mcr14(n, 7, 2), insnISB)
	}
	const loads, stores = 1, 2
	for _, x := range []struct {
		name        string
		n, selected uint32
		kind        uint32
		access      uint32 // with r3
		off         uint64
		hit, write  bool
	}{
		{"store", 0, 0xf, stores, strAt(4, 3, 0), 0, true, true},
		{"load where stores are watched", 0, 0xf, stores, ldrAt(4, 3, 0), 0, false, false},
		{"load", 3, 0xf, loads, ldrAt(4, 3, 0), 0, true, false},
		{"byte beside the selected one", 1, 2, loads | stores, memAt(0x05500000, 4, 3, 0), 0, false, false},
		{"selected byte", 1, 2, loads | stores, memAt(0x05500000, 4, 3, 0), 1, true, false},
		{"word over the selected byte", 1, 2, loads | stores, strAt(4, 3, 0), 0, true, true},
		{"word below", 0, 0xf, stores, strAt(4, 3, 0), ^uint64(3), false, false},
		{"word that reaches into it", 0, 0xf, stores, strAt(4, 3, 0), ^uint64(1), true, true},
		{"second register of a pair", 0, 0xf, stores, always32 | 0x01c340f0, ^uint64(3), true, true},
	} {
		code := arm(x.n, x.selected, x.kind)
		place := testCode + uint64(4*len(code))
		c := newWorld(t, cpus.Window, append(code, x.access, insnSVC)).cpu()
		c.R[1], c.R[3], c.R[4] = at, at+x.off, 0x5a
		v := to(t, c)
		if want := map[bool]int{true: vecDataAbort, false: vecSupervisorCall}[x.hit]; v != want {
			t.Errorf("%s: %s; want %s", x.name, vectorNames[v], vectorNames[want])
			continue
		}
		if !x.hit {
			continue
		}
		if c.dfsr&0x40f != fsrDebug || c.dfsr&fsrWrite != 0 != x.write || c.R[rLR] != place+8 || c.debug.wfar != uint32(place+8) || c.debug.dscr&dscrMOE != dscrMOEWatch {
			t.Errorf("%s: DFSR %#x, LR %#x, DBGWFAR %#x, DBGDSCR %#x, the access is at %#x", x.name, c.dfsr, c.R[rLR], c.debug.wfar, c.debug.dscr, place)
		}
		pa, _ := c.Translate(at)
		require.That(t, !x.write || c.Memory.Bytes(pa, 1)[0] != 0x5a, "%s: the word was written before the handler", x.name)
	}
}

// TestBreakpoints has an instruction in the middle of a block watched, and another one by a register for user mode.
func TestBreakpoints(t *testing.T) {
	for _, x := range []struct {
		control uint32
		hit     bool
	}{
		{0xf<<5 | 1<<1 | 1, true},
		{0xf<<5 | 3<<1 | 1, true},
		{0xf<<5 | 1, true},
		{0xf<<5 | 2<<1 | 1, false},
		{0xf<<5 | 1<<1, false},
		{0x3<<5 | 1<<1 | 1, false},
	} {
		c := newWorld(t, cpus.Window, []uint32{mcr14(2, 5, 2), insnISB, insnNop, insnNop, insnNop, insnSVC}).cpu()
		c.debug.dscr = dscrMonitor
		c.debug.bvr[2] = testCode + 12
		c.R[2] = uint64(x.control)
		v := to(t, c)
		if hit := v == vecPrefetchAbort; hit != x.hit || hit && (c.R[rLR] != testCode+16 || c.ifsr != fsrDebug || c.debug.dscr&dscrMOE != dscrMOEBreak) {
			t.Errorf("control %#x: %s, LR %#x, IFSR %#x, DBGDSCR %#x; want a hit: %v", x.control, vectorNames[v], c.R[rLR], c.ifsr, c.debug.dscr, x.hit)
		}
	}
}

// TestMismatch has a register wait for every instruction of user mode but the one at its address, by which kernels step.
func TestMismatch(t *testing.T) {
	for _, x := range []struct {
		at, control uint32
		hit         uint64 // the instruction that is stopped at; 0 for none
	}{
		{testCode + 8, controlMismatch | 0xf<<5 | 1<<1 | 1, testCode + 4},
		{testCode + 4, controlMismatch | 0xf<<5 | 1<<1 | 1, testCode + 8},
		{testCode + 8, 0xf<<5 | 1<<1 | 1, testCode + 8},
		{testCode + 8, controlMismatch | 0xf<<5 | 2<<1 | 1, 0},
		{testCode + 8, controlMismatch | 0xf<<5 | 1<<1, 0},
		{testCode + 8, 5<<20 | 0xf<<5 | 1<<1 | 1, 0},
	} {
		c := newWorld(t, cpus.Window, []uint32{mcr14(2, 5, 2), insnISB, insnNop, insnNop, insnNop, insnSVC}).cpu()
		c.debug.dscr = dscrMonitor
		c.debug.bvr[2], c.R[2] = x.at, uint64(x.control)
		v := to(t, c)
		if hit := v == vecPrefetchAbort; hit != (x.hit != 0) || hit && (c.R[rLR] != x.hit+4 || c.ifsr != fsrDebug || c.debug.dscr&dscrMOE != dscrMOEBreak) {
			t.Errorf("control %#x: %s, LR %#x, IFSR %#x, DBGDSCR %#x; want %#x", x.control, vectorNames[v], c.R[rLR], c.ifsr, c.debug.dscr, x.hit)
		}
	}
	c := newWorld(t, cpus.Window, []uint32{insnNop, insnSVC}).cpu()
	c.debug.dscr, c.debug.bcr[0] = dscrMonitor, controlMismatch|0xf<<5|2<<1|1
	for _, mode := range []uint32{modeUser, modeSupervisor} {
		c.setControl(mode)
		require.Equal(t, c.Single == oneMismatch, mode == modeUser, "in mode %#x instructions are executed one by one", mode)
	}
	for mode, want := range map[uint32]string{ // by the levels none, privileged, user, both
		modeUser: "1011", modeSystem: "1101", modeSupervisor: "1101", modeIRQ: "0101", modeAbort: "0101", modeUndefined: "0101",
	} {
		c.setControl(mode)
		got := []byte("0000")
		for level := range uint32(4) {
			if c.atLevel(level << 1) {
				got[level] = '1'
			}
		}
		require.Equal(t, string(got), want, "in mode %#x registers are for it by their level", mode)
	}
	c.setControl(modeUser | psrT)
	require.Equal(t, c.Single, oneMismatch|oneThumb, "in Thumb state")
	c.debug.dscr = 0
	c.arm()
	require.Equal(t, c.Single, oneThumb, "without monitor debug-mode")
}

func TestDebugIdentification(t *testing.T) {
	c := newWorld(t, cpus.Window, []uint32{mrc(0, 0, 0, 0, 1) &^ (1 << 8), mrc(1, 0, 1, 4, 2) &^ (1 << 8), insnSVC}).cpu()
	c.R[2] = 1
	if v := to(t, c); v != vecSupervisorCall || c.R[1]>>28 != 3 || c.R[1]>>24&15 != 5 || c.R[1]>>16&15 != 5 || c.R[2] != 0 {
		t.Errorf("%s, DBGDIDR %#x, DBGOSLSR %#x", vectorNames[v], c.R[1], c.R[2])
	}
}

// TestCacheSizes reads CCSIDR of each cache that CSSELR selects (ARM ARM, B4.1.19).
func TestCacheSizes(t *testing.T) {
	for selected, want := range []uint32{127<<13 | 3<<3 | 2, 255<<13 | 1<<3 | 2, 1023<<13 | 7<<3 | 2} {
		c := newWorld(t, cpus.Window, []uint32{mcr(0, 2, 0, 0, 2), mrc(0, 1, 0, 0, 1), insnSVC}).cpu()
		c.cfg.L1I, c.cfg.L1D, c.cfg.L2 = geometry(32<<10, 2), geometry(32<<10, 4), geometry(512<<10, 8)
		c.R[2] = uint64(selected)
		if v := to(t, c); v != vecSupervisorCall || uint32(c.R[1]) != want {
			t.Errorf("cache %d: %s, CCSIDR %#x, want %#x", selected, vectorNames[v], c.R[1], want)
		}
	}
}

func geometry(size, ways int) mmu.CacheConfig {
	return mmu.CacheConfig{Size: size, Ways: ways, Line: 64}
}
