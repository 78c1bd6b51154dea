package races

import (
	"bytes"
	"fmt"
	"slices"
)

// text is what the observer knows of one function that is probed: its bytes as compiled, where its
// instructions start, and how its bytes have changed.
type text struct {
	name    string
	start   uint64
	orig    []byte
	length  []uint8 // of the original instruction at each offset, 0 where none starts
	now     []byte
	changes []change
	gone    bool // module text that was unloaded
}

// change is one byte that a CPU has stored into text.
type change struct {
	seq      int
	cpu      int
	addr     uint64
	old, new byte
	syncs    []uint64 // how often each CPU had synchronized
	promised bool     // the protocol has said that everybody has the new one
}

// jumpSize is the length of the jump of an optimized probe.
const jumpSize = 5

// Opcodes that probes put into text.
const (
	opBreak = 0xcc
	opJump  = 0xe9
)

// newText finds where instructions start by asking for their lengths one after the other.
func newText(name string, start uint64, code []byte, length func(code []byte, pc uint64) int) *text {
	t := &text{name: name, start: start, orig: slices.Clone(code), now: slices.Clone(code)}
	t.length = make([]uint8, len(code))
	for at := 0; at < len(code); {
		n := length(code[at:], start+uint64(at))
		if n < 1 || at+n > len(code) {
			break
		}
		t.length[at] = uint8(n)
		at += n
	}
	return t
}

func (t *text) contains(pc uint64) bool { return pc-t.start < uint64(len(t.orig)) }

// stored compares the text with what it was and notes the bytes that have changed.
func (t *text) stored(code []byte, cpu, seq int, syncs func() []uint64) {
	if bytes.Equal(t.now, code) {
		return
	}
	at := syncs()
	for i := range code {
		if t.now[i] != code[i] {
			t.changes = append(t.changes, change{
				seq: seq, cpu: cpu, addr: t.start + uint64(i), old: t.now[i], new: code[i], syncs: at,
			})
		}
	}
	copy(t.now, code)
}

// told notes what has become of a probe at an address.
func (t *text) told(what string, addr uint64) {
	switch what {
	case "optimized", "unoptimized":
		t.promise(addr)
	case "gone": // as its text is about to be
		t.gone = true
	}
}

// promise notes that the protocol has said of the bytes from addr on that every CPU has them as they
// are now.
func (t *text) promise(addr uint64) {
	for i := range t.changes {
		if c := &t.changes[i]; c.addr-addr < jumpSize {
			c.promised = true
		}
	}
}

// settle forgets changes that every CPU knows of.
func (t *text) settle(known func(c *change) bool) {
	t.changes = slices.DeleteFunc(t.changes, func(c change) bool { return known(&c) })
}

// check judges an instruction that was executed: at pc, of the given bytes. probed says that a probe
// may stand at pc, target that a jump may lead to an address.
func (t *text) check(pc uint64, code []byte, probed bool, target func(uint64) bool) (Kind, string) {
	off := int(pc - t.start)
	n := int(t.length[off])
	switch {
	case t.gone:
		return Stale, fmt.Sprintf("%s was unloaded", t.at(pc))
	case n > 0 && bytes.Equal(code, t.orig[off:off+n]):
		return "", ""
	case probed && len(code) == 1 && code[0] == opBreak:
		return "", ""
	case probed && len(code) == jumpSize && code[0] == opJump && target(jumpTarget(pc, code)):
		return "", ""
	}
	if head, ok := t.head(pc, probed); ok {
		return Inside, fmt.Sprintf("%s lies inside the bytes patched at %s: executed % x, was % x",
			t.at(pc), t.at(head), code, t.orig[off:off+max(n, 1)])
	}
	return Torn, fmt.Sprintf("%s: executed % x, neither the original % x nor a whole breakpoint or jump",
		t.at(pc), code, t.orig[off:off+max(n, 1)])
}

// head finds the patched instruction that an address lies in.
func (t *text) head(pc uint64, probed bool) (uint64, bool) {
	if probed {
		return 0, false
	}
	for a := pc - 1; t.contains(a) && pc-a < jumpSize; a-- {
		if i := a - t.start; t.length[i] > 0 && t.now[i] != t.orig[i] {
			return a, true
		}
	}
	return 0, false
}

// unsynced judges an instruction at pc by what the CPU may have fetched before other CPUs stored:
// behind a store into its instructions a processor promises nothing until it has synchronized, but
// that a breakpoint in the place of the first byte is seen or not. missed tells the stores that the
// CPU was not made to see.
func (t *text) unsynced(pc uint64, missed func(c *change) bool, probed func(uint64) bool) string {
	var old []*change
	for i := range t.changes {
		if c := &t.changes[i]; c.addr-pc < jumpSize && missed(c) {
			old = append(old, c)
		}
	}
	if len(old) == 0 {
		return ""
	}
	for _, c := range old {
		if c.promised {
			return fmt.Sprintf("%s: the byte %#02x at %s may still be %#02x for this CPU, which has not "+
				"synchronized since, although the change was said to be done", t.at(pc), c.new, t.at(c.addr), c.old)
		}
	}
	for _, c := range old {
		if why := t.torn(pc, c, old, probed); why != "" {
			return why
		}
	}
	return ""
}

// torn says whether a byte that another CPU has stored, and that this one may have or not, makes
// something else of the instruction at pc, or of those that the CPU would go on with.
func (t *text) torn(pc uint64, c *change, old []*change, probed func(uint64) bool) string {
	firsts := []byte{t.now[pc-t.start]}
	for _, o := range old {
		if o.addr == pc {
			firsts = append(firsts, o.old)
		}
	}
	for i, f := range firsts {
		for _, v := range []byte{c.old, t.now[c.addr-t.start]} {
			if c.addr != pc && !t.fits(pc, f, i > 0, c.addr, v, probed) {
				return fmt.Sprintf("%s: a CPU that has not synchronized may execute %#02x there with %#02x at %s",
					t.at(pc), f, v, t.at(c.addr))
			}
		}
	}
	return ""
}

// fits says whether a byte v at addr may stand behind a first byte at pc. stale says that the first
// byte is one from before, so that the CPU goes on with what stood behind it then.
func (t *text) fits(pc uint64, first byte, stale bool, addr uint64, v byte, probed func(uint64) bool) bool {
	off := pc - t.start
	switch {
	case first == opBreak:
		return true
	case first != t.orig[off]: // a jump: all of it must be sure
		return false
	case addr-pc >= uint64(t.length[off]) && !stale:
		return true // of another instruction, which is judged when it is executed
	}
	return v == t.orig[addr-t.start] || v == opBreak && probed(addr)
}

// at names an address.
func (t *text) at(pc uint64) string { return fmt.Sprintf("%s+%#x", t.name, pc-t.start) }

// jumpTarget is where a jump with a displacement of 32 bits leads.
func jumpTarget(pc uint64, code []byte) uint64 {
	d := uint32(code[1]) | uint32(code[2])<<8 | uint32(code[3])<<16 | uint32(code[4])<<24
	return pc + jumpSize + uint64(int64(int32(d)))
}
