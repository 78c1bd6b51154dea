package x86

import "kprobesim/cpus/engine"

// ea computes the linear address of a memory operand (SDM vol. 1, 3.7.5). Absent parts are
// registers that hold zero. In 32-bit mode the sum wraps at 4 GiB before and after the base is
// added, which is the same.
func (c *CPU) ea(in *inst) uint64 {
	return (c.R[in.base&63] + c.R[in.index&63]<<(in.shift&63) + uint64(int64(in.disp)) + c.segBase[in.seg&7]) & c.AddrMask
}

// load reads memory at a linear address. When ok is false an exception is pending and the
// instruction must have no effect.
func load[T width](c *CPU, va uint64) (v T, ok bool) { return engine.Load[T](&c.Core, va) }

// store writes memory at a linear address, with load's convention.
func store[T width](c *CPU, va uint64, v T) bool { return engine.Store(&c.Core, va, v) }

// rmw reads an operand that will be written back; it raises the page fault of the write first.
func rmw[T width](c *CPU, va uint64) (v T, ok bool) { return engine.LoadForStore[T](&c.Core, va) }
