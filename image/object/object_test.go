package object

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

var update = flag.Bool("update", false, "compile testdata/*.o again")

// isa is an instruction set whose modules are linked in tests.
type isa struct {
	name, cross, debian string
	options             []string
	base                uint64 // where the module goes
	outside             uint64 // where what it does not define is
	toc                 uint64
}

// isas has options as modules are compiled with, and places within the reach of direct calls but where stubs are
// to be made.
func isas() []isa {
	common := []string{"-O2", "-ffreestanding", "-fno-pic", "-fno-pie", "-fno-asynchronous-unwind-tables", "-fno-stack-protector", "-c"}
	of := func(words string) []string { return append(strings.Fields(words), common...) }
	return []isa{
		{"x86_64", "", "gcc", of("-m64 -mcmodel=kernel -mno-red-zone -fcf-protection=none"), 0xffffffffa0000000, 0xffffffff80123450, 0},
		{"i386", "", "gcc", of("-m32 -mregparm=3 -fcf-protection=none"), 0xd0800000, 0xc0123450, 0},
		{"ppc64", "powerpc64-linux-gnu-", "gcc-powerpc64-linux-gnu", of("-mcpu=power5 -mcall-aixdesc -mcmodel=small"), 0xd000000000200000, 0xc000000000123450, 0xc000000000908000},
		{"ppc64-medium", "powerpc64-linux-gnu-", "gcc-powerpc64-linux-gnu", of("-mcpu=power5"), 0xd000000000200000, 0xc000000000123450, 0xc000000000908000},
		{"arm", "arm-linux-gnueabi-", "gcc-arm-linux-gnueabi", of("-marm -march=armv7-a -mfloat-abi=soft"), 0xbf200000, 0xc0123450, 0},
		{"arm-far", "arm-linux-gnueabi-", "gcc-arm-linux-gnueabi", of("-marm -march=armv7-a -mfloat-abi=soft"), 0xb0200000, 0xc0123450, 0},
	}
}

// file returns the object file of the sample, which is in the repository for machines without compilers.
func (i isa) file(t testing.TB) []byte {
	t.Helper()
	b := require.Must(os.ReadFile(filepath.Join("testdata", i.name+".o")))(t)
	return b
}

// resolve gives every name of the sample an address.
func (i isa) resolve(name string) (Symbol, bool) {
	switch strings.TrimPrefix(name, ".") {
	case "kernel_call":
		if i.toc != 0 {
			return Symbol{Value: i.outside + 0x100000, Entry: i.outside, TOC: i.toc}, true
		}
		return Symbol{Value: i.outside, Entry: i.outside}, true
	case "kernel_data":
		return Symbol{Value: i.outside + 0x2000, Entry: i.outside + 0x2000}, true
	}
	return Symbol{}, false
}

func (i isa) link(t testing.TB, b []byte) *Module {
	t.Helper()
	o := require.Must(Read("sample.o", b))(t)
	m := require.Must(o.Link(i.base, i.resolve))(t)
	return m
}

// TestUpdate compiles the samples again when it is asked to.
func TestUpdate(t *testing.T) {
	if !*update {
		t.Skip("on demand: compiling the samples again; -update asks for it")
	}
	for _, i := range isas() {
		cc := hosttools.Need(t, i.cross+"gcc", i.debian, "compiling the sample")
		hosttools.Run(t, ".", cc, append(slices.Clone(i.options), "testdata/sample.c", "-o", "testdata/"+i.name+".o")...)
	}
}

// The parts of a module lie apart, in its memory, aligned, and no two sections share a byte.
func TestLayout(t *testing.T) {
	for _, i := range isas() {
		m := i.link(t, i.file(t))
		for n, s := range m.Sections {
			if n > 0 && m.Sections[n-1].Addr+m.Sections[n-1].Size > s.Addr {
				t.Errorf("%s: section %s begins in %s", i.name, s.Name, m.Sections[n-1].Name)
			}
			in := s.Addr >= m.Text.Start && s.Addr+s.Size <= m.Text.End || s.Addr >= m.InitText.Start && s.Addr+s.Size <= m.InitText.End
			require.That(t, in == s.Exec, "%s: section %s at %#x, code is from %#x to %#x", i.name, s.Name, s.Addr, m.Text.Start, m.Text.End)
		}
		init, ok := m.Symbol("init_module")
		f := m.Pointer(init.Addr)
		require.That(t, ok && f.Entry >= m.InitText.Start && f.Entry < m.InitText.End, "%s: init_module is at %#x, the init code at %#x", i.name, f.Entry, m.InitText.Start)
		if v, ok := m.o.Value("license"); !ok || v != "GPL" {
			t.Errorf("%s: license %q", i.name, v)
		}
		got := []string{"kernel_call", "kernel_data"}
		require.That(t, len(m.Used) >= len(got), "%s: it uses %v, want %v", i.name, m.Used, got)
	}
}

// outcome says what becomes of an object file.
func (i isa) outcome(b []byte) string {
	o, err := Read("sample.o", b)
	if err != nil {
		return err.Error()
	}
	m, err := o.Link(i.base, i.resolve)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%x %v %v %v %v %v", sha256.Sum256(m.Bytes), m.Sections, m.Used, m.Text, m.InitText, m.TOC)
}

// TestDamagedObjects links object files that are damaged: what is linked, and where it is refused.
func TestDamagedObjects(t *testing.T) {
	for n, sum := range []string{"a7262bb68b66", "3fa44b0e7a26", "41930c2763c6", "f651446d2ab4", "93fe294e8938", "498f24fa2c58"} {
		require.Outcomes(t, isas()[n].file(t), 7, sum, isas()[n].outcome)
	}
}

// TestDamagedRelocations gives each relocation of a file each type.
func TestDamagedRelocations(t *testing.T) {
	for n, want := range []string{"5268f9bab279", "4c7598b4d8e6", "436076023465", "5188e0d0164c", "eeedd51d2509", "77fab8f82959"} {
		i, sum := isas()[n], sha256.New()
		good := i.file(t)
		f := require.Must(elf.NewFile(bytes.NewReader(good)))(t)
		for _, s := range f.Sections {
			size, at := map[elf.SectionType]uint64{elf.SHT_RELA: 24, elf.SHT_REL: 8}[s.Type], uint64(8) // of the type's lowest byte
			if size == 8 {
				at = 4
			} else if f.ByteOrder == binary.BigEndian {
				at = 15
			}
			for off := s.Offset; size != 0 && off < s.Offset+s.Size; off += size {
				b := bytes.Clone(good)
				for typ := range 128 {
					b[off+at] = byte(typ)
					fmt.Fprintln(sum, i.outcome(b))
				}
			}
		}
		got := fmt.Sprintf("%.6x", sum.Sum(nil))
		require.That(t, got == want, "%s: the outcomes have the sum %s, and had %s: write it where the change is wanted", i.name, got, want)
	}
}

// script is a linker script that puts the sections where Link has put them.
func script(i isa, m *Module) string {
	var b strings.Builder
	out, _ := i.resolve("kernel_data")
	call := i.outside
	if m.TOC != 0 { // within reach of a branch, as ld makes no stub for it here
		call = i.base + 1<<20
		fmt.Fprintf(&b, "PROVIDE(\".kernel_call\" = %#x);\n\".TOC.\" = %#x;\n", call, m.TOC)
	}
	fmt.Fprintf(&b, "kernel_call = %#x;\n\"kernel_data\" = %#x;\n", call, out.Value)
	b.WriteString("SECTIONS {\n")
	seen := map[string]bool{}
	for _, s := range m.Sections {
		if seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		common := ""
		if s.Name == ".bss" {
			common = " *(COMMON)"
		}
		fmt.Fprintf(&b, "%s %#x : { *(%s)%s }\n", s.Name, s.Addr, s.Name, common)
	}
	b.WriteString("/DISCARD/ : { *(*) }\n}\n")
	return b.String()
}

// GNU ld links the sample at the same addresses to the same bytes, but for what the two do differently on purpose: calls
// out of the module by stubs, and pointers to descriptors of the kernel.
func TestAgainstGNU(t *testing.T) {
	for _, i := range isas() {
		t.Run(i.name, func(t *testing.T) {
			if i.name == "arm-far" {
				t.Skip("does not apply: GNU ld places its veneers elsewhere; TestStubs reads ours")
			}
			ld := hosttools.Need(t, i.cross+"ld", "binutils", "the comparison with GNU ld")
			m := i.link(t, i.file(t))
			dir := t.TempDir()
			lds, out := filepath.Join(dir, "x.lds"), filepath.Join(dir, "x.elf")
			require.NoError(t, os.WriteFile(lds, []byte(script(i, m)), 0o600))
			args := []string{"-T", lds, "-e", "0", "-o", out, "testdata/" + i.name + ".o", "--no-warn-rwx-segments"}
			switch i.name {
			case "i386":
				args = append(args, "-m", "elf_i386")
			case "x86_64":
				args = append(args, "--no-relax")
			case "ppc64", "ppc64-medium":
				args = append(args, "--no-toc-optimize", "--no-opd-optimize", "--no-tls-optimize")
			}
			text, err := exec.Command(ld, args...).CombinedOutput()
			require.Need(t, err == nil, "ld: %v\n%s", err, text)
			compare(t, i, m, out)
		})
	}
}

// compare holds the bytes of every section against a linked file.
func compare(t *testing.T, i isa, m *Module, file string) {
	f := require.Must(elf.Open(file))(t)
	defer f.Close()
	compared := 0
	for _, s := range m.Sections {
		sec := f.Section(s.Name)
		if sec == nil || sec.Type == elf.SHT_NOBITS {
			continue
		}
		want, err := sec.Data()
		require.Need(t, err == nil && sec.Addr == s.Addr && uint64(len(want)) >= s.Size, "%s of ld is at %#x with %d bytes, ours at %#x with %d: %v", s.Name, sec.Addr, len(want), s.Addr, s.Size, err)
		got := m.Bytes[s.Addr-m.Base : s.Addr-m.Base+s.Size]
		for n := 0; n+4 <= len(got); n += 4 {
			if bytes.Equal(got[n:n+4], want[n:n+4]) || i.toc != 0 && m.onPurpose(s.Addr+uint64(n)) {
				compared++
				continue
			}
			t.Errorf("%s+%#x: % x, ld has % x", s.Name, n, got[n:n+4], want[n:n+4])
		}
	}
	require.That(t, compared >= 50, "only %d words were compared", compared)
}

// onPurpose tells a word that differs from what GNU ld writes: a call by a stub, the load behind it, or a pointer to a
// descriptor that only our resolver has.
func (m *Module) onPurpose(addr uint64) bool {
	for i := range m.o.sections {
		s := &m.o.sections[i]
		for _, r := range s.relocs {
			at := m.Base + s.at + r.off
			if !s.loaded || !strings.Contains(m.o.symbols[r.symbol].name, "kernel_call") {
				continue
			}
			if at == addr || at+4 == addr {
				return true
			}
		}
	}
	return false
}

// A stub leads where the symbol is. That of a table of contents keeps the caller's and loads the callee's, which the call
// is followed by the way back from.
func TestStubs(t *testing.T) {
	for _, i := range isas() {
		m := i.link(t, i.file(t))
		if m.o.arch.stub == 0 || i.name == "arm" {
			continue
		}
		at := m.o.layout.stubs
		code := m.Bytes[at:]
		if i.toc == 0 {
			insn, to := binary.LittleEndian.Uint32(code), binary.LittleEndian.Uint32(code[4:])
			require.That(t, insn == loadPC && uint64(to) == i.outside, "%s: the veneer is %#x, %#x; want one to %#x", i.name, insn, to, i.outside)
			continue
		}
		hi, lo := int64(int16(binary.BigEndian.Uint16(code[2:]))), int64(int16(binary.BigEndian.Uint16(code[6:])))
		data := m.TOC + uint64(hi<<16+lo)
		require.That(t, data == m.Base+at+stubData, "%s: the stub loads from %#x, its descriptor is at %#x", i.name, data, m.Base+at+stubData)
		entry, toc := binary.BigEndian.Uint64(code[stubData:]), binary.BigEndian.Uint64(code[stubData+8:])
		require.That(t, entry == i.outside && toc == i.toc, "%s: the stub leads to %#x with table %#x, want %#x and %#x", i.name, entry, toc, i.outside, i.toc)
		calls := bytes.Count(m.Bytes, binary.BigEndian.AppendUint32(nil, restore))
		require.That(t, calls >= 2, "%s: %d calls load their table again behind a stub, want 2 at least", i.name, calls)
	}
}

// What a module cannot have is refused by place, relocation and symbol.
func TestRefusals(t *testing.T) {
	for _, x := range []struct{ isa, options, source, want string }{
		{"x86_64", "-fpic", "extern int far; int f(void) { return far; }", ".text+0x3: R_X86_64_REX_GOTPCRELX against far: a module has no global offset table: compile it with -fno-pic"},
		{"x86_64", "", "int f(void); int g(void) { return f(); }", "against f: nobody exports a symbol of this name"},
		{"x86_64", "-O0", "__thread int n; int g(void) { return n; }", "thread-local storage"},
		{"i386", "-fpic -fvisibility=default", "extern int far; int f(void) { return far; }", "R_386_GOT"},
		{"arm", "-mthumb", "int f(int); int g(int n) { return f(n) + 1; }", "compile it with -marm"},
		{"arm", "", "void g(void) { __asm__(\"blx f\"); }", "against f: is not applied to modules: it changes to Thumb: compile it with -marm"},
		{"ppc64", "", "void g(void) { __asm__(\"b .kernel_call\"); }", "-fno-optimize-sibling-calls"},
	} {
		t.Run(x.want, func(t *testing.T) {
			all := isas()
			i := all[slices.IndexFunc(all, func(i isa) bool { return i.name == x.isa })]
			cc := hosttools.Need(t, i.cross+"gcc", i.debian, "the refusal of "+x.want)
			dir := t.TempDir()
			src, out := filepath.Join(dir, "x.c"), filepath.Join(dir, "x.o")
			require.NoError(t, os.WriteFile(src, []byte(x.source), 0o600))
			options := slices.DeleteFunc(slices.Clone(i.options), func(o string) bool { return o == "-marm" && x.options == "-mthumb" })
			if x.options == "-fpic" && x.isa == "x86_64" {
				options = slices.DeleteFunc(options, func(o string) bool { return o == "-mcmodel=kernel" })
			}
			options = append(options, strings.Fields(x.options)...)
			hosttools.Run(t, dir, cc, append(options, src, "-o", out)...)
			b := require.Must(os.ReadFile(out))(t)
			o, err := Read("x.o", b)
			if err == nil {
				_, err = o.Link(i.base, func(name string) (Symbol, bool) {
					if name == "f" && x.isa == "arm" || name == "far" {
						return Symbol{Value: i.outside, Entry: i.outside}, true
					}
					return i.resolve(name)
				})
			}
			require.That(t, err != nil && strings.Contains(err.Error(), x.want) && strings.Contains(err.Error(), "x.o"), "%v, want %q", err, x.want)
		})
	}
}

// A value that does not fit into its field is an error, and one that just fits is none.
func TestOverflow(t *testing.T) {
	for bits := 2; bits <= 64; bits++ {
		for _, near := range []int64{0, 1 << (bits - 1), 1 << (bits & 63), math.MinInt64} {
			for v := near - 2; v != near+3; v++ {
				for _, v := range []int64{v, -v} {
					signed, unsigned := v<<(64-bits)>>(64-bits) == v, uint64(v)<<(64-bits)>>(64-bits) == uint64(v) // what is left when it is cut
					for c, want := range map[check]bool{anyValue: true, signedValue: signed, unsignedValue: unsigned, eitherValue: signed || unsigned} {
						require.That(t, c.fits(v, bits) == want, "%#x in %d bits, check %d: %v", v, bits, c, !want)
					}
				}
			}
		}
	}
	for _, i := range isas() {
		if i.name == "x86_64" {
			o := require.Must(Read("sample.o", i.file(t)))(t)
			require.Error(t, require.Err(o.Link(0xffff880000200000, i.resolve)), "R_X86_64_32S against .rodata: value 0xffff880000201000 does not fit into 32 bits", "2 GiB away")
		}
	}
}

// TestSymbolOfAName prefers a global symbol, and then the first one.
// TestMemoryOfModules reads words, integers and texts of a module, and none beyond its end.
func TestMemoryOfModules(t *testing.T) {
	m := &Module{o: &Object{Bits: 64, Order: binary.LittleEndian}, Base: 0x1000, Bytes: []byte("12345678name\x00end")}
	word, ok := m.Word(0x1000)
	require.That(t, ok && word == 0x3837363534333231, "a word: %#x, %v", word, ok)
	n, ok := m.Int(0x1004)
	require.That(t, ok && n == 0x38373635, "an integer: %#x, %v", n, ok)
	text, ok := m.String(0x1008)
	require.That(t, ok && text == "name", "a text: %q, %v", text, ok)
	for what, read := range map[string]func() bool{
		"word":        func() bool { _, ok := m.Word(0x1009); return ok },
		"integer":     func() bool { _, ok := m.Int(0x100d); return ok },
		"text":        func() bool { _, ok := m.String(0x100d); return ok },
		"word before": func() bool { _, ok := m.Word(0xfff); return ok },
	} {
		require.That(t, !read(), "a %s that is not in the module is read", what)
	}
	_, ok = m.Int(0x100c)
	require.That(t, ok, "the last integer is not read")
}

func TestSymbolOfAName(t *testing.T) {
	m := &Module{Symbols: []Defined{{Name: "a", Addr: 1}, {Name: "b", Addr: 2}, {Name: "a", Addr: 3, Global: true}, {Name: "a", Addr: 4, Global: true}, {Name: "b", Addr: 5}}}
	for name, want := range map[string]uint64{"a": 3, "b": 2, "c": 0} {
		s, ok := m.Symbol(name)
		require.That(t, s.Addr == want && ok == (want != 0), "%s is at %d, %v; want %d", name, s.Addr, ok, want)
	}
}

// TestFieldsOfPower reads from the name of each relocation of ppc64 what it puts where, and compares.
func TestFieldsOfPower(t *testing.T) {
	rng, done := rand.New(rand.NewPCG(1, 1)), 0
	value := regexp.MustCompile(`^R_PPC64_(U?ADDR|TOC|REL)(16|32|64)(_LO|_HI|_HA|_HIGHER|_HIGHERA|_HIGHEST|_HIGHESTA)?(_DS)?$`)
	for typ := range uint32(256) {
		name := value.FindStringSubmatch(elf.R_PPC64(typ).String())
		if name == nil || name[1] == "REL" && strings.HasPrefix(name[3], "_HIGH") { // which is of later versions
			continue
		}
		done++
		for range 200 {
			m := &Module{Base: rng.Uint64() &^ 0xfff, Bytes: binary.BigEndian.AppendUint64(nil, rng.Uint64()), TOC: rng.Uint64() &^ 7}
			f := &fix{
				l: &linker{o: &Object{Order: binary.BigEndian}, m: m}, sec: &section{size: 8}, place: m.Base,
				reloc: reloc{typ: typ, addend: rng.Int64N(64)}, target: Symbol{Value: rng.Uint64()},
			}
			near := rng.Uint64()>>(rng.UintN(4)*16) - 0x7000
			v := f.target.Value + uint64(f.addend)
			switch name[1] {
			case "TOC":
				f.target.Value += m.TOC + near - v
				v = near
			case "REL":
				f.target.Value += m.Base + near - v
				v = near
			}
			shift := map[string]int{"_HI": 16, "_HA": 16, "_HIGHER": 32, "_HIGHERA": 32, "_HIGHEST": 48, "_HIGHESTA": 48}[name[3]]
			if strings.HasSuffix(name[3], "A") {
				v += 0x8000
			}
			v = uint64(int64(v) >> shift)
			bits := require.Must(strconv.Atoi(name[2]))(t)
			signed, plain := int64(v)<<(64-bits)>>(64-bits) == int64(v), v<<(64-bits)>>(64-bits) == v
			fits := name[3] != "" && (name[1] == "ADDR" || name[3] == "_LO") || signed || strings.HasSuffix(name[1], "ADDR") && plain && name[4] == ""
			want := slices.Clone(m.Bytes)
			if name[4] != "" { // two bits are the instruction's
				fits = fits && v&3 == 0
				v |= uint64(want[1] & 3)
			}
			copy(want, binary.BigEndian.AppendUint64(nil, v<<(64-bits))[:bits/8])
			err := applyPower(f)
			require.That(t, (err == nil) == fits && (!fits || bytes.Equal(m.Bytes, want)), "%s of %#x: %x, want %x, fits %t: %v", name[0], v, m.Bytes, want, fits, err)
		}
	}
	require.Equal(t, done, 27, "relocations")
}

// TestHalvesOfARM moves random halves, whose 16 bits lie in two fields of four and twelve.
func TestHalvesOfARM(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for n := range 400 {
		insn, target := rng.Uint32(), rng.Uint64()>>32
		m := &Module{Base: rng.Uint64() >> 32, Bytes: make([]byte, 4)}
		f := &fix{l: &linker{o: &Object{Order: binary.LittleEndian}, m: m}, sec: &section{size: 4}, place: m.Base, target: Symbol{Value: target}}
		v := target + uint64(int64(int16(insn>>16<<12|insn<<20>>20)))
		typ := []elf.R_ARM{elf.R_ARM_MOVW_ABS_NC, elf.R_ARM_MOVT_ABS, elf.R_ARM_MOVW_PREL_NC, elf.R_ARM_MOVT_PREL}[n%4]
		if n%4 >= 2 {
			v -= m.Base
		}
		if n%2 == 1 {
			v >>= 16
		}
		require.NoError(t, f.halfMove(insn, typ))
		want := insn>>20<<20 | uint32(v)<<16>>28<<16 | insn<<16>>28<<12 | uint32(v)<<20>>20
		require.Equal(t, binary.LittleEndian.Uint32(m.Bytes), want, "%v of %#x, of %#x at %#x", typ, insn, target, m.Base)
	}
}

// TestDistancesOfStubs has stubs find their descriptor at each distance around a change of the upper half.
func TestDistancesOfStubs(t *testing.T) {
	for off := int64(-0x20000); off < 0x20000; off += 8 {
		l := &linker{m: &Module{TOC: 0x100000}}
		code := l.powerStub(uint64(0x100000+off-stubData), Symbol{})
		hi, lo := int64(int16(binary.BigEndian.Uint16(code[2:]))), int64(int16(binary.BigEndian.Uint16(code[6:])))
		require.That(t, hi<<16+lo == off && code[1] == 0x82 && code[5] == 0x8c, "a distance of %#x is %#x and %#x", off, hi, lo)
	}
	f := &fix{l: &linker{}}
	require.Error(t, f.call(), "weak symbol that nobody defines", "a call of nothing")
}

// TestOddBranch refuses a branch of ARM to what is no instruction.
func TestOddBranch(t *testing.T) {
	f := &fix{place: 0x1000, target: Symbol{Value: 0x2002, Entry: 0x2002}}
	require.Error(t, f.branch(0xeb000000), "no multiple of 4", "a branch to 0x2002")
}

// A symbol of a section that the file does not have is an error.
func TestSectionOfSymbol(t *testing.T) {
	b := isas()[0].file(t)
	f := require.Must(elf.NewFile(bytes.NewReader(b)))(t)
	const size, info, index = elf.Sym64Size, 4, 6 // of a symbol, and where its parts are
	for at := f.Section(".symtab").Offset; ; at += size {
		if elf.ST_TYPE(b[at+info]) == elf.STT_SECTION {
			binary.LittleEndian.PutUint16(b[at+index:], uint16(len(f.Sections)))
			break
		}
	}
	want := fmt.Sprintf("is of section %d of %[1]d: damaged", len(f.Sections))
	require.Error(t, require.Err(Read("x.o", b)), want, "")
}

// FuzzRead wants damaged files to be errors.
func FuzzRead(f *testing.F) {
	for _, i := range isas() {
		f.Add(i.file(f))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Read("fuzz.o", b)
		if err != nil {
			return
		}
		base := uint64(0xc0400000)
		m, err := o.Link(base, func(string) (Symbol, bool) { return Symbol{base + 0x10000, base + 0x10000, base}, true })
		if err != nil {
			return
		}
		require.That(t, len(m.Bytes) <= maxBytes+4*pageBytes, "%d bytes", len(m.Bytes))
		for _, s := range m.Symbols {
			m.Pointer(s.Addr)
			m.String(s.Addr)
		}
	})
}

// TestLimits places what just has room in a module, and refuses one byte more: in a section, in a common symbol, and in one behind the other.
func TestLimits(t *testing.T) {
	zero := func(n uint64) []section {
		return []section{{name: ".bss", typ: elf.SHT_NOBITS, flags: elf.SHF_ALLOC | elf.SHF_WRITE, loaded: true, align: 1, size: n}}
	}
	common := func(n uint64) []symbol { return []symbol{{name: "c", index: elf.SHN_COMMON, size: n, value: 16}} }
	for n, fits := range map[uint64]bool{maxBytes: true, maxBytes + 1: false, 1 << 63: false, 1<<64 - 1: false} {
		for name, o := range map[string]Object{
			"a section": {sections: zero(n)}, "a common symbol": {symbols: common(n)},
			"both": {sections: zero(15), symbols: common(n - 16)},
		} {
			o.arch = require.Must(Read("sample.o", isas()[0].file(t)))(t).arch
			err := o.place()
			require.That(t, (err == nil) == fits && (!fits || o.end == maxBytes), "%s of %#x bytes: %v", name, n, err)
		}
	}
}

// TestRelocatedNothing refuses relocations of a section without bytes.
func TestRelocatedNothing(t *testing.T) {
	b := isas()[0].file(t)
	f := require.Must(elf.NewFile(bytes.NewReader(b)))(t)
	headers := binary.LittleEndian.Uint64(b[40:])
	for i, s := range f.Sections {
		if s.Name == ".text" {
			binary.LittleEndian.PutUint32(b[headers+uint64(64*i)+4:], uint32(elf.SHT_NOBITS))
		}
	}
	require.Error(t, require.Err(Read("x.o", b)), "relocates .text, which has no bytes", "")
}

// TestAlignment places sections and common symbols at the largest alignment, and refuses twice as much and what is no power of two.
func TestAlignment(t *testing.T) {
	b := isas()[0].file(t)
	f := require.Must(elf.NewFile(bytes.NewReader(b)))(t)
	headers, text := binary.LittleEndian.Uint64(b[40:]), slices.IndexFunc(f.Sections, func(s *elf.Section) bool { return s.Name == ".text" })
	for align, fits := range map[uint64]bool{0: true, maxAlign: true, 2 * maxAlign: false, 3: false} {
		changed := bytes.Clone(b)
		binary.LittleEndian.PutUint64(changed[headers+uint64(64*text)+48:], align)
		o, err := Read("x.o", changed)
		require.That(t, (err == nil) == fits, "a section aligned to %d bytes: %v", align, err)
		if fits {
			o.symbols = append(o.symbols, symbol{name: "c", index: elf.SHN_COMMON, size: 1}, symbol{name: "d", index: elf.SHN_COMMON, size: 1})
		} else {
			o = &Object{arch: require.Must(Read("x.o", b))(t).arch, symbols: []symbol{{name: "d", index: elf.SHN_COMMON, size: 1}}}
		}
		last := &o.symbols[len(o.symbols)-1]
		last.value = align
		err = o.place()
		require.That(t, (err == nil) == fits && (!fits || last.common%max(align, 1) == 0), "a common symbol aligned to %d bytes: %v, at %#x", align, err, last.common)
	}
}
