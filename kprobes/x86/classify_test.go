package x86

import (
	"testing"

	"kprobesim/kprobes"
)

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		name string
		mode int
		code string
		want kprobes.Class
	}{
		{"breakpoint", 64, "\xcc\x90", kprobes.Class{Kind: kprobes.ClassBreakpoint, Len: 1}},
		{"jump forward", 64, "\xe9\x10\x00\x00\x00\x90", kprobes.Class{Kind: kprobes.ClassJump, Len: 5, Target: 0x1015}},
		{"jump back", 64, "\xe9\xfb\xff\xff\xff", kprobes.Class{Kind: kprobes.ClassJump, Len: 5, Target: 0x1000}},
		{"jump below zero", 64, "\xe9\xfb\xef\xff\xef", kprobes.Class{Kind: kprobes.ClassJump, Len: 5, Target: 0xfffffffff0000000}},
		{"jump that wraps", 32, "\xe9\xfb\xef\xff\xef", kprobes.Class{Kind: kprobes.ClassJump, Len: 5, Target: 0xf0000000}},
		{"jump that is cut off", 64, "\xe9\x10\x00", kprobes.Class{}},
		{"short jump", 64, "\xeb\x10\x90\x90\x90", kprobes.Class{Len: 2}},
		{"pause", 64, "\xf3\x90", kprobes.Class{Kind: kprobes.ClassSpin, Len: 2}},
		{"nop", 64, "\x90\xf3", kprobes.Class{Len: 1}},
		{"rex", 64, "\x48\x89\xe5", kprobes.Class{Len: 3}},
		{"dec, not rex", 32, "\x48\x89\xe5", kprobes.Class{Len: 1}},
		{"nothing", 64, "", kprobes.Class{}},
		{"undefined", 64, "\x0f\x04\x90\x90", kprobes.Class{}},
	} {
		if got := arch(tt.mode).Classify([]byte(tt.code), 0x1000); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestClassifyKnowsItsOwnJumps encodes jumps and reads them back.
func TestClassifyKnowsItsOwnJumps(t *testing.T) {
	for _, to := range []uint64{0x1005, 0xfff, 0x7fff0000, 0x1000} {
		code, refused := arch(64).Optimizer.Jump(kprobes.Region{Addr: 0x1000}, to)
		if refused != nil {
			t.Fatal(refused)
		}
		if got := arch(64).Classify(code, 0x1000); got.Kind != kprobes.ClassJump || got.Target != to || got.Len != len(code) {
			t.Errorf("a jump to %#x is %+v", to, got)
		}
	}
}

func TestAtomic(t *testing.T) {
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
		if got := arch(64).Atomic(0x1000, tt.addr, []byte(tt.old), []byte(tt.now)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
