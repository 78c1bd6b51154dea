package ppc64

import (
	"golang.org/x/arch/ppc64/ppc64asm"

	"kprobesim/cpus/engine"
	"kprobesim/internal/encoding"
)

const endsBlock = engine.Ends

// rows is the instruction set: one row an instruction, by the decoder's name for its plain form. The groups
// follow Book I and, for storage control, Books II and III. What has no row is not modelled and
// raises an illegal-instruction program interrupt.
var rows = encoding.Union(arithmetic, logic, rotation, comparison, branches, condition, memory, cache, system)

// arithmetic is Book I, Fixed-Point Arithmetic Instructions.
var arithmetic = map[ppc64asm.Op]row{
	ppc64asm.LI:    {form: formD, exec: add, class: clInt},
	ppc64asm.ADDI:  {form: formD, exec: add, class: clInt},
	ppc64asm.LIS:   {form: formDS, exec: add, class: clInt},
	ppc64asm.ADDIS: {form: formDS, exec: add, class: clInt},
	ppc64asm.ADD:   {form: formXO, exec: add, over: addo, class: clInt, io: ioRecord},
	ppc64asm.SUBF:  {form: formXO, exec: subf, over: subfo, class: clInt, io: ioRecord},
	ppc64asm.NEG:   {form: formXOA, exec: subf, over: subfo, class: clInt, io: ioRecord},

	ppc64asm.ADDIC:  {form: formDA, exec: addc, class: clInt, io: ioSetCA | ioRecord},
	ppc64asm.SUBFIC: {form: formDA, exec: subfc, class: clInt, io: ioSetCA},
	ppc64asm.ADDC:   {form: formXO, exec: addc, over: addco, class: clInt, io: ioSetCA | ioRecord},
	ppc64asm.SUBFC:  {form: formXO, exec: subfc, over: subfco, class: clInt, io: ioSetCA | ioRecord},
	ppc64asm.ADDE:   extended(formXO, adde, addeo),
	ppc64asm.SUBFE:  extended(formXO, subfe, subfeo),
	ppc64asm.ADDME:  extended(formXOM, adde, addeo),
	ppc64asm.SUBFME: extended(formXOM, subfe, subfeo),
	ppc64asm.ADDZE:  extended(formXOA, adde, addeo),
	ppc64asm.SUBFZE: extended(formXOA, subfe, subfeo),

	ppc64asm.MULLI:  {form: formDA, exec: mulld, class: clMulImm},
	ppc64asm.MULLW:  {form: formXO, exec: mullw, over: mullwo, class: clMulWord, io: ioRecord},
	ppc64asm.MULHW:  {form: formXO, exec: mulhw, class: clMulWord, io: ioRecord},
	ppc64asm.MULHWU: {form: formXO, exec: mulhwu, class: clMulWord, io: ioRecord},
	ppc64asm.MULLD:  {form: formXO, exec: mulld, over: mulldo, class: clMulDouble, io: ioRecord},
	ppc64asm.MULHD:  {form: formXO, exec: mulhd, class: clMulDouble, io: ioRecord},
	ppc64asm.MULHDU: {form: formXO, exec: mulhdu, class: clMulDouble, io: ioRecord},
	ppc64asm.DIVW:   {form: formXO, exec: divw, over: dividing((*CPU).quotientW), class: clDivWord, io: ioRecord},
	ppc64asm.DIVWU:  {form: formXO, exec: divwu, over: dividing((*CPU).quotientWU), class: clDivWord, io: ioRecord},
	ppc64asm.DIVD:   {form: formXO, exec: divd, over: dividing((*CPU).quotientD), class: clDivDouble, io: ioRecord},
	ppc64asm.DIVDU:  {form: formXO, exec: divdu, over: dividing((*CPU).quotientDU), class: clDivDouble, io: ioRecord},
}

// extended is arithmetic with the carry.
func extended(form func(*decoder, *row) bool, f, over exec) row {
	return row{form: form, exec: f, over: over, class: clInt, io: ioReadCA | ioSetCA | ioRecord}
}

// logic is Book I, Fixed-Point Logical Instructions.
var logic = map[ppc64asm.Op]row{
	ppc64asm.NOP:     {form: formNone, exec: nop, class: clNop},
	ppc64asm.ANDICC:  {form: formLogicI, exec: and, class: clRecord},
	ppc64asm.ANDISCC: {form: formLogicIS, exec: and, class: clRecord},
	ppc64asm.ORI:     {form: formLogicI, exec: or, class: clInt},
	ppc64asm.ORIS:    {form: formLogicIS, exec: or, class: clInt},
	ppc64asm.XORI:    {form: formLogicI, exec: xor, class: clInt},
	ppc64asm.XORIS:   {form: formLogicIS, exec: xor, class: clInt},
	ppc64asm.AND:     logical(and),
	ppc64asm.OR:      logical(or),
	ppc64asm.XOR:     logical(xor),
	ppc64asm.NAND:    logical(nand),
	ppc64asm.NOR:     logical(nor),
	ppc64asm.EQV:     logical(eqv),
	ppc64asm.ANDC:    logical(andc),
	ppc64asm.ORC:     logical(orc),
	ppc64asm.EXTSB:   {form: formShift, exec: extsb, class: clInt, io: ioRecord},
	ppc64asm.EXTSH:   {form: formShift, exec: extsh, class: clInt, io: ioRecord},
	ppc64asm.EXTSW:   {form: formShift, exec: extsw, class: clInt, io: ioRecord},
	ppc64asm.CNTLZW:  {form: formShift, exec: cntlzw, class: clCount, io: ioRecord},
	ppc64asm.CNTLZD:  {form: formShift, exec: cntlzd, class: clCount, io: ioRecord},
	ppc64asm.POPCNTB: {form: formShift, exec: popcntb, class: clCount},
}

func logical(f exec) row { return row{form: formLogic, exec: f, class: clInt, io: ioRecord} }

// rotation is Book I, Fixed-Point Rotate and Shift Instructions.
var rotation = map[ppc64asm.Op]row{
	ppc64asm.RLWINM: {form: formM, exec: rlwinm, class: clInt, io: ioRecord},
	ppc64asm.RLWNM:  {form: formMB, exec: rlwnm, class: clInt, io: ioRecord},
	ppc64asm.RLWIMI: {form: formMInsert, exec: rlwimi, class: clInsert, io: ioRecord},
	ppc64asm.RLDICL: {form: formMDLeft, exec: rld, class: clInt, io: ioRecord},
	ppc64asm.RLDICR: {form: formMDRight, exec: rld, class: clInt, io: ioRecord},
	ppc64asm.RLDIC:  {form: formMD, exec: rld, class: clInt, io: ioRecord},
	ppc64asm.RLDIMI: {form: formMDInsert, exec: rldimi, class: clInsert, io: ioRecord},
	ppc64asm.RLDCL:  {form: formMDSLeft, exec: rldc, class: clInt, io: ioRecord},
	ppc64asm.RLDCR:  {form: formMDSRight, exec: rldc, class: clInt, io: ioRecord},
	ppc64asm.SLW:    logical(slw),
	ppc64asm.SRW:    logical(srw),
	ppc64asm.SLD:    logical(sld),
	ppc64asm.SRD:    logical(srd),
	ppc64asm.SRAW:   {form: formLogic, exec: sraw, class: clInt, io: ioSetCA | ioRecord},
	ppc64asm.SRAD:   {form: formLogic, exec: srad, class: clInt, io: ioSetCA | ioRecord},
	ppc64asm.SRAWI:  {form: formShift, exec: srawi, class: clInt, io: ioSetCA | ioRecord},
	ppc64asm.SRADI:  {form: formShiftD, exec: sradi, class: clInt, io: ioSetCA | ioRecord},
}

// comparison is Book I, Fixed-Point Compare Instructions and Fixed-Point Trap Instructions.
var comparison = map[ppc64asm.Op]row{
	ppc64asm.CMPW:   {form: formCompare, exec: cmpw, class: clCompare},
	ppc64asm.CMPD:   {form: formCompare, exec: cmpd, class: clCompare},
	ppc64asm.CMPLW:  {form: formCompare, exec: cmplw, class: clCompare},
	ppc64asm.CMPLD:  {form: formCompare, exec: cmpld, class: clCompare},
	ppc64asm.CMPWI:  {form: formCompareI, exec: cmpw, class: clCompare},
	ppc64asm.CMPDI:  {form: formCompareI, exec: cmpd, class: clCompare},
	ppc64asm.CMPLWI: {form: formCompareU, exec: cmplw, class: clCompare},
	ppc64asm.CMPLDI: {form: formCompareU, exec: cmpld, class: clCompare},

	ppc64asm.TW:  {form: formTrap, exec: trapWord, class: clTrap},
	ppc64asm.TD:  {form: formTrap, exec: trapDouble, class: clTrap},
	ppc64asm.TWI: {form: formTrapI, exec: trapWord, class: clTrap},
	ppc64asm.TDI: {form: formTrapI, exec: trapDouble, class: clTrap},
}

// branchFlags holds the flags of every branch.
const branchFlags = engine.Ends | engine.Branches

// branches is Book I, Branch Instructions. Their forms choose the functions.
var branches = map[ppc64asm.Op]row{
	ppc64asm.B:      {form: formI, class: clBranch, flags: branchFlags},
	ppc64asm.BA:     {form: formI, class: clBranch, flags: branchFlags},
	ppc64asm.BL:     {form: formI, class: clBranch, flags: branchFlags},
	ppc64asm.BLA:    {form: formI, class: clBranch, flags: branchFlags},
	ppc64asm.BC:     {form: formB, class: clBranchCond, flags: branchFlags},
	ppc64asm.BCA:    {form: formB, class: clBranchCond, flags: branchFlags},
	ppc64asm.BCL:    {form: formB, class: clBranchCond, flags: branchFlags},
	ppc64asm.BCLA:   {form: formB, class: clBranchCond, flags: branchFlags},
	ppc64asm.BCLR:   {form: formXLLR, class: clBranchLR, flags: branchFlags},
	ppc64asm.BCLRL:  {form: formXLLR, class: clBranchLR, flags: branchFlags},
	ppc64asm.BCCTR:  {form: formXLCTR, class: clBranchCTR, flags: branchFlags},
	ppc64asm.BCCTRL: {form: formXLCTR, class: clBranchCTR, flags: branchFlags},
}

// condition is Book I, Condition Register Logical Instructions, Condition Register Field Instruction, and
// the moves of Move To/From System Register Instructions. Moves of special-purpose registers choose
// function and class by the register.
var condition = map[ppc64asm.Op]row{
	ppc64asm.CRAND:  {form: formCR, exec: crand, class: clCR},
	ppc64asm.CROR:   {form: formCR, exec: cror, class: clCR},
	ppc64asm.CRXOR:  {form: formCR, exec: crxor, class: clCR},
	ppc64asm.CRNAND: {form: formCR, exec: crnand, class: clCR},
	ppc64asm.CRNOR:  {form: formCR, exec: crnor, class: clCR},
	ppc64asm.CREQV:  {form: formCR, exec: creqv, class: clCR},
	ppc64asm.CRANDC: {form: formCR, exec: crandc, class: clCR},
	ppc64asm.CRORC:  {form: formCR, exec: crorc, class: clCR},
	ppc64asm.MCRF:   {form: formCRField, exec: mcrf, class: clCR},
	opMCRXR:         {form: formMcrxr, exec: mcrxr, class: clMcrxr},
	ppc64asm.MFCR:   {form: formMfcr, exec: mfcr, class: clMfcr},
	ppc64asm.MFOCRF: {form: formMfcr, exec: mfocrf, class: clMfocrf},
	ppc64asm.MTCRF:  {form: formMtcrf, exec: mtcrf, class: clMtcrf},
	ppc64asm.MTOCRF: {form: formMtcrf, exec: mtcrf, class: clMtocrf},
	ppc64asm.MFSPR:  {form: formMfspr, class: clMfspr},
	ppc64asm.MTSPR:  {form: formMtspr, class: clMtspr},
	ppc64asm.MFTB:   {form: formMftb, class: clMftb},
}
