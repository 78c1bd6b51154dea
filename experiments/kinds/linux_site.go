package kinds

import (
	"debug/elf"
	"fmt"
	"slices"

	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/distro/measuring"
	"kprobesim/distro/probing"
	"kprobesim/experiments/schema"
	"kprobesim/kprobes"
)

// site is where the probe of a point stands, and what its hits have to show.
type site struct {
	place       string // SYMBOL or SYMBOL+OFFSET; of the program as /init:SYMBOL+OFFSET
	instruction string // "" for a watchpoint
	addr        uint64
	user        bool   // it is one of the program
	file        uint64 // where it lies in the file of the program
	called      bool   // the kernel has put a call there
	// breakpoints and debug are the exceptions of a hit.
	breakpoints, debug int64
}

// kernelSite is the place of a probe in the kernel. An instruction that is executed from a slot has a second breakpoint behind
// it there.
func (b *bench) kernelSite(p *schema.Point) (*site, error) {
	v, err := b.verdict(p)
	if err != nil {
		return nil, err
	}
	return siteOf(v, p.Probe.Mode), nil
}

// siteOf is the place of a verdict, for hits of a mode.
func siteOf(v *probing.Verdict, mode kprobes.Mode) *site {
	s := &site{place: v.Place, instruction: v.Instruction, addr: v.Addr}
	s.breakpoints = map[kprobes.Mode]int64{kprobes.Stepped: 2, kprobes.Emulated: 1, kprobes.Boosted: 1}[mode]
	return s
}

// userSite is the place of a probe in the program. A slot of user mode is left by a debug exception, or where there is no step by a
// second breakpoint, and a function whose return is probed returns to a breakpoint, or where the kernel has attaching.ReturnsByCall, to a system call.
func (b *bench) userSite(p *schema.Point) (*site, error) {
	text := symbolPlace(targetOf(p), uint64(max(p.Probe.Linux.Offset, 0)))
	at, err := b.lab.Place(text)
	if err != nil {
		return nil, err
	}
	im := b.lab.Kernel().Image
	_, calls := im.Symbol(attaching.ReturnsByCall)
	return userSiteOf(p, text, at, im.Machine, calls), nil
}

// userSiteOf is a place of the program, for the probe of a point on a machine. With calls, probed functions return to a system call.
func userSiteOf(p *schema.Point, text string, at measuring.Place, machine elf.Machine, calls bool) *site {
	s := &site{place: program + text, user: true, addr: at.Addr, file: at.File, instruction: at.Instruction, breakpoints: 1}
	switch {
	case p.Probe.Called():
		s.called, s.breakpoints = true, 0
	case p.Probe.Mode != kprobes.Stepped:
	case machine == elf.EM_ARM:
		s.breakpoints++
	default:
		s.debug = 1
	}
	if p.Probe.Linux.Returns() && !calls {
		s.breakpoints++
	}
	return s
}

// watched finds the data of the program that a watchpoint watches.
func (b *bench) watched(p *schema.Point) (*site, error) {
	offset := uint64(max(p.Probe.Linux.Offset, 0))
	at, ok := b.lab.Symbol(targetOf(p))
	if !ok {
		return nil, fmt.Errorf("the program has no variable %s to watch: write watched_word", targetOf(p))
	}
	return &site{place: program + symbolPlace(targetOf(p), offset), addr: at + offset, debug: 1}, nil
}

// verdict finds the place of a probe in the kernel, and holds it against the mode that the point asks for.
func (b *bench) verdict(p *schema.Point) (*probing.Verdict, error) {
	l, target := p.Probe.Linux, targetOf(p)
	offset := l.Offset
	if l.What == schema.LinuxKretprobe {
		offset = 0
	}
	key := fmt.Sprintf("site %s %d %s", target, offset, p.Probe.Mode)
	made, err := b.work.Do(key, func() (any, error) {
		var v probing.Verdict
		err := b.rules(func(k *probing.Kernel) (err error) {
			if k == nil {
				v, err = b.named(p, target, offset)
				return err
			}
			if offset < 0 {
				v, err = k.Choose(target, p.Probe.Mode)
			} else {
				var at uint64
				at, err = k.Resolve(symbolPlace(target, uint64(offset)))
				v = k.At(at)
			}
			v.Instruction = distro.Disassemble(b.lab.Kernel(), k.Code(v.Addr), v.Addr)
			return err
		})
		return &v, err
	})
	if err != nil {
		return nil, err
	}
	v := made.(*probing.Verdict)
	return v, refused(p, v)
}

// refused says by what a verdict is not what a point asks for.
func refused(p *schema.Point, v *probing.Verdict) error {
	switch {
	case !v.Probe:
		return fmt.Errorf("no probe may stand at %s: %s (rule %s)", v.Place, v.Why, v.Rule)
	case p.Probe.Linux.Handler == schema.LinuxEvent && !v.Event:
		return fmt.Errorf("no trace event may stand at %s, because ftrace does not know the function: ask for handler %q", v.Place, schema.LinuxEmpty)
	case p.Probe.Mode == kprobes.Optimized && !v.Optimized:
		return fmt.Errorf("the probe at %s is %s, not %s: %s (rule %s)", v.Place, v.Kind, p.Probe.Mode, v.KeptWhy, v.Kept)
	case p.Probe.Mode != kprobes.Optimized && v.Kind != p.Probe.Mode.String():
		return fmt.Errorf("the probe at %s is %s, not %s", v.Place, v.Kind, p.Probe.Mode)
	}
	return nil
}

// verify holds what the kernel says and did against the point.
func (s *site) verify(p *schema.Point, plain, with *stretch, c Counts) error {
	if s == nil {
		return nil
	}
	if err := s.verifyMarks(p, with.Region); err != nil {
		return err
	}
	if c.Missed > 0 {
		return nil // what a missed hit takes is another matter
	}
	return s.verifyExceptions(p, c.Hits, int64(with.Breakpoints)-int64(plain.Breakpoints), int64(with.Debug)-int64(plain.Debug))
}

// verifyExceptions holds the exceptions of n hits against the mode: the kernel's list does not tell a breakpoint behind
// which the instruction is emulated from one behind which it is executed from a slot, and of user probes it says nothing.
func (s *site) verifyExceptions(p *schema.Point, n, breakpoints, debug int64) error {
	if breakpoints == s.breakpoints*n && debug == s.debug*n {
		return nil
	}
	mode := schema.ModeWord(p.Probe.Mode)
	if p.Probe.Linux.What == schema.LinuxWatch {
		mode = schema.LinuxWatch
	}
	return fmt.Errorf("%d hits of the probe at %s took %d breakpoints and %d debug exceptions more: one that is %s takes %d and %d a hit",
		n, s.place, breakpoints, debug, mode, s.breakpoints, s.debug)
}

// verifyMarks holds the kernel's list of probes, and the breakpoints in the program, against the point.
func (s *site) verifyMarks(p *schema.Point, r *measuring.Region) error {
	var planted, called []uint64
	switch {
	case s.called:
		called = []uint64{s.addr}
	case s.user:
		planted = []uint64{s.addr}
	case p.Probe.Linux.What != schema.LinuxWatch:
		if err := s.verifyList(p, r.List); err != nil {
			return err
		}
	}
	if s.called && !slices.Equal(r.Called, called) {
		return fmt.Errorf("the kernel keeps a breakpoint at %s (%s): it puts a call in place of a nop of 10 bytes, such as that of user_nop10, or of one of 5, "+
			"as that of user_nop5", s.place, s.instruction)
	}
	if !slices.Equal(r.Planted, planted) || !slices.Equal(r.Called, called) {
		return fmt.Errorf("the program has breakpoints at %#x and calls at %#x, where %#x are wanted for the probe at %s", r.Planted, r.Called, planted, s.place)
	}
	return nil
}

// verifyList holds the kernel's list of probes against the point.
func (s *site) verifyList(p *schema.Point, list []measuring.Listed) error {
	i := slices.IndexFunc(list, func(l measuring.Listed) bool { return l.Addr == s.addr })
	if i < 0 {
		return fmt.Errorf("the kernel's list has no probe at %s (%#x)", s.place, s.addr)
	}
	l, is, want := list[i], "a breakpoint", p.Probe.Mode
	switch {
	case l.Ftrace:
		is = kprobes.Ftrace.String()
	case l.Optimized:
		is = kprobes.Optimized.String()
	}
	if l.Ftrace != (want == kprobes.Ftrace) || l.Optimized != (want == kprobes.Optimized) || l.Disabled {
		return fmt.Errorf("the kernel says that its probe at %s is %s, not %s", s.place, is, want)
	}
	if kind := map[bool]string{true: "r", false: "k"}[p.Probe.Linux.Returns()]; l.Kind != kind {
		return fmt.Errorf("the kernel lists its probe at %s as %q, not %q", s.place, l.Kind, kind)
	}
	return nil
}
