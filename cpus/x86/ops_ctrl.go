package x86

// Near branches (SDM vol. 1, 7.3.8). All tell the predictor how they went, at the address of the
// next instruction, which R[rRIP] holds while an instruction executes. The target is not checked:
// an address that is not canonical faults when it is fetched from, where hardware faults at the
// branch.

// jcc is a conditional branch: imm is the displacement, aux the condition.
func jcc(c *CPU, in *inst) { c.Conditional(c.condition(in.aux), in.imm) }

func jmpRel(c *CPU, in *inst) { c.Jump(in.imm) }

func jmpR[T width](c *CPU, in *inst) { c.Indirect(uint64(get[T](c, in.src))) }

func jmpL[T width](c *CPU, in *inst) {
	if to, ok := load[T](c, c.ea(in)); ok {
		c.Indirect(uint64(to))
	}
}

// push and pop move one word: of the mode's width, or of 16 bits with the prefix 66. The stack
// pointer changes when the access has succeeded, so that a fault finds it as it was (SDM vol. 1,
// 6.2).
func push[T width](c *CPU, v T) bool {
	sp := (c.R[rsp] - uint64(bitsOf(v)/8)) & c.AddrMask
	if !store(c, sp, v) {
		c.onStack()
		return false
	}
	c.R[rsp] = sp
	return true
}

func pop[T width](c *CPU) (T, bool) {
	v, ok := load[T](c, c.R[rsp])
	if ok {
		c.drop(uint64(bitsOf(v) / 8))
		return v, true
	}
	c.onStack()
	return v, false
}

// drop takes n bytes off the stack.
func (c *CPU) drop(n uint64) { c.R[rsp] = (c.R[rsp] + n) & c.AddrMask }

// onStack turns the #GP of an address that is not canonical into the #SS that a stack access raises
// instead (SDM vol. 1, 3.3.7.1).
func (c *CPU) onStack() {
	if c.fault.address {
		c.fault.vector = vecSS
	}
}

// Calls push the address of the next instruction before they jump. Called lets the predictor's
// return stack know, as ReturnTo does for returns.
func callR[T width](c *CPU, in *inst) {
	to, next := get[T](c, in.src), c.R[rRIP]
	if push(c, T(next)) {
		c.Indirect(uint64(to))
		c.Called(next)
	}
}

func callL[T width](c *CPU, in *inst) {
	next := c.R[rRIP]
	if to, ok := load[T](c, c.ea(in)); ok && push(c, T(next)) {
		c.Indirect(uint64(to))
		c.Called(next)
	}
}

func callRel[T width](c *CPU, in *inst) {
	if push(c, T(c.R[rRIP])) {
		c.called(in)
	}
}

// ret drops imm bytes of arguments. Each width belongs to one mode: a near return in 64-bit mode is 64 bits
// wide whatever REX says.
func ret[T width](c *CPU, in *inst) {
	if to, ok := pop[T](c); ok {
		c.drop(in.imm)
		c.ReturnTo(uint64(to))
	}
}

// called goes on at the target of a call by displacement whose return address is pushed.
func (c *CPU) called(in *inst) {
	c.Called(c.R[rRIP])
	c.Jump(in.imm)
}

// A push of the stack pointer pushes the value from before it (SDM vol. 2, PUSH), because src is
// read first.
func pushR[T width](c *CPU, in *inst) { push(c, src[T](c, in)) }

// pushM loads its operand before it stores: a fault of either leaves the stack pointer.
func pushM[T width](c *CPU, in *inst) {
	if v, ok := load[T](c, c.ea(in)); ok {
		push(c, v)
	}
}

func popR[T width](c *CPU, in *inst) {
	if v, ok := pop[T](c); ok {
		put(c, in.dst, v)
	}
}

// popM computes the address with the stack pointer after the pop (SDM vol. 2, POP), and looks at it behind the load.
func popM[T width](c *CPU, in *inst) {
	old := c.R[rsp]
	if v, ok := pop[T](c); ok && (!c.permitsAny(in, uint64(bitsOf(v)/8), true) || !store(c, c.ea(in), v)) {
		c.R[rsp] = old
	}
}

// leave frees a frame. A fault of its load leaves both registers as they were.
func leave[T width](c *CPU, _ *inst) {
	v, ok := load[T](c, c.R[rbp])
	if !ok {
		c.onStack()
		return
	}
	c.R[rsp] = (c.R[rbp] + uint64(bitsOf(v)/8)) & c.AddrMask
	put(c, rbp, v)
}

// enter makes a frame, and in a nested one copies the pointers to the frames around it (SDM vol. 2,
// ENTER). A page fault of a write at the final stack pointer comes before anything changes.
func enter[T width](c *CPU, in *inst) {
	sp, frame := c.R[rsp], c.R[rbp]
	if !push(c, get[T](c, rbp)) {
		return
	}
	top := c.R[rsp]
	ok := nest(c, T(top), in.aux&31)
	c.R[rbp] = frame
	end := (c.R[rsp] - in.imm&0xffff) & c.AddrMask
	if ok {
		if _, ok = c.DataAddress(end, true); !ok {
			c.onStack()
		}
	}
	if !ok {
		c.R[rsp] = sp
		return
	}
	c.R[rsp] = end
	put(c, rbp, T(top))
}

// nest pushes the pointers to the outer frames and the one to the new frame.
func nest[T width](c *CPU, top T, level uint8) bool {
	if level == 0 {
		return true
	}
	for range level - 1 {
		c.R[rbp] = (c.R[rbp] - uint64(bitsOf(top)/8)) & c.AddrMask
		v, ok := load[T](c, c.R[rbp])
		if !ok {
			c.onStack()
			return false
		}
		if !push(c, v) {
			return false
		}
	}
	return push(c, top)
}

// loop, loope and loopne: aux 0 ignores ZF, 1 wants it clear, 2 wants it set.
func loop[T width](c *CPU, in *inst) {
	n := get[T](c, rcx) - 1
	put(c, rcx, n)
	ok := in.aux == 0 || c.zf() == (in.aux == 2)
	c.Conditional(n != 0 && ok, in.imm)
}

// jcxz looks at as much of rcx as the address size has. Neither it nor loop changes a flag.
func jcxz[T width](c *CPU, in *inst) { c.Conditional(get[T](c, rcx) == 0, in.imm) }

// nop is everything that takes time only: also prefetches, and fences that order what is in order here.
func nop(*CPU, *inst) {}

// Single flags. They change CF in the lazy form and DF among the plain bits.
func clc(c *CPU, _ *inst) { c.setCF(false) }
func stc(c *CPU, _ *inst) { c.setCF(true) }
func cmc(c *CPU, _ *inst) { c.setCF(!c.cf()) }
func cld(c *CPU, _ *inst) { c.ctl &^= flagDF }
func std(c *CPU, _ *inst) { c.ctl |= flagDF }

// salc fills al with CF.
func salc(c *CPU, _ *inst) { put(c, rax, -uint8(c.carryBit())) }

// lahf puts the low byte of the flags, with bit 1 set, into ah; sahf loads the five arithmetic
// flags there and keeps OF. 64-bit mode has both if CPUID says so, which it does.
func lahf(c *CPU, _ *inst) { c.R[rax] = c.R[rax]&^0xff00 | c.flags()&0xff<<8 }

func sahf(c *CPU, _ *inst) {
	f := c.R[rax] >> 8
	if c.of() {
		f |= flagOF
	} else {
		f &^= flagOF
	}
	c.setArith(f)
}

// xlat loads the byte of the table at rbx that al counts. The table is in DS or in the segment of a
// prefix.
func xlat(c *CPU, in *inst) {
	if v, ok := element[uint8](c, in, (c.R[rbx]+c.R[rax]&0xff)&c.AddrMask); ok {
		put(c, rax, v)
	}
}
