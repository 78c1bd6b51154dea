package cpus

import (
	"fmt"

	"kprobesim/internal/clock"
)

// PredictorConfig describes the branch predictor: gshare for directions, a table for indirect targets, which the
// history may be hashed into, a circular return stack.
type PredictorConfig struct {
	HistoryBits   int // global history, at most 32
	TableBits     int // logarithm of the number of two-bit counters
	TargetEntries int // indirect targets, a power of two
	ReturnStack   int // entries
	// TargetsByAddress says that the history has no part in where indirect targets are kept.
	TargetsByAddress bool
	// TargetsByDirections says that the history has directions of conditional branches alone, and no targets.
	TargetsByDirections bool
	// ReturnsByTarget says that a return for which the stack has no address is predicted as an indirect branch.
	ReturnsByTarget bool
	// Tagged are tables of a TAGE predictor. Counters then are found by address alone.
	Tagged TaggedTables
}

// TaggedTables describes the tables of a TAGE predictor, with histories of lengths in a geometric series. The zero value
// is a predictor without them.
type TaggedTables struct {
	Tables            int // 1 to 16
	Bits              int // logarithm of the entries of one
	TagBits           int
	Shortest, Longest int // history of the first and of the last table, in branches
	// Override is a bubble of the front end behind a branch of which a prediction by address alone was fetched first, and one that knows the history
	// said otherwise and was right (D. Jimenez, S. Keckler and C. Lin, "The impact of delay on the design of branch predictors",
	// MICRO 2000). The first one has two bits for each branch, and the last target of an indirect one. Of cores with a back end
	// alone.
	Override clock.Ticks
}

func (t *TaggedTables) check() error {
	if t.Longest < t.Shortest {
		return fmt.Errorf("histories of %d to %d branches; use 1 to 1000, the shortest first", t.Shortest, t.Longest)
	}
	return nil
}
