//go:build linux && amd64

package native

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// serving is the argument by which this program is a child.
const serving = "serve-native"

func TestMain(m *testing.M) {
	if slices.Contains(os.Args, serving) {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// loading returns the word at an address: movabs address,%rax; ret.
func loading(address uint64) []byte {
	return append(binary.LittleEndian.AppendUint64([]byte{0x48, 0xa1}, address), 0xc3)
}

// counting adds one to the word at an address, and returns it: movabs address,%rax; inc %rax; movabs %rax,address; ret.
func counting(address uint64) []byte {
	b := binary.LittleEndian.AppendUint64([]byte{0x48, 0xa1}, address)
	return append(binary.LittleEndian.AppendUint64(append(b, 0x48, 0xff, 0xc0, 0x48, 0xa3), address), 0xc3)
}

// ours are the processors that this process may use, a bit for each, or none where there are more than a word has.
func ours(t *testing.T) uint64 {
	t.Helper()
	var set [128]uint64
	_, _, failed := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	require.Equal(t, failed, 0, "the processors")
	for _, w := range set[1:] {
		if w != 0 {
			return 0
		}
	}
	return set[0]
}

// TestTimer has programs executed, those too that have no memory or fault.
func TestTimer(t *testing.T) {
	timer, err := New(serving)
	if err != nil {
		hosttools.Unable(t, "executing programs on the host", err.Error())
	}
	defer timer.Close()
	const page, other, control, memory = 0x1000_0000, 0x1000_3000, 0x1000_5000, 0x2000_0000
	where := []byte{0x48, 0x8d, 0x05, 0xf9, 0xff, 0xff, 0xff, 0x25, 0xff, 0x0f, 0, 0, 0xc3} // lea -7(%rip),%rax; and $0xfff,%eax; ret
	// mov $sched_getaffinity,%eax; xor %edi,%edi; mov $128,%esi; mov $page,%edx; syscall; and what they are
	processors := append([]byte{0xb8, 204, 0, 0, 0, 0x31, 0xff, 0xbe, 128, 0, 0, 0, 0xba, 0, 0, 0, 0x10, 0x0f, 0x05}, loading(page)...)
	last := uint64(1) << 63 >> bits.LeadingZeros64(ours(t))
	chain := Chain{At: memory, Size: 8192, Step: 64, Seed: 5}
	links := make([]byte, chain.Size)
	chain.Lay(links)
	one := func(programs ...[]byte) Job { return Job{Programs: programs, Passes: 1, Repeats: 1} }
	within := func(j Job, pages ...uint64) Job { j.Pages = pages; return j }
	for _, c := range []struct {
		what string
		job  Job
		want string
	}{
		{"programs at pages", one(where, where, where), "[[0 0 0]] <nil>"},
		{"no more than there is room for", one(make([]byte, roomBytes-pageSize-64), where), "[] programs of more than 1048576 bytes"},
		{"as much as there is room for", one(append([]byte{0x31, 0xc0, 0xc3}, make([]byte, roomBytes-pageSize-3)...)), "[[0]] <nil>"},
		{"a page that is filled each time", Job{Programs: [][]byte{counting(page), loading(page + pageSize - 8)}, Pages: []uint64{page}, Fill: 6, Passes: 2, Repeats: 3}, "[[7 6] [7 6]] <nil>"},
		{"a page that is not", Job{Programs: [][]byte{counting(control + 8)}, Control: control, Passes: 2, Repeats: 3}, "[[1] [4]] <nil>"},
		{"it again, with a chain", Job{Programs: [][]byte{counting(control + 8), loading(control + 128), loading(memory)}, Control: control, Chains: []Chain{chain}, Passes: 1, Repeats: 1}, fmt.Sprintf("[[7 %d %d]] <nil>", memory, binary.LittleEndian.Uint64(links))},
		{"a page where the chain was", within(one(counting(memory)), memory, other), "[[1]] <nil>"},
		{"a chain where the page is", Job{Pages: []uint64{memory}, Control: control, Chains: []Chain{chain}}, "[] the host has no room for its pages"},
		{"large pages", Job{Programs: [][]byte{loading(control + 128 + 8), loading(memory), loading(memory + LargePage - 8)}, Control: control, Chains: []Chain{{At: 2 * memory, Size: 64, Step: 64}, {At: memory, Size: 64, Step: 64, Large: true}}, Passes: 1, Repeats: 1}, fmt.Sprintf("[[%d %d 0]] <nil>", memory, memory)},
		{"the lowest page", within(one(where), lowest), "[[0]] <nil>"},
		{"a page below it", within(one(where), page, lowest-pageSize), "[] the host has no room for its pages"},
		{"a page that another job had", one(loading(other)), "[] the code faults on the host (signal 11)"},
		{"an instruction that is none", one([]byte{0x0f, 0x0b}), "[] the code faults on the host (signal 4)"},
		{"a breakpoint", one([]byte{0xcc}), "[] the code faults on the host (signal 5)"},
		{"a division by zero", one([]byte{0x31, 0xc9, 0xf7, 0xf1}), "[] the code faults on the host (signal 8)"},
		{"the last processor", within(one(processors), page), fmt.Sprintf("[[%d]] <nil>", last)},
	} {
		ticks, err := timer.Time(&c.job)
		require.Equal(t, fmt.Sprint(ticks, " ", err), c.want, "%s", c.what)
	}
}

// TestBeside has a program executed on another processor meanwhile, which says where it is.
func TestBeside(t *testing.T) {
	timer, err := New(serving)
	if err != nil {
		hosttools.Unable(t, "executing programs on the host", err.Error())
	}
	defer timer.Close()
	const control, there, set = 0x1000_5000, 0x1000_5100, 0x1000_5400
	word := func(code []byte, at uint32, more ...byte) []byte {
		return append(binary.LittleEndian.AppendUint32(slices.Clone(code), at), more...)
	}
	cmp := []byte{0x83, 0x3c, 0x25} // cmpl
	// mov $sched_getaffinity,%eax; xor %edi,%edi; mov $128,%esi; mov $set,%edx; syscall; movl $1,there
	other := append(word([]byte{0xb8, 204, 0, 0, 0, 0x31, 0xff, 0xbe, 128, 0, 0, 0, 0xba}, set, 0x0f, 0x05), word([]byte{0xc7, 0x04, 0x25}, there, 1, 0, 0, 0)...)
	other = append(other, word(cmp, control+Ends, Ended, 0x75, 0xf6, 0xc3)...) // wait until it is to end; ret
	main := append(word(cmp, there, 1, 0x75, 0xf6), loading(set)...)
	rest := ours(t)
	rest &^= 1 << 63 >> bits.LeadingZeros64(rest)
	for n := range bits.OnesCount64(rest) + 1 {
		want := fmt.Sprintf("[[%d]] <nil>", rest&-rest)
		if rest == 0 {
			want = "[] the host has no further processor for this process"
		}
		for range 2 { // the next job finds the page as it was left
			ticks, err := timer.Time(&Job{Programs: [][]byte{main}, Control: control, Beside: &Beside{Program: other, Processor: n}, Passes: 1, Repeats: 1})
			require.Equal(t, fmt.Sprint(ticks, " ", err), want, "processor %d", n)
		}
		rest &= rest - 1
	}
}
