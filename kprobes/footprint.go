package kprobes

// Footprint is the guest memory that the registered probes take, in bytes. The kernel rounds slots and
// detour buffers up to pages, which is left out.
type Footprint struct {
	Probes     int64 // structures that the callers of the API bring: struct kprobe and its kin
	Instances  int64 // of return probes, with their private data
	Aggregates int64 // one for each address with several probes, or that can be optimized
	Slots      int64 // out-of-line copies of instructions
	Detours    int64
}

// Sum is all of it.
func (f Footprint) Sum() int64 { return f.Probes + f.Instances + f.Aggregates + f.Slots + f.Detours }

// Footprint adds up what the probes have. Sizes come from the image's structures. Instances that are in
// use belong to no probe's list and are left out.
func (k *Kprobes) Footprint(probes ...*Probe) (f Footprint, err error) {
	for _, p := range probes {
		f.Probes += int64(k.kind(p.Kind).size)
		if p.Kind == Kretprobe {
			free := k.hlist(k.freeHead(p.Addr), k.instanceLinks())
			f.Instances += int64(len(free)) * int64(k.l.r.instSize+k.m.Load(p.Addr, k.l.r.dataSize))
		}
	}
	for _, s := range k.sites {
		if s.aggr {
			f.Aggregates += int64(k.l.o.size)
		}
	}
	f.Slots = k.slots.taken() * int64(k.slots.size)
	f.Detours = k.detours.taken() * int64(k.detours.size)
	return f, k.m.take()
}

// Bucket is the number of an address's chain in the hash table.
func (k *Kprobes) Bucket(addr uint64) uint64 { return k.hashOf(addr) }

// Year is that of the kernel's era.
func (k *Kprobes) Year() int { return k.era.Year }
