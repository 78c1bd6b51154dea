package ppc64

import (
	"debug/elf"
	"encoding/binary"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"kprobesim/internal/require"
)

// TestImagesAreModelled decodes every word of the committed kernel images that may be executed: each must be an
// instruction that the table models, on registers that it models.
func TestImagesAreModelled(t *testing.T) {
	paths, err := filepath.Glob("../../workloads/images/ppc64-*.elf")
	require.Need(t, err == nil && len(paths) != 0, "no kernel images of ppc64 under workloads/images: %v", err)
	for _, p := range paths {
		t.Run(filepath.Base(p), func(t *testing.T) { checkImage(t, p) })
	}
}

func checkImage(t *testing.T, path string) {
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	syms, err := f.Symbols()
	require.NoError(t, err)
	insns, tables := 0, 0
	for i, sec := range f.Sections {
		if sec.Flags&elf.SHF_EXECINSTR == 0 || sec.Type == elf.SHT_NOBITS || sec.Name == ".native" { // Go runs there
			continue
		}
		code, err := sec.Data()
		require.Need(t, err == nil, "%s: %v", sec.Name, err)
		s := &section{Section: sec, code: code, inside: make([]bool, len(code)), data: make([]bool, len(code))}
		for _, x := range syms {
			if int(x.Section) != i {
				continue
			}
			of := map[elf.SymType][]bool{elf.STT_FUNC: s.inside, elf.STT_OBJECT: s.data}[elf.ST_TYPE(x.Info)]
			if of == nil || slices.Contains(meantToTrap, x.Name) {
				continue
			}
			for at := x.Value - sec.Addr; at < min(x.Value-sec.Addr+x.Size, uint64(len(code))); at++ {
				of[at] = true
			}
		}
		s.check(t)
		insns, tables = insns+s.insns, tables+s.tables
	}
	require.That(t, insns >= 5000 && tables != 0, "%d instructions and %d words of jump tables are no kernel", insns, tables)
	t.Logf("%d instructions, %d words of jump tables", insns, tables)
}

// meantToTrap are functions with a word of zeros, which is no instruction: a handler that raises a trap, and the place
// that probed functions of user mode return to, where a breakpoint is.
var meantToTrap = []string{".handler_traps", ".user_trampoline"}

// section is one with code.
type section struct {
	*elf.Section
	code          []byte
	inside, data  []bool // of a function, of a variable, by byte
	insns, tables int
}

// check holds the words. Behind a branch to the count register the compiler may put a table: distances from its
// start to places in the section, which as instructions would be undefined. Zeros between functions are fill.
func (s *section) check(t *testing.T) {
	table := -1
	for at := 0; at+insnBytes <= len(s.code); at += insnBytes {
		word := binary.BigEndian.Uint32(s.code[at:])
		if to := table + int(int32(word)); table >= 0 && to >= 0 && to < len(s.code) && to%insnBytes == 0 {
			s.tables++
			continue
		}
		table = -1
		if word == insnBctr {
			table = at + insnBytes
		}
		if s.data[at] || word == 0 && !s.inside[at] {
			continue
		}
		s.insns++
		in, _ := decode(word, s.Addr+uint64(at))
		require.That(t, !sameFunction(in.Exec, illegal) && !sameFunction(in.Exec, unknownSPR), "%s+%#x (%#x): %08x is not modelled", s.Name, at, s.Addr+uint64(at), word)
	}
}

// insnBctr jumps to the count register.
const insnBctr = 0x4e800420

func sameFunction(a, b exec) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
