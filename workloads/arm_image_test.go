package workloads

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"kprobesim/internal/require"
)

// Each vector stands where the processor looks for it. Behind it comes a stub of 10 instructions for an undefined
// instruction, and of 11 for the others, whose return address is put right, and a table for 16 modes. All entries are
// the same but for user and supervisor mode.
func holdVectorsOfARM(t *testing.T, _ Image, f *elf.File) {
	const vectors = 0xffff0000
	for i, name := range []string{
		"vector_reset", "vector_undefined", "syscall_entry", "vector_prefetch_abort", "vector_data_abort",
		"vector_reserved", "timer_interrupt_entry", "vector_fast_interrupt",
	} {
		at, words := wordsOf(t, f, name)
		require.That(t, at == vectors+uint64(4*i) && len(words) == 1, "%s is at %#x, %d instructions", name, at, len(words))
	}
	for name, n := range map[string]int{
		"stub_undefined": 10, "stub_prefetch_abort": 11, "stub_data_abort": 11, "stub_interrupt": 11,
	} {
		_, words := wordsOf(t, f, name)
		if len(words) != n+16 || words[n-1] != 0xe1b0f00e { // movs pc, lr
			t.Fatalf("%s has %d words, %#x ends it", name, len(words), words[n-1])
		}
		table := words[n:]
		require.That(t, table[0] != table[1] && table[3] != table[1] && table[0] != table[3], "%s does not tell modes apart: %#x", name, table)
		for mode, to := range table {
			require.That(t, mode == 0 || mode == 3 || to == table[1], "%s leads mode %d to %#x", name, mode, to)
		}
	}
}

// The way in of an undefined instruction leaves 64 bytes free, the others none.
func holdHoleOfARM(t *testing.T, _ Image, f *elf.File) {
	const subFromStack = 0xe24dd000
	for name, bytes := range map[string]uint32{
		"undefined_of_kernel": 72 + 64, "data_abort_of_kernel": 72, "interrupt_of_kernel": 72,
	} {
		_, words := wordsOf(t, f, name)
		require.That(t, words[0] == subFromStack|bytes, "%s begins with %#x", name, words[0])
	}
}

// Shapes that a rule is about must survive another compiler or another flag.
func holdShapesOfARM(t *testing.T, _ Image, f *elf.File) {
	for name, want := range map[string]uint32{
		"work_frame": 0xe92d4030, "work_pc_relative": 0xe59f2014, "work_jcc_first": 0x6a000002, "work_flags": 0xe10f2000,
		"work_cli_sti": 0xe10f2000, "work_update": 0xe52d0010, "work_multiple": 0xe92d4ff8, "work_pairs": 0xe16d00f8,
	} {
		_, words := wordsOf(t, f, name)
		require.That(t, words[0] == want, "%s begins with %#x, want %#x", name, words[0], want)
	}
	const transfer, loadsCounter = 0x0e1ff000, 0x061ff000 // ldr pc, [pc, rm, lsl #2], on a condition
	indirect := false
	_, words := wordsOf(t, f, "work_switch")
	for _, w := range words {
		indirect = indirect || w&transfer == loadsCounter
	}
	require.That(t, indirect, "work_switch has no branch through a table: %#x", words)
}

// Every patch site is an instruction that a branch can replace.
func holdSitesOfARM(t *testing.T, _ Image, f *elf.File) {
	const movesImmediate = 0xe3a00000 // mov r0, #n
	for _, site := range Sites() {
		_, words := wordsOf(t, f, site.Symbol)
		require.Need(t, words[site.Offset/4]&^0xff == movesImmediate, "%s+%#x is %#x", site.Symbol, site.Offset, words[site.Offset/4])
	}
}

// What runs in user mode leaves it by a system call alone.
func holdUserModeOfARMIsApart(t *testing.T, _ Image, f *elf.File) {
	b := userText(t, f)
	calls := 0
	for off := 0; off+4 <= len(b); off += 4 {
		w := binary.LittleEndian.Uint32(b[off:])
		if w>>28 == 15 {
			continue
		}
		switch w >> 24 & 15 {
		case 10, 11: // a branch, with a link or without
			at := off + 8 + int(int32(w<<8)>>6)
			require.That(t, at >= 0 && at < len(b), "+%#x leaves user mode: %#x", off, w)
		case 15:
			calls++
		}
	}
	require.That(t, calls >= 5, "%d system calls", calls)
}
