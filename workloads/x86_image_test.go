package workloads

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/internal/require"
)

type insn struct {
	x86asm.Inst
	at int
}

func decode(t *testing.T, f *elf.File, s elf.Symbol) []insn {
	t.Helper()
	sec := f.Sections[s.Section]
	code := make([]byte, s.Size)
	if _, err := sec.ReadAt(code, int64(s.Value-sec.Addr)); err != nil {
		t.Fatal(err)
	}
	var list []insn
	for at := 0; at < len(code); {
		in, err := x86asm.Decode(code[at:], bitsOf(f))
		require.Need(t, err == nil, "%s+%#x: %v", s.Name, at, err)
		list = append(list, insn{in, at})
		at += in.Len
	}
	return list
}

// bitsOf is the width of an image's addresses.
func bitsOf(f *elf.File) int {
	if f.Class == elf.ELFCLASS32 {
		return 32
	}
	return 64
}

// target returns where a relative jump or call goes, as an offset in its function.
func (in insn) target() (int, bool) {
	for _, a := range in.Args {
		if r, ok := a.(x86asm.Rel); ok {
			return in.at + in.Len + int(r), true
		}
	}
	return 0, false
}

// intoHead reports whether a jump of the function lands among the bytes a five-byte jump at its
// start would replace.
func intoHead(list []insn) bool {
	for _, in := range list {
		if to, ok := in.target(); ok && in.Op != x86asm.CALL && to >= 1 && to <= 5 {
			return true
		}
	}
	return false
}

// holdEntryNop holds the first instruction of bench_target to the nop that a call may replace, and the table of
// nops to it.
func holdEntryNop(t *testing.T, f *elf.File, first insn) {
	t.Helper()
	require.That(t, first.Op == x86asm.NOP && first.Len == 5, "bench_target begins with %v of %d bytes, want a nop of 5", first.Inst, first.Len)
	sec := f.Section("__mcount_loc")
	require.Need(t, sec != nil, "the image has no table of nops")
	table := require.Must(sec.Data())(t)
	at := binary.LittleEndian.AppendUint64(nil, symbolsOf(t, f)["bench_target"].Value)
	if f.Class == elf.ELFCLASS32 {
		at = at[:4] // the lower half: the processor is little-endian
	}
	for nop := range slices.Chunk(table, len(at)) {
		if bytes.Equal(nop, at) {
			return
		}
	}
	t.Error("the table of nops does not name bench_target")
}

// A jump takes five plain instructions' bytes; where a nop for the function tracer comes first, those behind it.
func holdBenchTargetTakesEveryProbe(t *testing.T, im Image, f *elf.File) {
	syms := symbolsOf(t, f)
	list, start := decode(t, f, syms["bench_target"]), 0
	require.That(t, !intoHead(list), "a jump lands in the first bytes")
	if _, traced := syms["entry_trampoline"]; traced {
		holdEntryNop(t, f, list[0])
		list, start = list[1:], list[0].Len
	}
	for _, in := range list {
		if in.at >= start+5 {
			break
		}
		switch in.Op {
		case x86asm.LEA, x86asm.MOV, x86asm.ADD, x86asm.SUB, x86asm.PUSH, x86asm.XOR:
		default:
			t.Errorf("+%#x: %v is not among the plain instructions", in.at, in.Inst)
		}
	}
}

// Shapes that a rule is about must survive another compiler or another flag.
func holdShapes(t *testing.T, im Image, f *elf.File) {
	syms := symbolsOf(t, f)
	if _, ok := syms["detour_template"]; ok != (im.Era >= "2010") {
		t.Errorf("a template of detours: %v", ok)
	}
	first := func(name string) insn { return decode(t, f, syms[name])[0] }
	require.That(t, intoHead(decode(t, f, syms["work_tight_loop"])), "work_tight_loop: no jump into the first bytes")
	require.That(t, syms["work_short"].Size < 5, "work_short is too long")
	if in := first("work_call_first"); in.Op != x86asm.CALL {
		t.Errorf("work_call_first starts with %v", in.Inst)
	}
	if in := first("work_rip_relative"); (in.PCRel != 0) != (bitsOf(f) == 64) || in.MemBytes == 0 {
		t.Errorf("work_rip_relative starts with %v", in.Inst)
	}
	if in := first("work_flags"); in.Op != x86asm.PUSHFQ && in.Op != x86asm.PUSHFD {
		t.Errorf("work_flags starts with %v", in.Inst)
	}
	indirect := false
	for _, in := range decode(t, f, syms["work_switch"]) {
		_, direct := in.target()
		indirect = indirect || in.Op == x86asm.JMP && !direct
	}
	require.That(t, indirect, "work_switch has no jump through a table")
}

// What runs in user mode reaches nothing of the kernel but by a system call.
func holdUserModeIsApart(t *testing.T, _ Image, f *elf.File) {
	text, bss := f.Section(".user.text"), f.Section(".user.bss")
	end := bss.Addr + bss.Size
	userText(t, f)
	found := 0
	for name, s := range symbolsOf(t, f) {
		inside := s.Value >= text.Addr && s.Value < text.Addr+text.Size
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 || int(s.Section) >= len(f.Sections) || f.Sections[s.Section].Type == elf.SHT_NOBITS {
			continue
		}
		if !inside {
			continue
		}
		found++
		for _, in := range decode(t, f, s) {
			to, ok := in.target()
			if at := s.Value + uint64(to); ok && (at < text.Addr || at >= text.Addr+text.Size) {
				t.Errorf("%s+%#x leaves user mode for %#x: %v", name, in.at, at, in.Inst)
			}
			for _, a := range in.Args {
				if m, ok := a.(x86asm.Mem); ok && m.Base == 0 && m.Index == 0 && (uint64(m.Disp) < text.Addr || uint64(m.Disp) >= end) {
					t.Errorf("%s+%#x reaches %#x: %v", name, in.at, m.Disp, in.Inst)
				}
			}
		}
	}
	require.That(t, found >= 8, "%d functions in user mode", found)
}

// holdSites holds every site to one instruction of five bytes, as a jump takes.
func holdSites(t *testing.T, _ Image, f *elf.File) {
	syms := symbolsOf(t, f)
	decoded := map[string][]insn{}
	for _, site := range Sites() {
		sym, ok := syms[site.Symbol]
		require.Need(t, ok, "the image has no function %s", site.Symbol)
		if decoded[site.Symbol] == nil {
			decoded[site.Symbol] = decode(t, f, sym)
		}
		found := false
		for _, in := range decoded[site.Symbol] {
			found = found || uint64(in.at) == site.Offset && in.Len == 5
		}
		require.That(t, found, "%s+%#x is no instruction of five bytes", site.Symbol, site.Offset)
	}
}
