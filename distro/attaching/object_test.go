package attaching_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// object is a file of testdata.
func object(t *testing.T, name string) []byte {
	t.Helper()
	return require.Must(os.ReadFile("testdata/" + name))(t)
}

// kernelTypes are the types of a kernel that has one structure, with one field. Without a name for it that is the name of a function.
func kernelTypes(t *testing.T, structure, field string) []byte {
	t.Helper()
	number := &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
	if structure == "" {
		f := &btf.Func{Name: field, Type: &btf.FuncProto{Return: number}, Linkage: btf.StaticFunc}
		b := require.Must(btf.NewBuilder([]btf.Type{f}, nil))(t)
		return require.Must(b.Marshal(nil, &btf.MarshalOptions{Order: binary.LittleEndian}))(t)
	}
	b := require.Must(btf.NewBuilder([]btf.Type{
		&btf.Struct{Name: structure, Size: 16, Members: []btf.Member{{Name: field, Type: number, Offset: 64}}},
	}, nil))(t)
	return require.Must(b.Marshal(nil, &btf.MarshalOptions{Order: binary.LittleEndian}))(t)
}

// TestReadObject names what is no object, and what of one cannot be had here, before anything runs.
func TestReadObject(t *testing.T) {
	program := require.Must(distro.Attach(amd64))(t).Data
	refused, ways := object(t, "refused.bpf.o"), object(t, "ways.bpf.o")
	for _, c := range []struct {
		want    string
		file    []byte
		program string // "" for all
	}{
		{"no object file of BPF that is known here: ", []byte("text"), ""},
		{"no object file of BPF that is known here: unexpected machine type for BPF ELF: EM_X86_64", program, ""},
		{"no object file of BPF that is known here: ", refused[:1000], ""},
		{"no program none: it has careless, field, fills, foreign, ", refused, "none"},
		{`program packet: section "xdp": programs of this kind are not attached here, but those of fentry, fexit, `, refused, "packet"},
		{`program nowhere: section "kprobe": write what it is attached to`, refused, "nowhere"},
		{`program pattern: section "kprobe.multi/vfs_*": write one function, no pattern`, refused, "pattern"},
		{`program inside: section "kretprobe/vfs_write+0x10": an offset is a number, and of a kprobe or uprobe`, refused, "inside"},
		{"program tails: map programs: it has no programs: those that a tool puts there are not known", refused, "tails"},
		{`program fileless: section "uretprobe/user_function": write a file and a function of it, as in uretprobe//usr/bin/NAME:FUNCTION`, ways, "fileless"},
		{`program between: section "uretprobe//init:user_function+1": an offset is a number, and of a kprobe or uprobe`, ways, "between"},
		{`program nameless: section "usdt//program:step": write a file, a provider and a name, as in usdt//usr/bin/NAME:PROVIDER:PROBE`, ways, "nameless"},
		{`program anywhere: section "uprobe": write what it is attached to, as in uprobe/NAME`, ways, "anywhere"},
		{"program unsized: map endless: it declares no max_entries: give it some by maps, as in NAME.max_entries=1024", refused, "unsized"},
		{"program symbol: it names jiffies, a symbol of the kernel (__ksym)", refused, "symbol"},
		{"program foreign: it calls kernel_function, a function of the kernel that is none of its helpers", refused, "foreign"},
	} {
		var programs []string
		if c.program != "" {
			programs = []string{c.program}
		}
		require.Error(t, require.Err(attaching.ReadObject(c.file, attaching.Choice{Programs: programs})), c.want, "%s", c.program)
	}
	for _, one := range []string{"optional", "careless", "lacking"} { // what a kernel refuses is known later
		require.NoError(t, require.Err(attaching.ReadObject(refused, attaching.Choice{Programs: []string{one}})))
	}
}

// TestObject has every program of an object loaded before the first is attached, with the maps that they name.
func TestObject(t *testing.T) {
	file := require.Must(distro.Object("writes"))(t)
	o := require.Must(attaching.ReadObject(file, attaching.Choice{Programs: []string{"registers", "returns"}}))(t)
	f := with(fake{})
	a := require.Must(attaching.Attach(f, attaching.Attachment{Object: o}, kernelTypes(t, "pt_regs", "dx")))(t)
	require.That(t, len(a.Programs) == 2 && a.Programs[0].Name == "registers" && a.Programs[1].Name == "returns" && f.loads == 2, "%+v behind %d loads", a.Programs, f.loads)
	made := map[uint64]int{}
	for _, call := range f.made {
		made[call]++
	}
	// The maps are .bss, .data and .rodata, which are filled, and bytes. Programs can only read .rodata.
	for call, want := range map[uint64]int{mapCreate: 4, mapUpdateElem: 3, 22: 1, 18: 2, progLoad: 2, linkCreate: 2} {
		got := made[call|1<<32]
		require.That(t, got == want, "%d calls of the command %d, want %d", got, call, want)
	}
	require.Error(t, require.Err(attaching.Attach(f, attaching.Attachment{Object: o}, nil)), "program registers: attach kprobe to vfs_write: the kernel has no BTF", "no types")
}

// TestOptionsAndBuffers gives a program the kernel's version by a map, and a buffer for each processor.
func TestOptionsAndBuffers(t *testing.T) {
	o := require.Must(attaching.ReadObject(require.Must(distro.Object("writes"))(t), attaching.Choice{Programs: []string{"reports"}}))(t)
	attach := func(change map[string]string) (*fake, error) {
		f := with(fake{})
		f.files["/proc/sys/kernel/osrelease"] = "6.1.0-9-amd64\n"
		f.files["/sys/devices/system/cpu/possible"] = "0-1\n"
		maps.Copy(f.files, change)
		return f, require.Err(attaching.Attach(f, attaching.Attachment{Object: o}, kernelTypes(t, "", "vfs_write")))
	}
	f := require.Must(attach(nil))(t)
	opened := 0
	for _, call := range f.made {
		if call == perfEventOpen {
			opened++
		}
	}
	require.That(t, opened == 2 && len(f.put) == 3 && f.put[0] == 6<<16|1<<8, "%d buffers were opened; maps were filled by %#x", opened, f.put)
	for file, want := range map[string]string{
		"/proc/sys/kernel/osrelease": "and no version", "/sys/devices/system/cpu/possible": "the kernel's list of processors is",
	} {
		_, err := attach(map[string]string{file: "none"})
		require.Error(t, err, want, "%s", file)
	}
}

// TestOptionsOfReleases asks kernels of several releases, and of several processors.
func TestOptionsOfReleases(t *testing.T) {
	for _, x := range []struct {
		release string
		version uint64
		cookie  uint64
	}{{"4.19.0", 4<<16 | 19<<8, 0}, {"5.14.21", 5<<16 | 14<<8 | 21, 0}, {"5.15.300", 5<<16 | 15<<8 | 255, 1}, {"6.1.0-9-amd64", 6<<16 | 1<<8, 1}, {"6.14", 6<<16 | 14<<8, 1}} {
		f := with(fake{})
		f.files["/proc/sys/kernel/osrelease"] = x.release + "\n"
		for name, want := range map[string]uint64{"LINUX_KERNEL_VERSION": x.version, "LINUX_HAS_SYSCALL_WRAPPER": 1, "LINUX_HAS_BPF_COOKIE": x.cookie} {
			require.Got(attaching.Option(f, name))(t, want, "%s: %s", x.release, name)
		}
		require.Error(t, require.Err(attaching.Option(f, "CONFIG_HZ")), "only the kernel's version is known", "%s", x.release)
	}
	for text, want := range map[string]int{"0\n": 1, "0-3\n": 4, "0-1,4-15": 16} {
		f := with(fake{})
		f.files["/sys/devices/system/cpu/possible"] = text
		require.Got(attaching.Processors(f))(t, want, "processors %q", text)
	}
}

// TestLackingFields are told where the verifier comes to what stands in the place of a field, and nowhere else.
func TestLackingFields(t *testing.T) {
	other, sentinel := errors.New("another"), fmt.Sprintf("1: call %d", attaching.Sentinel)
	for _, x := range []struct {
		lacks string
		err   error
		told  bool
	}{
		{"", &attaching.Refused{Log: sentinel}, false},
		{"a b", other, false},
		{"a b", &attaching.Refused{Log: "1: exit"}, false},
		{"a b", &attaching.Refused{Log: sentinel}, true},
		{"a", &attaching.Refused{Log: sentinel}, true},
	} {
		err := attaching.Explain(x.lacks, x.err)
		lacks := strings.Join(strings.Fields(x.lacks), "; ")
		require.That(t, errors.Is(err, x.err) && strings.Contains(err.Error(), "lack what the program reads ("+lacks+")") == x.told, "%q, %v: %v", x.lacks, x.err, err)
	}
}

// TestVariables gives variables other values than the object has, and refuses what is none.
func TestVariables(t *testing.T) {
	file := require.Must(distro.Object("writes"))(t)
	for text, want := range map[string]string{
		"largest=100": "", "smallest=-1": "", "none=1": "the object has no variable none", "largest": "write the value of a number",
		"largest=many": "write the value of a number",
	} {
		o, err := attaching.ReadObject(file, attaching.Choice{Programs: []string{"registers"}, Variables: []string{text}})
		if want != "" {
			require.Error(t, err, want, "%s", text)
			continue
		}
		require.NoError(t, err)
		f := with(fake{})
		require.NoError(t, require.Err(attaching.Attach(f, attaching.Attachment{Object: o}, kernelTypes(t, "pt_regs", "dx"))))
		largest, smallest := uint64(4096), uint64(1)
		if text == "largest=100" {
			largest = 100
		} else {
			smallest = 1<<64 - 1
		}
		require.That(t, slices.Contains(f.put, largest) && slices.Contains(f.put, smallest), "%s: maps hold %#x", text, f.put)
	}
}

// TestUserPlaces finds functions of programs, and names what has none.
func TestUserPlaces(t *testing.T) {
	file := object(t, "ways.bpf.o")
	for program, c := range map[string]struct {
		place uint64 // from the function on
		want  string
	}{
		"entered": {0, ""}, "inside": {4, ""}, "returned": {0, ""},
		"lacking": {0, "program lacking: attach uprobe to /init:no_such_function: /init has no function no_such_function"},
		"lost":    {0, "program lost: attach uprobe to no_such_file:main: the kernel refused to read no_such_file"},
		"prints":  {0, "attach uprobe to libc.so.6:puts: libc.so.6 is no program or library of x86-64"},
	} {
		o := require.Must(attaching.ReadObject(file, attaching.Choice{Programs: []string{program}}))(t)
		f := with(fake{})
		f.files["libc.so.6"] = "text"
		_, err := attaching.Attach(f, attaching.Attachment{Object: o}, nil)
		if c.want != "" {
			require.Error(t, err, c.want, "%s", program)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, binary.LittleEndian.Uint64(f.probe[64:]), inInit(t, "user_function")+c.place, "%s goes to", program)
	}
	for _, target := range []string{"/init:", ":user_function"} {
		_, err := attaching.ReadObject(file, attaching.Choice{Programs: []string{"anywhere=" + target}})
		require.Error(t, err, "write a file and a function of it", "%s", target)
	}
	beyond := require.Must(attaching.ReadObject(file, attaching.Choice{Programs: []string{"anywhere=/init:user_function+0x400"}}))(t)
	require.Error(t, require.Err(attaching.Attach(with(fake{}), attaching.Attachment{Object: beyond}, nil)), "bytes in user_function, and no place 0x400", "beyond a function")
	o := require.Must(attaching.ReadObject(file, attaching.Choice{Programs: []string{"several"}}))(t)
	require.NoError(t, o.Lacks(having(true)))
	require.Error(t, o.Lacks(having(false)),
		`program several: section "uprobe.multi//init:user_function": the kernel has no links of several user probes`, "an old kernel")
	require.NoError(t, require.Err(attaching.Attach(with(fake{}), attaching.Attachment{Object: o}, nil)))
}

// TestRelocate gives a program the place of a field where the kernel has it. What it has not is listed once, however often it is read.
func TestRelocate(t *testing.T) {
	all := require.Must(ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object(t, "refused.bpf.o"))))(t)
	for field, want := range map[string]struct {
		lacks    int
		constant int64
	}{"no_such_field": {0, 8}, "another": {1, attaching.Sentinel}} {
		code := slices.Repeat(all.Programs["field"].Instructions, 2)
		lacks := require.Must(attaching.Relocate(kernelTypes(t, "task_struct", field), code))(t)
		require.That(t, len(lacks) == want.lacks && (len(lacks) == 0 || strings.Contains(lacks[0], "task_struct")), "a kernel with %s lacks %q", field, lacks)
		for i := range code {
			if btf.CORERelocationMetadata(&code[i]) != nil {
				require.That(t, int64(code[i].Offset) == want.constant || code[i].Constant == want.constant, "a kernel with %s: %v", field, code[i])
			}
		}
	}
}

// TestFunctionsOfAProgram asks where each of them begins and ends, of as many as there may be.
func TestFunctionsOfAProgram(t *testing.T) {
	for _, more := range []uint64{0, 1, 2, 255} {
		name, code, err := attaching.Find(with(fake{functions: more}))
		require.NoError(t, err)
		var want [][2]uint64
		for i := range more + 1 {
			at := 0xffffffffc0000100 + i<<12
			want = append(want, [2]uint64{at, at + 0x40 + i})
		}
		require.That(t, name == "named" && slices.Equal(code, want), "%s: %x, want %x", name, code, want)
	}
}

// TestHeld makes maps that hold others, and fills arrays of programs when these are loaded.
func TestHeld(t *testing.T) {
	file := object(t, "ways.bpf.o")
	for program, want := range map[string]struct{ made, put, loads, attached int }{
		"array": {4, 1, 1, 1}, // arrays with what is like its inner ones, one, and ring
		"hash":  {4, 1, 1, 1},
		"first": {2, 1, 2, 1}, // next and ring
	} {
		o := require.Must(attaching.ReadObject(file, attaching.Choice{Programs: []string{program}}))(t)
		f := with(fake{})
		a := require.Must(attaching.Attach(f, attaching.Attachment{Object: o}, nil))(t)
		made := map[uint64]int{}
		for _, call := range f.made {
			made[call]++
		}
		require.That(t, made[mapCreate|1<<32] == want.made && made[mapUpdateElem|1<<32] == want.put && f.loads == want.loads &&
			len(a.Programs) == want.attached && len(a.Code()) == want.loads, "%s: %v", program, made)
		f = with(fake{refuse: mapUpdateElem | 1<<32, errno: 7})
		require.Error(t, require.Err(attaching.Attach(f, attaching.Attachment{Object: o}, nil)), "error 7 (E2BIG)", "%s that is not filled", program)
	}
}

// TestSamples opens an event for each processor.
func TestSamples(t *testing.T) {
	file := object(t, "ways.bpf.o")
	for want, s := range map[[2]uint64]attaching.Samples{
		{0, 10_101_010}: {}, {0, 1000}: {Event: attaching.Clock, Period: 1000}, {3, 5}: {Event: "context-switches", Period: 5},
	} {
		o := require.Must(attaching.ReadObject(file, attaching.Choice{Programs: []string{"samples"}, Samples: s}))(t)
		f := with(fake{})
		f.files["/sys/devices/system/cpu/possible"] = "0-2\n"
		a := require.Must(attaching.Attach(f, attaching.Attachment{Object: o}, nil))(t)
		opened := 0
		for _, call := range f.made {
			if call == perfEventOpen {
				opened++
			}
		}
		le := binary.LittleEndian
		require.That(t, a.Sampled && opened == 3 && le.Uint32(f.probe) == 1 && le.Uint64(f.probe[8:]) == want[0] && le.Uint64(f.probe[16:]) == want[1],
			"%+v: %d events of %x", s, opened, f.probe[:24])
	}
	require.Error(t, require.Err(attaching.ReadObject(file, attaching.Choice{Programs: []string{"entered"}, Samples: attaching.Samples{Event: attaching.Clock}})),
		"event cpu-clock: no program that is taken has the section perf_event", "no samples")
}

// TestSizes gives maps other sizes than the object has, and refuses what is none.
func TestSizes(t *testing.T) {
	file := object(t, "refused.bpf.o")
	for text, want := range map[string]string{
		"endless.max_entries=5": "", "endless.value_size=8": "map endless: it declares no max_entries", "none.max_entries=1": "the object has no map none",
		"endless.max_entries": "write a size as a number", "endless.max_entries=0": "write a size as a number",
		"endless.max_entries=many": "write a size as a number", "endless.entries=1": "a map has the sizes max_entries, key_size and value_size",
	} {
		_, err := attaching.ReadObject(file, attaching.Choice{Programs: []string{"unsized"}, Maps: []string{text}})
		if want != "" {
			require.Error(t, err, want, "%s", text)
		} else {
			require.NoError(t, err)
		}
	}
}

// TestTargets sends each program elsewhere, and one of a kernel's function into a program.
func TestTargets(t *testing.T) {
	c := attaching.Choice{Programs: []string{"nowhere=/init:user_function", "lacking=vfs_read"}}
	o := require.Must(attaching.ReadObject(object(t, "refused.bpf.o"), c))(t)
	f := with(fake{})
	a := require.Must(attaching.Attach(f, attaching.Attachment{Object: o}, nil))(t)
	le := binary.LittleEndian
	require.That(t, len(a.Programs) == 2 && le.Uint32(f.probe) == 7 && le.Uint64(f.probe[64:]) == inInit(t, "user_function"), "%d programs, the last at %x", len(a.Programs), f.probe[56:72])
}

// TestTarget sends programs elsewhere than their sections say.
func TestTarget(t *testing.T) {
	file := object(t, "refused.bpf.o")
	for target, want := range map[string]string{"vfs_read": "", "vfs_read+0x10": "", "vfs_*": "write one function"} {
		o, err := attaching.ReadObject(file, attaching.Choice{Programs: []string{"nowhere"}, Target: target})
		if want != "" {
			require.Error(t, err, want, "%s", target)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, require.Err(attaching.Attach(with(fake{}), attaching.Attachment{Object: o}, kernelTypes(t, "", "vfs_write"))))
	}
}

// TestObjectIsBuilt builds object files again, and wants the same bytes.
func TestObjectIsBuilt(t *testing.T) {
	hosttools.Need(t, "clang", "clang", "whether object files of BPF are those of their sources")
	hosttools.Need(t, "llvm-strip", "llvm", "whether object files of BPF are those of their sources")
	script := require.Must(filepath.Abs("../bpf/build.sh"))(t)
	for _, name := range []string{"../bpf/writes.bpf", "testdata/refused.bpf", "testdata/ways.bpf"} {
		out := filepath.Join(t.TempDir(), "object")
		hosttools.Run(t, filepath.Dir(name), "sh", script, filepath.Base(name)+".c", out)
		if got, want := require.Must(os.ReadFile(out))(t), require.Must(os.ReadFile(name+".o"))(t); !bytes.Equal(got, want) {
			t.Errorf("%s.o is not that of its source: run distro/bpf/build.sh with clang of Debian 12", name)
		}
	}
}
