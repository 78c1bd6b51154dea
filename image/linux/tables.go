package linux

import (
	"encoding/binary"
	"fmt"

	"kprobesim/image"
)

// Table is a table of a kernel, by its addresses. Entry is the size of an entry in bytes, 0 where entries
// differ.
type Table struct {
	Name       string
	Addr, Size uint64
	Entry      uint64
}

// place says where a table is: in a section of its own, or between two symbols.
type place struct {
	name, section, from, to string
	entry64, entry32        uint64
}

// places lists the tables that decide about probes. Entries hold distances from themselves where the kernel
// does so: the exception table (a fault's address, its handler's, and a kind), jump labels (code, target, key), static
// calls (site, key), BUG places, which are addresses in kernels of 32 bits. Sections and linker symbols are named as in kernels of 2022.
var places = [...]place{
	{"exceptions", "__ex_table", "__start___ex_table", "__stop___ex_table", 12, 12},
	{"jump labels", "__jump_table", "__start___jump_table", "__stop___jump_table", 16, 12},
	{"static calls", ".static_call_sites", "__start_static_call_sites", "__stop_static_call_sites", 8, 8},
	{"BUG places", bugSection, "__start___bug_table", "__stop___bug_table", 12, 12},
	{"blacklist of probes", "_kprobe_blacklist", "__start_kprobe_blacklist", "__stop_kprobe_blacklist", 8, 4},
	{"alternatives", ".altinstructions", "__alt_instructions", "__alt_instructions_end", 0, 0},
	{"ftrace sites", "__mcount_loc", "__start_mcount_loc", "__stop_mcount_loc", 8, 4},
	{"BTF", ".BTF", "__start_BTF", "__stop_BTF", 0, 0},
}

// findTables finds what the kernel has of them: by symbols, by sections, or by their shape. One whose ends lie the wrong way round is damage.
func findTables(im *image.Image) ([]Table, error) {
	var out []Table
	var search *searcher
	for _, p := range places {
		t := Table{Name: p.name, Entry: p.entry64}
		if im.Bits == 32 {
			t.Entry = p.entry32
		}
		from, ok := im.Symbol(p.from)
		to, ok2 := im.Symbol(p.to)
		switch {
		case ok && ok2 && (to.Addr < from.Addr || to.Addr-from.Addr > maxKernel):
			return nil, fmt.Errorf("its table of %s goes from %#x to %#x: copy it again", p.name, from.Addr, to.Addr)
		case ok && ok2:
			t.Addr, t.Size = from.Addr, to.Addr-from.Addr
		default:
			if t.Addr, t.Size, ok = im.Section(p.section); ok {
				break
			}
			if search == nil {
				search = newSearcher(im)
			}
			if t, ok = search.byShape(p.name, t.Entry); !ok {
				continue
			}
		}
		if p.section == bugSection && im.Bits == 64 {
			t.Entry = bugEntry(im, t)
		}
		out = append(out, t)
	}
	return out, nil
}

// bugSection is where the places of BUG and WARN are. An entry of a kernel that prints what was asserted is verboseBug bytes long, as in 7.2.
const (
	bugSection = "__bug_table"
	verboseBug = 16
)

// bugEntry is the length of an entry by which each leads into the kernel.
func bugEntry(im *image.Image, t Table) uint64 {
	longer := t
	longer.Entry = verboseBug
	if !lead(im, t) && lead(im, longer) {
		return verboseBug
	}
	return t.Entry
}

// lead tells whether the distance at the start of each entry leads into the kernel.
func lead(im *image.Image, t Table) bool {
	b := im.Bytes(t.Addr, t.Size)
	for at := uint64(0); at+t.Entry <= uint64(len(b)); at += t.Entry {
		if im.SectionAt(t.Addr+at+uint64(int64(int32(binary.LittleEndian.Uint32(b[at:]))))) == "" {
			return false
		}
	}
	return true
}

// Table returns a table by its name; false when the kernel has none.
func (k *Kernel) Table(name string) (Table, bool) {
	for _, t := range k.Tables {
		if t.Name == name {
			return t, true
		}
	}
	return Table{}, false
}

// Content returns the bytes of a table; nil where the kernel has none.
func (k *Kernel) Content(name string) []byte {
	t, ok := k.Table(name)
	if !ok {
		return nil
	}
	return k.Image.Bytes(t.Addr, t.Size)
}
