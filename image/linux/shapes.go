package linux

import (
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"

	"kprobesim/image"
)

// A kernel without CONFIG_KALLSYMS_ALL names functions alone, so no symbol says where tables begin that have no
// section of their own. These are found by their shape: the longest run of entries that point to what the table is
// of. Where tables of the section lie is a fact of linker scripts of 2022; what stands at a site is one of the instruction set.

// shape is a table that can be found.
type shape struct {
	name, section string
	least         int // entries; fewer may be chance
	fits          func(s *searcher, at uint64) bool
	holds         string // a function that one of its entries names; "" for none
	behind        string // the table behind which it lies in its section; "" for none
}

// shapes lists them. Jump labels and static calls are distances, the others addresses. Sites of ftrace are starts of
// functions too, so they are passed over for the blacklist.
var shapes = [...]shape{
	{"jump labels", ".rodata", 16, (*searcher).jumpLabel, "", ""},
	{"static calls", ".rodata", 16, (*searcher).staticCall, "", ""},
	{"ftrace sites", ".init.data", 16, (*searcher).ftraceSite, "", ""},
	{"blacklist of probes", ".init.data", 8, (*searcher).listed, "get_kprobe", "ftrace sites"},
}

// armShapes lists tables of kernels of ARM, which come without sections. Each of their entries begins with an address.
var armShapes = [...]shape{
	{"jump labels", wrapped, 16, (*searcher).armLabel, "", ""},
	{"ftrace sites", wrapped, 16, (*searcher).armFtraceSite, "", ""},
	{"blacklist of probes", wrapped, 8, (*searcher).listed, "get_kprobe", "ftrace sites"},
}

// codeSections are those that sites lie in.
var codeSections = [...]string{".text", ".init.text", ".exit.text"}

type codeRange struct{ from, to uint64 }

// searcher looks for tables in an image.
type searcher struct {
	im     *image.Image
	word   uint64
	code   [len(codeSections)]codeRange
	data   uint64          // where code ends and data begin, in a kernel without sections
	fentry uint64          // what functions call at their start
	starts map[uint64]bool // of functions
	calls  map[uint64]bool // where static calls go through
}

func newSearcher(im *image.Image) *searcher {
	s := &searcher{im: im, word: uint64(im.Bits / 8), starts: map[uint64]bool{}, calls: map[uint64]bool{}}
	for i, name := range codeSections {
		if at, size, ok := im.Section(name); ok {
			s.code[i].from, s.code[i].to = at, at+size
		}
	}
	for _, x := range im.Symbols {
		if x.Func {
			s.starts[x.Addr] = true
		}
		if strings.HasPrefix(x.Name, "__SCT__") {
			s.calls[x.Addr] = true
		}
	}
	for _, name := range [...]string{"__fentry__", "__gnu_mcount_nc"} {
		if f, ok := im.Symbol(name); ok {
			s.fentry = f.Addr
		}
	}
	text, ok := im.Symbol("_stext")
	etext, ok2 := im.Symbol("_etext")
	if _, _, ok3 := im.Section(wrapped); ok && ok2 && ok3 {
		s.data = etext.Addr
		s.code[0] = codeRange{text.Addr, etext.Addr}
		if first, ok := im.Symbol("_sinittext"); ok {
			last, _ := im.Symbol("_einittext")
			s.code[1] = codeRange{first.Addr, last.Addr}
		}
	}
	return s
}

// byShape finds a table of a name; false where the kernel has none, or none that can be found.
func (s *searcher) byShape(name string, entry uint64) (Table, bool) {
	all := shapes[:]
	if s.im.Machine == elf.EM_ARM {
		all = armShapes[:]
	}
	for _, x := range all {
		if x.name == name {
			return s.find(x, entry)
		}
	}
	return Table{}, false
}

// find looks for a table; false where the section has none.
func (s *searcher) find(x shape, entry uint64) (t Table, ok bool) {
	from, size, ok := s.im.Section(x.section)
	if !ok || s.im.Bytes(from, size) == nil {
		return t, false
	}
	if s.data > from {
		size -= s.data - from
		from = s.data
	}
	if x.behind != "" {
		if before, ok := s.byShape(x.behind, entry); ok {
			size -= before.Addr + before.Size - from
			from = before.Addr + before.Size
		}
	}
	named, ok := s.im.Symbol(x.holds)
	if x.holds != "" && !ok {
		return t, false
	}
	// Entries are aligned to four bytes, or to a word where they are addresses.
	step := min(entry, 4)
	best := uint64(0)
	for phase := uint64(0); phase < entry; phase += step {
		run, has := uint64(0), x.holds == ""
		for at := from + phase; at+entry <= from+size; at += entry {
			if !x.fits(s, at) {
				run, has = 0, x.holds == ""
				continue
			}
			run++
			has = has || s.wordAt(at) == named.Addr
			if has && run > best {
				best = run
				t = Table{Name: x.name, Addr: at - (run-1)*entry, Size: run * entry, Entry: entry}
			}
		}
	}
	return t, best >= uint64(x.least)
}

func (s *searcher) wordAt(at uint64) uint64 {
	b := s.im.Bytes(at, s.word)
	switch {
	case b == nil:
		return 0
	case s.word == 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// from is the address whose distance from a place stands there.
func (s *searcher) from(at uint64) uint64 {
	b := s.im.Bytes(at, 4)
	if b == nil {
		return 0
	}
	to := at + uint64(int64(int32(binary.LittleEndian.Uint32(b))))
	if s.word == 4 {
		to &= 1<<32 - 1
	}
	return to
}

func (s *searcher) inCode(at uint64) bool {
	return slices.ContainsFunc(s.code[:], func(c codeRange) bool { return at >= c.from && at < c.to })
}

// What stands at sites in the file. Kernels of 32 bits have nops of their own.
const (
	nop5      = "\x0f\x1f\x44\x00\x00"
	nop5Old   = "\x3e\x8d\x74\x26\x00"
	nop2      = "\x66\x90"
	nop2Old   = "\x89\xf6"
	siteBytes = 5
)

// relative is where the branch of five bytes at an address leads, 0 for other instructions.
func (s *searcher) relative(at uint64, opcodes string) uint64 {
	b := s.im.Bytes(at, siteBytes)
	if b == nil || strings.IndexByte(opcodes, b[0]) < 0 {
		return 0
	}
	return at + siteBytes + uint64(int64(int32(binary.LittleEndian.Uint32(b[1:]))))
}

// jumpLabel wants a jump or a nop, a target and a key.
func (s *searcher) jumpLabel(at uint64) bool {
	site := s.from(at)
	if !s.inCode(site) || !s.inCode(s.from(at+4)) {
		return false
	}
	text := string(s.im.Bytes(site, siteBytes))
	begins := []string{"\xe9", "\xeb", nop5, nop5Old, nop2, nop2Old}
	return slices.ContainsFunc(begins, func(begin string) bool { return strings.HasPrefix(text, begin) })
}

// staticCall wants a call or a jump to code that belongs to static calls.
func (s *searcher) staticCall(at uint64) bool {
	site := s.from(at)
	return s.inCode(site) && s.calls[s.relative(site, "\xe8\xe9")]
}

// ftraceSite wants a call of what ftrace has called, or the nop in its place.
func (s *searcher) ftraceSite(at uint64) bool {
	site := s.wordAt(at)
	if !s.inCode(site) {
		return false
	}
	text := string(s.im.Bytes(site, siteBytes))
	return text == nop5 || text == nop5Old || s.fentry != 0 && s.relative(site, "\xe8") == s.fentry
}

// armBranch is where the b or bl at an address leads, 0 for other instructions (ARM ARM, A8.8.18 and A8.8.25).
func (s *searcher) armBranch(at uint64, opcode byte) uint64 {
	w := uint32(s.wordAt(at))
	if byte(w>>24) != opcode {
		return 0
	}
	return uint64(uint32(at) + 8 + uint32(int32(w<<8)>>6))
}

// Conditional branches are the compiler's alone, and so are other nops.
const (
	armB   = 0xea
	armBL  = 0xeb
	armNop = 0xe320f000
)

// armLabel wants a nop, or a branch to the target that stands behind the site.
func (s *searcher) armLabel(at uint64) bool {
	site, target := s.wordAt(at), s.wordAt(at+4)
	return s.inCode(site) && s.inCode(target) && (s.wordAt(site) == armNop || s.armBranch(site, armB) == target)
}

// armFtraceSite wants a call of what ftrace has called.
func (s *searcher) armFtraceSite(at uint64) bool {
	site := s.wordAt(at)
	return s.inCode(site) && s.fentry != 0 && s.armBranch(site, armBL) == s.fentry
}

// listed wants the start of a function.
func (s *searcher) listed(at uint64) bool {
	fn := s.wordAt(at)
	if !s.inCode(fn) || !s.starts[fn] {
		return false
	}
	// Behind the blacklist, aligned, begins a table of addresses with a small number each.
	next := s.wordAt(at + s.word)
	return next == 0 || next >= smallest
}

// smallest is less than any address of a kernel.
const smallest = 1 << 16
