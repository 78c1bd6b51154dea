package attaching_test

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"kprobesim/distro/attaching"
	"kprobesim/internal/require"
)

// TestArgument reads where arguments of static probes are, and refuses other texts.
func TestArgument(t *testing.T) {
	for text, want := range map[string]struct {
		number int64
		kind   uint32
		at     uint16
		signed byte
		shift  byte
	}{
		"8@%rax": {0, 1, 80, 0, 0}, "-4@%edi": {0, 1, 112, 1, 32}, "2@%r9w": {0, 1, 64, 0, 48}, "1@%cl": {0, 1, 88, 0, 56},
		"1@%sil": {0, 1, 104, 0, 56}, "8@%rsp": {0, 1, 152, 0, 0}, "-8@$-12": {-12, 0, 0, 1, 0}, "4@$0x10": {16, 0, 0, 0, 32}, "8@$0x7fffffffffffffff": {math.MaxInt64, 0, 0, 0, 0}, "8@$-0x8000000000000000": {math.MinInt64, 0, 0, 0, 0},
		"-4@112(%rsp)": {112, 2, 152, 1, 32}, "8@-8(%rbp)": {-8, 2, 32, 0, 0}, "8@(%r15)": {0, 2, 0, 0, 0},
		"8@0x7fffffffffffffff(%r15)": {math.MaxInt64, 2, 0, 0, 0},
	} {
		b, err := attaching.Argument(elf.EM_X86_64, text)
		require.NoError(t, err)
		le := binary.LittleEndian
		require.That(t, int64(le.Uint64(b)) == want.number && le.Uint32(b[8:]) == want.kind && le.Uint16(b[12:]) == want.at && b[14] == want.signed && b[15] == want.shift,
			"%s is %x", text, b)
	}
	for _, text := range []string{"", "8@", "8@rax", "3@%rax", "8f@%xmm0", "8@%xmm0", "8@$", "8@word(%rip)", "8@(%rax", "8@(%rax,%rbx,4)", "8@%", "%rax", "8@%flags", "8", "-4", "x@%rax", "@%rax"} {
		require.Error(t, require.Err(attaching.Argument(elf.EM_X86_64, text)), "is no place where programs can read", "%q", text)
	}
}

// TestArgumentOfARM reads arguments of programs of ARM, whose places in memory have a space.
func TestArgumentOfARM(t *testing.T) {
	for text, want := range map[string]string{
		"4@r0": "0 in 1 at 0", "-4@r15": "0 in 1 at 60", "1@fp": "0 in 1 at 44", "4@lr": "0 in 1 at 56", "-4@#-12": "-12 in 0 at 0", "4@#0x10": "16 in 0 at 0",
		"-4@[r11, #-8]": "-8 in 2 at 44", "4@[sp,#4]": "4 in 2 at 52", "8@[r7]": "0 in 2 at 28",
	} {
		b, err := attaching.Argument(elf.EM_ARM, text)
		require.NoError(t, err)
		le := binary.LittleEndian
		require.Equal(t, fmt.Sprintf("%d in %d at %d", int64(le.Uint64(b)), le.Uint32(b[8:]), le.Uint16(b[12:])), want, "%s", text)
	}
	for i, name := range strings.Fields("r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 sl fp ip sp lr pc") { // as struct pt_regs has them
		b := require.Must(attaching.Argument(elf.EM_ARM, "4@"+name))(t)
		require.Equal(t, int(binary.LittleEndian.Uint16(b[12:])), 4*i, "%s is at", name)
	}
	for _, text := range []string{"", "4@", "4@%eax", "4@$1", "4@r16", "4@r", "4@r-1", "4@[r11", "4@r11]", "4@[r11, 8]", "4@[r11, #x]", "4@[r1, r2]", "4@[]", "3@r0", "4@#"} {
		require.Error(t, require.Err(attaching.Argument(elf.EM_ARM, text)), "is no place where programs can read", "%q", text)
	}
	for text, want := range map[string]string{
		"-4@[r11, #-8] 4@r0 4@[sp]": `["-4@[r11, #-8]" "4@r0" "4@[sp]"]`, "8@%rdx  4@$1": `["8@%rdx" "4@$1"]`, "": "[]", "4@[r1, #4] 4@[r2, #8]": `["4@[r1, #4]" "4@[r2, #8]"]`,
	} {
		require.Equal(t, fmt.Sprintf("%q", attaching.Split(text)), want, "%q", text)
	}
}
