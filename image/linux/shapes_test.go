package linux

import (
	"encoding/binary"
	"testing"

	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/require"
)

// sameTables finds the tables of a kernel by their shape that symbols say the places of.
func sameTables(t *testing.T, file string, k *Kernel) {
	t.Helper()
	s := newSearcher(k.Image)
	for _, x := range shapes {
		want, ok := k.Table(x.name)
		got, found := s.byShape(x.name, want.Entry)
		require.That(t, !ok || found && got == want, "%s: table of %s: %x by its shape, %x by symbols", file, x.name, got, want)
	}
}

// TestRelative follows a branch forwards and backwards, and nothing else.
func TestRelative(t *testing.T) {
	code := []byte{0xe8, 0x10, 1, 0, 0, 0xe9, 0xf6, 0xff, 0xff, 0xff}
	k := require.Must(Read("kernel", linuxtest.Kernel{Bits: 64, Code: code}.ELF(), nil))(t)
	at, _, _ := k.Image.Section(".text")
	s := newSearcher(k.Image)
	for _, x := range []struct {
		at      uint64
		opcodes string
		want    uint64
	}{
		{at, "\xe8\xe9", at + 0x115},
		{at + 5, "\xe8\xe9", at},
		{at + 5, "\xe8", 0},
		{at + 1, "\xe8\xe9", 0},
		{1, "\xe8\xe9", 0},
	} {
		require.Equal(t, s.relative(x.at, x.opcodes), x.want, "%#x with %x", x.at, x.opcodes)
	}
}

// TestWordAt reads words of a kernel's width, and zero where it has none.
func TestWordAt(t *testing.T) {
	for bits, want := range map[int]uint64{32: 0x55667788, 64: 0x1122334455667788} {
		code := binary.LittleEndian.AppendUint64(nil, 0x1122334455667788)
		k := require.Must(Read("kernel", linuxtest.Kernel{Bits: bits, Code: code}.ELF(), nil))(t)
		at, _, _ := k.Image.Section(".text")
		if s := newSearcher(k.Image); s.wordAt(at) != want || s.wordAt(1) != 0 {
			t.Errorf("%d bits: %#x, and outside %#x; want %#x", bits, s.wordAt(at), s.wordAt(1), want)
		}
	}
}
