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
		b, err := workloads.Open(name)
		require.NoError(t, err)
		im, err := image.Load(name, b)
		require.NoError(t, err)
		f, err := elf.NewFile(bytes.NewReader(Symbols(im)))
		require.NoError(t, err)
		symbols, err := f.Symbols()
		require.NoError(t, err)
		if f.Machine != im.Machine || f.ByteOrder != im.Order || len(symbols) != len(im.Symbols) {
			t.Fatalf("%s: %v with %d symbols, want %v with %d", name, f.FileHeader, len(symbols), im.Machine, len(im.Symbols))
		}
		for i, s := range symbols {
			if want := im.Symbols[i]; s.Name != want.Name || s.Value != want.Addr || s.Size != want.Size || (elf.ST_TYPE(s.Info) == elf.STT_FUNC) != want.Func {
				t.Errorf("%s: symbol %d is %v, want %v", name, i, s, want)
			}
		}
	}
}
