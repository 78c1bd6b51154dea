package smp

import (
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/workloads"
)

// withSpaces are the kernels whose user tasks have address spaces.
func withSpaces(t *testing.T) (names []string) {
	t.Helper()
	for _, im := range workloads.List() {
		if strings.HasSuffix(im.Name, "-userprobes") {
			names = append(names, im.Name)
		}
	}
	require.Need(t, len(names) != 0, "no image has address spaces of user tasks")
	return names
}

// process starts a task with an address space.
func (b *board) process(p Process) (uint64, *Space) {
	b.t.Helper()
	task, s, err := b.k.SpawnProcess(b, p)
	b.do(err)
	return task, s
}

// alone is the result of user_mixes in the address space that tasks share which have none of their own.
func alone(t *testing.T, name string, n uint64) (want int32) {
	t.Helper()
	run(t, name, Options{CPUs: 1, Tick: true}, func(b *board) {
		want = b.exit(b.user(onCPU(0, "user_mixes", n)))
		_, _, err := b.k.SpawnProcess(b, Process{Thread: onCPU(0, "user_mixes", 1), Program: b.program()})
		require.That(t, err != nil, "%s: tasks of both kinds run on one machine", name)
	})
	return want
}

// program is the file of the image's user mode.
func (b *board) program() *File {
	b.t.Helper()
	f := value(b.k.Program())(b)
	return f
}

func (b *board) at(name string) uint64 {
	b.t.Helper()
	if fn, ok := b.m.Image().Func(name); ok && fn.Entry != 0 {
		return fn.Entry
	}
	s, ok := b.m.Image().Symbol(name)
	require.Need(b.t, ok, "no symbol %s", name)
	return s.Addr
}

// page returns what a space has at an address.
func (b *board) page(s *Space, at uint64) Mapped {
	b.t.Helper()
	m, ok := b.k.Page(s, at)
	require.That(b.t, ok, "nothing is mapped at %#x", at)
	return m
}

// Tasks with address spaces compute what tasks without compute. Their pages come in one by one, pages of the file
// are the same for all, and those that a task stores to are its own.
func TestProcesses(t *testing.T) {
	for _, name := range withSpaces(t) {
		run(t, name, Options{CPUs: 1, Tick: true}, func(b *board) {
			want := alone(t, name, 50)
			f := b.program()
			one, s1 := b.process(Process{Thread: onCPU(0, "user_mixes", 50), Program: f})
			two, s2 := b.process(Process{Thread: onCPU(0, "user_mixes", 50), Program: f})
			got := [2]int32{b.exit(one), b.exit(two)}
			require.That(t, got == [2]int32{want, want}, "%s: results %d, want %d", name, got, want)
			text, data := b.at("user_mix"), b.at("user_mixed")
			if p, q := b.page(s1, text), b.page(s2, text); p.Page != q.Page || p.Page == 0 {
				t.Errorf("%s: the text has pages %#x and %#x", name, p.Page, q.Page)
			}
			p, q := b.page(s1, data), b.page(s2, data)
			require.That(t, p.Page != q.Page, "%s: both tasks write the page %#x", name, p.Page)
			for _, m := range []Mapped{p, q} {
				v := value(b.m.Load(m.Address+data&0xfff, b.m.Image().Bits/8))(b)
				require.That(t, v == 53, "%s: the task's own copy has %d, want 53", name, v)
			}
			n := b.k.Faults(s1)
			require.That(t, n >= 3 && n <= 10, "%s: %d pages came in", name, n)
		})
	}
}

// A page that is taken out of memory comes back as it was: that of a file from the file, that of a task from swap.
func TestPagesGoAndComeBack(t *testing.T) {
	for _, name := range withSpaces(t) {
		run(t, name, Options{CPUs: 1, Tick: true}, func(b *board) {
			f := b.program()
			want := alone(t, name, 2000)
			task, s := b.process(Process{Thread: onCPU(0, "user_mixes", 2000), Program: f})
			text, data := b.at("user_mix"), b.at("user_mixed")
			turns := 0
			for ; turns < 5; turns++ {
				b.do(b.k.Sleep(b, 1))
				b.do(b.k.Drop(b, f, text-f.Base))
				b.do(b.k.PageOut(b, s, data))
			}
			faults := b.k.Faults(s)
			require.Equal(t, b.exit(task), want, "%s: result", name)
			v := value(b.m.Load(b.page(s, data).Address+data&0xfff, b.m.Image().Bits/8))(b)
			require.That(t, v == 2003 && faults >= 6, "%s: the task counted to %d, with %d pages brought in", name, v, faults)
		})
	}
}

// The first store to text gives the task a copy of the page, where its file may be written so.
func TestTextIsCopied(t *testing.T) {
	for _, name := range withSpaces(t) {
		run(t, name, Options{CPUs: 1, Tick: true}, func(b *board) {
			f := b.program()
			text := b.at("user_mix")
			writer, s1 := b.process(Process{Thread: onCPU(0, "user_touches", text&^7), Program: f, WritableText: true})
			reader, s2 := b.process(Process{Thread: onCPU(0, "user_mixes", 1), Program: f})
			b.exit(writer)
			b.exit(reader)
			p, q := b.page(s1, text), b.page(s2, text)
			require.That(t, p.Page != q.Page, "%s: both have the page %#x", name, p.Page)
		})
		_, err := tryRun(t, name, Options{CPUs: 1}, nil, func(b *board) {
			b.exit(first(b.process(Process{Thread: onCPU(0, "user_touches", b.at("user_mix")&^7), Program: b.program()})))
		})
		require.Error(t, err, "touched what it may not", "%s: a store to text that is not writable", name)
	}
}

func first(task uint64, _ *Space) uint64 { return task }

// Spaces of dead tasks are freed, and there are no more than the processor has numbers for.
func TestSpacesEnd(t *testing.T) {
	name := withSpaces(t)[0]
	run(t, name, Options{CPUs: 1}, func(b *board) {
		f := b.program()
		for range MaxSpaces {
			b.exit(first(b.process(Process{Thread: onCPU(0, "user_targets", 1), Program: f})))
		}
		n := len(b.k.spaces.list)
		require.That(t, n <= 1, "%d spaces are left", n)
		_, _, err := b.k.SpawnProcess(b, Process{Thread: onCPU(0, "user_targets", 1), Program: f})
		require.Error(t, err, "numbers for 255 address spaces", "")
	})
	run(t, plain, Options{CPUs: 1}, func(b *board) {
		_, err := b.k.Program()
		require.That(t, err != nil && strings.Contains(err.Error(), "option userprobes") && !Spaces(b.m.Image()), "error %v", err)
	})
}
