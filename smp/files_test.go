package smp

import (
	"errors"
	"testing"

	"kprobesim/internal/require"
)

// TestFileCalls has a user task make calls on files, and holds what they return against the numbers of errors of Linux.
func TestFileCalls(t *testing.T) {
	run(t, "x86_64-2010", Options{CPUs: 1, Tick: true}, func(b *board) {
		wrote := ""
		b.k.AddFile(VirtualFile{
			Path:  "/f",
			Read:  func(Caller) (string, error) { return "hello", nil },
			Write: func(_ Caller, s string) error { wrote += s; return nil },
		})
		b.k.AddFile(VirtualFile{Path: "/readonly", Read: func(Caller) (string, error) { return "", nil }})
		l := value(b.k.layoutOfFiles())(b)
		call, text, kernel := b.at("user_file_call"), b.at("user_file_text"), b.at("init_task")
		first, last := l.user[0][0], l.user[len(l.user)-1][1]
		for i, x := range []struct {
			op, fd, buf, n uint64
			path           string
			want           int32
		}{
			{l.open, 0, text, 0, "/f", 0},
			{l.open, 0, text, 0, "/readonly", 1},
			{l.open, 0, text, 0, "/nothing", -2},
			{l.open, 0, kernel, 0, "/f", -14},
			{l.write, 0, text, 2, "abc", 2},
			{l.write, 0, kernel, 2, "abc", -14},
			{l.write, 1, text, 2, "abc", -13},
			{l.write, 2, text, 2, "abc", -9},
			{l.read, 0, text, 3, "", 3},
			{l.read, 0, text, 3, "", 2},
			{l.read, 0, text, 3, "", 0},
			{l.read, 0, text, maxTransfer + 1, "", -22},
			{l.read, 0, text, maxTransfer, "", -14},
			{l.read, 0, last - 3, 3, "", 0},
			{l.read, 0, last - 2, 3, "", -14},
			{l.read, 0, last, 0, "", 0},
			{l.read, 0, first, 1, "", 0},
			{l.read, 0, first - 1, 1, "", -14},
			{l.shut + 1, 0, text, 0, "", -22},
			{l.shut, 0, 0, 0, "", 0},
			{l.shut, 0, 0, 0, "", -9},
			{l.open, 0, text, 0, "/readonly", 0}, // the lowest number that is free
		} {
			b.do(b.m.WriteBytes(text, append([]byte(x.path), "\x00?"...)))
			for f, v := range map[int]uint64{0: x.op, 1: x.fd, 2: x.buf, 3: x.n} {
				b.do(b.m.Store(call+uint64(8*f), 8, v))
			}
			require.Equal(t, b.exit(b.user(onCPU(0, "user_calls_file", call))), x.want, "call %d returns", i)
		}
		for b.do(b.m.Store(call, 8, l.open)); len(b.k.open) < maxOpen-1; {
			b.k.open = append(b.k.open, &openFile{})
		}
		for _, want := range []int32{maxOpen - 1, -24} {
			require.Equal(t, b.exit(b.user(onCPU(0, "user_calls_file", call))), want, "an open in a full table returns")
		}
		require.Equal(t, b.exit(b.user(onCPU(0, "user_calls_file", kernel))), -14, "a call whose arguments are the kernel's returns")
		require.That(t, wrote == "ab", "%q was written", wrote)
	})
}

// TestFileThatCannotBeRead ends the machine where a file of the kernel fails without a number for the guest.
func TestFileThatCannotBeRead(t *testing.T) {
	_, err := tryRun(t, "x86_64-2010", Options{CPUs: 1, Tick: true}, nil, func(b *board) {
		b.k.AddFile(VirtualFile{Path: "/f", Read: func(Caller) (string, error) { return "", errors.New("broken") }})
		l := value(b.k.layoutOfFiles())(b)
		call, text := b.at("user_file_call"), b.at("user_file_text")
		b.do(b.m.WriteBytes(text, []byte("/f\x00")))
		for _, op := range []uint64{l.open, l.read} {
			for i, v := range []uint64{op, 0, text, 1} {
				b.do(b.m.Store(call+uint64(8*i), 8, v))
			}
			b.exit(b.user(onCPU(0, "user_calls_file", call)))
		}
	})
	require.Error(t, err, `a call on a file by "user_calls_file/0": broken`, "a file that cannot be read")
}

// TestProgramWithoutSpaces has no file of the user mode's program where tasks have no address spaces.
func TestProgramWithoutSpaces(t *testing.T) {
	run(t, "x86_64-2010", Options{CPUs: 1, Tick: true}, func(b *board) {
		f, err := b.k.Program()
		require.That(t, err != nil, "%+v", f)
	})
}
