package attaching_test

import (
	"crypto/sha256"
	"debug/elf"
	"flag"
	"fmt"
	"strings"
	"testing"

	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/internal/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recording is a kernel that notes each call with a sum of its arguments and of the memory that goes with them.
type recording struct {
	*fake
	text strings.Builder
}

func (r *recording) Call(number uint64, args [6]uint64, m *attaching.Memory) (int64, error) {
	fmt.Fprintf(&r.text, " %d/%d:%.4x", number, args[0]&(1<<12-1), sha256.Sum256(fmt.Append(m.Data, args)))
	return r.fake.Call(number, args, m)
}

// WriteFile notes what is written.
func (r *recording) WriteFile(path, text string) error {
	fmt.Fprintf(&r.text, " %s:%s", path, text)
	return nil
}

// TestCalls holds what the kernel is asked to attach each way with each program, and each program of an object: it reads every byte.
// Another guest program has its functions elsewhere, and other sums of probes in user space.
func TestCalls(t *testing.T) {
	var out strings.Builder
	kernel := fake{}
	attach := func(what string, a attaching.Attachment, types []byte) {
		r := &recording{fake: with(kernel)}
		r.files["/proc/sys/kernel/osrelease"], r.files["/sys/devices/system/cpu/possible"] = "6.1.0-9-amd64\n", "0-1\n"
		made, err := attaching.Attach(r, a, types)
		fmt.Fprintf(&out, "%s:%s;", what, &r.text)
		if err == nil {
			_, _, unit := made.Counter()
			fmt.Fprintf(&out, " a hit adds %d, function %q, sampled %v", unit, made.Function, made.Sampled)
		}
		fmt.Fprintln(&out, "", err)
	}
	others := &recording{fake: with(fake{loaded: 2})}
	all, err := attaching.Loaded(others)
	fmt.Fprintf(&out, "loaded by others:%s; %d, %v\n", &others.text, len(all), err)
	for _, way := range attaching.Ways() {
		target := "f"
		switch {
		case strings.Contains(way, "tracepoint") || way == attaching.PerfCount:
			target = "task/task_rename"
		case way == attaching.USDT:
			target = "static_probe"
		case attaching.User(way):
			target = "user_function"
		}
		for _, program := range []string{"", attaching.Empty, attaching.Count, attaching.Ringbuf} {
			if attaching.Programmed(way) == (program != "") {
				attach(way+" "+program, attaching.Attachment{Way: way, Program: program, Target: target, Hits: 1000}, kernelTypes(t, "", "f"))
			}
		}
	}
	for _, file := range [][]byte{require.Must(distro.Object("writes"))(t), object(t, "ways.bpf.o"), object(t, "refused.bpf.o")} {
		_, all, _ := strings.Cut(fmt.Sprint(require.Err(attaching.ReadObject(file, attaching.Choice{Programs: []string{"none"}}))), "it has ")
		for _, name := range strings.Split(all, ", ") {
			o, err := attaching.ReadObject(file, attaching.Choice{Programs: []string{name}})
			if err != nil {
				fmt.Fprintln(&out, name+":", err)
				continue
			}
			for _, types := range [][]byte{kernelTypes(t, "", "vfs_write"), kernelTypes(t, "pt_regs", "dx")} {
				attach(name, attaching.Attachment{Object: o}, types)
			}
		}
	}
	for _, kernel.machine = range []elf.Machine{elf.EM_386, elf.EM_ARM} {
		for _, program := range []string{attaching.Count, attaching.Ringbuf} {
			attach(kernel.machine.String()+" "+program, attaching.Attachment{Way: attaching.Kprobe, Program: program, Target: "f", Hits: 1000}, nil)
		}
		attach(kernel.machine.String()+" seccomp", attaching.Attachment{Way: attaching.Seccomp}, nil)
		attach(kernel.machine.String()+" uprobe", attaching.Attachment{Way: attaching.Uprobe, Program: attaching.Empty, Target: "user_function"}, nil)
		attach(kernel.machine.String()+" usdt", attaching.Attachment{Way: attaching.USDT, Program: attaching.Empty, Target: "/init:provider:name"}, nil)
	}
	kernel = fake{refuse: progLoad | 1<<32, errno: 13}
	attach("refused", attaching.Attachment{Way: attaching.Kprobe, Program: attaching.Empty, Target: "f"}, nil)
	require.Lines(t, "testdata/calls.txt", out.String(), *update)
}
