package judging

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"kprobesim/cpus"
	"kprobesim/cpus/x86"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/internal/native"
	"kprobesim/mmu"
)

// Places in the simulated memory.
const (
	ram       = 4 << 20
	codeFrame = 0x10_0000
	dataFrame = 0x20_0000
	tables    = 0x30_0000
	codePage  = 0x7000_0000
	pageSize  = 4096
)

// mostPages bounds the pages of a block. They lie in different frames and fit into a first-level cache.
const mostPages = 6

// Pricer executes blocks on a simulated processor.
type Pricer struct {
	isa *cpus.ISA
	cfg *cpus.Config
}

// NewPricer returns a pricer for a machine description of x86-64.
func NewPricer(cfg *cpus.Config) *Pricer { return &Pricer{x86.ISA64(), cfg} }

// At returns a pricer of the same core at another frequency. Memory does not run with the core: its latency behind the last level of
// caches takes as many nanoseconds as before, to whole cycles.
func (p *Pricer) At(hz float64) *Pricer {
	cfg, near := *p.cfg, max(p.cfg.L2.Latency, p.cfg.L3.Latency)
	far := float64(cfg.Memory-near) / float64(clock.PerCycle) * hz / float64(cfg.Hz)
	cfg.Memory = near + clock.Ticks(math.Round(far))*clock.PerCycle
	for _, t := range []*clock.Ticks{&cfg.PerLine[2], &cfg.PerStored[2]} {
		*t = clock.Ticks(math.Round(float64(*t) * hz / float64(cfg.Hz)))
	}
	return &Pricer{p.isa, &cfg}
}

// Memory is the latency of memory in cycles.
func (p *Pricer) Memory() float64 { return float64(p.cfg.Memory) / float64(clock.PerCycle) }

// world is a processor with a program.
type world struct {
	cpus.CPU
	bus   cpus.Bus
	mem   *mmu.Memory
	pages []uint64
}

// load makes a world, in memory of the host that is given back behind it. Chains lie behind the rest, one after the other, each
// at a large page.
func (p *Pricer) load(of *host.Pages, code []byte, pages []uint64, chains ...native.Chain) (*world, error) {
	places := []uint64{ram}
	for _, c := range chains {
		end := places[len(places)-1] + c.Room()
		places = append(places, (end+native.LargePage-1)&^(native.LargePage-1))
	}
	w := &world{mem: mmu.NewMemoryOf(of.Zeroed, int(places[len(chains)])), pages: pages}
	maps := []mmu.Mapping{
		{VA: codePage, PA: codeFrame, Size: dataFrame - codeFrame, Exec: true},
		{VA: control, PA: dataFrame, Size: pageSize, Writable: true},
	}
	for i, va := range pages {
		maps = append(maps, mmu.Mapping{VA: va, PA: frame(i), Size: pageSize, Writable: true})
	}
	for i, c := range chains {
		maps = append(maps, mmu.Mapping{VA: c.At, PA: places[i], Size: c.Room(), Writable: true, Large: c.Large})
	}
	root, err := p.isa.Tables(w.mem, tables, maps)
	if err != nil {
		return nil, err
	}
	for i, c := range chains {
		c.Lay(w.mem.Raw()[places[i]:][:c.Size])
		w.mem.Write(dataFrame+Pointers-control+uint64(8*i), binary.LittleEndian.AppendUint64(nil, c.At))
	}
	w.mem.Write(codeFrame, code)
	w.bus = cpus.Bus{Memory: w.mem, Root: root, Phase: func(uint64) uint8 { return 0 }}
	w.CPU = p.isa.New(0, p.cfg, w.bus)
	return w, nil
}

// frame is the physical address of a page.
func frame(i int) uint64 { return dataFrame + uint64(i+1)*pageSize }

// filled is a page as blocks find it.
var filled = bytes.Repeat(binary.LittleEndian.AppendUint64(nil, fillWord), pageSize/8)

// once executes the program from the beginning and returns the time that it takes.
func (w *world) once() (clock.Ticks, cpus.Exit) {
	for i := range w.pages {
		w.mem.Write(frame(i), filled)
	}
	w.Boot(codePage, control+pageSize/2)
	start := w.Now()
	w.Interrupt() // ends the halt
	x := w.Run(1 << 60)
	return w.Now() - start, x
}

// Pages finds the pages that a block touches, or returns why it cannot be judged.
func (p *Pricer) Pages(block []byte) ([]uint64, error) { return p.pages(block, long) }

// pages is Pages of so many copies.
func (p *Pricer) pages(block []byte, copies int) (pages []uint64, err error) {
	code := program(block, copies, times(loops, copies), false)
	var of host.Pages
	defer func() { err = errors.Join(err, of.Free()) }()
	for {
		w, err := p.load(&of, code, pages)
		if err != nil {
			return nil, err
		}
		_, x := w.once()
		if x.Reason == cpus.Halted {
			return pages, nil
		}
		at := w.missing()
		switch {
		case at == 0 || slices.Contains(pages, at) || codePage <= at && at < codePage+(dataFrame-codeFrame):
			return nil, errFaults
		case len(pages) == mostPages:
			return nil, errPages
		}
		pages = append(pages, at)
	}
}

// Reasons why a block is not judged.
var (
	errFaults = errors.New("it raises an exception")
	errPages  = fmt.Errorf("it touches more than %d pages", mostPages)
)

// missing is the page of the page fault that stopped the processor.
func (w *world) missing() uint64 {
	for _, r := range w.Registers() {
		if r.Name == "cr2" {
			return r.Value &^ (pageSize - 1)
		}
	}
	return 0
}

// warm is how often a program runs before the run that counts.
const warm = 2

// Cycles prices a copy of a block.
func (p *Pricer) Cycles(block []byte, pages []uint64) (float64, error) {
	return p.cycles(block, pages, long)
}

// cycles is Cycles by a loop of so many copies and one of half as many.
func (p *Pricer) cycles(block []byte, pages []uint64, copies int) (_ float64, err error) {
	var of host.Pages
	defer func() { err = errors.Join(err, of.Free()) }()
	var took [2]clock.Ticks
	less, times := copies/2, times(loops, copies)
	for i, n := range []int{copies, less} {
		w, err := p.load(&of, program(block, n, times, false), pages)
		if err != nil {
			return 0, err
		}
		for range warm + 1 {
			t, x := w.once()
			if x.Reason != cpus.Halted {
				return 0, errFaults
			}
			took[i] = t
		}
	}
	return float64(took[0]-took[1]) / float64((copies-less)*times) / float64(clock.PerCycle), nil
}
