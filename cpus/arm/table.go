package arm

import (
	"slices"

	"kprobesim/cpus/engine"
)

// rows is the instruction set: one row an instruction, with its encoding. The groups follow ARM ARM, A5.
// What has no row is undefined.
var rows = parsed(slices.Concat(
	dataRows(), multiplyRows, saturatingRows, miscellaneousRows, parallelRows(), mediaRows,
	memoryRows(), pairRows(), multipleRows(), synchronizationRows, branchRows, systemRows, unconditionalRows,
))

func parsed(rows []*row) []*row {
	for _, r := range rows {
		r.parse()
	}
	return rows
}

// dataOps are the operations of data-processing instructions by their opcode (ARM ARM, A5.2.1).
var dataOps = [16]dataOp{
	{name: "and", plain: and, sets: ands, logical: true, first: true},
	{name: "eor", plain: eor, sets: eors, logical: true, first: true},
	{name: "sub", plain: sub, sets: subs, first: true},
	{name: "rsb", plain: rsb, sets: rsbs, first: true},
	{name: "add", plain: add, sets: adds, first: true},
	{name: "adc", plain: adc, sets: adcs, first: true, carry: true},
	{name: "sbc", plain: sbc, sets: sbcs, first: true, carry: true},
	{name: "rsc", plain: rsc, sets: rscs, first: true, carry: true},
	{name: "tst", sets: tst, logical: true, first: true, compares: true},
	{name: "teq", sets: teq, logical: true, first: true, compares: true},
	{name: "cmp", sets: cmp, first: true, compares: true},
	{name: "cmn", sets: cmn, first: true, compares: true},
	{name: "orr", plain: orr, sets: orrs, logical: true, first: true},
	{name: "mov", plain: mov, sets: movs, logical: true},
	{name: "bic", plain: bic, sets: bics, logical: true, first: true},
	{name: "mvn", plain: mvn, sets: mvns, logical: true},
}

// dataRows are the data-processing instructions: with a constant, a register shifted by a constant, and by a
// register; each with and without S.
func dataRows() []*row {
	var out []*row
	for i := range dataOps {
		k := &dataOps[i]
		for s := range 2 {
			if k.compares && s == 0 {
				continue
			}
			name, opcode := k.name, bitString(i, 4)+bitString(s, 1)
			if s == 1 && !k.compares {
				name += "s"
			}
			if opcode += "nnnn"; !k.first {
				opcode = bitString(i, 4) + bitString(s, 1) + "0000"
			}
			if opcode += "dddd"; k.compares {
				opcode = opcode[:9] + "0000"
			}
			out = append(out,
				&row{name: name + " constant", bits: "001" + opcode + "rrrr iiiiiiii", form: formData(k), class: clALUConstant},
				&row{name: name, bits: "000" + opcode + "iiiii kk0 mmmm", form: formDataReg(k), class: clALU},
				&row{name: name + " shift", bits: "000" + opcode + "ssss 0kk1 mmmm", form: formDataShift(k), class: clALUShiftReg})
		}
	}
	return out
}

func bitString(v, n int) string {
	s := ""
	for i := n - 1; i >= 0; i-- {
		s += string('0' + rune(v>>i&1))
	}
	return s
}

// multiplyRows are ARM ARM, A5.2.5, A5.2.7 and A5.4.4.
var multiplyRows = []*row{
	{name: "mul", bits: "0000000s dddd 0000 mmmm 1001 nnnn", form: withS(formMul, muls), exec: mul, class: clMul},
	{name: "mla", bits: "0000001s dddd aaaa mmmm 1001 nnnn", form: withS(formMulAdd, mlas), exec: mla, class: clMulAdd},
	{name: "umaal", bits: "00000100 hhhh llll mmmm 1001 nnnn", form: formMulLongAdd, exec: umaal, class: clMulLong},
	{name: "mls", bits: "00000110 dddd aaaa mmmm 1001 nnnn", form: formMulAdd, exec: mls, class: clMulAdd},
	{name: "umull", bits: "0000100s hhhh llll mmmm 1001 nnnn", form: withS(formMulLong, longFlags(umull)), exec: umull, class: clMulLong},
	{name: "umlal", bits: "0000101s hhhh llll mmmm 1001 nnnn", form: withS(formMulLongAdd, longFlags(umlal)), exec: umlal, class: clMulLong},
	{name: "smull", bits: "0000110s hhhh llll mmmm 1001 nnnn", form: withS(formMulLong, longFlags(smull)), exec: smull, class: clMulLong},
	{name: "smlal", bits: "0000111s hhhh llll mmmm 1001 nnnn", form: withS(formMulLongAdd, longFlags(smlal)), exec: smlal, class: clMulLong},

	{name: "smla<x><y>", bits: "00010000 dddd aaaa mmmm 1yx0 nnnn", form: halves(formMulAdd), exec: smlaxy, class: clMulHalf},
	{name: "smlaw<y>", bits: "00010010 dddd aaaa mmmm 1y00 nnnn", form: halves(formMulAdd), exec: smlaw, class: clMulHalf},
	{name: "smulw<y>", bits: "00010010 dddd 0000 mmmm 1y10 nnnn", form: halves(formMul), exec: smulw, class: clMulHalf},
	{name: "smlal<x><y>", bits: "00010100 hhhh llll mmmm 1yx0 nnnn", form: halves(formMulLongAdd), exec: smlalxy, class: clMulLong},
	{name: "smul<x><y>", bits: "00010110 dddd 0000 mmmm 1yx0 nnnn", form: halves(formMul), exec: smulxy, class: clMulHalf},

	{name: "smlad", bits: "01110000 dddd aaaa mmmm 00x1 nnnn", form: halves(formMulMaybe), exec: smlad, class: clMulHalf},
	{name: "smlsd", bits: "01110000 dddd aaaa mmmm 01x1 nnnn", form: halves(formMulMaybe), exec: smlsd, class: clMulHalf},
	{name: "smlald", bits: "01110100 hhhh llll mmmm 00x1 nnnn", form: halves(formMulLongAdd), exec: smlald, class: clMulLong},
	{name: "smlsld", bits: "01110100 hhhh llll mmmm 01x1 nnnn", form: halves(formMulLongAdd), exec: smlsld, class: clMulLong},
	{name: "smmla", bits: "01110101 dddd aaaa mmmm 00r1 nnnn", form: halves(formMulMaybe), exec: smmla, class: clMulAdd},
	{name: "smmls", bits: "01110101 dddd aaaa mmmm 11r1 nnnn", form: halves(formMulAdd), exec: smmls, class: clMulAdd},
	{name: "sdiv", bits: "01110001 dddd 1111 mmmm 0001 nnnn", form: formMul, exec: sdiv, class: clSdiv},
	{name: "udiv", bits: "01110011 dddd 1111 mmmm 0001 nnnn", form: formMul, exec: udiv, class: clUdiv},
}

// saturatingRows are ARM ARM, A5.2.6.
var saturatingRows = []*row{
	{name: "qadd", bits: "00010000 nnnn dddd 0000 0101 mmmm", form: formThree, exec: qadd, class: clSaturate},
	{name: "qsub", bits: "00010010 nnnn dddd 0000 0101 mmmm", form: formThree, exec: qsub, class: clSaturate},
	{name: "qdadd", bits: "00010100 nnnn dddd 0000 0101 mmmm", form: formThree, exec: qdadd, class: clSaturate},
	{name: "qdsub", bits: "00010110 nnnn dddd 0000 0101 mmmm", form: formThree, exec: qdsub, class: clSaturate},
}

// miscellaneousRows are ARM ARM, A5.2.12 and its neighbours, that compute.
var miscellaneousRows = []*row{
	{name: "clz", bits: "00010110 1111 dddd 1111 0001 mmmm", form: formTwo, exec: clz, class: clBits},
	{name: "movw", bits: "00110000 iiii dddd iiiiiiiiiiii", form: formMovw, exec: mov, class: clALUConstant},
	{name: "movt", bits: "00110100 iiii dddd iiiiiiiiiiii", form: formMovt, exec: movt, class: clALUConstant},
}

// parallelRows are ARM ARM, A5.4.1 and A5.4.2.
func parallelRows() []*row {
	kinds := [8]string{
		parSigned: "s", parSaturate: "q", parHalving: "sh", parUnsigned: "u", parSaturateU: "uq", parHalvingU: "uh",
	}
	lanes := [8]string{
		laneAdd16: "add16", laneExchangeAdd: "asx", laneExchangeSub: "sax", laneSub16: "sub16", laneAdd8: "add8", laneSub8: "sub8",
	}
	var out []*row
	for i, kind := range kinds {
		for j, what := range lanes {
			if kind == "" || what == "" {
				continue
			}
			form := formThree
			if i&parKindsWithFlags == parSigned {
				form = formParallel
			}
			out = append(out, &row{
				name: kind + what, bits: "01100" + bitString(i, 3) + "nnnn dddd 1111" + bitString(j, 3) + "1 mmmm",
				form: form, exec: parallel(i, j), class: clParallel,
			})
		}
	}
	return out
}

// mediaRows are ARM ARM, A5.4 and A5.4.3.
var mediaRows = []*row{
	{name: "pkhbt", bits: "01101000 nnnn dddd iiiii 001 mmmm", form: formPack, exec: pkhbt, class: clALUShift},
	{name: "pkhtb", bits: "01101000 nnnn dddd iiiii 101 mmmm", form: formPack, exec: pkhtb, class: clALUShift},
	{name: "ssat", bits: "0110101 wwwww dddd iiiii k01 nnnn", form: formSaturate, exec: ssat, class: clSaturate},
	{name: "usat", bits: "0110111 wwwww dddd iiiii k01 nnnn", form: formSaturate, exec: usat, class: clSaturate},
	{name: "ssat16", bits: "01101010 wwww dddd 1111 0011 nnnn", form: formSaturate16, exec: ssat16, class: clSaturate},
	{name: "usat16", bits: "01101110 wwww dddd 1111 0011 nnnn", form: formSaturate16, exec: usat16, class: clSaturate},
	{name: "sxtab16", bits: "01101000 nnnn dddd rr00 0111 mmmm", form: formExtend, exec: sxtab16, class: clExtend},
	{name: "sxtab", bits: "01101010 nnnn dddd rr00 0111 mmmm", form: formExtend, exec: sxtab, class: clExtend},
	{name: "sxtah", bits: "01101011 nnnn dddd rr00 0111 mmmm", form: formExtend, exec: sxtah, class: clExtend},
	{name: "uxtab16", bits: "01101100 nnnn dddd rr00 0111 mmmm", form: formExtend, exec: uxtab16, class: clExtend},
	{name: "uxtab", bits: "01101110 nnnn dddd rr00 0111 mmmm", form: formExtend, exec: uxtab, class: clExtend},
	{name: "uxtah", bits: "01101111 nnnn dddd rr00 0111 mmmm", form: formExtend, exec: uxtah, class: clExtend},
	{name: "sel", bits: "01101000 nnnn dddd 1111 1011 mmmm", form: formSel, exec: sel, class: clALU},
	{name: "rev", bits: "01101011 1111 dddd 1111 0011 mmmm", form: formTwo, exec: rev, class: clBits},
	{name: "rev16", bits: "01101011 1111 dddd 1111 1011 mmmm", form: formTwo, exec: rev16, class: clBits},
	{name: "rbit", bits: "01101111 1111 dddd 1111 0011 mmmm", form: formTwo, exec: rbit, class: clBits},
	{name: "revsh", bits: "01101111 1111 dddd 1111 1011 mmmm", form: formTwo, exec: revsh, class: clBits},
	{name: "usada8", bits: "01111000 dddd aaaa mmmm 0001 nnnn", form: formMulMaybe, exec: usada8, class: clMulAdd},
	{name: "sbfx", bits: "0111101 wwwww dddd lllll 101 nnnn", form: formField, exec: sbfx, class: clBits},
	{name: "ubfx", bits: "0111111 wwwww dddd lllll 101 nnnn", form: formField, exec: ubfx, class: clBits},
	{name: "bfi", bits: "0111110 hhhhh dddd lllll 001 nnnn", form: formInsert, exec: bfi, class: clBits},
}

// synchronizationRows are ARM ARM, A5.2.10.
var synchronizationRows = []*row{
	{name: "swp", bits: "00010000 nnnn tttt 0000 1001 mmmm", form: formSwap, exec: swap, class: clSwap, flags: swapFlags},
	{name: "swpb", bits: "00010100 nnnn tttt 0000 1001 mmmm", form: formSwap, exec: swapByte, class: clSwap, flags: swapFlags},
	{name: "strex", bits: "00011000 nnnn dddd 1111 1001 tttt", form: formExclusiveStore, exec: exclusiveStore, class: clStrex, flags: engine.Stores},
	{name: "ldrex", bits: "00011001 nnnn tttt 1111 1001 1111", form: formExclusiveLoad, exec: exclusiveLoad, class: clLdrex, flags: engine.Loads},
	{name: "strexd", bits: "00011010 nnnn dddd 1111 1001 tttt", form: formExclusiveStore, exec: exclusiveStore, class: clStrex, flags: engine.Stores},
	{name: "ldrexd", bits: "00011011 nnnn tttt 1111 1001 1111", form: formExclusiveLoad, exec: exclusiveLoad, class: clLdrex, flags: engine.Loads},
	{name: "strexb", bits: "00011100 nnnn dddd 1111 1001 tttt", form: formExclusiveStore, exec: exclusiveStore, class: clStrex, flags: engine.Stores},
	{name: "ldrexb", bits: "00011101 nnnn tttt 1111 1001 1111", form: formExclusiveLoad, exec: exclusiveLoad, class: clLdrex, flags: engine.Loads},
	{name: "strexh", bits: "00011110 nnnn dddd 1111 1001 tttt", form: formExclusiveStore, exec: exclusiveStore, class: clStrex, flags: engine.Stores},
	{name: "ldrexh", bits: "00011111 nnnn tttt 1111 1001 1111", form: formExclusiveLoad, exec: exclusiveLoad, class: clLdrex, flags: engine.Loads},
}

const swapFlags = engine.Loads | engine.Stores | engine.Locked

// branchRows are ARM ARM, A5.5, and the branches to registers of A5.2.12.
var branchRows = []*row{
	{name: "b", bits: "1010 iiiiiiiiiiiiiiiiiiiiiiii", form: formB, exec: jump, class: clBranch, flags: endsBranch},
	{name: "bl", bits: "1011 iiiiiiiiiiiiiiiiiiiiiiii", form: formBL, exec: call, class: clBranch, flags: endsBranch},
	{name: "bx", bits: "00010010 1111 1111 1111 0001 mmmm", form: formBX, exec: bx, class: clBranchRegister, flags: endsBranch},
	{name: "bxj", bits: "00010010 1111 1111 1111 0010 mmmm", form: formBX, exec: bx, class: clBranchRegister, flags: endsBranch},
	{name: "blx", bits: "00010010 1111 1111 1111 0011 mmmm", form: formBLX, exec: blx, class: clBranchRegister, flags: endsBranch},
}
