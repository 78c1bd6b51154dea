package kprobes

// Optimizer holds what an instruction set knows about jumps in the place of breakpoints.
type Optimizer struct {
	JumpSize  int // bytes of the jump that replaces an optimized probe's first instructions
	MaxRegion int // most bytes that such a jump can make the detour buffer copy
	// Patchings are the protocols by which the architecture's kernels may change several bytes of text
	// under the eyes of other CPUs. The first one is the default.
	Patchings []string
	// Vectors says that the guest's function for PatchBatch writes a single site too, as a vector of one.
	Vectors bool
	// Marks are the places of the image's detour template that Detour fills in: for each there is a symbol
	// detour_template_NAME. Calls are the guest functions that a detour buffer calls.
	Marks, Calls []string

	// Region decides whether a jump may replace the instructions at s.Addr, and which ones.
	Region func(s Site) (Region, *Refusal)
	// Detour builds the bytes of the detour buffer that stands at a given address.
	Detour func(t Template, r Region, d DetourAt) ([]byte, *Refusal)
	// Jump encodes the jump that replaces the start of a region, JumpSize bytes.
	Jump func(r Region, to uint64) ([]byte, *Refusal)
}

// Reach is the most bytes of text that arming a probe changes: a breakpoint's or a jump's.
func (a *Arch) Reach() int {
	if a.Optimizer == nil {
		return len(a.Breakpoint)
	}
	return max(len(a.Breakpoint), a.Optimizer.JumpSize)
}

// Site is everything that the decision on jump optimization looks at.
type Site struct {
	Fn         Text
	Addr       uint64
	EntryText  Span
	Module     bool                   // the text is a module's: it is no part of the kernel, or can vanish
	Exceptions func(addr uint64) bool // is there an exception table entry for the instruction
	Careless   bool                   // jumps into the region are not looked for: MutantJumpIntoRegion
}

// Word returns the instruction at the site of an architecture whose instructions have one length, and have to lie in a
// function.
func (s *Site) Word(size uint64) ([]byte, *Refusal) {
	if s.Addr < s.Fn.Start || s.Addr >= s.Fn.End() || s.Fn.End()-s.Addr < size {
		return nil, Refuse(RuleNoFunction, s.Addr, "no symbol with a size covers %#x", s.Addr)
	}
	return s.Fn.Code[s.Addr-s.Fn.Start:][:size:size], nil
}

// Refuse says why the site has no region.
func (s *Site) Refuse(rule Rule, why string) (Region, *Refusal) {
	return Region{}, Refuse(rule, s.Addr, "%s %s", s.Fn.At(s.Addr), why)
}

// Region is the run of whole instructions that an optimized probe replaces by a jump.
type Region struct {
	Addr uint64
	Code []byte // whole instructions, at least a jump's
}

// End is the address at which execution goes on behind the region.
func (r Region) End() uint64 { return r.Addr + uint64(len(r.Code)) }

// Template is the detour code that the guest image offers.
type Template struct {
	Code  []byte
	Marks []int // offsets of what is to be filled in, in the order of Optimizer.Marks
}

// Room reports whether every place that is to be filled in lies in the template. The sizes come from the
// places in bytes, in the order of the marks.
func (t Template) Room(sizes ...int) bool {
	for i, n := range sizes {
		if i >= len(t.Marks) || t.Marks[i] < 0 || t.Marks[i]+n > len(t.Code) {
			return false
		}
	}
	return true
}

// DetourAt says where a detour buffer stands and what it is for.
type DetourAt struct {
	Addr  uint64   // of the buffer
	Probe uint64   // struct optimized_kprobe, argument of the callback
	Calls []uint64 // entries of the functions, in the order of Optimizer.Calls
}
