package x86

import (
	"debug/elf"
	"path/filepath"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/internal/require"
)

// TestImagesAreModelled decodes every function of the committed kernel images: each instruction must be
// one that the table models.
func TestImagesAreModelled(t *testing.T) {
	for _, isa := range []string{"i386", "x86_64"} {
		paths, err := filepath.Glob("../../workloads/images/" + isa + "-*.elf")
		require.Need(t, err == nil && len(paths) != 0, "no kernel images of %s under workloads/images: %v", isa, err)
		for _, p := range paths {
			t.Run(filepath.Base(p), func(t *testing.T) { checkImage(t, p) })
		}
	}
}

func checkImage(t *testing.T, path string) {
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	syms, err := f.Symbols()
	require.NoError(t, err)
	funcs, insns := 0, 0
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 || int(s.Section) >= len(f.Sections) {
			continue
		}
		sec := f.Sections[s.Section]
		if sec.Flags&elf.SHF_EXECINSTR == 0 || sec.Type == elf.SHT_NOBITS {
			continue
		}
		code := make([]byte, s.Size)
		_, err := sec.ReadAt(code, int64(s.Value-sec.Addr))
		require.Need(t, err == nil, "%s: %v", s.Name, err)
		funcs++
		insns += checkFunction(t, f.Machine == elf.EM_X86_64, s.Name, s.Value, code)
	}
	require.That(t, funcs >= 50 && insns >= 1000, "%d functions with %d instructions are no kernel", funcs, insns)
	t.Logf("%d functions, %d instructions", funcs, insns)
}

// checkFunction decodes code and returns the number of instructions.
func checkFunction(t *testing.T, long bool, name string, at uint64, code []byte) int {
	c := &CPU{long: long}
	mode := 32
	if long {
		mode = 64
	}
	n := 0
	for off := 0; off < len(code); n++ {
		in, op := c.Decode(code[off:min(off+maxInsn, len(code))], at+uint64(off))
		x, _ := disassemble(code[off:min(off+maxInsn, len(code))], mode)
		if address(in.Exec) == address(execUndefined) && x.Op != x86asm.ICEBP {
			t.Errorf("%s+%#x: % x (%s) is not modelled", name, off, code[off:off+int(op.Len)], x)
		}
		off += int(op.Len)
	}
	return n
}
