package results

import (
	"errors"
	"fmt"
	"math/big"
)

// ErrorPercent returns how far a prediction lies from a reference, in percent of the reference;
// positive when the prediction is higher. It fails when the reference is zero.
func ErrorPercent(predicted, reference Value) (Value, error) {
	num := new(big.Int).Sub(big.NewInt(predicted.micros), big.NewInt(reference.micros))
	num.Mul(num, big.NewInt(100))
	v, err := bigRatio(num, big.NewInt(reference.micros))
	if err != nil {
		return Value{}, fmt.Errorf("error of %s against %s: %w", predicted, reference, err)
	}
	return v, nil
}

// MeanAbs returns the mean magnitude of some values, such as the mean absolute error of a list of
// errors. It fails on an empty list.
func MeanAbs(values []Value) (Value, error) {
	if len(values) == 0 {
		return Value{}, errors.New("mean of no values")
	}
	sum := new(big.Int)
	for _, v := range values {
		sum.Add(sum, big.NewInt(abs64(v.micros)))
	}
	return bigRatio(sum, big.NewInt(int64(len(values))*microsPerUnit))
}
