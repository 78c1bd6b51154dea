package linux

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/require"
)

// A made-up zImage.
const (
	madeOffset = 0x8000  // of the kernel in memory
	madeBSS    = 0x12345 // bytes
)

// zImage boxes a kernel as it lies in memory. The magic of the compression is in what unpacks it, too, as in real ones.
func zImage(raw []byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, 0x400)
	le.PutUint32(b[zImageMagicAt:], zImageMagic)
	le.PutUint32(b[zImageMoreAt:], zImageMore)
	le.PutUint32(b[zImageTable:], 0x100)
	copy(b[0x200:], compressions[0].magic)
	b = append(b, xzOf(raw)...)
	for i, v := range []uint32{2, 1, kernelSizeLen, kernelSizeTag, uint32(len(b)), madeBSS, madeOffset, 0} {
		le.PutUint32(b[0x100+4*i:], v)
	}
	return append(sized(b, len(raw)), "behind"...)
}

// madeRaw is a made-up kernel of ARM without a header: code, and kallsyms behind.
func madeRaw() []byte {
	k := linuxtest.Kernel{Bits: 32}
	low := uint64(linuxtest.Text)
	base := binary.LittleEndian.AppendUint32(nil, uint32(low))
	tables := bytes.Replace(k.Tables(), base, binary.LittleEndian.AppendUint32(nil, pageOffset+madeOffset), 1)
	return append(bytes.Repeat([]byte{0, 0xf0, 0x20, 0xe3}, linuxtest.TextSize/4), tables...)
}

func TestZImage(t *testing.T) {
	raw := madeRaw()
	k := require.Must(Read("made-up", zImage(raw), nil))(t)
	im := k.Image
	require.Need(t, im.Machine == elf.EM_ARM && len(im.Segments) == 1, "%v with %d segments", im.Machine, len(im.Segments))
	s := im.Segments[0]
	require.Equal(t, im.Entry, madeOffset, "the entry")
	require.Equal(t, s.PA, madeOffset, "its place in memory")
	require.Equal(t, s.VA, pageOffset+madeOffset, "its address")
	require.Equal(t, s.MemSize, uint64(len(raw))+madeBSS, "its size in memory")
	require.That(t, bytes.Equal(s.Data, raw), "its bytes are others")
	last, ok := im.Symbol("rest_init")
	require.That(t, ok && last.Addr == pageOffset+madeOffset+8*(linuxtest.Symbols-1) && last.Func, "the last symbol is %+v, %t", last, ok)
}

// TestZImageRefuses changes a zImage in one place each.
func TestZImageRefuses(t *testing.T) {
	word := func(at int, v uint32) func(b []byte) []byte {
		return func(b []byte) []byte {
			binary.LittleEndian.PutUint32(b[at:], v)
			return b
		}
	}
	for _, x := range []struct {
		name, want string
		change     func(b []byte) []byte
	}{
		{"no table", "without the table of its sizes", word(zImageMoreAt, 0)},
		{"a table outside", "without the table of its sizes", word(zImageTable, 1<<30)},
		{"an entry that never ends", "without the table of its sizes", word(0x108, 1<<31)},
		{"another entry", "without the table of its sizes", word(0x10c, 7)},
		{"a size outside", "without the table of its sizes", word(0x110, 1<<31-1)},
		{"a size in the payload", "unknown compression", word(0x110, 0x420)},
		{"a cut", "without the table of its sizes", func(b []byte) []byte { return b[:0x100] }},
		{"another compression", "unknown compression", func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte(compressions[0].magic), []byte("\xfd7zXZ\x01"))
		}},
		{"another address", "kallsyms names without addresses", word(0x118, 0x01000000)},
	} {
		_, err := Read("made-up", x.change(slices.Clone(zImage(madeRaw()))), nil)
		require.That(t, err != nil && strings.Contains(err.Error(), x.want), "%s: %v, want %q", x.name, err, x.want)
	}
}
