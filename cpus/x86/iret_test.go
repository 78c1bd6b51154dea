package x86

import "testing"

// TestReturnStackSegment refuses every stack segment that a return to user mode may not load, clause by
// clause (SDM vol. 2, IRET): one word of the frame, or one bit of the descriptor, is wrong at a time.
func TestReturnStackSegment(t *testing.T) {
	const user = 0x40000000
	const dataDescriptor = 0x00cff3000000ffff
	for _, x := range []struct {
		name       string
		ss         uint64 // selector in the frame
		descriptor uint64 // of user data
		vector     int
		code       uint32
	}{
		{"as it should be", userDS, dataDescriptor, vecUD, 0},
		{"null", 0, dataDescriptor, vecGP, 0},
		{"null with the level of user mode", 3, dataDescriptor, vecGP, 0},
		{"selector of another level", userDS &^ 3, dataDescriptor, vecGP, userDS &^ 3},
		{"descriptor of another level", userDS, dataDescriptor &^ (3 << 45), vecGP, userDS &^ 3},
		{"not writable", userDS, dataDescriptor &^ (1 << 41), vecGP, userDS &^ 3},
		{"code", userDS, dataDescriptor | 1<<43, vecGP, userDS &^ 3},
		{"of the system", userDS, dataDescriptor &^ (1 << 44), vecGP, userDS &^ 3},
		{"not present", userDS, dataDescriptor &^ (1 << 47), vecSS, userDS &^ 3},
		{"behind the table", 0x1000 | 3, dataDescriptor, vecGP, 0x1000},
	} {
		eachWorld(t, x.name, func(t *testing.T, w *world, c *CPU) {
			w.mapUser(user, 0x400000, 0x1000, pageExec)
			w.mem.Write(0x400000, []byte{0x0f, 0x0b}) // ud2
			w.mem.Write(testCode-kernelMap, w.iret())
			for _, i := range []int{segES, segDS} { // which user mode may keep
				c.seg[i] = unpack(userDS, w.load(w.at(worldGDT)+userDS&^7))
			}
			w.store(w.at(worldGDT)+userDS&^7, x.descriptor)
			w.frame(c, user, w.userCS(), flagOne|flagIF, user+0x800, x.ss)
			if tr := w.trapped(c); tr.vector != x.vector || tr.vector != vecUD && uint32(tr.code) != x.code {
				t.Errorf("%+v; want vector %d with code %#x", tr, x.vector, x.code)
			}
		})
	}
}

// eachWorld runs a test in every mode, with a CPU that is about to execute the kernel's code.
func eachWorld(t *testing.T, name string, f func(t *testing.T, w *world, c *CPU)) {
	for _, isa := range modes() {
		t.Run(isa.Name+"/"+name, func(t *testing.T) {
			w, c := startIn(t, isa)
			f(t, w, c)
		})
	}
}

// TestLongModeKeepsPAE refuses to clear CR4.PAE in long mode, where page tables need it (SDM vol. 3, 2.5),
// and allows it in 32-bit mode.
func TestLongModeKeepsPAE(t *testing.T) {
	// mov %rax,%cr4; hlt
	w, c := start(t, 0x0f, 0x22, 0xe0, 0xf4)
	before := c.cr4
	c.R[rax] = before &^ cr4PAE
	if tr := w.trapped(c); tr.vector != vecGP || tr.code != 0 || c.cr4 != before {
		t.Errorf("%+v with CR4 %#x, which was %#x; want #GP(0) and no change", tr, c.cr4, before)
	}
	_, c = start(t, 0x0f, 0x22, 0xe0, 0xf4)
	c.R[rax] = c.cr4 | cr4DE
	if halt(t, c); c.cr4&cr4DE == 0 {
		t.Errorf("CR4 is %#x: a bit that may be set was not", c.cr4)
	}
}
