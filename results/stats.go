package results

import (
	"errors"
	"fmt"
	"math/big"
)

// ErrorPercent returns how far a prediction lies from a reference, in percent of the reference's magnitude;
// positive when the prediction is higher. It fails when the reference is zero.
func ErrorPercent(predicted, reference Value) (Value, error) {
	num := new(big.Int).Sub(big.NewInt(predicted.micros), big.NewInt(reference.micros))
	num.Mul(num, big.NewInt(100))
	v, err := bigRatio(num, big.NewInt(abs64(reference.micros)))
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

// Percent returns a share of a value, given in percent.
func Percent(v, percent Value) (Value, error) {
	num := new(big.Int).Mul(big.NewInt(v.micros), big.NewInt(percent.micros))
	return bigRatio(num, new(big.Int).Mul(big.NewInt(100*microsPerUnit), big.NewInt(microsPerUnit)))
}

// Unexplained returns the part of an error that a published figure leaves unexplained, in percent of
// the figure and with the sign of the error: what is left when its doubts, such as its rounding, are
// taken off. It is zero for a simulated value within them.
func Unexplained(simulated, published Value, doubts ...Value) (Value, error) {
	miss := simulated.Sub(published)
	left := miss.Abs()
	for _, d := range doubts {
		left = left.Sub(d)
	}
	if left.micros <= 0 {
		return Value{}, nil
	}
	if miss.micros < 0 {
		left.micros = -left.micros
	}
	return ErrorPercent(trimmed(published.micros+left.micros), published)
}
