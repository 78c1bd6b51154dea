package races

import (
	"bytes"
	"fmt"
	"slices"

	"kprobesim/kprobes"
)

// forms say what may stand in text besides what was compiled.
type forms struct {
	arch   *kprobes.Arch
	probed func(addr uint64) bool // a probe may stand there
	leads  func(to uint64) bool   // a probe's jump may lead there
	call   func(at uint64) []byte // what a probe puts in the place of a function's first nop, nil for none there
	silent bool                   // a change is done with its store: nobody else was made to look
}

// text holds what the checker knows of one function that is called or probed: its bytes as compiled, where
// its instructions start, and how its bytes have changed.
// Functions of a scenario do not overlap, so an address has one text at most.
type text struct {
	*forms
	name   string
	start  uint64
	called bool // tasks call it, to have their calls counted
	user   bool // of user mode: copies of its page may differ
	orig   []byte
	length []uint8 // of the original instruction at each offset, 0 where none starts
	now    []byte
	base   []byte  // what stood there before the stores
	stores []store // by the order in which they were made
	gone   bool    // module text that was unloaded
}

// newText finds where instructions start by asking for their lengths one after the other.
// Behind bytes that are no instruction no start is known, and execution there shows as torn.
func newText(name string, start uint64, code []byte, r *forms) *text {
	t := &text{forms: r, name: name, start: start, orig: slices.Clone(code)}
	t.restart(code)
	t.length = make([]uint8, len(code))
	for at := 0; at < len(code); {
		n := r.arch.Classify(code[at:], start+uint64(at)).Len
		if n < 1 || at+n > len(code) {
			break
		}
		t.length[at] = uint8(n)
		at += n
	}
	return t
}

// restart takes the code for what every CPU executes.
func (t *text) restart(code []byte) {
	t.now, t.base, t.stores = slices.Clone(code), slices.Clone(code), nil
}

func (t *text) contains(pc uint64) bool { return pc-t.start < uint64(len(t.orig)) }

// reach is how far behind its address a probe's jump changes bytes.
func (t *text) reach() uint64 { return uint64(t.arch.Reach()) }

// told notes what has become of a probe at an address.
// The kernel says "optimized" and "unoptimized" when its protocol has come to an end. By a protocol of one store
// that is no promise to other CPUs: each of them has the old jump or the new breakpoint, whole.
func (t *text) told(what string, addr uint64) {
	switch what {
	case "optimized", "unoptimized":
		if !t.silent {
			t.promise(addr)
		}
	case "gone": // as its text is about to be
		t.gone = true
	}
}

// check judges an instruction that was executed: at pc, of the given bytes.
func (t *text) check(pc uint64, code []byte) (Kind, string) {
	if t.gone {
		return Stale, fmt.Sprintf("%s was unloaded", t.at(pc))
	}
	n := int(t.length[pc-t.start])
	orig := t.orig[pc-t.start:][:max(n, 1)]
	if t.allowed(pc, code) {
		return "", ""
	}
	if head, ok := t.head(pc); ok {
		return Inside, fmt.Sprintf("%s lies inside the bytes patched at %s: executed % x, was % x",
			t.at(pc), t.at(head), code, orig)
	}
	return Torn, fmt.Sprintf("%s: executed % x, neither the original % x nor a whole breakpoint or jump", t.at(pc), code, orig)
}

// allowed reports whether an instruction may stand at pc: the original one, or the breakpoint, jump or call of
// a probe, whole.
func (t *text) allowed(pc uint64, code []byte) bool {
	off := int(pc - t.start)
	if n := int(t.length[off]); n > 0 && bytes.Equal(code, t.orig[off:off+n]) {
		return true
	}
	if !t.probed(pc) {
		return false
	}
	if t.call != nil && bytes.Equal(code, t.call(pc)) {
		return len(code) > 0
	}
	c := t.arch.Classify(code, pc)
	switch c.Kind {
	case kprobes.ClassBreakpoint:
		return c.Len == len(code)
	case kprobes.ClassJump:
		return c.Len == len(code) && t.leads(c.Target)
	}
	return false
}

// head finds the patched instruction that an address lies in.
func (t *text) head(pc uint64) (uint64, bool) {
	if t.probed(pc) {
		return 0, false
	}
	for a := pc - 1; t.contains(a) && pc-a < t.reach(); a-- {
		if i := a - t.start; t.length[i] > 0 && t.now[i] != t.orig[i] {
			return a, true
		}
	}
	return 0, false
}

// at names an address.
func (t *text) at(pc uint64) string { return fmt.Sprintf("%s+%#x", t.name, pc-t.start) }
