package figures

import (
	"errors"
	"fmt"
	"math"
)

// drawable refuses values that no axis has a place for: those that are not finite, and those below a least one.
func drawable(least float64, values ...float64) error {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < least {
			return fmt.Errorf("value %g cannot be drawn", v)
		}
	}
	return nil
}

// errLog refuses a value on a logarithmic axis.
var errLog = errors.New("what is not positive cannot be drawn on a logarithmic axis")
