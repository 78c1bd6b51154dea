package experiments

import (
	"errors"
	"io"
)

// MeasurePoint boots a machine of its own for p, measures the loop without and with the probe, and
// returns both.
func MeasurePoint(p *Point) (*Measurement, error) {
	return nil, errors.New("not built yet")
}

// Trace boots a machine for p and writes hit number n, counted from 1, instruction by instruction.
func Trace(p *Point, n int64, w io.Writer) error {
	return errors.New("not built yet")
}
