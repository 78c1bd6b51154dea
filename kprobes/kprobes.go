package kprobes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"kprobesim/image"
	"kprobesim/sim"
	"kprobesim/smp"
)

// Caller is the guest context in which a call of the API runs: a native call.
type Caller = smp.Caller

// Options say how the kernel is built and set up.
type Options struct {
	Boost        bool // hits may do without a step, boosted or emulated; of preemptible kernels those that freeze tasks boost
	OptProbes    bool // built with jump optimization (CONFIG_OPTPROBES)
	Optimization bool // debug.kprobes-optimization at the start
	// Preempt says that kernel code is preemptible: more return instances, no boosting, and jump
	// optimization only with QuiesceTasks.
	Preempt  bool
	Patching string // one of the architecture's; "" is the first of them
	Quiesce  string // one of Quiesces; "" for what kernels of the era wait for
	Delay    int64  // jiffies from the wish to optimize to the work on it
	Batch    int    // most probes that one pass of the optimizer changes
	Costs    Costs
	Layout   sim.Layout // of it the slots and detours
	// Mutant leaves out a step of a protocol, for the search for races; see Mutants.
	Mutant string
}

// Default is a non-preemptible kernel of 2010 with everything on.
func Default() Options {
	return Options{
		Boost: true, OptProbes: true, Optimization: true,
		Delay: 5, Batch: 256, Costs: defaultCosts(),
	}
}

// Costs are cycles charged for the work that this package does in the kernel's stead. They lie
// outside of the path of a hit, and no published figure depends on them; they only keep
// registration from being free. The defaults are priors: orders of magnitude, which nobody has measured.
type Costs struct {
	Register   int64 // one probe: look-ups, checks, slot, hash table
	Unregister int64 // one probe
	Toggle     int64 // enabling or disabling one probe
	Analyze    int64 // one byte of a function that is decoded
	Detour     int64 // one detour buffer
	Instance   int64 // one return instance
	Show       int64 // one line of a file of debugfs
	Scan       int64 // one word of a stack
}

// defaultCosts returns the costs of a kernel on a machine of 2010.
func defaultCosts() Costs {
	return Costs{
		Register: 3000, Unregister: 1500, Toggle: 500, Analyze: 40, Detour: 1500, Instance: 200, Show: 1000, Scan: 3,
	}
}

// Kprobes is the part of the guest kernel's Kprobes that is not on the path of a hit.
type Kprobes struct {
	m    memory
	im   *image.Image
	arch *Arch
	l    *layout
	sym  symbols
	smp  *smp.Kernel
	opt  Options
	era  era
	jump *Optimizer // nil: the kernel writes breakpoints and no jumps
	tmpl Template

	current   []uint64 // address of each CPU's struct hit_record, as far as somebody has asked
	users     userLayout
	userSites []*userSite

	mutex smp.Mutex // what kprobe_mutex guards: everything below

	watch   func(sim.Event) // nil when nobody can
	absent  bool            // the kernel is built without Kprobes
	console func(string)    // prints for the kernel; nil when there is no machine
	patch   uint64          // number of the last change of text
	sites   []*site         // by address
	modules []*module

	slots        pool
	detours      pool
	scratch      uint64 // guest memory from which text_poke copies
	vector       uint64 // guest memory for the sites of a batch, with PatchBatch
	allDisarmed  bool
	optimization bool // the sysctl
	optimizer    *smp.Work
	optimizing   []*site
	unoptimizing []*site
	freeing      []*site
	dirty        []dirtySlot // of probes that are gone, in which a task may be preempted
	swept        []dirtySlot // those that the present pass of the optimizer frees
}

// textState says what stands at a probed address.
// It changes when the guest has made the last store of a patch, never when a change is only
// queued.
type textState uint8

const (
	textClear  textState = iota // the original instruction
	textProbed                  // a breakpoint
	textJump                    // a jump to the detour buffer
	textCall                    // a call in the place of a function's first nop
)

// queueState says on which of the optimizer's queues a site is.
// A site is on one of them at most: asking for the opposite takes it off.
type queueState uint8

const (
	queueNone queueState = iota
	queueOptimizing
	queueUnoptimizing
)

// site is one probed address.
// The path of a hit reads none of this: what it needs is in struct kprobe in guest memory.
type site struct {
	addr    uint64
	orig    []byte // original bytes: at least a breakpoint's, up to a jump's if the function has them
	head    uint64 // the struct kprobe in the hash table
	aggr    bool   // head is an aggregate, the kp of a struct optimized_kprobe
	slot    uint64
	runs    Mode // of the copy, where no hit changes it; else noMode
	text    textState
	queue   queueState
	region  Region // what a jump would replace; no code if the site cannot be optimized
	detour  uint64
	refusal *Refusal // why there is no region
}

// covers reports whether an address lies in the region behind the probed address.
func (s *site) covers(addr uint64) bool { return s.addr < addr && addr < s.region.End() }

// ready reports whether a detour buffer stands by.
// The buffer stays when a jump is undone, so that optimizing again costs a patch alone.
func (s *site) ready() bool { return s.aggr && len(s.region.Code) > 0 }

// build prepares Kprobes for a kernel in guest memory without binding its native functions.
// A detour buffer has room for the template, the longest region and the jump back.
func build(g Guest, im *image.Image, kernel *smp.Kernel, arch *Arch, opt Options) (*Kprobes, error) {
	k := &Kprobes{m: memory{Access: image.Access{Memory: g}, g: g, align: arch.Line}, im: im, arch: arch, smp: kernel}
	if err := k.setUp(opt); err != nil {
		return nil, err
	}
	k.readExceptions()
	k.readEntries()
	k.findModules()
	k.slots = newPool(k.sym.slots, k.arch.SlotSize, k.opt.Layout.Slots, k.page)
	k.optimizer = kernel.NewWork("kprobe-optimizer", k.optimize)
	if k.jump != nil {
		k.tmpl = k.template()
		k.detours = newPool(k.sym.detours, len(k.tmpl.Code)+k.jump.MaxRegion+k.jump.JumpSize, k.opt.Layout.Detours, k.page)
	}
	return k, errors.Join(k.forbidListed(), k.setUpGuest())
}

// setUp holds the options and the image against what the architecture's kernels of the era have.
// The era comes first, as it says which symbols and structures the image must have.
func (k *Kprobes) setUp(opt Options) (err error) {
	if k.era, err = eraOf(&k.m, k.im, k.arch); err != nil {
		return err
	}
	if k.era.Change != nil {
		changed := *k.arch
		k.era.Change(&changed)
		k.arch = &changed
	}
	if k.era.Optimize {
		k.jump = k.arch.Optimizer
	}
	if opt.Quiesce == "" && k.era.Tasks && opt.Preempt {
		opt.Quiesce = QuiesceTasks
	}
	if opt, err = opt.check(); err != nil {
		return err
	}
	if opt, err = k.limit(opt); err != nil {
		return fmt.Errorf("image %s: %w", k.im.Name, err)
	}
	k.opt, k.optimization = opt, opt.Optimization
	if k.l, err = newLayout(k.im, k.arch, k.jump, k.era); err != nil {
		return err
	}
	if err := k.findUsers(); err != nil {
		return err
	}
	if err := k.sym.lookUp(k.im, k.era, k.arch, k.jump); err != nil {
		return err
	}
	if f, ok := k.im.Func(entered(k.opt.Mutant)); ok {
		k.sym.returnPre = f.Pointer
	}
	return nil
}

// template reads the detour code of the image.
func (k *Kprobes) template() Template {
	s := &k.sym
	t := Template{Code: k.m.read(s.template.Start, int(s.template.End-s.template.Start))}
	for _, mark := range s.marks {
		t.Marks = append(t.Marks, int(mark-s.template.Start))
	}
	return t
}

// setUpGuest tells the guest what it asks about and allocates what text_poke needs.
func (k *Kprobes) setUpGuest() error {
	k.tell(k.sym.boostAllowed, k.opt.Boost)
	k.tell(k.sym.allowOptimization, k.optimization)
	if bits := omitted(k.opt.Mutant); bits != 0 && k.sym.flushOmitted != 0 {
		k.m.Store(k.sym.flushOmitted, image.Field{Size: 4}, bits)
	}
	var err error
	if k.scratch, err = k.m.alloc(uint64(k.arch.Reach())); err != nil {
		return err
	}
	if k.jump != nil {
		err = k.setUpPatching()
	}
	return errors.Join(err, k.m.take())
}

// setUpPatching tells the guest the protocol for changing several bytes.
// PatchStop and PatchStore need no listener: nobody executes the text while it changes, or there is no
// breakpoint on the way that belongs to no probe.
func (k *Kprobes) setUpPatching() (err error) {
	if !k.jump.behindBreakpoints() {
		return nil
	}
	k.m.Store(k.sym.pokeUnsynced, image.Field{Size: 4}, unsynced(k.opt.Mutant))
	listener := uint64(0)
	switch {
	case k.opt.Patching == PatchBatch || k.jump.Vectors:
		listener = k.sym.pokeBatch
		k.vector, err = k.m.alloc(pageSize)
	case k.opt.Patching == PatchBreakpoint:
		listener = k.sym.pokeOne
	}
	if k.opt.Mutant != MutantNoNotifier {
		k.m.Store(k.sym.pokeListener, k.l.list, listener)
	}
	return err
}

// tell mirrors a switch in a variable of the guest, an int, if the guest has it.
func (k *Kprobes) tell(variable uint64, on bool) {
	if variable == 0 {
		return
	}
	v := uint64(0)
	if on {
		v = 1
	}
	k.m.Store(variable, image.Field{Size: 4}, v)
}

// site finds a probed address.
func (k *Kprobes) site(addr uint64) *site {
	if i, ok := k.search(addr); ok {
		return k.sites[i]
	}
	return nil
}

// search is in an index of our own beside the hash table, as regions ask for neighbours by
// address.
func (k *Kprobes) search(addr uint64) (int, bool) {
	return slices.BinarySearchFunc(k.sites, addr, func(s *site, a uint64) int { return cmp.Compare(s.addr, a) })
}

// siteOf finds where a struct kprobe is registered, nil if it is not.
// The aggregate's own struct kprobe is none that a caller has registered.
func (k *Kprobes) siteOf(p uint64) *site {
	s := k.site(k.m.Load(p, k.l.p.addr))
	if s == nil || p != s.head && !(s.aggr && slices.Contains(k.children(s.head), p)) {
		return nil
	}
	if s.aggr && p == s.head {
		return nil
	}
	return s
}

// drop takes a site out of the hash table and the index.
func (k *Kprobes) drop(s *site) {
	k.hlistDel(s.head, k.hash())
	if i, ok := k.search(s.addr); ok {
		k.sites = slices.Delete(k.sites, i, i+1)
	}
}

// hash are the links of struct kprobe in its hash chain.
func (k *Kprobes) hash() links { return links{k.l.p.next, k.l.p.pprev} }

// remove takes a site off a queue of the optimizer.
// The others keep their order: what was asked for first is done first.
func remove(queue []*site, s *site) []*site {
	if i := slices.Index(queue, s); i >= 0 {
		return slices.Delete(queue, i, i+1)
	}
	return queue
}
