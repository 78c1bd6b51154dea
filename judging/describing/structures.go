package describing

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"kprobesim/internal/clock"
	"kprobesim/internal/native"
	"kprobesim/judging"
	"kprobesim/machines"
)

// A structure is a number that shows in loops of many rounds alone: the size of a table, how far a prefetcher runs ahead, how
// often a level of memory hands over a line, or how fast a string is moved. The loops run on the host and are priced with each value that comes into question.
type structure struct {
	key    string
	values []float64
	shown  func(m *machines.Machine) []*judging.Case
}

// row counts values up: from, and on by so much.
func row(from, by float64, n int) (all []float64) {
	for i := range n {
		all = append(all, from+by*float64(i))
	}
	return all
}

// structures lists them in the order of measuring: what a later one depends on comes first.
func structures() []structure {
	zeros := func(n int) *judging.Case { return judging.Pattern(strings.Repeat("0", n-1) + "1") }
	fixed := func(all ...*judging.Case) func(*machines.Machine) []*judging.Case {
		return func(*machines.Machine) []*judging.Case { return all }
	}
	second := func(m *machines.Machine) uint64 { return judging.PowerOf2(m.CPU.L2.Size / 2) }
	third := func(m *machines.Machine) uint64 { return judging.PowerOf2(min(m.CPU.L3.Size/2, 4*m.CPU.L2.Size)) }
	memory := func(m *machines.Machine) uint64 { return min(max(64*mib, judging.PowerOf2(4*m.CPU.L3.Size)), 256*mib) }
	strides := func(lines ...uint64) func(m *machines.Machine) []*judging.Case {
		return func(m *machines.Machine) (all []*judging.Case) {
			for _, n := range lines {
				all = append(all, judging.Alone(memory(m), n))
			}
			return all
		}
	}
	lines := func(size func(*machines.Machine) uint64, series bool) func(*machines.Machine) []*judging.Case {
		return func(m *machines.Machine) []*judging.Case { return []*judging.Case{judging.Strides(size(m), 1, series)} }
	}
	stores := func(size func(*machines.Machine) uint64) func(*machines.Machine) []*judging.Case {
		return func(m *machines.Machine) []*judging.Case {
			return []*judging.Case{judging.Stores(size(m), 1), judging.Stores(size(m), 8)}
		}
	}
	first := func(m *machines.Machine) uint64 { return judging.PowerOf2(m.CPU.L1D.Size / 4) }
	moved := func(repeated func(uint64) *judging.Case, n func(*machines.Machine) uint64) func(*machines.Machine) []*judging.Case {
		return func(m *machines.Machine) []*judging.Case { return []*judging.Case{repeated(n(m))} }
	}
	return []structure{
		{"cost.rep_movs.issue", row(0, 1, 100), fixed(judging.Copies(256))},
		{"cost.rep_movs_line.issue", row(0.5, 0.05, 311), moved(judging.Copies, first)},
		{"cost.rep_movs_short.issue", row(0, 1, 100), fixed(judging.Copies(64))},
		{"cost.rep_stos.issue", row(0, 1, 100), fixed(judging.Fills(256))},
		{"cost.rep_stos_line.issue", row(0.5, 0.05, 311), moved(judging.Fills, first)},
		{"cost.rep_stos_short.issue", row(0, 1, 100), fixed(judging.Fills(64))},
		{"predictor.tagged.override", row(0, 1, 7), fixed(judging.Pattern("0011"), judging.Pattern("00001111"), judging.RandomBits(512))},
		{"predictor.tagged.bits", row(7, 2, 4), fixed(judging.RandomBits(4096), judging.RandomBits(16384), judging.RandomBits(32768))},
		{"predictor.tagged.longest", []float64{40, 70, 100, 140, 200, 280, 400, 560}, fixed(zeros(32), zeros(64), zeros(128), zeros(256))},
		{targetEntries, []float64{512, 1024, 2048, 4096, 8192, 16384}, fixed(judging.Jumps(512), judging.Jumps(2048), judging.Jumps(8192))},
		{"cache.l3.cycles_per_line", row(0, 0.5, 33), lines(third, false)},
		{"memory.cycles_per_line", row(0, 0.5, 81), lines(memory, false)},
		{"cache.l2.cycles_per_stored_line", row(0.5, 0.5, 33), stores(second)},
		{"cache.l3.cycles_per_stored_line", row(0.5, 0.5, 49), stores(third)},
		{"memory.cycles_per_stored_line", row(0.5, 0.5, 121), stores(memory)},
		{"prefetch.stream.ahead", []float64{1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48}, lines(memory, true)},
		{"prefetch.stride.most", []float64{64, 256, 1024, 2048}, strides(9, 17)},
	}
}

const mib = 1 << 20

// targetEntries is judged by whether jumps are mispredicted, and not by what predicted ones take.
const targetEntries = "predictor.target_entries"

// structures measures those that the family's description has. Rates of lines count on cores with prefetchers alone. All loops are timed at
// several moments, until one makes none shorter.
func (d *Describer) structures() error {
	m, err := d.Read(d.Root)
	if err != nil {
		return err
	}
	var all []*finding
	for _, s := range structures() {
		path := strings.Split(s.key, ".")
		if d.node(path[:len(path)-1]...) == nil || path[0] != "predictor" && d.node("prefetch") == nil {
			continue
		}
		all = append(all, &finding{d: d, structure: s, loops: s.shown(m), path: path})
	}
	err = judging.Moments(context.Background(), len(all), structureMoments, func(i int) (bool, error) {
		shorter, err := all[i].time()
		if err != nil {
			err = fmt.Errorf("%s: %w", all[i].key, err)
		}
		return shorter, err
	})
	if err != nil {
		return err
	}
	for _, f := range all {
		if err := f.find(); err != nil {
			return fmt.Errorf("%s: %w", f.key, err)
		}
	}
	return nil
}

// structureMoments is how often all loops are timed at most.
const structureMoments = 6

// finding is the search for a structure.
type finding struct {
	structure
	d     *Describer
	loops []*judging.Case
	path  []string
	more  float64 // cycles that are added to all times before they are compared
	err   error
}

// time times the loops at a moment, and says whether that made one shorter.
func (f *finding) time() (some bool, err error) {
	for _, c := range f.loops {
		v, err := f.d.again(func() (float64, error) { return f.d.Host.Time(c) })
		switch {
		case errors.Is(err, judging.ErrBusy):
		case err != nil:
			return some, err
		case c.Native == 0 || v < c.Native:
			some, c.Native = some || v < c.Native/shorter || c.Native == 0, v
		}
	}
	return some, nil
}

// find looks for the number that explains the loops.
func (f *finding) find() error {
	d, took := f.d, []string{}
	for _, c := range f.loops {
		if c.Native == 0 {
			return d.open(f.key+" ("+c.Text+")", judging.ErrBusy)
		}
		took = append(took, fmt.Sprintf("%s %.2f", c.Text, c.Native))
	}
	if f.key == targetEntries {
		m, err := d.Read(d.Root)
		if err != nil {
			return err
		}
		f.more = float64(m.CPU.Events["mispredict"]) / float64(clock.PerCycle)
	}
	before, how := d.Root.Clone(), strings.Join(took, ", ")
	now, err := f.priced()
	v, off, steady := f.search()
	d.Root = before
	switch {
	case err != nil || f.err != nil:
		return errors.Join(err, f.err)
	case now.off <= off+explained:
		if d.node(f.path...) != nil && !steady && now.off <= judging.Goal {
			d.measured(d.node(f.path...), how, f.path...)
			return nil
		}
	case off <= judging.Goal:
		d.measured(number(v), how, f.path...)
		return nil
	}
	why, off := "no value explains it", min(off, now.off)
	if steady && off <= judging.Goal {
		why = "any value prices it alike"
	}
	return d.open(fmt.Sprintf("%s: %s, %.0f %% off at best: %s", f.key, how, 100*off, why), nil)
}

// distance says how far prices are from the host's times: by how much the model is longer, as the mean of logarithms, and the mean
// of the sizes of these.
type distance struct{ longer, off float64 }

// priced is the distance of the description as it is.
func (f *finding) priced() (a distance, err error) {
	m, err := f.d.Read(f.d.Root)
	if err != nil {
		return a, err
	}
	pricer := judging.NewPricer(&m.CPU)
	for _, c := range f.loops {
		p, err := pricer.Price(c)
		if err != nil {
			return a, err
		}
		l := math.Log((p+f.more)/(c.Native+f.more)) / float64(len(f.loops))
		a.longer, a.off = a.longer+l, a.off+math.Abs(l)
	}
	return a, nil
}

// search halves the values between one that makes loops longer than the host's and one that makes them shorter, and returns the
// nearest. Steady says that the first and the last value price them alike.
func (f *finding) search() (v, off float64, steady bool) {
	values := f.values
	try := func(i int) (a distance) {
		if f.err != nil {
			return a
		}
		f.d.set(number(values[i]), f.path...)
		a, f.err = f.priced()
		return a
	}
	low, high := 0, len(values)-1
	a, b := try(low), try(high)
	steady = math.Abs(a.longer-b.longer) < explained
	for a.longer*b.longer < 0 && high-low > 1 {
		middle := (low + high) / 2
		if c := try(middle); c.longer*a.longer < 0 {
			high, b = middle, c
		} else {
			low, a = middle, c
		}
	}
	if b.off < a.off {
		return values[high], b.off, steady
	}
	return values[low], a.off, steady
}

// otherProcessors is how many other processors are asked for lines.
const otherProcessors = 4

// transfers measures what a line takes that another processor has written, and a store to one that both have. The nearest processor counts that
// is no thread of the same core: lines of such a one are in the same first level, and come sooner than from the second.
func (d *Describer) transfers() error {
	m, err := d.Read(d.Root)
	if err != nil {
		return err
	}
	core := 2 * float64(m.CPU.L2.Latency) / float64(clock.PerCycle)
	near, at := math.Inf(1), 0
	for n := range otherProcessors {
		v, err := d.transfer(false, n)
		switch {
		case errors.Is(err, native.ErrAlone) && n > 0:
		case errors.Is(err, native.ErrAlone):
			return d.open("event.line_transfer: this process may use one processor alone", nil)
		case err != nil:
			return d.open("event.line_transfer", err)
		case v > core && v < near:
			near, at = v, n
		}
	}
	if math.IsInf(near, 1) {
		return d.open("event.line_transfer: the other processors are threads of the same core", nil)
	}
	d.measured(number(math.Round(near)), fmt.Sprintf("a line that another processor has written takes %.1f cycles", near), "event", "line_transfer", "cycles")
	v, err := d.transfer(true, at)
	if err != nil {
		return d.open("event.line_upgrade", err)
	}
	d.measured(number(max(0, math.Round(v))), fmt.Sprintf("lock orb $0,8(%%rdi) takes %.1f cycles more where another processor has the line too", v), "event", "line_upgrade", "cycles")
	return nil
}

// transfer times a line.
func (d *Describer) transfer(upgrades bool, processor int) (float64, error) {
	v, err := d.shortest(func() (float64, error) {
		p, job := judging.Transfer(upgrades, processor)
		v, err := d.Host.Shortest(p, job, farther)
		if errors.Is(err, native.ErrForever) {
			err = judging.ErrBusy // the other processor has something else to do
		}
		return v, err
	})
	return v / judging.Transfers, err
}
