package kprobes

import "testing"

func TestX86Classify(t *testing.T) {
	for _, tt := range []struct {
		name string
		mode int
		code string
		want Class
	}{
		{"breakpoint", 64, "\xcc\x90", Class{Kind: ClassBreakpoint, Len: 1}},
		{"jump forward", 64, "\xe9\x10\x00\x00\x00\x90", Class{Kind: ClassJump, Len: 5, Target: 0x1015}},
		{"jump back", 64, "\xe9\xfb\xff\xff\xff", Class{Kind: ClassJump, Len: 5, Target: 0x1000}},
		{"jump below zero", 64, "\xe9\xfb\xef\xff\xef", Class{Kind: ClassJump, Len: 5, Target: 0xfffffffff0000000}},
		{"jump that wraps", 32, "\xe9\xfb\xef\xff\xef", Class{Kind: ClassJump, Len: 5, Target: 0xf0000000}},
		{"jump that is cut off", 64, "\xe9\x10\x00", Class{}},
		{"short jump", 64, "\xeb\x10\x90\x90\x90", Class{Len: 2}},
		{"pause", 64, "\xf3\x90", Class{Kind: ClassSpin, Len: 2}},
		{"nop", 64, "\x90\xf3", Class{Len: 1}},
		{"rex", 64, "\x48\x89\xe5", Class{Len: 3}},
		{"dec, not rex", 32, "\x48\x89\xe5", Class{Len: 1}},
		{"nothing", 64, "", Class{}},
		{"undefined", 64, "\x0f\x04\x90\x90", Class{}},
	} {
		if got := x86Arch(tt.mode).Classify([]byte(tt.code), 0x1000); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestX86ClassifyKnowsItsOwnJumps encodes jumps and reads them back.
func TestX86ClassifyKnowsItsOwnJumps(t *testing.T) {
	for _, to := range []uint64{0x1005, 0xfff, 0x7fff0000, 0x1000} {
		code, refused := x86Arch(64).Jump(0x1000, to)
		if refused != nil {
			t.Fatal(refused)
		}
		if got := x86Arch(64).Classify(code, 0x1000); got.Kind != ClassJump || got.Target != to || got.Len != len(code) {
			t.Errorf("a jump to %#x is %+v", to, got)
		}
	}
}

func TestX86Atomic(t *testing.T) {
	for _, tt := range []struct {
		name     string
		addr     uint64
		old, now string
		want     bool
	}{
		{"a breakpoint comes", 0x1000, "\x55", "\xcc", true},
		{"a breakpoint goes", 0x1000, "\xcc", "\x55", true},
		{"a jump's first byte replaces it", 0x1000, "\xcc", "\xe9", true},
		{"another byte", 0x1000, "\x55", "\x90", false},
		{"a breakpoint among others", 0x1000, "\x55\x48", "\xcc\x48", false},
		{"a breakpoint inside", 0x1001, "\x55", "\xcc", false},
	} {
		if got := x86Arch(64).Atomic(0x1000, tt.addr, []byte(tt.old), []byte(tt.now)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
