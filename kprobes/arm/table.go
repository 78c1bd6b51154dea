package arm

import (
	"slices"

	"kprobesim/internal/encoding"
)

// Guest functions that do what a displaced instruction does. The first group calls its copy with the
// registers that it reads, and stores back what it writes.
const (
	toD       = "emulate_to_d"   // D and flags
	toN       = "emulate_to_n"   // N and flags
	toDN      = "emulate_to_d_n" // both and flags
	flags     = "emulate_flags"
	load      = "emulate_load" // D, and N where the base is written back
	store     = "emulate_store"
	loadPair  = "emulate_load_pair"
	storePair = "emulate_store_pair"
	blockLow  = "emulate_block_low"
	blockHigh = "emulate_block_high"
	blockPC   = "emulate_block_pc"

	nothing        = "emulate_nothing"
	status         = "emulate_mrs"
	branch         = "emulate_branch"
	branchRegister = "emulate_branch_register"
	aluPC          = "emulate_alu_pc"
	loadPC         = "emulate_load_pc"
	block          = "emulate_block"
)

// row is a group of encodings that are treated alike. bits has them as the manual draws them: 0 and 1 are fixed,
// letters are fields; 28 bits have a condition before them. The first row that matches a word decides.
type row struct {
	bits    string
	handler string // "": a probe is refused
	toPC    string // the same where D is the program counter; "": a probe is refused
	// regs are the fields of the copy that name registers: d, n, s and m by their places. A capital says that
	// the program counter may be one. Without any there is no copy.
	regs  string
	holds func(word) bool // false for what the manual calls unpredictable; nil: nothing is

	mask, value word
}

// rows is the instruction set in the order of ARM ARM, A5. What no row names is refused.
var rows = parsed(slices.Concat(
	unconditional(), multiplies(), extraLoads(), miscellaneous(), dataProcessing(), loads(), media(), blocks(),
))

func parsed(rows []row) []row {
	for i := range rows {
		rows[i].parse()
	}
	return rows
}

// parse reads the encoding.
func (r *row) parse() {
	mask, value, n := encoding.Bits(r.bits)
	if n != 28 && n != 32 {
		panic("arm: the encoding " + r.bits + " has the wrong length")
	}
	r.mask, r.value = word(mask), word(value)
}

func (r *row) matches(w word) bool {
	return w&r.mask == r.value && (w.conditional() || r.mask&condition != 0)
}

// find returns the row of a word, or nil.
func find(w word) *row {
	for i := range rows {
		if rows[i].matches(w) {
			return &rows[i]
		}
	}
	return nil
}

// unconditional are the instructions without a condition: ARM ARM, A5.7. Preloads have no effect. Refused are
// cps, setend, srs, rfe, blx to Thumb code, barriers, and coprocessors.
func unconditional() []row {
	return []row{
		{bits: "1111 0101 ur01 nnnn 1111 iiiiiiiiiiii", handler: nothing},
		{bits: "1111 0100 u101 nnnn 1111 iiiiiiiiiiii", handler: nothing},
		{bits: "1111 0111 ur01 nnnn 1111 iiiii kk0 mmmm", handler: nothing, holds: indexed},
		{bits: "1111 0110 u101 nnnn 1111 iiiii kk0 mmmm", handler: nothing, holds: indexed},
		{bits: "1111 xxxx xxxx xxxx xxxx xxxx xxxx xxxx"},
	}
}

func indexed(w word) bool { return w.m() != pc }

// multiplies are ARM ARM, A5.2.5, A5.2.7 and A5.2.10. Swaps have their places. Loads and stores exclusive are
// refused, since no reservation outlives a hit.
func multiplies() []row {
	return []row{
		{bits: "0000000s nnnn 0000 ssss 1001 mmmm", handler: toN, regs: "nsm"},
		{bits: "0000001s nnnn dddd ssss 1001 mmmm", handler: toN, regs: "dnsm"},
		{bits: "00000100 nnnn dddd ssss 1001 mmmm", handler: toDN, regs: "dnsm", holds: twoResults},
		{bits: "00000110 nnnn dddd ssss 1001 mmmm", handler: toN, regs: "dnsm"},
		{bits: "00001oos nnnn dddd ssss 1001 mmmm", handler: toDN, regs: "dnsm", holds: twoResults},
		{bits: "00010b00 nnnn dddd 0000 1001 mmmm", handler: toD, regs: "dnm", holds: func(w word) bool {
			return w.n() != w.d() && w.n() != w.m()
		}},
		{bits: "000x xxxx xxxx xxxx xxxx 1001 xxxx"},

		{bits: "00010000 nnnn dddd ssss 1yx0 mmmm", handler: toN, regs: "dnsm"},
		{bits: "00010010 nnnn dddd ssss 1y00 mmmm", handler: toN, regs: "dnsm"},
		{bits: "00010010 nnnn 0000 ssss 1y10 mmmm", handler: toN, regs: "nsm"},
		{bits: "00010100 nnnn dddd ssss 1yx0 mmmm", handler: toDN, regs: "dnsm", holds: twoResults},
		{bits: "00010110 nnnn 0000 ssss 1yx0 mmmm", handler: toN, regs: "nsm"},
	}
}

func twoResults(w word) bool { return w.d() != w.n() }

// extraLoads are ARM ARM, A5.2.8 and A5.2.9: halfwords, signed bytes, and pairs.
func extraLoads() []row {
	var out []row
	for _, k := range []struct {
		load, op, handler string
		holds             func(word) bool
	}{
		{"1", "1011", load, addressed},
		{"1", "11k1", load, addressed},
		{"0", "1011", store, addressed},
		{"0", "1101", loadPair, paired},
		{"0", "1111", storePair, paired},
	} {
		out = append(
			out,
			row{bits: "000pu1w" + k.load + "nnnn dddd iiii" + k.op + "iiii", handler: k.handler, regs: "dN", holds: k.holds},
			row{bits: "000pu0w" + k.load + "nnnn dddd 0000" + k.op + "mmmm", handler: k.handler, regs: "dNm", holds: k.holds},
		)
	}
	return append(out, row{bits: "000x xxxx xxxx xxxx xxxx 1xx1 xxxx"})
}

// addressed holds for a base that an access does not spoil: one that is written back is neither loaded nor
// stored, and not the program counter.
func addressed(w word) bool { return !w.updates() || w.n() != pc && w.n() != w.d() }

// paired is the same for two registers, of which the first is even and the second is not the program counter.
// There are no forms for user mode.
func paired(w word) bool {
	d, loads := w.d(), !w.bit(5)
	switch {
	case d&1 != 0 || d+1 == pc || !w.before() && w.write():
		return false
	case loads && !w.bit(22) && (w.m() == d || w.m() == d+1):
		return false
	}
	return addressed(w) && (!w.updates() || w.n() != d+1)
}

// miscellaneous are ARM ARM, A5.2.11 and A5.2.12. Refused are msr, mrs of SPSR, bxj, bkpt, and calls of monitors.
func miscellaneous() []row {
	return []row{
		{bits: "00110000 iiii dddd iiiiiiiiiiii", handler: toD, regs: "d"},
		{bits: "00110100 iiii dddd iiiiiiiiiiii", handler: toD, regs: "d"},
		{bits: "00110010 0000 1111 0000 hhhhhhhh", handler: nothing},
		{bits: "00110xx0 xxxx xxxx xxxx xxxxxxxx"},

		{bits: "00010000 1111 dddd 0000 0000 0000", handler: status},
		{bits: "00010010 1111 1111 1111 0001 mmmm", handler: branchRegister},
		{bits: "00010010 1111 1111 1111 0011 mmmm", handler: branchRegister, holds: func(w word) bool { return w.m() != pc }},
		{bits: "00010110 1111 dddd 1111 0001 mmmm", handler: toD, regs: "dm"},
		{bits: "00010oo0 nnnn dddd 0000 0101 mmmm", handler: toD, regs: "dnm"},
		{bits: "00010xx0 xxxx xxxx xxxx xxxx xxxx"},
	}
}

// dataProcessing are ARM ARM, A5.2.1 to A5.2.3. One that sets flags and writes the program counter returns from
// an exception.
func dataProcessing() []row {
	var out []row
	for _, k := range []struct{ op, operand, more string }{
		{"001", "iiiiiiiiiiii", ""},
		{"000", "iiiii kk0 mmmm", "M"},
		{"000", "ssss 0kk1 mmmm", "sm"},
	} {
		d, n, toPC := "D", "N", aluPC
		if k.more == "sm" {
			d, n, toPC = "d", "n", ""
		}
		out = append(
			out,
			row{bits: k.op + "10oo1 nnnn 0000" + k.operand, handler: flags, regs: n + k.more},
			row{bits: k.op + "11k1s 0000 dddd" + k.operand, handler: toD, toPC: toPC, regs: d + k.more, holds: staysInMode},
			row{bits: k.op + "11k1s xxxx xxxx" + k.operand},
			row{bits: k.op + "10xxx xxxx xxxx" + k.operand},
			row{bits: k.op + "oooos nnnn dddd" + k.operand, handler: toD, toPC: toPC, regs: d + n + k.more, holds: staysInMode},
		)
	}
	return out
}

// staysInMode holds for what does not copy SPSR to CPSR.
func staysInMode(w word) bool { return w.d() != pc || !w.bit(20) }

// loads are loads and stores of words and bytes: ARM ARM, A5.3. A program counter is a word, and not of user mode.
func loads() []row {
	holds := func(w word) bool {
		return addressed(w) && (w.d() != pc || !w.bit(22) && (w.before() || !w.write()))
	}
	return []row{
		{bits: "010pubw1 nnnn dddd iiiiiiiiiiii", handler: load, toPC: loadPC, regs: "DN", holds: holds},
		{bits: "010pubw0 nnnn dddd iiiiiiiiiiii", handler: store, toPC: store, regs: "DN", holds: holds},
		{bits: "011pubw1 nnnn dddd iiiii kk0 mmmm", handler: load, toPC: loadPC, regs: "DNm", holds: holds},
		{bits: "011pubw0 nnnn dddd iiiii kk0 mmmm", handler: store, toPC: store, regs: "DNm", holds: holds},
	}
}

// media are ARM ARM, A5.4. The permanently undefined instruction is not among them.
func media() []row {
	return []row{
		{bits: "01100t01 nnnn dddd 1111 ooo1 mmmm", handler: toD, regs: "dnm", holds: parallel},
		{bits: "01100t1t nnnn dddd 1111 ooo1 mmmm", handler: toD, regs: "dnm", holds: parallel},

		{bits: "01101000 nnnn dddd iiiii t01 mmmm", handler: toD, regs: "dnm"},
		{bits: "01101u1w wwww dddd iiiii k01 mmmm", handler: toD, regs: "dm"},
		{bits: "01101u10 wwww dddd 1111 0011 mmmm", handler: toD, regs: "dm"},
		{bits: "01101u00 1111 dddd rr00 0111 mmmm", handler: toD, regs: "dm"},
		{bits: "01101u1t 1111 dddd rr00 0111 mmmm", handler: toD, regs: "dm"},
		{bits: "01101u00 nnnn dddd rr00 0111 mmmm", handler: toD, regs: "dnm"},
		{bits: "01101u1t nnnn dddd rr00 0111 mmmm", handler: toD, regs: "dnm"},
		{bits: "01101000 nnnn dddd 1111 1011 mmmm", handler: toD, regs: "dnm"},
		{bits: "01101t11 1111 dddd 1111 t011 mmmm", handler: toD, regs: "dm"},

		{bits: "01110000 nnnn 1111 ssss 0ox1 mmmm", handler: toN, regs: "nsm"},
		{bits: "01110000 nnnn dddd ssss 0ox1 mmmm", handler: toN, regs: "dnsm"},
		{bits: "01110100 nnnn dddd ssss 0ox1 mmmm", handler: toDN, regs: "dnsm", holds: twoResults},
		{bits: "01110101 nnnn 1111 ssss 00r1 mmmm", handler: toN, regs: "nsm"},
		{bits: "01110101 nnnn dddd ssss 00r1 mmmm", handler: toN, regs: "dnsm"},
		{bits: "01110101 nnnn dddd ssss 11r1 mmmm", handler: toN, regs: "dnsm"},
		{bits: "011100u1 nnnn 1111 ssss 0001 mmmm", handler: toN, regs: "nsm"},
		{bits: "01111000 nnnn 1111 ssss 0001 mmmm", handler: toN, regs: "nsm"},
		{bits: "01111000 nnnn dddd ssss 0001 mmmm", handler: toN, regs: "dnsm"},

		{bits: "01111u1w wwww dddd lllll 101 mmmm", handler: toD, regs: "dm", holds: func(w word) bool {
			return w.field(7, 5)+w.field(16, 5) < 32
		}},
		{bits: "0111110h hhhh dddd lllll 001 1111", handler: toD, regs: "d", holds: inserts},
		{bits: "0111110h hhhh dddd lllll 001 mmmm", handler: toD, regs: "dm", holds: inserts},
	}
}

// parallel holds for the six operations of eight that there are.
func parallel(w word) bool { op := w.field(5, 3); return op < 5 || op == 7 }

// inserts holds for a field that does not end before it begins.
func inserts(w word) bool { return w.field(16, 5) >= w.field(7, 5) }

// blocks are ARM ARM, A5.5. Forms for user registers and returns from an exception are refused, as what
// is behind them is: supervisor calls and coprocessors.
func blocks() []row {
	return []row{
		{bits: "100pu0wl nnnn rrrrrrrrrrrrrrrr", handler: block, holds: func(w word) bool {
			return w.count() > 0 && w.n() != pc && !(w.load() && w.write() && w.bit(uint(w.n())))
		}},
		{bits: "101l iiiiiiiiiiiiiiiiiiiiiiii", handler: branch},
	}
}
