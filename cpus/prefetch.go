package cpus

import "fmt"

// Prefetch describes what a core brings into its data caches before it is asked for. Its zero value is nothing.
// Every prefetcher stays within a page of 4 KiB. docs/timing.md names the vendors' manuals.
type Prefetch struct {
	InFlight int         // lines that may be on their way, or wait for the load that they are for
	Next     Stream      // into the first level
	Stream   Stream      // into the second
	Stride   Stride      // into the first
	Pair     PairedLines // into the second
	// CrossesPages says that streams and strides go on behind 4 KiB in a large page whose translation the TLB has.
	CrossesPages bool
	// WrongPath has loads behind a mispredicted branch over fewer bytes ask for their lines before it is resolved; 0 is none.
	WrongPath int
}

// Stream follows the lines of a page that miss the first level, upwards or downwards.
type Stream struct {
	Streams int // pages that are followed; 0 is no such prefetcher
	Ahead   int // lines in front of the one that missed
}

// Stride follows the loads of single instructions by the distance from one to the next.
type Stride struct {
	Entries int // instructions that are followed, a power of two; 0 is no such prefetcher
	Most    int // bytes of the longest distance
}

// PairedLines says how lines are paired.
type PairedLines struct {
	Bytes int // of a pair, whose other line is brought with one that misses the second level; 0 is no pairs
}

// check holds the parts against each other and against a line of the first level.
func (p *Prefetch) check(line int) error {
	switch {
	case p.Stride.Entries&(p.Stride.Entries-1) != 0:
		return fmt.Errorf("stride: %d entries are no power of two up to 4096", p.Stride.Entries)
	case p.Pair.Bytes != 0 && p.Pair.Bytes != 2*line:
		return fmt.Errorf("pair: %d bytes; two lines are %d", p.Pair.Bytes, 2*line)
	}
	return nil
}
