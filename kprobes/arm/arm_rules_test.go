package arm

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"kprobesim/kprobes"
)

// site is a function of three instructions, of which the second is to be replaced.
func site(w word) kprobes.Site {
	code := slices.Concat(bytesOf(0xe1a00000), bytesOf(w), bytesOf(0xe12fff1e))
	return kprobes.Site{Fn: kprobes.Text{Name: "f", Start: 0x1000, Code: code}, Addr: 0x1004}
}

// testTemplate is a detour template without what saves registers: room, the stack pointer, and two literals.
func testTemplate() kprobes.Template {
	var code []byte
	for _, w := range []word{0xe24dd048, 0xe28d3048, 0xe8ddffff, 0, 0} {
		code = append(code, bytesOf(w)...)
	}
	return kprobes.Template{Code: code, Marks: []int{0, 4, 12, 16}}
}

func detourAt() kprobes.DetourAt {
	return kprobes.DetourAt{Addr: 0xc0020000, Probe: 0xc0345678, Calls: []uint64{0xc0030000}}
}

// What becomes of instructions in both eras. "-" is for a refused one.
func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		word             uint32
		name             string
		handler          string
		copy2010         uint32 // 0: simulated
		handler14        string // "" for the same
		copy14           uint32 // 0: as in 2010 with the condition always
		refused2014Alone bool
	}{
		{word: 0xe1a0c00d, name: "mov ip, sp", handler: toD, copy2010: 0xe1a00002},
		{word: 0xe0843105, name: "add r3, r4, r5, lsl #2", handler: toD, copy2010: 0xe0810102},
		{word: 0x10943115, name: "addsne r3, r4, r5, lsl r1", handler: toD, copy2010: 0x10910312},
		{word: 0xe28f0010, name: "add r0, pc, #16", handler: toD, copy2010: 0xe2810010},
		{word: 0xe1550006, name: "cmp r5, r6", handler: flags, copy2010: 0xe1510002},
		{word: 0xe3457abc, name: "movt r7, #0x5abc", handler: toD, copy2010: 0xe3450abc},
		{word: 0xe0070598, name: "mul r7, r8, r5", handler: toN, copy2010: 0xe0010392},
		{word: 0xe0854796, name: "umull r4, r5, r6, r7", handler: toDN, copy2010: 0xe0810392},
		{word: 0xe6ef5073, name: "uxtb r5, r3", handler: toD, copy2010: 0xe6ef0072},
		{word: 0xe7c7501f, name: "bfc r5, #0, #8", handler: toD, copy2010: 0xe7c7001f},
		{word: 0xe1084096, name: "swp r4, r6, [r8]", handler: toD, copy2010: 0xe1010092},
		{word: 0xe5b13004, name: "ldr r3, [r1, #4]!", handler: load, copy2010: 0xe5b10004},
		{word: 0xe59f3004, name: "ldr r3, [pc, #4]", handler: load, copy2010: 0xe5910004},
		{word: 0xe58df008, name: "str pc, [sp, #8]", handler: store, copy2010: 0xe5810008},
		{word: 0xe1c460d8, name: "ldrd r6, [r4, #8]", handler: loadPair, copy2010: 0xe1c140d8},
		{word: 0xe18460f5, name: "strd r6, [r4, r5]", handler: storePair, copy2010: 0xe18140f2},
		{word: 0xe1a0f00e, name: "mov pc, lr", handler: aluPC},
		{word: 0xe59ff004, name: "ldr pc, [pc, #4]", handler: loadPC},
		{word: 0x0a000001, name: "beq", handler: branch},
		{word: 0xeb000001, name: "bl", handler: branch},
		{word: 0xe12fff1e, name: "bx lr", handler: branchRegister},
		{word: 0xe12fff33, name: "blx r3", handler: branchRegister},
		{word: 0xe10f3000, name: "mrs r3, cpsr", handler: status},
		{word: 0xe320f000, name: "nop", handler: nothing},
		{word: 0xf5d1f000, name: "pld [r1]", handler: nothing},

		{word: 0xe8a0000e, name: "stmia r0!, {r1-r3}", handler: block, handler14: blockLow, copy14: 0xe8a0000e},
		{word: 0x192d4ff8, name: "pushne {r3-r11, lr}", handler: block, handler14: blockHigh, copy14: 0xe92b13fe},
		{word: 0xe92d41ff, name: "push {r0-r8, lr}", handler: block},
		{word: 0xe8bd8010, name: "pop {r4, pc}", handler: block, handler14: blockPC, copy14: 0xe8ba1002},
		{word: 0xe8bd800f, name: "pop {r0-r3, pc}", handler: block},
		{word: 0xe92dd800, name: "push {fp, ip, lr, pc}", handler: block},

		{word: 0xe50d0044, name: "str r0, [sp, #-68]", handler: store, copy2010: 0xe5010044, refused2014Alone: true},
		{word: 0xe70d0001, name: "str r0, [sp, -r1]", handler: store, copy2010: 0xe7010002, refused2014Alone: true},

		{word: undefined, name: "breakpoint"},
		{word: 0xe1200070, name: "bkpt"},
		{word: 0xef000000, name: "svc"},
		{word: 0xf10c0080, name: "cpsid i"},
		{word: 0xe129f003, name: "msr cpsr"},
		{word: 0xe14f3000, name: "mrs r3, spsr"},
		{word: 0xf8bd0a00, name: "rfe"},
		{word: 0xf96d0513, name: "srs"},
		{word: 0xf1010000, name: "setend le"},
		{word: 0xee1d3f90, name: "mrc"},
		{word: 0xe1903f9f, name: "ldrex"},
		{word: 0xe1b0f00e, name: "movs pc, lr"},
		{word: 0xe8fd8010, name: "ldm with ^ and pc"},
		{word: 0xe8dd6000, name: "ldm with ^"},
		{word: 0xf57ff04f, name: "dsb"},
		{word: 0xfa000000, name: "blx to Thumb"},
		{word: 0xe5b33004, name: "ldr r3, [r3, #4]!"},
	} {
		for _, year := range []int{2010, conditionsFrom} {
			handler, code := tt.handler, word(tt.copy2010)
			if year >= conditionsFrom {
				if tt.handler14 != "" {
					handler = tt.handler14
				}
				if tt.copy14 != 0 {
					code = word(tt.copy14)
				}
				if code != 0 {
					code = code&^condition | always
				}
			}
			how := decide(word(tt.word), year)
			if how.handler != handler || how.copy != code || (how.kind == emulated) != (code != 0) || (how.kind == refused) != (handler == "") {
				t.Errorf("%d, %s: %+v (%08x), want %s %08x", year, tt.name, how, how.copy, handler, code)
			}
			_, err := prepare(kprobes.Insn{Code: bytesOf(word(tt.word)), Slot: 0x4000, Year: year})
			if want := tt.handler == "" || tt.refused2014Alone && year >= conditionsFrom; (err != nil) != want || err != nil && err != kprobes.EINVAL {
				t.Errorf("%d, %s: prepared with error %v, want one: %v", year, tt.name, err, want)
			}
		}
	}
}

func TestPrepare(t *testing.T) {
	c, err := prepare(kprobes.Insn{Code: bytesOf(0x15843105), Slot: 0xbf001000, Year: 2010})
	if err != nil || hexOf(c.Code) != "05 01 81 15 0e f0 a0 e1" {
		t.Errorf("copy %s, %v", hexOf(c.Code), err)
	}
	want := []kprobes.Value{
		{Member: "opcode", Number: 0x15843105},
		{Member: "ainsn.insn", Number: 0xbf001000},
		{Member: "ainsn.insn_handler", Func: store},
		{Member: "ainsn.stack_space"},
	}
	if !slices.Equal(c.Members, want) {
		t.Errorf("members %+v", c.Members)
	}
	c, err = prepare(kprobes.Insn{Code: bytesOf(0xe12fff1e), Slot: 0xbf001000, Year: 2010})
	if err != nil || len(c.Code) != 0 || c.Members[1].Number != 0 || c.Members[2].Func != branchRegister {
		t.Errorf("bx lr: %+v, %v", c, err)
	}
}

// What an instruction stores below the stack pointer, by the manual's rules of addresses.
func TestBelow(t *testing.T) {
	for _, tt := range []struct {
		word uint32
		name string
		want int
	}{
		{0xe92d4010, "push {r4, lr}", 8},
		{0xe92dffff, "push of all", 64},
		{0xe90d000f, "stmdb sp", 16},
		{0xe80d000f, "stmda sp", 12},
		{0xe88d000f, "stmia sp", 0},
		{0xe98d000f, "stmib sp", 0},
		{0xe9000010, "stmdb r0", 0},
		{0xe91d000f, "ldmdb sp", 0},
		{0xe50d0044, "str r0, [sp, #-68]", 68},
		{0xe52d0004, "push {r0}", 4},
		{0xe58d0044, "str r0, [sp, #68]", 0},
		{0xe40d0044, "str r0, [sp], #-68", 0},
		{0xe51d0044, "ldr r0, [sp, #-68]", 0},
		{0xe78d0001, "str r0, [sp, r1]", unknown},
		{0xe70d0101, "str r0, [sp, -r1, lsl #2]", unknown},
		{0xe60d0001, "str r0, [sp], -r1", 0},
		{0xe79d0001, "ldr r0, [sp, r1]", 0},
		{0xe14d01b4, "strh r0, [sp, #-20]", 20},
		{0xe18d00b1, "strh r0, [sp, r1]", unknown},
		{0xe15d01b4, "ldrh r0, [sp, #-20]", 0},
		{0xe14d01f8, "strd r0, [sp, #-24]", 24},
		{0xe10d20f1, "strd r2, [sp, -r1]", unknown},
		{0xe14d01d8, "ldrd r0, [sp, #-24]", 0},
		{0xe5070044, "str r0, [r7, #-68]", 0},
		{0xe24dd040, "sub sp, sp, #64", 0},
		{0xe3a0d040, "mov sp, #64", 0},
		{0xe10d0091, "swp r0, r1, [sp]", 0},
	} {
		if got := word(tt.word).below(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		word uint32
		at   uint64
		want kprobes.Class
	}{
		{undefined, 0x1000, kprobes.Class{Kind: kprobes.ClassBreakpoint, Len: 4}},
		{0x07f001f8, 0x1000, kprobes.Class{Kind: kprobes.ClassBreakpoint, Len: 4}},
		{0xf7f001f8, 0x1000, kprobes.Class{Len: 4}},
		{0xea000001, 0x1000, kprobes.Class{Kind: kprobes.ClassJump, Len: 4, Target: 0x100c}},
		{0x1afffffe, 0x1000, kprobes.Class{Kind: kprobes.ClassJump, Len: 4, Target: 0x1000}},
		{0xeafffffe, 0, kprobes.Class{Kind: kprobes.ClassJump, Len: 4}},
		{0xeb000001, 0x1000, kprobes.Class{Len: 4}},
		{0xfa000001, 0x1000, kprobes.Class{Len: 4}},
		{0xe320f001, 0x1000, kprobes.Class{Kind: kprobes.ClassSpin, Len: 4}},
		{undefined, 0x1002, kprobes.Class{}},
	} {
		if got := classify(bytesOf(word(tt.word)), tt.at); got != tt.want {
			t.Errorf("%08x: %+v, want %+v", tt.word, got, tt.want)
		}
	}
	if got := classify([]byte{1, 2, 3}, 0); got != (kprobes.Class{}) {
		t.Errorf("half a word: %+v", got)
	}
}

func TestAtomic(t *testing.T) {
	old, changed := bytesOf(0xe1a00000), bytesOf(undefined)
	if !atomic(0x1000, 0x1000, old, changed) {
		t.Error("a breakpoint over a word is not atomic")
	}
	if atomic(0x1000, 0x1002, old, changed) || atomic(0x1000, 0x1000, old[:1], changed[:1]) {
		t.Error("a store of less than a word is atomic")
	}
}

// The range is that of the kernel's check of (to - from - 8) & 0xfe000003, which must be 0 or 0xfe000000.
func TestJump(t *testing.T) {
	for _, tt := range []struct {
		from, to uint64
		word     word
		want     uint32 // 0 for out of range
	}{
		{0xc0001000, 0xc0002000, 0xe1a00000, 0xea0003fe},
		{0xc0002000, 0xc0001000, 0x11a00000, 0x1afffbfe},
		{0xc0002000, 0xc0001000, 0xf5d1f000, 0xeafffbfe},
		{0xc0000000, 0xc0000008 + 0x1fffffc, 0xe1a00000, 0xea7fffff},
		{0xc0000000, 0xc0000008 + 0x2000000, 0xe1a00000, 0},
		{0xc4000000, 0xc4000008 - 0x2000000, 0xe1a00000, 0xea800000},
		{0xc4000000, 0xc4000004 - 0x2000000, 0xe1a00000, 0},
		{0xc0001000, 0xc0002002, 0xe1a00000, 0},
	} {
		code, refusal := jump(kprobes.Region{Addr: tt.from, Code: bytesOf(tt.word)}, tt.to)
		offset := uint32(tt.to-tt.from-here) & 0xfe000003
		if inside := offset == 0 || offset == 0xfe000000; inside != (refusal == nil) || inside != (tt.want != 0) {
			t.Fatalf("%#x to %#x: %v, by the kernel's check %v", tt.from, tt.to, refusal, inside)
		}
		if refusal != nil {
			if refusal.Rule != kprobes.RuleOutOfRange || refusal.Addr != tt.from {
				t.Errorf("%#x to %#x: %v", tt.from, tt.to, refusal)
			}
			continue
		}
		if wordOf(code) != word(tt.want) {
			t.Errorf("%#x to %#x: %08x, want %08x", tt.from, tt.to, wordOf(code), tt.want)
		}
		if c := classify(code, tt.from); c.Kind != kprobes.ClassJump || c.Target != tt.to {
			t.Errorf("%#x to %#x is read as %+v", tt.from, tt.to, c)
		}
	}
}

func hexOf(code []byte) string { return fmt.Sprintf("% x", code) }

func TestRegion(t *testing.T) {
	for _, tt := range []struct {
		word word
		name string
		rule kprobes.Rule
	}{
		{0xe1a00000, "nop", ""},
		{0xe92dffff, "push of all", ""},
		{0xe50d00b7, "str r0, [sp, #-183]", ""},
		{0xe50d00b8, "str r0, [sp, #-184]", kprobes.RuleNotEmulated},
		{0xe70d0001, "str r0, [sp, -r1]", kprobes.RuleNotEmulated},
		{0xe129f003, "msr", kprobes.RuleNotEmulated},
		{undefined, "breakpoint", kprobes.RuleForeign},
		{0x0a000001, "beq", ""},
		{0xe12fff1e, "bx lr", ""},
	} {
		r, refusal := region(site(tt.word))
		switch {
		case tt.rule == "" && (refusal != nil || r.Addr != 0x1004 || wordOf(r.Code) != tt.word || r.End() != 0x1008):
			t.Errorf("%s: %+v, %v", tt.name, r, refusal)
		case tt.rule != "" && (refusal == nil || refusal.Rule != tt.rule || refusal.Addr != 0x1004):
			t.Errorf("%s: %v, want %s", tt.name, refusal, tt.rule)
		}
	}
}

// What does not depend on the instruction.
func TestRegionPlaces(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*kprobes.Site)
		rule   kprobes.Rule
	}{
		"entry":  {func(s *kprobes.Site) { s.EntryText = kprobes.Span{Start: 0x1000, End: 0x2000} }, kprobes.RuleEntryText},
		"faults": {func(s *kprobes.Site) { s.Exceptions = func(at uint64) bool { return at == 0x1004 } }, kprobes.RuleExceptionTable},
		"behind": {func(s *kprobes.Site) { s.Addr = 0x100c }, kprobes.RuleNoFunction},
		"front":  {func(s *kprobes.Site) { s.Addr = 0xffc }, kprobes.RuleNoFunction},
		"half":   {func(s *kprobes.Site) { s.Fn.Code = s.Fn.Code[:6] }, kprobes.RuleNoFunction},
	} {
		s := site(0xe1a00000)
		tt.change(&s)
		if _, refusal := region(s); refusal == nil || refusal.Rule != tt.rule {
			t.Errorf("%s: %v", name, refusal)
		}
	}
	s := site(0xe1a00000)
	s.Exceptions = func(at uint64) bool { return at == 0x1000 }
	if s.Module = true; true {
		if _, refusal := region(s); refusal != nil {
			t.Errorf("a neighbour that faults, in a module: %v", refusal)
		}
	}
}

func TestDetour(t *testing.T) {
	for _, tt := range []struct {
		word word
		want string // the first two words
	}{
		{0xe1a00000, "48d04de248308de2"}, // 72
		{0xe92d4010, "50d04de250308de2"}, // 72 + 8
		{0xe52d0004, "50d04de250308de2"}, // 72 + 4, up to a multiple of 8
		{0xe92dffff, "88d04de288308de2"}, // 72 + 64
	} {
		d, refusal := detour(testTemplate(), kprobes.Region{Addr: 0xc0018000, Code: bytesOf(tt.word)}, detourAt())
		if refusal != nil {
			t.Fatal(refusal)
		}
		if got := hex.EncodeToString(d.Code); got != tt.want+"ffffdde8785634c0000003c0" || d.Copied != len(d.Code) {
			t.Errorf("%08x: %s, copied at %d", tt.word, got, d.Copied)
		}
	}
	if wordOf(testTemplate().Code) != 0xe24dd048 {
		t.Error("the template has changed")
	}
}

func TestDetourRefusals(t *testing.T) {
	nop := kprobes.Region{Addr: 0xc0018000, Code: bytesOf(0xe1a00000)}
	for name, marks := range map[string][]int{
		"in front": {-4, 4, 12, 16}, "behind": {0, 4, 12, 20}, "missing": {0, 4, 12},
		"no sub": {4, 4, 12, 16}, "no add": {0, 0, 12, 16},
	} {
		tmpl := testTemplate()
		tmpl.Marks = marks
		if _, refusal := detour(tmpl, nop, detourAt()); refusal == nil || refusal.Rule != kprobes.RuleUnsupported {
			t.Errorf("%s: %v", name, refusal)
		}
	}
}
