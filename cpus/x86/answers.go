package x86

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"kprobesim/cpus"
)

// What a processor says of itself: the leaves of cpuid, and MSRs that only hold a value. Both are tables that
// a machine description may change row by row. What it does not say is as on a Core 2 (family 6, model
// 23), but that instructions which are not modelled are absent.

// Names of the tables.
const (
	tableCPUID = "cpuid"
	tableMSR   = "msr"
)

// answerTables holds the tables of cpus.ISA. Of an MSR that software may write, the second column has the bits.
var answerTables = []cpus.AnswerTable{
	{Name: tableCPUID, Columns: []cpus.Number{{Name: "eax", Most: 1<<32 - 1}, {Name: "ebx", Most: 1<<32 - 1}, {Name: "ecx", Most: 1<<32 - 1}, {Name: "edx", Most: 1<<32 - 1}}},
	{Name: tableMSR, Columns: []cpus.Number{{Name: "value", Most: 1<<63 - 1}, {Name: "writable", Most: 1<<63 - 1}}},
}

// leaf is an answer of cpuid: eax, ebx, ecx, edx.
type leaf [4]uint32

// Features of leaf 1 and of leaf 80000001h (SDM vol. 2, CPUID, tables 3-10 and 3-11) that are modelled: FPU, DE,
// PSE, TSC, MSR, PAE, CX8, APIC, SEP, PGE, CMOV, PAT, CLFSH, MMX, FXSR, SSE, SSE2; CMPXCHG16B, SSE3, SSSE3, POPCNT; and
// SYSCALL, XD, LM, LAHF.
const (
	featuresD      = 1<<0 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<8 | 1<<9 | 1<<11 | 1<<13 | 1<<15 | 1<<16 | 1<<19 | 1<<24 | 1<<25 | 1<<26
	featureMMX     = 1 << 23 // a description claims it, as it does the bits of claimedC
	featuresC      = 1 << 13
	claimedC       = 1<<0 | 1<<9 | 1<<23 | featurePCID | featureXSAVE // SSE3, SSSE3, POPCNT
	featurePCID    = 1 << 17
	featureXSAVE   = 1 << 26
	featureOSXSAVE = 1 << 27 // follows CR4
	featureSMEP    = 1 << 7  // of leaf 7, as the next ones
	featureERMS    = 1 << 9  // enhanced rep movsb and stosb; fast short rep movsb: time alone
	featureINVPCID = 1 << 10
	featureSMAP    = 1 << 20
	featureFSRM    = 1 << 4
	fastStrings    = 1<<10 | 1<<11 // of its second part: fast zero-length rep movsb, fast short rep stosb
	extendedD      = 1<<11 | 1<<20 | 1<<29
	repeatedD      = 0x183f3ff // of leaf 1, which leaf 80000001h may claim again: extendedNamesD
	extendedC      = 1 << 0
	structuredD    = featureFSRM | 1<<10 | 1<<26 | 1<<27 | 1<<29 | 1<<31 // and MD_CLEAR, IBRS and IBPB, STIBP, ARCH_CAPABILITIES, SSBD: verw and registers
	sizesB         = 1 << 2                                              // fxsave keeps error pointers (APM vol. 3, CPUID Fn8000_0008_EBX)
	featureAPIC    = 1 << 9
	leafFeatures   = 7
	leafFeatures1  = leafFeatures | 1<<32
	leafXSAVE      = 0xd
	leafXSAVEForms = leafXSAVE | 1<<32
	leafExtended   = 0x80000000
	leafSizes      = 0x80000008
)

// ownLeaves are the answers without a machine description's.
func ownLeaves(long bool) map[uint64]leaf {
	m := map[uint64]leaf{
		0:                {1, 0x756e6547, 0x6c65746e, 0x49656e69},
		1:                {0x10676, 1<<16 | 8<<8, 0, featuresD},
		leafExtended:     {leafSizes},
		leafExtended + 1: {3: 1 << 20},
		leafSizes:        {32<<8 | 36},
	}
	if long {
		m[1] = leaf{0x10676, 1<<16 | 8<<8, featuresC, featuresD}
		m[leafExtended+1] = leaf{2: extendedC, 3: extendedD}
		m[leafSizes] = leaf{48<<8 | 38}
	}
	return m
}

// ownMSRs are registers whose value software only reads, without a machine description's. IA32_PLATFORM_ID (SDM vol. 4, table 2-2)
// chooses among updates of microcode; its value is a prior.
func ownMSRs() map[uint32]*[2]uint64 {
	return map[uint32]*[2]uint64{0x17: {}}
}

// answers holds the answers of a CPU.
type answers struct {
	leaves  map[uint64]leaf `state:"-"`
	msrs    map[uint32]*[2]uint64
	refused []cpus.Refusal

	microcode uint64 `state:"-"` // BIOS_SIGN_ID as leaf 1 loads it (SDM vol. 3, 10.11.7.1); 0 leaves it alone
}

// newAnswers joins what a description says with what is said without one. A CPU without long mode has
// no features of it, so that one description serves both instruction sets.
func newAnswers(cfg *cpus.Config, long bool) answers {
	d := answers{leaves: ownLeaves(long), msrs: ownMSRs()}
	for n, row := range cfg.Answers[tableCPUID] {
		l := leaf{uint32(row[0]), uint32(row[1]), uint32(row[2]), uint32(row[3])}
		switch {
		case !long && n == 1:
			l[2] &^= featuresC | featurePCID
		case !long && n == leafExtended+1:
			l[2], l[3] = l[2]&^extendedC, l[3]&^(1<<11|1<<29)
		}
		d.leaves[n] = l
	}
	if d.leaves[1][2]&featureXSAVE != 0 {
		d.leaves[leafXSAVE] = leaf{partX87 | partSSE, areaSize, areaSize}
	}
	for n, row := range cfg.Answers[tableMSR] {
		if n == msrBiosSign {
			d.microcode = row[0]
			continue
		}
		d.msrs[uint32(n)] = &[2]uint64{row[0], row[1]}
	}
	return d
}

// physBits is the width of physical addresses.
func (d *answers) physBits() uint8 { return uint8(d.leaves[leafSizes][0]) }

// apic reports a local APIC.
func (d *answers) apic() bool { return d.leaves[1][3]&featureAPIC != 0 }

// cr4Bits are the bits that CR4 has: some belong to features.
func (d *answers) cr4Bits() uint64 {
	all := uint64(cr4Known)
	for _, f := range [...]struct {
		claimed bool
		bit     uint64
	}{
		{d.leaves[1][2]&featurePCID != 0, cr4PCIDE},
		{d.leaves[1][2]&featureXSAVE != 0, cr4OSXSAVE},
		{d.leaves[leafFeatures][1]&featureSMEP != 0, cr4SMEP},
		{d.smap(), cr4SMAP},
	} {
		if f.claimed {
			all |= f.bit
		}
	}
	return all
}

// smap reports that user pages are kept from the supervisor, and so that stac and clac exist.
func (d *answers) smap() bool { return d.leaves[leafFeatures][1]&featureSMAP != 0 }

// HasLocalAPIC tells whether processors of a description say that they have a local APIC.
func HasLocalAPIC(cfg *cpus.Config) bool {
	d := newAnswers(cfg, true)
	return d.apic()
}

// leafMark is the leaf whose question is a mark, with its number in ecx. It is one of those that no processor will ever answer
// (SDM vol. 2, CPUID: 40000000h to 4fffffffh), so a mark does nothing on hardware.
const leafMark = 0x4b70726f

// hasParts tells the leaves whose answer depends on ecx (SDM vol. 2, CPUID, table 3-8; APM vol. 3, E.4). A part that is
// not there has only zeros.
func hasParts(leaf uint64) bool {
	return slices.Contains([]uint64{4, leafFeatures, 0xb, leafXSAVE, 0xf, 0x10, 0x12, 0x14, 0x17, 0x18, 0x1f, 0x8000001d, 0x80000020, 0x80000026}, leaf)
}

// cpuid answers with nothing for leaves that are not there. The highest byte of ebx of leaf 1 is the CPU's number.
func cpuid(c *CPU, _ *inst) {
	c.synchronized()
	n := c.R[rax] & 0xffffffff
	if n == leafMark && c.Bus.Marked != nil && c.Bus.Marked(c.Num, c.R[rcx]&0xffffffff) {
		c.Exit(cpus.Exit{Reason: cpus.Broken})
	}
	l, ok := c.answers.leaves[n|c.R[rcx]<<32]
	if !ok && !hasParts(n) {
		l = c.answers.leaves[n]
	}
	if n == 1 {
		l[1] |= uint32(c.Num) << 24
		if c.cr4&cr4OSXSAVE != 0 {
			l[2] |= featureOSXSAVE
		}
		c.msr.biosSign = cmp.Or(c.answers.microcode, c.msr.biosSign)
	}
	c.R[rax], c.R[rbx], c.R[rcx], c.R[rdx] = uint64(l[0]), uint64(l[1]), uint64(l[2]), uint64(l[3])
}

// writeAnswered writes an MSR that only holds a value; false leaves #GP pending.
func (c *CPU) writeAnswered(n uint32, v uint64) bool {
	r, ok := c.answers.msrs[n]
	if !ok {
		c.refuseMSR("wrmsr", n)
		return false
	}
	if (v^r[0])&^r[1] != 0 {
		c.raiseCode(vecGP, 0)
		return false
	}
	if n == msrPredCmd && v&1 != 0 {
		c.ForgetTargets() // IBPB (SDM vol. 4, table 2-2)
	}
	r[0] = v
	return true
}

// maxRefused bounds the list of what was refused: a guest may try every number.
const maxRefused = 256

// refuseMSR raises #GP for an MSR that does not exist, and notes it.
func (c *CPU) refuseMSR(how string, n uint32) {
	c.raiseCode(vecGP, 0)
	c.refuse(fmt.Sprintf("%s of %#x", how, n), c.R[rRIP]-2)
}

// refuse notes what was asked for at an address and is not there.
func (c *CPU) refuse(name string, at uint64) {
	list := c.answers.refused
	i := slices.IndexFunc(list, func(r cpus.Refusal) bool { return r.Name == name })
	switch {
	case i >= 0:
		list[i].Count++
	case len(list) < maxRefused:
		c.answers.refused = append(list, cpus.Refusal{Name: name, PC: at, Count: 1})
	}
}

// Refusals implements cpus.Refuser.
func (c *CPU) Refusals() []cpus.Refusal { return slices.Clone(c.answers.refused) }

// featureColumn is a column of a leaf of cpuid whose bits are features, and those that are modelled.
type featureColumn struct {
	leaf, column, known uint64
	name                string
	features            string // names of its bits from the lowest one on, and - for none
}

// featureColumns are the columns that claim instructions or registers (SDM vol. 2, CPUID, table 3-8): leaf 7 in all its
// parts, and of XSAVE's leaf the forms of the instructions and the components of the supervisor.
func featureColumns() []featureColumn {
	return []featureColumn{
		{1, 2, featuresC | claimedC, "ecx", namesC},
		{1, 3, featuresD | featureMMX, "edx", namesD},
		{leafFeatures, 1, featureSMEP | featureERMS | featureINVPCID | featureSMAP, "ebx", structuredNamesB},
		{leafFeatures, 2, 0, "ecx", structuredNamesC},
		{leafFeatures, 3, structuredD, "edx", structuredNamesD},
		{leafFeatures1, 0, fastStrings, "eax", structuredNamesA},
		{leafXSAVEForms, 0, formOptimized | formCompacted | formInUse, "eax", "XSAVEOPT XSAVEC XGETBV_ECX1 XSAVES XFD"},
		{leafXSAVEForms, 2, 0, "ecx", ""},
		{leafXSAVEForms, 3, 0, "edx", ""},
		{leafExtended + 1, 2, extendedC, "ecx", extendedNamesC},
		{leafExtended + 1, 3, extendedD | (featuresD|featureMMX)&repeatedD, "edx", extendedNamesD},
		{leafSizes, 1, sizesB, "ebx", sizesNamesB},
	}
}

// Names of features: of leaf 1 and leaf 7 (SDM vol. 2, CPUID, tables 3-8 to 3-11), and of the extended leaves 1
// and 8 (APM vol. 3, appendix E).
const (
	namesC = "SSE3 PCLMULQDQ DTES64 MONITOR DS-CPL VMX SMX EIST TM2 SSSE3 CNXT-ID SDBG FMA CMPXCHG16B xTPR PDCM - PCID DCA SSE4.1 SSE4.2 " +
		"x2APIC MOVBE POPCNT TSC-Deadline AES XSAVE OSXSAVE AVX F16C RDRAND hypervisor"
	namesD = "FPU VME DE PSE TSC MSR PAE MCE CX8 APIC - SEP MTRR PGE MCA CMOV PAT PSE-36 PSN CLFSH - DS ACPI MMX FXSR SSE SSE2 SS HTT TM - PBE"

	structuredNamesA = "SHA512 SM3 SM4 RAO-INT AVX-VNNI AVX512_BF16 LASS CMPCCXADD ArchPerfmonExt - FZLRM FSRS FSRC"
	structuredNamesB = "FSGSBASE TSC_ADJUST SGX BMI1 HLE AVX2 FDP_EXCPTN SMEP BMI2 ERMS INVPCID RTM RDT-M FPU-CS/DS MPX RDT-A AVX512F AVX512DQ " +
		"RDSEED ADX SMAP AVX512_IFMA - CLFLUSHOPT CLWB PT AVX512PF AVX512ER AVX512CD SHA AVX512BW AVX512VL"
	structuredNamesC = "PREFETCHWT1 AVX512_VBMI UMIP PKU OSPKE WAITPKG AVX512_VBMI2 CET_SS GFNI VAES VPCLMULQDQ AVX512_VNNI AVX512_BITALG TME " +
		"AVX512_VPOPCNTDQ - LA57 - - - - - RDPID KL BUS_LOCK_DETECT CLDEMOTE - MOVDIRI MOVDIR64B ENQCMD SGX_LC PKS"
	structuredNamesD = "- SGX-KEYS AVX512_4VNNIW AVX512_4FMAPS FSRM UINTR - - AVX512_VP2INTERSECT SRBDS_CTRL MD_CLEAR RTM_ALWAYS_ABORT - " +
		"RTM_FORCE_ABORT SERIALIZE HYBRID TSXLDTRK - PCONFIG LBR CET_IBT - AMX-BF16 AVX512_FP16 AMX-TILE AMX-INT8 IBRS STIBP L1D_FLUSH " +
		"ARCH_CAPABILITIES CORE_CAPABILITIES SSBD"

	extendedNamesC = "LAHF CmpLegacy SVM ExtApicSpace AltMovCr8 ABM SSE4A MisAlignSse 3DNowPrefetch OSVW IBS XOP SKINIT WDT - LWP FMA4 TCE - - - " +
		"TBM TopologyExtensions PerfCtrExtCore PerfCtrExtNB - DataBreakpointExtension PerfTsc PerfCtrExtLLC MONITORX AddrMaskExt"
	extendedNamesD = "FPU VME DE PSE TSC MSR PAE MCE CX8 APIC - SYSCALL MTRR PGE MCA CMOV PAT PSE-36 - - NX - MmxExt MMX FXSR FFXSR Page1GB " +
		"RDTSCP - LM 3DNowExt 3DNow"
	sizesNamesB = "CLZERO InstRetCntMsr RstrFpErrPtrs INVLPGB RDPRU - BE - MCOMMIT WBNOINVD - - IBPB INT_WBINVD IBRS STIBP IbrsAlwaysOn " +
		"StibpAlwaysOn IbrsPreferred IbrsSameMode EferLmsleUnsupported InvlpgbNestedPages - PPIN SSBD SsbdVirtSpecCtrl SsbdNotRequired " +
		"CPPC PSFD BTC_NO IBPB_RET"
)

// list names features, or their bits where they have no names here: further parts of a leaf have others.
func (f *featureColumn) list(leaf, claimed uint64) string {
	var names []string
	all := strings.Fields(f.features)
	for ; claimed != 0; claimed &= claimed - 1 {
		i := bits.TrailingZeros64(claimed)
		if leaf == f.leaf && i < len(all) && all[i] != "-" {
			names = append(names, all[i])
		} else {
			names = append(names, fmt.Sprintf("bit %d", i))
		}
	}
	return strings.Join(names, ", ")
}

// checkAnswers implements cpus.ISA.CheckAnswers: features that are not modelled cannot be claimed, and MSRs that do
// something are none that a description gives the value of.
func checkAnswers(a cpus.Answers) []error {
	var errs []error
	for _, f := range featureColumns() {
		for _, n := range slices.Sorted(maps.Keys(a[tableCPUID])) { // the leaf, whatever its second number is
			claimed := a[tableCPUID][n][f.column]
			if n == f.leaf {
				claimed &^= f.known
			}
			if (n == f.leaf || n&0xffffffff == f.leaf) && claimed != 0 {
				errs = append(errs, fmt.Errorf("cpuid.%#x: bits %#x of %s are features that are not modelled (%s): leave them out", n, claimed, f.name, f.list(n, claimed)))
			}
		}
	}
	errs = append(errs, checkXSAVE(a[tableCPUID])...)
	if row, ok := a[tableCPUID][leafSizes]; ok && (row[0]&0xff < 32 || row[0]&0xff > maxPhysBits) {
		errs = append(errs, fmt.Errorf("cpuid.%#x: physical addresses of %d bits; use 32 to %d", uint64(leafSizes), row[0]&0xff, maxPhysBits))
	}
	var c CPU
	for _, n := range slices.Sorted(maps.Keys(a[tableMSR])) {
		if n == msrTSC || n == msrAPICBase || n != msrBiosSign && c.slotOf(uint32(n)) != nil || n>>32 != 0 {
			errs = append(errs, fmt.Errorf("msr.%#x: this register is modelled, its value cannot be given", n))
		}
	}
	return errs
}

// checkXSAVE holds XSAVE's leaf against the feature. But for its second part it follows from the components that are modelled, which
// have no sizes to be given.
func checkXSAVE(cpuid map[uint64][]uint64) []error {
	var errs []error
	row, ok := cpuid[1]
	claimed := ok && row[2]&featureXSAVE != 0
	if claimed && (cpuid[0] == nil || cpuid[0][0] < leafXSAVE) {
		errs = append(errs, fmt.Errorf("cpuid.0x1: XSAVE is described by leaf %#x: let cpuid.0x0 have it as the last one, or a later one", leafXSAVE))
	}
	for _, n := range slices.Sorted(maps.Keys(cpuid)) {
		switch {
		case n&0xffffffff != leafXSAVE:
		case n != leafXSAVEForms:
			errs = append(errs, fmt.Errorf("cpuid.%#x: this row follows from XSAVE in leaf 1, it cannot be given", n))
		case !claimed:
			errs = append(errs, fmt.Errorf("cpuid.%#x: forms of instructions of XSAVE, which leaf 1 does not claim", n))
		}
	}
	return errs
}
