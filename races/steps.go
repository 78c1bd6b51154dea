package races

import "kprobesim/kprobes"

// change is something that a CPU has stored, and how often each CPU had synchronized by then. The zero change is old: all
// CPUs know of it.
type change struct {
	by    int
	syncs []uint64
}

// unaware reports whether a CPU may still execute what stood there before. Where stores do not reach instruction caches,
// nothing makes another CPU look again when a probe is armed. It does at its next interrupt.
func (c change) unaware(cpu int, now []uint64) bool {
	return cpu != c.by && c.syncs != nil && now[cpu] == c.syncs[cpu]
}

// steps are the instructions of user mode that kernels step in their place: the breakpoint is away meanwhile. The zero steps
// are of kernels that emulate.
type steps struct {
	open  func() bool   // an instruction is stepped
	place func() uint64 // where it lies, as the kernel sees it
	back  bool          // the breakpoint of the open step is back
	ended map[uint64]change
}

// pageMask has the offset of an address in its page. A page lies elsewhere for the kernel than for user mode.
const pageMask = 1<<12 - 1

// stepped looks whether an instruction of the kernel has put the breakpoint of a step back.
func (c *checker) stepped(cpu int) {
	s, back := &c.steps, false
	at := s.place()
	if s.open() {
		back = c.m.TextIs(at, c.arch.Breakpoint)
	}
	if back && !s.back {
		s.ended[at] = change{cpu, c.m.Syncs()}
	}
	s.back = back
}

// behind reports whether a CPU may still have the original instruction from a step that has ended. Copies of the page are
// not told apart.
func (s *steps) behind(addr uint64, cpu int, now []uint64) bool {
	for at, end := range s.ended {
		if at&pageMask == addr&pageMask && end.unaware(cpu, now) {
			return true
		}
	}
	return false
}

// passedUser judges an original instruction that was executed where an enabled probe stands in every page. It is right
// for the task that steps it, for others while it is stepped, and for a CPU whose instruction cache may have it from
// before the breakpoint came or came back.
func (c *checker) passedUser(pc uint64, cpu int, code []byte) (name string) {
	if c.arch.Classify(code, pc).Kind == kprobes.ClassBreakpoint || c.steps.open != nil && c.steps.open() {
		return ""
	}
	for _, p := range c.calls.probes {
		if !p.user || p.addr != pc || p.state != on {
			continue
		}
		if now := c.aware(); now == nil || !p.last.unaware(cpu, now) && !c.steps.behind(pc, cpu, now) {
			return p.name
		}
	}
	return ""
}
