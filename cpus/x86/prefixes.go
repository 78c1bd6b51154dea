package x86

import "golang.org/x/arch/x86/x86asm"

// Prefixes in the order and the number in which x86asm takes them for another instruction (SDM vol.
// 2, 2.1.1 and 2.2.1).

// plainPrefixes returns code with the prefixes that count, and how many bytes it left out. A REX
// prefix counts only directly before the opcode. Of the two repeat prefixes the last one counts, but
// x86asm lets either of them choose the instruction.
func plainPrefixes(code []byte, mode int) (plain []byte, cut int) {
	n, rep, old := 0, 0, -1
	for n < len(code) && isPrefix(code[n], mode) {
		b := code[n]
		if b&0xfe == 0xf2 {
			if rep != 0 {
				old = n
			}
			rep = int(b)
		}
		if n > 0 && mode == 64 && code[n-1]&0xf0 == 0x40 {
			old = n
		}
		n++
	}
	if old < 0 && n < len(code) || n == 0 {
		return code, 0
	}
	for i, b := range code[:n] {
		late := mode == 64 && b&0xf0 == 0x40 && i != n-1
		if late || b&0xfe == 0xf2 && (int(b) != rep || lastOf(code[:n], b) != i) {
			cut++
			continue
		}
		plain = append(plain, b)
	}
	return append(plain, code[n:]...), cut
}

func lastOf(code []byte, b byte) int {
	for i := len(code) - 1; ; i-- {
		if code[i] == b {
			return i
		}
	}
}

// tooLong reports bytes that are one instruction with more of them than one may have: #GP and not
// #UD (SDM vol. 2, 2.3.11).
func tooLong(code []byte, mode int) bool {
	if len(code) < maxInsn {
		return false
	}
	longer := append(append([]byte{}, code[:maxInsn]...), make([]byte, maxInsn)...)
	n := 0
	for n < maxInsn && isPrefix(code[n], mode) {
		n++
	}
	if n >= maxInsn-1 {
		return true
	}
	few := sizingPrefixes(code[:n])
	length, ok := lengthOf(append(few, longer[n:]...), len(few), mode)
	return ok && n-len(few)+length > maxInsn
}

// lengthOf returns the length of code, whose opcode is at a place. A member of a group that has no meaning is as long as its
// neighbours (vol. 2, A.4): f6 /1 and f7 /1 as /0. Of some that have prefixes the library says no error and no operation.
func lengthOf(code []byte, opcode, mode int) (n int, ok bool) {
	x, err := x86asm.Decode(code, mode)
	modRM := opcode + 1
	if code[opcode] == 0x0f {
		modRM++
	}
	for member := byte(0); (err != nil || x.Op == 0) && member < 8; member++ {
		code[modRM] = code[modRM]&^0x38 | member<<3
		x, err = x86asm.Decode(code, mode)
	}
	return x.Len, err == nil && x.Op != 0
}

// sizingPrefixes returns one of each of the prefixes that choose an instruction or its length. x86asm takes 15 bytes,
// and these leave room for the longest.
func sizingPrefixes(prefixes []byte) (few []byte) {
	for i, b := range prefixes {
		last := i == len(prefixes)-1
		switch {
		case (b == 0x66 || b == 0x67) && lastOf(prefixes, b) == i, b&0xf0 == 0x40 && last:
			few = append(few, b)
		}
	}
	return few
}

// shortAddress lets run take an address of fewer bits than the mode's: the sum of base, index and
// displacement is cut off before the segment's base is added (SDM vol. 1, 3.3.7). The operands that
// run sees have the sum in a register of its own.
func shortAddress(run exec, mask uint64) exec {
	return func(c *CPU, in *inst) {
		c.R[rAddress] = (c.R[in.base&63] + c.R[in.index&63]<<(in.shift&63) + uint64(int64(in.disp))) & mask
		c.short = *in
		c.short.base, c.short.index, c.short.disp = rAddress, rZero, 0
		run(c, &c.short)
	}
}

// farBit is shortAddress of a bit test whose bit may be far from its address: where the operand is, is cut off too, or
// held against a segment.
func farBit(run exec, size int, mask uint64) exec {
	if mask == 0 {
		mask = ^uint64(0) // nothing is cut off
	}
	offset := [...]func(*CPU, *inst) uint64{size16: bitOffset[uint16], size32: bitOffset[uint32], size64: bitOffset[uint64]}[size]
	return func(c *CPU, in *inst) {
		c.short = *in
		c.short.base, c.short.index, c.short.disp, c.short.aux = rAddress, rZero, 0, 1
		c.R[rAddress] = (c.R[in.base&63] + c.R[in.index&63]<<(in.shift&63) + uint64(int64(in.disp)) + offset(c, in)) & mask
		run(c, &c.short)
	}
}

// shortPointers lets a string instruction use fewer bits of its pointers and its count. What run
// changes loses or keeps its upper half as any register does, and what it leaves alone keeps it.
func shortPointers(run exec, mask uint64) exec {
	pointers := [...]uint8{rcx, rbx, rsi, rdi}
	return func(c *CPU, in *inst) {
		var old [len(pointers)]uint64
		for i, r := range pointers {
			old[i] = c.R[r]
			c.R[r] &= mask
		}
		whole := c.AddrMask
		c.AddrMask = mask
		run(c, in)
		c.AddrMask = whole
		for i, r := range pointers {
			switch {
			case c.R[r] == old[i]&mask:
				c.R[r] = old[i]
			case mask == 0xffff:
				c.R[r] |= old[i] &^ mask
			}
		}
	}
}
