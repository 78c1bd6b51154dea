package elffile

import (
	"bytes"
	"debug/elf"
	"io"
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

// TestBytes reads what bytes.Reader does, of each length at each place.
func TestBytes(t *testing.T) {
	const text = "abcd"
	for at := range int64(len(text) + 2) {
		for n := range len(text) + 2 {
			got, want := make([]byte, n), make([]byte, n)
			read, err := Bytes(text).ReadAt(got, at)
			of, end := bytes.NewReader([]byte(text)).ReadAt(want, at)
			require.That(t, read == of && err == end && bytes.Equal(got, want), "%d bytes at %d: %d, %v, want %d, %v", n, at, read, err, of, end)
		}
	}
	_, err := Bytes(text).ReadAt(nil, -1)
	require.Equal(t, err, io.EOF, "in front of the first byte")
}
