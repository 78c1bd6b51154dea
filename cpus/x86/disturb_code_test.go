package x86

import "encoding/binary"

// Code of a churn is gadgets, each of which leaves rdi, rsi, rbx, rbp and rsp as they are.

// jump adds a branch with an opcode to a gadget.
func (c *churn) jump(opcode byte, gadget int) {
	c.code = append(c.code, opcode)
	c.code = binary.LittleEndian.AppendUint32(c.code, uint32(c.begun[gadget]-len(c.code)-4))
}

func (c *churn) add8(code ...byte) { c.code = append(c.code, code...) }

// disp adds an instruction that ends with an offset.
func (c *churn) disp(off int, code ...byte) {
	c.code = binary.LittleEndian.AppendUint32(append(c.code, code...), uint32(off))
}

// site notes that the last bytes of the code may become others.
func (c *churn) site(back int, have ...[]byte) {
	c.sites = append(c.sites, site{len(c.code) - back, have})
}

func oneOf(b ...byte) (all [][]byte) {
	for _, x := range b {
		all = append(all, []byte{x})
	}
	return all
}

// data is an offset of some operand of data, which may cross lines or pages.
func (c *churn) data() int {
	switch c.rng.IntN(4) {
	case 0:
		return c.rng.IntN(6)<<12 + 0xff8 + c.rng.IntN(8)
	case 1:
		return c.rng.IntN(0xf8)
	}
	return c.rng.IntN(8)<<12 + 0x800*c.rng.IntN(2) + c.rng.IntN(32)*2
}

// gadget adds one.
func (c *churn) gadget() {
	c.begun = append(c.begun, len(c.code))
	switch c.rng.IntN(23) {
	case 0, 1, 2: // a constant that may change
		c.add8(0xb8, 1, 2, 3, 4)
		c.site(5, oneOf(0xb8, 0x05, 0xa9, 0x3d, 0x25, 0x2d, 0xb9, 0xba)...)
		c.site(4, c.bytes(4), c.bytes(4), c.bytes(4))
	case 3, 4:
		c.disp(c.data(), []byte{0x8b, 0x03, 0x8a, 0x33}[c.rng.IntN(4)], 0x87) // mov or add disp(%rdi),%eax
	case 5, 6:
		c.disp(c.data(), []byte{0x89, 0x01, 0x88, 0x31}[c.rng.IntN(4)], 0x87)
	case 7: // what may end a block or not
		if len(c.code)&0xfff == 0xfff { // what is in two pages may be of two copies
			c.add8(0x90)
		}
		c.add8(0xeb, 0)
		c.site(2, []byte{0xeb, 0}, []byte{0x90, 0x90}, []byte{0x66, 0x90}, []byte{0xf8, 0xf9}, []byte{0xcc, 0x90}, []byte{0x98, 0x99})
	case 8: // a loop of some rounds
		at := 0x200 + c.loops%0x600
		c.loops++
		c.disp(at, 0xfe, 0x87) // incb disp(%rdi)
		c.disp(at, 0xf6, 0x87)
		c.add8([]byte{1, 3, 7, 15}[c.rng.IntN(4)], 0x0f) // testb $n,disp(%rdi); jnz
		c.jump(0x85, max(0, len(c.begun)-1-c.rng.IntN(12)))
	case 9:
		c.add8([][]byte{{0x74, 0}, {0x75, 1, 0x90}, {0x72, 2, 0xf8, 0xf9}}[c.rng.IntN(3)]...)
	case 10, 11, 12, 13: // a patch, whose operand is filled in at the end
		c.patch()
	case 14:
		c.fill()
	case 15:
		c.remap()
	case 16:
		c.add8([][]byte{{0xfb}, {0xfa}, {0xfb}, {0xfb, 0xf4}, {0xfb, 0x90}}[c.rng.IntN(5)]...) // sti, cli, hlt
	case 17:
		c.disp(c.data()&^7, 0xf0, 0xff, 0x87)    // lock incl
		c.disp(c.data(), 0x0f, 0x31, 0x89, 0x87) // rdtsc; mov %eax,disp(%rdi)
	case 18: // a function
		if c.cold && c.rng.IntN(3) != 0 {
			c.coldStack()
			return
		}
		c.add8(0xe8, 2, 0, 0, 0, 0xeb, 2, 0x90, 0xc3) // call 1f; jmp 2f; 1: nop; ret; 2:
	case 19: // an indirect jump to another gadget each time
		c.disp(0x1ff, 0xfe, 0x87)       // incb disp(%rdi)
		c.disp(0x1ff, 0x0f, 0xb6, 0x87) // movzbl disp(%rdi),%eax
		c.add8(0x83, 0xe0, 63)          // and $63,%eax
		c.disp(0x400, 0xff, 0xa4, 0xc3) // jmp *disp(%rbx,%rax,8)
	case 20: // an interrupt of a CPU
		c.add8(0xc7, 0x45, 0, byte(c.rng.IntN(4)), 0, 0, 0)
	case 21:
		c.odd()
	case 22: // a load that comes before the address of a store to its bytes
		at := c.data()
		c.disp(at, 0x8d, 0x97)                   // lea disp(%rdi),%edx
		c.disp(at, 0x89, 0x02, 0x90, 0x8b, 0x8f) // mov %eax,(%rdx); nop; mov disp(%rdi),%ecx
	}
}

// coldStack pushes and pops in lines further on each time, of which some are on their way.
func (c *churn) coldStack() {
	wide := func(code ...byte) []byte {
		if c.isa.Bits == 64 {
			return append([]byte{0x48}, code...)
		}
		return code
	}
	c.disp(0x1fe, 0xfe, 0x87)                 // incb disp(%rdi)
	c.disp(0x1fe, 0x0f, 0xb6, 0x87)           // movzbl disp(%rdi),%eax
	c.add8(0x83, 0xe0, 0x7f, 0xc1, 0xe0, 7)   // and $127,%eax; shl $7,%eax
	c.add8(wide(0x89, 0xe2)...)               // mov %rsp,%rdx
	c.disp(0x1000, wide(0x8d, 0xa4, 0x07)...) // lea disp(%rdi,%rax),%rsp
	for range 1 + c.rng.IntN(6) {
		c.add8([]byte{0x50, 0x59, 0x59, 0x90}[c.rng.IntN(4)]) // push %rax, pop %rcx
	}
	c.add8(wide(0x89, 0xd4)...) // mov %rdx,%rsp
}

// odd adds something seldom: single steps, exceptions, many bytes at once, the end of a page.
func (c *churn) odd() {
	switch c.rng.IntN(4) {
	case 0: // pushf; orl $TF,(%rsp); popf
		c.add8(0x9c, 0x81, 0x0c, 0x24, 0, 1, 0, 0, 0x9d)
	case 1:
		c.add8(0xcd, 0x30)
	case 2:
		c.disp(c.rng.IntN(churnPages)<<12, 0x0f, 0x01, 0xbe) // invlpg
	case 3: // to the end of the page or line, where an instruction reaches behind it
		edge := 64 << (6 * c.rng.IntN(2))
		for len(c.code)%edge != edge-c.rng.IntN(5)-1 && len(c.code)%edge < edge-6 && len(c.code)%64 < 58 {
			c.add8([]byte{0x90, 0xf8, 0xf9, 0x98}[c.rng.IntN(4)])
		}
		c.add8(0xb8, 1, 2, 3, 4)
		c.site(4, c.bytes(4), c.bytes(4))
	}
}

func (c *churn) bytes(n int) (b []byte) {
	for range n {
		b = append(b, byte(c.rng.Uint32()))
	}
	return b
}

// patch adds a store into code.
func (c *churn) patch() {
	c.moves = append(c.moves, uint64(len(c.code)))
	if c.rng.IntN(2) == 0 {
		c.add8(0xc6, 0x86, 0, 0, 0, 0, 0) // movb $n,disp(%rsi)
		return
	}
	c.add8(0x66, 0xc7, 0x86, 0, 0, 0, 0, 0, 0) // movw
}

// patches fills the stores into code in: many of them hit what comes next.
func (c *churn) patches() {
	for _, at := range c.moves {
		short, n := c.code[at] == 0xc6, 2
		if short {
			n = 1
		}
		var near, all []site
		for _, s := range c.sites {
			if len(s.have[0]) == n || len(s.have[0]) == 4 {
				all = append(all, s)
				if d := s.at - int(at); d > 0 && d < 100 {
					near = append(near, s)
				}
			}
		}
		if len(near) > 0 && c.rng.IntN(2) == 0 {
			all = near
		}
		s := all[c.rng.IntN(len(all))]
		have := s.have[c.rng.IntN(len(s.have))]
		part := 0
		if len(have) == 4 {
			part = c.rng.IntN(5 - n)
		}
		insn := c.code[at:]
		if !short {
			insn = insn[1:]
		}
		binary.LittleEndian.PutUint32(insn[2:], uint32(s.at+part))
		copy(insn[6:6+n], have[part:])
	}
}

// fill adds a row of instructions of one byte, and a repeated store into it or into data.
func (c *churn) fill() {
	if c.isa.Bits == 64 {
		c.add8(0x57, 0x48) // push %rdi; lea disp(%rsi),%rdi
	} else {
		c.add8(0x57)
	}
	lea := len(c.code) + 2
	c.disp(0, 0x8d, 0xbe)
	n := 4 + c.rng.IntN(40)
	c.add8(0xb0, []byte{0x90, 0xf8, 0xf9, 0x98}[c.rng.IntN(4)], 0xb9, byte(n), 0, 0, 0, 0xf3, 0xaa, 0x5f) // mov $x,%al; mov $n,%ecx; rep stosb; pop %rdi
	binary.LittleEndian.PutUint32(c.code[lea:], uint32(len(c.code)))
	for range n {
		c.add8(0x90)
	}
}

// remap adds a store into the page tables, after which the TLB may be told.
func (c *churn) remap() {
	page := uint64(c.rng.IntN(churnPages))
	va, i := churnCode+page<<12, int(2*page)+c.rng.IntN(2)
	switch c.rng.IntN(3) {
	case 0:
		page = uint64(c.rng.IntN(8))
		va, i = churnData+page<<12, 16+int(page)+8*c.rng.IntN(2)
	case 1:
		va, i = churnLost, 60 // none
	}
	if va == churnData {
		return // handlers count there
	}
	c.code = append(c.code, c.storeEntry(i, va)...)
	switch c.rng.IntN(4) {
	case 0:
		c.disp(int(va-churnCode), 0x0f, 0x01, 0xbe) // invlpg disp(%rsi)
	case 1:
		c.add8(0x0f, 0x20, 0xd8, 0x0f, 0x22, 0xd8) // mov %cr3,%rax; mov %rax,%cr3
	case 2:
		c.disp(int(va-churnCode)+0x40, 0x0f, 0x01, 0xbe)
	}
}
