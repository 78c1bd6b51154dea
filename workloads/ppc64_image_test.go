package workloads

import (
	"debug/elf"
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/arch/ppc64/ppc64asm"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// words returns the instructions of a function by its name in C.
func words(t *testing.T, f *elf.File, name string) (at uint64, code []uint32) {
	t.Helper()
	return wordsOf(t, f, "."+name)
}

// mnemonic names an instruction, "" for none.
func mnemonic(word uint32) string {
	in, err := ppc64asm.Decode(binary.BigEndian.AppendUint32(nil, word), binary.BigEndian)
	if err != nil {
		return ""
	}
	return in.Op.String()
}

// Each vector stands where the processor looks for it and leads to its handler in two parts of 2 and 17
// instructions: what every exception costs before translation is on.
func holdVectors(t *testing.T, _ Image, f *elf.File) {
	holdVectorsOf(t, f, nil, map[string]int{"std": 5, "mfspr": 4, "mtspr": 3, "mfcr": 1, "mfmsr": 1, "rfid": 1})
}

// holdVectorsOf wants instructions behind the first two of each vector, and counts of some in all of it.
func holdVectorsOf(t *testing.T, f *elf.File, behind []string, want map[string]int) {
	t.Helper()
	for name, vector := range map[string]uint64{
		"data_storage": 0x300, "data_segment": 0x380, "instruction_storage": 0x400, "instruction_segment": 0x480,
		"external_interrupt": 0x500, "alignment": 0x600, "program_check": 0x700, "float_unavailable": 0x800,
		"timer_interrupt_entry": 0x900, "syscall_entry": 0xc00, "single_step": 0xd00,
	} {
		at, code := words(t, f, name)
		if at != vector || len(code) != 19+len(behind) || mnemonic(code[len(code)-1]) != "rfid" {
			t.Errorf("%s is at %#x, %d instructions", name, at, len(code))
			continue
		}
		counts := map[string]int{}
		for i, w := range code {
			counts[mnemonic(w)]++
			if i >= 2 && i < 2+len(behind) && text(w) != behind[i-2] {
				t.Errorf("%s, instruction %d: %s, want %s", name, i, text(w), behind[i-2])
			}
		}
		for name, n := range want {
			require.That(t, counts[name] == n, "vector %#x: %d %s, want %d", vector, counts[name], name, n)
		}
	}
}

// text is an instruction as ppc64asm writes it.
func text(word uint32) string {
	in, err := ppc64asm.Decode(binary.BigEndian.AppendUint32(nil, word), binary.BigEndian)
	if err != nil {
		return err.Error()
	}
	return in.String()
}

// With the option runlatch each vector sets the run latch, in three instructions.
func TestRunlatch(t *testing.T) {
	hosttools.Need(t, "powerpc64-linux-gnu-gcc", "gcc-powerpc64-linux-gnu", "the option runlatch")
	file := filepath.Join(t.TempDir(), "runlatch.elf")
	if msg, err := exec.Command("sh", "kernel/build.sh", file, "2005-runlatch", "ppc64").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	f := require.Must(elf.Open(file))(t)
	defer f.Close()
	holdVectorsOf(t, f, []string{"mfspr r13, SpReg(136)", "ori r13, r13, 1", "mtspr SpReg(152), r13"}, map[string]int{"std": 5, "mfspr": 5, "mtspr": 4})
}

// Shapes that a rule is about must survive another compiler or another flag.
func holdShapesOfPPC64(t *testing.T, _ Image, f *elf.File) {
	first := func(name string) string {
		_, code := words(t, f, name)
		return mnemonic(code[0])
	}
	for name, want := range map[string][]string{
		"work_frame": {"mflr", "mfspr"}, "work_jcc_first": {"bc"}, "work_flags": {"mfcr"}, "work_trap_first": {"tdi"},
		"work_update": {"stdu"}, "work_cli_sti": {"mfmsr"}, "work_short": {"addi"},
	} {
		got := first(name)
		require.That(t, slices.Contains(want, got), "%s begins with %s, want one of %v", name, got, want)
	}
	indirect := false
	_, code := words(t, f, "work_switch")
	for _, w := range code {
		indirect = indirect || mnemonic(w) == "bcctr"
	}
	require.That(t, indirect, "work_switch has no branch through a table")
}

// Every patch site is an instruction that a branch can replace.
func holdSitesOfPPC64(t *testing.T, _ Image, f *elf.File) {
	for _, site := range Sites() {
		if _, code := words(t, f, site.Symbol); mnemonic(code[site.Offset/4]) != "li" {
			t.Fatalf("%s+%#x is %s", site.Symbol, site.Offset, mnemonic(code[site.Offset/4]))
		}
	}
}

// What runs in user mode leaves it by a system call alone, and does not use the kernel's table of contents.
func holdUserModeOfPPC64IsApart(t *testing.T, _ Image, f *elf.File) {
	code := userText(t, f)
	calls := 0
	for off := 0; off+4 <= len(code); off += 4 {
		in, err := ppc64asm.Decode(code[off:], binary.BigEndian)
		if err != nil {
			continue // between functions
		}
		for i, a := range in.Args {
			to, relative := a.(ppc64asm.PCRel)
			at := off + int(to)
			require.That(t, !relative || at >= 0 && at < len(code), "+%#x leaves user mode: %v", off, in)
			// A function pointer's second word goes to r2, and r2 to its place in the frame and back.
			require.That(t, a != ppc64asm.R2 || i <= 0, "+%#x uses the table of contents: %v", off, in)
		}
		if in.Op == ppc64asm.SC {
			calls++
		}
	}
	require.That(t, calls >= 5, "%d system calls", calls)
}
