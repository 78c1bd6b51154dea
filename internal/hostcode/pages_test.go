//go:build linux && amd64

package hostcode

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"kprobesim/internal/require"
)

// region is a line of /proc/self/maps.
type region struct {
	from, to uintptr
	rights   string
}

// regions returns the mapped memory of this process in the order of addresses.
func regions(t *testing.T) (all []region) {
	t.Helper()
	text := require.Must(os.ReadFile("/proc/self/maps"))(t)
	for line := range strings.Lines(string(text)) {
		var r region
		_, err := fmt.Sscanf(line, "%x-%x %s", &r.from, &r.to, &r.rights)
		require.Need(t, err == nil, "%s: %v", line, err)
		all = append(all, r)
	}
	return all
}

// TestThereIsRoom: where the host gives memory that can be executed, there is a room, and no other test of this package is left out.
func TestThereIsRoom(t *testing.T) {
	forbids, _ := os.ReadFile("/proc/sys/vm/memfd_noexec")
	_, err := syscall.Mmap(-1, 0, 1, syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err == nil && !strings.HasPrefix(string(forbids), "2") {
		require.That(t, NewRoom(1) != nil, "no room on a host that has some")
	}
}

// TestRoomTakes has a room of whole pages, which keeps no file open.
func TestRoomTakes(t *testing.T) {
	open := func() int {
		all := require.Must(os.ReadDir("/proc/self/fd"))(t)
		return len(all)
	}
	room(t)
	before := open()
	for size, want := range map[int]int{1: 4096, 4096: 4096, 4097: 8192} {
		r := NewRoom(size)
		require.That(t, len(r.write) == want && len(r.execute) == want, "a room of %d bytes has %d to write and %d to execute, want %d", size, len(r.write), len(r.execute), want)
	}
	after := open()
	require.That(t, after == before, "%d files are open, and were %d", after, before)
}

// TestNoPageIsWrittenAndExecuted reads from the host what may be done with the pages of a room, and with all others.
func TestNoPageIsWrittenAndExecuted(t *testing.T) {
	r := room(t)
	all := regions(t)
	for _, x := range all {
		require.That(t, !strings.Contains(x.rights, "w") || !strings.Contains(x.rights, "x"), "pages from %#x to %#x can be written and executed", x.from, x.to)
	}
	for _, c := range []struct {
		bytes  []byte
		rights string
	}{{r.write, "rw-s"}, {r.execute, "r-xs"}} {
		at := uintptr(unsafe.Pointer(&c.bytes[0]))
		i := 1
		for i < len(all)-2 && all[i].from != at {
			i++
		}
		x := all[i]
		require.That(t, x.from == at && x.to == at+uintptr(len(c.bytes)) && x.rights == c.rights, "%#x: pages from %#x to %#x are %s, want %s", at, x.from, x.to, x.rights, c.rights)
		for _, x := range []region{all[i-1], all[i+1]} {
			require.That(t, x.to-x.from >= guard && x.rights == "---p" && (x.to == at || x.from == at+uintptr(len(c.bytes))), "beside %#x: pages from %#x to %#x are %s", at, x.from, x.to, x.rights)
		}
	}
}
