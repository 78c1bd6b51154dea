package x86

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// guarded is a processor that claims the features of this file.
func guarded(t *testing.T, isa *cpus.ISA, code ...byte) (*world, *CPU) {
	t.Helper()
	return asked(t, isa, cpus.Answers{tableCPUID: {
		1:            {0x10676, 1<<16 | 8<<8, featuresC | featurePCID, featuresD},
		leafFeatures: {0, featureSMEP | featureINVPCID | featureSMAP, 0, 0},
	}}, code...)
}

// userPage is an address of user mode, and userData where it lies.
const (
	userPage = 0x40000000
	userData = 0x400000
)

// TestSupervisorKeepsOut has the supervisor access a page of user mode.
func TestSupervisorKeepsOut(t *testing.T) {
	stac, clac := []byte{0x0f, 0x01, 0xcb}, []byte{0x0f, 0x01, 0xca}
	read, write, call, hlt := []byte{0x8b, 0x18}, []byte{0x89, 0x08}, []byte{0xff, 0xe0}, []byte{0xf4}
	eachMode(t, func(t *testing.T, isa *cpus.ISA) {
		for _, x := range []struct {
			name   string
			cr4    uint64
			user   uint64 // the right of the page
			code   [][]byte
			err    uint64 // of #PF; 0 for none
			behind int    // instructions before it
		}{
			{"read", cr4SMAP, pteUser, [][]byte{read}, pfPresent, 0},
			{"write", cr4SMAP, pteUser, [][]byte{write}, pfPresent | pfWrite, 0},
			{"permitted", cr4SMAP, pteUser, [][]byte{stac, read, write, clac, hlt}, 0, 0},
			{"no more permitted", cr4SMAP, pteUser, [][]byte{stac, read, clac, read}, pfPresent, 3},
			{"no more permitted to write", cr4SMAP, pteUser, [][]byte{stac, write, clac, write}, pfPresent | pfWrite, 3},
			{"own page", cr4SMAP | cr4SMEP, 0, [][]byte{read, write, hlt}, 0, 0},
			{"not asked for", cr4SMEP, pteUser, [][]byte{read, write, hlt}, 0, 0},
			{"executed", cr4SMEP, pteUser, [][]byte{read, call}, pfPresent | pfFetch, 2},
			{"executed as permitted", cr4SMAP, pteUser, [][]byte{call}, 0, 0},
		} {
			t.Run(x.name, func(t *testing.T) {
				var code []byte
				at := 0
				for i, in := range x.code {
					if i < x.behind {
						at += len(in)
					}
					code = append(code, in...)
				}
				w, c := guarded(t, isa, code...)
				w.mapPage(userPage, userData|ptePresent|pteWrite|x.user)
				w.mem.Write(userData, []byte{0xf4})
				require.Need(t, c.writeCR(4, c.cr4|x.cr4), "CR4 refuses %#x", x.cr4)
				c.R[rax], c.R[rcx] = userPage, 0xf4
				if x.err == 0 {
					halt(t, c)
					return
				}
				tr, from := w.trapped(c), w.code(testCode)+uint64(at)
				if x.err&pfFetch != 0 {
					from = userPage
				}
				require.That(t, tr.vector == vecPF && tr.code == x.err && tr.rip == from && c.cr2 == userPage, "%+v and CR2 %#x; want #PF with %#x at %#x", tr, c.cr2, x.err, from)
			})
		}
	})
}

// TestImplicitAccess keeps the processor's own accesses from pages of user mode whatever AC says (SDM vol. 3, 4.6.1).
func TestImplicitAccess(t *testing.T) {
	w, c := guarded(t, ISA64())
	w.mapPage(userPage, userData|ptePresent|pteWrite|pteUser)
	c.writeCR(4, c.cr4|cr4SMAP)
	w.user(c)
	c.setCtl(c.ctl | flagAC)
	_, own := load[uint64](c, userPage)
	_, tables := loadSystem[uint64](c, userPage)
	require.That(t, own && !tables && c.fault.vector == vecPF, "user mode reads its page: %v, the processor a table there: %v", own, tables)
}

// TestRightsOfCode has a walk for a fetch grant no more than one for data: both may share a TLB.
func TestRightsOfCode(t *testing.T) {
	w, c := start(t)
	w.mapPage(userPage, userData|ptePresent)
	c.cr0 |= cr0WP
	p := c.page(c.ITLB, userPage, c.wanted(false, true))
	require.That(t, p != nil && p.Rights&mmu.Write == 0, "a fetch finds %+v", p)
}

// TestWithoutFeature raises what the instructions and control bits of a feature raise on a processor without it, and at a level that may not.
func TestWithoutFeature(t *testing.T) {
	stac, clac, invpcid := []byte{0x0f, 0x01, 0xcb}, []byte{0x0f, 0x01, 0xca}, []byte{0x66, 0x0f, 0x38, 0x82, 0x08}
	for _, x := range []struct {
		code         []byte
		without, in3 int
	}{
		{stac, vecUD, vecUD},
		{clac, vecUD, vecUD},
		{append([]byte{0xf0}, stac...), vecUD, vecUD},
		{invpcid, vecUD, vecGP},
	} {
		w, c := start(t, x.code...)
		tr := w.trapped(c)
		require.Equal(t, tr.vector, x.without, "%x without the feature", x.code)
		w, c = guarded(t, ISA64())
		w.mapUser(userPage, userData, 0x1000, pageExec)
		w.mem.Write(userData, x.code)
		w.user(c)
		c.R[rRIP], c.R[rsp] = userPage, userPage+0x800
		tr = w.trapped(c)
		require.Equal(t, tr.vector, x.in3, "%x in user mode", x.code)
	}
	_, c := start(t)
	for _, bit := range []uint64{cr4PCIDE, cr4SMEP, cr4SMAP} {
		require.That(t, !c.writeCR(4, c.cr4|bit), "CR4 takes %#x without the feature", bit)
	}
}

// spaces is a processor with PCIDs, and what it reads at userPage under a value of CR3.
func spaces(t *testing.T) (w *world, c *CPU, read func(cr3 uint64) uint64) {
	t.Helper()
	w, c = guarded(t, ISA64(), 0x0f, 0x22, 0xda, 0x8b, 0x08, 0xf4) // mov %rdx,%cr3; mov (%rax),%ecx; hlt
	for i := range uint64(8) {
		w.mem.Store(binary.LittleEndian, userData+i<<12, 4, i)
	}
	require.Need(t, c.writeCR(4, c.cr4|cr4PCIDE), "CR4 refuses PCIDs")
	c.R[rax] = userPage
	return w, c, func(cr3 uint64) uint64 {
		c.Halted, c.R[rRIP], c.R[rdx] = false, w.code(testCode), cr3
		halt(t, c)
		return c.R[rcx]
	}
}

// TestAddressSpaces keeps translations of other address spaces, unless a load of CR3 drops them.
func TestAddressSpaces(t *testing.T) {
	for _, global := range []uint64{0, pteGlobal} {
		w, c, read := spaces(t)
		root := c.cr3
		now := uint64(0)
		remap := func() { now++; w.mapPage(userPage, userData+now<<12|ptePresent|global) }
		remap()
		first := read(root | 1)
		require.Equal(t, c.cr3, root|1, "CR3")
		remap()
		other := read(root | 2)
		remap()
		kept := read(root | 1 | cr3Keeps)
		require.Equal(t, c.cr3, root|1, "CR3 without the bit that keeps")
		otherKept := read(root | 2 | cr3Keeps)
		dropped := read(root | 1)
		stillKept := read(root | 2 | cr3Keeps)
		got, want := [6]uint64{first, other, kept, otherKept, dropped, stillKept}, [6]uint64{1, 2, 1, 2, 3, 2}
		if global != 0 {
			want = [6]uint64{1, 1, 1, 1, 1, 1}
		}
		require.Equal(t, got, want, "pages read, with the global bit %#x", global)
	}
	_, c, _ := spaces(t)
	c.long = false
	require.That(t, !c.writeCR(0, c.cr0&^cr0PG), "paging ends with PCIDs on")
	c.long, c.fault = true, fault{}
	require.That(t, c.writeCR(4, c.cr4&^cr4PCIDE) && c.writeCR(3, c.cr3|1) && !c.writeCR(4, c.cr4|cr4PCIDE), "PCIDs begin while CR3 has one")
	c.fault = fault{}
	require.That(t, !c.writeCR(3, c.cr3|cr3Keeps), "CR3 takes bit 63 without PCIDs")
}

// TestInvalidateSpaces drops translations by address space.
func TestInvalidateSpaces(t *testing.T) {
	const own, foreign = 1, 2
	for _, x := range []struct {
		name         string
		kind, tag    uint64
		va           uint64
		own, foreign uint64 // what is read afterwards; 1 and 2 stand in the TLB, 3 in the tables
		global       bool
	}{
		{"address", invAddress, own, userPage, 3, 2, false},
		{"another address", invAddress, own, userPage + 0x1000, 1, 2, false},
		{"address of another space", invAddress, foreign, userPage, 1, 3, false},
		{"a global page by its address", invAddress, own, userPage, 1, 1, true},
		{"space", invSpace, own, 0, 3, 2, false},
		{"all", invAll, 0, 0, 3, 3, false},
		{"all with global ones", invAll, 0, 0, 3, 3, true},
		{"all but global ones", invNotGlobal, 0, 0, 3, 3, false},
		{"all but this global one", invNotGlobal, 0, 0, 1, 1, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			w, c, read := spaces(t)
			root, global := c.cr3, uint64(0)
			if x.global {
				global = pteGlobal
			}
			w.mem.Write(testCode-kernelMap+6, []byte{0x66, 0x0f, 0x38, 0x82, 0x3e, 0xf4}) // invpcid (%rsi),%rdi; hlt
			for i, tag := range []uint64{own, foreign} {
				w.mapPage(userPage, userData+uint64(i+1)<<12|ptePresent|global)
				read(root | tag)
			}
			w.mapPage(userPage, userData+3<<12|ptePresent|global)
			read(root | own | cr3Keeps)
			descriptor := w.at(testData)
			pa, _ := c.Translate(descriptor)
			w.mem.Store(binary.LittleEndian, pa, 8, x.tag)
			w.mem.Store(binary.LittleEndian, pa+8, 8, x.va)
			c.R[rsi], c.R[rdi], c.Halted, c.R[rRIP] = descriptor, x.kind, false, w.code(testCode)+6
			halt(t, c)
			require.Equal(t, [2]uint64{read(root | own | cr3Keeps), read(root | foreign | cr3Keeps)}, [2]uint64{x.own, x.foreign}, "pages read in the two address spaces")
		})
	}
}

// TestInvalidateRefused raises #GP for what invpcid does not take.
func TestInvalidateRefused(t *testing.T) {
	for _, x := range []struct {
		kind, tag, va uint64
		off           bool // PCIDs are off
	}{
		{invNotGlobal + 1, 0, 0, false},
		{invAll, maxPCID + 1, 0, false},
		{invAddress, 1, 1 << 47, false},
		{invAddress, 1, 0, true},
		{invSpace, 1, 0, true},
	} {
		w, c := guarded(t, ISA64(), 0x66, 0x0f, 0x38, 0x82, 0x3e) // invpcid (%rsi),%rdi
		if !x.off {
			c.writeCR(4, c.cr4|cr4PCIDE)
		}
		descriptor := w.at(testData)
		pa, _ := c.Translate(descriptor)
		w.mem.Store(binary.LittleEndian, pa, 8, x.tag)
		w.mem.Store(binary.LittleEndian, pa+8, 8, x.va)
		c.R[rsi], c.R[rdi] = descriptor, x.kind
		tr := w.trapped(c)
		require.That(t, tr.vector == vecGP && tr.code == 0, "%+v: %+v", x, tr)
	}
}
