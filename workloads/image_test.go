package workloads

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"maps"
	"strings"
	"testing"
)

// eachImage runs a test on every image.
func eachImage(t *testing.T, test func(t *testing.T, im Image, f *elf.File)) {
	for _, im := range List() {
		t.Run(im.Name, func(t *testing.T) { test(t, im, openELF(t, im.Name)) })
	}
}

func openELF(t *testing.T, name string) *elf.File {
	t.Helper()
	b, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func symbolsOf(t *testing.T, f *elf.File) map[string]elf.Symbol {
	t.Helper()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]elf.Symbol{}
	for _, s := range list {
		m[s.Name] = s
	}
	return m
}

// The list of functions worth probing and the image agree, both ways.
func TestFunctions(t *testing.T) { eachImage(t, holdFunctions) }

func holdFunctions(t *testing.T, im Image, f *elf.File) {
	syms := symbolsOf(t, f)
	listed := map[string]bool{}
	for _, fn := range im.Functions() {
		listed[fn.Name] = true
		if s, ok := syms[fn.Name]; !ok || elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 {
			t.Errorf("the image has no function %s", fn.Name)
		}
	}
	for name, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && strings.HasPrefix(name, "work_") &&
			name != "work_init" && !listed[name] {
			t.Errorf("%s is not listed in functions.go", name)
		}
	}
}

// The simulator finds its way in the image by these.
func TestLayout(t *testing.T) { eachImage(t, holdLayout) }

func holdLayout(t *testing.T, _ Image, f *elf.File) {
	syms := symbolsOf(t, f)
	phases := []string{"entry", "dispatch", "handler", "step", "return", "kretprobe"}
	if _, ok := syms["detour_template"]; ok {
		phases = append(phases, "detour")
	}
	for _, name := range phases {
		if sec := f.Section(".phase." + name); sec == nil || sec.Size == 0 || sec.Addr%64 != 0 {
			t.Errorf("section .phase.%s is missing, empty or not aligned", name)
		}
	}
	if sec := f.Section(".native"); sec == nil || sec.Addr%16 != 0 {
		t.Error("section .native is missing or not aligned")
	}
}

// layouts are the field offsets of the public structures as Linux 2.6.33 has them on each instruction
// set, "" stands for the size. The registers of i386 have been more since 2.6.20. What an era or
// an option of an image changes is listed by ISA-ERA and ISA-OPTION: kernels of 2020 know more of a displaced
// instruction and of a return instance, and kernels with probes of user space keep behind each probe where it is.
var layouts = map[string]map[string]map[string]int64{
	"x86_64": {
		"kprobe": {
			"nmissed": 32, "addr": 40, "pre_handler": 64, "break_handler": 88, "opcode": 96,
			"ainsn": 104, "flags": 120, "": 128,
		},
		"kretprobe":          {"handler": 128, "maxactive": 144, "data_size": 152, "lock": 168},
		"kretprobe_instance": {"rp": 16, "ret_addr": 24, "task": 32},
		"pt_regs":            {"ax": 80, "orig_ax": 120, "ip": 128, "sp": 152, "": 168},
	},
	"i386": {
		"kprobe": {
			"nmissed": 16, "addr": 20, "pre_handler": 32, "break_handler": 44, "opcode": 48,
			"ainsn": 52, "flags": 60, "": 64,
		},
		"kretprobe":          {"handler": 64, "maxactive": 72, "data_size": 80, "lock": 88},
		"kretprobe_instance": {"rp": 8, "ret_addr": 12, "task": 16},
		"pt_regs":            {"bx": 0, "ax": 24, "ds": 28},
	},
	"i386-2005": {"pt_regs": {"orig_ax": 36, "ip": 40, "flags": 48, "sp": 52, "": 60}},
	"i386-2006": {"pt_regs": {"orig_ax": 36, "ip": 40, "flags": 48, "sp": 52, "": 60}},
	"i386-2010": {
		"pt_regs":            {"fs": 36, "gs": 40, "orig_ax": 44, "ip": 48, "flags": 56, "sp": 60, "": 68},
		"kretprobe":          {"": 92},
		"kretprobe_instance": {"data": 20, "": 20},
	},
	"ppc64": {
		"kprobe": {
			"nmissed": 32, "addr": 40, "pre_handler": 64, "break_handler": 88, "opcode": 96,
			"ainsn": 104, "flags": 120, "": 128,
		},
		"kretprobe":          {"handler": 128, "maxactive": 144, "data_size": 152, "lock": 168},
		"kretprobe_instance": {"rp": 16, "ret_addr": 24, "task": 32},
		"pt_regs":            {"nip": 256, "msr": 264, "link": 288, "trap": 320, "dar": 328, "result": 344, "": 352},
	},
	"arm": {
		"kprobe": {
			"nmissed": 16, "addr": 20, "pre_handler": 32, "break_handler": 44, "opcode": 48, "ainsn": 52,
		},
		"kretprobe_instance": {"rp": 8, "ret_addr": 12, "task": 16, "data": 20, "": 20},
		"pt_regs":            {"uregs": 0, "": 72},
	},
	"arm-userprobes": {
		"kprobe":    {"user": 68, "": 72},
		"kretprobe": {"handler": 72, "maxactive": 80, "data_size": 88, "lock": 96},
	},
	"i386-userprobes": {
		"kprobe":    {"user": 64, "": 68},
		"kretprobe": {"handler": 68, "maxactive": 76, "data_size": 84, "lock": 92},
	},
	"x86_64-userprobes": {
		"kprobe":    {"user": 128, "": 136},
		"kretprobe": {"handler": 136, "maxactive": 152, "data_size": 160, "lock": 176},
	},
	"ppc64-userprobes": {
		"kprobe":    {"user": 128, "": 136},
		"kretprobe": {"handler": 136, "maxactive": 152, "data_size": 160, "lock": 176},
	},
	"x86_64-2010": {"kretprobe": {"": 176}, "kretprobe_instance": {"data": 40, "": 40}},
	"i386-2020": {
		"pt_regs": {"fs": 36, "gs": 40, "orig_ax": 44, "ip": 48, "flags": 56, "sp": 60, "": 68},
		"kprobe":  {"ainsn": 52, "flags": 72, "": 76},
		"kretprobe": {
			"handler": 76, "maxactive": 84, "data_size": 92, "free_instances": 96, "lock": 100, "hook": 104, "": 108,
		},
		"kretprobe_instance": {"hook": 20, "frame": 24, "data": 32, "": 32},
	},
	"x86_64-2020": {
		"kprobe": {"ainsn": 104, "flags": 136, "": 144},
		"kretprobe": {
			"handler": 144, "maxactive": 160, "data_size": 168, "free_instances": 176, "lock": 184,
			"hook": 192, "": 200,
		},
		"kretprobe_instance": {"hook": 40, "frame": 48, "data": 60, "": 64},
	},
}

// layoutOf returns the layout that holds for an image: its era's and its options' offsets go before its instruction set's.
func layoutOf(im Image) map[string]map[string]int64 {
	of := []string{im.ISA, im.ISA + "-" + im.Era}
	for option := range strings.FieldsSeq(strings.ReplaceAll(im.Options, "-", " ")) {
		of = append(of, im.ISA+"-"+option)
	}
	m := map[string]map[string]int64{}
	for _, key := range of {
		for name, fields := range layouts[key] {
			if m[name] == nil {
				m[name] = map[string]int64{}
			}
			maps.Copy(m[name], fields)
		}
	}
	return m
}

// Structures of the interface have their fields where modules expect them.
func TestStructLayouts(t *testing.T) { eachImage(t, holdStructLayouts) }

func holdStructLayouts(t *testing.T, im Image, f *elf.File) {
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	holdLayouts(t, structs(t, d), layoutOf(im))
}

func holdLayouts(t *testing.T, found map[string]*dwarf.StructType, want map[string]map[string]int64) {
	t.Helper()
	for name, fields := range want {
		s := found[name]
		if s == nil {
			t.Errorf("no struct %s", name)
			continue
		}
		at := map[string]int64{"": s.ByteSize}
		for _, f := range s.Field {
			at[f.Name] = f.ByteOffset
		}
		for f, off := range fields {
			if got, ok := at[f]; !ok || got != off {
				t.Errorf("struct %s: field %q is at %d, want %d", name, f, got, off)
			}
		}
	}
}

func structs(t *testing.T, d *dwarf.Data) map[string]*dwarf.StructType {
	t.Helper()
	m := map[string]*dwarf.StructType{}
	r := d.Reader()
	for {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return m
		}
		if e.Tag != dwarf.TagStructType {
			continue
		}
		typ, err := d.Type(e.Offset)
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := typ.(*dwarf.StructType); ok && !s.Incomplete && s.StructName != "" {
			m[s.StructName] = s
		}
	}
}

// eachOf runs a test on every image of a machine.
func eachOf(t *testing.T, machine elf.Machine, test func(t *testing.T, im Image, f *elf.File)) {
	t.Helper()
	for _, im := range List() {
		f := openELF(t, im.Name)
		if f.Machine == machine {
			t.Run(im.Name, func(t *testing.T) { test(t, im, f) })
		}
	}
}

// wordsOf returns the address of a symbol with code and its content as words of four bytes.
func wordsOf(t *testing.T, f *elf.File, symbol string) (at uint64, words []uint32) {
	t.Helper()
	s, ok := symbolsOf(t, f)[symbol]
	if !ok || int(s.Section) >= len(f.Sections) {
		t.Fatalf("no code of %s", symbol)
	}
	sec, b := f.Sections[s.Section], make([]byte, s.Size)
	if _, err := sec.ReadAt(b, int64(s.Value-sec.Addr)); err != nil {
		t.Fatal(err)
	}
	for ; len(b) >= 4; b = b[4:] {
		words = append(words, f.ByteOrder.Uint32(b))
	}
	return s.Value, words
}
