package attaching

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
)

// Attachment says what is attached, and to what.
type Attachment struct {
	Way     string // one of Ways
	Program string // Empty, Count or Ringbuf; "" for ways without a program, and for programs of an object file
	// Target is a function of the kernel; a tracepoint as GROUP/NAME; or a function of a program of the guest as FILE:FUNCTION,
	// or a static probe as FILE:PROVIDER:NAME; without a file it is one of the program in the machine.
	Target  string
	Offset  uint64 // of a probe in it
	Hits    uint64 // how many there will be
	samples Samples
	call    bool // Target is a system call, without what names of such functions begin with
	// Object has the programs of an object file attached, each in the way that its section names, in place of Way, Program and Target.
	Object *Object
}

// Attached tells what came of an attachment.
type Attached struct {
	Programs []Program // none for a way without one
	Session  bool      // a hit enters it twice: at the entry of the function and at its return
	called   []Program // those that the others call
	// Sampled reports whether some run in interrupts of the kernel's clock, or at other events of a processor.
	Sampled bool
	// Function is one of the kernel that is entered once a hit, where there is no program.
	Function      string
	Rings         []Ring
	counter, unit uint64
	width         int
}

// Ring is a ring buffer of an object, which nobody reads.
type Ring struct {
	Name string
	Addr uint64 // where the guest's program reads how many bytes programs have put there
	Size uint64 // in bytes
	Word int    // bytes of the position there
}

// Code is where machine code of the programs begins and ends.
func (a *Attached) Code() (all [][2]uint64) {
	for _, p := range slices.Concat(a.Programs, a.called) {
		all = append(all, p.Code...)
	}
	return all
}

// Times is how often a hit enters each program.
func (a *Attached) Times() int64 {
	if a.Session {
		return 2
	}
	return 1
}

// Counter is where the guest's program reads how often a program was hit, in how many bytes, and by how much a hit adds to it; a unit
// of 0 for those that do not count.
func (a *Attached) Counter() (addr uint64, width int, unit uint64) { return a.counter, a.width, a.unit }

// Ways to attach, by the names that people give them.
const (
	Kprobe         = "kprobe" // by a perf event, as all of tracing that has no link of its own
	Kretprobe      = "kretprobe"
	KprobeMulti    = "kprobe-multi"
	KretprobeMulti = "kretprobe-multi"
	KprobeSession  = "kprobe-session" // one program at the entry and at the return of a function
	Fentry         = "fentry"
	Fexit          = "fexit"
	FmodRet        = "fmod-ret"
	Tracepoint     = "tracepoint"
	RawTracepoint  = "raw-tracepoint"
	BTFTracepoint  = "btf-tracepoint"
	Uprobe         = "uprobe"
	Uretprobe      = "uretprobe"
	UprobeMulti    = "uprobe-multi"
	UretprobeMulti = "uretprobe-multi"
	UprobeSession  = "uprobe-session" // as KprobeSession, of a function of a program
	USDT           = "usdt"
	PerfEvent      = "perf-event" // of programs of object files alone
	// Ways without a program of BPF.
	FunctionTracer = "function-tracer"
	FunctionGraph  = "function-graph"
	PerfCount      = "perf-count" // a tracepoint that a perf event counts
	Seccomp        = "seccomp"    // a filter that looks at an argument and allows all calls
	SeccompCached  = "seccomp-cached"
)

// way is how something is attached.
type way struct {
	name   string
	needs  []need
	target target
	attach func(*attacher) error
	bare   string // for a way without a program: the function that is entered once a hit
}

// need is a function that kernels without a way lack, and what is said of such a kernel.
type need struct{ function, lack string }

// Types of programs and kinds of attachment (enum bpf_prog_type, enum bpf_attach_type).
const (
	typeKprobe, typeTracepoint, typePerfEvent, typeRawTracepoint, typeTracing = 2, 5, 7, 17, 26

	attachRawTracepoint, attachFentry, attachFexit, attachModifyReturn = 23, 24, 25, 26
	attachPerfEvent, attachKprobeMulti, attachUprobeMulti              = 41, 42, 48
	attachKprobeSession, attachUprobeSession                           = 56, 57
)

// ways has every way in the order of tables.
func ways() []way {
	fprobe := need{"register_fprobe_ips", "was built without CONFIG_FPROBE"}
	session := need{"bpf_session_is_return", "has no sessions of kprobe-multi, as kernels have from 6.10 on"}
	userLinks := []need{{"bpf_uprobe_multi_link_attach", "has no links of several user probes, as kernels have from 6.6 on"}}
	userSession := append(userLinks, need{"hprobe_expire", "has no sessions of user probes, as kernels have from 6.13 on"})
	kprobe, multi := target{kind: typeKprobe}, target{kind: typeKprobe, attached: attachKprobeMulti}
	userMulti := target{kind: typeKprobe, attached: attachUprobeMulti}
	tracing := func(attached uint32) target { return target{kind: typeTracing, attached: attached} }
	return []way{
		{name: Kprobe, target: kprobe, attach: (*attacher).kprobe},
		{name: Kretprobe, target: kprobe, attach: (*attacher).kprobe},
		{name: KprobeMulti, needs: []need{fprobe}, target: multi, attach: (*attacher).kprobeMulti},
		{name: KretprobeMulti, needs: []need{fprobe}, target: multi, attach: (*attacher).kprobeMulti},
		{name: KprobeSession, needs: []need{session, fprobe}, target: target{kind: typeKprobe, attached: attachKprobeSession}, attach: (*attacher).kprobeMulti},
		{name: Fentry, target: tracing(attachFentry), attach: (*attacher).tracing},
		{name: Fexit, target: tracing(attachFexit), attach: (*attacher).tracing},
		{name: FmodRet, target: tracing(attachModifyReturn), attach: (*attacher).tracing},
		{name: Tracepoint, target: target{kind: typeTracepoint}, attach: (*attacher).tracepoint},
		{name: RawTracepoint, target: target{kind: typeRawTracepoint}, attach: (*attacher).rawTracepoint},
		{name: BTFTracepoint, target: tracing(attachRawTracepoint), attach: (*attacher).tracing},
		{name: Uprobe, target: kprobe, attach: (*attacher).uprobe},
		{name: Uretprobe, target: kprobe, attach: (*attacher).uprobe},
		{name: UprobeMulti, needs: userLinks, target: userMulti, attach: (*attacher).uprobeMulti},
		{name: UretprobeMulti, needs: userLinks, target: userMulti, attach: (*attacher).uprobeMulti},
		{name: UprobeSession, needs: userSession, target: target{kind: typeKprobe, attached: attachUprobeSession}, attach: (*attacher).uprobeMulti},
		{name: USDT, target: kprobe, attach: (*attacher).usdt},
		{name: PerfEvent, target: target{kind: typePerfEvent}, attach: (*attacher).sample},
		{name: FunctionTracer, attach: (*attacher).tracer, bare: "function_trace_call"},
		{name: FunctionGraph, attach: (*attacher).tracer, bare: "trace_graph_entry"},
		{name: PerfCount, attach: (*attacher).tracepoint, bare: "perf_syscall_enter"},
		{name: Seccomp, attach: (*attacher).seccomp, bare: "__secure_computing"},
		{name: SeccompCached, attach: (*attacher).seccomp, bare: "__secure_computing"},
	}
}

// Ways are the names of all ways.
func Ways() (out []string) {
	for _, w := range ways() {
		if w.name != PerfEvent {
			out = append(out, w.name)
		}
	}
	return out
}

// wayNamed finds a way.
func wayNamed(name string) (way, error) {
	for _, w := range ways() {
		if w.name == name {
			return w, nil
		}
	}
	return way{}, fmt.Errorf("way %q: write one of %s", name, strings.Join(Ways(), ", "))
}

// Programmed reports whether something attached in a way is a program of BPF.
func Programmed(name string) bool {
	w, err := wayNamed(name)
	return err == nil && w.bare == ""
}

// Has tells what a kernel was built with.
type Has struct {
	Function func(name string) bool
	Types    bool // BTF
}

// Lacks says what a kernel lacks for a way; "" where it lacks nothing.
func Lacks(name string, has Has) string {
	w, err := wayNamed(name)
	if err != nil {
		return ""
	}
	for _, n := range w.needs {
		if !has.Function(n.function) {
			return n.lack
		}
	}
	if w.target.kind == typeTracing && !has.Types {
		return "was built without CONFIG_DEBUG_INFO_BTF"
	}
	return ""
}

// LacksCalls says what a kernel lacks that replaces a nop by a call where a probe of user mode stands; "" for one that does so.
func LacksCalls(has Has) string {
	if has.Function("__x64_sys_uprobe") {
		return ""
	}
	return "puts no call in place of a nop where a user probe stands, as kernels of x86-64 do from 6.18 on"
}

// ReturnsByCall is a function of kernels from 6.11 on, to which probed functions of programs return: it enters the kernel by a system
// call (uretprobe(2)), and not by a breakpoint.
const ReturnsByCall = "uretprobe_trampoline_entry"

// attacher attaches one thing.
type attacher struct {
	Attachment
	*loader
	way    way
	fd     uint64 // of the program
	cookie uint64 // that a program can ask for at a hit
	what   string // for errors
}

// Attach attaches. types is the kernel's BTF, nil where it has none.
func Attach(g Guest, a Attachment, types []byte) (*Attached, error) {
	l := &loader{Guest: g, types: &kernelTypes{raw: types}}
	if a.Object != nil {
		return l.object(a.Object)
	}
	at, err := l.attacher(a)
	if err != nil {
		return nil, err
	}
	if at.way.bare != "" {
		return &Attached{Function: at.way.bare}, at.way.attach(at)
	}
	out := &Attached{Session: a.Way == KprobeSession || a.Way == UprobeSession}
	own, err := ownNamed(a.Program, a.Hits*uint64(out.Times()), machineOf(g.Machine()))
	if err != nil {
		return nil, err
	}
	if err := l.make(own.maps); err != nil {
		return nil, err
	}
	if out.unit, out.width = own.unit, own.width; own.unit > 0 {
		if out.counter, err = l.mapped(a.Program, own.offset); err != nil {
			return nil, err
		}
	}
	loaded, err := at.load(l, own.program)
	if err != nil {
		return nil, err
	}
	out.Programs = []Program{loaded}
	return out, at.way.attach(at)
}

// attacher prepares to attach one thing.
func (l *loader) attacher(a Attachment) (*attacher, error) {
	w, err := wayNamed(a.Way)
	if a.call {
		a.Target = machineOf(l.Machine()).prefix + a.Target
	}
	return &attacher{Attachment: a, loader: l, way: w, what: fmt.Sprintf("attach %s to %s", a.Way, a.Target)}, err
}

// load loads the program that is attached.
func (a *attacher) load(l *loader, p *ebpf.ProgramSpec) (loaded Program, err error) {
	t := a.way.target
	if t.kind == typeTracing {
		if t.typ, err = l.types.number(a.Way, a.Target); err != nil {
			return loaded, err
		}
	}
	fd, loaded, err := l.load(p, t)
	if err != nil {
		return loaded, fmt.Errorf("%s: %w", a.what, err)
	}
	a.fd = uint64(fd)
	return loaded, nil
}

// perf opens a perf event for all tasks, on the first CPU, and links the program to it. Programs of probes are run on every CPU.
func (a *attacher) perf(m *Memory, attr fields) error { return a.perfOn(0, m, attr) }

// perfOn is perf on another CPU.
func (a *attacher) perfOn(cpu uint64, m *Memory, attr fields) error {
	const size = 112
	attr.u32(4, size)
	fd, err := call(a, a.what, callPerfEventOpen, m, m.put(attr), ^uint64(0), cpu, ^uint64(0), 0)
	if err != nil || a.way.bare != "" {
		return err
	}
	err = a.link(attachPerfEvent, uint64(fd))
	if a.cookie == 0 && is(err, invalid) {
		_, err = call(a, a.what, callIoctl, a.Memory(), uint64(fd), setProgram, a.fd)
	}
	return err
}

// setProgram gives a perf event a program in a kernel without links of such events, as 5.10 is (include/uapi/linux/perf_event.h,
// PERF_EVENT_IOC_SET_BPF).
const setProgram = 0x40042408

func (a *attacher) link(kind uint32, to uint64) error {
	attr := make(fields, 48)
	attr.u32(0, uint32(a.fd))
	attr.u32(4, uint32(to))
	attr.u32(8, kind)
	attr.u64(16, a.cookie)
	_, err := bpf(a, a.what, linkCreate, a.Memory(), attr)
	return err
}

// source is the number of a kind of perf events.
func (a *attacher) source(name string) (uint32, error) {
	return a.number("/sys/bus/event_source/devices/" + name + "/type")
}

// number reads a file with a number.
func (a *attacher) number(path string) (uint32, error) {
	text, err := a.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", a.what, err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s: %s holds %q, and no number", a.what, path, text)
	}
	return uint32(n), nil
}

// kprobe attaches to a function of the kernel, or to its return.
func (a *attacher) kprobe() error {
	kind, err := a.source("kprobe")
	if err != nil {
		return err
	}
	m := a.Memory()
	attr := a.probe(kind, a.Way == Kretprobe)
	attr.u64(56, m.Text(a.Target))
	attr.u64(64, a.Offset)
	err = a.perf(m, attr)
	if is(err, noEntry) {
		return fmt.Errorf("%w: it has no function %s", err, a.Target)
	}
	return err
}

// Error numbers (include/uapi/asm-generic/errno-base.h).
const notPermitted, noEntry, invalid = 1, 2, 22

// is tells whether a kernel refused a call by a number.
func is(err error, errno int) bool {
	refused := (*Refused)(nil)
	return errors.As(err, &refused) && refused.Errno == errno
}

// probe is a perf event of a probe. Bit 0 of its configuration is that of return probes (format/retprobe).
func (a *attacher) probe(kind uint32, returns bool) fields {
	attr := make(fields, 112)
	attr.u32(0, kind)
	if returns {
		attr.u64(8, 1)
	}
	return attr
}

// kprobeMulti attaches by one call to as many functions as it is told, here to one.
func (a *attacher) kprobeMulti() error {
	m, attr := a.Memory(), make(fields, 48)
	attr.u32(0, uint32(a.fd))
	attr.u32(8, a.way.target.attached)
	if a.Way == KretprobeMulti {
		attr.u32(16, 1)
	}
	list := make(fields, 8)
	list.u64(0, m.Text(a.Target))
	attr.u32(20, 1)
	attr.u64(24, m.put(list))
	_, err := bpf(a, a.what, linkCreate, m, attr)
	return err
}

// tracing attaches a program that has named its target by a type when it was loaded.
func (a *attacher) tracing() error { return a.raw(0, a.Memory()) }

// rawTracepoint attaches to a tracepoint by its name without a group.
func (a *attacher) rawTracepoint() error {
	m := a.Memory()
	return a.raw(m.Text(event(a.Target)), m)
}

func (a *attacher) raw(name uint64, m *Memory) error {
	attr := make(fields, 16)
	attr.u64(0, name)
	attr.u32(8, uint32(a.fd))
	_, err := bpf(a, a.what, rawTracepointOpen, m, attr)
	return err
}

// event is the name of a tracepoint without its group.
func event(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// tracepoint attaches to a tracepoint by a perf event.
func (a *attacher) tracepoint() error {
	const tracepoint = 2 // PERF_TYPE_TRACEPOINT
	id, err := a.number("/trace/events/" + a.Target + "/id")
	if err != nil {
		return err
	}
	attr := make(fields, 112)
	attr.u32(0, tracepoint)
	attr.u64(8, uint64(id))
	return a.perf(a.Memory(), attr)
}

// tracer has the kernel record entries of one function, or entries and returns.
func (a *attacher) tracer() error {
	name := map[string]string{FunctionTracer: "function", FunctionGraph: "function_graph"}[a.Way]
	if err := a.WriteFile("/trace/set_ftrace_filter", a.Target+"\n"); err != nil {
		return fmt.Errorf("%s: %w", a.what, err)
	}
	if err := a.WriteFile("/trace/current_tracer", name); err != nil {
		return fmt.Errorf("%s: %w", a.what, err)
	}
	return nil
}
