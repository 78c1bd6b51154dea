package x86

import (
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/kprobes"
)

// testTemplate is a detour template as short as can be: movabs $0, %rdi; call; nop.
func testTemplate(t testing.TB) kprobes.Template {
	return kprobes.Template{Code: unhex(t, "48bf0000000000000000 e800000000 90"), Marks: []int{2, 10}}
}

func TestRegionRules(t *testing.T) {
	nops := strings.Repeat("90", 8)
	tests := []struct {
		name, code string
		off        uint64
		entry      kprobes.Span
		fault      uint64       // offset of an instruction in the exception table, if not 0
		rule       kprobes.Rule // "" if optimized
		where      uint64       // offset that the refusal names
		size       int          // of the region
	}{
		{name: "prologue", code: "55 4889e5 53 c3", size: 5},
		{name: "seven byte load", code: "488b0500000000 c3", size: 7},
		{name: "up to the last byte", code: "90 4883ec08 c3", off: 0, size: 5},
		{name: "outside", code: "90", off: 8, rule: kprobes.RuleNoFunction, where: 8},
		{name: "in front", code: "90", off: ^uint64(0), rule: kprobes.RuleNoFunction, where: ^uint64(0)},
		{name: "nothing", code: "", rule: kprobes.RuleNoFunction},
		{name: "entry text", code: nops, entry: kprobes.Span{Start: 0x1000, End: 0x2000}, rule: kprobes.RuleEntryText},
		{name: "short function", code: "31c0 c3", rule: kprobes.RuleTooShort},
		{name: "near the end", code: nops, off: 4, rule: kprobes.RuleTooShort, where: 4},
		{name: "exception entry anywhere", code: nops + "8b07 c3", fault: 8, rule: kprobes.RuleExceptionTable, where: 8},
		{name: "undecodable anywhere", code: nops + "06", rule: kprobes.RuleUndecodable, where: 8},
		{name: "breakpoint anywhere", code: nops + "cc", rule: kprobes.RuleForeign, where: 8},
		{name: "jump table", code: nops + "ff24c500000080", rule: kprobes.RuleIndirectJump, where: 8},
		{name: "jmp *rax", code: nops + "ffe0", rule: kprobes.RuleIndirectJump, where: 8},
		{name: "jmp far *(rax)", code: nops + "ff28", rule: kprobes.RuleIndirectJump, where: 8},
		{name: "call *rax is no jump", code: nops + "ffd0 c3", size: 5},
		{name: "push (rax) is no jump", code: nops + "ff30 c3", size: 5},
		{name: "loop back to the probe", code: nops + "ebf6", size: 5},
		{name: "loop back behind the probe", code: nops + "ebf7", rule: kprobes.RuleJumpIntoRegion, where: 8},
		{name: "loop back to the fifth byte", code: nops + "ebfb", rule: kprobes.RuleJumpIntoRegion, where: 8},
		{name: "loop back behind the region", code: nops + "ebfc", size: 5},
		{name: "jcc", code: nops + "75f9", rule: kprobes.RuleJumpIntoRegion, where: 8},
		{name: "jcc rel32", code: nops + "0f85f5ffffff", rule: kprobes.RuleJumpIntoRegion, where: 8},
		{name: "jmp rel32", code: nops + "e9f6ffffff", rule: kprobes.RuleJumpIntoRegion, where: 8},
		{name: "loop", code: nops + "e2f9", rule: kprobes.RuleJumpIntoRegion, where: 8},
		{name: "call into the region is no jump", code: nops + "e8f6ffffff c3", size: 5},
		{name: "call first", code: "e800000000 c3", rule: kprobes.RuleNotBoostable},
		{name: "jcc in the region", code: "4889e5 7401 c3 90 90", rule: kprobes.RuleNotBoostable, where: 3},
		{name: "shift in the region", code: "4889e5 48c1e004 c3", rule: kprobes.RuleNotBoostable, where: 3},
		{name: "jump forward out", code: nops + "7401 90 c3", size: 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fn := kprobes.Text{Name: "f", Start: 0x1000, Code: unhex(t, tt.code)}
			r, refused := region(kprobes.Site{
				Fn: fn, Addr: fn.Start + tt.off, EntryText: tt.entry,
				Exceptions: func(a uint64) bool { return tt.fault != 0 && a == fn.Start+tt.fault },
			}, 64)
			if tt.rule == "" {
				if refused != nil || len(r.Code) != tt.size || r.Addr != fn.Start+tt.off {
					t.Errorf("region %#x % x, %v; want %d bytes", r.Addr, r.Code, refused, tt.size)
				}
				return
			}
			if refused == nil || refused.Rule != tt.rule || refused.Addr != fn.Start+tt.where {
				t.Errorf("refused %v, want %s at %#x", refused, tt.rule, fn.Start+tt.where)
			}
		})
	}
}

func TestRefusalNamesThePlace(t *testing.T) {
	fn := kprobes.Text{Name: "sum", Start: 0x1000, Code: unhex(t, "9090909090909090ebf7")}
	_, refused := region(kprobes.Site{Fn: fn, Addr: 0x1000}, 64)
	want := "jump-into-region: sum+0x8 (0x1008) jumps to sum+0x1 (0x1001), behind the start of the region"
	if refused == nil || refused.Error() != want {
		t.Errorf("got  %v\nwant %s", refused, want)
	}
}

func TestDetour(t *testing.T) {
	r := kprobes.Region{Addr: 0x10000, Code: unhex(t, "55 488b0500010000")}
	d, refused := detour(testTemplate(t), r, kprobes.DetourAt{Addr: 0x20000, Probe: 0x1122334455667788, Calls: []uint64{0x30000}}, 64)
	if refused != nil {
		t.Fatal(refused)
	}
	want := "48 bf 88 77 66 55 44 33 22 11 e8 f1 ff 00 00 90 55 48 8b 05 f0 00 ff ff e9 eb ff fe ff"
	if hex(d.Code) != want || d.Copied != 16 {
		t.Errorf("copied at %d\ngot  %s\nwant %s", d.Copied, hex(d.Code), want)
	}
	in, err := x86asm.Decode(d.Code[17:], 64)
	if err != nil || 0x20000+17+7+int64(int32(in.Args[1].(x86asm.Mem).Disp)) != 0x10000+8+0x100 {
		t.Errorf("the copied load reads another address: %v, %v", in, err)
	}
}

// A far jump with its target in the instruction exists in 32-bit mode alone.
func TestFarJump(t *testing.T) {
	fn := kprobes.Text{Name: "f", Start: 0x1000, Code: unhex(t, "9090909090909090 ea001000001000")}
	if _, refused := region(kprobes.Site{Fn: fn, Addr: 0x1000}, 32); refused == nil || refused.Rule != kprobes.RuleIndirectJump {
		t.Errorf("refused %v", refused)
	}
	fn.Code = fn.Code[:8]
	if r, refused := region(kprobes.Site{Fn: fn, Addr: 0x1000}, 32); refused != nil || len(r.Code) != 5 {
		t.Errorf("without the jump: %v, %v", r, refused)
	}
}

// 32-bit code has no operands relative to the instruction pointer: it is copied as it is.
func TestDetour32(t *testing.T) {
	tmpl := kprobes.Template{Code: unhex(t, "b800000000 e800000000 90"), Marks: []int{1, 5}}
	r := kprobes.Region{Addr: 0xc0010000, Code: unhex(t, "55 8b05000100c0")}
	d, refused := detour(tmpl, r, kprobes.DetourAt{Addr: 0xc0020000, Probe: 0xc1223344, Calls: []uint64{0xc0030000}}, 32)
	if refused != nil {
		t.Fatal(refused)
	}
	want := "b8 44 33 22 c1 e8 f6 ff 00 00 90 55 8b 05 00 01 00 c0 e9 f0 ff fe ff"
	if hex(d.Code) != want || d.Copied != 11 {
		t.Errorf("copied at %d\ngot  %s\nwant %s", d.Copied, hex(d.Code), want)
	}
}

func TestDetourRefusals(t *testing.T) {
	r := kprobes.Region{Addr: 0x10000, Code: unhex(t, "9090909090")}
	load := kprobes.Region{Addr: 0x10000, Code: unhex(t, "488b0500010000")}
	tests := []struct {
		name string
		t    kprobes.Template
		r    kprobes.Region
		d    kprobes.DetourAt
		rule kprobes.Rule
	}{
		{"call too far", testTemplate(t), r, kprobes.DetourAt{Addr: 0x10000, Calls: []uint64{1 << 40}}, kprobes.RuleOutOfRange},
		{"way back too far", testTemplate(t), r, kprobes.DetourAt{Addr: 1 << 40, Calls: []uint64{1 << 40}}, kprobes.RuleOutOfRange},
		{"operand too far", testTemplate(t), load, kprobes.DetourAt{Addr: 1 << 40, Calls: []uint64{1 << 40}}, kprobes.RuleDisplacement},
		{"value in front", kprobes.Template{Code: make([]byte, 16), Marks: []int{-1, 8}}, r, kprobes.DetourAt{Addr: 0x20000}, kprobes.RuleUnsupported},
		{"call in front", kprobes.Template{Code: make([]byte, 16), Marks: []int{0, -1}}, r, kprobes.DetourAt{Addr: 0x20000}, kprobes.RuleUnsupported},
		{"no room for the value", kprobes.Template{Code: make([]byte, 16), Marks: []int{9, 0}}, r, kprobes.DetourAt{Addr: 0x20000}, kprobes.RuleUnsupported},
		{"no room for the call", kprobes.Template{Code: make([]byte, 16), Marks: []int{0, 12}}, r, kprobes.DetourAt{Addr: 0x20000}, kprobes.RuleUnsupported},
		{"template without room", kprobes.Template{Code: []byte{0x90}}, r, kprobes.DetourAt{Addr: 0x20000}, kprobes.RuleUnsupported},
	}
	for _, tt := range tests {
		if _, refused := detour(tt.t, tt.r, tt.d, 64); refused == nil || refused.Rule != tt.rule {
			t.Errorf("%s: %v, want %s", tt.name, refused, tt.rule)
		}
	}
}

func TestJump(t *testing.T) {
	if j, refused := jump(0x1000, 0x2000); refused != nil || hex(j) != "e9 fb 0f 00 00" {
		t.Errorf("% x, %v", j, refused)
	}
	if j, refused := jump(0, 5+1<<31); refused == nil {
		t.Errorf("% x reaches 2 GiB forward", j)
	}
	if _, refused := jump(0x80000000, 5); refused != nil {
		t.Errorf("2 GiB back: %v", refused)
	}
}
