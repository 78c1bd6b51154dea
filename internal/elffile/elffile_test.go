package elffile

import (
	"debug/elf"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	advice := Advice{Foreign: "name another", Damaged: "copy it again"}
	for _, c := range []struct{ b, want string }{
		{"", "file is empty: copy it again"},
		{"#!/bin/sh", "is no ELF file: name another"},
		{elf.ELFMAG, "file is truncated (headers point behind its 4 bytes): copy it again"},
		{elf.ELFMAG + strings.Repeat("\xff", 60), "damaged ELF headers"},
	} {
		_, err := advice.Open([]byte(c.b))
		require.That(t, err != nil && strings.HasPrefix(err.Error(), c.want), "%q: %v; want %q", c.b, err, c.want)
	}
	err := advice.Guard(func() error { panic("index out of range") })
	require.That(t, err != nil && err.Error() == "damaged file (index out of range): copy it again", "a panic became %v", err)
}
