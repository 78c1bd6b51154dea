package ppc64

import (
	"golang.org/x/arch/ppc64/ppc64asm"

	"kprobesim/cpus/engine"
)

// memory is Book I, Fixed-Point Storage Access Instructions, and Book II, Load and Reserve and Store
// Conditional Instructions.
var memory = map[ppc64asm.Op]row{
	ppc64asm.LBZ:   {form: formLoad, exec: lbz, class: clLoad},
	ppc64asm.LHZ:   {form: formLoad, exec: lhz, class: clLoad},
	ppc64asm.LHA:   {form: formLoad, exec: lha, class: clLoadAlgebraic},
	ppc64asm.LWZ:   {form: formLoad, exec: lwz, class: clLoad},
	ppc64asm.LWA:   {form: formLoadDS, exec: lwa, class: clLoadAlgebraic},
	ppc64asm.LD:    {form: formLoadDS, exec: ld, class: clLoad},
	ppc64asm.LBZX:  {form: formLoadX, exec: lbz, class: clLoad},
	ppc64asm.LHZX:  {form: formLoadX, exec: lhz, class: clLoad},
	ppc64asm.LHAX:  {form: formLoadX, exec: lha, class: clLoadAlgebraic},
	ppc64asm.LWZX:  {form: formLoadX, exec: lwz, class: clLoad},
	ppc64asm.LWAX:  {form: formLoadX, exec: lwa, class: clLoadAlgebraic},
	ppc64asm.LDX:   {form: formLoadX, exec: ld, class: clLoad},
	ppc64asm.LHBRX: {form: formLoadX, exec: lhbrx, class: clLoad},
	ppc64asm.LWBRX: {form: formLoadX, exec: lwbrx, class: clLoad},

	ppc64asm.LBZU:  {form: formLoad, exec: lbzu, class: clLoadUpdate},
	ppc64asm.LHZU:  {form: formLoad, exec: lhzu, class: clLoadUpdate},
	ppc64asm.LHAU:  {form: formLoad, exec: lhau, class: clLoadUpdate},
	ppc64asm.LWZU:  {form: formLoad, exec: lwzu, class: clLoadUpdate},
	ppc64asm.LDU:   {form: formLoadDS, exec: ldu, class: clLoadUpdate},
	ppc64asm.LBZUX: {form: formLoadX, exec: lbzu, class: clLoadUpdateIndexed},
	ppc64asm.LHZUX: {form: formLoadX, exec: lhzu, class: clLoadUpdateIndexed},
	ppc64asm.LHAUX: {form: formLoadX, exec: lhau, class: clLoadUpdateIndexed},
	ppc64asm.LWZUX: {form: formLoadX, exec: lwzu, class: clLoadUpdateIndexed},
	ppc64asm.LWAUX: {form: formLoadX, exec: lwau, class: clLoadUpdateIndexed},
	ppc64asm.LDUX:  {form: formLoadX, exec: ldu, class: clLoadUpdateIndexed},

	ppc64asm.STB:    {form: formStore, exec: stb, class: clStore},
	ppc64asm.STH:    {form: formStore, exec: sth, class: clStore},
	ppc64asm.STW:    {form: formStore, exec: stw, class: clStore},
	ppc64asm.STD:    {form: formStoreDS, exec: std, class: clStore},
	ppc64asm.STBX:   {form: formStoreX, exec: stb, class: clStore},
	ppc64asm.STHX:   {form: formStoreX, exec: sth, class: clStore},
	ppc64asm.STWX:   {form: formStoreX, exec: stw, class: clStore},
	ppc64asm.STDX:   {form: formStoreX, exec: std, class: clStore},
	ppc64asm.STHBRX: {form: formStoreX, exec: sthbrx, class: clStore},
	ppc64asm.STWBRX: {form: formStoreX, exec: stwbrx, class: clStore},

	ppc64asm.STBU:  {form: formStore, exec: stbu, class: clStoreUpdate},
	ppc64asm.STHU:  {form: formStore, exec: sthu, class: clStoreUpdate},
	ppc64asm.STWU:  {form: formStore, exec: stwu, class: clStoreUpdate},
	ppc64asm.STDU:  {form: formStoreDS, exec: stdu, class: clStoreUpdate},
	ppc64asm.STBUX: {form: formStoreX, exec: stbu, class: clStoreUpdateIndexed},
	ppc64asm.STHUX: {form: formStoreX, exec: sthu, class: clStoreUpdateIndexed},
	ppc64asm.STWUX: {form: formStoreX, exec: stwu, class: clStoreUpdateIndexed},
	ppc64asm.STDUX: {form: formStoreX, exec: stdu, class: clStoreUpdateIndexed},

	ppc64asm.LMW:   {form: formMultiple, exec: lmw, class: clLoadMultiple},
	ppc64asm.STMW:  {form: formStore, exec: stmw, class: clStoreMultiple},
	ppc64asm.LSWI:  {form: formString, exec: lswi, class: clLoadString},
	ppc64asm.LSWX:  {form: formStringX, exec: lswx, class: clLoadString},
	ppc64asm.STSWI: {form: formString, exec: stswi, class: clStoreString, flags: engine.Stores},
	ppc64asm.STSWX: {form: formStoreX, exec: stswx, class: clStoreString},

	// A reservation takes no line from others: its load shares it, its store owns it.
	ppc64asm.LWARX:   {form: formLoadX, exec: lwarx, class: clLarx},
	ppc64asm.LDARX:   {form: formLoadX, exec: ldarx, class: clLarx},
	ppc64asm.STWCXCC: {form: formConditional, exec: stwcx, class: clStcx},
	ppc64asm.STDCXCC: {form: formConditional, exec: stdcx, class: clStcx},
}

// cache is Book II, Cache Management Instructions and Memory Barrier Instructions. Hints do nothing.
var cache = map[ppc64asm.Op]row{
	ppc64asm.DCBT:   {form: formTouch, exec: nop, class: clTouch},
	ppc64asm.DCBTST: {form: formTouch, exec: nop, class: clTouch},
	ppc64asm.DCBST:  {form: formTouch, exec: touchBlock, class: clCacheBlock, flags: engine.Loads},
	ppc64asm.DCBF:   {form: formTouch, exec: touchBlock, class: clCacheBlock, flags: engine.Loads},
	ppc64asm.ICBI:   {form: formTouch, exec: icbi, class: clIcbi, flags: engine.Loads},
	ppc64asm.DCBZ:   {form: formTouch, exec: dcbz, class: clDcbz, flags: engine.Stores},
	ppc64asm.SYNC:   {form: formLevel, exec: sync, class: clSync},
	ppc64asm.EIEIO:  {form: formNone, exec: eieio, class: clEieio},
	ppc64asm.ISYNC:  {form: formNone, exec: isync, class: clIsync, flags: engine.Ends},
}

// system is Book III, Branch Processor Instructions, Move To/From Machine State Register, and SLB and TLB
// Management Instructions.
var system = map[ppc64asm.Op]row{
	ppc64asm.SC:      {form: formLevel, exec: systemCall, class: clSyscall, flags: engine.Ends},
	ppc64asm.RFID:    {form: formNone, exec: rfid, class: clRfid, flags: engine.Ends},
	ppc64asm.MFMSR:   {form: formRT, exec: mfmsr, class: clMfmsr},
	ppc64asm.MTMSR:   {form: formMtmsr, exec: mtmsr, class: clMtmsrd, flags: engine.Ends},
	ppc64asm.MTMSRD:  {form: formMtmsr, exec: mtmsrd, class: clMtmsrd, flags: engine.Ends},
	ppc64asm.SLBMTE:  {form: formRSRB, exec: slbmte, class: clSLB, flags: engine.Ends},
	ppc64asm.SLBIE:   {form: formRB, exec: slbie, class: clSLB, flags: engine.Ends},
	ppc64asm.SLBIA:   {form: formNone, exec: slbia, class: clSlbia, flags: engine.Ends},
	ppc64asm.SLBMFEE: {form: formRTRB, exec: slbmfee, class: clSLB},
	ppc64asm.SLBMFEV: {form: formRTRB, exec: slbmfev, class: clSLB},
	ppc64asm.TLBIE:   {form: formRB, exec: tlbie, class: clTlbie, flags: engine.Ends},
	ppc64asm.TLBIEL:  {form: formRB, exec: tlbiel, class: clTlbie, flags: engine.Ends},
	ppc64asm.TLBSYNC: {form: formNone, exec: tlbsync, class: clTlbsync},
}
