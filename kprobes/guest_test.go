package kprobes

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/smp"
	"kprobesim/workloads"
)

// guest is the memory of a guest kernel without a CPU: text_poke is a copy, and tasks are
// coroutines that switch in schedule(). Registration needs no more.
type guest struct {
	t       *testing.T
	isa     *cpus.ISA
	im      *image.Image
	k       *Kprobes
	smp     *smp.Kernel
	image   []byte // physical memory
	heap    []byte // from base.heap
	ranges  []memoryRange
	base    bases
	used    map[uint64]uint64
	top     uint64
	now     clock.Ticks
	due     clock.Ticks
	run     map[uint64]func() (struct{}, bool)
	yield   map[uint64]func(struct{}) bool
	pokes   []string // what was stored into text, in order
	flushed []Span   // what was made visible to fetching
	passes  int      // how often jumps came or went: by a stop of the machine, or behind breakpoints
	full    bool     // the heap has no more memory
	written uint64   // a sum of what was stored where, in order
	left    int      // accesses to memory until one fails, 0 for none
}

// memoryRange is memory of the guest where it sees it.
type memoryRange struct {
	base uint64
	buf  []byte
}

// bases are where the image and the heap begin.
type bases struct{ image, heap uint64 }

// basesOf puts the heap behind the image, near enough for branches.
func basesOf(im *image.Image) bases {
	text := segmentOf(im, "schedule")
	base := text.VA - text.PA
	return bases{base, base + 16<<20}
}

// Places in the heap.
const (
	mainTask  = 0x100
	perCPU    = 0x2000
	mainStack = 0x8000
	idleStack = 0xa000
	freeHeap  = 0x10000
)

// eachKernel runs a test for the kernels of every instruction set that have the most of what the documents describe.
func eachKernel(t *testing.T, test func(t *testing.T, image string)) {
	for _, isa := range isas() {
		for _, image := range kernelsOf(isa) {
			t.Run(image, func(t *testing.T) { test(t, image) })
		}
	}
}

// eachRegion runs a test for the images whose jumps reach over several instructions.
func eachRegion(t *testing.T, test func(t *testing.T, image string)) {
	eachKernel(t, func(t *testing.T, image string) {
		if ArchOf(loadImage(t, image)).Align == 1 {
			test(t, image)
		}
	})
}

func loadImage(t testing.TB, name string) *image.Image {
	t.Helper()
	im := require.Must(openImage(name))(t)
	return im
}

// opened keeps images, which no test here changes: reading one takes longer than booting it.
var opened = map[string]*image.Image{}

func openImage(name string) (*image.Image, error) {
	if im := opened[name]; im != nil {
		return im, nil
	}
	b, err := workloads.Open(name)
	if err != nil {
		return nil, err
	}
	im, err := image.Load(name, b)
	if err == nil {
		opened[name] = im
	}
	return im, err
}

// newGuest makes the guest of a kernel.
func newGuest(t *testing.T, image string, opt Options) *guest {
	t.Helper()
	g := require.Must(changedGuest(t, image, opt, nil))(t)
	return g
}

// changedGuest makes a guest whose memory, or the rules of whose probes, were changed before Kprobes was made.
func changedGuest(t *testing.T, image string, opt Options, change func(g *guest, a *Arch)) (*guest, error) {
	t.Helper()
	im := loadImage(t, image)
	base := basesOf(im)
	ram := cpustest.RAM(t)
	g := &guest{
		t: t, isa: isaOf(im), base: base, im: im, image: ram(16 << 20), heap: ram(4 << 20),
		used: map[uint64]uint64{}, top: base.heap + freeHeap,
		run: map[uint64]func() (struct{}, bool){}, yield: map[uint64]func(struct{}) bool{},
	}
	for _, s := range g.im.Segments {
		copy(g.image[s.PA:], s.Data)
		if s.VA >= base.image || s.PA >= 1<<16 && !s.User { // slots may lie elsewhere
			g.ranges = append(g.ranges, memoryRange{s.VA, g.image[s.PA : s.PA+s.MemSize]})
		}
	}
	g.ranges = append(g.ranges, memoryRange{base.image, g.image}, memoryRange{base.heap, g.heap})
	g.setCurrent(g.mainTask())
	task := value(g.im.Struct("task_struct"))(g)
	stack, err := task.Field("stack")
	g.do(err)
	word := g.size()
	g.do(g.Store(g.mainTask()+uint64(stack.Offset), word, base.heap+mainStack))
	g.do(g.Store(g.percpu("idle_task")+uint64(stack.Offset), word, base.heap+idleStack))
	if g.smp, err = smp.New(g, g.im, smp.Options{HZ: 1000, CPUHz: 1e9, TimerHz: 1e8}); err != nil {
		t.Fatal(err)
	}
	arch := *ArchOf(g.im)
	if arch.Eras = slices.Clone(arch.Eras); change != nil {
		change(g, &arch)
	}
	g.k, err = build(g, g.im, g.smp, &arch, opt)
	return g, err
}

// segmentOf is the segment that a symbol lies in.
func segmentOf(im *image.Image, symbol string) image.Segment {
	s, _ := im.Symbol(symbol)
	i := slices.IndexFunc(im.Segments, func(seg image.Segment) bool { return s.Addr-seg.VA < seg.MemSize })
	return im.Segments[i]
}

func (g *guest) at(va uint64, n int) ([]byte, error) {
	for _, p := range g.ranges {
		if off := va - p.base; off <= uint64(len(p.buf)) && off+uint64(n) <= uint64(len(p.buf)) {
			return p.buf[off : off+uint64(n)], nil
		}
	}
	return nil, fmt.Errorf("guest address %#x is not mapped", va)
}

// mainTask is the task that runs the test.
func (g *guest) mainTask() uint64 { return g.base.heap + mainTask }

// size is the bytes of a word.
func (g *guest) size() int { return g.isa.Bits / 8 }

// access is at for Kprobes.
func (g *guest) access(va uint64, n int) ([]byte, error) {
	if g.left--; g.left == 0 {
		return nil, fmt.Errorf("memory at %#x fails", va)
	}
	return g.at(va, n)
}

// stored adds to the sum of what was written.
func (g *guest) stored(va, v uint64) { g.written = ((g.written^va)*1099511628211 ^ v) * 1099511628211 }

func (g *guest) Load(va uint64, size int) (v uint64, err error) {
	b, err := g.access(va, size)
	for i := range b {
		v |= uint64(b[i]) << (8 * g.place(i, size))
	}
	return v, err
}

func (g *guest) Store(va uint64, size int, v uint64) error {
	g.stored(va, v)
	b, err := g.access(va, size)
	for i := range b {
		b[i] = byte(v >> (8 * g.place(i, size)))
	}
	return err
}

// place is which byte of a number stands at an offset, counted from the least significant one.
func (g *guest) place(i, size int) int {
	if g.im.Order.Uint16([]byte{0, 1}) == 1 {
		return size - 1 - i
	}
	return i
}

func (g *guest) ReadBytes(va uint64, n int) ([]byte, error) { return g.access(va, n) }

func (g *guest) WriteBytes(va uint64, p []byte) error {
	for i := range p {
		g.stored(va+uint64(i), uint64(p[i]))
	}
	b, err := g.access(va, len(p))
	copy(b, p)
	return err
}

func (g *guest) Alloc(size, align uint64) (uint64, error) {
	if g.full {
		return 0, fmt.Errorf("no memory")
	}
	size = max(size, 1) // a structure that this kernel lacks is freed, too
	g.top = (g.top + align - 1) / align * align
	g.used[g.top] = size
	g.top += size
	return g.top - size, nil
}

// Near makes the ranges of the image all that there is for slots and detour buffers.
func (g *guest) Near(uint64) (uint64, bool) { return 0, false }

func (g *guest) Free(va uint64) error {
	if g.used[va] == 0 {
		return fmt.Errorf("free of %#x, which is not allocated", va)
	}
	delete(g.used, va)
	return nil
}

func (g *guest) Now() clock.Ticks    { return g.now }
func (g *guest) CPU() int            { return 0 }
func (g *guest) Charge(cycles int64) { g.now += clock.FromCycles(cycles) }

func (g *guest) PerCPU(_ int, symbol string) (uint64, error) {
	s, ok := g.im.Symbol(symbol)
	if !ok {
		return 0, fmt.Errorf("no symbol %s", symbol)
	}
	return g.base.heap + perCPU + s.Addr - segmentOf(g.im, symbol).VA, nil
}

func (g *guest) InvokeSym(name string, args ...uint64) (uint64, error) {
	switch name {
	case "text_poke_patch":
		b, err := g.at(args[1], int(args[2]))
		if err != nil {
			return 0, err
		}
		g.pokes = append(g.pokes, fmt.Sprintf("%s: % x", g.name(args[0]), b))
		return 0, g.WriteBytes(args[0], b)
	case "text_poke_bp_batch":
		return 0, g.pokeBatch(args[0], int(args[1]))
	case "text_poke_sync": // there is one CPU, which fetches anew
	case "kthread_setup":
		g.spawn(args[0], args[3])
	case "schedule":
		g.schedule()
	case "irq_disable_save":
		g.passes++
	case "irq_restore":
	case "flush_icache_range":
		g.flushed = append(g.flushed, Span{args[0], args[1]})
	case "timer_start":
		g.due = g.now + clock.Ticks(args[0])*clock.FromCycles(10)
	default:
		return 0, fmt.Errorf("no function %s", name)
	}
	return 0, nil
}

// pokeBatch stores the bytes of n patch sites.
func (g *guest) pokeBatch(at uint64, n int) error {
	l := &g.k.l.poke
	g.passes++
	for range n {
		addr := g.k.sym.text.Start + g.k.m.Load(at, l.addr)
		b, err := g.at(at+l.text.Offset, int(g.k.m.Load(at, l.len)))
		if err != nil {
			return err
		}
		g.pokes = append(g.pokes, fmt.Sprintf("%s: % x", g.name(addr), b))
		if err := g.WriteBytes(addr, b); err != nil {
			return err
		}
		at += l.size
	}
	return nil
}

func (g *guest) name(addr uint64) string {
	name, off, _ := g.im.In(addr)
	if off == 0 {
		return name
	}
	return fmt.Sprintf("%s+%d", name, off)
}

func (g *guest) percpu(symbol string) uint64 {
	a := require.Must(g.PerCPU(0, symbol))(g.t)
	return a
}

func (g *guest) current() uint64 {
	v := require.Must(g.Load(g.percpu("current_task"), g.size()))(g.t)
	return v
}

func (g *guest) setCurrent(task uint64) {
	require.NoError(g.t, g.Store(g.percpu("current_task"), g.size(), task))
}

func (g *guest) spawn(task, id uint64) {
	next, _ := iter.Pull(func(yield func(struct{}) bool) {
		g.yield[task] = yield
		g.smp.Thread(g, id)
		g.t.Errorf("kernel thread %d has ended: %v", id, g.smp.Err())
	})
	g.run[task] = next
}

// schedule switches tasks; the main task drives all others.
func (g *guest) schedule() {
	me := g.current()
	g.setCurrent(g.smp.Pick(g, me, false))
	if g.current() == me {
		return
	}
	if me != g.mainTask() {
		g.yield[me](struct{}{})
		return
	}
	for g.current() != g.mainTask() {
		task := g.current()
		if task != g.percpu("idle_task") {
			g.run[task]()
			continue
		}
		if g.smp.Err() != nil || g.due <= g.now {
			g.t.Fatalf("the idle task waits for ever: %v", g.smp.Err())
		}
		g.now = g.due
		g.smp.Tick(g, false)
		g.setCurrent(g.smp.Pick(g, task, false))
	}
}

// text returns the guest's bytes at a symbol.
func (g *guest) text(symbol string, off uint64, n int) string {
	g.t.Helper()
	f, ok := g.im.Func(symbol)
	require.Need(g.t, ok, "no symbol %s", symbol)
	b := require.Must(g.at(f.Entry+off, n))(g.t)
	return hex(b)
}

// insn is the offset in a function of its instruction number n, from 0.
func (g *guest) insn(symbol string, n int) uint64 {
	g.t.Helper()
	f, ok := g.im.Func(symbol)
	fn, ok2 := g.k.text(f.Entry)
	require.Need(g.t, ok && ok2, "no function %s", symbol)
	return g.k.starts(fn)[n]
}

func (g *guest) do(err error) {
	g.t.Helper()
	require.NoError(g.t, err)
}

func (g *guest) add(s Spec) *Probe {
	g.t.Helper()
	p := value(g.k.Add(g, s))(g)
	return p
}

func (g *guest) state(p *Probe) State {
	g.t.Helper()
	st := value(g.k.State(p.Addr))(g)
	return st
}
