package x86

// The forms that compilers emit most, in 32 and 64 bits. They do what their generic namesakes do,
// where there are any. They exist for speed alone: the compiler makes a generic function that is
// used as a value of two functions, of which one only calls the other. What they call is generic
// and mostly inlined. The table names them in place of the generic form, and the comparison with
// the host runs every size of every row, so one that does something else is found.

// Arithmetic and moves between registers, or with an immediate.
func addR64(c *CPU, in *inst) { put(c, in.dst, add(c, get[uint64](c, in.dst), src[uint64](c, in))) }

func subR64(c *CPU, in *inst) { put(c, in.dst, sub(c, get[uint64](c, in.dst), src[uint64](c, in))) }

func andR64(c *CPU, in *inst)  { put(c, in.dst, and(c, get[uint64](c, in.dst), src[uint64](c, in))) }
func orR64(c *CPU, in *inst)   { put(c, in.dst, or(c, get[uint64](c, in.dst), src[uint64](c, in))) }
func xorR64(c *CPU, in *inst)  { put(c, in.dst, xor(c, get[uint64](c, in.dst), src[uint64](c, in))) }
func cmpR64(c *CPU, in *inst)  { sub(c, get[uint64](c, in.dst), src[uint64](c, in)) }
func testR64(c *CPU, in *inst) { and(c, get[uint64](c, in.dst), src[uint64](c, in)) }
func movR64(c *CPU, in *inst)  { put(c, in.dst, src[uint64](c, in)) }

func addR32(c *CPU, in *inst) { put(c, in.dst, add(c, get[uint32](c, in.dst), src[uint32](c, in))) }

func subR32(c *CPU, in *inst) { put(c, in.dst, sub(c, get[uint32](c, in.dst), src[uint32](c, in))) }

func andR32(c *CPU, in *inst)  { put(c, in.dst, and(c, get[uint32](c, in.dst), src[uint32](c, in))) }
func orR32(c *CPU, in *inst)   { put(c, in.dst, or(c, get[uint32](c, in.dst), src[uint32](c, in))) }
func xorR32(c *CPU, in *inst)  { put(c, in.dst, xor(c, get[uint32](c, in.dst), src[uint32](c, in))) }
func cmpR32(c *CPU, in *inst)  { sub(c, get[uint32](c, in.dst), src[uint32](c, in)) }
func testR32(c *CPU, in *inst) { and(c, get[uint32](c, in.dst), src[uint32](c, in)) }
func movR32(c *CPU, in *inst)  { put(c, in.dst, src[uint32](c, in)) }

func incR32(c *CPU, in *inst) { put(c, in.dst, inc(c, get[uint32](c, in.dst))) }
func decR32(c *CPU, in *inst) { put(c, in.dst, dec(c, get[uint32](c, in.dst))) }

// lea adds without a segment. The 32-bit form may wrap and clears the upper half.
func leaR32(c *CPU, in *inst) {
	c.R[in.dst&63] = uint64(uint32(c.R[in.base&63] + c.R[in.index&63]<<(in.shift&63) + uint64(int64(in.disp))))
}

func leaR64(c *CPU, in *inst) {
	c.R[in.dst&63] = c.R[in.base&63] + c.R[in.index&63]<<(in.shift&63) + uint64(int64(in.disp))
}

// cmov with 32 bits writes its destination even when the condition fails (SDM vol. 2, CMOVcc).
func cmovR32(c *CPU, in *inst) {
	from := in.dst // whose upper half is cleared
	if c.condition(in.aux) {
		from = in.src
	}
	put(c, in.dst, get[uint32](c, from))
}

func cmovR64(c *CPU, in *inst) {
	if c.condition(in.aux) {
		c.R[in.dst&63] = c.R[in.src&63]
	}
}

// Shifts and rotates.
func shlR32(c *CPU, in *inst) {
	put(c, in.dst, shl(c, get[uint32](c, in.dst), shiftCount[uint32](c, in)))
}

func shlR64(c *CPU, in *inst) {
	put(c, in.dst, shl(c, get[uint64](c, in.dst), shiftCount[uint64](c, in)))
}

func shrR32(c *CPU, in *inst) {
	put(c, in.dst, shr(c, get[uint32](c, in.dst), shiftCount[uint32](c, in)))
}

func shrR64(c *CPU, in *inst) {
	put(c, in.dst, shr(c, get[uint64](c, in.dst), shiftCount[uint64](c, in)))
}

func sarR32(c *CPU, in *inst) {
	put(c, in.dst, sar(c, get[uint32](c, in.dst), shiftCount[uint32](c, in)))
}

func sarR64(c *CPU, in *inst) {
	put(c, in.dst, sar(c, get[uint64](c, in.dst), shiftCount[uint64](c, in)))
}

func rolR32(c *CPU, in *inst) {
	put(c, in.dst, rol(c, get[uint32](c, in.dst), shiftCount[uint32](c, in)))
}

func rolR64(c *CPU, in *inst) {
	put(c, in.dst, rol(c, get[uint64](c, in.dst), shiftCount[uint64](c, in)))
}

func rorR32(c *CPU, in *inst) {
	put(c, in.dst, ror(c, get[uint32](c, in.dst), shiftCount[uint32](c, in)))
}

func rorR64(c *CPU, in *inst) {
	put(c, in.dst, ror(c, get[uint64](c, in.dst), shiftCount[uint64](c, in)))
}

// Loads and stores.
func movL32(c *CPU, in *inst) {
	if v, ok := load[uint32](c, c.ea(in)); ok {
		put(c, in.dst, v)
	}
}

func movL64(c *CPU, in *inst) {
	if v, ok := load[uint64](c, c.ea(in)); ok {
		put(c, in.dst, v)
	}
}

func movM32(c *CPU, in *inst) { store(c, c.ea(in), src[uint32](c, in)) }
func movM64(c *CPU, in *inst) { store(c, c.ea(in), src[uint64](c, in)) }

// The stack, in the width of the mode: 32 bits in 32-bit mode, 64 in 64-bit mode. A pop into the
// stack pointer itself keeps what was loaded (SDM vol. 2, POP), because put comes behind drop.
func pushR32(c *CPU, in *inst) { push(c, src[uint32](c, in)) }
func pushR64(c *CPU, in *inst) { push(c, src[uint64](c, in)) }

func popR32(c *CPU, in *inst) {
	if v, ok := load[uint32](c, c.R[rsp]); ok {
		c.drop(4)
		put(c, in.dst, v)
		return
	}
	c.onStack()
}

func popR64(c *CPU, in *inst) {
	if v, ok := load[uint64](c, c.R[rsp]); ok {
		c.drop(8)
		put(c, in.dst, v)
		return
	}
	c.onStack()
}

// Calls by displacement.
func callRel32(c *CPU, in *inst) {
	if push(c, uint32(c.R[rRIP])) {
		c.called(in)
	}
}

func callRel64(c *CPU, in *inst) {
	if push(c, uint64(c.R[rRIP])) {
		c.called(in)
	}
}

// ret32 and ret64 return; imm bytes of arguments are dropped. Each belongs to one mode: a near
// return in 64-bit mode is 64 bits wide whatever REX says.

func ret32(c *CPU, in *inst) {
	if to, ok := load[uint32](c, c.R[rsp]); ok {
		c.drop(4 + in.imm)
		c.ReturnTo(uint64(to))
		return
	}
	c.onStack()
}

func ret64(c *CPU, in *inst) {
	if to, ok := load[uint64](c, c.R[rsp]); ok {
		c.drop(8 + in.imm)
		c.ReturnTo(uint64(to))
		return
	}
	c.onStack()
}
