package clock

import (
	"testing"

	"kprobesim/internal/require"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Ticks
		ok   bool
	}{
		{"14", 840, true},
		{"1.5", 90, true},
		{"1/3", 20, true},
		{"0", 0, true},
		{"1/7", 0, false},
		{"-1", 0, false},
		{"many", 0, false},
		{"1e40", 0, false},
	} {
		got, err := Parse(c.in)
		require.That(t, (err == nil) == c.ok && got == c.want, "Parse(%q) = %d, %v", c.in, got, err)
	}
}

func TestCyclesRoundDown(t *testing.T) {
	for _, c := range []struct {
		in   Ticks
		want int64
	}{{0, 0}, {59, 0}, {60, 1}, {119, 1}, {-1, -1}, {-60, -1}, {-61, -2}} {
		got := c.in.Cycles()
		require.That(t, got == c.want, "%d ticks are %d cycles, want %d", c.in, got, c.want)
	}
	if FromCycles(3) != 180 {
		t.Errorf("3 cycles are %d ticks", FromCycles(3))
	}
}

// TestDates counts the days of two centuries one by one. A month that there is not is the nearest one.
func TestDates(t *testing.T) {
	lengths := [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	day := int64(-70*365 - 17) // 17 years of those before 1970 are leap years
	for year := 1900; year < 2101; year++ {
		for m, length := range lengths {
			if m == 1 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
				length++
			}
			for d := range length {
				y, month, of := Date(day)
				if y != year || month != m+1 || of != d+1 || Day(year, m+1, d+1) != day {
					t.Fatalf("day %d is %d-%d-%d and %d-%d-%d is day %d", day, y, month, of, year, m+1, d+1, Day(year, m+1, d+1))
				}
				day++
			}
		}
		for month, nearest := range map[int]int{-3: 1, 0: 1, 14: 13, 99: 13} {
			require.Equal(t, Day(year, month, 5), Day(year, nearest, 5), "month %d of %d", month, year)
		}
		require.Equal(t, Day(year, 13, 1), day, "the month behind %d", year)
	}
}
