package machines

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
)

// frontEnd reads fetch and decode. What a core of later years has and an earlier one lacks may be left out.
func (mr *machineReader) frontEnd(r *doc.Reader, f *cpus.FrontEnd) {
	f.ComplexFirst = doc.Opt(r, "complex_first", false, doc.Flag)
	f.StackEngine = doc.Opt(r, "stack_engine", false, doc.Flag)
	f.ZeroIdioms = doc.Opt(r, "zero_idioms", false, doc.Flag)
	f.Unlaminates = doc.Opt(r, "unlaminates", nil, doc.ListOf(doc.OneOf(mr.isa.Classes...)))
	f.FoldsStack = doc.Opt(r, "folds_stack", false, doc.Flag)
	f.FusesNops = doc.Opt(r, "fuses_nops", false, doc.Flag)
	f.FoldsReads = doc.Opt(r, "folds_stack_reads", false, doc.Flag)
	fields := []field{count("fetch_bytes", &f.FetchBytes, 4, 64), count("queue", &f.Queue, 0, 1024)}
	if r.Has("loop_buffer") {
		fields = append(fields, count("loop_buffer", &f.LoopBuffer, 1, 1024), count("loop_windows", &f.LoopWindows, 1, 64))
	}
	mr.section(r, append(fields, maybe("fast_branches", &f.FastBranches, 1, 32), maybe("predecode", &f.Predecode, 1, 64),
		maybe("unlaminates_first", &f.UnlaminatesFirst, 1, cpus.MaxWidth), maybe("decoders", &f.Decoders, 1, 16))...)
}

// pipes reads what a core has that is described by its pipes. All of it may be left out.
func (mr *machineReader) pipes(r *doc.Reader) {
	c := &mr.m.CPU
	if part := r.Part("back_end"); part != nil {
		mr.backEnd(part, &c.BackEnd)
	}
	if part := r.Part("op_cache"); part != nil {
		o := &c.OpCache
		mr.section(part, count("sets", &o.Sets, 1, 1<<12), count("ways", &o.Ways, 1, 32),
			count("uops", &o.Uops, 1, 64), count("window", &o.Window, 32, 64), count("entries", &o.Entries, 1, 32),
			count("rate", &o.Rate, 1, 16), maybe("window_uops", &o.WindowUops, 1, 512))
	}
	if part := r.Part("fusion"); part != nil {
		mr.fusion(part, &c.Fusion)
	}
}

// backEnd reads renaming and scheduling.
func (mr *machineReader) backEnd(r *doc.Reader, b *cpus.BackEnd) {
	const atStart, atRename, inGroups = "start", "rename", "group"
	b.On = true
	binding := doc.Opt(r, "binding", atRename, doc.OneOf(atRename, atStart, inGroups))
	b.AtStart, b.InGroups = binding == atStart, binding == inGroups
	b.StorePairs = doc.Opt(r, "store_pairs", false, doc.Flag)
	b.RenamesStack = doc.Opt(r, "renames_stack", false, doc.Flag)
	b.RenamesSame = doc.Opt(r, "renames_same", false, doc.Flag)
	b.Renames = doc.Opt(r, "renames", nil, doc.ListOf(doc.OneOf(mr.isa.Classes...)))
	b.Breaks = doc.Opt(r, "breaks", nil, doc.ListOf(doc.OneOf(mr.isa.Classes...)))
	b.Defers = doc.Opt(r, "defers", nil, doc.ListOf(doc.OneOf(mr.isa.Classes...)))
	b.SplitTwice = doc.Opt(r, "split_twice", false, doc.Flag)
	b.SplitOverlap = doc.Opt(r, "split_overlap", false, doc.Flag)
	b.ForwardsInside = doc.Opt(r, "forwards_inside", false, doc.Flag)
	b.StoreQueue = doc.Opt(r, "store_queue", false, doc.Flag)
	b.LateFlags = doc.Opt(r, "late_flags", nil, doc.ListOf(doc.OneOf(mr.isa.Fusible...)))
	mr.section(r, maybe("retire", &b.Retire, 1, 16), maybe("complex_address", &b.ComplexAddress, 1, 4), maybe("load_column", &b.LoadColumn, 4, 64), maybe("store_block", &b.StoreBlock, 8, 64), maybe("store_word", &b.StoreWord, 4, 4), maybe("scheduler", &b.Scheduler, 1, 1024),
		maybe("conflict_stores", &b.ConflictStores, 128, 1<<20), maybe("miss_buffers", &b.MissBuffers, 1, cpus.MaxMissBuffers))
}

// fusion reads the pairs that are one operation: they are no numbers.
func (mr *machineReader) fusion(r *doc.Reader, f *cpus.Fusion) {
	f.Pairs = map[string][]string{}
	f.Immediate = doc.Opt(r, "immediate", false, doc.Flag)
	f.Relative = doc.Opt(r, "relative", false, doc.Flag)
	for _, op := range mr.isa.Fusible {
		if r.Has(op) {
			f.Pairs[op] = doc.Need(r, op, doc.ListOf(doc.OneOf(mr.isa.Conditions...)))
		}
	}
	mr.source(r)
	r.Done()
}

// port reads the time that an operation keeps a port or a unit, or the pipes that a port stands for.
func (mr *machineReader) port(r *doc.Reader, name string) {
	c := &mr.m.CPU
	if !r.Has("ports") {
		c.Ports[name] = mr.ticks(r)
		return
	}
	if c.Pipes == nil {
		c.Pipes = map[string][]string{}
	}
	c.Pipes[name] = doc.Need(r, "ports", doc.ListOf(doc.Name))
	mr.source(r)
	r.Done()
}

// to reads the sets of pipes that the operations of a class go to.
func (mr *machineReader) to(r *doc.Reader, c *cpus.Cost, ports []string) {
	sets := doc.Opt(r, "ports", nil, doc.ListOf(doc.OneOf(ports...)))
	if c.Port != "" {
		sets = append([]string{c.Port}, sets...)
	}
	if len(sets) > len(c.To) {
		r.Errorf("ports", "%d operations; at most %d go to pipes", len(sets), len(c.To))
	}
	copy(c.To[:], sets)
}

// ops is the number of operations that a class is renamed as.
func (mr *machineReader) ops(c *cpus.Cost, uops int) int {
	if uops > 0 {
		return uops
	}
	return int((c.Issue*clock.Ticks(mr.m.CPU.Width) + clock.PerCycle - 1) / clock.PerCycle)
}
