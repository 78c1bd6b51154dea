package results

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// MaxDecimals is the finest resolution of a Value: one millionth.
const MaxDecimals = 6

const (
	microsPerUnit = 1_000_000
	maxMicros     = 4_000_000_000_000_000_000
)

// Value is an exact decimal number: a whole count of millionths and the number of decimals it is
// written with, 0 to MaxDecimals. It never passes through a float, so the same observation is the
// same bytes everywhere.
//
// The rule of writing: an optional minus sign, the whole part without leading zeros, and, when the
// value has decimals, a point and exactly that many digits. A printed figure keeps the decimals it
// was printed with ("0.30" stays "0.30", see Bounds); a computed one is rounded to millionths,
// halves away from zero, and written without trailing zeros. The zero Value is "0".
type Value struct {
	micros   int64
	decimals uint8
}

// Ratio returns num/den rounded to millionths, halves away from zero. It fails when den is zero or
// the quotient is beyond 4e12 in magnitude.
func Ratio(num, den int64) (Value, error) {
	return bigRatio(big.NewInt(num), big.NewInt(den))
}

// Rational returns a fraction rounded as Ratio does.
func Rational(r *big.Rat) (Value, error) { return bigRatio(r.Num(), r.Denom()) }

func bigRatio(num, den *big.Int) (Value, error) {
	if den.Sign() == 0 {
		return Value{}, errors.New("ratio with a zero denominator")
	}
	scaled := new(big.Int).Mul(num, big.NewInt(microsPerUnit))
	micros := divHalfAway(scaled, den)
	if !micros.IsInt64() || abs64(micros.Int64()) > maxMicros {
		return Value{}, fmt.Errorf("value %s/%s is beyond 4e12", num, den)
	}
	return trimmed(micros.Int64()), nil
}

// divHalfAway divides with halves rounded away from zero.
func divHalfAway(num, den *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(num, den, new(big.Int))
	twice := new(big.Int).Lsh(r.Abs(r), 1)
	if twice.CmpAbs(den) >= 0 {
		q.Add(q, big.NewInt(int64(num.Sign()*den.Sign())))
	}
	return q
}

// trimmed gives a computed value as many decimals as it needs.
func trimmed(micros int64) Value {
	decimals := uint8(MaxDecimals)
	for n := micros; decimals > 0 && n%10 == 0; n /= 10 {
		decimals--
	}
	return Value{micros, decimals}
}

// ParseValue reads a value in exactly the form that String writes.
func ParseValue(s string) (Value, error) {
	whole, frac, point := strings.Cut(s, ".")
	if point && frac == "" || len(frac) > MaxDecimals {
		return Value{}, fmt.Errorf("value %q needs 1 to %d digits after its point", s, MaxDecimals)
	}
	digits := whole + frac + strings.Repeat("0", MaxDecimals-len(frac))
	micros, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || abs64(micros) > maxMicros {
		return Value{}, fmt.Errorf("value %q is not a decimal number below 4e12", s)
	}
	v := Value{micros, uint8(len(frac))}
	if v.String() != s {
		return Value{}, fmt.Errorf("value %q must be written %q", s, v)
	}
	return v, nil
}

// String writes the value by the rule above.
func (v Value) String() string {
	sign, n := "", v.micros
	if n < 0 {
		sign, n = "-", -n
	}
	text := sign + strconv.FormatInt(n/microsPerUnit, 10)
	if v.decimals == 0 {
		return text
	}
	frac := fmt.Sprintf("%06d", n%microsPerUnit)
	return text + "." + frac[:v.decimals]
}

// Round returns the value rounded to a number of decimals (halves away from zero) and written with
// exactly that many; decimals outside 0 to MaxDecimals are brought to the nearer end.
func (v Value) Round(decimals int) Value {
	decimals = min(max(decimals, 0), MaxDecimals)
	step := pow10(MaxDecimals - decimals)
	half := step / 2
	if v.micros < 0 {
		half = -half
	}
	return Value{(v.micros + half) / step * step, uint8(decimals)}
}

// Decimals returns the number of digits after the point.
func (v Value) Decimals() int { return int(v.decimals) }

// IsZero says whether the value is zero, whatever its decimals.
func (v Value) IsZero() bool { return v.micros == 0 }

// Float returns the nearest float64; for drawing only.
func (v Value) Float() float64 { return float64(v.micros) / microsPerUnit }

// Cmp compares two values as numbers: -1, 0 or +1.
func (v Value) Cmp(w Value) int { return cmp.Compare(v.micros, w.micros) }

// Sub returns v-w.
func (v Value) Sub(w Value) Value { return trimmed(v.micros - w.micros) }

// Add returns v+w.
func (v Value) Add(w Value) Value { return trimmed(v.micros + w.micros) }

// Abs returns the magnitude of v.
func (v Value) Abs() Value { return Value{abs64(v.micros), v.decimals} }

// Bounds returns the interval that a printed figure stands for: half a unit of its last digit to
// either side, "0.06" being 0.055 to 0.065. With MaxDecimals decimals the interval is empty.
func (v Value) Bounds() (low, high Value) {
	half := pow10(MaxDecimals-int(v.decimals)) / 2
	return trimmed(v.micros - half), trimmed(v.micros + half)
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

func abs64(n int64) int64 { return max(n, -n) }

// positive reports whether a value can stand on a logarithmic axis.
func (v Value) Positive() bool { return v.Cmp(Value{}) > 0 }

// signed writes a value with a plus in front of what is above zero.
func Signed(v Value) string {
	if v.Cmp(Value{}) > 0 {
		return "+" + v.String()
	}
	return v.String()
}
