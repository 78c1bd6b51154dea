package workloads

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// eachImage runs a test on every image.
func eachImage(t *testing.T, test func(t *testing.T, im Image, f *elf.File)) {
	for _, im := range List() {
		t.Run(im.Name, func(t *testing.T) { test(t, im, openELF(t, im.Name)) })
	}
}

// holds lists what the images of a machine are held to, and under EM_NONE what all are.
var holds = map[elf.Machine][]func(t *testing.T, im Image, f *elf.File){
	elf.EM_NONE:   {holdFunctions, holdLayout, holdStructLayouts, holdRequiredSymbols, holdConstants},
	elf.EM_386:    {holdBenchTargetTakesEveryProbe, holdShapes, holdUserModeIsApart, holdSites},
	elf.EM_X86_64: {holdBenchTargetTakesEveryProbe, holdShapes, holdUserModeIsApart, holdSites},
	elf.EM_PPC64:  {holdVectors, holdShapesOfPPC64, holdSitesOfPPC64, holdUserModeOfPPC64IsApart},
	elf.EM_ARM:    {holdVectorsOfARM, holdHoleOfARM, holdShapesOfARM, holdSitesOfARM, holdUserModeOfARMIsApart},
}

func TestImages(t *testing.T) {
	eachImage(t, func(t *testing.T, im Image, f *elf.File) {
		for _, hold := range slices.Concat(holds[elf.EM_NONE], holds[f.Machine]) {
			hold(t, im, f)
		}
	})
}

// userText is the code of user mode, which is not written, as its data is not executed.
func userText(t *testing.T, f *elf.File) []byte {
	t.Helper()
	text, data := f.Section(".user.text"), f.Section(".user.data")
	require.That(t, text.Flags&elf.SHF_WRITE == 0 && data.Flags&elf.SHF_EXECINSTR == 0 && text.Addr%4096 == 0 && data.Addr%4096 == 0, "text is %v at %#x, data %v at %#x", text.Flags, text.Addr, data.Flags, data.Addr)
	b := require.Must(text.Data())(t)
	return b
}

func openELF(t *testing.T, name string) *elf.File {
	t.Helper()
	b := require.Must(Open(name))(t)
	f := require.Must(elf.NewFile(bytes.NewReader(b)))(t)
	return f
}

// named keeps the symbols of files: a test looks up dozens of names.
var named = map[*elf.File]map[string]elf.Symbol{}

func symbolsOf(t *testing.T, f *elf.File) map[string]elf.Symbol {
	t.Helper()
	if m := named[f]; m != nil {
		return m
	}
	list := require.Must(f.Symbols())(t)
	m := map[string]elf.Symbol{}
	for _, s := range list {
		m[s.Name] = s
	}
	named[f] = m
	return m
}

// The list of functions worth probing and the image agree, both ways.
func holdFunctions(t *testing.T, im Image, f *elf.File) {
	syms := symbolsOf(t, f)
	listed := map[string]bool{}
	for _, fn := range im.Functions() {
		listed[fn.Name] = true
		s, ok := syms[fn.Name]
		require.That(t, ok && elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size != 0, "the image has no function %s", fn.Name)
	}
	for name, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && strings.HasPrefix(name, "work_") &&
			name != "work_init" && !listed[name] {
			t.Errorf("%s is not listed in functions.go", name)
		}
	}
}

// The simulator finds its way in the image by these.
func holdLayout(t *testing.T, _ Image, f *elf.File) {
	syms := symbolsOf(t, f)
	phases := []string{"entry", "dispatch", "handler", "step", "return", "kretprobe"}
	if _, ok := syms["detour_template"]; ok {
		phases = append(phases, "detour")
	}
	for _, name := range phases {
		sec := f.Section(".phase." + name)
		require.That(t, sec != nil && sec.Size != 0 && sec.Addr%64 == 0, "section .phase.%s is missing, empty or not aligned", name)
	}
	if sec := f.Section(".native"); sec == nil || sec.Addr%16 != 0 {
		t.Error("section .native is missing or not aligned")
	}
}

// layouts reads testdata/layouts.txt: offsets by image or option, structure and field.
func layouts(t *testing.T) map[string]map[string]map[string]int64 {
	t.Helper()
	b, err := os.ReadFile("testdata/layouts.txt")
	require.NoError(t, err)
	all := map[string]map[string]map[string]int64{}
	for line := range strings.Lines(string(b)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		if all[words[0]] == nil {
			all[words[0]] = map[string]map[string]int64{}
		}
		fields := map[string]int64{}
		for _, w := range words[2:] {
			name, at, _ := strings.Cut(w, "=")
			if fields[name], err = strconv.ParseInt(at, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		all[words[0]][words[1]] = fields
	}
	return all
}

// layoutOf returns the layout that holds for an image: its era's and its options' offsets go before its instruction set's.
func layoutOf(t *testing.T, im Image) map[string]map[string]int64 {
	all := layouts(t)
	of := []string{im.ISA, im.ISA + "-" + im.Era}
	for option := range strings.FieldsSeq(strings.ReplaceAll(im.Options, "-", " ")) {
		of = append(of, im.ISA+"-"+option)
	}
	m := map[string]map[string]int64{}
	for _, key := range of {
		for name, fields := range all[key] {
			if m[name] == nil {
				m[name] = map[string]int64{}
			}
			maps.Copy(m[name], fields)
		}
	}
	return m
}

// Structures of the interface have their fields where modules expect them.
func holdStructLayouts(t *testing.T, im Image, f *elf.File) {
	d := require.Must(f.DWARF())(t)
	holdLayouts(t, structs(t, d), layoutOf(t, im))
}

func holdLayouts(t *testing.T, found map[string]*dwarf.StructType, want map[string]map[string]int64) {
	t.Helper()
	for name, fields := range want {
		s := found[name]
		if s == nil {
			t.Errorf("no struct %s", name)
			continue
		}
		at := map[string]int64{"size": s.ByteSize}
		for _, f := range s.Field {
			at[f.Name] = f.ByteOffset
		}
		for f, off := range fields {
			got, ok := at[f]
			require.That(t, ok && got == off, "struct %s: field %q is at %d, want %d", name, f, got, off)
		}
	}
}

func structs(t *testing.T, d *dwarf.Data) map[string]*dwarf.StructType {
	t.Helper()
	m := map[string]*dwarf.StructType{}
	r := d.Reader()
	for {
		e := require.Must(r.Next())(t)
		if e == nil {
			return m
		}
		if e.Tag != dwarf.TagStructType {
			continue
		}
		typ := require.Must(d.Type(e.Offset))(t)
		if s, ok := typ.(*dwarf.StructType); ok && !s.Incomplete && s.StructName != "" {
			m[s.StructName] = s
		}
	}
}

// wordsOf returns the address of a symbol with code and its content as words of four bytes.
func wordsOf(t *testing.T, f *elf.File, symbol string) (at uint64, words []uint32) {
	t.Helper()
	s, ok := symbolsOf(t, f)[symbol]
	require.Need(t, ok && int(s.Section) < len(f.Sections), "no code of %s", symbol)
	sec, b := f.Sections[s.Section], make([]byte, s.Size)
	if _, err := sec.ReadAt(b, int64(s.Value-sec.Addr)); err != nil {
		t.Fatal(err)
	}
	for ; len(b) >= 4; b = b[4:] {
		words = append(words, f.ByteOrder.Uint32(b))
	}
	return s.Value, words
}
