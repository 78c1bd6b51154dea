package ppc64

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// bare is a program without a kernel, for qemu-system-ppc64 and for the simulator. It begins in real mode, loads
// the page table and the segments, and goes through cases in translated mode. Each raises interrupts, whose
// handlers write a record of the registers that say why and go on where r30 points, with the MSR of r29.
// r31 is the real address of the next record.
type bare struct {
	w     *world
	text  []uint32
	user  []uint32
	names []string // of records
}

// Real addresses of the program.
const (
	bareCode = 0x10000
	bareLog  = 0x50000 // a mark when the program is done, then records
	bareLogs = 0x8000
	bareDone = 0x600d
	record   = 48
)

const kernelMSR = msrSF | msrME | msrIR | msrDR | msrRI

func (b *bare) here() uint64        { return kernelMap + bareCode + 4*uint64(len(b.text)) }
func (b *bare) emit(code ...uint32) { b.text = append(b.text, code...) }

// load puts any number into a register.
func load(rt uint32, v uint64) []uint32 {
	return []uint32{
		lis(rt, int(int16(v>>48))), ori(rt, rt, int(v>>32&0xffff)), insnMD(rt, rt, 32, 31, 1), // sldi
		insnD(25, rt, rt, int(v>>16&0xffff)), ori(rt, rt, int(v&0xffff)),
	}
}

// begin writes the handlers and what comes before the cases.
func (b *bare) begin() {
	for v := uint64(vecReset); v < 0x1000; v += 0x80 {
		b.w.words(v,
			mfsprOf(24, 26), mfsprOf(25, 27), mfsprOf(26, 19), mfsprOf(27, 18), li(28, int(v)),
			stdAt(28, 31, 0), stdAt(24, 31, 8), stdAt(25, 31, 16), stdAt(26, 31, 24), stdAt(27, 31, 32),
			addiTo(31, 31, record), li(28, 0), mtspr(19, 28), mtspr(18, 28), mtspr(26, 30), mtspr(27, 29), insnRfid)
	}
	b.emit(load(3, b.w.bus.Root)...)
	b.emit(mtspr(25, 3), insnX(31, 0, 0, 0, 498))
	b.emit(load(3, 0x7fffffff)...)
	b.emit(mtspr(22, 3), li(3, 0), mtspr(18, 3), mtspr(19, 3)) // no decrementer interrupts
	list := b.w.bus.Root&sdrOrigin + group<<(groupsMin+b.w.bus.Root&sdrSize)
	for i := uint64(0); ; i++ {
		esid := b.w.mem.Load(binary.BigEndian, list+16*i, 8)
		if esid&slbValid == 0 {
			break
		}
		b.emit(load(3, esid|i)...)
		b.emit(load(4, b.w.mem.Load(binary.BigEndian, list+16*i+8, 8))...)
		b.emit(insnX(31, 4, 0, 3, 402))
	}
	b.emit(load(31, bareLog+record)...)
	b.emit(load(29, kernelMSR)...)
	b.enter(b.here()+4*13, kernelMSR)
}

// enter goes somewhere by rfid, in 13 instructions.
func (b *bare) enter(at, m uint64) {
	b.emit(load(20, at)...)
	b.emit(load(21, m)...)
	b.emit(mtspr(26, 20), mtspr(27, 21), insnRfid)
}

// one is a case in the kernel: what raises the interrupt, behind which the next case follows.
func (b *bare) one(name string, code ...uint32) {
	b.names = append(b.names, name)
	b.emit(load(30, b.here()+4*uint64(5+len(code)))...)
	b.emit(code...)
}

// inMode is a case whose code runs with other bits of MSR, in the page of user mode.
func (b *bare) inMode(name string, m uint64, code ...uint32) {
	b.names = append(b.names, name)
	b.emit(load(30, b.here()+4*(5+13))...)
	b.enter(userCode+4*uint64(len(b.user)), m)
	b.user = append(b.user, code...)
}

// stateWords of a record of registers.
const bareState = 21

// state writes a record of r0 to r20, the condition register and XER.
func (b *bare) state() {
	b.emit(load(22, kernelMap)...)
	b.emit(addTo(22, 22, 31))
	for r := range uint32(bareState) {
		b.emit(stdAt(r, 22, 8*int(r)))
	}
	b.emit(insnX(31, 23, 0, 0, 19), stdAt(23, 22, 8*bareState), mfsprOf(23, 1), stdAt(23, 22, 8*bareState+8))
	b.emit(addiTo(31, 31, 8*(bareState+2)))
}

// end marks the log.
func (b *bare) end() {
	b.emit(load(22, kernelMap+bareLog)...)
	b.emit(li(23, bareDone), stdAt(23, 22, 0), insnI(0, 0))
	b.w.words(bareCode, b.text...)
	b.w.words(freePages, b.user...)
}

// at is code that uses an address in r3.
func at(v uint64, code ...uint32) []uint32 { return append(load(3, v), code...) }

// bareCases are interrupts of each kind, in both modes.
func bareCases(b *bare) {
	lwz, stw := insnD(32, 4, 3, 0), insnD(36, 4, 3, 0)
	jump := []uint32{mtspr(9, 3), 0x4e800420}
	b.one("trap", insnTrap)
	b.one("illegal", 0)
	b.one("system call", insnSC)
	b.one("load, no page", at(userGap+8, lwz)...)
	b.one("store, no page", at(userGap+8, stw)...)
	b.one("load, no segment", at(userNone, lwz)...)
	b.one("store, no segment", at(userNone, stw)...)
	b.one("store, read-only", at(userConst, stw)...)
	b.one("fetch, no page", at(userGap, jump...)...)
	b.one("fetch, no segment", at(userNone, jump...)...)
	b.one("fetch, not executable", at(userPlain, jump...)...)
	b.one("dcbz, no page", at(userGap+8, insnX(31, 1, 0, 3, 1014))...)
	b.one("stwcx. that needs no page, then a trap", append(at(userGap, insnX(31, 4, 0, 3, 150)|1), insnTrap)...)
	b.one("lwarx that is not aligned", at(userData+2, insnX(31, 4, 0, 3, 20))...)
	b.one("floating point", insnD(50, 1, 1, 0))
	b.inMode("user: trap", userMSR, insnTrap)
	b.inMode("user: system call", userMSR, insnSC)
	b.inMode("user: illegal", userMSR, 0)
	for _, privileged := range []uint32{
		insnRfid, insnX(31, 3, 0, 0, 83), insnX(31, 3, 0, 0, 146), insnX(31, 3, 0, 0, 178), insnX(31, 3, 1, 0, 178), // moves to and from MSR
		insnX(31, 3, 0, 4, 402), insnX(31, 0, 0, 3, 434), insnX(31, 0, 0, 0, 498), insnX(31, 3, 0, 4, 915), insnX(31, 3, 0, 4, 851), // segments
		insnX(31, 0, 0, 3, 306), insnX(31, 0, 0, 3, 274), insnX(31, 0, 0, 0, 566), mfsprOf(3, 26), mtspr(26, 3), mfsprOf(3, 22),
	} {
		b.inMode(fmt.Sprintf("user: %#x", privileged), userMSR, privileged)
	}
	b.inMode("user: the kernel's page", userMSR, at(kernelMap, lwz)...)
	b.inMode("user: store to the kernel's page", userMSR, at(kernelMap, stw)...)
	b.inMode("user: store, read-only", userMSR, at(userConst, stw)...)
	b.inMode("user: no page", userMSR, at(userGap, lwz)...)
	b.inMode("user: into the kernel's page", userMSR, at(kernelMap, jump...)...)
	b.inMode("user: store that is allowed, then a trap", userMSR, append(at(userData, stw), insnTrap)...)
	b.inMode("trace", kernelMSR|msrSE, insnNop)
	b.inMode("trace of a branch", kernelMSR|msrSE, insnI(0, 8))
	b.inMode("branch trace", kernelMSR|msrBE, insnNop, insnI(0, 8))
	b.inMode("trace of isync", kernelMSR|msrSE, insnIsync)
	b.inMode("trace: a fault comes first", kernelMSR|msrSE, insnD(32, 4, 31, 0), insnD(32, 4, 31, 0))
	b.inMode("trace: system call", kernelMSR|msrSE, insnSC)
	b.inMode("trace: a trap that is taken", kernelMSR|msrSE, insnTrap)
	b.inMode("trace in user mode", userMSR|msrSE, insnNop)
	b.inMode("32 bits: system call", userMSR&^msrSF, insnSC)
	b.inMode("32 bits: address that wraps", userMSR&^msrSF, append(at(0xffff_ffff_0000_0000|userGap, lwz), insnTrap)...)
}

// Further places of the program: pages with each value of PP, pages whose entries are moved to other groups, and large
// pages, which begin at real address 0.
const (
	userPP      = 0x1000a000 // and the three behind it, with gaps
	userSecond  = 0x10014000 // in its secondary group
	userBoth    = 0x10016000 // marked as secondary in its primary group
	userNeither = 0x10018000 // marked as primary in its secondary group
	userLarge   = 0x20000000
	userLarge2  = 0x30000000 // in its secondary group
	aliases     = 0x60       // the first segment that is the one of user mode once more
)

// storageMaps are these pages.
func storageMaps() []mmu.Mapping {
	maps := userMaps()
	for i, va := range []uint64{userPP, userPP + 0x2000, userPP + 0x4000, userPP + 0x6000, userSecond, userBoth, userNeither} {
		maps = append(maps, mmu.Mapping{VA: va, PA: freePages + uint64(4+i)*0x1000, Size: 0x1000, User: true, Writable: true, Exec: true})
	}
	for _, va := range []uint64{userLarge, userLarge2} {
		maps = append(maps, mmu.Mapping{VA: va, Size: 1 << largePage, User: true, Writable: true, Exec: true, Large: true})
	}
	return maps
}

// entry finds the entry of a page.
func (b *bare) entry(c *CPU, va uint64) (at uint64, w hashWalk) {
	w = hashWalk{m: b.w.mem, sdr1: c.sdr1, s: c.findSegment(va), ea: va}
	at, ok := w.find()
	require.Need(b.w.tb, ok, "%#x has no entry", va)
	return at, w
}

// rearrange sets PP of the pages that are for it, and moves and marks entries.
func (b *bare) rearrange(c *CPU) {
	for pp := range uint64(4) {
		at, _ := b.entry(c, userPP+pp*0x2000)
		b.w.mem.Store(binary.BigEndian, at+8, 8, b.w.mem.Load(binary.BigEndian, at+8, 8)&^ptePP|pp)
	}
	for _, x := range []struct {
		va         uint64
		move, mark bool
	}{{userSecond, true, true}, {userLarge2, true, true}, {userBoth, false, true}, {userNeither, true, false}} {
		at, w := b.entry(c, x.va)
		first, second := b.w.mem.Load(binary.BigEndian, at, 8), b.w.mem.Load(binary.BigEndian, at+8, 8)
		b.w.mem.Store(binary.BigEndian, at, 8, 0)
		if x.move {
			for at = groupAt(c.sdr1, ^w.hash()); b.w.mem.Load(binary.BigEndian, at, 8)&pteValid != 0; at += pteBytes {
			}
		}
		if x.mark {
			first |= pteSecondary
		}
		b.w.mem.Store(binary.BigEndian, at, 8, first)
		b.w.mem.Store(binary.BigEndian, at+8, 8, second)
	}
}

// storageCases reach pages through both groups and through large pages, and each value of PP by each key in both modes.
func storageCases(b *bare, user *slbEntry) {
	lwz, stw := insnD(32, 4, 3, 0), insnD(36, 4, 3, 0)
	jump := []uint32{mtspr(9, 3), 0x4e800420}
	for _, va := range []uint64{userSecond, userBoth, userNeither, userLarge + freePages + 0x1008, userLarge2 + freePages + 0x1008} {
		b.one(fmt.Sprintf("load from %#x", va), append(at(va, lwz), insnTrap)...)
		b.one(fmt.Sprintf("store to %#x", va), append(at(va, stw), insnTrap)...)
		b.emit(li(0, 1)) // a record does not begin with zeros
		b.state()
	}
	b.inMode("user: a trap in a large page", userMSR, at(userLarge+freePages, jump...)...)
	const noExecute = 4
	for k := range uint64(noExecute + 1) { // Ks, Kp, and one that nothing is fetched from
		attrs := [...]uint64{0, slbKp, slbKs, slbKs | slbKp, slbN}[k]
		b.one(fmt.Sprintf("segment %d", k), append(append(load(3, (aliases+k)<<segment|slbValid|21+k), load(4, user.vsid&slbVSID|attrs)...),
			insnX(31, 4, 0, 3, 402), insnTrap)...)
		for pp := range uint64(4) {
			va := (aliases+k)<<segment | (userPP+pp*0x2000)&(1<<segment-1)
			for i, access := range []uint32{lwz, stw} {
				name := fmt.Sprintf("segment %d, PP %d, %s", k, pp, [...]string{"load", "store"}[i])
				b.one(name, append(at(va, access), insnTrap)...)
				b.inMode("user: "+name, userMSR, append(at(va, access), insnTrap)...)
			}
		}
		b.inMode(fmt.Sprintf("user: fetch from segment %d", k), userMSR, at((aliases+k)<<segment|userCode&(1<<segment-1), jump...)...)
	}
}

// slbCases change segments; a trap ends each.
func slbCases(b *bare) {
	const slot = 20
	entry := uint64(0x5_0000_0000 | slbValid | slot)
	b.one("slbmte", append(append(load(3, entry), load(4, 0x321<<12|slbKp)...), insnX(31, 4, 0, 3, 402), insnTrap)...)
	b.one("slbmfee, slbmfev", li(5, slot), insnX(31, 6, 0, 5, 915), insnX(31, 7, 0, 5, 851), insnTrap)
	b.state()
	b.one("its page is not there", at(0x5_0000_1000, insnD(32, 4, 3, 0))...)
	b.one("slbie", append(at(0x5_0000_0000, insnX(31, 0, 0, 3, 434)), insnTrap)...)
	b.one("its segment is not there", at(0x5_0000_1000, insnD(32, 4, 3, 0))...)
	b.one("mtmsrd", append(load(3, kernelMSR|msrFP|msrPMM), insnX(31, 3, 0, 0, 178), insnX(31, 4, 0, 0, 83), insnTrap)...)
	b.state()
	b.one("mtmsrd, L = 1", append(load(3, msrFP), insnX(31, 3, 1, 0, 178), insnX(31, 4, 0, 0, 83), insnTrap)...)
	b.state()
	b.one("slbia", insnX(31, 0, 0, 0, 498), insnTrap)
	b.one("the segment of user mode is gone", at(userData, insnD(32, 4, 3, 0))...)
}

// narrowCases compute in 32-bit mode.
func narrowCases(b *bare, r *rand.Rand) {
	pool := sequenceForms(r)
	for i := range 8 {
		var code []uint32
		for len(code) < 40 {
			for _, w := range pool[r.IntN(len(pool))].code {
				rt, ra, rb := w>>21&31, w>>16&31, w>>11&31
				if w>>26 == 31 && w>>1&0x3ff == 122 {
					continue // popcntb is younger than a 970
				}
				if opcode := w >> 26; rt < bareState && ra < bareState && (rb < bareState || opcode != 31) && len(code) < 40 {
					code = append(code, w)
				}
			}
		}
		for reg := range uint32(bareState) {
			b.emit(load(reg, value(r))...)
		}
		b.emit(li(22, 0), mtspr(1, 22), insnX(31, 22, 0, 0, 19), 31<<26|22<<21|0xff<<12|144<<1)
		b.emit(load(30, b.here()+4*(5+13))...)
		b.names = append(b.names, fmt.Sprintf("32 bits: sequence %d", i))
		// enter uses r20, which is not compared then, and r21
		b.enter(userCode+4*uint64(len(b.user)), userMSR&^msrSF)
		b.user = append(append(b.user, code...), insnSC)
		b.state()
	}
}

// TestAgainstQemuSystem compares supervisor state: what each interrupt leaves in the registers, and the page
// table with its referenced and changed bits.
func TestAgainstQemuSystem(t *testing.T) {
	path := hosttools.Need(t, "qemu-system-ppc64", "qemu-system-ppc", "the comparison of supervisor state")
	b := &bare{w: newWorld(t, cpus.Window, nil, storageMaps()...)}
	b.w.bus.Native = [2]uint64{1, 1}
	c := b.w.cpu()
	for _, m := range storageMaps() {
		at, _ := b.entry(c, m.VA)
		v := b.w.mem.Load(binary.BigEndian, at+8, 8)
		b.w.mem.Store(binary.BigEndian, at+8, 8, v&^(pteReferenced|pteChanged))
	}
	b.rearrange(c)
	b.begin()
	bareCases(b)
	storageCases(b, c.findSegment(userData))
	narrowCases(b, rand.New(rand.NewPCG(9, 9)))
	slbCases(b)
	b.end()
	log, table := bareOnQemu(t, path, b)
	c.Reset()
	c.Boot(bareCode, 0)
	c.slb, c.sdr1 = [slbEntries]slbEntry{}, 0
	c.setMSR(msrSF)
	for range 2 { // setting the decrementer is a reason to stop
		e := c.Run(c.Now() + 1e7)
		require.That(t, e.Reason == cpus.Limit, "the simulator stops at %#x for reason %d: %s", c.PC(), e.Reason, e.Detail)
	}
	own := b.w.mem.Bytes(bareLog, bareLogs)
	compareLogs(t, b.names, log, own)
	if got := b.w.mem.Bytes(worldTables, len(table)); !bytes.Equal(table, got) {
		for i := 0; i < len(table); i += 16 {
			require.That(t, bytes.Equal(table[i:i+16], got[i:i+16]), "entry %#x of the page table: qemu %x, simulator %x", i, table[i:i+16], got[i:i+16])
		}
	}
}

// compareLogs compares record by record. A trace interrupt may set bits of SRR1 as the processor likes.
func compareLogs(t *testing.T, names []string, want, got []byte) {
	word := func(b []byte, i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	if word(want, 0) != bareDone || word(got, 0) != bareDone {
		t.Errorf("the program is done: qemu %#x, simulator %#x", word(want, 0), word(got, 0))
	}
	at, compared := record/8, 0
	for at < len(want)/8-record/8 && word(want, at)|word(got, at)|word(want, at+1)|word(got, at+1) != 0 {
		n, name := record/8, "registers behind the last"
		if v := word(want, at); v >= vecReset && v < 0x1000 && v%0x80 == 0 && word(want, at+5) == 0 && compared < len(names) {
			name = names[compared]
			compared++
		} else {
			n = bareState + 2
		}
		for i := range n {
			x, y := word(want, at+i), word(got, at+i)
			if n == record/8 && i == 2 && word(want, at) == vecTrace {
				x, y = x&^srr1Reasons, y&^srr1Reasons
			}
			if x != y && (n == record/8 || i != 20) {
				t.Errorf("%s, word %d: qemu %#x, simulator %#x", name, i, x, y)
			}
		}
		at += n
	}
	require.That(t, compared == len(names), "%d of %d records", compared, len(names))
	t.Logf("%d interrupts were compared", compared)
}

// bareOnQemu runs the program on a machine with a 970 and returns its log and the page table.
func bareOnQemu(t *testing.T, path string, b *bare) (log, table []byte) {
	done := func(log []byte) bool { return binary.BigEndian.Uint64(log) == bareDone }
	spans := []hosttools.Span{{At: bareLog, Size: bareLogs}, {At: worldTables, Size: group << groupsMin}}
	all := hosttools.EmulateMachine(t, path, []string{"-M", "mac99", "-cpu", "970fx"}, b.w.mem.Raw(), bareCode, done, spans...)
	return all[0], all[1]
}
