package engine

import (
	"bytes"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// versions holds the blocks that the CPUs of one machine have decoded, so that an instruction is decoded
// once and not once for every CPU. A CPU's own copy of a block shares the instructions and adds what is
// its own: links, and whether it is observed. Blocks with an instruction in two pages are not shared,
// because the second page is a matter of each CPU's translations.
//
// Probes write the same few things to the same addresses again and again. So the blocks of a line that
// is written are kept beside the bytes that they were decoded from, until those bytes come back.
type versions[C, P any] struct {
	mem   *mmu.Memory
	reach int // bytes behind a granule that its last instruction may reach
	pages []*[pageBytes / granule]lineVersions[C, P]
}

// lineVersions holds the blocks of one granule: of its present bytes, and of some that it had before.
type lineVersions[C, P any] struct {
	now  *version[C, P]
	past [16]*version[C, P]
	next uint8 // place in past for the next one
}

// version is the blocks of one granule as its bytes were at a time.
type version[C, P any] struct {
	codeGranule[C, P]
	bytes   []byte // of the granule and of the instruction that may reach behind it
	reaches bool   // a block reaches behind it
	mixed   bool   // blocks were decoded from other bytes: it cannot be kept
}

func newVersions[C, P any](m *mmu.Memory, maxInsn int) *versions[C, P] {
	v := &versions[C, P]{mem: m, reach: maxInsn - 1}
	v.empty()
	m.OnCodeStore(v.drop)
	return v
}

// inherit takes what another machine has decoded, and leaves what this one decodes to the next.
func (v *versions[C, P]) inherit(d *cpus.Decoded) {
	if d == nil {
		return
	}
	if old, ok := d.Code.(*versions[C, P]); ok && len(old.pages) == len(v.pages) {
		v.pages = old.pages
		for _, page := range v.pages {
			for i := 0; page != nil && i < len(page); i++ {
				page[i].putAside()
			}
		}
	}
	d.Code = v
}

// empty forgets everything.
func (v *versions[C, P]) empty() {
	v.pages = make([]*[pageBytes / granule]lineVersions[C, P], v.mem.Size()>>pageShift)
}

// find returns the block that was decoded from the bytes at a physical address, or nil.
func (v *versions[C, P]) find(pa uint64) *Block[C, P] {
	page := v.pages[pa>>pageShift]
	if page == nil {
		return nil
	}
	l := &page[pa&pageMask>>mmu.GranuleShift]
	if l.now == nil && !v.recall(l, pa) {
		return nil
	}
	return l.now.blocks[pa&(granule-1)]
}

// recall finds the version of a granule's present bytes among the past ones. The code
// under a probe that is armed and disarmed in turns is decoded once for each of its two forms.
func (v *versions[C, P]) recall(l *lineVersions[C, P], pa uint64) bool {
	start := pa &^ (granule - 1)
	for i, past := range l.past {
		if past == nil || !bytes.Equal(past.bytes, v.mem.Bytes(start, len(past.bytes))) {
			continue
		}
		l.now, l.past[i] = past, nil
		v.mem.MarkCode(start)
		if past.reaches {
			v.mem.MarkCode(start + granule)
		}
		return true
	}
	return false
}

// put keeps a block that was decoded from the bytes at a physical address.
func (v *versions[C, P]) put(pa uint64, b *Block[C, P]) {
	page := &v.pages[pa>>pageShift]
	if *page == nil {
		*page = new([pageBytes / granule]lineVersions[C, P])
	}
	l := &(*page)[pa&pageMask>>mmu.GranuleShift]
	have := v.mem.Bytes(pa&^(granule-1), granule+v.reach)
	if l.now == nil {
		l.now = &version[C, P]{mixed: have == nil, bytes: bytes.Clone(have)}
	}
	n := l.now
	n.codeGranule.put(pa&(granule-1), b)
	n.reaches = n.reaches || b.reaches()
	n.mixed = n.mixed || !bytes.Equal(n.bytes, have)
}

// drop puts the blocks that a store to pa may have changed aside, those that dropCode forgets.
func (v *versions[C, P]) drop(pa uint64) {
	for _, at := range [...]uint64{pa, pa - granule} {
		if at>>pageShift >= uint64(len(v.pages)) || v.pages[at>>pageShift] == nil {
			continue
		}
		v.pages[at>>pageShift][at&pageMask>>mmu.GranuleShift].putAside()
	}
}

// putAside makes the present version a past one.
func (l *lineVersions[C, P]) putAside() {
	if l.now != nil && !l.now.mixed {
		l.past[l.next] = l.now
		l.next = (l.next + 1) % uint8(len(l.past))
	}
	l.now = nil
}
