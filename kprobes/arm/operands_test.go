package arm_test

import (
	"encoding/binary"
	"math/bits"

	"kprobesim/kprobes"
	"kprobesim/kprobes/arm"

	cpu "kprobesim/cpus/arm"
)

// holds is the manual's table of conditions (ARM ARM, A8.3).
func holds(cond, flags uint32) bool {
	n, z, c, v := flags>>31&1 == 1, flags>>30&1 == 1, flags>>29&1 == 1, flags>>28&1 == 1
	met := [8]bool{z, c, n, v, c && !z, n == v, n == v && !z, true}[cond>>1]
	return met != (cond&1 == 1 && cond < 14)
}

// trial makes what an instruction works on, so that it meets memory where it may. It is false for what kernels do not
// probe and for a few operands that nothing can be tried with.
func (l *lab) trial(w uint32) (*trial, string, bool) {
	tr := &trial{word: w, flags: l.rng.Uint32() & 0xf80f0000, mem: make([]byte, memorySize-memFrom)}
	for i := range tr.regs {
		tr.regs[i] = l.rng.Uint32() >> l.rng.IntN(32)
	}
	tr.regs[regSP] = uint32(l.memory + stackAt)
	for i := range tr.mem {
		tr.mem[i] = byte(l.rng.Uint32())
	}
	handler, ok := l.handler(w)
	if !ok || !l.prepared(tr, handler) {
		return nil, "", false
	}
	handler, ok = l.handler(tr.word)
	return tr, handler, ok
}

// handler is the guest's function for an instruction.
func (l *lab) handler(w uint32) (string, bool) {
	c, err := arm.Arch().Prepare(kprobes.Insn{
		Code: binary.LittleEndian.AppendUint32(nil, w), Year: l.year,
	})
	if err != nil {
		return "", false
	}
	for _, m := range c.Members {
		if m.Func != "" {
			return m.Func, true
		}
	}
	return "", false
}

// prepared gives an instruction operands by its handler.
func (l *lab) prepared(tr *trial, handler string) bool {
	switch handler {
	case "emulate_branch":
		tr.word = tr.word&0xff000000 | (atPad1 - atInsn - 2)
		return true
	case "emulate_branch_register":
		if m := tr.word & 15; m != regPC {
			tr.regs[m%regPC] = uint32(l.pad())
		}
		return tr.word&15 != regSP
	case "emulate_alu_pc":
		return l.computed(tr)
	case "emulate_nothing":
		return cpu.Named(tr.word) != "wfi" // without a probe it would sleep for ever
	case "emulate_load", "emulate_store", "emulate_load_pc", "emulate_load_pair", "emulate_store_pair":
		return l.addressed(tr, handler)
	case "emulate_block", "emulate_block_low", "emulate_block_high", "emulate_block_pc":
		return l.listed(tr)
	case "emulate_to_d":
		// swp and swpb are switched off in processors of version 7, and undefined then.
		return tr.word&0x0fb00ff0 != 0x01000090
	}
	return true
}

func field(w uint32, at int) uint32 { return w >> at & 15 }

// based puts an address into the base register, a multiple of eight.
func (l *lab) based(tr *trial) bool {
	if n := field(tr.word, 16); n < regSP || n == regLR {
		tr.regs[n] = uint32(l.memory+baseAt) + 8*l.rng.Uint32N(8)
	}
	return true
}

// addressed is for loads and stores of one or two registers.
func (l *lab) addressed(tr *trial, handler string) bool {
	w := &tr.word
	n, m := field(*w, 16), *w&15
	before, up, extra := *w>>24&1 == 1, *w>>23&1 == 1, *w>>25&7 == 0
	index := *w>>25&1 == 1
	if extra {
		index = *w>>22&1 == 0
	}
	whole := handler != "emulate_load" && handler != "emulate_store" // addresses are multiples of four
	switch {
	case !before && *w>>21&1 == 1:
		return false // of user mode, which may not read here
	case index && (m == n || m == regSP):
		return false
	case n == regPC:
		return l.literal(tr, handler, index, extra)
	case n == regSP && before && !up && (index || loads(handler) || offset(*w, extra) > keptBelow):
		return false // what lies below the stack pointer may be a hit's
	}
	l.based(tr)
	if handler == "emulate_load_pc" {
		for at := 0; at < len(tr.mem); at += 4 {
			binary.LittleEndian.PutUint32(tr.mem[at:], uint32(l.pad()))
		}
	}
	if index {
		l.scaled(tr, extra, whole)
	} else if whole {
		*w &^= 3
	}
	return true
}

func loads(handler string) bool { return handler != "emulate_store" && handler != "emulate_store_pair" }

// offset is the constant of an address.
func offset(w uint32, extra bool) uint32 {
	if extra {
		return w>>4&0xf0 | w&15
	}
	return w & 0xfff
}

// scaled gives an index register that leads not far.
func (l *lab) scaled(tr *trial, extra, whole bool) {
	w := &tr.word
	if kind := *w >> 5 & 3; !extra && (kind == 0 || kind == 3 || whole) { // lsl, ror and rrx
		*w = *w&^0xfe0 | l.rng.Uint32N(4)<<7
	}
	tr.regs[*w&15] = l.rng.Uint32N(128) * 4
	if !whole {
		tr.regs[*w&15] += l.rng.Uint32N(4)
	}
}

// literal is for addresses counted from the program counter: behind the program are the registers that are loaded.
// Nothing is stored there.
func (l *lab) literal(tr *trial, handler string, index, extra bool) bool {
	if !loads(handler) {
		return false
	}
	distance := uint32(atData-atInsn-2)*4 + 4*l.rng.Uint32N(12)
	if handler == "emulate_load_pc" {
		distance = uint32(atData+padWord-atInsn-2) * 4
	}
	w := &tr.word
	*w |= 1 << 23
	switch {
	case index:
		tr.regs[*w&15] = distance
		if !extra {
			*w &^= 0xfe0
		}
	case extra:
		*w = *w&^0xf0f | distance&0xf0<<4 | distance&15
	default:
		*w = *w&^0xfff | distance
	}
	return true
}

// listed is for loads and stores of several registers. One that loads the program counter finds a place to go on.
func (l *lab) listed(tr *trial) bool {
	w := tr.word
	if w>>20&1 == 1 && field(w, 16) == regSP && w>>23&1 == 0 {
		return false // what lies below the stack pointer may be a hit's
	}
	l.based(tr)
	if w>>20&1 == 0 || w>>regPC&1 == 0 {
		return true
	}
	n := uint32(bits.OnesCount32(w & 0xffff))
	at := tr.regs[field(w, 16)] // of the word behind which, or at which, the last one lies
	switch w >> 23 & 3 {
	case 1: // increment after
		at += 4 * (n - 1)
	case 3: // increment before
		at += 4 * n
	case 2: // decrement before
		at -= 4
	}
	l.leads(tr, at)
	return true
}

// leads puts the address of a place to go on into memory.
func (l *lab) leads(tr *trial, at uint32) {
	binary.LittleEndian.PutUint32(tr.mem[at-uint32(l.memory)-memFrom:], uint32(l.pad()))
}

// computed is for data processing that writes the program counter: its first operand is chosen for the result to be a
// place to go on.
func (l *lab) computed(tr *trial) bool {
	w, pad := &tr.word, uint32(l.pad())
	n, m, op := field(*w, 16), *w&15, field(*w, 21)
	constant := *w>>25&1 == 1
	carry := tr.flags >> 29 & 1
	switch {
	case op == 13 || op == 15: // mov and mvn
		if constant || m >= regSP && m != regLR {
			return false
		}
		*w &^= 0xff0
		tr.regs[m] = pad ^ [2]uint32{0, ^uint32(0)}[op>>1&1]
		return true
	case op == 4 && n == regPC: // add pc, pc
		*w &^= 0xfff
		const distance = (atPad1 - atInsn - 2) * 4
		if constant {
			*w |= distance
			return true
		}
		if m >= regSP {
			return false
		}
		*w |= m
		tr.regs[m] = distance
		return true
	case n == regSP || n == regPC || !constant && (m == n || m == regSP || m == regPC):
		return false
	}
	second := operand(*w, &tr.regs, carry)
	switch op {
	case 1:
		tr.regs[n] = pad ^ second
	case 2:
		tr.regs[n] = pad + second
	case 3:
		tr.regs[n] = second - pad
	case 4:
		tr.regs[n] = pad - second
	case 5:
		tr.regs[n] = pad - second - carry
	case 6:
		tr.regs[n] = pad + second + 1 - carry
	case 7:
		tr.regs[n] = second - pad - 1 + carry
	default: // and, orr, bic: only for operands that leave the place as it is
		tr.regs[n] = pad
		return map[uint32]uint32{0: pad & second, 12: pad | second, 14: pad &^ second}[op] == pad
	}
	return true
}

// operand is the second operand of data processing (ARM ARM, A5.2.4 and A8.4).
func operand(w uint32, regs *[15]uint32, carry uint32) uint32 {
	if w>>25&1 == 1 {
		return bits.RotateLeft32(w&0xff, -int(w>>8&15*2))
	}
	v, n := regs[w&15], w>>7&31
	switch w >> 5 & 3 {
	case 0:
		return v << n
	case 1:
		return v >> ((n+31)%32 + 1)
	case 2:
		return uint32(int32(v) >> ((n+31)%32 + 1))
	}
	if n == 0 {
		return v>>1 | carry<<31
	}
	return bits.RotateLeft32(v, -int(n))
}
