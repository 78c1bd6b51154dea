package attaching

import (
	"debug/elf"
	"testing"

	"kprobesim/internal/require"
)

// on is a guest of an instruction set, which is asked for nothing else.
type on struct {
	Guest
	machine elf.Machine
}

func (o on) Machine() elf.Machine { return o.machine }

// TestSystemCalls has the target of a program for a system call be the function that makes it, which has a name of its own on each
// instruction set.
func TestSystemCalls(t *testing.T) {
	for machine, want := range map[elf.Machine]string{elf.EM_X86_64: "__x64_sys_read", elf.EM_386: "__ia32_sys_read", elf.EM_ARM: "sys_read"} {
		for _, call := range []bool{true, false} {
			a := require.Must((&loader{Guest: on{nil, machine}}).attacher(Attachment{Way: Kprobe, Target: "read", call: call}))(t)
			require.Equal(t, a.Target, map[bool]string{true: want, false: "read"}[call], "on %s, for a system call: %v", machine, call)
		}
	}
}
