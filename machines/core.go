package machines

import (
	"fmt"
	"strconv"
	"strings"

	"kprobesim/cpus"
	"kprobesim/internal/doc"
	"kprobesim/mmu"
)

// core reads the clock, the shape of the core and its predictor. A description may leave front_end and groups out, as
// their zero values hold nothing up. Every other table is needed: a number that is not known is fitted or argued for,
// never assumed in silence.
func (mr *machineReader) core(r *doc.Reader) {
	c := &mr.m.CPU
	clocks := r.Sub("clock", true)
	mr.section(clocks, hertz("frequency", &c.Hz), hertz("timer", &mr.m.TimerHz))
	mr.timer(clocks)
	core := r.Sub("core", true)
	c.Model = doc.Need(core, "model", doc.OneOf(cpus.Throughput, cpus.Window, cpus.Scoreboard))
	mr.section(core, count("width", &c.Width, 1, cpus.MaxWidth), count("window", &c.Window, 1, cpus.MaxWindow),
		count("store_buffer", &c.StoreBuffer, 1, 1024), maybe("load_queue", &c.LoadQueue, 1, cpus.MaxWindow))
	if part := r.Part("groups"); part != nil {
		c.Groups.On = true
		mr.section(part, count("branch_slots", &c.Groups.BranchSlots, 0, 5))
	}
	if part := r.Part("front_end"); part != nil {
		mr.frontEnd(part, &c.FrontEnd)
	}
	mr.pipes(r)
	p := &c.Predictor
	predictor := r.Sub("predictor", true)
	p.TargetsByAddress = doc.Opt(predictor, "targets_by_address", false, doc.Flag)
	p.TargetsByDirections = doc.Opt(predictor, "targets_by_directions", false, doc.Flag)
	p.ReturnsByTarget = doc.Opt(predictor, "returns_by_target", false, doc.Flag)
	if part := predictor.Part("tagged"); part != nil {
		g := &p.Tagged
		mr.section(part, count("tables", &g.Tables, 1, 16), count("bits", &g.Bits, 4, 14),
			count("tag_bits", &g.TagBits, 4, 15), count("shortest", &g.Shortest, 1, 1000), count("longest", &g.Longest, 1, 1000),
			mr.cycles("override", &g.Override, false))
	}
	mr.section(predictor, count("history_bits", &p.HistoryBits, 0, 32),
		count("table_bits", &p.TableBits, 1, 24), count("target_entries", &p.TargetEntries, 1, 1<<16),
		count("return_stack", &p.ReturnStack, 1, 1024))
}

// timer refuses a rate that the timer of the instruction set's processors cannot have.
func (mr *machineReader) timer(clocks *doc.Reader) {
	has, cycles, fixed := mr.m.TimerHz, mr.isa.TimerCycles, mr.isa.TimerHz
	switch {
	case has == 0 || mr.m.CPU.Hz == 0: // a mistake that was reported
	case fixed != 0 && has != fixed:
		clocks.Errorf("timer", "the timer of %s counts %d Hz on every machine: write that", mr.isa.Name, fixed)
	case cycles != 0 && has != mr.m.CPU.Hz/cycles:
		clocks.Errorf("timer", "the timer of %s counts once in %d cycles of the core: write \"%d Hz\"", mr.isa.Name, cycles, mr.m.CPU.Hz/cycles)
	}
}

// processor reads the numbers that tell processors of the instruction set apart, if it has any.
func (mr *machineReader) processor(r *doc.Reader) {
	if len(mr.isa.Processor) == 0 {
		return
	}
	numbers := map[string]uint64{}
	mr.m.CPU.Processor = numbers
	var fields []field
	for _, n := range mr.isa.Processor {
		fields = append(fields, field{key: n.Name, read: func(r *doc.Reader, key string) bool {
			numbers[key] = uint64(doc.Need(r, key, doc.Int(0, int64(n.Most))))
			return r.Has(key)
		}})
	}
	mr.section(r.Sub("processor", true), fields...)
}

// answers reads the rows by which the processor differs from what the instruction set answers by itself. A key is
// a number, or two with a dash between.
func (mr *machineReader) answers(r *doc.Reader) {
	for _, t := range mr.isa.Answers {
		table := r.Part(t.Name)
		if table == nil {
			continue
		}
		rows := map[uint64][]uint64{}
		for _, key := range table.Keys() {
			number, err := answerKey(key)
			if _, twice := rows[number]; err == nil && twice {
				err = fmt.Errorf("another key of the table is the same number: leave one out")
			}
			if err != nil {
				r.Errorf(t.Name, "%s: %v", table.Path(key), err)
				continue
			}
			rows[number] = mr.answer(table.Sub(key, true), t.Columns)
		}
		table.Done()
		if mr.m.CPU.Answers == nil {
			mr.m.CPU.Answers = cpus.Answers{}
		}
		mr.m.CPU.Answers[t.Name] = rows
	}
}

// answer reads one row. Its numbers say who the processor is and not what it costs, so they are no parameters.
func (mr *machineReader) answer(r *doc.Reader, columns []cpus.Number) []uint64 {
	row := make([]uint64, len(columns))
	for i, n := range columns {
		row[i] = uint64(doc.Opt(r, n.Name, 0, doc.Int(0, int64(n.Most))))
	}
	mr.source(r)
	r.Done()
	return row
}

// answerKey reads 0x4 or 0x4-1.
func answerKey(key string) (uint64, error) {
	first, second, two := strings.Cut(key, "-")
	n, err := strconv.ParseUint(first, 0, 32)
	if err == nil && two {
		var sub uint64
		sub, err = strconv.ParseUint(second, 0, 32)
		n |= sub << 32
	}
	if err != nil {
		return 0, fmt.Errorf("%q is no number of 32 bits, or two with a dash between", key)
	}
	return n, nil
}

// memory reads caches, TLBs and DRAM. The third level of caches may be left out.
func (mr *machineReader) memory(r *doc.Reader) {
	c := &mr.m.CPU
	caches := r.Sub("cache", true)
	i, d := caches.Sub("l1i", true), caches.Sub("l1d", true)
	c.L1I.Incoherent = !doc.Opt(i, "coherent", true, doc.Flag)
	c.L1D.WriteThrough = doc.Opt(d, "write_through", false, doc.Flag)
	c.L1D.WriteAround = doc.Opt(d, "write_around", false, doc.Flag)
	mr.cache(i, &c.L1I)
	mr.cache(d, &c.L1D)
	mr.cache(caches.Sub("l2", true), &c.L2, mr.lineRates(0)...)
	if third := caches.Part("l3"); third != nil {
		c.L3.Inclusive = doc.Opt(third, "inclusive", false, doc.Flag)
		c.L3.Exclusive = doc.Opt(third, "exclusive", false, doc.Flag)
		mr.cache(third, &c.L3, mr.lineRates(1)...)
	}
	caches.Done()
	mr.section(r.Sub("memory", true), append(mr.lineRates(2), mr.cycles("latency", &c.Memory, true))...)
	if part := r.Part("prefetch"); part != nil {
		mr.prefetch(part, &c.Prefetch)
	}
	tlbs := r.Sub("tlb", true)
	mr.tlb(tlbs.Sub("instruction", true), &c.ITLB)
	mr.tlb(tlbs.Sub("data", true), &c.DTLB)
	if part := tlbs.Part("second"); part != nil {
		mr.tlb(part, &c.TLB2.TLBConfig, mr.cycles("latency", &c.TLB2.Latency, true))
	}
	tlbs.Done()
}

// lineRates reads how fast lines come from a level: 0 is the second one, 1 the third, and 2 DRAM.
func (mr *machineReader) lineRates(level int) []field {
	c := &mr.m.CPU
	return []field{mr.cycles("cycles_per_line", &c.PerLine[level], false), mr.cycles("cycles_per_stored_line", &c.PerStored[level], false)}
}

// cache reads one level: size and line in bytes, the load-to-use latency of a hit in cycles, and what else it has. Check
// compares these numbers with each other. It is asked only when each could be read, as a second
// message about the same table would mislead.
func (mr *machineReader) cache(r *doc.Reader, c *mmu.CacheConfig, more ...field) {
	before := len(*mr.errs)
	var size, line int64
	mr.section(r, append(more, into("size", &size, true, doc.Size().Whole(false, 1, 1<<30)),
		count("ways", &c.Ways, 1, 32), into("line", &line, true, doc.Size().Whole(false, 1, 1024)),
		mr.cycles("latency", &c.Latency, true))...)
	c.Size, c.Line = int(size), int(line)
	if err := c.Check(); err != nil && len(*mr.errs) == before {
		mr.errs.Add(r.Pos(), "%v", err)
	}
}

// prefetch reads the prefetchers. Each of them may be left out.
func (mr *machineReader) prefetch(r *doc.Reader, p *cpus.Prefetch) {
	p.CrossesPages = doc.Opt(r, "crosses_pages", false, doc.Flag)
	p.WrongPath = int(doc.Opt(r, "wrong_path", 0, doc.Size().Whole(false, 1, 256)))
	stream := func(name string, s *cpus.Stream) {
		if part := r.Part(name); part != nil {
			mr.section(part, count("streams", &s.Streams, 1, 256), count("ahead", &s.Ahead, 1, 64))
		}
	}
	stream("next", &p.Next)
	stream("stream", &p.Stream)
	if part := r.Part("stride"); part != nil {
		mr.section(part, count("entries", &p.Stride.Entries, 1, 1<<12), count("most", &p.Stride.Most, 1, 1<<11))
	}
	if part := r.Part("pair"); part != nil {
		var size int64
		mr.section(part, into("bytes", &size, true, doc.Size().Whole(false, 32, 2048)))
		p.Pair.Bytes = int(size)
	}
	mr.section(r, count("in_flight", &p.InFlight, 1, 256))
}

// tlb reads one TLB, with arrays of their own for base pages and for all larger ones, and what else its level
// has. The cost of a miss is the event tlb_walk and the loads that the walk
// makes.
func (mr *machineReader) tlb(r *doc.Reader, c *mmu.TLBConfig, more ...field) {
	before := len(*mr.errs)
	mr.section(r, append([]field{
		count("entries", &c.Entries, 1, 1<<16), count("ways", &c.Ways, 1, 1<<16),
		count("large_entries", &c.LargeEntries, 1, 1<<16), count("large_ways", &c.LargeWays, 1, 1<<16),
	}, more...)...)
	if err := c.Check(); err != nil && len(*mr.errs) == before {
		mr.errs.Add(r.Pos(), "%v", err)
	}
}
