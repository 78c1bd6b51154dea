package schema

import (
	"kprobesim/internal/doc"
)

// Crowd is the probes that are registered beside the point's own. None of them is hit. Each has an empty handler
// and an address of its own, so that they fill the hash table in which a hit looks its probe up.
type Crowd struct {
	Probes     int64  // anywhere in the table
	SameBucket int64  // in the bucket of the point's probe
	Position   string // of the point's probe in its bucket: First or Last
	Disabled   bool   // registered and not armed
}

// Where a probe stands in its bucket, which the hit searches from its first entry on. Registration puts a
// probe in front of the others.
const (
	First = "first" // registered behind the crowd
	Last  = "last"  // registered before it
)

// MaxCrowd is the most probes that any image has places for.
const MaxCrowd = 10_240

// ReadCrowd reads the table [crowd]; without it there is none.
func ReadCrowd(r *doc.Reader) Crowd {
	defer r.Done()
	c := Crowd{
		Probes:     doc.Opt(r, "probes", 0, doc.Int(0, MaxCrowd)),
		SameBucket: doc.Opt(r, "same_bucket", 0, doc.Int(0, MaxCrowd)),
		Position:   doc.Opt(r, "position", Last, doc.OneOf(First, Last)),
		Disabled:   len(doc.Opt(r, "flags", nil, doc.ListOf(doc.OneOf(flagDisabled)))) > 0,
	}
	if c.Size() > MaxCrowd {
		r.Errorf("probes", "with those of the same bucket %d probes: at most %d", c.Size(), MaxCrowd)
	}
	return c
}

// Size is the number of probes in the crowd.
func (c Crowd) Size() int64 { return c.Probes + c.SameBucket }
