package pc

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

// leap tells the leap years of the Gregorian calendar.
func leap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// leapsBefore counts the leap years before a year, from year 1 on.
func leapsBefore(year int64) int64 {
	y := year - 1
	return floorDiv(y, 4) - floorDiv(y, 100) + floorDiv(y, 400)
}

// newYear is the number of the first day of a year; 1 January 1970 is day 0.
func newYear(year int) int64 {
	return int64(year-1970)*365 + leapsBefore(int64(year)) - leapsBefore(1970)
}

// lengths of months but February's.
var monthDays = [...]int64{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func daysOf(year, month int) int64 {
	if month == 2 && leap(year) {
		return 29
	}
	return monthDays[month-1]
}

// civil is the date of a day.
func civil(day int64) (year, month, dayOfMonth int) {
	year = 1970 + int(floorDiv(day*400, 146097))
	for newYear(year) > day {
		year--
	}
	for newYear(year+1) <= day {
		year++
	}
	left := day - newYear(year)
	for month = 1; left >= daysOf(year, month); month++ {
		left -= daysOf(year, month)
	}
	return year, month, int(left) + 1
}

// daysFromCivil is the day of a date. Months beyond the twelfth, which a guest may write, are the last.
func daysFromCivil(year, month, dayOfMonth int) int64 {
	d := newYear(year)
	for m := 1; m < min(month, 13); m++ {
		d += daysOf(year, m)
	}
	return d + int64(dayOfMonth) - 1
}
