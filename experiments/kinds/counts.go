package kinds

import "fmt"

// Counts are the calls and hits of a stretch of simulation.
type Counts struct {
	Calls  int64 // of the target by the loop
	Hits   int64 // of the point's probes, with those that were missed
	Missed int64 // hits whose handlers did not run
	// Returns are calls of return probed functions whose entry was hit and for whose return no instance was free.
	Returns int64
}

// Sub returns c - o.
func (c Counts) Sub(o Counts) Counts {
	return Counts{c.Calls - o.Calls, c.Hits - o.Hits, c.Missed - o.Missed, c.Returns - o.Returns}
}

// Add returns c + o.
func (c Counts) Add(o Counts) Counts {
	return Counts{c.Calls + o.Calls, c.Hits + o.Hits, c.Missed + o.Missed, c.Returns + o.Returns}
}

// Plain reports that each call had one hit, and that nothing was missed.
func (c Counts) Plain() bool { return c.Hits == c.Calls && c.Missed == 0 && c.Returns == 0 }

// AllHandled reports that there were hits and that nothing was missed; the error says what. Without that a figure is no
// cost of a hit.
func (c Counts) AllHandled() error {
	switch {
	case c.Hits == 0:
		return fmt.Errorf("none of %d calls hit the probe", c.Calls)
	case c.Missed+c.Returns > 0:
		return fmt.Errorf("of %d hits %d were missed, and the returns of %d", c.Hits, c.Missed, c.Returns)
	}
	return nil
}
