package ppc64

// Branches (Book I, Branch Processor Instructions). While an instruction executes, the program counter
// holds the address of the one behind it.

// Bits of BO.
const (
	boNoCondition = 16
	boWanted      = 8 // of the condition bit
	boNoCount     = 4
	boWantZero    = 2 // of the count register
	boAlways      = boNoCondition | boNoCount
)

// getPC is bcl 20,31,$+4, by which code finds its own address. Processors keep it out of the stack of
// return addresses.
const getPC = 0x429f0005

func jump(c *CPU, in *inst) { c.Jump(in.imm) }

func call(c *CPU, in *inst) {
	next := c.R[rPC]
	c.R[rLR] = next
	c.Called(next)
	c.Jump(in.imm)
}

func linkNext(c *CPU, in *inst) {
	c.R[rLR] = c.R[rPC]
	c.Jump(in.imm)
}

// conditionalBranch chooses the function of a branch by what BO looks at.
func conditionalBranch(in *inst, link bool) exec {
	switch {
	case link:
		return branchCondCall
	case in.aux&boNoCount == 0 && in.aux&boNoCondition == 0:
		return branchGeneral
	case in.aux&boNoCount == 0 && in.aux&boWantZero != 0:
		return branchCountZero
	case in.aux&boNoCount == 0:
		return branchCount
	case in.aux&boWanted != 0:
		return branchTrue
	}
	return branchFalse
}

func branchTrue(c *CPU, in *inst)  { c.Conditional(c.R[in.s&63]&uint64(in.sh) != 0, in.imm) }
func branchFalse(c *CPU, in *inst) { c.Conditional(c.R[in.s&63]&uint64(in.sh) == 0, in.imm) }

// branchCount is bdnz, and branchCountZero bdz.
func branchCount(c *CPU, in *inst)     { c.Conditional(c.counted(in), in.imm) }
func branchCountZero(c *CPU, in *inst) { c.Conditional(c.counted(in), in.imm) }

func branchGeneral(c *CPU, in *inst) { c.Conditional(c.holds(in), in.imm) }

func branchCondCall(c *CPU, in *inst) {
	next, taken := c.R[rPC], c.holds(in)
	c.R[rLR] = next
	if taken {
		c.Called(next)
	}
	c.Conditional(taken, in.imm)
}

// counted counts down and tests the count in the mode's width.
func (c *CPU) counted(in *inst) bool {
	c.R[rCTR]--
	return (c.R[rCTR]&c.AddrMask == 0) == (in.aux&boWantZero != 0)
}

// holds evaluates BO and BI.
func (c *CPU) holds(in *inst) bool {
	count := in.aux&boNoCount != 0 || c.counted(in)
	bit := c.R[in.s&63]&uint64(in.sh) != 0
	return count && (in.aux&boNoCondition != 0 || bit == (in.aux&boWanted != 0))
}

// Branches to a register ignore its two lowest bits.
func (c *CPU) target(r int) uint64 { return c.R[r] & c.AddrMask &^ 3 }

func branchLR(c *CPU, _ *inst)  { c.ReturnTo(c.target(rLR)) }
func branchCTR(c *CPU, _ *inst) { c.Indirect(c.target(rCTR)) }

// branchLRCond is a return under a condition. Its target counts as predicted, as most are.
func branchLRCond(c *CPU, in *inst) {
	taken := c.holds(in)
	c.Conditional(taken, c.target(rLR)-c.R[rPC])
	if taken {
		c.Unwind()
	}
}

func branchCTRCond(c *CPU, in *inst) { c.Conditional(c.holds(in), c.target(rCTR)-c.R[rPC]) }

func branchLRCall(c *CPU, in *inst)  { c.callRegister(in, rLR) }
func branchCTRCall(c *CPU, in *inst) { c.callRegister(in, rCTR) }

// callRegister calls the address in a register, which may be the link register itself.
func (c *CPU) callRegister(in *inst, r int) {
	next, to := c.R[rPC], c.target(r)
	taken := c.holds(in)
	switch {
	case in.aux&boAlways == boAlways:
		c.Indirect(to)
	default:
		c.Conditional(taken, to-next)
	}
	if taken {
		c.Called(next)
	}
	c.R[rLR] = next
}

// Traps (Book I, Fixed-Point Trap Instructions). TO has a bit for each of less, greater, equal, and less
// and greater as unsigned numbers.
const (
	toLT = 16 >> iota
	toGT
	toEQ
	toLTU
	toGTU
)

func traps(to uint8, a, b int64) bool {
	return to&toLT != 0 && a < b || to&toGT != 0 && a > b || to&toEQ != 0 && a == b ||
		to&toLTU != 0 && uint64(a) < uint64(b) || to&toGTU != 0 && uint64(a) > uint64(b)
}

func trapDouble(c *CPU, in *inst) {
	if traps(in.aux, int64(c.first(in)), int64(c.second(in))) {
		c.trap()
	}
}

// trapWord extends both words by their signs, which keeps the order of unsigned ones.
func trapWord(c *CPU, in *inst) {
	if traps(in.aux, int64(int32(c.first(in))), int64(int32(c.second(in)))) {
		c.trap()
	}
}

// Condition register logic (Book I, Condition Register Logical Instructions).

func (c *CPU) crBits(in *inst) (a, b uint64) {
	return c.R[in.a&63] >> (in.sh & 3) & 1, c.R[in.b&63] >> (in.imm & 3) & 1
}

func (c *CPU) setCRBit(in *inst, v uint64) {
	r := &c.R[in.dst&63]
	*r = *r&^(1<<(in.aux&3)) | v&1<<(in.aux&3)
}

func crand(c *CPU, in *inst)  { a, b := c.crBits(in); c.setCRBit(in, a&b) }
func cror(c *CPU, in *inst)   { a, b := c.crBits(in); c.setCRBit(in, a|b) }
func crxor(c *CPU, in *inst)  { a, b := c.crBits(in); c.setCRBit(in, a^b) }
func crnand(c *CPU, in *inst) { a, b := c.crBits(in); c.setCRBit(in, ^(a & b)) }
func crnor(c *CPU, in *inst)  { a, b := c.crBits(in); c.setCRBit(in, ^(a | b)) }
func creqv(c *CPU, in *inst)  { a, b := c.crBits(in); c.setCRBit(in, ^(a ^ b)) }
func crandc(c *CPU, in *inst) { a, b := c.crBits(in); c.setCRBit(in, a&^b) }
func crorc(c *CPU, in *inst)  { a, b := c.crBits(in); c.setCRBit(in, a|^b) }
func mcrf(c *CPU, in *inst)   { c.R[in.dst&63] = c.R[in.a&63] }

// Moves between the condition register and general registers (Book I, Move To/From System Register
// Instructions). The bits that mfocrf leaves undefined are zero.
func mfcr(c *CPU, in *inst) { c.R[in.dst&63] = c.cr() }

func mfocrf(c *CPU, in *inst) {
	var keep uint64
	for i := range 8 {
		if in.aux>>i&1 != 0 {
			keep |= 0xf << (4 * i)
		}
	}
	c.R[in.dst&63] = c.cr() & keep
}

func mtcrf(c *CPU, in *inst) { c.setCR(c.R[in.a&63], in.aux) }

// mcrxr moves SO, OV and CA to a field and clears them.
func mcrxr(c *CPU, in *inst) {
	c.R[in.dst&63] = c.xer() >> 28 & 0xe
	c.R[rXER] &^= xerSO | xerOV
	c.R[rCA] = 0
}
