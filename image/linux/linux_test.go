package linux

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"kprobesim/image"
	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// sized is a payload with the size of what it unpacks to behind it.
func sized(packed []byte, n int) []byte {
	return binary.LittleEndian.AppendUint32(packed, uint32(n))
}

// xzOf packs without compressing (The .xz File Format, 1.1.0): one block of chunks that are stored.
func xzOf(b []byte) []byte {
	crc := func(p []byte) []byte { return binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(p)) }
	number := func(v uint64) []byte { return binary.AppendUvarint(nil, v) }
	flags := []byte{0, 0} // no check
	out := append([]byte("\xfd7zXZ\x00"), flags...)
	out = append(out, crc(flags)...)
	head := []byte{2, 0, 0x21, 1, 20, 0, 0, 0} // 12 bytes with the check sum, one filter: LZMA2 with a window of 4 MiB
	block := append(head, crc(head)...)
	unpadded := len(block)
	for rest, control := b, byte(1); len(rest) > 0; control = 2 {
		n := min(len(rest), 1<<16)
		block = append(block, control, byte((n-1)>>8), byte(n-1))
		block = append(block, rest[:n]...)
		unpadded += 3 + n
		rest = rest[n:]
	}
	block, unpadded = append(block, 0), unpadded+1
	out = append(out, append(block, make([]byte, -len(block)&3)...)...)
	index := append(append([]byte{0, 1}, number(uint64(unpadded))...), number(uint64(len(b)))...)
	index = append(index, make([]byte, -len(index)&3)...)
	index = append(index, crc(index)...)
	foot := binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4-1))
	foot = append(foot, flags...)
	out = append(append(out, index...), crc(foot)...)
	return append(append(out, foot...), "YZ"...)
}

func gzipOf(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(b)
	if err == nil {
		err = z.Close()
	}
	require.NoError(t, err)
	return out.Bytes()
}

func zstdOf(t testing.TB, b []byte) []byte {
	t.Helper()
	z := require.Must(zstd.NewWriter(nil))(t)
	return z.EncodeAll(b, nil)
}

func lz4Of(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := lz4.NewWriter(&out)
	err := z.Apply(lz4.LegacyOption(true))
	if err == nil {
		_, err = z.Write(b)
	}
	if err == nil {
		err = z.Close()
	}
	require.NoError(t, err)
	return out.Bytes()
}

// lzopHead is the header of a file of lzop 1.04, of a file named h, with check sums of the content.
var lzopHead = []byte(lzopMagic + "\x10\x40\x20\xa0\x09\x40\x03\x09\x03\x00\x00\x01\x00\x00\x81\xa4" + "\x6b\x07\x8f\x41\x00\x00\x00\x00" + "\x01h\x38\xba\x04\x3a")

// lzopOf packs without compressing, in blocks with a check sum that nobody reads.
func lzopOf(b []byte) []byte {
	out := bytes.Clone(lzopHead)
	for part := range slices.Chunk(b, 256<<10) {
		for range 2 {
			out = binary.BigEndian.AppendUint32(out, uint32(len(part)))
		}
		out = append(append(out, 0, 0, 0, 0), part...)
	}
	return append(out, 0, 0, 0, 0)
}

// TestLzop reads what lzop -9 writes, and files of it that are cut or damaged.
func TestLzop(t *testing.T) {
	file := append(bytes.Clone(lzopHead), "\x00\x00\x00\x1d\x00\x00\x00\x0d\xa3\x10\x0a\xe5\x17hello 5\x14\x00\x11\x00\x00\x00\x00\x00\x00"...)
	r := require.Must(newLzop(file))(t)
	b, err := io.ReadAll(r)
	require.That(t, err == nil && string(b) == "hello hello hello hello hello", "%q, %v", b, err)
	summed := bytes.Clone(file) // with a check sum of the packed form, too
	summed[len(lzopMagic)+11] = 3
	summed = slices.Insert(summed, len(lzopHead)+12, 1, 2, 3, 4)
	b, err = io.ReadAll(require.Must(newLzop(summed))(t))
	require.That(t, err == nil && string(b) == "hello hello hello hello hello", "with two sums: %q, %v", b, err)
	for cut := range len(file) {
		if r, err := newLzop(file[:cut]); err == nil {
			if _, err = io.ReadAll(r); err == nil {
				t.Errorf("no error of a file of %d bytes", cut)
			}
		}
	}
	for at, flags := range map[int]byte{len(lzopMagic) + 10: 0x08, len(lzopMagic) + 11: 0x41, len(lzopHead) + 7: 0xff, len(lzopHead): 0xff} {
		bad := bytes.Clone(file)
		bad[at] = flags
		if r, err := newLzop(bad); err == nil {
			if _, err = io.ReadAll(r); err == nil {
				t.Errorf("no error of a file with %#x at %d", flags, at)
			}
		}
	}
}

var layouts = []linuxtest.Kernel{
	{Bits: 64, PerCPU: true},
	{Bits: 64},
	{Bits: 64, Behind: true},
	{Bits: 32},
	{Bits: 32, Behind: true},
	{Bits: 64, Places: true},
	{Bits: 32, Places: true},
}

// TestKallsyms decodes every layout, and compares each name and address.
func TestKallsyms(t *testing.T) {
	for _, s := range layouts {
		k, err := Read("made-up", s.ELF(), nil)
		require.Need(t, err == nil, "%+v: %v", s, err)
		require.Need(t, len(k.Image.Symbols) == linuxtest.Symbols, "%+v: %d symbols, want %d", s, len(k.Image.Symbols), linuxtest.Symbols)
		for i := range linuxtest.Symbols {
			want := linuxtest.Text + uint64(8*i)
			if s.PerCPU && i < 4 {
				want = uint64(8 * i)
			}
			if s.Bits == 32 {
				want &= 1<<32 - 1
			}
			got, ok := k.Image.Symbol(linuxtest.Name(i)[1:])
			require.Need(t, ok && got.Addr == want && got.Func, "%+v: %s is %+v, want address %#x", s, linuxtest.Name(i), got, want)
		}
		inside := uint64(linuxtest.Text + 8*100 + 5)
		if s.Bits == 32 {
			inside &= 1<<32 - 1
		}
		require.Equal(t, k.Image.SymbolText(inside), "sym100+0x5", "%+v: a byte of sym100", s)
		x, ok := k.Table("exceptions")
		require.That(t, ok && x.Size == 24 && x.Entry == 12, "%+v: table of exceptions %+v", s, x)
	}
}

// TestDamagedTables reads kernels whose tables are damaged.
func TestDamagedTables(t *testing.T) {
	texts := texts{}
	sums := []string{"313eae8cff37", "d6fa318b68c5", "c9d8f00aa07c", "f632dde373a2", "55e021c846ec", "a27e092eea9c", "b81618d14e0c"}
	for _, sum := range hosttools.Share(t, "layouts", len(sums), sums) {
		i := slices.Index(sums, sum)
		plain, tables := layouts[i].ELF(), layouts[i].Tables()
		at := bytes.Index(plain, tables)
		require.Outcomes(t, tables, 13, sum, func(b []byte) string {
			k, err := Read("k", slices.Concat(plain[:at], b, plain[at+len(b):]), nil)
			if err != nil {
				return err.Error()
			}
			return fmt.Sprint(k.Tables) + " " + texts.of(k.Image.Symbols)
		})
	}
}

// texts keep the text of each symbol that fmt prints: few of millions differ.
type texts map[image.Symbol]string

// of returns the text that fmt prints of symbols.
func (x texts) of(symbols []image.Symbol) string {
	all := make([]string, len(symbols))
	for i, s := range symbols {
		text, ok := x[s]
		if !ok {
			text = fmt.Sprint(s)
			x[s] = text
		}
		all[i] = text
	}
	return "[" + strings.Join(all, " ") + "]"
}

// TestPacked reads the same kernel out of every packing.
func TestPacked(t *testing.T) {
	plain := layouts[0].ELF()
	want := require.Must(Read("plain", plain, nil))(t)
	for name, payload := range map[string][]byte{
		"stored": plain, "gzip": gzipOf(t, plain), "zstd": sized(zstdOf(t, plain), len(plain)), "XZ": sized(xzOf(plain), len(plain)),
		"LZ4": sized(lz4Of(t, plain), len(plain)), "LZO": sized(lzopOf(plain), len(plain)),
	} {
		k, err := Read(name, linuxtest.Boxed(payload), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		require.That(t, k.Protocol == 0x20f && k.Release == linuxtest.Release && len(k.Header) != 0, "%s: header %+v", name, k.Setup)
		require.That(t, k.Sum == want.Sum && bytes.Equal(k.Image.Segments[0].Data, plain[0x1000:0x1000+len(k.Image.Segments[0].Data)]), "%s: another kernel came out", name)
	}
	changed := slices.Clone(plain)
	changed[linuxtest.FileText]++
	require.That(t, require.Must(Read("changed", changed, nil))(t).Sum != want.Sum, "a byte of the text does not count")
}

// TestLongRelease reads 256 characters of the version's text, where it does not end before.
func TestLongRelease(t *testing.T) {
	b := linuxtest.Boxed(layouts[0].ELF())
	binary.LittleEndian.PutUint16(b[setupText:], uint16(len(b)-0x200))
	k, err := Read("long", append(b, bytes.Repeat([]byte{'x'}, 300)...), nil)
	require.That(t, err == nil && k.Release == strings.Repeat("x", 256), "%v: %q", err, k.Release)
}

// TestRefused holds what is said of files that are no kernel, or none that can be read.
func TestRefused(t *testing.T) {
	plain := layouts[0].ELF()
	packed := linuxtest.Boxed(gzipOf(t, plain))
	old := bytes.Clone(packed)
	binary.LittleEndian.PutUint16(old[setupVersion:], 0x207)
	bad := bytes.Clone(packed)
	bad[len(bad)-20] ^= 1
	bare := bytes.Replace(plain, []byte(".rodata"), []byte(".noname"), 1)
	blank := bytes.Clone(plain)
	end := 0x1000 + linuxtest.TextSize + len(layouts[0].Tables())
	clear(blank[end-300 : end])
	unordered := bytes.Clone(plain)
	clear(unordered[0x1000+linuxtest.TextSize+0x100 : 0x1000+linuxtest.TextSize+0x400])
	for want, b := range map[string][]byte{
		"is neither an ELF file nor a bzImage":         make([]byte, 4096),
		"has boot protocol 2.7: kernels":               old,
		"is truncated":                                 packed[:len(packed)-8],
		"damaged payload (gzip":                        bad,
		"payload of unknown compression (6c 7a 6f 70)": linuxtest.Boxed([]byte("lzop....")),
		"damaged payload (LZ4":                         linuxtest.Boxed(lz4Of(t, plain)[:4096]),
		"damaged payload (bzip2":                       linuxtest.Boxed([]byte("BZh9, and nothing of it")),
		"has no section .rodata":                       bare,
		"has no kallsyms tables":                       blank,
		"has kallsyms names without addresses":         unordered,
	} {
		_, err := Read("k", b, nil)
		require.That(t, err != nil && strings.Contains(err.Error(), want) && strings.Contains(err.Error(), "k"), "got %v, want %q", err, want)
	}
	binary.LittleEndian.PutUint16(old[setupVersion:], lowestVersion)
	require.NoError(t, require.Err(Read("k", old, nil)))
	power := &image.Image{}
	require.That(t, require.Err(symbols(power)) != nil, "an image without sections has symbols")
}

// TestNamesOfKallsyms walks names up to where the tokens begin, and wants each to have a byte.
func TestNamesOfKallsyms(t *testing.T) {
	for text, want := range map[string]bool{"\x01a\x02bc\x01d\x00\x00\x00\x00\x00": true, "\x01a\x00\x01c\x01d\x00\x00\x00\x00\x00": false, "\x01a\x02bc\x01d\x00\x04\x00\x00\x00": false, "\x01a\x02bc\x01d\x00\x00": false} {
		k := &kallsyms{b: []byte(text), align: 4, first: len(text), steps: 3}
		require.Equal(t, k.check(0, 3), want, "whether %q has three names", text)
	}
	k := &kallsyms{b: make([]byte, 64), align: 4, first: 64, steps: 2}
	require.That(t, !k.check(0, 3), "three names in two steps")
}

// TestLengthsOfNames reads lengths of one byte and of two, and leaves out symbols without a name.
func TestLengthsOfNames(t *testing.T) {
	for n := 1; n < 1<<14; n++ {
		b := []byte{byte(n), 0, 0, 0}
		if n > 127 {
			b[0], b[1] = byte(n%128+128), byte(n/128)
		}
		k := &kallsyms{b: b, first: len(b)}
		got, next, ok := k.length(0)
		require.That(t, ok && got == n && next == 1+min(1, n/128), "a length of %d is %d, in %d bytes", n, got, next)
	}
	k := &kallsyms{b: []byte("\x01T\x02Ta\x03Tab\x00"), first: 10, count: 3}
	for i := range k.tokens {
		k.tokens[i] = string(rune(i))
	}
	all := k.build(&image.Image{}, []uint64{1, 2, 3})
	require.That(t, len(all) == 2 && all[0].Name == "a" && all[0].Addr == 2 && all[1].Name == "ab", "symbols %v", all)
}

// TestWhereTablesEnd has markers and tokens that are whole, or lack their last byte or word.
func TestWhereTablesEnd(t *testing.T) {
	const names = 2*perMarker + 1
	b := bytes.Repeat([]byte{1, 'T'}, names)
	b = append(b, make([]byte, -len(b)&3)...)
	for i := range uint32(3) {
		b = binary.LittleEndian.AppendUint32(b, i*perMarker*2)
	}
	for first := len(b) - 13; first < len(b)+4; first++ {
		k := &kallsyms{b: append(slices.Clone(b), make([]byte, 8)...), align: 4, first: first, steps: maxSteps}
		require.Equal(t, k.check(0, names), first >= len(b), "names whose markers end %d bytes before the tokens are whole", first-len(b))
	}
	for _, empty := range []int{-1, 0, 100, tokenCount - 1} {
		var tokens, index []byte
		for i := range tokenCount {
			index = binary.LittleEndian.AppendUint16(index, uint16(len(tokens)))
			if i != empty {
				tokens = append(tokens, 'x')
			}
			tokens = append(tokens, 0)
		}
		k := &kallsyms{b: slices.Concat(tokens, index)}
		require.Equal(t, k.takeTokens(0, len(tokens)), empty < 0, "tokens without an empty one, of which %d is, are taken", empty)
	}
}

// TestDistribution reads the kernels of a distribution. Linker symbols must lie at the beginnings of the sections
// that they are named for: sections come from the file, symbols from kallsyms.
func TestDistribution(t *testing.T) {
	for _, file := range hosttools.Kernels(t, "vmlinuz*", "reading the kernels of a distribution") {
		b := require.Must(os.ReadFile(file))(t)
		k := require.Must(Read(file, b, nil))(t)
		n := len(k.Image.Symbols)
		require.That(t, n >= 40_000, "%s: %d symbols", file, n)
		_, data := k.Image.Symbol("__start_rodata") // kernels without CONFIG_KALLSYMS_ALL name functions alone
		for name, section := range map[string]string{
			"_text": ".text", "__start_rodata": ".rodata", "__start___ex_table": "__ex_table", "_sinittext": ".init.text",
			"__bss_start": ".bss", "__start___bug_table": "__bug_table", "__start_BTF": ".BTF", "__alt_instructions": ".altinstructions",
		} {
			s, ok := k.Image.Symbol(name)
			at, _, found := k.Image.Section(section)
			if !data && section != ".text" && section != ".init.text" {
				continue
			}
			require.That(t, ok && found && s.Addr == at, "%s: %s is at %#x, section %s at %#x", file, name, s.Addr, section, at)
		}
		for _, p := range places {
			x, ok := k.Table(p.name)
			if _, _, own := k.Image.Section(p.section); !data && !own && (p.name == "static calls" || p.name == "BTF") {
				continue // kernels of 32 bits have no table of static calls
			}
			t.Logf("%s: %+v", file, x)
			require.That(t, ok && x.Size != 0 && (x.Entry == 0 || x.Size%x.Entry == 0), "%s: table of %s: %+v, %v", file, p.name, x, ok)
		}
		sameTables(t, file, k)
	}
}

// FuzzRead gives files that are damaged in any way.
func FuzzRead(f *testing.F) {
	for _, s := range layouts {
		f.Add(s.ELF())
	}
	f.Add(linuxtest.Boxed(gzipOf(f, layouts[0].ELF())))
	f.Add(linuxtest.Boxed(xzOf(layouts[3].ELF())))
	f.Add(linuxtest.Boxed(zstdOf(f, layouts[3].ELF())))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := Read("fuzz", b, nil)
		if err != nil {
			return
		}
		for _, s := range k.Image.Symbols {
			k.Image.SymbolText(s.Addr)
		}
	})
}

// TestBugEntries tells the two layouts of the table of BUG places apart, by where entries lead.
func TestBugEntries(t *testing.T) {
	for size, want := range map[int]uint64{12: 12, 16: 16, 20: 12} {
		code := bytes.Repeat([]byte{0x7f}, linuxtest.TextSize)
		for at := 0; at < 10*size; at += size {
			binary.LittleEndian.PutUint32(code[at:], uint32(8-at))
		}
		im := require.Must(image.LoadBare("made-up", linuxtest.Kernel{Bits: 64, Code: code}.ELF(), func(*image.Image) ([]image.Symbol, error) { return nil, nil }))(t)
		require.Equal(t, bugEntry(im, Table{Addr: linuxtest.Text, Size: uint64(10 * size), Entry: 12}), want, "entries of %d bytes", size)
	}
}
