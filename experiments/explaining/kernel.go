package explaining

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
	"kprobesim/targets"
	"kprobesim/workloads"
)

// Kernel is a guest kernel of this program on a machine. Its memory is as it is before the first instruction. The rules
// need no more: such a kernel changes none of its text by itself.
type Kernel struct {
	Machine string // name of the description

	image     workloads.Image
	point     *schema.Point // of which machine and kernel are taken
	system    *targets.System
	functions []kprobes.Text // by address
}

// Open loads an image. Without the name of a machine it takes the usual one of the image's instruction set.
func Open(image, machine string) (*Kernel, error) {
	im, target, err := planning.NewLoader().ImageNamed(image)
	if err != nil {
		return nil, err
	}
	k := &Kernel{Machine: cmp.Or(machine, target.Usual), image: im}
	if k.point, err = k.plan(usualTarget, 0, target.Probes.First); err != nil {
		return nil, err
	}
	if k.system, err = target.Build(k.config()); err != nil {
		return nil, err
	}
	k.findFunctions()
	return k, nil
}

// usualTarget is the function that every image has for being probed.
const usualTarget = "bench_target"

// hit is an experiment of one point.
//
//go:embed hit.toml.in
var hit string

// plan makes the experiment that measures a kprobe of a mode at a place of a function.
func (k *Kernel) plan(function string, offset uint64, mode kprobes.Mode) (*schema.Point, error) {
	l := planning.NewLoader()
	l.Stdin = strings.NewReader(fmt.Sprintf(hit, k.Machine, k.image.Name, k.image.ISA, k.image.Era, workloads.Driver(function), offset, schema.ModeWord(mode)))
	p, err := l.Plan("-", nil)
	if err != nil {
		return nil, err
	}
	return &p.Points[0], nil
}

// config is the machine and the kernel that the probes are judged on. Everything that the kernel can do is on.
func (k *Kernel) config() targets.Config {
	p := k.point
	preempt := p.Kernel.Preempt == schema.PreemptFull
	o := kprobes.Default()
	o.Preempt = preempt
	return targets.Config{
		Machine: sim.Config{
			CPU: p.Machine.CPU, CPUs: 1, RAM: int(p.Kernel.Memory), Image: p.Image.Image, TimerHz: p.Machine.TimerHz,
			Budget: clock.FromCycles(p.Machine.CPU.Hz / 10),
		},
		Kernel: smp.Options{HZ: p.Kernel.HZ, Preempt: preempt},
		Probes: o,
	}
}

// findFunctions lists the functions of the text that the image knows the size of. A symbol that lies in another one is
// left out.
func (k *Kernel) findFunctions() {
	im := k.point.Image.Image
	for _, s := range im.Symbols {
		f, ok := im.Func(im.CName(s.Name))
		if !ok || !f.Typed || f.Size == 0 {
			continue
		}
		code := im.Bytes(f.Entry, f.Size)
		if code != nil && im.SectionAt(f.Entry) != ".native" {
			k.functions = append(k.functions, kprobes.Text{Name: f.Name, Start: f.Entry, Code: code})
		}
	}
	slices.SortStableFunc(k.functions, func(a, b kprobes.Text) int { return cmp.Compare(a.Start, b.Start) })
	end := uint64(0)
	k.functions = slices.DeleteFunc(k.functions, func(fn kprobes.Text) bool {
		inside := fn.Start < end
		end = max(end, fn.End())
		return inside
	})
}

// Resolve finds SYMBOL, SYMBOL+OFFSET or an address in hexadecimal. Numbers are as in C.
func (k *Kernel) Resolve(place string) (uint64, error) {
	if strings.HasPrefix(place, "0x") {
		at, err := strconv.ParseUint(place, 0, 64)
		if err != nil {
			return 0, fmt.Errorf("place %q: write an address as %#x", place, k.functions[0].Start)
		}
		return at, nil
	}
	name, offset, found := strings.Cut(place, "+")
	f, ok := k.point.Image.Func(name)
	if !ok {
		return 0, fmt.Errorf("place %q: image %s has no symbol %s (see `kprobesim list symbols --image %s`)", place, k.image.Name, name, k.image.Name)
	}
	if !found {
		return f.Entry, nil
	}
	off, err := strconv.ParseUint(offset, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("place %q: write the offset as a number, such as %s+0x10", place, name)
	}
	if f.Size != 0 && off >= f.Size {
		return 0, fmt.Errorf("place %q: %s is %#x bytes long: write an offset in it, or an address for another function", place, name, f.Size)
	}
	return f.Entry + off, nil
}

// starts lists where the instructions of a function begin, up to one that cannot be read.
func (k *Kernel) starts(fn kprobes.Text) (out []uint64) {
	for off := 0; off < len(fn.Code); {
		at := fn.Start + uint64(off)
		n := k.point.Target.Probes.Classify(fn.Code[off:], at).Len
		if n == 0 {
			break
		}
		out = append(out, at)
		off += n
	}
	return out
}

// All lists every instruction of the image's functions.
func (k *Kernel) All() (out []uint64) {
	for _, fn := range k.functions {
		out = append(out, k.starts(fn)...)
	}
	return out
}

// Random returns the address of an instruction by numbers that next gives: a function, and one of its instructions. One
// place in sixteen is any byte of it.
func (k *Kernel) Random(next func() uint64) uint64 {
	fn := k.functions[next()%uint64(len(k.functions))]
	starts := k.starts(fn)
	if len(starts) == 0 || next()%16 == 0 {
		return fn.Start + next()%uint64(len(fn.Code))
	}
	return starts[next()%uint64(len(starts))]
}

// At judges an address.
func (k *Kernel) At(addr uint64) (Verdict, error) {
	im, isa := k.point.Image.Image, k.point.Target.ISA
	j, err := k.system.Probes.Judge(addr)
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{Addr: addr, Place: im.SymbolText(addr)}
	if code := im.Bytes(addr, longest); code != nil {
		v.Instruction, _ = isa.Disasm(code, addr, im.SymbolOff)
	}
	v.fill(j)
	return v, nil
}

// longest is the most bytes that an instruction has.
const longest = 15

// errnoOf is the error number that registration returned, 0 for none; other is a failure of the machine.
func errnoOf(err error) (errno kprobes.Errno, other error) {
	if err == nil || errors.As(err, &errno) {
		return errno, nil
	}
	return 0, err
}
