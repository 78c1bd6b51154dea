package image

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// nativeSlot is the distance between two slots of section .native in bytes. The guest's NATIVE macro
// reserves as much. Nothing in a slot is executed, so the number only keeps addresses apart.
const nativeSlot = 16

// nativeSection holds the slots through which the guest calls Go.
const nativeSection = ".native"

// Symbol is a name for an address of the image. It is an entry of the symbol table (chapter 4 of the
// ABI, Symbol Table). The type and binding are kept as far as names are chosen by them.
type Symbol struct {
	Name    string
	Addr    uint64
	Size    uint64 // bytes; 0 when the image does not say
	Func    bool
	Section string // "" for absolute values
	Module  string // that has it; "" for the kernel

	global bool
}

// span says that addresses from start up to end belong to Symbols[sym]. Symbols may nest and share
// addresses; spans do not, so that one binary search answers for an address.
type span struct {
	start, end uint64
	sym        int32
}

// loadSymbols reads the symbol table and builds both indices. A stripped image loads: only what
// looks up a name misses it.
func (im *Image) loadSymbols(f *elf.File) error {
	syms, err := f.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return fmt.Errorf("damaged symbol table (%w): build or copy it again", err)
	}
	for _, s := range syms {
		if sym, ok := convertSymbol(f, s); ok {
			im.Symbols = append(im.Symbols, sym)
		}
	}
	if err := im.loadDescriptors(); err != nil {
		return err
	}
	im.index()
	return im.findNatives()
}

// isMapping reports whether a symbol only says that code or data begins at its address, as $a and $d do (ELF for the
// Arm Architecture, IHI 0044, section 4.5.5). It names nothing: there are as many of each name as there are changes.
func isMapping(f *elf.File, name string) bool {
	return f.Machine == elf.EM_ARM && strings.HasPrefix(name, "$")
}

// convertSymbol keeps symbols that name an address: code, data and labels. Names of files and
// sections (STT_FILE, STT_SECTION) are left out, and what is undefined. Section indices from
// SHN_LORESERVE on name no section: absolute values have one of them.
func convertSymbol(f *elf.File, s elf.Symbol) (Symbol, bool) {
	typ := elf.ST_TYPE(s.Info)
	switch typ {
	case elf.STT_NOTYPE, elf.STT_OBJECT, elf.STT_FUNC, elf.STT_COMMON:
	default:
		return Symbol{}, false
	}
	if s.Name == "" || s.Section == elf.SHN_UNDEF || isMapping(f, s.Name) {
		return Symbol{}, false
	}
	sym := Symbol{
		Name: s.Name, Addr: s.Value, Size: s.Size, Func: typ == elf.STT_FUNC,
		global: elf.ST_BIND(s.Info) != elf.STB_LOCAL,
	}
	if i := int(s.Section); i < len(f.Sections) && s.Section < elf.SHN_LORESERVE {
		sym.Section = f.Sections[i].Name
	}
	return sym, true
}

// index sorts the symbols and makes both indices of them. By name it finds among equal ones the kernel's, then the global,
// then the lower one. Symbols of a module have their names behind its own, too.
func (im *Image) index() {
	slices.SortStableFunc(im.Symbols, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Name, b.Name))
	})
	im.byName = make(map[string]int32, len(im.Symbols))
	for i := range im.Symbols {
		s := &im.Symbols[i]
		im.indexName(s.Name, i)
		if s.Module != "" {
			im.indexName(s.Module+moduleMark+s.Name, i)
		}
	}
	im.indexSpans()
}

func (im *Image) indexName(name string, i int) {
	s := &im.Symbols[i]
	j, ok := im.byName[name]
	if !ok || cmp.Or(trueFirst(s.Module == "", im.Symbols[j].Module == ""), trueFirst(s.global, im.Symbols[j].global)) < 0 {
		im.byName[name] = int32(i)
	}
}

// Symbol finds a symbol by name. Of several with one name a global one is preferred, then the one
// with the lowest address.
func (im *Image) Symbol(name string) (Symbol, bool) {
	i, ok := im.byName[name]
	if !ok {
		return Symbol{}, false
	}
	return im.Symbols[i], true
}

// At finds the symbol that contains an address, and how many bytes behind its start that is. A
// symbol without a size reaches to the next symbol of its section. In serves messages that name code to a reader.
func (im *Image) At(addr uint64) (sym Symbol, off uint64, ok bool) {
	i := sort.Search(len(im.spans), func(i int) bool { return im.spans[i].end > addr })
	if i == len(im.spans) || addr < im.spans[i].start {
		return Symbol{}, 0, false
	}
	sym = im.Symbols[im.spans[i].sym]
	return sym, addr - sym.Addr, true
}

// SymbolsAt returns the symbols that begin at an address, in the order of their names. It must not be written.
func (im *Image) SymbolsAt(addr uint64) []Symbol {
	from := sort.Search(len(im.Symbols), func(i int) bool { return im.Symbols[i].Addr >= addr })
	to := from
	for to < len(im.Symbols) && im.Symbols[to].Addr == addr {
		to++
	}
	return im.Symbols[from:to:to]
}

// lowestNamed is the first operand that may be an address: per-CPU data is linked at 0, and the
// small numbers of a program should not read as offsets into it.
const lowestNamed = 0x10000

// SymbolOff returns the name of the symbol that contains an address and its start, or "" and 0:
// the form that disassemblers ask for. Operands below 64 KiB count as plain numbers.
func (im *Image) SymbolOff(addr uint64) (name string, start uint64) {
	sym, _, ok := im.At(addr)
	if !ok || addr < lowestNamed {
		return "", 0
	}
	return im.FullName(sym), sym.Addr
}

// indexSpans cuts the address space into ranges of one innermost symbol each. Symbols are sorted by
// address then, so that one pass over them suffices.
func (im *Image) indexSpans() {
	var sw sweep
	for i := 0; i < len(im.Symbols); {
		addr, best := im.Symbols[i].Addr, -1
		for ; i < len(im.Symbols) && im.Symbols[i].Addr == addr; i++ {
			if im.covers(i) && (best < 0 || im.better(i, best)) {
				best = i
			}
		}
		if best < 0 {
			continue
		}
		s := &im.Symbols[best]
		sw.open(span{s.Addr, im.symbolEnd(s, i), int32(best)}, s.Size == 0)
	}
	im.spans = sw.finish()
}

// covers tells whether a symbol can contain addresses: it lies inside its own section.
func (im *Image) covers(i int) bool {
	s := &im.Symbols[i]
	sec := im.sectionAt(s.Addr)
	return sec != nil && s.Section == sec.name
}

// better chooses between two names for one address: code before data, sized before label, global
// before local.
func (im *Image) better(i, j int) bool {
	a, b := &im.Symbols[i], &im.Symbols[j]
	return cmp.Or(trueFirst(a.Func, b.Func), trueFirst(a.Size > 0, b.Size > 0),
		trueFirst(a.global, b.global)) < 0
}

// trueFirst compares so that true sorts before false. Results are those that cmp.Or chains.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// symbolEnd is the first address behind a symbol; next is the index of the first symbol with a
// higher address. Assembly often leaves st_size at 0, which the ABI reads as no size or an unknown
// one.
func (im *Image) symbolEnd(s *Symbol, next int) uint64 {
	sec := im.sectionAt(s.Addr)
	end := sec.addr + sec.size // may wrap to 0 at the very top: nothing lies behind it
	if s.Size > 0 && s.Size < end-s.Addr {
		return s.Addr + s.Size
	}
	for ; s.Size == 0 && next < len(im.Symbols); next++ {
		if n := &im.Symbols[next]; n.Section == s.Section && n.Addr-s.Addr < end-s.Addr {
			return n.Addr
		}
	}
	return end
}

// sweep turns nested ranges, opened in ascending order, into disjoint ones. The stack holds the
// ranges that enclose w.at, the innermost on top.
type sweep struct {
	stack []span
	at    uint64 // everything below is done
	out   []span
}

// open starts a range. A label (a symbol without size) inside another range only names a spot.
func (w *sweep) open(s span, label bool) {
	w.closeUntil(s.start)
	if n := len(w.stack); n > 0 {
		if label {
			return
		}
		w.emit(w.stack[n-1], s.start)
	}
	w.at = s.start
	w.stack = append(w.stack, s)
}

// closeUntil ends all ranges that reach no further than addr.
func (w *sweep) closeUntil(addr uint64) {
	for n := len(w.stack); n > 0 && w.stack[n-1].end <= addr; n-- {
		w.emit(w.stack[n-1], w.stack[n-1].end)
		w.stack = w.stack[:n-1]
	}
}

// emit gives the addresses from w.at up to end to the symbol of s.
func (w *sweep) emit(s span, end uint64) {
	if end > w.at {
		w.out = append(w.out, span{w.at, end, s.sym})
		w.at = end
	}
}

// finish ends what is still open and gives the ranges in ascending order.
func (w *sweep) finish() []span {
	w.closeUntil(1<<64 - 1)
	return w.out
}

// findNatives collects the slots of section .native and checks their places. The machine recognizes
// a native call by the slot's address alone, so two functions in one slot or an address between
// slots would call the wrong thing.
func (im *Image) findNatives() error {
	base, _, ok := im.Section(nativeSection)
	if !ok {
		return nil
	}
	for _, s := range im.Symbols {
		if s.Section != nativeSection || !s.Func {
			continue
		}
		if (s.Addr-base)%nativeSlot != 0 {
			return fmt.Errorf("native %s at %#x does not start a %d-byte slot of section %s: "+
				"declare it with NATIVE()", s.Name, s.Addr, nativeSlot, nativeSection)
		}
		if n := len(im.Natives); n > 0 && im.Natives[n-1].Addr == s.Addr {
			return fmt.Errorf("natives %s and %s share the slot at %#x: give each its own NATIVE()",
				im.Natives[n-1].Name, s.Name, s.Addr)
		}
		s.Name = im.CName(s.Name)
		im.Natives = append(im.Natives, s)
	}
	return nil
}

// SymbolText writes an address as symbol+offset, or [section]+offset where no symbol is. Code that
// is written at run time has a section and no symbol: slots and detour buffers.
func (im *Image) SymbolText(addr uint64) string {
	if sym, off, ok := im.At(addr); ok {
		return fmt.Sprintf("%s+%#x", im.FullName(sym), off)
	}
	if s := im.sectionAt(addr); s != nil {
		return fmt.Sprintf("[%s]+%#x", s.name, addr-s.addr)
	}
	return "?"
}
