package arm

import "math/bits"

// Loads and stores of several registers (ARM ARM, A5.5, Block data transfer). imm is the list; sh is the distance of
// the lowest address from the base, and dst what the base becomes, both in words with an offset.

// Bits of aux in loads and stores of several registers.
const (
	multiWriteback = 1 << iota
	multiUser      // the registers of user mode
	multiReturn    // from an exception
	multiStack     // of a load of the program counter from the stack: a return
)

// multiBias makes counts of words from -16 to 16 fit.
const multiBias = 16

func words(v uint8) uint64 { return 4 * (uint64(v) - multiBias) }

// loadMultiple loads the list. Nothing changes before the last word has come.
func loadMultiple(c *CPU, in *inst) {
	at := (c.R[in.a&63] + words(in.sh)) & c.AddrMask
	if !c.aligned(at, 4, false) {
		return
	}
	var buf [16]uint32
	got := buf[:bits.OnesCount32(in.imm)]
	if !c.LoadWords(at, got) {
		return
	}
	if in.aux&multiWriteback != 0 {
		c.R[in.a&63] = (c.R[in.a&63] + words(in.dst)) & c.AddrMask
	}
	if in.aux&multiUser != 0 {
		for list := in.imm; list != 0; list &= list - 1 {
			*c.userRegister(bits.TrailingZeros32(list)) = uint64(got[0])
			got = got[1:]
		}
		return
	}
	for list := in.imm &^ (1 << pcNumber); list != 0; list &= list - 1 {
		c.R[bits.TrailingZeros32(list)&15] = uint64(got[0])
		got = got[1:]
	}
	if in.imm>>pcNumber != 0 {
		c.loadedPC(in, uint64(got[0]))
	}
}

// loadedPC goes where a load of several registers says.
func (c *CPU) loadedPC(in *inst, to uint64) {
	switch {
	case in.aux&multiReturn != 0:
		c.exceptionReturn(to, *c.spsr())
	case in.aux&multiStack != 0:
		c.returnTo(to)
	default:
		c.branchTo(to)
	}
}

// loadMultipleReturn is loadMultiple that takes CPSR from SPSR, which user and system mode have not.
func loadMultipleReturn(c *CPU, in *inst) {
	if c.spsr() == nil {
		c.raise(vecUndefined)
		return
	}
	loadMultiple(c, in)
}

func storeMultiple(c *CPU, in *inst) {
	at := (c.R[in.a&63] + words(in.sh)) & c.AddrMask
	if !c.aligned(at, 4, true) {
		return
	}
	c.R[rHere] = (c.R[rPC] + 4) & c.AddrMask
	var buf [16]uint32
	n := 0
	for list := in.imm; list != 0; list &= list - 1 {
		r := bits.TrailingZeros32(list)
		v := &c.R[r&15]
		switch {
		case r == pcNumber:
			v = &c.R[rHere]
		case in.aux&multiUser != 0:
			v = c.userRegister(r)
		}
		buf[n&15] = uint32(*v)
		n++
	}
	if !c.StoreWords(at, buf[:n]) {
		return
	}
	if in.aux&multiWriteback != 0 {
		c.R[in.a&63] = (c.R[in.a&63] + words(in.dst)) & c.AddrMask
	}
}
