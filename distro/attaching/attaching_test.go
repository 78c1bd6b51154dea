package attaching_test

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/image"
	kernel "kprobesim/image/linux"
	"kprobesim/internal/require"
)

// Numbers of system calls, and commands of bpf(2).
const (
	mmap, ioctl, perfEventOpen, prlimit, bpf = 9, 16, 298, 302, 321

	mapCreate, mapUpdateElem, progLoad, progGetNextID, progGetFDByID, objGetInfo, rawTracepointOpen, linkCreate = 0, 2, 5, 11, 13, 15, 17, 28
)

// numbers32 are system calls of kernels of 32 bits, by their numbers there (syscall(2)).
var numbers32 = map[elf.Machine]map[uint64]uint64{
	elf.EM_386: {54: ioctl, 192: mmap, 340: prlimit, 336: perfEventOpen, 354: 317, 357: bpf},
	elf.EM_ARM: {54: ioctl, 192: mmap, 369: prlimit, 364: perfEventOpen, 383: 317, 386: bpf},
}

// fake is a kernel that answers what loaders ask, or refuses one of its calls with an error number.
type fake struct {
	refuse     uint64 // a system call, or a command of bpf(2) with bit 32
	errno      int64
	files      map[string]string
	loaded     uint32 // how many programs others have loaded
	locked     bool   // it makes no map before the limit of locked memory is lifted
	bare       bool   // it does not tell where programs are
	restricts  bool   // it tells of programs, and has 0 for where they are
	interprets bool   // it does not compile programs
	functions  uint64 // that a program has beside its first one
	loads      int
	machine    elf.Machine // x86-64 where it is not said
	made       []uint64    // what was called
	probe      []byte      // the attributes of the last perf event
	put        []uint64    // what maps were filled with, as far as the first word of each element goes
}

const base = 0x443000

// amd64 is a kernel of x86-64.
var amd64 = &kernel.Kernel{Image: &image.Image{Machine: elf.EM_X86_64, Bits: 64}}

func (f *fake) Machine() elf.Machine { return cmp.Or(f.machine, elf.EM_X86_64) }

func (f *fake) Memory() *attaching.Memory { return &attaching.Memory{Base: base} }

func (f *fake) Call(number uint64, args [6]uint64, m *attaching.Memory) (int64, error) {
	number = cmp.Or(numbers32[f.Machine()][number], number)
	key := number
	if number == bpf {
		key = args[0] | 1<<32
	}
	f.made = append(f.made, key)
	at := func(addr uint64) []byte { return m.Data[addr-base:] }
	if number == bpf && args[0] == progLoad {
		f.loads++
		if room := binary.LittleEndian.Uint64(at(args[1])[32:]); room > 0 {
			copy(at(room), "0: R0 !read_ok\x00")
		}
	}
	switch {
	case number == bpf && args[0] == progGetNextID:
		id := at(args[1])
		if binary.LittleEndian.Uint32(id) == f.loaded {
			return -2, nil
		}
		binary.LittleEndian.PutUint32(id[4:], binary.LittleEndian.Uint32(id)+1)
		return 0, nil
	case key == f.refuse, number == bpf && args[0] == mapCreate && f.locked:
		return -f.errno, nil
	case number == prlimit:
		f.locked = !bytes.Equal(at(args[2])[:16], bytes.Repeat([]byte{0xff}, 16))
	case number == bpf && args[0] == mapUpdateElem:
		value := make([]byte, 8)
		copy(value, at(binary.LittleEndian.Uint64(at(args[1])[16:])))
		f.put = append(f.put, binary.LittleEndian.Uint64(value))
	case number == perfEventOpen:
		f.probe = at(args[0])
	case number == bpf && args[0] == objGetInfo && !f.bare:
		info := at(binary.LittleEndian.Uint64(at(args[1])[8:]))
		binary.LittleEndian.PutUint32(info[104:], uint32(1+f.functions))
		copy(info[64:80], "named")
		starts, lengths := at(binary.LittleEndian.Uint64(info[112:])), at(binary.LittleEndian.Uint64(info[120:]))
		for i := range 1 + f.functions {
			if !f.restricts {
				binary.LittleEndian.PutUint64(starts[8*i:], 0xffffffffc0000100+i<<12)
			}
			if !f.interprets {
				binary.LittleEndian.PutUint32(lengths[4*i:], uint32(0x40+i))
			}
		}
	}
	return 7, nil
}

func (f *fake) ReadFile(path string) (string, error) {
	if text, ok := f.files[path]; ok {
		return text, nil
	}
	return "", errors.New("the kernel refused to read " + path + ": error " + attaching.Errno(2))
}

func (f *fake) WriteFile(path, text string) error { return nil }

func (f *fake) File(name string) (string, []byte, error) {
	if name == "/init" {
		bits := 64
		if numbers32[f.Machine()] != nil {
			bits = 32
		}
		own, err := distro.Attach(&kernel.Kernel{Image: &image.Image{Machine: f.Machine(), Bits: bits}})
		return name, own.Data, err
	}
	text, err := f.ReadFile(name)
	return name, []byte(text), err
}

// Begins has instructions of a byte each, but for one of two at 2.
func (f *fake) Begins(code []byte, offset uint64) error {
	if offset == 3 && len(code) > 3 {
		return errors.New("no instruction that starts at 3")
	}
	return nil
}

// inInit is where a symbol lies in the file of the program in the machine.
func inInit(t *testing.T, name string) uint64 {
	t.Helper()
	own := require.Must(distro.Attach(amd64))(t)
	f := require.Must(elf.NewFile(bytes.NewReader(own.Data)))(t)
	for _, s := range require.Must(f.Symbols())(t) {
		for _, p := range f.Progs {
			if s.Name == name && p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				return s.Value - p.Vaddr + p.Off
			}
		}
	}
	t.Fatalf("the program has no symbol %s", name)
	return 0
}

// with is a kernel with the files that ways read.
func with(f fake) *fake {
	f.files = map[string]string{
		"/sys/bus/event_source/devices/kprobe/type": "6\n", "/sys/bus/event_source/devices/uprobe/type": "7\n",
		"/trace/events/task/task_rename/id": "123\n", "/trace/events/bad/bad/id": "none\n",
	}
	return &f
}

// TestOlderKernels gives a perf event its program where the kernel has no links of them, and lifts the limit for maps where one is refused.
func TestOlderKernels(t *testing.T) {
	for _, f := range []fake{
		{refuse: linkCreate | 1<<32, errno: 22}, {locked: true, errno: 1}, {locked: true, errno: 1, machine: elf.EM_386}, {locked: true, errno: 1, machine: elf.EM_ARM},
	} {
		k := with(f)
		require.NoError(t, require.Err(attaching.Attach(k, attaching.Attachment{Way: attaching.Kprobe, Program: attaching.Count, Target: "f", Hits: 1}, nil)))
		require.That(t, slices.Contains(k.made, ioctl) == !f.locked && slices.Contains(k.made, prlimit) == f.locked, "calls %d", k.made)
	}
}

// TestRefusals names what is refused, by the error number, and shows what the verifier said.
func TestRefusals(t *testing.T) {
	kprobe := attaching.Attachment{Way: attaching.Kprobe, Program: attaching.Empty, Target: "f"}
	count := attaching.Attachment{Way: attaching.Kprobe, Program: attaching.Count, Target: "f"}
	for want, c := range map[string]struct {
		kernel fake
		a      attaching.Attachment
	}{
		"refused to attach kprobe to f: error 2 (ENOENT)":              {fake{refuse: perfEventOpen, errno: 2}, kprobe},
		"refused to attach kprobe to f: error 5 (EIO)":                 {fake{refuse: linkCreate | 1<<32, errno: 5}, kprobe},
		"error 13 (EACCES); the verifier says:\n0: R0 !read_ok":        {fake{refuse: progLoad | 1<<32, errno: 13}, kprobe},
		"refused to create the map count: error 1":                     {fake{refuse: mapCreate | 1<<32, errno: 1}, count},
		"refused to map the map count: error 12 (ENOMEM)":              {fake{refuse: mmap, errno: 12}, count},
		"refused to tell of a program: error 9 (EBADF)":                {fake{refuse: objGetInfo | 1<<32, errno: 9}, kprobe},
		"does not say where the code of a program of BPF is":           {fake{bare: true}, kprobe},
		"say where the code of a program of BPF is: its hits":          {fake{restricts: true}, kprobe},
		`program "nothing": write "empty"`:                             {fake{}, attaching.Attachment{Way: attaching.Kprobe, Program: "nothing"}},
		`way "nothing": write one of kprobe, kretprobe`:                {fake{}, attaching.Attachment{Way: "nothing"}},
		"the kernel has no BTF":                                        {fake{}, attaching.Attachment{Way: attaching.Fentry, Program: attaching.Empty, Target: "f"}},
		"read /trace/events/task/nothing/id: error 2 (ENOENT)":         {fake{}, attaching.Attachment{Way: attaching.Tracepoint, Program: attaching.Empty, Target: "task/nothing"}},
		`/trace/events/bad/bad/id holds "none\n", and no number`:       {fake{}, attaching.Attachment{Way: attaching.PerfCount, Target: "bad/bad"}},
		"refused to attach seccomp to f: error 22 (EINVAL)":            {fake{refuse: 317, errno: 22}, attaching.Attachment{Way: attaching.Seccomp, Target: "f"}},
		"refused to attach raw-tracepoint to g/t: error 2 (ENOENT)":    {fake{refuse: rawTracepointOpen | 1<<32, errno: 2}, attaching.Attachment{Way: attaching.RawTracepoint, Program: attaching.Empty, Target: "g/t"}},
		"refused to attach kprobe-multi to f: error 95 (EOPNOTSUPP)":   {fake{refuse: linkCreate | 1<<32, errno: 95}, attaching.Attachment{Way: attaching.KprobeMulti, Program: attaching.Empty, Target: "f"}},
		"refused to attach uretprobe to user_function: error 5 (EIO)":  {fake{refuse: perfEventOpen, errno: 5}, attaching.Attachment{Way: attaching.Uretprobe, Program: attaching.Empty, Target: "user_function"}},
		"/init has no instruction that starts at 3":                    {fake{}, attaching.Attachment{Way: attaching.Uprobe, Program: attaching.Empty, Target: "user_function", Offset: 3}},
		"refused to attach usdt to static_probe: error 999":            {fake{refuse: perfEventOpen, errno: 999}, attaching.Attachment{Way: attaching.USDT, Program: attaching.Empty, Target: "static_probe"}},
		"refused to attach kretprobe-multi to f: error 524 (ENOTSUPP)": {fake{refuse: linkCreate | 1<<32, errno: 524}, attaching.Attachment{Way: attaching.KretprobeMulti, Program: attaching.Empty, Target: "f"}},
		"the kernel's BTF: ":                                           {fake{}, attaching.Attachment{Way: attaching.BTFTracepoint, Program: attaching.Empty, Target: "task/task_rename"}},
	} {
		var types []byte
		if strings.HasPrefix(want, "the kernel's BTF") {
			types = []byte("damaged")
		}
		p, err := attaching.Attach(with(c.kernel), c.a, types)
		require.Error(t, err, want, "got %v", p)
	}
}

// TestAttributes holds the fields of perf events, which nothing but a kernel reads.
func TestAttributes(t *testing.T) {
	function, static, listeners := inInit(t, "user_function"), inInit(t, "static_probe"), inInit(t, "listeners")
	for _, c := range []struct {
		a                     attaching.Attachment
		kind                  uint32
		config, second, third uint64 // the latter two are config1, an address of a text, and config2
		text                  string
	}{
		{attaching.Attachment{Way: attaching.Kprobe, Program: attaching.Empty, Target: "f", Offset: 11}, 6, 0, 1, 11, "f"},
		{attaching.Attachment{Way: attaching.Kretprobe, Program: attaching.Empty, Target: "g"}, 6, 1, 1, 0, "g"},
		{attaching.Attachment{Way: attaching.Uprobe, Program: attaching.Empty, Target: "user_function", Offset: 1}, 7, 0, 1, function + 1, "/init"},
		{attaching.Attachment{Way: attaching.Uretprobe, Program: attaching.Empty, Target: "/init:user_function"}, 7, 1, 1, function, "/init"},
		{attaching.Attachment{Way: attaching.USDT, Program: attaching.Empty, Target: "static_probe"}, 7, listeners << 32, 1, static, "/init"},
		{attaching.Attachment{Way: attaching.Tracepoint, Program: attaching.Empty, Target: "task/task_rename"}, 2, 123, 0, 0, ""},
	} {
		f := with(fake{})
		p, err := attaching.Attach(f, c.a, nil)
		require.NoError(t, err)
		require.That(t, len(p.Programs) == 1 && p.Programs[0].Code[0] == [2]uint64{0xffffffffc0000100, 0xffffffffc0000140} && f.loads == 1, "%s: %+v behind %d loads", c.a.Way, p, f.loads)
		le := binary.LittleEndian
		if got := le.Uint32(f.probe); got != c.kind || le.Uint64(f.probe[8:]) != c.config || le.Uint64(f.probe[64:]) != c.third {
			t.Errorf("%s: kind %d, %#x, %#x", c.a.Way, got, le.Uint64(f.probe[8:]), le.Uint64(f.probe[64:]))
		}
		at := le.Uint64(f.probe[56:])
		require.That(t, (at != 0) == (c.second != 0), "%s: a text at %#x, want %q", c.a.Way, at, c.text)
	}
}

// TestLoaded lists programs that others have loaded.
func TestLoaded(t *testing.T) {
	all, err := attaching.Loaded(with(fake{loaded: 2}))
	require.NoError(t, err)
	if len(all) != 2 || all[1].Name != "named" || all[1].Entry() != 0xffffffffc0000100 {
		t.Errorf("%+v", all)
	}
	none, err := attaching.Loaded(with(fake{}))
	if err != nil || len(none) > 0 {
		t.Errorf("%v, %v", none, err)
	}
	for want, f := range map[string]fake{
		"refused to find a program: error 1 (EPERM)": {loaded: 1, refuse: progGetFDByID | 1<<32, errno: 1},
		"does not say where the code":                {loaded: 1, bare: true},
	} {
		require.Error(t, require.Err(attaching.Loaded(with(f))), want, "refused")
	}
}

// TestAttaches holds which calls attach something, and which merely prepare it.
func TestAttaches(t *testing.T) {
	of := func(machine elf.Machine, number, mapped, first uint64, want bool) {
		require.Equal(t, attaching.Attaches(machine, number, first), want, "call %d (%d) of %s with %d attaches", number, mapped, machine, first)
	}
	for call, want := range map[[2]uint64]bool{
		{perfEventOpen, 0}: true, {317, 1}: true, {bpf, linkCreate}: true, {bpf, rawTracepointOpen}: true,
		{bpf, mapCreate}: false, {bpf, progLoad}: false, {bpf, objGetInfo}: false, {mmap, 0}: false,
	} {
		of(elf.EM_X86_64, call[0], call[0], call[1], want)
		for machine, numbers := range numbers32 {
			for number, mapped := range numbers {
				if mapped == call[0] {
					of(machine, number, mapped, call[1], want)
				}
			}
		}
	}
}

// TestInterpreted takes one program that a kernel interprets, and refuses two, which are entered at the same place.
func TestInterpreted(t *testing.T) {
	one := require.Must(attaching.Loaded(with(fake{loaded: 1, interprets: true})))(t)
	require.Equal(t, one[0].Entry(), 0xffffffffc0000100, "where the interpreter begins")
	require.Error(t, require.Err(attaching.Loaded(with(fake{loaded: 2, interprets: true}))), "the kernel interprets the programs named and named, so their hits cannot be told apart", "two programs")
	o := require.Must(attaching.ReadObject(require.Must(distro.Object("writes"))(t), attaching.Choice{Programs: []string{"begins=f", "ends=f"}}))(t)
	require.Error(t, require.Err(attaching.Attach(with(fake{interprets: true}), attaching.Attachment{Object: o}, kernelTypes(t, "", "f"))), "begins and ends", "two programs of an object")
}

// TestUncompiled says what a kernel of 32 bits may lack that cannot compile a program.
func TestUncompiled(t *testing.T) {
	for machine, want := range map[elf.Machine]string{elf.EM_ARM: "compiler for ARM lacks an instruction", elf.EM_386: "compiler for i386 lacks", elf.EM_X86_64: "error 524 (ENOTSUPP)"} {
		kernel := with(fake{machine: machine, refuse: progLoad | 1<<32, errno: 524})
		err := require.Err(attaching.Attach(kernel, attaching.Attachment{Way: attaching.Kprobe, Program: attaching.Empty, Target: "f"}, nil))
		require.Error(t, err, want, "%s", machine)
		require.Equal(t, strings.Contains(err.Error(), "lacks"), machine != elf.EM_X86_64, "what is said on %s", machine)
	}
}

// having is a kernel that has every function and types, or none.
func having(all bool) attaching.Has {
	return attaching.Has{Function: func(string) bool { return all }, Types: all}
}

// TestLacks says what kernels without a way lack.
func TestLacks(t *testing.T) {
	for _, w := range attaching.Ways() {
		want := ""
		switch w {
		case attaching.KprobeMulti, attaching.KretprobeMulti:
			want = "was built without CONFIG_FPROBE"
		case attaching.KprobeSession:
			want = "has no sessions of kprobe-multi, as kernels have from 6.10 on"
		case attaching.UprobeMulti, attaching.UretprobeMulti, attaching.UprobeSession:
			want = "has no links of several user probes, as kernels have from 6.6 on"
		case attaching.Fentry, attaching.Fexit, attaching.FmodRet, attaching.BTFTracepoint:
			want = "was built without CONFIG_DEBUG_INFO_BTF"
		}
		require.Equal(t, attaching.Lacks(w, having(true)), "", "%s lacks", w)
		require.Equal(t, attaching.Lacks(w, having(false)), want, "%s lacks", w)
	}
	links := attaching.Has{Function: func(f string) bool { return f == "bpf_uprobe_multi_link_attach" }}
	require.Equal(t, attaching.Lacks(attaching.UprobeSession, links), "has no sessions of user probes, as kernels have from 6.13 on", "a kernel with links lacks")
	for function, lacks := range map[string][2]string{
		"register_fprobe_ips": {"", "has no sessions of kprobe-multi, as kernels have from 6.10 on"}, "bpf_session_is_return": {"was built without CONFIG_FPROBE", "was built without CONFIG_FPROBE"},
	} {
		has := attaching.Has{Function: func(f string) bool { return f == function }}
		require.Equal(t, [2]string{attaching.Lacks(attaching.KprobeMulti, has), attaching.Lacks(attaching.KprobeSession, has)}, lacks, "a kernel with %s alone lacks", function)
	}
	require.Equal(t, attaching.LacksCalls(having(true)), "", "a kernel with calls lacks")
	require.Error(t, errors.New(attaching.LacksCalls(having(false))), "puts no call in place of a nop", "a kernel without")
}

// TestOffsets says why a field is not found. Packaged kernels show where they are: names of processes are read there.
func TestOffsets(t *testing.T) {
	require.Error(t, require.Err(attaching.Offsets(nil, "task_struct", "comm")), "the kernel has no BTF", "without types")
	require.Error(t, require.Err(attaching.Offsets([]byte("damaged"), "task_struct", "comm")), "the kernel's BTF: ", "damaged types")
}

// TestKnownMaps refuses maps that declare too little, or that nothing here makes.
func TestKnownMaps(t *testing.T) {
	stacks := &ebpf.MapSpec{Type: ebpf.StackTrace, MaxEntries: 4}
	for want, m := range map[string]*ebpf.MapSpec{
		"no value_size": stacks, "it declares no value_size": {Type: ebpf.HashOfMaps, MaxEntries: 1, InnerMap: stacks},
		"no max_entries": {Type: ebpf.Hash}, "what maps it holds": {Type: ebpf.ArrayOfMaps, MaxEntries: 1}, "no programs": {Type: ebpf.ProgramArray, MaxEntries: 1},
		"maps of the type SockMap are not made here": {Type: ebpf.SockMap, MaxEntries: 1},
		"": {Type: ebpf.StackTrace, MaxEntries: 4, ValueSize: 1016},
	} {
		err := attaching.Known(m)
		require.That(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)), "%+v: %v; want %q", m, err, want)
	}
}
