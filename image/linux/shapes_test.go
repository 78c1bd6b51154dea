package linux

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"kprobesim/image"
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

// TestFind compares tables with the longest run that trying each beginning finds, in words that are 0, which fits nothing, 1, or
// the address that an entry of every second shape has to be.
func TestFind(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, bits := range []int{32, 64} {
		k := require.Must(Read("kernel", linuxtest.Kernel{Bits: bits}.ELF(), nil))(t)
		from, size, _ := k.Image.Section(".text")
		text, s := k.Image.Bytes(from, size), newSearcher(k.Image)
		named, _ := k.Image.Symbol("sym7")
		for n := range 40 {
			for at := 0; at < len(text); at += 4 {
				binary.LittleEndian.PutUint32(text[at:], [...]uint32{0, 1, 1, 1, 1, 1, 1, uint32(named.Addr), uint32(named.Addr >> 32)}[random.IntN(9)])
			}
			x := shape{name: "made up", section: ".text", least: 1 + random.IntN(60), fits: func(s *searcher, at uint64) bool { return s.wordAt(at) != 0 }}
			x.holds = [...]string{"", "sym7"}[n%2]
			for _, entry := range []uint64{4, 8, 12} {
				var want Table
				for phase := uint64(0); phase < entry; phase += 4 {
					for first := from + phase; first < from+size; first += entry {
						has := x.holds == ""
						for at := first; at+entry <= from+size && s.wordAt(at) != 0; at += entry {
							has = has || s.wordAt(at) == named.Addr
							if to := at + entry - first; has && to > want.Size {
								want = Table{"made up", first, to, entry}
							}
						}
					}
				}
				got, ok := s.find(x, entry)
				require.That(t, got == want && ok == (want.Size/entry >= uint64(x.least)), "%d bits, entries of %d bytes: %+v, %v; want %+v", bits, entry, got, ok, want)
			}
		}
	}
}

// TestShapesOfARM finds the tables of a kernel of ARM between entries that are almost of theirs.
func TestShapesOfARM(t *testing.T) {
	k := require.Must(Read("made-up", zImage(madeRaw()), nil))(t)
	from, _, _ := k.Image.Section(wrapped)
	im := k.Image.Fork()
	require.NoError(t, im.AddModule(image.Module{Name: "made", Symbols: []image.Symbol{image.NewSymbol("get_kprobe", from+0x918, 4, true, true, "")}}))
	s := newSearcher(im)
	s.code[0], s.data = codeRange{from, from + 0x1000}, from+0x1000
	s.starts, s.fentry = map[uint64]bool{}, from+0x800
	word := func(at, v uint64) { binary.LittleEndian.PutUint32(k.Image.Bytes(at, 4), uint32(v)) }
	branch := func(at, opcode, to uint64) { word(at, opcode<<24|uint64(int64(to-at-8)>>2)&0xffffff) }
	at := s.data
	next := func(words ...uint64) {
		for _, w := range words {
			word(at, w)
			at += 4
		}
	}
	want := map[string]Table{}
	table := func(name string, entry uint64, body func(i uint64)) {
		x := Table{Name: name, Addr: at, Entry: entry}
		for i := range uint64(20) {
			body(i)
		}
		x.Size = at - x.Addr
		want[name] = x
		next(0, 0, 0)
	}
	next(from+0x700, from+0x700, 0) // a site without a branch
	table("jump labels", 12, func(i uint64) {
		site, target := from+16*i, from+16*((7*i)%20)+8
		if i%3 != 0 {
			branch(site, armB, target)
		}
		next(site, target, 1)
	})
	branch(from+0x704, armB, from+0x70c)
	next(from+0x704, from+0x708, 0) // a branch that leads elsewhere
	table("ftrace sites", 4, func(i uint64) {
		branch(from+0x400+0x40*i, armBL, s.fentry)
		next(from + 0x400 + 0x40*i)
	})
	branch(from+0xff0, armB, s.fentry)
	next(from + 0xff0) // it jumps there
	table("blacklist of probes", 4, func(i uint64) {
		s.starts[from+0x900+8*i] = true
		next(from + 0x900 + 8*i)
	})
	word(at-12, from+0x900) // what follows is a table of addresses with a number each
	word(at-8, 5)
	for name, want := range want {
		got, ok := s.byShape(name, want.Entry)
		require.That(t, ok && got == want, "%s: %+x, %v; want %+x", name, got, ok, want)
	}
}
