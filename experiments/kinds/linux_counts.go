package kinds

import (
	"kprobesim/cpus"
	"kprobesim/experiments/schema"
	"kprobesim/image"
)

// arrivals counts the executions of every instruction of a region, by its address. The kernel of a distribution executes
// what stands at a probed address at a hit and at no other time.
type arrivals map[uint64]int64

// Step implements cpus.Observer.
func (a arrivals) Step(s *cpus.Step) { a[s.PC]++ }

// lookup finds a function of a kernel.
type lookup func(name string) (image.Symbol, bool)

// at is how often the first function was entered of those that the kernel has.
func (a arrivals) at(kernel lookup, functions ...string) (n int64, ok bool) {
	for _, name := range functions {
		if fn, ok := kernel(name); ok {
			return a[fn.Addr], true
		}
	}
	return 0, false
}

// counts are the calls and hits of a point in the region, on the first CPU. Calls are iterations of the loop. A kernel has one
// function by which it counts a missed hit, and one to which every return probed function returns that found an instance. The
// name of the latter depends on the version. All trace events of user probes have one handler, and a kernel counts none that
// it misses.
func (s *site) counts(p *schema.Point, kernel lookup, plain, with *stretch, seen arrivals) (c Counts, err error) {
	l := p.Probe.Linux
	if l.What == schema.LinuxNone {
		return c, nil
	}
	c.Calls = p.Workload.Hits
	var entered int64 // of return probes of the kernel
	switch {
	case with.attached != nil:
		c.Hits, err = attachedHits(with.attached, kernel, seen)
		return c, err
	case l.What == schema.LinuxWatch:
		c.Hits = int64(with.Debug) - int64(plain.Debug)
		return c, nil
	case s == nil && len(with.List)+len(with.Planted) == 0: // a module of the user's, with watchpoints
		c.Hits = int64(with.Debug) - int64(plain.Debug)
		return c, nil
	case s == nil:
		c.Hits, entered = with.listed(seen)
	case s.user:
		c.Hits = seen[s.addr]
		if handled, ok := seen.at(kernel, "uprobe_dispatcher"); ok && l.Handler != schema.LinuxEmpty {
			c.Missed = max(c.Hits-handled, 0)
		}
		return c, nil
	default:
		c.Hits = seen[s.addr]
		if l.Returns() {
			entered = c.Hits
		}
	}
	c.Missed, _ = seen.at(kernel, "kprobes_inc_nmissed_count")
	returned, ok := seen.at(kernel, "rethook_trampoline_handler", "__kretprobe_trampoline_handler", "trampoline_handler")
	if ok {
		c.Returns = max(entered-c.Missed-returned, 0)
	}
	return c, nil
}

// listed counts the hits of all probes that the kernel lists or has put into the program, and the hits of listed return
// probes apart.
func (s *stretch) listed(seen arrivals) (hits, entered int64) {
	at := map[uint64]bool{} // whether an address has a return probe
	for _, l := range s.List {
		if !l.Disabled {
			at[l.Addr] = at[l.Addr] || l.Kind == "r"
		}
	}
	for _, addr := range s.Planted {
		hits += seen[addr]
	}
	for addr, returns := range at {
		hits += seen[addr]
		if returns {
			entered += seen[addr]
		}
	}
	return hits, entered
}
