package gdb

import (
	"bytes"
	"debug/elf"
	"testing"

	"kprobesim/image"
	"kprobesim/internal/require"
	"kprobesim/workloads"
)

// TestSymbols holds the file for gdb against another reader of ELF files, for each class and byte order.
func TestSymbols(t *testing.T) {
	for _, name := range images {
		b := require.Must(workloads.Open(name))(t)
		im := require.Must(image.Load(name, b))(t)
		f := require.Must(elf.NewFile(bytes.NewReader(Symbols(im))))(t)
		symbols := require.Must(f.Symbols())(t)
		require.Need(t, f.Machine == im.Machine && f.ByteOrder == im.Order && len(symbols) == len(im.Symbols), "%s: %v with %d symbols, want %v with %d", name, f.FileHeader, len(symbols), im.Machine, len(im.Symbols))
		for _, s := range f.Sections[1:] {
			require.That(t, s.Name != "" && s.Name[0] == '.', "%s: a section with the name %q", name, s.Name)
			align := max(s.Addralign, 1)
			require.That(t, align&(align-1) == 0 && s.Offset%align == 0, "%s: %s is aligned to %d bytes at %#x", name, s.Name, align, s.Offset)
		}
		table := f.Section(".symtab")
		require.That(t, table.Entsize*uint64(len(symbols)+1) == table.Size && table.Info == 1, "%s: of %d symbols and an empty one the table says %+v", name, len(symbols), table.SectionHeader)
		names := require.Must(f.Section(".strtab").Data())(t)
		require.That(t, names[0] == 0, "%s: symbols without a name are called %q", name, names[:8])
		code := map[elf.SectionIndex]bool{}
		for _, s := range symbols {
			code[s.Section] = code[s.Section] || elf.ST_TYPE(s.Info) == elf.STT_FUNC
		}
		for i, s := range f.Sections {
			require.Equal(t, s.Flags&elf.SHF_EXECINSTR != 0, code[elf.SectionIndex(i)], "%s: whether %s has code", name, s.Name)
		}
		for i, s := range symbols {
			if at := f.Sections[s.Section]; s.Section > 1 && s.Value-at.Addr >= at.Size || s.Value-f.Sections[1].Addr < f.Sections[1].Size && s.Section != 1 {
				t.Errorf("%s: symbol %v is in section %v", name, s, at.SectionHeader)
			}
			want := im.Symbols[i]
			require.That(t, s.Name == want.Name && s.Value == want.Addr && s.Size == want.Size && (elf.ST_TYPE(s.Info) == elf.STT_FUNC) == want.Func, "%s: symbol %d is %v, want %v", name, i, s, want)
		}
	}
}
