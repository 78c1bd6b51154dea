package ppc64

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/arch/ppc64/ppc64asm"

	"kprobesim/kprobes"
)

// decoded is what the decoder of golang.org/x/arch says of a word, as a second opinion. Words that it does not
// know have operation 0.
func decoded(w uint32) ppc64asm.Inst {
	in, _ := ppc64asm.Decode(bytesOf(w), binary.BigEndian)
	return in
}

func TestPrepare(t *testing.T) {
	for _, tt := range []struct {
		word uint32
		name string
		err  error
	}{
		{0x7c0802a6, "mflr r0", nil},
		{0x60000000, "nop", nil},
		{0x48000010, "b", nil},
		{0x4e800020, "blr", nil},
		{0x44000002, "sc", nil},
		{0x7fe00008, "trap", nil},
		{0x0b090000, "tdnei r9,0", nil},
		{0x7c6000a6, "mfmsr r3", nil},
		{0x7c600124, "mtmsr r3", kprobes.EINVAL},
		{0x7c600164, "mtmsrd r3", kprobes.EINVAL},
		{0x7c610164, "mtmsrd r3,1", kprobes.EINVAL},
		{0x4c000024, "rfid", kprobes.EINVAL},
		{0x4c000064, "rfi", kprobes.EINVAL},
		{0, "no instruction", nil},
	} {
		code := append(bytesOf(tt.word), 1, 2, 3, 4)
		cp, err := prepare(kprobes.Insn{Code: code, Addr: 0x1000, Slot: 0xd000000000000040, Boost: true})
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
		}
		if err != nil {
			continue
		}
		want := []kprobes.Value{
			{Member: "opcode", Number: uint64(tt.word)},
			{Member: "ainsn.insn", Number: 0xd000000000000040},
			{Member: "ainsn.boostable"},
		}
		if string(cp.Code) != string(code[:4]) || !slices.Equal(cp.Members, want) {
			t.Errorf("%s: % x, %+v", tt.name, cp.Code, cp.Members)
		}
	}
}

// Where hits are to step, the emulator is asked for what cannot be stepped alone.
func TestPrepareToStep(t *testing.T) {
	for w, number := range map[uint32]uint64{
		0x60000000: 0xffffffff, 0x7c6802a6: 0xffffffff, // nop, mflr
		0x48000010: 0, 0x41820010: 0, 0x4e800020: 0, 0x4e800421: 0, 0x7c6000a6: 0, // b, beq, blr, bctrl, mfmsr
	} {
		cp, err := prepare(kprobes.Insn{Code: bytesOf(w)})
		if want := (kprobes.Value{Member: "ainsn.boostable", Number: number}); err != nil || cp.Members[2] != want {
			t.Errorf("%08x: %+v, %v", w, cp.Members, err)
		}
	}
}

// The members that are prepared are those that Kprobes looks for, in every era.
func TestArchFitsItself(t *testing.T) {
	a := Arch()
	cp, _ := a.Prepare(kprobes.Insn{Code: bytesOf(0x60000000)})
	for _, v := range cp.Members {
		if !slices.Contains(a.Members, v.Member) {
			t.Errorf("%s is no member", v.Member)
		}
	}
	if !slices.Contains(a.Members, a.Learned) || a.Reach() != 4 || a.SlotSize != len(a.Breakpoint) {
		t.Errorf("%+v", a)
	}
	if in := decoded(trap); in.Op != ppc64asm.TW || in.Args[0] != ppc64asm.Imm(31) {
		t.Errorf("the breakpoint is %s", in)
	}
	if got := a.Classify(a.Breakpoint, 0x1000); got != (kprobes.Class{Kind: kprobes.ClassBreakpoint, Len: 4}) {
		t.Errorf("the breakpoint is classified as %+v", got)
	}
}

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		word uint32
		want kprobes.Class
	}{
		{0x7fe00008, kprobes.Class{Kind: kprobes.ClassBreakpoint, Len: 4}},
		{0x48000010, kprobes.Class{Kind: kprobes.ClassJump, Len: 4, Target: 0x10010}},
		{0x4bfffff0, kprobes.Class{Kind: kprobes.ClassJump, Len: 4, Target: 0xfff0}},
		{0x48000011, kprobes.Class{Len: 4}}, // bl
		{0x48000012, kprobes.Class{Len: 4}}, // ba
		{0x41820010, kprobes.Class{Len: 4}}, // beq
		{0x7c210b78, kprobes.Class{Kind: kprobes.ClassSpin, Len: 4}},
		{0x7c421378, kprobes.Class{Len: 4}}, // or r2,r2,r2: back to medium priority
		{0x7fe0fe70, kprobes.Class{Len: 4}},
		{0, kprobes.Class{Len: 4}},
	} {
		if got := classify(bytesOf(tt.word), 0x10000); got != tt.want {
			t.Errorf("%08x: %+v, want %+v", tt.word, got, tt.want)
		}
	}
	for _, code := range []string{"", "\x60\x00\x00"} {
		if got := classify([]byte(code), 0x10000); got != (kprobes.Class{}) {
			t.Errorf("% x: %+v", code, got)
		}
	}
	if got := classify(bytesOf(trap), 0x10002); got != (kprobes.Class{}) {
		t.Errorf("between two words: %+v", got)
	}
}

func TestAtomic(t *testing.T) {
	old, changed := bytesOf(0x7c0802a6), bytesOf(trap)
	if !atomic(0x1000, 0x1000, old, changed) {
		t.Error("a breakpoint over a word is not atomic")
	}
	if atomic(0x1000, 0x1002, old, changed) || atomic(0x1000, 0x1000, old[:1], changed[:1]) ||
		atomic(0x1000, 0x1000, append(old, old...), append(changed, changed...)) {
		t.Error("a store of less or more than a word is atomic")
	}
}

func TestJump(t *testing.T) {
	for _, tt := range []struct {
		from, to uint64
		want     string // "" for out of range
	}{
		{0xc000000000001000, 0xc000000000002000, "48 00 10 00"},
		{0xc000000000002000, 0xc000000000001000, "4b ff f0 00"},
		{0x10000000, 0x10000000 + reach - 4, "49 ff ff fc"},
		{0x10000000, 0x10000000 - reach, "4a 00 00 00"},
		{0x10000000, 0x10000000 + reach, ""},
		{0x10000000, 0x10000000 - reach - 4, ""},
		{0xc000000000001000, 0xd000000000001000, ""},
		{0x1000, 0x1002, ""},
	} {
		code, refused := jump(tt.from, tt.to)
		if got := hexOf(code); got != tt.want || (refused == nil) != (tt.want != "") {
			t.Errorf("%#x to %#x: %s, %v; want %q", tt.from, tt.to, got, refused, tt.want)
		}
		if refused != nil && (refused.Rule != kprobes.RuleOutOfRange || refused.Addr != tt.from) {
			t.Errorf("%#x to %#x: %v", tt.from, tt.to, refused)
		}
		if c := classify(code, tt.from); refused == nil && (c.Kind != kprobes.ClassJump || c.Target != tt.to) {
			t.Errorf("%#x to %#x is read as %+v", tt.from, tt.to, c)
		}
	}
}

func hexOf(code []byte) string { return fmt.Sprintf("% x", code) }

// site is a function of three instructions, of which the second is to be replaced.
func site(w uint32) kprobes.Site {
	code := slices.Concat(bytesOf(0x7c0802a6), bytesOf(w), bytesOf(0x4e800020))
	return kprobes.Site{Fn: kprobes.Text{Name: "f", Start: 0x1000, Code: code}, Addr: 0x1004}
}

func TestRegion(t *testing.T) {
	for _, tt := range []struct {
		word uint32
		name string
		rule kprobes.Rule
	}{
		{0x60000000, "nop", ""},
		{0x38630001, "addi r3,r3,1", ""},
		{0x7c632214, "add r3,r3,r4", ""},
		{0x7c632215, "add. r3,r3,r4", ""},
		{0x7c632614, "addo r3,r3,r4", kprobes.RuleNotEmulated},
		{0x7c6323d2, "divd r3,r3,r4", kprobes.RuleNotEmulated},
		{0x786307c6, "rldicr r3,r3,32,31", ""},
		{0x78632010, "rldcl r3,r3,r4,0", ""},
		{0x54630000, "rlwinm r3,r3,0,0,0", ""},
		{0x7c0803a6, "mtlr r0", ""},
		{0x7c0802a6, "mflr r0", ""},
		{0x7c0903a6, "mtctr r0", ""},
		{0x7c7a02a6, "mfspr r3,26 (SRR0)", kprobes.RuleNotEmulated},
		{0x7c7342a6, "mfspr r3,SPRG3", kprobes.RuleNotEmulated},
		{0x7c000026, "mfcr r0", ""},
		{0x4c042182, "crclr 4*cr0", ""},
		{0x4c00012c, "isync", ""},
		{0x7c0004ac, "sync", ""},
		{0x48000010, "b", ""},
		{0x48000011, "bl", ""},
		{0x41820010, "beq", kprobes.RuleConditional},
		{0x42800010, "bc always", kprobes.RuleConditional},
		{0x4e800020, "blr", kprobes.RuleConditional},
		{0x4e800421, "bctrl", kprobes.RuleConditional},
		{0xe8610028, "ld r3,40(r1)", kprobes.RuleNotEmulated},
		{0xf8210091, "stdu r1,144(r1)", kprobes.RuleNotEmulated},
		{0x80630000, "lwz r3,0(r3)", kprobes.RuleNotEmulated},
		{0x7c60286e, "lwzux r3,0,r5", kprobes.RuleNotEmulated},
		{0x7c6028ad, "stwcx. or others", kprobes.RuleNotEmulated},
		{0x0b090000, "tdnei r9,0", kprobes.RuleNotEmulated},
		{0x7c6000a6, "mfmsr r3", kprobes.RuleNotEmulated},
		{0x44000002, "sc", kprobes.RuleNotEmulated},
		{0x7fe00008, "trap", kprobes.RuleForeign},
		{0, "no instruction", kprobes.RuleNotEmulated},
	} {
		r, refused := region(site(tt.word))
		if tt.rule == "" {
			if refused != nil || r.Addr != 0x1004 || string(r.Code) != string(bytesOf(tt.word)) || r.End() != 0x1008 {
				t.Errorf("%s: %+v, %v", tt.name, r, refused)
			}
			continue
		}
		if refused == nil || refused.Rule != tt.rule || refused.Addr != 0x1004 {
			t.Errorf("%s: %v, want %s", tt.name, refused, tt.rule)
		}
	}
}

// What does not depend on the instruction.
func TestRegionPlaces(t *testing.T) {
	const nop = 0x60000000
	for name, tt := range map[string]struct {
		change func(*kprobes.Site)
		rule   kprobes.Rule
		text   string
	}{
		"module": {func(s *kprobes.Site) { s.Module = true }, kprobes.RuleModuleText, "f+0x4 (0x1004) is text of a module"},
		"entry": {
			func(s *kprobes.Site) { s.EntryText = kprobes.Span{Start: 0x1000, End: 0x2000} }, kprobes.RuleEntryText,
			"f+0x4 (0x1004) is exception entry code",
		},
		"behind": {func(s *kprobes.Site) { s.Addr = 0x100c }, kprobes.RuleNoFunction, "no symbol with a size covers 0x100c"},
		"front":  {func(s *kprobes.Site) { s.Addr = 0xffc }, kprobes.RuleNoFunction, "no symbol with a size covers 0xffc"},
		"half": {
			func(s *kprobes.Site) { s.Fn.Code = s.Fn.Code[:6] }, kprobes.RuleNoFunction, "no symbol with a size covers 0x1004",
		},
	} {
		s := site(nop)
		tt.change(&s)
		if _, refused := region(s); refused == nil || refused.Rule != tt.rule || refused.Text != tt.text {
			t.Errorf("%s: %v", name, refused)
		}
	}
	_, refused := region(site(0xe8610028))
	want := "not-emulated: f+0x4 (0x1004) (e8610028) is no instruction that a detour buffer can have emulated"
	if refused == nil || refused.Error() != want {
		t.Errorf("got  %v\nwant %s", refused, want)
	}
}

// testTemplate is a detour template without what saves registers: the address of the probe, a call, the
// instruction, another call, and a nop.
func testTemplate() kprobes.Template {
	var code []byte
	for _, w := range []uint32{
		0x3c600000, 0x60630000, 0x786307c6, 0x64630000, 0x60630000, 0x48000001, 0x3c800000, 0x60840000, 0x48000001, 0x60000000,
	} {
		code = append(code, bytesOf(w)...)
	}
	return kprobes.Template{Code: code, Marks: []int{0, 20, 24, 32}}
}

func detourAt() kprobes.DetourAt {
	return kprobes.DetourAt{Addr: 0x20000, Probe: 0xc000000012345678, Calls: []uint64{0x30000, 0x10000}}
}

func TestDetour(t *testing.T) {
	d, refused := detour(testTemplate(), kprobes.Region{Addr: 0x18000, Code: bytesOf(0x7c632214)}, detourAt())
	if refused != nil {
		t.Fatal(refused)
	}
	want := "3c 60 c0 00 60 63 00 00 78 63 07 c6 64 63 12 34 60 63 56 78 48 00 ff ed 3c 80 7c 63 60 84 22 14 4b fe ff e1 " +
		"60 00 00 00 4b ff 7f dc"
	if hexOf(d.Code) != want || d.Copied != 40 {
		t.Errorf("copied at %d\ngot  %s\nwant %s", d.Copied, hexOf(d.Code), want)
	}
	if c := classify(d.Code[40:], 0x20000+40); c.Target != 0x18004 {
		t.Errorf("the way back leads to %#x", c.Target)
	}
	if hexOf(testTemplate().Code) == hexOf(d.Code[:40]) {
		t.Error("the template has changed")
	}
}

// A probed branch is not taken in the buffer but behind it.
func TestDetourOfBranch(t *testing.T) {
	for word, want := range map[uint32]uint64{0x48000040: 0x18040, 0x48000041: 0x18040, 0x4bffffc1: 0x17fc0, 0x48018002: 0x18000} {
		d, refused := detour(testTemplate(), kprobes.Region{Addr: 0x18000, Code: bytesOf(word)}, detourAt())
		if refused != nil {
			t.Fatal(refused)
		}
		if c := classify(d.Code[40:], 0x20000+40); c.Target != want {
			t.Errorf("%08x: the way back leads to %#x, want %#x", word, c.Target, want)
		}
	}
}

func TestDetourRefusals(t *testing.T) {
	nop := kprobes.Region{Addr: 0x18000, Code: bytesOf(0x60000000)}
	far := kprobes.Region{Addr: 0x18000, Code: bytesOf(0x4a000000)} // 32 MiB back
	for _, tt := range []struct {
		name   string
		change func(*kprobes.Template, *kprobes.DetourAt)
		r      kprobes.Region
		rule   kprobes.Rule
	}{
		{"callback", func(_ *kprobes.Template, d *kprobes.DetourAt) { d.Calls = []uint64{1 << 40, 0} }, nop, kprobes.RuleOutOfRange},
		{"emulator", func(_ *kprobes.Template, d *kprobes.DetourAt) { d.Calls = []uint64{0x30000, 1 << 40} }, nop, kprobes.RuleOutOfRange},
		{"back", func(_ *kprobes.Template, d *kprobes.DetourAt) { d.Addr, d.Calls = 1<<40, []uint64{1 << 40, 1 << 40} }, nop, kprobes.RuleOutOfRange},
		{"branch", func(_ *kprobes.Template, d *kprobes.DetourAt) { d.Addr = 0x20000 }, far, kprobes.RuleOutOfRange},
		{"mark in front", func(t *kprobes.Template, _ *kprobes.DetourAt) { t.Marks[0] = -4 }, nop, kprobes.RuleUnsupported},
		{"mark behind", func(t *kprobes.Template, _ *kprobes.DetourAt) { t.Marks[3] = 40 }, nop, kprobes.RuleUnsupported},
		{"mark missing", func(t *kprobes.Template, _ *kprobes.DetourAt) { t.Marks = t.Marks[:3] }, nop, kprobes.RuleUnsupported},
		{"other instructions", func(t *kprobes.Template, _ *kprobes.DetourAt) { t.Marks[0] = 4 }, nop, kprobes.RuleUnsupported},
		{"other number", func(t *kprobes.Template, _ *kprobes.DetourAt) { t.Marks[2] = 28 }, nop, kprobes.RuleUnsupported},
	} {
		tmpl, d := testTemplate(), detourAt()
		tt.change(&tmpl, &d)
		if _, refused := detour(tmpl, tt.r, d); refused == nil || refused.Rule != tt.rule {
			t.Errorf("%s: %v, want %s", tt.name, refused, tt.rule)
		}
	}
}
