package ppc64

import (
	"encoding/binary"

	"kprobesim/mmu"
)

// Bits of SDR1 and of the two doublewords of an entry of the hashed page table (Book III, Page Table).
const (
	sdrOrigin = 0x3fff_ffff_fffc_0000
	sdrSize   = 0x1f

	pteValid     = 1 << 0
	pteSecondary = 1 << 1
	pteLarge     = 1 << 2
	pteAVPN      = 7 // place of the abbreviated virtual page number

	ptePP         = 3
	pteNoExecute  = 1 << 2
	pteGuarded    = 1 << 3
	pteInhibited  = 1 << 5
	pteChanged    = 1 << 7
	pteReferenced = 1 << 8
	pteRPN        = 0x3fff_ffff_ffff_f000

	pteBytes  = 16
	groupPTEs = 8
	group     = pteBytes * groupPTEs
	groupsMin = 11 // logarithm of the number of groups of the smallest table
	hashMask  = 1<<39 - 1
)

// hashWalk looks for the entry of one address.
type hashWalk struct {
	m    *mmu.Memory
	sdr1 uint64
	s    *slbEntry
	ea   uint64
	refs mmu.Refs
}

func (w *hashWalk) large() bool { return w.s.vsid&slbL != 0 }

func (w *hashWalk) shift() uint8 {
	if w.large() {
		return largePage
	}
	return basePage
}

// hash is the primary hash: the segment and the number of the page in it.
func (w *hashWalk) hash() uint64 {
	return (w.s.vsid>>12 ^ w.ea&(1<<segment-1)>>w.shift()) & hashMask
}

// groupAt returns the address of a group of entries.
func groupAt(sdr1, hash uint64) uint64 {
	mask := uint64(1)<<(groupsMin+min(sdr1&sdrSize, 28)) - 1
	return sdr1&sdrOrigin + hash&mask*group
}

// avpn is the part of the virtual page number that an entry holds. A large page has one bit less.
func (w *hashWalk) avpn() uint64 {
	v := w.s.vsid>>12<<5 | w.ea>>23&0x1f
	if w.large() {
		v &^= 1
	}
	return v
}

// find returns the address of the entry. It looks through the primary group and then through the
// secondary one.
func (w *hashWalk) find() (at uint64, ok bool) {
	want := w.avpn()<<pteAVPN | pteValid
	if w.large() {
		want |= pteLarge
	}
	ignored := uint64(0xf) << 3 // bits for software
	if w.large() {
		ignored |= 1 << pteAVPN
	}
	hash := w.hash()
	for _, h := range [...]uint64{0, pteSecondary} {
		first := groupAt(w.sdr1, hash)
		w.refs.Add(first)
		for at := first; at < first+group && w.m.Holds(at, pteBytes); at += pteBytes {
			if (w.m.Load(binary.BigEndian, at, 8)^want^h)&^ignored == 0 {
				return at, true
			}
		}
		hash = ^hash
	}
	return 0, false
}

// page makes a translation of an entry. The rights of the supervisor in it belong to key 0, the
// rights of user mode to key 1: which of the two counts is the segment's to say.
func (w *hashWalk) page(at uint64) mmu.Page {
	v := w.m.Load(binary.BigEndian, at+8, 8)
	size := uint64(1) << w.shift()
	p := mmu.Page{
		VA: w.s.virtual(w.ea) &^ (size - 1), PA: v & pteRPN &^ (size - 1), Shift: w.shift(),
		Dirty: v&pteChanged != 0,
	}
	p.Rights = [4]mmu.Rights{
		mmu.Read | mmu.Write,
		mmu.Read | mmu.Write | mmu.UserRead,
		mmu.Read | mmu.Write | mmu.UserRead | mmu.UserWrite,
		mmu.Read | mmu.UserRead,
	}[v&ptePP]
	if v&(pteNoExecute|pteGuarded) == 0 { // what may be read may be executed
		p.Rights |= p.Rights & mmu.Read * mmu.Exec
		p.Rights |= p.Rights & mmu.UserRead / mmu.UserRead * mmu.UserExec
	}
	return p
}

// note sets the bits that say a page was referenced, and changed, when they are not set.
func (w *hashWalk) note(at uint64, write bool) {
	v := w.m.Load(binary.BigEndian, at+8, 8)
	n := v | pteReferenced
	if write {
		n |= pteChanged
	}
	if n != v {
		w.m.Store(binary.BigEndian, at+8, 8, n)
	}
}
