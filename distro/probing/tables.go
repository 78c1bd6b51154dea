package probing

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"

	"kprobesim/image"
	"kprobesim/image/linux"
	"kprobesim/kprobes"
)

// Kernel is a kernel with what its tables say of its text. It does not change.
type Kernel struct {
	image   *image.Image
	release string
	arch    *arch
	rules   rules
	// text reads n bytes of code; shorter or nil where there is none.
	text func(va uint64, n int) []byte

	exceptions   map[uint64]bool
	ftrace       map[uint64]bool
	bugs         map[uint64]bool
	blacklist    map[uint64]bool // the starts of the functions in it
	jumps, calls []uint64        // jump labels and static calls, in order
	sites        []uint64        // of ftrace, in order
	core         kprobes.Span    // the text that a probe may be in once the kernel has booted
	entry        kprobes.Span
	forbidden    []area
	functions    []uint64 // in core
}

// area is text that takes no probe, by the symbols of its ends.
type area struct {
	kprobes.Span
	rule Rule
	why  string
}

// bugPlaces is the table of the traps of BUG and WARN.
const bugPlaces = "BUG places"

// Read reads the tables of a kernel. Text comes from the file where text is nil.
func Read(k *linux.Kernel, text func(va uint64, n int) []byte) (*Kernel, error) {
	im := k.Image
	out := &Kernel{
		image: im, text: text, arch: archOf(im), release: k.Version(),
		exceptions: map[uint64]bool{}, ftrace: map[uint64]bool{}, bugs: map[uint64]bool{}, blacklist: map[uint64]bool{},
	}
	out.rules = out.arch.rules(out, text != nil)
	if text == nil {
		out.text = func(va uint64, n int) []byte { return im.Bytes(va, uint64(n)) }
	}
	var ok bool
	if out.core, ok = between(im, "_stext", "_etext"); !ok {
		return nil, errors.New("the kernel does not say where its text is: it has no symbols _stext and _etext")
	}
	for _, s := range im.Symbols {
		if s.Func && out.core.Contains(s.Addr) {
			out.functions = append(out.functions, s.Addr)
		}
	}
	if len(out.functions) == 0 {
		return nil, errors.New("the kernel names no function of its text: copy it again")
	}
	out.entry, _ = between(im, "__entry_text_start", "__entry_text_end")
	for _, a := range out.arch.areas {
		if s, ok := between(im, a.from, a.to); ok {
			out.forbidden = append(out.forbidden, area{s, a.rule, a.why})
		}
	}
	for _, name := range [...]string{"blacklist of probes", "jump labels", "ftrace sites"} {
		if _, ok := k.Table(name); !ok {
			return nil, fmt.Errorf("the kernel's table of %s is found neither by symbols nor by its shape, so no rule that needs it can "+
				"be applied: name a kernel with kprobes, jump labels and dynamic ftrace", name)
		}
	}
	if err := out.readTables(k); err != nil {
		return nil, err
	}
	return out, nil
}

// trapHandler is a function of kernels of x86 in which a debug exception ends the copy of an instruction. Their rules are not known here.
const trapHandler = "kprobe_debug_handler"

// Doubt says that the kernel is of a version whose rules are not known here, or "".
func (k *Kernel) Doubt() string {
	_, stepsByTrap := k.image.Symbol(trapHandler)
	for _, v := range k.arch.versions {
		if newer(k.release, v[0][0], v[0][1]) && !newer(k.release, v[1][0], v[1][1]+1) && !stepsByTrap {
			return ""
		}
	}
	return fmt.Sprintf("the rules are those of kernels %s, and this one is %q: ask it by --verify", k.arch.known, k.release)
}

// newer reports whether a release is of a version or of a later one.
func newer(release string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a > major || a == major && b >= minor
}

func between(im *image.Image, from, to string) (s kprobes.Span, ok bool) {
	a, found := im.Symbol(from)
	b, found2 := im.Symbol(to)
	return kprobes.Span{Start: a.Addr, End: b.Addr}, found && found2 && a.Addr < b.Addr
}

// readTables reads what image/linux has located. The addresses of the first four are distances from where they
// stand, but for the BUG places of 32-bit kernels and the jump labels of ARM; the others are addresses.
func (k *Kernel) readTables(from *linux.Kernel) error {
	for _, t := range [...]struct {
		name string
		add  func(at uint64)
	}{
		{"exceptions", func(at uint64) { k.exceptions[at] = true }},
		{"jump labels", func(at uint64) { k.jumps = append(k.jumps, at) }},
		{"static calls", func(at uint64) { k.calls = append(k.calls, at) }},
		{bugPlaces, func(at uint64) { k.bugs[at] = true }},
	} {
		if err := k.entries(from, t.name, func(at uint64, b []byte) {
			if k.arch.addresses || k.image.Bits == 32 && t.name == bugPlaces {
				t.add(uint64(binary.LittleEndian.Uint32(b)))
				return
			}
			t.add(at + uint64(int64(int32(binary.LittleEndian.Uint32(b)))))
		}); err != nil {
			return err
		}
	}
	word := func(b []byte) uint64 {
		if k.image.Bits == 32 {
			return uint64(binary.LittleEndian.Uint32(b))
		}
		return binary.LittleEndian.Uint64(b)
	}
	slices.Sort(k.jumps)
	slices.Sort(k.calls)
	if err := k.entries(from, "ftrace sites", func(_ uint64, b []byte) {
		// Functions of the initialization are gone once the kernel has booted, and with them their sites.
		if at := word(b); k.core.Contains(at) {
			k.ftrace[at], k.sites = true, append(k.sites, at)
		}
	}); err != nil {
		return err
	}
	slices.Sort(k.sites)
	return k.entries(from, "blacklist of probes", func(_ uint64, b []byte) {
		if fn, _, ok := k.function(word(b)); ok {
			k.blacklist[fn.Start] = true
		}
	})
}

// entries calls f for each entry of a table. A kernel without the table has nothing of the kind.
func (k *Kernel) entries(from *linux.Kernel, name string, f func(at uint64, b []byte)) error {
	t, ok := from.Table(name)
	if !ok || t.Entry == 0 {
		return nil
	}
	for at := t.Addr; at+t.Entry <= t.Addr+t.Size; at += t.Entry {
		b := from.Image.Bytes(at, t.Entry)
		if b == nil {
			return fmt.Errorf("the table of %s at %#x is not in the file: copy the kernel again", name, t.Addr)
		}
		f(at, b)
	}
	return nil
}

// function finds the function around an address: from its symbol to the next symbol, as the kernel has no
// sizes. Its text is as the kernel has it now.
func (k *Kernel) function(addr uint64) (fn kprobes.Text, off uint64, ok bool) {
	syms := k.image.Symbols
	next := sort.Search(len(syms), func(i int) bool { return syms[i].Addr > addr })
	if next == 0 || next == len(syms) {
		return fn, 0, false
	}
	s := syms[next-1]
	for i := next - 1; i >= 0 && syms[i].Addr == s.Addr; i-- {
		s = syms[i] // the kernel names a place by the first of its symbols
	}
	size := min(syms[next].Addr-s.Addr, maxFunction)
	fn = kprobes.Text{Name: s.Name, Start: s.Addr, Code: k.text(s.Addr, int(size))}
	return fn, addr - s.Addr, uint64(len(fn.Code)) > addr-s.Addr
}

// maxFunction bounds what is read of a function. The largest of a kernel have some 30 KiB.
const maxFunction = 1 << 20
