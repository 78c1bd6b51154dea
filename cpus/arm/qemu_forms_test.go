package arm

import (
	"math/rand/v2"

	"kprobesim/cpus/engine"
)

// form is one or more instructions under test, and the state that they need beside a random one.
type form struct {
	rows  []*row // which it compares
	code  []uint32
	setup func(r *rand.Rand, s *state, at uint64)
	stub  uint64
	at    uint64
}

// perRow is how many encodings of a row are drawn, with different registers. Some have a condition that may
// fail.
const perRow = 12

// elsewhere are rows whose instructions no program of user mode can compare with qemu, and what tests them.
var elsewhere = map[string]string{
	"mrs spsr": "TestAgainstQemuSystem", "msr spsr": "TestAgainstQemuSystem", "msr spsr constant": "TestAgainstQemuSystem",
	"wfi": "TestWaitForInterrupt", "bkpt": "TestAgainstQemuSystem", "svc": "TestAgainstQemuSystem, and the end of every form",
	"udf": "TestAgainstQemuSystem", "srs": "TestAgainstQemuSystem", "rfe": "TestAgainstQemuSystem", "mcrr": "TestTimers",
	"mcr debug": "TestWatchpoints", "mrc debug": "TestWatchpoints",
	"mrrc": "TestTimers: every implementation has its own time", "blx constant": "TestThumb",
	"ldmda return": "TestAgainstQemuSystem", "ldmia return": "TestAgainstQemuSystem", "ldmdb return": "TestAgainstQemuSystem",
	"ldmib return": "TestAgainstQemuSystem", "stmda user": "TestAgainstQemuSystem", "stmia user": "TestAgainstQemuSystem",
	"stmdb user": "TestAgainstQemuSystem", "stmib user": "TestAgainstQemuSystem", "ldmda user": "TestAgainstQemuSystem",
	"ldmia user": "TestAgainstQemuSystem", "ldmdb user": "TestAgainstQemuSystem", "ldmib user": "TestAgainstQemuSystem",
}

// formsOf draws forms of a row.
func formsOf(r *rand.Rand, k *row) []*form {
	if elsewhere[k.name] != "" {
		return nil
	}
	var out []*form
	for tries := 0; len(out) < perRow && tries < 4000; tries++ {
		cond := uint32(condAL)
		if len(out)%3 == 0 {
			cond = r.Uint32N(condAL)
		}
		w := k.word(r, cond)
		if find(w) != k {
			continue
		}
		if f := formOf(r, k, w); f != nil {
			out = append(out, f)
		}
	}
	return out
}

// formOf makes a form of a word, or nil when user mode cannot execute it or its result is not defined.
func formOf(r *rand.Rand, k *row, w uint32) *form {
	f := &form{rows: []*row{k}, code: []uint32{w}}
	if special, ok := specialForms[k.name]; ok {
		return special(r, f)
	}
	in, op := decode(w, qemuText)
	switch {
	case op.Class == clUndefined:
		return nil
	case op.Flags&(engine.Loads|engine.Stores) != 0:
		return memoryForm(f, &in.Operands, &op)
	case in.Operands.dst == rTarget:
		return targetForm(f)
	}
	return f
}

func register(w uint32, at uint) int { return int(w >> at & 15) }

// targetForm writes a data-processing result to the program counter: moves, and additions of a small number.
func targetForm(f *form) *form {
	w := f.code[0]
	if w>>20&1 != 0 {
		return nil
	}
	switch name := f.rows[0].name; {
	case name == "mov" && register(w, 0) != pcNumber && w>>4&0xff == 0:
		f.setup = func(_ *rand.Rand, s *state, at uint64) { s.r[register(w, 0)] = uint32(at) + 8 }
	case (name == "add constant" || name == "sub constant") && register(w, 16) != pcNumber:
		d := newDecoder(w, 0)
		imm, _ := d.expanded()
		if name == "add constant" {
			imm = -imm
		}
		f.setup = func(_ *rand.Rand, s *state, at uint64) { s.r[register(w, 16)] = uint32(at) + 8 + imm }
	default:
		return nil
	}
	return f
}

// specialForms build forms whose words cannot be any.
var specialForms = map[string]func(*rand.Rand, *form) *form{
	"b":   branchForm,
	"bl":  branchForm,
	"bx":  registerBranch,
	"bxj": registerBranch,
	"blx": registerBranch,
	"cps": func(_ *rand.Rand, f *form) *form { // does nothing in user mode
		if _, op := decode(f.code[0], 0); op.Class == clUndefined {
			return nil
		}
		return f
	},
	"mrs":          readState,
	"msr":          writeState,
	"msr constant": writeState,
	"strex":        reserving("ldrex", 0),
	"strexd":       reserving("ldrexd", 0),
	"strexb":       reserving("ldrexb", 0),
	"strexh":       reserving("ldrexh", 0),
	"mcr":          threadRegister,
	"mrc":          threadRegister,
}

func branchForm(_ *rand.Rand, f *form) *form {
	f.code[0] &^= 0xffffff // to what stands behind the form's end
	return f
}

func registerBranch(_ *rand.Rand, f *form) *form {
	rm := register(f.code[0], 0)
	if rm == pcNumber {
		return nil
	}
	f.setup = func(_ *rand.Rand, s *state, at uint64) { s.r[rm] = uint32(at) + 8 }
	return f
}

// readState looks at the flags alone.
func readState(_ *rand.Rand, f *form) *form {
	rd := uint32(register(f.code[0], 12))
	if rd == pcNumber {
		return nil
	}
	mask := []uint32{always32 | 0x03c00000 | rd<<16 | rd<<12 | 0x1ff&0xff, always32 | 0x03c00000 | rd<<16 | rd<<12 | 12<<8 | 3} // bic bits 0-7, 8-9
	f.code = append(f.code, mask...)
	return f
}

// writeState has no bits of mode or state in its value.
func writeState(_ *rand.Rand, f *form) *form {
	in, op := decode(f.code[0], 0)
	if op.Class == clUndefined || in.Operands.imm&psrE != 0 {
		return nil
	}
	f.setup = func(_ *rand.Rand, s *state, _ uint64) {
		if in.Operands.b < rZero {
			s.r[in.Operands.b] &^= psrE // data are little-endian
		}
	}
	return f
}

// threadRegister are the registers of thread identifiers and the barriers, of those user mode may use.
func threadRegister(r *rand.Rand, f *form) *form {
	rt := r.Uint32N(13)
	read, write := mrc(13, 0, 0, 2, rt), mcr(13, 0, 0, 2, rt)
	f.code = [][]uint32{
		{write, dataConstant(opMOV, 0, 0, rt, 0), read},
		{mcr(7, 0, 5, 4, rt), mcr(7, 0, 10, 4, rt), mcr(7, 0, 10, 5, rt), write, read},
	}[r.IntN(2)]
	return f
}

// reserving puts a load exclusive before a store exclusive, mostly of the same address.
func reserving(load string, _ int) func(*rand.Rand, *form) *form {
	return func(r *rand.Rand, f *form) *form {
		w := f.code[0]
		in, op := decode(w, qemuText)
		if op.Class == clUndefined {
			return nil
		}
		f = memoryForm(f, &in.Operands, &op)
		if f == nil || r.IntN(4) == 0 {
			return f
		}
		rn := uint32(register(w, 16))
		rt := uint32(in.Operands.dst) &^ 1
		if rt == rn || rt+1 == rn || rt == rLR {
			return f
		}
		for _, k := range rows {
			if k.name == load {
				f.rows = append(f.rows, k)
				f.code = []uint32{always32 | k.value | rn<<16 | rt<<12, w}
			}
		}
		return f
	}
}

// memoryForm has its operand in the sandbox.
func memoryForm(f *form, in *inst, op *op) *form {
	w := f.code[0]
	multiple := w>>25&7 == 4
	rn := register(w, 16)
	toPC := in.dst == rTarget || multiple && op.Flags&engine.Loads != 0 && w>>pcNumber&1 != 0
	if multiple && op.Flags&engine.Stores != 0 && w>>21&1 != 0 && w>>rn&1 != 0 && w&(1<<rn-1) != 0 {
		return nil // the base is stored as nobody knows
	}
	if rn == pcNumber { // qemu's text is no place for operands
		return nil
	}
	offset, ok := formOffset(w, in, op, rn)
	if !ok {
		return nil
	}
	f.setup = func(r *rand.Rand, s *state, at uint64) {
		target := uint32(sandbox) + 72 + r.Uint32N(sandboxSize-150)
		if multiple || op.Class == clLdrex || op.Class == clStrex || op.Class == clLoad2 || op.Class == clStore2 || op.Class == clSwap || toPC {
			target &^= 7
		}
		if toPC {
			pc := target
			if multiple {
				pc = multiplePC(w, target)
			}
			for i := range 4 {
				s.mem[pc-sandbox+uint32(i)] = byte(uint32(at+8) >> (8 * i))
			}
		}
		s.r[rn] = target - offset(r, s)
	}
	return f
}

// multiplePC is where a load of several registers finds the program counter, by the base.
func multiplePC(w, base uint32) uint32 {
	n := uint32(0)
	for list := w & 0xffff; list != 0; list &= list - 1 {
		n++
	}
	switch w >> 23 & 3 {
	case 0: // da
		return base
	case 1: // ia
		return base + 4*n - 4
	case 2: // db
		return base - 4
	}
	return base + 4*n // ib
}

// formOffset returns what the operand lies beside the base.
func formOffset(w uint32, in *inst, op *op, rn int) (func(*rand.Rand, *state) uint32, bool) {
	zero := func(*rand.Rand, *state) uint32 { return 0 }
	switch {
	case w>>25&7 == 4, w>>24&1 == 0, op.Class == clLdrex, op.Class == clStrex, op.Class == clSwap:
		return zero, true
	case op.Index == rZero:
		return func(*rand.Rand, *state) uint32 { return in.imm }, true
	}
	rm := int(op.Index)
	if rm == rn || op.Flags&engine.Stores != 0 && (rm == int(in.s)) {
		return nil, false
	}
	d := newDecoder(w, 0)
	kind, n := uint8(0), uint8(0)
	if w>>26&3 == 1 {
		kind, n = d.constantShift()
	}
	return func(_ *rand.Rand, s *state) uint32 {
		v, _ := shift(kind, s.r[rm], uint32(n), s.cpsr>>29&1)
		if w>>23&1 == 0 {
			return -v
		}
		return v
	}, true
}
